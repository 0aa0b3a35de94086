"""The scheduler of `--dist each` when workers die: what one leaves undone is given to one other."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace

import pytest
from xdist.remote import Producer
from xdist.scheduler import Scheduling

from harness.plugin.scheduling import scheduler

TESTS = ["test_first", "test_dies", "test_last"]


class Worker:
    """What the scheduler needs of a worker; it notes what it was told to run."""

    def __init__(self) -> None:
        self.gateway = SimpleNamespace(id="gw", spec="popen")
        self.told: list[str | list[int]] = []

    def send_runtest_all(self) -> None:
        self.told.append("all")

    def send_runtest_some(self, indices: Sequence[int]) -> None:
        self.told.append(list(indices))

    def shutdown(self) -> None:
        self.told.append("end")


def collected(chosen: Scheduling, worker: Worker) -> None:
    """What xdist does when a worker has collected."""
    chosen.add_node_collection(worker, TESTS)
    if chosen.collection_is_completed:
        chosen.schedule()


@pytest.fixture
def chosen() -> Scheduling:
    settings = {"dist": "each", "tx": ["2*popen"]}
    made = scheduler(
        SimpleNamespace(getvalue=settings.__getitem__),  # type: ignore[arg-type]
        Producer("test", enabled=False),
    )
    assert made is not None
    return made


@pytest.fixture
def running(chosen: Scheduling) -> tuple[Worker, Worker]:
    """Two workers that run all tests."""
    workers = Worker(), Worker()
    for worker in workers:
        chosen.add_node(worker)
    for worker in workers:
        collected(chosen, worker)
        assert not chosen.collection_is_completed or worker is workers[1]
    assert [worker.told for worker in workers] == [["all", "end"], ["all", "end"]]
    return workers


def test_two_workers_are_replaced_at_once(chosen: Scheduling, running: tuple[Worker, Worker]) -> None:
    replacements = Worker(), Worker()
    for worker in running:
        chosen.mark_test_complete(worker, 0)
        assert chosen.remove_node(worker) == "test_dies"
    for worker in replacements:
        chosen.add_node(worker)
    for worker in replacements:
        collected(chosen, worker)
    assert [worker.told for worker in replacements] == [[[2]], [[2]]]
    assert chosen.tests_finished


def test_a_worker_that_replaces_a_replacement(chosen: Scheduling, running: tuple[Worker, Worker]) -> None:
    assert chosen.remove_node(running[0]) == "test_first"
    second, third = Worker(), Worker()
    for worker, left, dies in ((second, [1, 2], "test_dies"), (third, [2], "test_last")):
        chosen.add_node(worker)
        collected(chosen, worker)
        assert worker.told == [left]
        assert chosen.remove_node(worker) == dies


def test_nothing_is_left_by_a_worker_that_died_in_its_last_test(
    chosen: Scheduling, running: tuple[Worker, Worker]
) -> None:
    for index in (0, 1):
        chosen.mark_test_complete(running[0], index)
    assert chosen.remove_node(running[0]) == "test_last"
    worker = Worker()
    chosen.add_node(worker)
    collected(chosen, worker)
    assert worker.told == ["end"]
