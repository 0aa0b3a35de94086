"""The runtime compiled for Cortex-M55: without warnings, heap or exceptions, and small."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.runtime.conftest import HERE, REPOSITORY, Once, build, call

FLAGS = "-mcpu=cortex-m55 -mfloat-abi=hard -mthumb"
# Text of the runtime in an image, bytes: what it needs, and some room.
LIMITS = {"ON": 40_000, "OFF": 21_000}


@pytest.fixture(params=["ON", "OFF"], ids=["log", "no-log"])
def log(request: pytest.FixtureRequest) -> str:
    """Whether log messages are kept."""
    return str(request.param)


@pytest.fixture
def image(log: str, once: Once) -> Path:
    """The directory of an image with a runtime built for size."""

    def make(directory: Path) -> None:
        build(
            HERE,
            directory,
            TARGET_IMAGE="ON",
            PLATFORM="target",
            RUNTIME_LOG=log,
            CMAKE_BUILD_TYPE="MinSizeRel",
            CMAKE_TOOLCHAIN_FILE=REPOSITORY / "runner_app" / "cmake" / "arm-none-eabi.cmake",
            CMAKE_CXX_FLAGS=FLAGS,
        )

    return once(f"target-log-{log}", make)


def test_size(image: Path, log: str) -> None:
    """The runtime's own code in a linked image, from the link map."""
    kept = (image / "image.map").read_text().partition("Linker script and memory map")[2]
    sections = re.finditer(
        r"^ \.(?:text|rodata)\S*\s+0x[0-9a-f]+\s+(0x[0-9a-f]+)\s+\S*libruntime\.a\(",
        kept,
        re.MULTILINE,
    )
    text = sum(int(section[1], 16) for section in sections)
    assert 10_000 < text < LIMITS[log]


def test_needs_no_heap(image: Path) -> None:
    names = call("arm-none-eabi-nm", "--undefined-only", "-A", image / "runtime" / "libruntime.a")
    undefined = {line.split()[-1] for line in names.splitlines()}
    assert "memcpy" in undefined
    # Not operator delete: every virtual destructor refers to it.
    forbidden = re.compile(r"malloc|calloc|realloc|^free$|_Znw|_Zna|__cxa_throw|printf|__cxa_guard")
    assert {name for name in undefined if forbidden.search(name)} == set()
