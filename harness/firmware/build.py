"""Build of the runner with CMake and Ninja: once per key, under a file lock."""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import signal
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from filelock import FileLock

from harness.cache import mark_used
from harness.firmware import elf, registration, sources
from harness.firmware.prefix import prefix_hash
from harness.firmware.toolchain import Toolchain, arm_toolchain, host_toolchain
from harness.flow import RunnerElf
from harness.outcomes import HarnessError, Outcome, OutcomeClass, Phase
from harness.targets import Target

# They would change a build without changing its key.
_COMPILER_VARIABLES = frozenset(
    {"CC", "CXX", "ASM", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "ASMFLAGS", "LDFLAGS", "LIBRARY_PATH", "CPATH"}
    | {"C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "CMAKE_GENERATOR", "CMAKE_TOOLCHAIN_FILE"}
)

RUNTIMES = ("ours", "wheel", "prefix")
Progress = Callable[[str], None]


@dataclass(frozen=True)
class RunnerRequest:
    """Which runner to build.

    `operators` are the names it registers; `runtime` is "ours", "wheel" (on the host only) or "prefix"
    (an ExecuTorch install, whose directory is then `prefix`); `platform` is "target" or "host";
    `variant` "scalar" leaves out the vector kernels; `sanitize` adds ASan and UBSan to a host build.
    """

    target: Target
    operators: tuple[str, ...]
    runtime: str = "ours"
    platform: str = "target"
    variant: str = "auto"
    sanitize: bool = False
    prefix: Path | None = None


def known_operators() -> tuple[str, ...]:
    """Names of all operators that `kernels/` implements, sorted."""
    return tuple(sorted(op.name for op in _load_operators()))


def build_runner(request: RunnerRequest, cache: Path, progress: Progress = lambda _: None) -> RunnerElf:
    """Build what `request` describes, or return the finished build of the same key.

    Raises:
        HarnessError: ENV/TOOLCHAIN, CONFIG/MISSING_OP, CONFIG/OPTIONS, BUILD/* or INFRA/OOM; the
            compiler's output is in `build.log` in the directory that the message names.
    """
    _check_options(request)
    toolchain = arm_toolchain() if request.platform == "target" else host_toolchain()
    chosen = registration.generate(_load_operators(), request.operators)
    directory = cache / "firmware" / _key(request, chosen, toolchain)
    try:
        directory.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        summary = f"cannot write the cache: {error}"
        raise HarnessError(
            Outcome(Phase.BUILD, OutcomeClass.CONFIG_OPTIONS, summary, "choose another one with --cache")
        ) from error
    with FileLock(directory / "lock"):
        if not (directory / "done").is_file():
            progress(f"building the runner for {request.target.name} ({len(chosen.operators)} operators)")
            _build(request, chosen, toolchain, directory)
            _trim(directory / "build")
            (directory / "done").touch()
        mark_used(directory)
    return _accept(request, directory)


def _check_options(request: RunnerRequest) -> None:
    problems = {
        f"platform '{request.platform}': target or host": request.platform in ("target", "host"),
        f"runtime '{request.runtime}': {', '.join(RUNTIMES)}": request.runtime in RUNTIMES,
        "runtime 'wheel' exists on the host only": request.runtime != "wheel" or request.platform == "host",
        "runtime 'prefix' and the directory of an install need each other": (request.runtime == "prefix")
        == (request.prefix is not None),
        "sanitizers exist on the host only": not request.sanitize or request.platform == "host",
    }
    for problem, good in problems.items():
        if not good:
            hint = "`harness build --help` shows the combinations; --platform host is this machine"
            raise HarnessError(Outcome(Phase.BUILD, OutcomeClass.CONFIG_OPTIONS, problem, hint))


def _accept(request: RunnerRequest, directory: Path) -> RunnerElf:
    path = directory / "build" / "executor_runner"
    if request.platform == "target":
        return elf.check_runner(path, request.target)
    manifest = json.loads((directory / "manifest.json").read_text())
    return elf.runner_elf(path, elf.read_elf(path), manifest)


@lru_cache(maxsize=1)
def _load_operators() -> tuple[registration.Operator, ...]:
    return registration.load_operators(sources.source_root() / "kernels" / "operators.yaml")


def _manifest(request: RunnerRequest, operators: Sequence[str]) -> dict[str, Any]:
    return {
        "version": elf.MANIFEST_VERSION,
        "target": request.target.name,
        "board": request.target.board.name if request.platform == "target" else "host",
        "runtime": request.runtime,
        "isa": request.target.isa.value if request.variant == "auto" else request.variant,
        "operators": list(operators),
        "delegates": list(linked_delegates(request)),
        "source_hash": sources.source_hash(sources.source_root()),
        "executorch": sources.executorch_version(),
    }


def linked_delegates(request: RunnerRequest) -> tuple[str, ...]:
    """Backends that a runner links: the host has no NPU."""
    return ("EthosUBackend",) if request.target.npu and request.platform == "target" else ()


def _key(request: RunnerRequest, chosen: registration.Registration, toolchain: Toolchain) -> str:
    parts = {
        "prefix": prefix_hash(request.prefix) if request.prefix else "",
        "manifest": _manifest(request, chosen.operators),
        "registration": chosen.source,
        "platform": request.platform,
        "variant": request.variant,
        "sanitize": request.sanitize,
        "toolchain": toolchain.identity,
        "sources": str(sources.source_root()),
        "headers": str(sources.executorch_root()),
    }
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()[:24]


def _build(
    request: RunnerRequest, chosen: registration.Registration, toolchain: Toolchain, directory: Path
) -> None:
    build = directory / "build"
    shutil.rmtree(build, ignore_errors=True)
    (directory / "registration.cpp").write_text(chosen.source)
    (directory / "manifest.json").write_text(json.dumps(_manifest(request, chosen.operators), sort_keys=True))
    root = sources.source_root()
    launcher, environment = _object_cache(directory.parent.parent)
    options = {
        **launcher,
        "RUNTIME": request.runtime,
        "PLATFORM": request.platform,
        "TARGET": request.target.name,
        "BOARD": request.target.board.name,
        "KERNEL_VARIANT": request.variant,
        "SANITIZE": "ON" if request.sanitize else "OFF",
        "EXECUTORCH_ROOT": str(sources.executorch_root()),
        "KERNELS_DIR": str(root / "kernels"),
        "KERNEL_SOURCES": ";".join(chosen.kernel_sources),
        "REGISTRATION": str(directory / "registration.cpp"),
        "MANIFEST": str(directory / "manifest.json"),
        "DELEGATES": ";".join(linked_delegates(request)),
        "CMAKE_MAKE_PROGRAM": toolchain.ninja.path,
    }
    if request.prefix is not None:
        options["EXECUTORCH_PREFIX"] = str(request.prefix)
    if request.platform == "target":
        options["CMAKE_TOOLCHAIN_FILE"] = str(root / "runner_app" / "cmake" / "arm-none-eabi.cmake")
    log = directory / "build.log"
    log.write_bytes(b"")
    configure = [toolchain.cmake.path, "-G", "Ninja", "-S", str(root / "runner_app"), "-B", str(build)]
    _run([*configure, *(f"-D{name}={value}" for name, value in options.items())], log, environment)
    _run([toolchain.cmake.path, "--build", str(build), "--target", "executor_runner"], log, environment)


def _trim(build: Path) -> None:
    """Leave image, map and compile commands: objects are most of the bytes, and ccache has them."""
    for path in build.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif path.name not in ("executor_runner", "executor_runner.map", "compile_commands.json"):
            path.unlink()


def _object_cache(cache: Path) -> tuple[dict[str, str], dict[str, str]]:
    """CMake's options and the environment with which builds share objects; none without ccache.

    Runners for the same core differ in a few files only. The settings are ours, not those of the user.
    """
    path = shutil.which("ccache")
    if path is None:
        return {}, {}
    home = cache / "ccache"
    settings = {"DIR": str(home), "CONFIGPATH": str(home / "none.conf"), "NOHASHDIR": "1", "MAXSIZE": "2G"}
    launcher = {f"CMAKE_{language}_COMPILER_LAUNCHER": path for language in ("C", "CXX")}
    return launcher, {f"CCACHE_{name}": value for name, value in settings.items()}


def _clean_environment() -> dict[str, str]:
    return {
        name: value
        for name, value in os.environ.items()
        if name not in _COMPILER_VARIABLES and not name.startswith("CCACHE_")
    }


def _run(argv: list[str], log: Path, environment: Mapping[str, str]) -> None:
    with log.open("ab") as stream:
        stream.write((" ".join(argv) + "\n").encode())
        stream.flush()
        process = subprocess.Popen(
            argv,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            env={**_clean_environment(), **environment},
        )
        try:
            status = process.wait()
        except BaseException:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            raise
    if status != 0:
        raise HarnessError(explain_failure(log.read_text(errors="replace"), str(log)))


# The linker quotes names in the style of its locale.
_QUOTED = r"[`'\"\u2018]?([^`'\"\u2018\u2019\s]+)[`'\"\u2019]?"
_OVERFLOW = re.compile(rf"region {_QUOTED} overflowed by (\d+) bytes")
_STALE = re.compile(
    rf"archive member {_QUOTED} .*is not an object"
    r"|(\S+?)(?:: error adding symbols)?: file format not recognized"
)
_DISCARDED = re.compile(rf"defined in discarded section {_QUOTED}")
_COMPILER_ERROR = re.compile(r"^.*(?:\berror: |undefined reference|CMake Error|FAILED: ).*$", re.MULTILINE)


def explain_failure(text: str, log: str) -> Outcome:
    """Outcome for the output of a build that failed; `log` is where all of it is. Pure."""
    overflow = _OVERFLOW.search(text)
    if overflow:
        region, size = overflow.group(1), int(overflow.group(2))
        return Outcome(
            Phase.BUILD,
            OutcomeClass.BUILD_OVERFLOW,
            f"memory region {region} overflowed by {size} bytes",
            f"register fewer operators (--runner=program) or shrink a pool; all output: {log}",
            {"region": region, "bytes": size},
        )
    stale = _STALE.search(text)
    if stale:
        member = stale.group(1) or stale.group(2)
        return Outcome(
            Phase.BUILD,
            OutcomeClass.BUILD_STALE_DIR,
            f"{member} in the build directory comes from another kind of build",
            f"delete the directory of {log}",
            {"file": member},
        )
    discarded = _DISCARDED.search(text)
    if discarded:
        section = discarded.group(1)
        return Outcome(
            Phase.BUILD,
            OutcomeClass.BUILD_LAYOUT,
            f"the linker script discards {section}, and code refers to it",
            f"keep {section} in the linker script, with .data; all output: {log}",
            {"section": section},
        )
    if re.search(r"\bKilled\b", text):
        return Outcome(
            Phase.BUILD, OutcomeClass.INFRA_OOM, "the compiler was killed, memory ran out", f"see {log}"
        )
    found = [line.group(0) for line in _COMPILER_ERROR.finditer(text)]
    error = next((line for line in found if "FAILED: " not in line), found[0] if found else "")
    summary = error.strip()[:300] or "the build failed"
    return Outcome(Phase.BUILD, OutcomeClass.BUILD_COMPILE, summary, f"all output: {log}")
