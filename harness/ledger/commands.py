"""What `harness ledger` and `harness quarantine` do; each function prints and returns the exit status."""

from __future__ import annotations

import subprocess
import sys
import time
from collections.abc import Sequence
from datetime import date, datetime, timezone
from math import nan
from pathlib import Path

from harness.ledger.database import LedgerError, parse_url
from harness.ledger.entries import Entry, total
from harness.ledger.fingerprint import DEPENDENCIES, changes, fingerprint, in_words
from harness.ledger.lifting import Evidence, Histories, evidence, proposals
from harness.ledger.promote import promotions
from harness.ledger.quarantine import Quarantine, QuarantineError, State
from harness.ledger.session import OFF, ledger_url, quarantine_of
from harness.ledger.statistics import clean_runs, percent
from harness.ledger.store import Ledger
from harness.ledger.trends import HALF_LIFE, Seen, drift, entropy, flip_rate, onset, skewed_tests
from harness.settings import resolve

_HISTORY_DAYS = 180.0
_SHOWN = 20
_LETTERS = {"passed": "P", "failed": "F", "flaky": "K", "xfailed": "x", "xpassed": "X", "quarantined": "Q"}


def show(nodeid: str, ledger: str, last: int) -> int:
    """`harness ledger show`."""
    histories = _histories(ledger, [nodeid])
    if nodeid not in histories:
        with Ledger(_url(ledger)) as opened:
            names = opened.names(nodeid)
        if len(names) != 1:
            print(f"{len(names)} tests match:" if names else f"the ledger knows no test {nodeid}")
            print("".join(f"  {name}\n" for name in names[:20]), end="")
            return 1
        nodeid, histories = names[0], _histories(ledger, names)
    for line in history_lines(nodeid, histories.get(nodeid, ()), last, time.time()):
        print(line)
    return 0


def prune(days: float, ledger: str) -> int:
    """`harness ledger prune`."""
    with Ledger(_url(ledger)) as opened:
        print(f"{opened.prune(days)} sessions deleted from {opened}")
    return 0


def trends(ledger: str) -> int:
    """`harness ledger trends`."""
    histories = {name: _latest_line(entries) for name, entries in _histories(ledger, None).items()}
    for line in trend_lines(histories):
        print(line)
    return 0


def list_entries(quarantine: Path | None) -> int:
    """`harness quarantine list`."""
    found, today, versions = _quarantine(quarantine), date.today(), fingerprint()
    print(f"{found.name}: {len(found.entries)} entries")
    for entry in found.entries:
        print(f"{entry.state(today, versions).value:<9}  {entry}")
    return 0


def check(tests: Sequence[str], quarantine: Path | None, ledger: str) -> int:
    """`harness quarantine check`."""
    found, today = _quarantine(quarantine), date.today()
    errors = [f"expired: {entry}; remove it, or renew it with a reason" for entry in found.expired(today)]
    if found.entries:
        unmatched = found.unmatched(_collected(tests))
        errors += [f"no test: {entry}; renamed or deleted?" for entry in unmatched]
    for item in _evidence(found, ledger, today):
        if item.state is not State.EXPIRED and item.ready:
            errors.append(f"proven clean: {item}")
        elif item.state is State.PROBATION:
            print(f"on probation, counts again: {item}")
    for line in errors:
        print(line)
    print(f"{found.name}: {len(found.entries)} entries, {len(errors)} to repair")
    return int(bool(errors))


def suggest(quarantine: Path | None, ledger: str) -> int:
    """`harness quarantine suggest`."""
    found, today, versions = _quarantine(quarantine), date.today(), fingerprint()
    histories = _histories(ledger, None)
    added = proposals(found, histories, versions, today)
    if added:
        print(f"# to add to {found.name}, with ticket and owner:")
    for proposal in added:
        print(proposal.to_yaml(), end="")
    for item in _evidence(found, ledger, today):
        print(f"# {'remove' if item.ready else 'keep'}: {item}")
    for promotion in promotions(histories, versions):
        print(f"# {promotion.nodeid} {promotion.reason}")
    if not (added or found.entries):
        need = clean_runs(0.05)
        print(f"# none of {len(histories)} tests fails now and then; {need} clean runs exclude 5 %")
    return 0


def history_lines(nodeid: str, entries: Sequence[Entry], last: int, now: float) -> list[str]:
    """The history of one test as a small table."""
    lines = [nodeid]
    strata: dict[tuple[str, ...], list[Entry]] = {}
    for entry in entries:
        strata.setdefault(_stratum(entry), []).append(entry)
    for names, group in strata.items():
        lines.append(f"  {' | '.join(names)}: {total(group)}")
    seen = [Seen(e.started, e.red, e.revision or "") for e in entries]
    lines.append(
        f"  flip rate {percent(flip_rate(seen, now))}, entropy {entropy(seen, now):.2f} bit "
        f"(half-life {HALF_LIFE:g} days)"
    )
    if point := onset(seen):
        lines.append(f"  rate changed in {point.last[:12]}..{point.first[:12]} (p = {point.p_value:.2g})")
    margins = _margins(entries)
    place = drift(margins)
    if place is not None:
        lines.append(f"  margin is drifting since {_day(entries[place])}: {margins[place]:.2f} of the limit")
    lines.append(f"  {'day':<10}  {'revision':<12}  {'branch':<16}  result  signature")
    for entry in entries[-last:]:
        row = (_day(entry), (entry.revision or "-")[:12], (entry.branch or "-")[:16])
        letter = _LETTERS.get(entry.result, "?")
        shown = f"{entry.rate.failures}/{entry.rate.runs}" if entry.purpose == "flakes" else letter
        lines.append(f"  {row[0]:<10}  {row[1]:<12}  {row[2]:<16}  {shown:<6}  {entry.signature}".rstrip())
    return lines


def trend_lines(histories: Histories) -> list[str]:
    """What changed over all tests: steps of versions after which tests fail, and margins that drift."""
    seen = {name: [Seen(e.started, e.red, _versions(e)) for e in past] for name, past in histories.items()}
    steps: dict[str, list[str]] = {}
    for name, point in skewed_tests(seen).items():
        before, after = histories[name][point.index - 1], histories[name][point.index]
        step = in_words(changes(before.environment, after.environment, DEPENDENCIES))
        steps.setdefault(step, []).append(f"{name}: {point.before}, then {point.after}")
    lines = []
    for step, tests in sorted(steps.items(), key=lambda item: -len(item[1])):
        lines.append(f"VERSION_SKEW {step}: {len(tests)} tests fail more often since")
        lines += [f"  {text}" for text in tests[:_SHOWN]]
    for name, past in histories.items():
        margins = _margins(past)
        if past and not past[-1].red and (place := drift(margins)) is not None:
            lines.append(f"DRIFT {name}: margin {margins[place]:.2f} of the limit since {_day(past[place])}")
    return lines or [f"{len(histories)} tests: no step of versions and no drift to report"]


def _latest_line(entries: Sequence[Entry]) -> list[Entry]:
    """The runs on the engine and branch of the latest one."""
    last = entries[-1]
    return [e for e in entries if (e.engine, e.branch) == (last.engine, last.branch)]


def _versions(entry: Entry) -> str:
    return " ".join(entry.environment.get(name, "") for name in DEPENDENCIES)


def _margins(entries: Sequence[Entry]) -> list[float]:
    # A run without a comparison has no margin, and NaN is left out by `drift`.
    return [max((a.margin for a in e.attempts if a.margin is not None), default=nan) for e in entries]


def _stratum(entry: Entry) -> tuple[str, ...]:
    values = entry.environment
    named = [entry.engine or "no engine", values.get("engine_version", "")[:40]]
    named += [f"{name} {values[name]}" for name in ("executorch", "ethos-u-vela") if name in values]
    return (entry.branch or "detached", *(part for part in named if part))


def _evidence(found: Quarantine, ledger: str, today: date) -> list[Evidence]:
    if not found.entries:
        return []
    histories, versions = _histories(ledger, None), fingerprint()
    return [evidence(entry, histories, versions, today, contains) for entry in found.entries]


def contains(revision: str, fix: str) -> bool:
    """True if git says that `revision` contains `fix`; an unknown one does not."""
    words = ["git", "merge-base", "--is-ancestor", fix, revision]
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=30, check=False)
    except (OSError, subprocess.SubprocessError):
        return False
    return done.returncode == 0


def _collected(arguments: Sequence[str]) -> list[str]:
    """Ids of the tests that pytest collects."""
    words = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-n0",
        "-p",
        "no:cacheprovider",
        *arguments,
    ]
    done = subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
    names = [
        line for line in done.stdout.splitlines() if "::" in line and not line.startswith((" ", "ERROR"))
    ]
    if done.returncode not in (0, 5) or not names:
        said = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
        raise QuarantineError(f"pytest cannot collect the tests: {said[-1] if said else done.returncode}")
    return names


def _quarantine(file: Path | None) -> Quarantine:
    return quarantine_of(resolve(lambda option: str(file) if file and option.name == "quarantine" else None))


def _histories(ledger: str, nodeids: Sequence[str] | None) -> Histories:
    with Ledger(_url(ledger)) as opened:
        return opened.history(nodeids, since=time.time() - _HISTORY_DAYS * 86400)


def _url(given: str) -> str:
    url = ledger_url(resolve(lambda option: given if option.name == "ledger" else None))
    if url is None:
        raise ValueError(f"the ledger is {OFF}: leave --ledger out, or name a file or URL")
    place = parse_url(url)
    if given and place.get_backend_name() == "sqlite" and not Path(str(place.database)).is_file():
        raise LedgerError(f"there is no ledger {place.database}; `pytest --ledger {given}` would begin one")
    return url


def _day(entry: Entry) -> str:
    return datetime.fromtimestamp(entry.started, timezone.utc).date().isoformat()
