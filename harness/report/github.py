"""A GitHub job's summary: Markdown below the limit that GitHub sets, the most important first."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from harness.records import SessionRecord
from harness.report.shared import Group, counts, groups
from harness.report.testplan import code, escape, group_lines, plan_block

VARIABLE = "GITHUB_STEP_SUMMARY"
# GitHub refuses the whole summary of a step above this size.
LIMIT = 1 << 20  # [bytes]
_SYMBOLS = {
    "passed": "✅",
    "failed": "❌",
    "error": "❌",
    "crashed": "💥",
    "flaky": "🎲",
    "quarantined": "🚧",
    "xpassed": "❗",
}


def job_summary(session: SessionRecord, limit: int = LIMIT) -> str:
    """Markdown of at most `limit` bytes; what does not fit is counted, never cut in the middle."""
    head = [f"# {_title(session)}", ""]
    if session.partial:
        head += ["**The session was cut short.**", ""]
    head += ["| result | tests |", "|---|---:|"]
    head += [
        f"| {_SYMBOLS.get(name, '')} {name} | {number} |" for name, number in counts(session.tests).items()
    ]
    plan = ["", "<details><summary>Test plan</summary>", "", plan_block(session, False), "</details>", ""]
    blocks = [_block(group) for group in groups(session)]
    # The note on what was left out must fit too.
    room = limit - _size([*head, *plan]) - 200
    kept: list[str] = []
    for number, block in enumerate(blocks):
        room -= _size(block)
        if room < 0:
            kept += [
                "",
                f"{len(blocks) - number} further signatures did not fit; they are in the HTML report.",
            ]
            break
        kept += block
    text = "\n".join([*head, *kept, *plan])
    if len(text.encode()) <= limit:
        return text
    short = "\n".join([*head, "", "Too long for a job summary; see the HTML report.", ""])
    return short if len(short.encode()) <= limit else ""


def write_step_summary(session: SessionRecord, environment: Mapping[str, str] = os.environ) -> Path | None:
    """Append the summary to the file that GitHub names, if this is a GitHub job; returns that file.

    What another session of the same step has written already counts against the limit.
    """
    name = environment.get(VARIABLE, "")
    if not name:
        return None
    path = Path(name)
    try:
        used = path.stat().st_size if path.exists() else 0
        text = job_summary(session, max(LIMIT - used - 1, 0))
        with path.open("a", encoding="utf-8") as file:
            file.write(text)
    except OSError:
        return None  # the summary is a courtesy; a session must not fail for it
    return path


def _title(session: SessionRecord) -> str:
    found = counts(session.tests)
    green = found.get("passed", 0) + found.get("xfailed", 0)
    return f"{green} of {sum(found.values())} tests green on engine {escape(session.engine)}"


def _block(group: Group) -> list[str]:
    summary = group.first.summary if group.first is not None else group.tests[0].message.strip()[:300]
    return ["", f"### {code(group.signature)}", "", escape(summary), "", *group_lines(group, 10)]


def _size(lines: list[str]) -> int:
    return sum(len(line.encode()) + 1 for line in lines)
