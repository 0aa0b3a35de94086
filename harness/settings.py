"""All options of the harness: command line over environment over ini file, into one frozen Settings."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

ENGINES = ("auto", "fvp", "standin", "host")
RUNNERS = ("suite", "program")


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
    Option("fvp-arg", "", "further argument for the FVP's command line (repeatable)", repeatable=True),
    Option("timelimit", "120", "seconds after which the simulator itself stops a program"),
    Option("silence-limit", "60", "seconds without console output after which a run is ended"),
    Option("case-seed", "", "seed for all cases, in place of the one that each case declares"),
    Option(
        "cache", "", "directory for lowered programs and built runners (default: the user's cache directory)"
    ),
    Option(
        "artifacts", "", "directory for the evidence of each attempt (default: pytest's temporary directory)"
    ),
)


@dataclass(frozen=True)
class Settings:
    """Validated options. Limits in seconds."""

    engine: str
    targets: tuple[str, ...]
    runner: str
    fvp_args: tuple[str, ...]
    timelimit: int
    silence_limit: float
    case_seed: int | None
    cache: Path
    artifacts: Path | None


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
        fvp_args=values["fvp-arg"],
        timelimit=_whole("--timelimit", one("timelimit"), 1),
        silence_limit=float(_whole("--silence-limit", one("silence-limit"), 1)),
        case_seed=_whole("--case-seed", one("case-seed"), 0) if one("case-seed") else None,
        cache=Path(one("cache")).absolute() if one("cache") else default_cache(),
        artifacts=Path(one("artifacts")).absolute() if one("artifacts") else None,
    )


def default_cache() -> Path:
    """The user's cache directory for this project."""
    return Path(platformdirs.user_cache_dir("corstone-harness"))


def _whole(flag: str, text: str, least: int) -> int:
    try:
        number = int(text)
    except ValueError:
        number = least - 1
    if number < least:
        raise SettingsError(f"{flag} {text}: a whole number, at least {least}")
    return number
