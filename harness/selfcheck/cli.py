"""`harness selfcheck`: the shell face."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Annotated

import typer

from harness.settings import resolve
from harness.targets import target_named


def selfcheck(
    engine: Annotated[str, typer.Option(help="fvp (Arm's, on PATH) or standin")] = "fvp",
    targets: Annotated[
        list[str] | None, typer.Option("--target", help="Ethos-U target; repeatable (default: u55, u65, u85)")
    ] = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="JSON file to write")] = Path(
        "selfcheck.json"
    ),
    directory: Annotated[Path | None, typer.Option(help="keep consoles and programs here")] = None,
) -> None:
    """Find out what this project knows of Arm's FVPs from documents only; for owners of one.

    How the simulator ends, stops and serves semihosting, and whether the NPU computes what the TOSA reference
    model and the stand-in compute, operator by operator. Exits with 1 if it does not, or if nothing ran.
    """
    from harness.selfcheck.check import examine
    from harness.session import Harness

    if engine not in ("fvp", "standin"):
        raise ValueError(f"--engine {engine}: fvp or standin")
    chosen = [target_named(name) for name in targets or ("u55", "u65", "u85")]
    if wrong := [target.name for target in chosen if target.npu is None]:
        raise ValueError(f"{', '.join(wrong)}: no NPU to check; Ethos-U targets only")
    given = {"engine": engine, "runner": "program"}
    harness = Harness(
        resolve(lambda option: given.get(option.name)), progress=lambda text: typer.echo(text, err=True)
    )
    check = examine(harness, chosen, directory or Path(tempfile.mkdtemp(prefix="harness-selfcheck-")))
    output.write_text(check.to_json(), encoding="utf-8")
    for line in check.table():
        typer.echo(line)
    typer.echo(f"written to {output}")
    raise typer.Exit(0 if check.good else 1)
