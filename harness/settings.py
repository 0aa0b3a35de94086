"""All options of the harness: command line over environment over ini file, into one frozen Settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import platformdirs

ENGINES = ("auto", "fvp", "standin", "host")
RUNNERS = ("suite", "program")
HOST_RUNNERS = ("ours", "sanitized", "wheel")
FLAKY = ("fail", "warn")


_PREFIX = "CORSTONE_"
# Eleven days: beyond that a limit is a slip, and poll() counts milliseconds in 32 bits.
_MOST_SECONDS = 1_000_000
_MOST_SEED = 2**63 - 1
DEFAULT_BASE = "origin/main"
_SHOWN = 40  # characters of a value in a message
# Of our own tests and child processes, no options.
_PRIVATE = (
    "CORSTONE_UPSTREAM_",
    "CORSTONE_DEMO_",
    "CORSTONE_MUTATIONS",
    "CORSTONE_FUZZ_",
    "CORSTONE_STANDIN_",
    "CORSTONE_STARTED_BY",
)


class SettingsError(ValueError):
    """An option has a value that cannot be used; the message says which values can."""


@dataclass(frozen=True)
class Option:
    """One option: `--name`, environment CORSTONE_NAME, ini key corstone_name."""

    name: str
    default: str
    help: str
    choices: tuple[str, ...] = ()
    repeatable: bool = False
    switch: bool = False

    @property
    def flag(self) -> str:
        """Spelling on the command line."""
        return f"--{self.name}"

    @property
    def environment(self) -> str:
        """Environment variable."""
        return "CORSTONE_" + self.name.replace("-", "_").upper()

    @property
    def ini(self) -> str:
        """Key in pytest's ini file."""
        return "corstone_" + self.name.replace("-", "_")


OPTIONS = (
    Option(
        "engine",
        "auto",
        "what executes a board: auto = Arm's FVP where one is on PATH, else the open stand-in; "
        "fvp = Arm's FVP or red; standin = ours; host = runner compiled for this machine, no board",
        ENGINES,
    ),
    Option("target", "", "run only the cases of this target (name or short id; repeatable)", repeatable=True),
    Option(
        "runner",
        "suite",
        "suite = one runner with all operators for all cases; program = the smallest one for each program",
        RUNNERS,
    ),
    Option(
        "host-runner",
        "ours",
        "what --engine host executes: ours = our runtime; sanitized = ours with AddressSanitizer and UBSan; "
        "wheel = the installed package's own runtime with our kernels",
        HOST_RUNNERS,
    ),
    Option(
        "executorch-prefix",
        "",
        "link runners for boards with the cross-built ExecuTorch installed here, not with our runtime",
    ),
    Option("fvp-arg", "", "further argument for the FVP's command line (repeatable)", repeatable=True),
    Option(
        "npu-trace",
        "",
        "write every operation of the NPU with checksums to this .jsonl file in each attempt's directory "
        "(stand-in only)",
    ),
    Option("timelimit", "120", "seconds after which the simulator itself stops a program"),
    Option("silence-limit", "60", "seconds without console output after which a run is ended"),
    Option("session-limit", "0", "seconds after which the whole session is ended and reported; 0 for none"),
    Option("case-seed", "", "seed for all cases, in place of the one that each case declares"),
    Option(
        "cache", "", "directory for lowered programs and built runners (default: the user's cache directory)"
    ),
    Option(
        "artifacts", "", "directory for the evidence of each attempt (default: pytest's temporary directory)"
    ),
    Option("reruns-budget", "120", "seconds that a session may spend on reruns of failures"),
    Option("reruns-failures", "5", "failures of a session that are rerun"),
    Option("no-reruns", "", "no rerun of any failure", switch=True),
    Option("flaky", "fail", "what a test is that fails, then passes unchanged: red, or a warning", FLAKY),
    Option(
        "ledger", "", "history of all tests: SQLite file, PostgreSQL URL, or off (default: below the cache)"
    ),
    Option(
        "quarantine", "", "YAML file of tests that may fail for a while (default: quarantine.yaml, if any)"
    ),
    Option("quarantine-only", "", "run only the tests of the quarantine file", switch=True),
    Option("checkout", "", "directory whose git revision is tested (default: pytest's root directory)"),
    Option("base-revision", DEFAULT_BASE, "revision that this branch is compared with"),
    Option("report-dir", "", "directory for report.html, junit.xml, testplan.md and the session's journal"),
    Option(
        "junit-plain",
        "",
        "junit.xml without Surefire's rerunFailure and flakyFailure elements, for strict readers",
        switch=True,
    ),
    Option("shard", "", "K/N: run one of N parts of the session, of about equal duration"),
    Option("shard-durations", "", "JSON file of seconds by test id, for --shard"),
)


@dataclass(frozen=True)
class Settings:
    """Validated options. Limits in seconds."""

    engine: str
    targets: tuple[str, ...]
    runner: str
    host_runner: str
    executorch_prefix: Path | None
    fvp_args: tuple[str, ...]
    timelimit: int
    silence_limit: float
    case_seed: int | None
    cache: Path
    artifacts: Path | None
    session_limit: int = 0
    reruns: bool = True
    reruns_budget: float = 120.0
    reruns_failures: int = 5
    flaky: str = "fail"
    report_dir: Path | None = None
    junit_plain: bool = False
    shard: tuple[int, int] | None = None
    npu_trace: str = ""
    shard_durations: Path | None = None
    ledger: str = ""
    quarantine: Path | None = None
    quarantine_only: bool = False
    base_revision: str = DEFAULT_BASE
    checkout: Path | None = None


def resolve(
    command_line: Callable[[Option], object],
    ini: Callable[[Option], str] = lambda _: "",
    environment: Mapping[str, str] = os.environ,
) -> Settings:
    """Settings from the three sources; the first that is set wins.

    Raises:
        SettingsError: a value of the wrong kind, with the values that are possible.
    """
    values: dict[str, tuple[str, ...]] = {}
    for option in OPTIONS:
        given = command_line(option)
        if isinstance(given, (list, tuple)):
            words = tuple(str(word) for word in given)
        else:
            words = () if given in (None, "") else (str(given),)
        if not words:
            text = environment.get(option.environment, "") or ini(option) or option.default
            words = tuple(text.split()) if option.repeatable else ((text,) if text else ())
        for word in words:
            if option.choices and word not in option.choices:
                raise SettingsError(f"{option.flag} {word}: choose from {', '.join(option.choices)}")
        values[option.name] = words
    return _settings(values)


def _settings(values: Mapping[str, tuple[str, ...]]) -> Settings:
    def one(name: str) -> str:
        return values[name][-1] if values[name] else ""

    return Settings(
        engine=one("engine"),
        targets=values["target"],
        runner=one("runner"),
        host_runner=one("host-runner"),
        executorch_prefix=Path(one("executorch-prefix")).absolute() if one("executorch-prefix") else None,
        fvp_args=values["fvp-arg"],
        timelimit=_seconds("--timelimit", one("timelimit"), 1),
        silence_limit=float(_seconds("--silence-limit", one("silence-limit"), 1)),
        case_seed=_whole("--case-seed", one("case-seed"), 0, _MOST_SEED) if one("case-seed") else None,
        cache=Path(one("cache")).absolute() if one("cache") else default_cache(),
        artifacts=Path(one("artifacts")).absolute() if one("artifacts") else None,
        session_limit=_seconds("--session-limit", one("session-limit"), 0),
        reruns=not _on("--no-reruns", one("no-reruns")),
        reruns_budget=float(_seconds("--reruns-budget", one("reruns-budget"), 0)),
        reruns_failures=_whole("--reruns-failures", one("reruns-failures"), 0),
        flaky=one("flaky"),
        ledger=one("ledger"),
        quarantine=Path(one("quarantine")).absolute() if one("quarantine") else None,
        quarantine_only=_on("--quarantine-only", one("quarantine-only")),
        base_revision=one("base-revision"),
        checkout=Path(one("checkout")).absolute() if one("checkout") else None,
        report_dir=Path(one("report-dir")).absolute() if one("report-dir") else None,
        junit_plain=_on("--junit-plain", one("junit-plain")),
        shard=_shard(one("shard")) if one("shard") else None,
        npu_trace=_trace_name(one("npu-trace")),
        shard_durations=Path(one("shard-durations")) if one("shard-durations") else None,
    )


def unknown_variables(environment: Mapping[str, str] = os.environ) -> tuple[str, ...]:
    """One line for each variable that looks like one of ours and has no effect, e.g. after a renaming."""
    known = [option.environment for option in OPTIONS]
    lines = []
    for name in sorted(environment):
        if name.startswith(_PREFIX) and name not in known and not name.startswith(_PRIVATE):
            likely = get_close_matches(name, known, n=1)
            hint = f"; did you mean {likely[0]}?" if likely else ""
            lines.append(f"the variable {name} has no effect{hint}")
    return tuple(lines)


def default_cache() -> Path:
    """The user's cache directory for this project."""
    return Path(platformdirs.user_cache_dir("corstone-harness"))


def _shard(text: str) -> tuple[int, int]:
    number, _, count = text.partition("/")
    if not (number.isdigit() and count.isdigit() and 1 <= int(number) <= int(count)):
        raise SettingsError(f"--shard {text}: expected K/N with 1 <= K <= N, e.g. 1/4")
    return int(number), int(count)


def _trace_name(text: str) -> str:
    """A name that no other file of an attempt's directory has."""
    if text and (Path(text).name != text or not text.endswith(".jsonl")):
        raise SettingsError(f"--npu-trace {text}: the name of a file, without directories, ending in .jsonl")
    return text


def _on(flag: str, text: str) -> bool:
    """A switch: given on the command line, or a word for yes or no in the environment or the ini file."""
    if text.lower() not in ("", "0", "1", "no", "yes", "false", "true"):
        raise SettingsError(f"{flag} {text}: yes or no")
    return text.lower() in ("1", "yes", "true")


def _seconds(flag: str, text: str, least: int) -> int:
    return _whole(flag, text, least, _MOST_SECONDS)


def _whole(flag: str, text: str, least: int, most: int | None = None) -> int:
    try:
        number = int(text)
    except ValueError:  # also for thousands of digits
        number = least - 1
    if number < least or (most is not None and number > most):
        bounds = f"at least {least}" if most is None else f"{least} to {most}"
        raise SettingsError(f"{flag} {text[:_SHOWN]}: a whole number, {bounds}")
    return number
