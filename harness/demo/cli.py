"""`harness demo …`: what the harness says of faults that are known, because they were planted."""

from __future__ import annotations

import tempfile
from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

demo_app = typer.Typer(help="Demonstrations with planted faults.", no_args_is_help=True)


@demo_app.callback()
def demo() -> None:
    """Demonstrations with planted faults."""


@demo_app.command("simulator")
def simulator(
    folder: Annotated[Path, typer.Argument(help="folder for PATH; made if it is not there")],
    flip: Annotated[float, typer.Option(min=0, max=1, help="rate of runs with a flipped bit")] = 0.03,
    seed: Annotated[int, typer.Option(help="of the fault generator")] = 0,
    forced: Annotated[bool, typer.Option("--forced", help="the first run of each FVP goes wrong")] = False,
) -> None:
    """Install simulators that boot the stand-in and flip one bit of an output now and then.

    Then see what becomes of a suite on them, ExecuTorch's own included:

    PATH=FOLDER:$PATH harness upstream arm -k "sigmoid and u85" --engine fvp
    """
    from harness.demo import wrapper
    from harness.targets import FVP_BOARDS

    for fvp in FVP_BOARDS:
        wrapper.install(folder, fvp, seed=seed, flip=flip, forced=forced)
    typer.echo(f"{len(FVP_BOARDS)} simulators in {folder}; put it first on PATH and use --engine fvp")


@demo_app.command("verdicts")
def verdicts(
    seeds: Annotated[int, typer.Option(min=1, help="sessions of each fault, each with its own seed")] = 1,
    fault: Annotated[list[str] | None, typer.Option(help="only this one (repeatable)")] = None,
    directory: Annotated[Path | None, typer.Option(help="keep all evidence in this new directory")] = None,
) -> None:
    """Run the real plugin on a small suite with planted faults; say verdict, right or wrong, number of runs.

    The planted event is forced: the first run of each session is one that goes wrong. A rate of 1 % or 3 %
    holds for all later runs. Exits with 1 if a verdict is wrong.
    """
    from harness.demo.verdicts import FAULTS, show

    unknown = set(fault or ()) - {known.name for known in FAULTS}
    if unknown:
        names = ", ".join(known.name for known in FAULTS)
        raise typer.BadParameter(f"unknown: {', '.join(sorted(unknown))}; one of {names}")
    with tempfile.TemporaryDirectory(prefix="harness-demo-") as scratch:
        work = (directory or Path(scratch)).absolute()
        work.mkdir(parents=True, exist_ok=True)
        right: Counter[str] = Counter()
        total: Counter[str] = Counter()
        for shown in show(work, seeds, tuple(fault or ())):
            name = shown.fault.name
            total[name] += 1
            right[name] += shown.right
            mark = "right" if shown.right else "WRONG"
            verdict = shown.verdict or shown.result
            typer.echo(f"{mark}  {name:<9} seed {shown.seed:<3} {verdict} after {shown.runs} runs")
            if shown.reason:
                typer.echo(f"       {shown.reason}")
    for known in FAULTS:
        if total[known.name]:
            typer.echo(f"{right[known.name]} of {total[known.name]} right: {known.plant}")
    if right != total:
        raise typer.Exit(1)
