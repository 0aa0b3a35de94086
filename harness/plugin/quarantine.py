"""The quarantine file in a session: refused if malformed, red if expired; `--quarantine-only`.

That a failure of a quarantined test does not fail the session is decided with the history of the session.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date

import pytest

from harness.ledger.quarantine import Quarantine, QuarantineError
from harness.ledger.session import quarantine_of
from harness.plugin.options import item_case
from harness.settings import Settings

NAME = "corstone-quarantine"


class QuarantinePlugin:
    """In every process: selection. In the one that reports: what has to be repaired in the file."""

    def __init__(self, quarantine: Quarantine, settings: Settings) -> None:
        self._quarantine = quarantine
        self._settings = settings
        self._collected: tuple[str, ...] = ()

    @property
    def expired(self) -> tuple[str, ...]:
        """One line for each entry whose date is past; they keep the session red."""
        entries = self._quarantine.expired(date.today())
        return tuple(f"expired in {self._quarantine.name}: {entry}; remove or renew it" for entry in entries)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        """Note what there is; drop everything else under `--quarantine-only`."""
        self._collected = tuple(item.nodeid for item in items)
        if not self._settings.quarantine_only:
            return
        chosen = {item for item in items if self._quarantine.selects(item.nodeid, _target(item))}
        dropped = [item for item in items if item not in chosen]
        items[:] = [item for item in items if item in chosen]
        if dropped:
            config.hook.pytest_deselected(items=dropped)

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """The controller of xdist collects nothing itself."""
        self._collected = tuple(ids)

    def pytest_terminal_summary(
        self, terminalreporter: pytest.TerminalReporter, config: pytest.Config
    ) -> None:
        """Entries to repair."""
        for line in self.expired:
            terminalreporter.line(f"quarantine: {line}", red=True)
        if self._collected and self._everything(config):
            for entry in self._quarantine.unmatched(self._collected):
                terminalreporter.line(f"quarantine: no test for {entry}", yellow=True)

    def _everything(self, config: pytest.Config) -> bool:
        """True if nothing selects: then an entry without a test is stale."""
        settings, option = self._settings, config.option
        chosen = option.keyword or option.markexpr or option.deselect or settings.targets or settings.shard
        named = config.args_source is pytest.Config.ArgsSource.ARGS
        return not (chosen or named or settings.quarantine_only)


def quarantine_plugin(settings: Settings) -> QuarantinePlugin:
    """The plugin for a session.

    Raises:
        pytest.UsageError: the file cannot be used, or `--quarantine-only` without an entry.
    """
    try:
        quarantine = quarantine_of(settings)
    except QuarantineError as error:
        raise pytest.UsageError(str(error)) from error
    if settings.quarantine_only and not quarantine.entries:
        raise pytest.UsageError(f"--quarantine-only: {quarantine.name} has no entry")
    return QuarantinePlugin(quarantine, settings)


def expired_entries(config: pytest.Config) -> tuple[str, ...]:
    """One line for each entry whose date is past."""
    plugin = config.pluginmanager.get_plugin(NAME)
    return plugin.expired if isinstance(plugin, QuarantinePlugin) else ()


def _target(item: pytest.Item) -> str | None:
    case = item_case(item)
    return case.target.name if case is not None else None
