"""Discovery of compilers and build tools; no build logic."""

from __future__ import annotations

import re
import shutil
import subprocess
from dataclasses import dataclass
from functools import lru_cache

from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase

MINIMUM_ARM_GCC = 12
_PACKAGES = {
    "arm-none-eabi-g++": "gcc-arm-none-eabi, libnewlib-arm-none-eabi and libstdc++-arm-none-eabi-newlib",
    "cmake": "cmake",
    "ninja": "ninja-build",
    "c++": "g++",
    "qemu-system-arm": "qemu-system-arm",
    "clang++": "clang and libclang-rt-dev",
    "clang-format": "clang-format",
}


@dataclass(frozen=True)
class Tool:
    """An executable: absolute path and the version that it prints."""

    name: str
    path: str
    version: str

    @property
    def major(self) -> int:
        """Major version number, 0 if unknown."""
        return int(self.version.split(".")[0] or 0)


@dataclass(frozen=True)
class Toolchain:
    """What one kind of build needs."""

    compiler: Tool
    cmake: Tool
    ninja: Tool

    @property
    def identity(self) -> str:
        """Text that changes when a tool does; part of the build key."""
        tools = (self.compiler, self.cmake, self.ninja)
        return " ".join(f"{tool.path}={tool.version}" for tool in tools)


def find_tool(name: str) -> Tool:
    """Resolve `name` on PATH and ask for its version.

    Raises:
        HarnessError: ENV/TOOLCHAIN, absent or not executable; the hint names the package.
    """
    path = shutil.which(name)
    hint = f"install {_PACKAGES.get(name, name)} (`ci/env` does it on Debian), then `harness doctor`"
    if path is None:
        raise _unfit(f"{name} is not on PATH", hint)
    return _probe(name, path, hint)


@lru_cache(maxsize=32)
def _probe(name: str, path: str, hint: str) -> Tool:
    try:
        shown = subprocess.run(
            [path, "--version"], capture_output=True, text=True, timeout=30, check=True, errors="replace"
        )
    except (OSError, subprocess.SubprocessError) as error:
        raise _unfit(f"{path} does not run: {error}", hint) from error
    found = re.search(r"\d+(?:\.\d+)+", re.sub(r"\([^)]*\)", "", shown.stdout))
    return Tool(name, path, found.group(0) if found else "0")


def arm_toolchain() -> Toolchain:
    """Tools for a bare-metal build.

    Raises:
        HarnessError: ENV/TOOLCHAIN, a tool is absent or the compiler is older than MINIMUM_ARM_GCC.
    """
    toolchain = Toolchain(find_tool("arm-none-eabi-g++"), find_tool("cmake"), find_tool("ninja"))
    if toolchain.compiler.major < MINIMUM_ARM_GCC:
        raise _unfit(
            f"{toolchain.compiler.path} is version {toolchain.compiler.version}",
            f"version {MINIMUM_ARM_GCC} or newer knows the MVE intrinsics that the kernels use",
        )
    return toolchain


def host_toolchain() -> Toolchain:
    """Tools for a build that runs on this machine."""
    return Toolchain(find_tool("c++"), find_tool("cmake"), find_tool("ninja"))


def _unfit(summary: str, hint: str) -> HarnessError:
    return HarnessError(Outcome(Phase.BUILD, OutcomeClass.ENV_TOOLCHAIN, summary, hint))
