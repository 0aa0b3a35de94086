"""`harness npu …`: readable command streams, and the first difference of two records of the NPU."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(help="The functional Ethos-U model.", no_args_is_help=True)


@app.command("disasm")
def disasm(
    file: Annotated[Path, typer.Argument(help=".pte or .bpte, delegate blob, driver payload or bare stream")],
    target: Annotated[str, typer.Option(help="NPU of a bare command stream, e.g. ethos-u85-256")] = "",
) -> None:
    """Print a readable command stream."""
    from harness.standin.npu.config import config_named
    from harness.standin.npu.disasm import disassemble_file
    from harness.standin.npu.errors import NpuError

    try:
        for line in disassemble_file(file.read_bytes(), config_named(target) if target else None):
            typer.echo(line)
    except (OSError, NpuError) as error:
        typer.echo(f"{file}: {error}", err=True)
        raise typer.Exit(1) from error


@app.command("diff")
def diff(
    first: Annotated[Path, typer.Argument(help="a file that --npu-trace wrote")],
    second: Annotated[Path, typer.Argument(help="another one, of the same program")],
) -> None:
    """Name the first operation in which two runs differ.

    Exits with 0 if they do not, with 1 if they do, and with 2 if a file is no record of the NPU.
    """
    from harness.standin.npu.trace_diff import TraceError, first_difference

    try:
        with first.open(encoding="utf-8") as ours, second.open(encoding="utf-8") as theirs:
            difference = first_difference(ours, theirs)
    except (TraceError, UnicodeDecodeError) as error:
        typer.echo(str(error), err=True)
        raise typer.Exit(2) from error
    if difference is not None:
        typer.echo(difference.message)
        raise typer.Exit(1)
    if first.stat().st_size == 0:
        typer.echo("both are empty: the NPU did nothing", err=True)
        raise typer.Exit(2)
    typer.echo("equal")
