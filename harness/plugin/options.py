"""Options of the plugin, their resolution into Settings, and selection by target."""

from __future__ import annotations

import tempfile

import pytest

from harness.flow import Case
from harness.plugin.shards import Shard, read_durations
from harness.plugin.workspace import is_alone
from harness.settings import OPTIONS, Option, Settings, SettingsError, default_cache, resolve
from harness.targets import target_named

SETTINGS = pytest.StashKey[Settings]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add every Option on the command line, and as an ini key."""
    group = parser.getgroup("corstone", "Corstone harness: lower, build, boot, compare")
    for option in OPTIONS:
        text = f"{option.help} [env {option.environment}, ini {option.ini}]"
        if option.switch:
            group.addoption(option.flag, action="store_const", const="yes", default=None, help=text)
        else:
            group.addoption(
                option.flag,
                action="append" if option.repeatable else "store",
                default=None,
                metavar=option.name.rsplit("-", 1)[-1].upper(),
                help=text,
            )
        parser.addini(option.ini, option.help, default="")


def pytest_configure(config: pytest.Config) -> None:
    """Resolve the settings once; options never travel deeper than this."""

    def command_line(option: Option) -> object:
        return config.getoption(option.flag)

    def ini(option: Option) -> str:
        return str(config.getini(option.ini))

    try:
        settings = resolve(command_line, ini)
        for name in settings.targets:
            target_named(name)
        durations = read_durations(settings.shard_durations) if settings.shard_durations else {}
    except (SettingsError, KeyError) as error:
        raise pytest.UsageError(str(error.args[0])) from error
    if not hasattr(config, "workerinput"):
        _check_places(settings)
    config.stash[SETTINGS] = settings
    if settings.shard is not None and not is_alone(config):
        config.pluginmanager.register(Shard(*settings.shard, durations), "corstone-shard")


def _check_places(settings: Settings) -> None:
    """Refuse a directory that was asked for and cannot be written, before anything has run."""
    cache = settings.cache if settings.cache != default_cache() else None
    places = {"--cache": cache, "--artifacts": settings.artifacts, "--report-dir": settings.report_dir}
    for flag, place in places.items():
        try:
            if place is not None:
                place.mkdir(parents=True, exist_ok=True)
                tempfile.TemporaryFile(dir=place).close()
        except OSError as error:
            why = error.strerror or error
            raise pytest.UsageError(f"{flag} {place}: cannot be written ({why}); name another one") from error


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the cases of other targets when `--target` is given."""
    wanted = {target_named(name).name for name in config.stash[SETTINGS].targets}
    if not wanted:
        return
    kept: list[pytest.Item] = []
    dropped: list[pytest.Item] = []
    for item in items:
        case = item_case(item)
        (kept if case is not None and case.target.name in wanted else dropped).append(item)
    items[:] = kept
    config.hook.pytest_deselected(items=dropped)


def item_case(item: pytest.Item) -> Case | None:
    """The Case that a test item was parametrized with, if any."""
    callspec = getattr(item, "callspec", None)
    case = callspec.params.get("case") if callspec else None
    return case if isinstance(case, Case) else None
