"""Everything that is known of one attempt when it is judged."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from harness.console.events import Event, Kind
from harness.flow import Comparison, RunSpec
from harness.outcomes import Phase

if TYPE_CHECKING:
    from harness.compare.tensors import OutputState

# Lines in which the runner says that something went wrong.
COMPLAINTS = (
    Kind.ERROR,
    Kind.USAGE,
    Kind.INPUT_REFUSED,
    Kind.BUNDLE_REFUSED,
    Kind.LOAD_FAILED,
    Kind.RUN_FAILED,
    Kind.OUTPUT_LOST,
)
# What a person opens next.
LOG_NAME = "console.log"


def nowhere(_: int) -> str | None:
    """Locates no address: for an ELF without symbols."""
    return None


def nothing() -> tuple[str, ...]:
    """Names no buffer: for an ELF without symbols."""
    return ()


@dataclass(frozen=True)
class Evidence:
    """Facts about one run, without judgement.

    `engine` is the kind of the engine, `spoke` tells whether a line came, `events` are in console order,
    `outputs` holds one state per expected output file, `comparisons` one entry per output that could be
    compared. `locate` names the symbol and line of an address of the ELF, `misaligned` its buffers that are
    not 16-byte aligned; both read the file when they are asked. `tests` is the number of test cases in the
    bundle.
    """

    spec: RunSpec
    engine: str
    spoke: bool
    events: tuple[Event, ...]
    stopped_by: str
    exit_status: int | None
    outputs: tuple[OutputState, ...]
    comparisons: tuple[Comparison, ...]
    locate: Callable[[int], str | None] = nowhere
    misaligned: Callable[[], tuple[str, ...]] = nothing
    tests: int = 1

    @cached_property
    def runner_spoke(self) -> bool:
        """True if a line of the runner arrived."""
        return any(event.from_runner for event in self.events)

    @cached_property
    def end(self) -> Event | None:
        """The runner's end marker."""
        return self.first(Kind.END)

    @cached_property
    def end_status(self) -> int | None:
        """Status in the end marker, None without one."""
        return None if self.end is None else int(self.end.values["status"])

    @cached_property
    def bundled(self) -> bool:
        """True if the program carries its own inputs and references."""
        model = self.first(Kind.MODEL)
        return self.spec.program.endswith(".bpte") or (
            model is not None and str(model.values["magic"])[:2] == "BP"
        )

    @cached_property
    def device_verdicts(self) -> tuple[tuple[int, bool], ...]:
        """(index, passed) of each verdict that the device printed, in order."""
        return tuple(
            (int(event.values["index"]), event.values["verdict"] == "PASS")
            for event in self.all(Kind.DEVICE_VERDICT)
        )

    @cached_property
    def only_device_objects(self) -> bool:
        """True if the device's own verdict is FAIL and the runner has no other complaint.

        Its byte-exact comparison knows no integer tolerance, so the host decides then, and a bad status
        that only repeats this verdict does not count by itself.
        """
        if all(passed for _, passed in self.device_verdicts) or self.end is None:
            return False
        comparing, unexplained = False, 0
        for event in self.events:
            if event.kind is Kind.RUN_END:
                comparing = True
            elif event.kind is Kind.DEVICE_VERDICT:
                comparing = False
                if event.values["verdict"] == "FAIL":
                    unexplained = 0  # what it said since the end of the run belongs to this verdict
            elif event.kind in COMPLAINTS:
                if not comparing or event.kind is not Kind.ERROR:
                    return False
                unexplained += 1
        return unexplained == 0

    def all(self, *kinds: Kind) -> tuple[Event, ...]:
        """The events of any of `kinds`, in order."""
        return tuple(event for event in self.events if event.kind in kinds)

    def first(self, *kinds: Kind) -> Event | None:
        """The first event of any of `kinds`."""
        return next((event for event in self.events if event.kind in kinds), None)

    def behind_end(self, *kinds: Kind) -> Event | None:
        """The first event of any of `kinds` behind the end marker."""
        if self.end is None:
            return None
        later = self.events[self.events.index(self.end) + 1 :]
        return next((event for event in later if event.kind in kinds), None)

    @cached_property
    def phase(self) -> Phase:
        """The furthest phase that began."""
        if not self.spoke:
            return Phase.LAUNCH
        return phase_after(self.events)

    def phase_before(self, event: Event) -> Phase:
        """The phase that was on when `event` came."""
        return phase_after(self.events[: self.events.index(event)])

    def complaint(self) -> str:
        """The runner's first complaint, which names the cause better than the last."""
        event = self.first(*COMPLAINTS)
        return "" if event is None else event.message.strip()


def phase_after(events: Sequence[Event]) -> Phase:
    """The phase that `events` lead to, given that the simulator has printed something."""
    kinds = {event.kind for event in events}
    if Kind.END in kinds:
        return Phase.EXIT
    if Kind.RUN_END in kinds:
        return Phase.VERIFY
    if Kind.RUN_BEGIN in kinds:
        return Phase.RUN
    if any(event.from_runner for event in events):
        return Phase.LOAD
    return Phase.BOOT
