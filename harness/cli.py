"""`harness …`: the shell face. Each command only parses, calls one function and prints."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Iterable
from itertools import chain
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from harness.cache import Entry, delete_unused, entries
from harness.demo.cli import demo_app
from harness.flakes_cli import flakes, hunt
from harness.ledger.cli import ledger_app, quarantine_app
from harness.npu_cli import app as npu_app
from harness.oplist import ops
from harness.outcomes import HarnessError
from harness.report.cli import app as report_app
from harness.repro import repro_command
from harness.repro.cli import app as repro_app
from harness.selfcheck.cli import selfcheck
from harness.settings import ENGINES, Settings, SettingsError, resolve
from harness.targets import CORSTONE_300, TARGETS, on_corstone_300, target_named

app = typer.Typer(
    help="Test ExecuTorch programs on Arm's Corstone boards: on Arm's FVP, or on the open stand-in.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
standin_app = typer.Typer(help="The open stand-in with the FVP's command line.", no_args_is_help=True)
app.add_typer(standin_app, name="standin")
app.add_typer(npu_app, name="npu")
app.add_typer(report_app, name="report")
app.add_typer(repro_app, name="repro")
app.add_typer(ledger_app, name="ledger")
app.add_typer(quarantine_app, name="quarantine")
app.add_typer(demo_app, name="demo")
app.command()(flakes)
app.command(context_settings={"allow_extra_args": True, "ignore_unknown_options": True})(hunt)

_out = Console(highlight=False, soft_wrap=True)
_err = Console(stderr=True, highlight=False, soft_wrap=True)

EngineOption = Annotated[str | None, typer.Option(help=f"one of {', '.join(ENGINES)}")]
TargetOption = Annotated[str, typer.Option(help=f"{', '.join(TARGETS)}; or a short id")]


def _settings(**given: object) -> Settings:
    return resolve(lambda option: given.get(option.name.replace("-", "_")))


@app.command()
def doctor() -> None:
    """Show what was found on this machine, and whether the main job can run.

    Exits with 1 when it cannot, and says what to do.
    """
    from harness.doctor import examine

    findings = examine()
    width = max(len(finding.name) for finding in findings)
    for finding in findings:
        mark = "ok" if finding.ok else ("RED" if finding.needed else "--")
        _out.print(f"{mark:>3}  {finding.name:<{width}}  {finding.found}", markup=False)
        if not finding.ok and finding.advice:
            _out.print(f"     {'':<{width}}  -> {finding.advice}", markup=False)
    broken = [finding.name for finding in findings if finding.needed and not finding.ok]
    if broken:
        _out.print(f"the main job cannot run: {', '.join(broken)}", markup=False)
        raise typer.Exit(1)
    _out.print("ready: pytest -k m55", markup=False)


@app.command()
def run(
    file: Annotated[
        Path,
        typer.Argument(
            help="module file (.py), program (.pte), bundle (.bpte), or a built-in model: lstm, …"
        ),
    ],
    target: TargetOption = "cortex-m55",
    bundleio: Annotated[
        bool, typer.Option(help="boot with a bundle: inputs and references in one file")
    ] = False,
    engine: EngineOption = None,
    inputs: Annotated[
        list[Path] | None, typer.Option("--input", "-i", help="raw input file of a .pte")
    ] = None,
    directory: Annotated[Path | None, typer.Option(help="keep the evidence here")] = None,
    timelimit: Annotated[
        int | None, typer.Option(help="seconds after which the simulator stops the program (default: 120)")
    ] = None,
    qtol: Annotated[float, typer.Option(help="allowed difference in quantization steps")] = 0.0,
    atol: Annotated[float, typer.Option(help="allowed absolute difference")] = 0.0,
    npu_trace: Annotated[
        Path | None, typer.Option(help="write every operation of the NPU with checksums here (stand-in only)")
    ] = None,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="print the console too")] = False,
) -> None:
    """Lower (if need be), build, boot and judge one model.

    A module file defines ModelUnderTest (an nn.Module) and ModelInputs (a tuple of tensors), as for
    ExecuTorch's Arm compiler. A .pte without references is run and its outputs are kept, but nothing
    proves them right: the verdict is then NO_VERDICT.
    """
    from harness.runfile import run_file
    from harness.session import Harness

    recorded = "npu-trace.jsonl"
    core = target_named(target)
    if npu_trace is not None and core.npu is None:
        raise ValueError(f"--npu-trace: {target} has no NPU")
    for parent in filter(None, (directory, npu_trace and npu_trace.parent)):
        parent.mkdir(parents=True, exist_ok=True)  # before minutes have gone into lowering
    if directory is not None and any(directory.iterdir()):
        raise ValueError(f"--directory {directory}: is not empty; the evidence of two runs must not mix")
    settings = _settings(engine=engine, timelimit=timelimit, npu_trace=recorded if npu_trace else None)
    harness = Harness(settings, progress=lambda text: _err.print(text, markup=False))
    place = directory or Path(tempfile.mkdtemp(prefix="harness-run-"))
    attempt, bundle = run_file(
        harness,
        file,
        core,
        place,
        bundleio=bundleio,
        inputs=inputs or [],
        qtol=qtol,
        atol=atol,
    )
    if (
        npu_trace is not None
        and attempt.result is not None
        and (attempt.result.directory / recorded).is_file()
    ):
        shutil.copyfile(attempt.result.directory / recorded, npu_trace)
    if verbose and attempt.result is not None:
        for line in attempt.result.lines:
            _out.print(f"{line.time:8.3f}  {line.text}", markup=False)
    for comparison in attempt.comparisons:
        _out.print(comparison.message, markup=False)
    _out.print(str(attempt.outcome), markup=False)
    if attempt.result is not None:
        identity = attempt.result.engine
        _out.print(f"engine: {identity.kind}, {identity.version}", markup=False)
    if bundle is not None:
        _out.print(f"evidence: {bundle}", markup=False)
    if attempt.outcome.hint:
        _out.print(f"next: {attempt.outcome.hint}", markup=False)
    if bundle is not None and not attempt.outcome.green:
        _out.print(f"reproduce: {repro_command(bundle)}", markup=False)
    raise typer.Exit(0 if attempt.outcome.green else 1)


@app.command()
def build(
    target: TargetOption = "cortex-m55",
    operators: Annotated[
        list[Path] | None, typer.Argument(help="programs whose operators the runner needs (default: all)")
    ] = None,
    runtime: Annotated[str, typer.Option(help="ours, or wheel (host only)")] = "ours",
    prefix: Annotated[
        Path | None, typer.Option(help="link with the cross-built ExecuTorch installed here")
    ] = None,
    board: Annotated[str, typer.Option(help="corstone-300 for a cortex-m85 that is to run there")] = "",
    platform: Annotated[str, typer.Option(help="target or host")] = "target",
    sanitize: Annotated[bool, typer.Option(help="host only: AddressSanitizer and UBSan")] = False,
    output: Annotated[Path | None, typer.Option("--output", "-o", help="copy the ELF here")] = None,
) -> None:
    """Build the runner and print its path and section sizes."""
    from harness.firmware.build import RunnerRequest, build_runner, known_operators, linked_delegates
    from harness.firmware.memory_use import read_map, warnings
    from harness.oplist import delegates_of, operators_of

    names = operators_of(operators) if operators else known_operators()
    core = target_named(target)
    if board == CORSTONE_300.name:
        core = on_corstone_300(core)
    elif board not in ("", core.board.name):
        raise ValueError(f"--board {board}: {core.name} runs on {core.board.name}, or on {CORSTONE_300.name}")
    kind = "prefix" if prefix else runtime
    request = RunnerRequest(core, names, kind, platform, sanitize=sanitize, prefix=prefix)
    if foreign := sorted({*delegates_of(operators or [])} - {*linked_delegates(request)}):
        where = "the host" if platform == "host" else core.name
        raise ValueError(f"the programs delegate to {', '.join(foreign)}, which a runner for {where} lacks")
    elf = build_runner(request, _settings().cache, lambda text: _err.print(text, markup=False))
    if output is not None:
        shutil.copyfile(elf.path, output)
        output.chmod(0o755)
    _out.print(str(output or elf.path), markup=False)
    _out.print(f"{len(elf.operators):>10}  operators", markup=False)
    for section, size in elf.sizes.items():
        _out.print(f"{size:>10}  {section}", markup=False)
    linker_map = elf.path.with_name("executor_runner.map")
    uses = read_map(linker_map.read_text(errors="replace")) if linker_map.is_file() else ()
    for use in uses:
        _out.print(f"{use.used:>10}  in {use.name}, {use.free} free", markup=False)
    for warning in warnings(uses):
        _err.print(f"warning: {warning}", markup=False)


@app.command()
def cache(
    unused: Annotated[
        float | None, typer.Option(help="delete what was not used for this many days (at least 1)")
    ] = None,
) -> None:
    """Show what the cache holds; delete what nobody has used for a while.

    What is deleted is made again when it is needed, but old evidence of `harness flakes` is not. The ledger,
    the journals and ccache's objects stay: they have limits of their own. CORSTONE_CACHE moves the cache.
    """
    place = _settings().cache
    if unused is not None:
        gone = list(delete_unused(place, unused))
        _out.print(f"{_mib(gone)} in {len(gone)} entries deleted, unused for {unused:g} days", markup=False)
    by_kind: dict[str, list[Entry]] = {}
    for entry in entries(place):
        by_kind.setdefault(entry.kind, []).append(entry)
    for kind, found in sorted(by_kind.items()):
        _out.print(f"{_mib(found):>12}  {len(found):>5}  {kind}", markup=False)
    _out.print(f"{_mib(chain(*by_kind.values())):>12}         in {place}", markup=False)


def _mib(found: Iterable[Entry]) -> str:
    return f"{sum(entry.size for entry in found) / 2**20:,.1f} MiB"


app.command()(ops)
app.command()(selfcheck)


@standin_app.command("path")
def standin_path() -> None:
    """Print the directory to put on PATH: executables with the names of Arm's FVPs."""
    from harness.standin.launchers import launcher_directory

    typer.echo(launcher_directory())


@app.command(
    context_settings={"allow_extra_args": True, "ignore_unknown_options": True},
)
def upstream(
    context: typer.Context,
    suite: Annotated[str, typer.Argument(help="cortex_m, arm or arm_models")],
    engine: EngineOption = None,
    part: Annotated[
        str, typer.Option("--slice", help="K/N: every N-th of the selected tests, from the K-th on")
    ] = "",
    cortex_m_qdq: Annotated[
        bool,
        typer.Option("--cortex-m-qdq", help="arm: quantize at the delegates' borders by cortex_m operators"),
    ] = False,
    records: Annotated[Path | None, typer.Option(help="keep one JSON line a test in this file")] = None,
    vanilla: Annotated[bool, typer.Option(help="upstream's own way to run a program; no verdicts")] = False,
) -> None:
    """Run ExecuTorch's own operator tests from the installed wheel against our runner.

    Further arguments go to pytest, e.g.: harness upstream cortex_m -k "implementation and test_add".
    The end says how many tests booted; the exit status is 0 only if every result is the one that
    harness/upstream/expectations knows.
    """
    from harness.upstream import SuiteRun, run_suite

    run = SuiteRun(suite, tuple(context.args), part, cortex_m_qdq, records, vanilla)
    settings = _settings(engine=engine)
    raise typer.Exit(run_suite(run, settings, lambda text: _err.print(text, markup=False)))


def main() -> None:
    """Entry point; expected failures print one line and what to do next."""
    try:
        app()
    except HarnessError as error:
        _err.print(str(error), markup=False)
        sys.exit(1)
    except (SettingsError, KeyError, ValueError) as error:
        _err.print(str(error.args[0] if error.args else error), markup=False)
        sys.exit(2)
    except OSError as error:
        _err.print(f"{error.filename or 'a file'}: {error.strerror or error}", markup=False)
        sys.exit(2)
