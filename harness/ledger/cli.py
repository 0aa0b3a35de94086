"""`harness ledger …` and `harness quarantine …`; what they do is in `harness.ledger.commands`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

ledger_app = typer.Typer(help="The history of all tests.", no_args_is_help=True)
quarantine_app = typer.Typer(help="Tests that may fail for a while.", no_args_is_help=True)

LedgerOption = Annotated[
    str, typer.Option("--ledger", help="SQLite file or PostgreSQL URL (default: below the cache)")
]
FileOption = Annotated[Path | None, typer.Option("--quarantine", help="YAML file (default: quarantine.yaml)")]


@ledger_app.command()
def show(
    nodeid: Annotated[str, typer.Argument(help="one test, or a part of its name")],
    ledger: LedgerOption = "",
    last: Annotated[int, typer.Option(min=1, help="runs to list")] = 20,
) -> None:
    """Print the history of a test: rates by versions, the latest runs, and what changed when."""
    from harness.ledger import commands

    raise typer.Exit(commands.show(nodeid, ledger, last))


@ledger_app.command()
def trends(ledger: LedgerOption = "") -> None:
    """Print which tests fail more often since a step of versions, and whose margins drift."""
    from harness.ledger import commands

    raise typer.Exit(commands.trends(ledger))


@ledger_app.command()
def prune(
    days: Annotated[float, typer.Option(min=1, help="keep sessions that are younger")] = 400,
    ledger: LedgerOption = "",
) -> None:
    """Delete old sessions."""
    from harness.ledger import commands

    raise typer.Exit(commands.prune(days, ledger))


@quarantine_app.command("list")
def list_entries(quarantine: FileOption = None) -> None:
    """Print the entries and their states."""
    from harness.ledger import commands

    raise typer.Exit(commands.list_entries(quarantine))


@quarantine_app.command()
def check(
    tests: Annotated[list[str] | None, typer.Argument(help="what pytest collects (default: all)")] = None,
    quarantine: FileOption = None,
    ledger: LedgerOption = "",
) -> None:
    """Check the file: complete, nothing expired, nothing without a test, nothing proven clean.

    Exits with 1 if an entry has to be removed or renewed.
    """
    from harness.ledger import commands

    raise typer.Exit(commands.check(tests or [], quarantine, ledger))


@quarantine_app.command()
def suggest(quarantine: FileOption = None, ledger: LedgerOption = "") -> None:
    """Propose entries for tests that fail now and then, and the removal of entries that are proven clean.

    An entry is proven clean by 59 runs without a failure, which exclude a rate of 5 % (95 %, one-sided).
    """
    from harness.ledger import commands

    raise typer.Exit(commands.suggest(quarantine, ledger))
