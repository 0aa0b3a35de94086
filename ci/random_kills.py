"""Sessions in which something is killed at a random moment: nothing may stay, be lost, or be counted twice.

    python -m ci.random_kills --runs 1000 --seed 1

Each run is a whole pytest session with two xdist workers on a fake FVP. Killed (SIGKILL) is, in turn, the
harness itself, a worker, an FVP, or a process that writes the session into a database. Afterwards: no process
of the run is alive, the journal is readable, every test has one record and its attempts are numbered without
gaps, the reports parse and tell the same, and the database holds each attempt once. Everything that is random
comes from the seed, but not how fast the machine is.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass
from pathlib import Path
from time import monotonic, sleep
from xml.etree import ElementTree

import psutil

from harness.console.process import descendants
from harness.ledger.store import Ledger
from harness.records import SessionRecord
from harness.report.jsonl import Journal, read_journal
from harness.targets import FVP_SSE300_U55
from tests.harness.bench import BOOT, GOOD, LOAD, RUN, install_fake, prints, writes
from tests.harness.reruns.conftest import HANDMADE

ROOT = Path(__file__).resolve().parents[1]
VICTIMS = ("harness", "worker", "fvp", "writer")
TESTS = 8
# Every process of a run inherits this variable with a value of its own.
TOKEN = "CORSTONE_RANDOM_KILLS"
# [s] For the remains of a session to end; execnet gives a worker that lost its controller fifteen.
GRACE = 60.0
# [s] For a whole session; a hang of the harness is a failure.
SESSION_LIMIT = 300.0

SUITE = """
import pytest
from handmade import elf, program

@pytest.mark.parametrize("number", range({tests}))
def test_one(run, assert_matches, tmp_path, number):
    assert_matches(run(program(tmp_path), runner=elf(tmp_path)))
"""


@dataclass(frozen=True)
class Plan:
    """One run: who is killed, at which boot, how many seconds later, and whether that boot hangs."""

    victim: str
    boot: int
    delay: float
    hangs: bool


@dataclass(frozen=True)
class Run:
    """A finished run: whether the victim was hit, the session's exit status (negative: killed)."""

    plan: Plan
    hit: bool
    status: int


class ViolationError(AssertionError):
    """Something was left over, lost or doubled."""


def plan(seed: int, number: int) -> Plan:
    """The plan of run `number`."""
    rng = random.Random(f"{seed} {number}")
    victim = VICTIMS[number % len(VICTIMS)]
    # An FVP that hangs is killed for certain in the midst of its run; one that does not, wherever it is.
    return Plan(victim, rng.randint(1, TESTS), rng.uniform(0, 0.1), victim != "writer" and rng.random() < 0.6)


def run_once(made: Plan, directory: Path, python: str = sys.executable) -> Run:
    """Do one run in `directory` and check what it left.

    Raises:
        ViolationError: what is wrong, in one line.
    """
    token = str(directory)
    environment = _prepare(made, directory, token)
    plugins = "-p xdist.plugin -p harness.plugin -p no:cacheprovider"
    arguments = "-q -n 2 --engine fvp --ledger ledger.sqlite --report-dir reports"
    limits = "--cache cache --silence-limit 2 --reruns-budget 30"
    with (directory / "session.log").open("wb") as log:
        session = subprocess.Popen(
            [python, "-m", "pytest", *plugins.split(), *arguments.split(), *limits.split()],
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
        )
    try:
        hit = made.victim != "writer" and _strike(made, session, directory)
        status = session.wait(SESSION_LIMIT)
    except subprocess.TimeoutExpired as error:
        raise ViolationError(f"the session has not ended after {SESSION_LIMIT:g} s") from error
    finally:
        session.kill()
        session.wait()
        left = _left(token)
    if left:
        raise ViolationError(f"processes were left: {left}")
    killed = made.victim == "harness" and hit
    journal = _check_journal(directory / "reports", killed)
    if journal is not None:
        if not killed:
            _check_reports(journal.session, directory / "reports", status)
            _check_boots(journal.session, directory / "bin" / "runs.count")
            _check_ledger(journal.session, directory / "ledger.sqlite")
        if made.victim == "writer":
            hit = _kill_writer(made, journal, directory, environment, python)
        _check_stored_again(journal.session, directory / "again.sqlite")
    return Run(made, hit, status)


def _prepare(made: Plan, directory: Path, token: str) -> dict[str, str]:
    fake = install_fake(directory / "bin" / FVP_SSE300_U55)
    good = [*prints(*GOOD), writes()]
    hanging = [*prints(*BOOT, *LOAD, RUN[0]), ["hang"]]
    fake.does_in_turn(*[hanging if made.hangs and n == made.boot else good for n in range(1, TESTS + 2)])
    (directory / "handmade.py").write_text(HANDMADE)
    (directory / "test_it.py").write_text(SUITE.format(tests=TESTS))
    (directory / "tmp").mkdir()
    ours = ("CORSTONE_", "PYTEST_", "PYTHONDONTWRITEBYTECODE")
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith(ours)},
        "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",  # others take most of the time that a session needs to begin
        "PATH": f"{fake.executable.parent}:/usr/bin:/bin",
        "PYTHONPATH": f"{directory}{os.pathsep}{ROOT}",
        "TMPDIR": str(directory / "tmp"),
        TOKEN: token,
    }


def _strike(made: Plan, session: subprocess.Popen[bytes], directory: Path) -> bool:
    """Wait for the boot, then kill; False if the session or its victim was faster."""
    counter = directory / "bin" / "runs.count"

    def booted() -> bool:
        return session.poll() is not None or (counter.exists() and counter.stat().st_size >= made.boot)

    if not _until(booted, SESSION_LIMIT) or session.poll() is not None:
        return False
    sleep(made.delay)  # the random moment, not a synchronisation
    if made.victim == "harness":
        session.kill()
        return True
    wanted = _is_worker if made.victim == "worker" else _is_fvp
    victims = sorted((p for p in descendants(session.pid) if wanted(p)), key=lambda p: p.pid)
    if not victims:
        return False
    with suppress(psutil.Error):
        victims[made.boot % len(victims)].kill()
        return True
    return False


def _words(process: psutil.Process) -> Sequence[str]:
    with suppress(psutil.Error):
        return list(process.cmdline())
    return ()


def _is_worker(process: psutil.Process) -> bool:
    return any("sys.stdin.readline" in word for word in _words(process))


def _is_fvp(process: psutil.Process) -> bool:
    words = _words(process)
    return any(word.endswith(FVP_SSE300_U55) for word in words) and "--version" not in words


def _left(token: str) -> list[str]:
    """Processes of the run that do not end by themselves; they are ended here."""
    _until(lambda: not list(_marked(token)), GRACE)
    left = list(_marked(token))
    names = [" ".join(_words(process))[:200] for process in left]
    for process in left:
        with suppress(psutil.Error):
            process.kill()
    return names


def _marked(token: str) -> Iterator[psutil.Process]:
    for process in psutil.process_iter():
        with suppress(psutil.Error):
            if process.environ().get(TOKEN) == token and process.status() != psutil.STATUS_ZOMBIE:
                yield process


def _until(condition: Callable[[], bool], limit: float) -> bool:
    deadline = monotonic() + limit
    while not condition():
        if monotonic() > deadline:
            return False
        sleep(0.005)
    return True


def _check_journal(reports: Path, killed: bool) -> Journal | None:
    """The session's journal; None if the harness was killed before it began one."""
    paths = list(reports.glob("*.jsonl"))
    if not paths and killed:
        return None
    if len(paths) != 1:
        raise ViolationError(f"{len(paths)} journals")
    journal = read_journal(paths[0])
    lines = paths[0].read_bytes().split(b"\n")[:-1]
    entries = [json.loads(line) for line in lines]
    ids = Counter(entry["record"]["nodeid"] for entry in entries if entry["entry"] == "test")
    if doubled := [nodeid for nodeid, count in ids.items() if count > 1]:
        raise ViolationError(f"more than one record of {doubled}")
    if not killed and (journal.session.partial or set(ids) != set(journal.collected) or len(ids) != TESTS):
        raise ViolationError(f"{len(ids)} of {TESTS} tests have a record; {journal.notes}")
    for test in journal.session.tests:
        numbers = [attempt.number for attempt in test.attempts]
        directories = [attempt.directory for attempt in test.attempts if attempt.directory]
        if numbers != list(range(1, len(numbers) + 1)) or len(set(directories)) != len(directories):
            raise ViolationError(f"{test.nodeid} has the attempts {numbers} in {directories}")
    return journal


def _check_reports(session: SessionRecord, reports: Path, status: int) -> None:
    """The reports parse and tell what the journal tells; the exit status fits."""
    cases = [case.get("name") for case in ElementTree.parse(reports / "junit.xml").iter("testcase")]
    if len(cases) != TESTS or len(set(cases)) != TESTS:
        raise ViolationError(f"junit.xml has the test cases {cases}")
    for name in ("report.html", "testplan.md"):
        if not (reports / name).read_text().strip():
            raise ViolationError(f"{name} is empty")
    red = {test.result for test in session.tests} - {"passed"}
    wanted = 0 if not red else 10 if red == {"flaky"} else 1
    if status != wanted or session.exit_status != wanted:
        raise ViolationError(
            f"exit status {status}, in the journal {session.exit_status}; results {red or 'passed'}"
        )


def _check_boots(session: SessionRecord, counter: Path) -> None:
    """Each boot is an attempt; only one that died with its worker, or before it was counted, has none."""
    attempts = [attempt for test in session.tests for attempt in test.attempts]
    dead = sum(attempt.kind == "WORKER_CRASH" or attempt.phase == "launch" for attempt in attempts)
    boots = counter.stat().st_size
    if not len(attempts) - dead <= boots <= len(attempts):
        raise ViolationError(
            f"{boots} boots, {len(attempts)} attempts, {dead} of them died before they were counted"
        )


def _check_ledger(session: SessionRecord, ledger: Path) -> None:
    """The database holds each test and each attempt once."""
    expected = {test.nodeid: len(test.attempts) for test in session.tests}
    with closing(sqlite3.connect(ledger)) as connection:
        (state,) = connection.execute("pragma integrity_check").fetchone()
        found = dict(
            connection.execute(
                "select nodeid, (select count(*) from attempts a where a.session = t.session "
                "and a.nodeid = t.nodeid) from tests t where session = ?",
                (session.id,),
            ).fetchall()
        )
        (total,) = connection.execute("select count(*) from attempts").fetchone()
    if state != "ok" or found != expected or total != sum(expected.values()):
        raise ViolationError(f"the ledger ({state}) has {found}, {total} attempts; the journal {expected}")


def _kill_writer(
    made: Plan, journal: Journal, directory: Path, environment: dict[str, str], python: str
) -> bool:
    """Kill a process in the midst of storing the session, one test a transaction."""
    (path,) = (directory / "reports").glob("*.jsonl")
    ledger = directory / "again.sqlite"
    argv = [python, "-m", "ci.random_kills", "--store", str(path), str(ledger)]
    with subprocess.Popen(argv, cwd=ROOT, env=environment) as writer:
        _until(lambda: writer.poll() is not None or ledger.exists(), SESSION_LIMIT)
        sleep(made.delay)  # the random moment, not a synchronisation
        writer.kill()
        return writer.wait() == -signal.SIGKILL


def _check_stored_again(session: SessionRecord, ledger: Path) -> None:
    """Storing what was stored in part, and once more, gives the whole and no more."""
    for _ in range(2):
        with Ledger(str(ledger)) as store:
            store.add(session)
    _check_ledger(session, ledger)


def _store(journal: Path, ledger: str) -> None:
    with Ledger(ledger) as store:
        store.add(read_journal(journal).session, batch=1)


def main() -> int:
    """Do the runs; 1 at the first violation, whose directory is kept."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--runs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="number of the first run")
    parser.add_argument("--store", nargs=2, metavar=("JOURNAL", "LEDGER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.store:
        _store(Path(options.store[0]), options.store[1])
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # what was started is ended on the way out
    hits: Counter[str] = Counter()
    for number in range(options.first, options.first + options.runs):
        made = plan(options.seed, number)
        directory = Path(tempfile.mkdtemp(prefix="random-kills-"))
        try:
            done = run_once(made, directory)
            hits[made.victim] += done.hit
            print(
                f"run {number}: {made.victim} {'killed' if done.hit else 'was faster'}, status {done.status}"
            )
        except Exception as error:
            print(f"run {number} of seed {options.seed}, {made}: {error!r}\nevidence: {directory}")
            return 1
        _remove(directory)
    missed = [victim for victim in VICTIMS if options.runs >= 10 * len(VICTIMS) and not hits[victim]]
    if missed:
        print(f"{options.runs} runs, and never hit: {', '.join(missed)}: are they still recognised?")
        return 1
    print(f"{options.runs} runs, killed: {dict(hits)}; nothing left over, lost or doubled")
    return 0


def _remove(directory: Path) -> None:
    import shutil

    shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
