"""Options: precedence, validation. Pure."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from harness.settings import OPTIONS, Settings, SettingsError, resolve


def settings(
    given: Mapping[str, object] | None = None,
    ini: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Settings:
    return resolve(
        lambda option: (given or {}).get(option.name),
        lambda option: (ini or {}).get(option.ini, ""),
        environment or {},
    )


def test_defaults() -> None:
    made = settings()
    assert (made.engine, made.runner, made.timelimit, made.case_seed) == ("auto", "suite", 120, None)


def test_command_line_over_environment_over_ini() -> None:
    ini, environment = {"corstone_engine": "host"}, {"CORSTONE_ENGINE": "standin"}
    assert settings(ini=ini).engine == "host"
    assert settings(ini=ini, environment=environment).engine == "standin"
    assert settings({"engine": "fvp"}, ini, environment).engine == "fvp"


def test_repeatable_options_collect() -> None:
    assert settings({"fvp-arg": ["-C", "a=b c"]}).fvp_args == ("-C", "a=b c")
    assert settings(environment={"CORSTONE_FVP_ARG": "-C a=1"}).fvp_args == ("-C", "a=1")


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"engine": "qemu"}, "auto, fvp, standin, host"),
        ({"timelimit": "0"}, "1 to 1000000"),
        ({"timelimit": "soon"}, "1 to 1000000"),
        ({"timelimit": "2147483647"}, "1 to 1000000"),
        ({"silence-limit": "9" * 5000}, "1 to 1000000"),
        ({"reruns-failures": "-1"}, "at least 0"),
        ({"case-seed": "-1"}, "0 to 9223372036854775807"),
        ({"runner": "both"}, "suite, program"),
        ({"npu-trace": "a/b.jsonl"}, "without directories"),
        ({"npu-trace": "program.pte"}, "ending in .jsonl"),
    ],
)
def test_impossible_values_say_what_is_possible(given: dict[str, object], told: str) -> None:
    with pytest.raises(SettingsError, match=told):
        settings(given)


def test_every_option_teaches() -> None:
    for option in OPTIONS:
        assert len(option.help) > 20
        assert option.environment.startswith("CORSTONE_")
