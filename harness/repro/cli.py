"""`harness repro BUNDLE` and `harness repro pack DIR`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from harness.repro import repro_command
from harness.repro.confined import BundleError
from harness.settings import ENGINES, Settings, resolve

if TYPE_CHECKING:
    from harness.repro.bundle import Bundle
    from harness.repro.replay import Options, Replayed

# A console is printed as it is; what a bundle from elsewhere makes us print must not control the terminal.
_CONTROL = re.compile(r"[^\t\x20-\x7e\xa0-\U0010ffff]")
_RANGE = re.compile(r"vela=([0-9][\w.]*)\.\.([0-9][\w.]*)")
_DEFAULT_TIMES = 100


class _DefaultToReplay(TyperGroup):
    """`harness repro BUNDLE` is `harness repro replay BUNDLE`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if args and args[0] not in self.commands and args[0] != "--help":
            args = ["replay", *args]
        parsed: list[str] = super().parse_args(ctx, args)
        return parsed


app = typer.Typer(
    cls=_DefaultToReplay,
    help="Replay what a failing attempt left: harness repro BUNDLE; options: harness repro replay --help.",
    no_args_is_help=True,
)


@app.command()
def replay(
    bundle: Annotated[Path, typer.Argument(help="directory of an attempt, or a zip file of one")],
    engine: Annotated[
        str | None, typer.Option(help=f"one of {', '.join(ENGINES)} (default: the recorded one)")
    ] = None,
    times: Annotated[int, typer.Option(min=1, help="boot so often and show the rate of failures")] = 1,
    until_fail: Annotated[
        bool, typer.Option("--until-fail", help=f"stop at the first failure (default: of {_DEFAULT_TIMES})")
    ] = False,
    bisect: Annotated[
        str | None, typer.Option(help="vela=A..B: compile the graph with each of these versions and run it")
    ] = None,
    vela_arg: Annotated[
        list[str] | None,
        typer.Option(help="compile the graph again with this further flag of Vela, and run it (repeatable)"),
    ] = None,
    trust_elf: Annotated[
        bool,
        typer.Option("--trust-elf", help="run a foreign bundle's ELF and simulator arguments as they are"),
    ] = False,
    keep: Annotated[Path | None, typer.Option(help="keep the evidence of the replays here")] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="print the console too")] = False,
) -> None:
    """Boot a bundle once more: same signature, different, or passes here.

    Exits with 0 if every replay passed, with 1 if one failed.
    """
    from harness.repro.bundle import opened
    from harness.repro.replay import Options

    settings = resolve(lambda option: engine if option.name == "engine" else None)
    options = Options(engine or "", trust_elf, keep.absolute() if keep is not None else None)
    with opened(bundle, settings.cache) as found:
        if bisect is not None or vela_arg:
            red = _recompile(found, settings, options, bisect, vela_arg or [])
        elif found.spec is None:
            red = _compile_again(found, settings)
        else:
            count = _DEFAULT_TIMES if until_fail and times == 1 else times
            red = _replay(found, settings, options, count, until_fail, verbose)
    raise typer.Exit(1 if red else 0)


@app.command()
def pack(
    directory: Annotated[Path, typer.Argument(help="directory of an attempt")],
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="zip file to write (default: NAME.zip here)")
    ] = None,
) -> None:
    """Write a bundle as a zip file, without home directories and secrets."""
    from harness.repro.bundle import pack as pack_bundle

    archive = output or Path(f"{directory.resolve().name}.zip")
    try:
        pack_bundle(directory, archive, _settings().cache)
    except FileExistsError as error:
        raise BundleError(f"{archive} exists already") from error
    typer.echo(f"{archive} ({archive.stat().st_size} bytes); replay it with: {repro_command(archive)}")


def _replay(
    found: Bundle, settings: Settings, options: Options, times: int, until_fail: bool, verbose: bool
) -> bool:
    """Boot it `times` times; True if a replay failed."""
    from harness.ledger.statistics import Rate
    from harness.repro.replay import Replayer

    _head(found)
    replayer = Replayer(found, settings, options, _note)
    failures, done = 0, 0
    for number in range(1, times + 1):
        replayed = replayer.once(number)
        if number == 1:
            seconds = replayed.started_at - _process_start()
            _say(
                f"boot {seconds:.2f} s after the command began ({replayed.processor:.2f} s of processor time)"
            )
        done = number
        failures += not replayed.attempt.outcome.green
        last = number == times or (until_fail and failures)
        if number == 1 or last or not replayed.attempt.outcome.green:
            _tell(replayed, number if times > 1 else 0, verbose)
        if last:
            _tell_differences(found, replayed)
            break
    if times > 1:
        _say(str(Rate(failures, done)))
    return bool(failures)


def _recompile(
    found: Bundle, settings: Settings, options: Options, bisect: str | None, flags: list[str]
) -> bool:
    """Compile the graphs again, by version or with flags; True if the last step is not green."""
    from harness.repro.bisect import Recompiler, Step, conclusion
    from harness.repro.replay import Replayer
    from harness.repro.vela import Tool, checked_flags, environment, installed, versions_between

    checked_flags(flags)
    versions: tuple[str, ...] = ()
    if bisect is not None:
        match = _RANGE.fullmatch(bisect)
        if match is None:
            raise BundleError(f"--bisect {bisect}: write vela=A..B, for example vela=4.5.0..5.1.0")
        versions = versions_between(match[1], match[2], settings.cache)
    _head(found)
    replayer = None if found.spec is None else Replayer(found, settings, options, _note)
    recompiler = Recompiler(found, replayer)
    steps: list[Step] = []

    def show(step: Step) -> None:
        steps.append(step)
        _say(f"{step.name:<24} {step.outcome:<13} {step.detail}")

    def tool(version: str) -> Tool:
        return environment(version, settings.cache, _note)

    if bisect is None:
        show(recompiler.step("as recorded", installed))
        show(recompiler.step(" ".join(flags), installed, flags))
    for version in versions:
        show(recompiler.step(f"vela {version}", lambda version=version: tool(version), flags))  # type: ignore[misc]
    _say(conclusion(steps))
    return steps[-1].signature not in ("green", "compiles")


def _compile_again(found: Bundle, settings: Settings) -> bool:
    """What a refused lowering shows today, with the installed Vela; True if it is still refused."""
    from harness.repro.bisect import Recompiler
    from harness.repro.vela import installed

    _head(found)
    tool = installed()
    step = Recompiler(found, None).step(f"vela {tool.version}", lambda: tool)
    _say(f"{step.name}: {step.outcome}: {step.detail}")
    if step.testable:
        _say("passes here: this Vela compiles the graph")
    else:
        recorded = found.record.summary if found.record is not None else ""
        _say("same signature" if step.detail in recorded or recorded in step.detail else "different")
    return not step.testable


def _head(found: Bundle) -> None:
    record = found.record
    if record is None:
        _say(f"{found.directory.name}: no {'bundle.json'}, only a run")
        return
    name = record.nodeid or found.directory.name
    engine = f", seed {record.seed}, on {record.engine}: {record.engine_version}" if record.engine else ""
    _say(_short(f"{name}, {record.target}{engine}"))
    _say(_short(f"recorded: {record.kind} in phase {record.phase}: {record.summary}"))
    if not found.own:
        _note("this bundle is not from here, or was changed: its ELF and arguments are not trusted")


def _tell(replayed: Replayed, number: int, verbose: bool) -> None:
    attempt = replayed.attempt
    if verbose and attempt.result is not None:
        for line in attempt.result.lines:
            _say(f"{line.time:8.3f}  {line.text}")
    head = f"replay {number}: " if number else "replayed: "
    _say(_short(f"{head}{attempt.outcome}"))
    for comparison in attempt.comparisons:
        if not comparison.ok:
            _say(comparison.message)
    outputs = {True: ", the same output bytes", False: ", other output bytes", None: ""}
    _say(f"{replayed.verdict.value}{outputs[replayed.same_outputs]}")
    if replayed.signature and replayed.verdict.value == "different":
        _say(f"signature here: {replayed.signature}")


def _tell_differences(found: Bundle, replayed: Replayed) -> None:
    from harness.repro.replay import differences, environment_of, recorded_environment

    if found.record is None:
        return
    lines = differences(recorded_environment(found), environment_of(replayed))
    _say("environment: no difference" if not lines else "environment, recorded -> here:")
    for line in lines:
        _say(f"  {line}")


def _process_start() -> float:
    import psutil

    return float(psutil.Process().create_time())


def _short(text: str, limit: int = 160) -> str:
    return text if len(text) <= limit else f"{text[: limit - 2]} …"


def _say(text: str) -> None:
    for line in text.splitlines():
        typer.echo(_CONTROL.sub("?", line))


def _note(text: str) -> None:
    typer.echo(f"note: {_CONTROL.sub('?', text)}", err=True)


def _settings() -> Settings:
    return resolve(lambda option: None)
