"""Registers the harness plugin; nothing else belongs here."""

pytest_plugins = ["harness.plugin"]
