"""The Ethos-U's register block as a driver sees it (section 15 of the command-stream reference)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum

from harness.standin.ethosu.words import CONFIG_WORDS, EVENT_COUNTERS, ID_WORDS

ID, STATUS, CMD, RESET, QBASE, QREAD, QSIZE, PROT, CONFIG = (
    0x00,
    0x04,
    0x08,
    0x0C,
    0x10,
    0x18,
    0x20,
    0x24,
    0x28,
)
BASEP, REGIONS = 0x80, 8
_STORED = frozenset((*range(QBASE, QREAD, 4), 0x1C, QSIZE, *range(0x2C, BASEP + 8 * REGIONS, 4)))

RUN, CLEAR_IRQ, POWER_HINTS = 1 << 0, 1 << 1, 3 << 2  # CMD
IRQ_RAISED, BUS_ERROR, PARSE_ERROR, END_REACHED = 1 << 1, 1 << 2, 1 << 4, 1 << 5  # STATUS
_LEVELS = 3  # privilege and security of RESET and PROT

_PMU_PAGE = 0x1000  # U85: the PMU is in a second page; its offsets there are those of the U55
PMCR = 0x180
_PMU_SETS = {0x184: 0x184, 0x18C: 0x18C, 0x194: 0x194, 0x188: 0x184, 0x190: 0x18C, 0x198: 0x194}
_PMU_STORED = frozenset((0x1A8, 0x1AC, *range(0x380, 0x400, 4)))
_PMU_COUNTERS = frozenset((0x1A0, 0x1A4, *range(0x300, 0x380, 4)))
_PMCR_STORED, _PMCR_COUNTERS_SHIFT = 0b1001, 11


@dataclass(frozen=True)
class Job:
    """What the registers say when a run starts: addresses, and the stream's size in bytes."""

    commands: int
    size: int
    bases: tuple[int, ...]


class Fault(Enum):
    """Why a job ended early: the bit of STATUS."""

    BUS = BUS_ERROR
    PARSE = PARSE_ERROR


@dataclass(frozen=True)
class Ending:
    """How a job ended: `fault` is None at the stream's end, `offset` the bytes of it that were executed."""

    offset: int
    fault: Fault | None = None


class EthosU:
    """The register block, a `Device`.

    Args:
        product: "u55", "u65" or "u85".
        macs: multiply-accumulates a cycle.
        bases: addresses of the block.
        size: its length in bytes.
        irq: number of its interrupt.
        execute: does a job; called inside the write that starts it.
        say: prints a line for the user.
        touched: called once, at the first access.
    """

    def __init__(
        self,
        product: str,
        macs: int,
        bases: tuple[int, ...],
        size: int,
        irq: int,
        execute: Callable[[Job], Ending],
        say: Callable[[str], None],
        touched: Callable[[], None] = lambda: None,
    ) -> None:
        self.bases, self.size, self.irq = bases, size, irq
        self._execute, self._say, self._touched = execute, say, touched
        self._fresh, self._counters_read = True, False
        self._constants = {
            ID: ID_WORDS[product],
            CONFIG: CONFIG_WORDS[product, macs],
            PMCR: EVENT_COUNTERS[product] << _PMCR_COUNTERS_SHIFT,
        }
        self._is_u85 = product == "u85"
        self._words: dict[int, int] = {}
        self._reset(_LEVELS)

    # Device

    def read(self, offset: int, size: int) -> int:
        """See `Device.read`; an access within one word."""
        self._touch()
        return self._read_word(offset & ~3) >> 8 * (offset & 3) & (1 << 8 * size) - 1

    def write(self, offset: int, size: int, value: int) -> None:
        """See `Device.write`; what a part of a word leaves out is kept, or 0 in CMD and RESET."""
        self._touch()
        word, shift = offset & ~3, 8 * (offset & 3)
        mask = (1 << 8 * size) - 1 << shift & 0xFFFF_FFFF
        kept = 0 if word in (CMD, RESET) else self._words.get(word, 0) & ~mask
        self._write_word(word, value << shift & mask | kept)

    def interrupt(self) -> bool:
        """See `Device.interrupt`."""
        return bool(self._words[STATUS] & IRQ_RAISED)

    def flush(self) -> None:
        """See `Device.flush`; there is nothing."""

    # Registers

    def _touch(self) -> None:
        if self._fresh:
            self._fresh = False
            self._touched()

    def _reset(self, levels: int) -> None:
        self._words = {STATUS: 0, CMD: POWER_HINTS, PROT: levels & _LEVELS}

    def _read_word(self, offset: int) -> int:
        pmu = self._pmu(offset)
        if pmu in _PMU_COUNTERS and not self._counters_read:
            self._counters_read = True
            self._say("Info: stand-in: the NPU's cycle and event counters read 0; it has no model of time")
        if pmu in _PMU_SETS:
            return self._words.get(_PMU_SETS[pmu], 0)
        return self._words.get(pmu, 0) | self._constants.get(pmu, 0)

    def _write_word(self, offset: int, value: int) -> None:
        pmu = self._pmu(offset)
        if offset == CMD:
            self._command(value)
        elif offset == RESET:
            self._reset(value)
        elif offset in _STORED or pmu in _PMU_STORED:
            self._words[pmu] = value
        elif pmu == PMCR:
            self._words[PMCR] = value & _PMCR_STORED
        elif pmu in _PMU_SETS:
            bits, home = self._words.get(_PMU_SETS[pmu], 0), _PMU_SETS[pmu]
            self._words[home] = bits | value if pmu == home else bits & ~value

    def _pmu(self, offset: int) -> int:
        """`offset`, or for the PMU in the second page its place in the first."""
        return offset - _PMU_PAGE if self._is_u85 and offset >= _PMU_PAGE + PMCR else offset

    def _command(self, value: int) -> None:
        self._words[CMD] = value & POWER_HINTS
        if value & CLEAR_IRQ:
            self._words[STATUS] &= ~IRQ_RAISED
        if value & RUN:
            self._run()

    def _run(self) -> None:
        if self._words[STATUS] & (BUS_ERROR | PARSE_ERROR):
            self._say("Error: stand-in: NPU: a run was started after an error without a reset; it is ignored")
            return
        get = self._words.get
        bases = tuple(self._address(BASEP + 8 * region) for region in range(REGIONS))
        ending = self._execute(Job(self._address(QBASE), get(QSIZE, 0), bases))
        self._words[QREAD] = ending.offset
        self._words[STATUS] = IRQ_RAISED | (END_REACHED if ending.fault is None else ending.fault.value)

    def _address(self, offset: int) -> int:
        """The 64-bit address in two registers."""
        return self._words.get(offset, 0) | self._words.get(offset + 4, 0) << 32
