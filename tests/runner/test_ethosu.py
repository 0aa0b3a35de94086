"""The Ethos-U backend and driver on the host, against a model of the NPU's registers."""

from __future__ import annotations

import struct
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from harness.firmware.sources import executorch_root
from tests.runner.ethosu.blobs import U85_256, blob, block, driver_actions, placements
from tests.runner.runners import HERE, RUNNER_APP, once


@pytest.fixture(scope="session")
def driver(shared: Path) -> Path:
    """The built driver."""

    def make(directory: Path) -> None:
        options = {"RUNNER_DIR": RUNNER_APP, "EXECUTORCH_ROOT": executorch_root()}
        configure = ["cmake", "-G", "Ninja", "-S", str(HERE / "ethosu"), "-B", str(directory)]
        configure += [f"-D{name}={value}" for name, value in options.items()]
        for argv in (configure, ["ninja", "-C", str(directory)]):
            done = subprocess.run(argv, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout[-8000:] + done.stderr

    return once(shared, "build ethosu driver", make) / "driver"


@dataclass(frozen=True)
class Output:
    """Standard output as lines, and the log."""

    lines: list[str]
    log: str


Drive = Callable[..., Output]


@pytest.fixture
def drive(driver: Path, tmp_path: Path) -> Drive:
    """Runs the driver on blobs; a sanitizer's report fails the test."""

    def run(mode: str, argument: str, *blobs: bytes) -> Output:
        names = []
        for number, content in enumerate(blobs):
            names.append(tmp_path / f"{number}.blob")
            names[-1].write_bytes(content)
        done = subprocess.run(
            [driver, mode, argument, *names], capture_output=True, text=True, timeout=60, check=False
        )
        assert "Sanitizer" not in done.stderr, done.stderr[-4000:]
        assert "runtime error" not in done.stderr, done.stderr[-4000:]
        assert done.returncode in (0, 1), done.stderr
        return Output(done.stdout.splitlines(), done.stderr)

    return run


def test_several_delegates_and_repeated_inferences(drive: Drive) -> None:
    output = drive("run", "", blob(), blob(cmd_data=driver_actions(commands=bytes(64))))
    results = [f"run Error::Ok {' '.join(str(10 * i + k + 1) for k in range(8))}" for i in range(4)]
    assert output.lines == ["load Error::Ok", "load Error::Ok", *results, "jobs 4 armed 0"]
    assert output.log == ""


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("bus", "NPU bus error at byte 4 of 16 of the command stream (STATUS=0x00000006)"),
        ("parse", "NPU command parse error at byte 4 of 16 of the command stream (STATUS=0x00000012)"),
        ("ecc", "NPU ECC fault at byte 4"),
        ("stops", "NPU stop before the end at byte 4"),
        ("hangs", "NPU time-out at byte 4"),
        ("mute", "NPU stop without interrupt at byte 16"),
        ("protection", "NPU refuses privileged secure accesses (PROT=0x0)"),
    ],
)
def test_failed_job(drive: Drive, fault: str, message: str) -> None:
    output = drive("run", fault, blob())
    assert message in output.log
    failed = "run Error::Internal 0 0 0 0 0 0 0 0"
    jobs = 0 if fault == "protection" else 2
    assert output.lines == ["load Error::Ok", failed, failed, f"jobs {jobs} armed 0"]


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("reset", "NPU at 0x50004000 does not leave reset"),
        ("absent", "There is no NPU at 0x50004000"),
        ("macs", "program is compiled for ethos-u85-256, this NPU is ethos-u85-512"),
        ("product", "program is compiled for ethos-u85-256, this NPU is ethos-u55-128"),
        ("version", "program is compiled for another version of ethos-u85-256: ID 0x20007000"),
    ],
)
def test_wrong_npu(drive: Drive, fault: str, message: str) -> None:
    output = drive("run", fault, blob())
    assert message in output.log
    assert len(output.lines) == 1
    assert output.lines[0] != "load Error::Ok"


def test_newer_revision_of_the_npu(drive: Drive) -> None:
    assert drive("run", "newer", blob()).lines[0] == "load Error::Ok"


KEY = b"0" * 64
LONG_LIST = placements((8, 1, 0, 1))
MALFORMED = {
    "empty": (b"", "truncated"),
    "no start": (blob(vela_bin_stream=None), "does not begin with vela_bin_stream"),
    "no end": (blob(vela_end_stream=None), "truncated"),
    "no commands": (blob(cmd_data=None), "no block cmd_data"),
    "no outputs": (blob(outputs=None), "no block outputs"),
    "unknown block": (block("vela_bin_stream") + block("surprise", b"x"), "unknown name"),
    "unnamed block": (block("vela_bin_stream") + b"x" * 64, "no valid name"),
    "twice": (block("vela_bin_stream") + 2 * block("weight_data", b"x"), "two blocks"),
    "huge block": (blob()[:48] + b"\xff" * 4 + blob()[52:], "truncated"),
    "short key": (block("vela_bin_stream") + block("cmd_data", b"x", external=1), "unknown way"),
    "external inputs": (block("vela_bin_stream") + block("inputs", KEY, external=1), "unknown way"),
    "scratch size": (blob(scratch_size=bytes(8)), "no number of 32 bits"),
    "outside": (blob(outputs=placements((8, 1, 57, 1))), "output 0 is not within the scratch buffer of 64"),
    "negative offset": (blob(inputs=placements((8, 1, -1, 1))), "input 0 is not within"),
    "negative size": (blob(inputs=placements((-8, 1, 0, 1))), "input 0 is not within"),
    "no element size": (blob(inputs=placements((8, 0, 0, 1))), "input 0 is not within"),
    "overflow": (
        blob(inputs=struct.pack("<10i", 1, *[2**31 - 1] * 6, 1, 0, 1)),
        "input 0 is not within",
    ),
    "other region": (blob(inputs=placements((8, 1, 0, 2))), "input 0 is not within"),
    "short list": (blob(inputs=LONG_LIST[:-4]), "another size than it says"),
    "long list": (blob(inputs=LONG_LIST + bytes(4)), "another size than it says"),
    "negative count": (blob(inputs=struct.pack("<i", -1)), "another size than it says"),
    "no magic": (blob(cmd_data=b"COP2" + bytes(16)), "COP1"),
    "no configuration": (blob(cmd_data=b"COP1" + struct.pack("<2I", 2 | 1 << 16, 0)), "which NPU"),
    "no stream": (blob(cmd_data=b"COP1" + struct.pack("<3I", 1, *U85_256)), "no command stream"),
    "short stream": (blob(cmd_data=driver_actions()[:-4]), "command stream is truncated"),
    "unknown action": (blob(cmd_data=driver_actions(before=struct.pack("<I", 9))), "unknown driver action 9"),
    "unaligned": (
        blob(cmd_data=b"COP1" + struct.pack("<5I", 1, *U85_256, 2 | 1 << 16, 0)),
        "its command stream at",
    ),
    "no named data": (
        block("vela_bin_stream")
        + block("cmd_data", KEY, external=1)
        + blob(vela_bin_stream=None, cmd_data=None),
        "refers to data 0000",
    ),
    "large scratch": (blob(scratch_size=struct.pack("<I", 4097)), "4097B requested (adjusted for alignment)"),
}


@pytest.mark.parametrize("name", MALFORMED)
def test_malformed_blob(drive: Drive, name: str) -> None:
    content, message = MALFORMED[name]
    output = drive("run", "", content)
    assert message in output.log
    assert len(output.lines) == 1
    assert output.lines[0] != "load Error::Ok"


def test_argument_of_another_size(drive: Drive) -> None:
    for change in (
        blob(inputs=placements((4, 1, 0, 1))),
        blob(outputs=placements((4, 2, 8, 1))),
        blob(inputs=placements((8, 1, 0, 1), (8, 1, 0, 1))),
    ):
        output = drive("run", "", change)
        assert output.lines[1].startswith("run Error::InvalidProgram")
        assert "of the NPU is Char with 8 bytes" in output.log or "takes 2 inputs" in output.log


def test_damaged_blobs_never_do_harm(drive: Drive) -> None:
    truncated, damaged = drive("mutate", "3", blob()).lines
    assert truncated == f"truncations accepted 0 of {len(blob())}"
    accepted = int(damaged.split()[3])  # damage to unused bytes and to the stream's content is harmless
    assert 0 < accepted < 4000
