"""Records to rows: what a session leaves behind, in the columns of the ledger's tables. Pure."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping
from math import isnan
from typing import Any

from harness.ledger.entries import GREEN, PastAttempt, first_red, needs_history, test_signature
from harness.ledger.fingerprint import VOLATILE
from harness.ledger.trends import infrastructure
from harness.records import AttemptRecord, SessionRecord, TestRecord

Row = dict[str, Any]

_PASSWORD = re.compile(r"(://[^/\s:@]*):[^/\s@]*@")


def session_row(session: SessionRecord, purpose: str) -> Row:
    """Row of `sessions`; a password in an argument is not stored."""
    return {
        "id": session.id,
        "started": session.started,
        "seconds": session.seconds,
        "argv": [_PASSWORD.sub(r"\1:***@", clean(word)) for word in session.argv],
        "engine": session.engine,
        "revision": session.commit,
        "merge_base": session.merge_base,
        "branch": session.branch,
        "host": clean(session.host),
        "environment": environment_id(session.environment),
        "exit_status": session.exit_status,
        "partial": session.partial,
        "infrastructure": purpose == "suite" and broken_infrastructure(session),
        "purpose": purpose,
    }


def test_row(session: SessionRecord, test: TestRecord) -> Row:
    """Row of `tests`."""
    return {
        "session": session.id,
        "nodeid": clean(test.nodeid),
        "target": test.target,
        "result": test.result,
        "signature": clean(test_signature(test)),
        "verdict": test.verdict.verdict if test.verdict else None,
        "verdict_reason": clean(test.verdict.reason) if test.verdict else None,
        "evidence": [clean(line) for line in test.verdict.evidence] if test.verdict else [],
        "history": test.history.kind if test.history else None,
        "history_reason": clean(test.history.reason) if test.history else None,
        "started": test.started,
        "seconds": test.seconds,
        "worker": test.worker,
        "message": clean(test.message),
        "repro": clean(test.repro) if test.repro else None,
    }


def attempt_row(session: SessionRecord, test: TestRecord, attempt: AttemptRecord) -> Row:
    """Row of `attempts`."""
    environment = attempt_environment(session, attempt)
    margin = attempt.margin
    return {
        "session": session.id,
        "nodeid": clean(test.nodeid),
        "number": attempt.number,
        "rung": attempt.rung,
        "phase": attempt.phase,
        "kind": attempt.kind,
        "summary": clean(attempt.summary),
        "hint": clean(attempt.hint),
        "signature": clean(attempt.signature),
        "engine": attempt.engine,
        "engine_name": attempt.engine_name,
        "engine_version": attempt.engine_version,
        "engine_sha256": attempt.engine_sha256,
        "directory": clean(attempt.directory) if attempt.directory else None,
        "seed": attempt.seed,
        "same_bytes": same_bytes(attempt),
        "outputs": attempt.hashes.get("outputs") or None,
        "hashes": dict(attempt.hashes),
        "durations": dict(attempt.durations),
        "margin": None if margin is None or isnan(margin) else margin,
        # Through JSON, since a database takes no infinity in it.
        "comparisons": json.loads(attempt.to_json())["comparisons"],
        "environment": environment_id(environment),
        "load": _number(attempt.environment.get("load")),
    }


def attempt_environment(session: SessionRecord, attempt: AttemptRecord) -> dict[str, str]:
    """The session's fingerprint, what the attempt says otherwise, and the engine."""
    engine = {
        "engine": attempt.engine,
        "engine_version": attempt.engine_version,
        "engine_build": attempt.engine_sha256,
    }
    known = {name: value for name, value in engine.items() if value}
    return stable({**session.environment, **attempt.environment, **known})


def stable(environment: Mapping[str, str]) -> dict[str, str]:
    """The environment without what differs from run to run."""
    return {name: clean(value) for name, value in environment.items() if name not in VOLATILE}


def environment_id(environment: Mapping[str, str]) -> str:
    """Identifier of an environment: equal ones have equal ones."""
    text = json.dumps(sorted(stable(environment).items()))
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def same_bytes(attempt: AttemptRecord) -> str | None:
    """Hash over inputs, program, ELF and engine: attempts that share it ran the same bytes."""
    hashes = attempt.hashes
    if not (hashes.get("program") and hashes.get("elf") and attempt.engine):
        return None
    parts = [hashes.get("inputs", ""), hashes["program"], hashes["elf"]]
    parts += [attempt.engine, attempt.engine_version or "", attempt.engine_sha256 or ""]
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:32]


def past_attempt(attempt: AttemptRecord, environment: Mapping[str, str]) -> PastAttempt:
    """An attempt of now as the history sees those of the past."""
    return PastAttempt(
        rung=attempt.rung,
        phase=attempt.phase,
        kind=attempt.kind,
        signature=attempt.signature,
        engine=attempt.engine,
        seed=attempt.seed,
        same_bytes=same_bytes(attempt),
        outputs=attempt.hashes.get("outputs") or None,
        margin=attempt.margin,
        environment=environment,
    )


def broken_infrastructure(session: SessionRecord) -> bool:
    """True if so many tests fail before their program runs that the session tells nothing about them."""
    ran = [test for test in session.tests if test.result != "skipped"]
    phases = [
        attempt.phase
        for test in ran
        if needs_history(test)
        and (attempt := first_red(test))
        and all(later.kind not in GREEN for later in test.attempts)
    ]
    return infrastructure(phases, len(ran))


def clean(text: str) -> str:
    """Text that every database takes: no NUL, no half of a surrogate pair."""
    return text.replace("\0", "\ufffd").encode("utf-8", "replace").decode("utf-8")


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
