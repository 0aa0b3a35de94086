"""`bundle.json`: what was recorded of an attempt. Data only, nothing in it is executed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from harness.records import Record

MANIFEST_NAME = "bundle.json"


@dataclass(frozen=True)
class VelaRecord(Record):
    """How the delegates were compiled.

    Attributes:
        version: of Vela.
        flags: of its command line, without directories.
        graphs: names of the TOSA graphs in the bundle, in order of execution.
        blobs: names of the delegates' bytes as they are in the program, in the same order.
    """

    version: str
    flags: tuple[str, ...]
    graphs: tuple[str, ...]
    blobs: tuple[str, ...]


@dataclass(frozen=True)
class BundleRecord(Record):
    """What was recorded.

    Attributes:
        nodeid: of the test, "" for a run without one.
        session: command line of the session.
        modules: test modules that were collected, in order: a test may depend on what ran before it.
        target: name of the target.
        phase: of the outcome.
        kind: class of the outcome.
        summary: of the outcome, one line.
        signature: of the outcome; "" for a green one.
        engine: kind of the engine, None if nothing was started.
        engine_version: as it prints it.
        argv: command line of the simulator; "DIRECTORY" and "FVP" stand for its paths.
        seed: of the case.
        hashes: SHA-256 by name: inputs, program, elf, outputs, stages of lowering.
        elf_manifest: of the runner: operators, ISA, sources, executorch.
        environment: versions, machine, load.
        comparisons: one line an output.
        durations: seconds by stage.
        vela: None for a program without delegates.
    """

    nodeid: str
    session: tuple[str, ...]
    modules: tuple[str, ...]
    target: str
    phase: str
    kind: str
    summary: str
    signature: str
    engine: str | None
    engine_version: str | None
    argv: tuple[str, ...]
    seed: int | None
    hashes: Mapping[str, str]
    elf_manifest: Mapping[str, str]
    environment: Mapping[str, str]
    comparisons: tuple[str, ...]
    durations: Mapping[str, float]
    vela: VelaRecord | None
