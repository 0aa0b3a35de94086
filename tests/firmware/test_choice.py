"""Which runner a session builds under --engine, --host-runner and --executorch-prefix."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from harness import session
from harness.firmware import build
from harness.firmware.build import RunnerRequest, build_runner
from harness.outcomes import HarnessError, OutcomeClass
from harness.session import Harness
from harness.targets import TARGETS

M55 = TARGETS["cortex-m55"]
PREFIX = Path("/opt/executorch")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"engine": "standin"}, ("ours", "target", False, None)),
        ({"engine": "standin", "executorch_prefix": PREFIX}, ("prefix", "target", False, PREFIX)),
        ({"engine": "host"}, ("ours", "host", False, None)),
        ({"engine": "host", "executorch_prefix": PREFIX}, ("ours", "host", False, None)),
        ({"engine": "host", "host_runner": "sanitized"}, ("ours", "host", True, None)),
        ({"engine": "host", "host_runner": "wheel"}, ("wheel", "host", False, None)),
        ({"engine": "standin", "host_runner": "wheel"}, ("ours", "target", False, None)),
    ],
)
def test_options_choose_the_runner(
    options: dict[str, Any], expected: tuple[object, ...], harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[RunnerRequest] = []
    monkeypatch.setattr(session, "build_runner", lambda request, *_: asked.append(request))
    Harness(replace(harness.settings, **options)).runner(M55)
    (request,) = asked
    assert (request.runtime, request.platform, request.sanitize, request.prefix) == expected


@pytest.mark.parametrize(
    "request_",
    [
        RunnerRequest(M55, (), runtime="theirs"),
        RunnerRequest(M55, (), runtime="wheel"),
        RunnerRequest(M55, (), runtime="prefix"),
        RunnerRequest(M55, (), prefix=PREFIX),
        RunnerRequest(M55, (), sanitize=True),
    ],
)
def test_contradictions_are_refused_before_a_build(
    request_: RunnerRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(build, "_run", lambda *_: pytest.fail("a tool was started"))
    with pytest.raises(HarnessError) as failure:
        build_runner(request_, tmp_path)
    assert failure.value.outcome.kind is OutcomeClass.CONFIG_OPTIONS
