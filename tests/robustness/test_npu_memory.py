"""Where the NPU's buffers are: scratch in DDR, and the cache of Dedicated_Sram modes in SRAM."""

from __future__ import annotations

import re
from pathlib import Path

from harness.aot.ethosu import compile_spec
from harness.firmware.sources import source_root
from harness.outcomes import OutcomeClass
from harness.selfcheck.ladder import GRAPHS
from harness.session import Harness
from harness.standin.npu.container import delegates_in
from harness.targets import TARGETS
from tests.robustness.npu_programs import instructions

U65 = TARGETS["ethos-u65-256"]
CACHE = 2  # region of the cache in SRAM
SCRATCH = 1


def test_program_that_works_in_the_cache_in_sram(harness: Harness, tmp_path: Path) -> None:
    """Vela puts weights and intermediates into it; the stand-in copies it from and to the guest."""
    program = harness.lower(GRAPHS[3].case(U65))
    regions = {
        (instruction.command.name, instruction.par)
        for _, instruction in instructions(program.pte.read_bytes(), "u65")
    }
    assert {("IFM_REGION", CACHE), ("OFM_REGION", CACHE), ("WEIGHT_REGION", CACHE)} <= regions
    assert {("IFM_REGION", SCRATCH), ("OFM_REGION", SCRATCH)} <= regions
    attempt = harness.run(program, tmp_path)
    assert attempt.outcome.kind is OutcomeClass.PASS, attempt.outcome


def test_pools_of_the_runner_fit_what_programs_need(harness: Harness) -> None:
    """A program does not say how much of the cache it uses: it may be all that its memory mode has."""
    options = (source_root() / "runner_app" / "CMakeLists.txt").read_text()
    sizes = {name: int(size) for name, size in re.findall(r"set\((NPU_\w+_SIZE) (\d+) CACHE", options)}
    program = harness.lower(GRAPHS[3].case(U65))
    (delegate,) = delegates_in(program.pte.read_bytes())
    assert delegate.scratch_size <= sizes["NPU_SCRATCH_SIZE"]
    flags = " ".join(compile_spec(U65).compiler_flags)
    assert "--memory-mode=Dedicated_Sram" in flags
    (cache,) = re.findall(r"--arena-cache-size=(\d+)", flags)
    assert 0 < int(cache) <= sizes["NPU_FAST_SCRATCH_SIZE"]
