"""Contradictory build options end in one clear line at configure time."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.runner.runners import TARGET_OPTIONS, configure


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"RUNTIME": "theirs"}, "RUNTIME=theirs is unknown; known: ours, wheel, prefix"),
        ({"RUNTIME": "prefix"}, "RUNTIME=prefix needs EXECUTORCH_PREFIX"),
        ({"RUNTIME": "prefix", "EXECUTORCH_PREFIX": "/absent"}, "has no executorch-config.cmake"),
        ({"PLATFORM": "moon"}, "PLATFORM=moon is unknown; known: target, host"),
        ({"KERNEL_VARIANT": "fast"}, "KERNEL_VARIANT=fast is unknown; known: auto, scalar"),
        ({"REGISTRATION": "/absent.cpp"}, "REGISTRATION='/absent.cpp' does not exist"),
        ({"EXECUTORCH_ROOT": "/absent"}, "EXECUTORCH_ROOT='/absent' does not exist or lacks"),
        ({"PLATFORM": "target"}, "PLATFORM=target needs -DCMAKE_TOOLCHAIN_FILE"),
        ({**TARGET_OPTIONS, "RUNTIME": "wheel"}, "RUNTIME=wheel exists on the host only"),
        ({**TARGET_OPTIONS, "TARGET": "cortex-a53"}, "TARGET=cortex-a53 is unknown"),
        ({**TARGET_OPTIONS, "BOARD": "corstone-1000"}, "BOARD=corstone-1000 is unknown"),
        ({**TARGET_OPTIONS, "BOARD": "corstone-320"}, "BOARD=corstone-320 does not have cortex-m55"),
        ({**TARGET_OPTIONS, "TARGET": "ethos-u85-256"}, "its board is corstone-320"),
        ({**TARGET_OPTIONS, "DELEGATES": "XnnpackBackend"}, "DELEGATES: XnnpackBackend is unknown"),
        ({"DELEGATES": "EthosUBackend"}, "DELEGATES=EthosUBackend exist on the target only"),
        ({**TARGET_OPTIONS, "SANITIZE": "ON"}, "SANITIZE=ON exists on the host only"),
    ],
)
def test_contradiction_is_refused(tmp_path: Path, options: dict[str, str], message: str) -> None:
    done = configure(tmp_path, options)
    assert done.returncode != 0
    assert message in " ".join(done.stderr.split())
