"""One self-contained HTML file for a session: nothing is loaded, nothing in it can run but its own script."""

from __future__ import annotations

import base64
import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timezone
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import DictLoader, Environment, StrictUndefined
from markupsafe import Markup

from harness.records import AttemptRecord, SessionRecord, TestRecord
from harness.redact import redact
from harness.report.history import FlakeRow
from harness.report.pictures import HeatMap, heat_maps, histogram_bars, sparkline
from harness.report.shared import (
    RESULTS,
    Group,
    attempt_text,
    counts,
    counts_text,
    engine_lines,
    groups,
    plain_text,
    shortened,
)
from harness.report.testplan import plan_block

# Characters of consoles, messages and pictures in one report; the rest stays in the evidence directories.
_EVIDENCE = 4_000_000
_CONSOLE = 12_000  # characters of one console
_SHOWN_PER_GROUP = 3
_LISTED_PER_GROUP = 200
_FLAKES = 300
_CONSOLE_NAME = "console.log"


@dataclass
class _Budget:
    """What is left of the room for evidence."""

    left: int = _EVIDENCE

    def take(self, size: int) -> bool:
        """True if `size` characters fit; they are then used."""
        if size > self.left:
            return False
        self.left -= size
        return True


def html_report(session: SessionRecord, flakes: Sequence[FlakeRow] = (), notes: Sequence[str] = ()) -> str:
    """The report as HTML text.

    Args:
        session: with all its tests; evidence is read from the attempts' directories as far as they exist.
        flakes: what the ledger knows of the tests, for sparklines and the flake table.
        notes: of the journal or of a merge.
    """
    budget = _Budget()
    found = groups(session)
    template = _environment().get_template("report")
    return template.render(
        session=session,
        notes=notes,
        title=f"{counts_text(session.tests)}",
        when=datetime.fromtimestamp(session.started, timezone.utc).strftime("%Y-%m-%d %H:%M:%S UTC"),
        counts=counts(session.tests),
        engines=engine_lines(session),
        targets=_by_target(session),
        results=[name for name in RESULTS if name in counts(session.tests)],
        groups=[_group(group, budget) for group in found],
        tests=[_row(test) for test in session.tests],
        flakes=_flakes(flakes),
        plan=plan_block(session),
        style=Markup(_resource("report.css")),
        script=Markup(_resource("report.js")),
        policy=_policy(),
    )


def _policy() -> str:
    """Content security policy: our own style and script by hash, pictures inside the file, nothing else."""

    def digest(name: str) -> str:
        return base64.b64encode(hashlib.sha256(_resource(name).encode()).digest()).decode()

    return (
        f"default-src 'none'; style-src 'sha256-{digest('report.css')}'; "
        f"script-src 'sha256-{digest('report.js')}'; img-src data:; base-uri 'none'; form-action 'none'"
    )


@lru_cache(maxsize=8)
def _resource(name: str) -> str:
    return (files("harness.report") / "template" / name).read_text(encoding="utf-8")


@lru_cache(maxsize=1)
def _environment() -> Environment:
    environment = Environment(
        loader=DictLoader({"report": _resource("report.html.j2")}),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["clean"] = lambda value: plain_text(redact(str(value)))
    return environment


def _by_target(session: SessionRecord) -> list[tuple[str, Mapping[str, int]]]:
    found: dict[str, Counter[str]] = {}
    for test in session.tests:
        found.setdefault(test.target or "no target", Counter())[test.result] += 1
    return sorted(found.items())


def _row(test: TestRecord) -> dict[str, Any]:
    first = test.attempts[0] if test.attempts else None
    return {
        "nodeid": shortened(test.nodeid, 300),
        "target": test.target or "",
        "result": test.result,
        "verdict": test.verdict.verdict if test.verdict is not None else "",
        "history": test.history.kind if test.history is not None else "",
        "engine": (first.engine or "none") if first is not None else "",
        "attempts": len(test.attempts),
        "seconds": test.seconds,
        "margin": first.margin if first is not None else None,
    }


def _group(group: Group, budget: _Budget) -> dict[str, Any]:
    shown = [_test(test, budget) for test in group.tests[:_SHOWN_PER_GROUP]]
    rest = group.tests[_SHOWN_PER_GROUP:]
    listed = [shortened(test.nodeid, 300) for test in rest[:_LISTED_PER_GROUP]]
    if not budget.take(sum(map(len, listed))):
        listed = []
    return {
        "signature": group.signature,
        "number": len(group.tests),
        "verdicts": sorted(group.verdicts.items()),
        "histories": sorted(Counter(t.history.kind for t in group.tests if t.history is not None).items()),
        "shown": shown,
        "listed": listed,
        "unlisted": len(rest) - len(listed),
    }


def _test(test: TestRecord, budget: _Budget) -> dict[str, Any]:
    message = shortened(test.message, 2000)
    if not budget.take(len(message)):
        message = shortened(message, 200)
    return {
        "test": test,
        "nodeid": shortened(test.nodeid, 300),
        "message": message,
        "attempts": [_attempt(attempt, budget) for attempt in test.attempts[:12]],
    }


def _attempt(attempt: AttemptRecord, budget: _Budget) -> dict[str, Any]:
    directory = Path(attempt.directory) if attempt.directory else None
    text = attempt_text(attempt)
    console = _console(directory) if directory is not None else ""
    pictures: tuple[HeatMap, ...] = ()
    # A picture is read from files only while there is room for one.
    if directory is not None and budget.left > 20_000 and not all(c.ok for c in attempt.comparisons):
        pictures = tuple(picture for picture in heat_maps(directory)[:4] if budget.take(len(picture.uri)))
    return {
        "record": attempt,
        "text": text if budget.take(len(text)) else shortened(text, 300),
        "console": console if budget.take(len(console)) else "",
        "console_left_out": bool(console) and budget.left < _CONSOLE,
        "pictures": pictures,
        "histograms": [
            (comparison, histogram_bars(comparison.histogram))
            for comparison in attempt.comparisons[:4]
            if comparison.mismatches and budget.take(200 * len(comparison.histogram))
        ],
    }


def _console(directory: Path) -> str:
    """Beginning and end of the console, time stamps included; a large log is not read as a whole."""
    try:
        with (directory / _CONSOLE_NAME).open("rb") as file:
            head = file.read(_CONSOLE)
            size = file.seek(0, 2)
            if size <= _CONSOLE:
                return head.decode("utf-8", "replace")
            half = _CONSOLE // 2
            file.seek(size - half)
            tail = file.read(half)
    except OSError:
        return ""
    text = f"\n… {size - 2 * half} bytes left out; all of it is in {_CONSOLE_NAME} …\n"
    return head[:half].decode("utf-8", "replace") + text + tail.decode("utf-8", "replace")


def _flakes(flakes: Sequence[FlakeRow]) -> list[dict[str, Any]]:
    """The tests that ever failed, worst first."""
    unstable = sorted((row for row in flakes if row.failures), key=lambda row: (-row.low, -row.failures))
    return [{"row": row, "spark": sparkline(row.outcomes)} for row in unstable[:_FLAKES]]
