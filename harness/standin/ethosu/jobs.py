"""Runs jobs of the NPU on the functional model."""

from __future__ import annotations

import contextlib
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from types import FrameType
from typing import TYPE_CHECKING, TextIO

from harness.standin.ddr import SharedDdr
from harness.standin.errors import JobTimeLimitError, StandinError
from harness.standin.ethosu.registers import Ending, Fault, Job
from harness.standin.gdb import Gdb
from harness.targets import Region

if TYPE_CHECKING:
    from harness.standin.npu.trace import Trace


class Model:
    """Executes jobs; `say` prints what the user must know, `seconds_left` bounds each job.

    Args:
        npu: product and MACs.
        gdb: connection to the guest, which stands still during a job.
        ddr: the board's DDR.
        regions: memory that the NPU reaches.
        record: gets a line for every operation, if given.
        say: prints a line.
        seconds_left: until the simulation's time limit.
    """

    def __init__(
        self,
        npu: tuple[str, int],
        gdb: Gdb,
        ddr: SharedDdr,
        regions: Sequence[Region],
        record: TextIO | None,
        say: Callable[[str], None],
        seconds_left: Callable[[], float],
    ) -> None:
        self._npu, self._gdb, self._ddr, self._regions = npu, gdb, ddr, regions
        self._record, self._say, self._seconds_left = record, say, seconds_left
        self._trace: Trace | None = None

    def prepare(self) -> None:
        """Import the model while the guest goes on; numpy alone costs a tenth of a second."""
        import threading  # without the NPU nobody pays for it

        os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # many simulations run side by side
        threading.Thread(target=_import_model).start()

    def execute(self, job: Job) -> Ending:
        """Do a job, and say why if it fails.

        Raises:
            JobTimeLimitError: the simulation's time limit passed.
        """
        with _alarm(self._seconds_left()):
            return self._execute(job)

    def _execute(self, job: Job) -> Ending:
        from harness.standin.npu.errors import NpuError

        try:
            self._run(job)
        except NpuError as error:
            return self._failed(error.kind, error.opcode, error.offset, error.message)
        except (StandinError, JobTimeLimitError):
            raise
        except (
            Exception
        ) as error:  # the model's own mistake must not look like a pass or a crash of the guest
            return self._failed("internal", None, None, f"{type(error).__name__}{_place(error)}: {error}")
        return Ending(job.size)

    def _run(self, job: Job) -> None:
        from harness.standin.ethosu.memory import BoardMemory
        from harness.standin.npu.config import NpuConfig
        from harness.standin.npu.errors import NpuError, NpuFault
        from harness.standin.npu.machine import run
        from harness.standin.npu.trace import Trace

        if self._record is not None and self._trace is None:
            self._trace = Trace(self._record)
        memory = BoardMemory(self._gdb, self._ddr, self._regions)
        try:
            commands = memory.view(job.commands, job.size).tobytes()
        except NpuFault as fault:
            raise NpuError("bus", f"fetching the command stream: {fault.message}") from None
        run(NpuConfig(*self._npu), commands, job.bases, memory, self._trace)

    def _failed(self, kind: str, opcode: str | None, offset: int | None, message: str) -> Ending:
        """Say it in one line, and how the job ended for the driver: unknown commands are parse errors."""
        what = f" in {opcode}" if opcode else ""
        where = "" if offset is None else f" at byte 0x{4 * offset:x} of the command stream"
        self._say(f"Error: stand-in: NPU: {kind} error{what}{where}: {' '.join(message.split())}")
        return Ending(4 * (offset or 0), Fault.BUS if kind == "bus" else Fault.PARSE)


def _place(error: Exception) -> str:
    """File and line where it was raised."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    if trace is None:
        return ""
    return f" at {trace.tb_frame.f_code.co_filename.rpartition('/')[2]}:{trace.tb_lineno}"


def _import_model() -> None:
    with contextlib.suppress(ImportError):  # the first job reports it
        import harness.standin.ethosu.memory
        import harness.standin.npu.machine  # noqa: F401


@contextlib.contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise JobTimeLimitError in the block after `seconds`."""

    def ring(number: int, frame: FrameType | None) -> None:
        raise JobTimeLimitError

    if seconds == float("inf"):
        yield
        return
    previous = signal.signal(signal.SIGALRM, ring)
    try:
        signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-3))
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
