"""The commands `harness flakes` and `harness hunt`; what they do is in the modules of these names."""

from __future__ import annotations

import os
import uuid
from pathlib import Path
from typing import Annotated

import typer

from harness.settings import ENGINES, resolve

Engine = Annotated[str, typer.Option(help=f"one of {', '.join(ENGINES)}")]
Workers = Annotated[
    int, typer.Option("--workers", "-j", min=0, help="boots at the same time (default: one a core)")
]
Evidence = Annotated[Path | None, typer.Option(help="keep the evidence of failures here")]


def flakes(
    nodeid: Annotated[str, typer.Argument(help="one test, as pytest prints it")],
    runs: Annotated[int, typer.Option(min=1, help="boots of the test's program")] = 200,
    until_fail: Annotated[bool, typer.Option("--until-fail", help="stop at the first failure")] = False,
    engine: Engine = "auto",
    workers: Workers = 0,
    directory: Evidence = None,
) -> None:
    """Measure how often a test fails, with an interval, and store the runs in the ledger.

    Lowers and builds once, then boots the same bytes. Exits with 1 if a run failed.
    """
    from harness.flakes import measure, report_lines
    from harness.ledger.session import store

    settings = resolve(lambda option: engine if option.name == "engine" else None)
    place = directory or settings.cache / "flakes" / uuid.uuid4().hex[:12]
    measured = measure(nodeid, runs, engine, until_fail, place, workers or os.cpu_count() or 1)
    for line in report_lines(measured):
        typer.echo(line)
    typer.echo(store(measured.session, settings, "flakes" if measured.complete else "until-fail"))
    raise typer.Exit(int(measured.rate.failures > 0))


def hunt(
    context: typer.Context,
    seconds: Annotated[float, typer.Argument(min=1, help="how long, the first session included")],
    engine: Engine = "auto",
    workers: Workers = 0,
    directory: Evidence = None,
) -> None:
    """Look for flaky tests: boot all that pytest selects again and again, and store the runs in the ledger.

    Further arguments go to pytest: harness hunt 600 tests/ops -k u85. Exits with 1 if a run failed.
    """
    from harness.hunt import hunt as boot_all
    from harness.hunt import report_lines
    from harness.ledger.session import store

    settings = resolve(lambda option: engine if option.name == "engine" else None)
    place = directory or settings.cache / "flakes" / uuid.uuid4().hex[:12]
    session = boot_all(context.args, seconds, engine, place, workers or os.cpu_count() or 1)
    for line in report_lines(session):
        typer.echo(line)
    typer.echo(store(session, settings, "flakes"))
    raise typer.Exit(session.exit_status)
