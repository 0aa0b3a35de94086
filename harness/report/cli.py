"""`harness report …`: reports from the journals (JSON lines) of sessions."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated

import typer

from harness.report.jsonl import SUFFIX, JournalError, JournalWriter, is_journal, read_journal
from harness.report.merge import Merged, merge

app = typer.Typer(
    help="Reports of a session from its journal. Without a file: of the last session on this machine.",
    no_args_is_help=True,
)

Journals = Annotated[
    list[Path] | None,
    typer.Argument(help="journals (.jsonl) or directories of them; several are merged"),
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", help="file to write; default: standard output")
]


@app.command()
def html(
    journals: Journals = None,
    output: Annotated[Path, typer.Option("--output", "-o", help="file to write")] = Path("report.html"),
) -> None:
    """Write one self-contained HTML file."""
    from harness.report.html import html_report

    merged = _read(journals)
    _write(html_report(merged.session, notes=merged.notes), output)


@app.command()
def junit(
    journals: Journals = None,
    output: Output = None,
    plain: Annotated[
        bool, typer.Option("--plain", help="without Surefire's rerunFailure and flakyFailure elements")
    ] = False,
) -> None:
    """Write JUnit XML with every attempt."""
    from harness.report.junit import junit_report

    _write(junit_report(_read(journals).session, plain), output)


@app.command()
def summary(journals: Journals = None, output: Output = None) -> None:
    """Write the Markdown of a GitHub job summary, at most 1 MiB."""
    from harness.report.github import job_summary

    _write(job_summary(_read(journals).session), output)


@app.command("testplan")
def plan(journals: Journals = None, output: Output = None) -> None:
    """Write the "Test plan" block for a pull request."""
    from harness.report.testplan import plan_block

    _write(plan_block(_read(journals).session), output)


@app.command()
def durations(
    journals: Journals = None,
    output: Output = None,
    least: Annotated[float, typer.Option(help="shorter tests are left out, in seconds")] = 1.0,
) -> None:
    """Write the seconds of each test as JSON, for `--shard-durations`."""
    tests = sorted(_read(journals).session.tests, key=lambda test: test.nodeid)
    seconds = {test.nodeid: round(test.seconds, 1) for test in tests if test.seconds >= least}
    _write(json.dumps(seconds, indent=0), output)


@app.command("merge")
def merge_command(
    journals: Annotated[list[Path], typer.Argument(help="journals of shards, or directories of them")],
    output: Annotated[Path, typer.Option("--output", "-o", help="directory for the merged reports")],
    plain: Annotated[bool, typer.Option("--junit-plain", help="strict JUnit")] = False,
) -> None:
    """Merge the journals of shards into one, with all reports.

    Exits as one session with all these tests would: 0 all proven green, 1 broken or something is missing,
    10 only flaky, 11 nothing ran.
    """
    from harness.report.session import write_reports
    from harness.report.shared import counts_text

    journal = output / f"merged{SUFFIX}"
    merged = _read(journals, journal)
    write_reports(merged.session, output, plain=plain, notes=merged.notes)
    journal.unlink(missing_ok=True)
    writer = JournalWriter(journal, merged.session)
    for test in merged.session.tests:
        writer.add(test)
    writer.finish(merged.session)
    typer.echo(f"{counts_text(merged.session.tests)}; reports: {output}")
    raise typer.Exit(merged.session.exit_status)


def _read(journals: list[Path] | None, result: Path | None = None) -> Merged:
    """The journals as one; `result` of an earlier merge, found in a directory, is none of them."""
    paths = [path for given in journals or [_last()] for path in _expanded(given)]
    paths = [path for path in paths if path != result] or paths
    merged = merge([read_journal(path) for path in paths])
    for note in merged.notes:
        typer.echo(f"note: {note}", err=True)
    return merged


def _expanded(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    found = sorted(path.rglob(f"*{SUFFIX}"))
    # Evidence beside the journals has the same ending: results of single tests, traces of the NPU.
    kept = [file for file in found if is_journal(file)]
    others = [str(file.relative_to(path)) for file in found if file not in kept]
    if others:
        shown = ", ".join(others[:5]) + (", …" if len(others) > 5 else "")
        typer.echo(f"note: {path}: no journals of sessions, left out: {shown}", err=True)
    if not kept:
        raise JournalError(f"{path} holds no journal of a session (*{SUFFIX}), as pytest writes one")
    return kept


def _last() -> Path:
    from harness.report.session import journals, latest_journal
    from harness.settings import resolve

    settings = resolve(lambda option: None)
    found = latest_journal(settings)
    if found is None:
        raise JournalError(f"no journal in {journals(settings)}; run pytest first, or name a file")
    return found


def _write(text: str, output: Path | None) -> None:
    if output is None:
        sys.stdout.write(text if text.endswith("\n") else text + "\n")
        return
    output.parent.mkdir(parents=True, exist_ok=True)
    output.write_text(text, encoding="utf-8")
    typer.echo(f"{output} ({output.stat().st_size} bytes)", err=True)
