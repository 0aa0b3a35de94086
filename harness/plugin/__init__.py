"""The pytest face."""
