"""What is refused before QEMU starts."""

from __future__ import annotations

import struct
from pathlib import Path
from random import Random

import pytest

from harness.standin.arguments import DataFile, Dump
from harness.standin.errors import StandinError
from harness.standin.image import check_application, check_data, check_dump
from harness.targets import CORSTONE_300, CORSTONE_320

from .conftest import SEMIHOSTING, Firmware, RunStandin

VECTORS = (0x1000_0000, 64, 64)


def elf(*segments: tuple[int, int, int], machine: int = 40, ident: bytes = b"\x7fELF\x01\x01\x01") -> bytes:
    """An executable with PT_LOAD segments of (address, bytes in the file, bytes in memory)."""
    start = 52 + 32 * len(segments)
    header = struct.pack(
        "<16sHHIIIIIHHHHHH", ident, 2, machine, 1, 0x10000001, 52, 0, 0, 52, 32, len(segments), 0, 0, 0
    )
    table, body = b"", b""
    for address, file_size, size in segments:
        table += struct.pack("<8I", 1, start + len(body), address, address, file_size, size, 5, 4)
        body += bytes(file_size)
    return header + table + body


def test_real_firmware_is_accepted(firmware: Firmware) -> None:
    check_application(str(firmware("hello")), CORSTONE_300)


@pytest.mark.parametrize(
    ("image", "message"),
    [
        (elf(VECTORS, (0x1100_0000, 16, 1 << 20), (0x7000_0000, 0, 1 << 28)), None),
        (b"", "not an ELF"),
        (b"#!/bin/sh\n" * 20, "not an ELF"),
        (elf(VECTORS, machine=62), "not a little-endian 32-bit Arm ELF"),
        (elf(VECTORS, ident=b"\x7fELF\x02\x01\x01"), "not a little-endian 32-bit Arm ELF"),
        (elf(VECTORS, ident=b"\x7fELF\x01\x02\x01"), "not a little-endian 32-bit Arm ELF"),
        (elf(VECTORS)[:60], "truncated"),
        (elf(VECTORS)[:-1], "truncated: segment 0"),
        (elf(), "nothing to load"),
        (elf((0x1100_0000, 64, 64)), "no vector table: corstone-300 boots from 0x10000000"),
        (
            elf(VECTORS, (0x3000_0000, 0, 0x80001)),
            r"segment 1: 0x30000000-0x30080000 .* nearest: DTCM 0x30000000",
        ),
        (elf(VECTORS, (0x1200_0000, 4, 4)), "segment 1: .*nearest: BRAM.*the image fits corstone-320"),
        (elf(VECTORS, (0x8000_0000, 4, 4)), "nearest: DDR 0x70000000-0x7fffffff$"),
        (elf(VECTORS, (0xFFFF_FFF0, 0, 0x20)), "is outside"),
    ],
)
def test_image_against_the_map(image: bytes, message: str | None, tmp_path: Path) -> None:
    path = tmp_path / "image.elf"
    path.write_bytes(image)
    if message is None:
        check_application(str(path), CORSTONE_300)
    else:
        with pytest.raises(StandinError, match=message):
            check_application(str(path), CORSTONE_300)


def test_damaged_images_are_errors(firmware: Firmware, tmp_path: Path) -> None:
    good, random, path = firmware("hello").read_bytes(), Random(0), tmp_path / "image.elf"
    refused = 0
    for _ in range(500):
        image = bytearray(good)
        for _ in range(random.randint(1, 4)):
            image[random.randrange(52 + 3 * 32)] = random.choice(
                (0, 1, 0x7F, 0x80, 0xFF, random.randrange(256))
            )
        path.write_bytes(image[: random.choice((len(image), random.randrange(len(image))))])
        try:
            check_application(str(path), CORSTONE_300)
        except StandinError:
            refused += 1
    assert 250 < refused < 500


def test_missing_program_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(StandinError, match="cannot read the program"):
        check_application(str(tmp_path / "absent"), CORSTONE_300)
    with pytest.raises(StandinError, match="cannot read the program"):
        check_application(str(tmp_path), CORSTONE_300)


def test_data_must_fit(tmp_path: Path) -> None:
    path = tmp_path / "data.bin"
    path.write_bytes(bytes(100))
    check_data(DataFile(str(path), 0x9000_0000), CORSTONE_300)
    for address in (0x1200_0000, 0xDFFF_FFF0):
        with pytest.raises(StandinError, match="is outside corstone-300's memory"):
            check_data(DataFile(str(path), address), CORSTONE_300)
    with pytest.raises(StandinError, match="cannot read the data file"):
        check_data(DataFile(str(tmp_path / "absent"), 0x9000_0000), CORSTONE_300)


def test_dump_is_of_ddr() -> None:
    check_dump(Dump("x", 0x7FFF_FFFF, 2), CORSTONE_300)
    check_dump(Dump("x", 0x7FFF_FFFF, 1), CORSTONE_320)
    for board, address, size in (
        (CORSTONE_300, 0x3100_0000, 4),
        (CORSTONE_300, 0xDFFF_FFFF, 2),
        (CORSTONE_320, 0x7FFF_FFFF, 2),
        (CORSTONE_320, 0x6000_0000, 4),
    ):
        with pytest.raises(StandinError, match=f"outside {board.name}'s DDR"):
            check_dump(Dump("x", address, size), board)


@pytest.mark.parametrize("how", ["exit", "limit"])
def test_dump_at_the_end(how: str, firmware: Firmware, run_standin: RunStandin, tmp_path: Path) -> None:
    (tmp_path / "data").write_bytes(bytes(range(64)))
    words = ["--data", "data@0x90000000", "--dump", "dumped@0x90000008,16", "--timelimit", "1", *SEMIHOSTING]
    run_standin(firmware("hang" if how == "limit" else "silent"), *words)
    assert (tmp_path / "dumped").read_bytes() == bytes(range(8, 24))
    run = run_standin(firmware("silent"), *words, "--dump", "no/such/place@0x90000000,1")
    assert run.returncode == 2
    assert b"Error: stand-in: --dump 'no/such/place': No such file or directory" in run.stdout


def test_refusal_ends_with_status_2(run_standin: RunStandin, tmp_path: Path) -> None:
    path = tmp_path / "image.elf"
    path.write_bytes(elf(VECTORS, (0x1200_0000, 4, 4)))
    run = run_standin(path)
    assert run.returncode == 2
    assert run.stdout.startswith(b"Error: stand-in: ")
    assert run.stdout.count(b"\n") == 1
