"""The "Test plan" block of a pull request, for every session: what was run, on what, with which result."""

from __future__ import annotations

import shlex
from datetime import datetime, timezone

from harness.records import SessionRecord, TestRecord
from harness.redact import redact
from harness.report.shared import GREEN, Group, counts_text, engine_lines, groups

# Versions that decide what a program is; the rest of the environment is in the other reports.
_VERSIONS = ("executorch", "torch", "torchao", "ethos-u-vela", "kernels", "compiler", "python", "platform")
_LONGEST_LIST = 20
_PARTIAL = "**The session was cut short; these are the results up to then.**"


def plan_block(session: SessionRecord, failures: bool = True) -> str:
    """Markdown, ready to paste: commands, engine, versions, commit and merge base, counts, failures."""
    lines = ["## Test plan", "", "```console", f"$ {redact(command(session))}", "```", ""]
    lines += [
        f"**{counts_text(session.tests)}** in {session.seconds:.1f} s, exit status {session.exit_status}"
    ]
    if session.partial:
        lines += ["", _PARTIAL]
    lines += ["", "| | |", "|---|---|"]
    lines += [f"| {name} | {escape(value)} |" for name, value in _facts(session)]
    if not failures:
        return "\n".join(lines) + "\n"
    red = [group for group in groups(session) if any(test.result != "quarantined" for test in group.tests)]
    if red:
        lines += ["", f"{len(red)} signatures:" if len(red) > 1 else "1 signature:", ""]
        lines += [line for group in red[:_LONGEST_LIST] for line in group_lines(group)]
        if len(red) > _LONGEST_LIST:
            lines.append(f"- … and {len(red) - _LONGEST_LIST} more")
    return "\n".join(lines) + "\n"


def command(session: SessionRecord) -> str:
    """The command line of `session` as one types it."""
    words = list(session.argv)
    if words:
        words[0] = words[0].rsplit("/", 1)[-1]
        if words[0] in ("__main__.py", "-c"):
            words[0] = "pytest"
    return shlex.join(words) if words else "pytest"


def group_lines(group: Group, tests_shown: int = 3) -> list[str]:
    """A list entry for one signature: verdict, reason, tests, the line to reproduce it."""
    verdicts = ", ".join(f"{number} {name}" for name, number in sorted(group.verdicts.items()))
    number = len(group.tests)
    head = f"- {code(group.signature)}: {number} test{'s' if number > 1 else ''}"
    lines = [f"{head}, {verdicts}" if verdicts else head]
    first = group.tests[0]
    if first.verdict is not None and first.verdict.reason:
        lines.append(f"  - {escape(first.verdict.reason)}")
    if first.history is not None:
        lines.append(f"  - {first.history.kind}: {escape(first.history.reason)}")
    named = [f"{code(test.nodeid)} ({_result(test)})" for test in group.tests[:tests_shown]]
    more = f", … {number - tests_shown} more" if number > tests_shown else ""
    lines.append(f"  - {', '.join(named)}{more}")
    if first.repro:
        lines.append(f"  - reproduce: {code(first.repro)}")
    return lines


def code(text: str) -> str:
    """Inline code; redacted, on one line, whatever backticks it has."""
    flat = " ".join(redact(text).split())
    fence = "`" * (max((len(run) for run in _runs(flat)), default=0) + 1)
    pad = " " if flat.startswith("`") or flat.endswith("`") else ""
    return f"{fence}{pad}{flat}{pad}{fence}"


def escape(text: str) -> str:
    """`text` for one Markdown table cell or list entry, redacted; no markup or HTML of it is active."""
    flat = " ".join(redact(text).split())
    for character in "\\`*_[]<>|":
        flat = flat.replace(character, "\\" + character)
    # @name would notify somebody, #1 would link.
    return flat.replace("@", "@\u200b").replace("#", "#\u200b")


def _runs(text: str) -> list[str]:
    return ["`" * len(part) for part in "".join(c if c == "`" else " " for c in text).split()]


def _result(test: TestRecord) -> str:
    return test.result if test.result in GREEN else f"**{test.result}**"


def _facts(session: SessionRecord) -> list[tuple[str, str]]:
    when = datetime.fromtimestamp(session.started, timezone.utc).strftime("%Y-%m-%d %H:%M UTC")
    facts = [
        ("started", when),
        ("commit", session.commit or "unknown"),
        ("merge base", session.merge_base or "unknown"),
        ("branch", session.branch or "detached or unknown"),
        ("engine asked for", session.engine),
        ("ran on", "; ".join(engine_lines(session))),
        ("host", session.host),
    ]
    environment = session.environment
    facts += [(name, environment[name]) for name in _VERSIONS if environment.get(name)]
    return facts
