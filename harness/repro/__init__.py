"""Reproduction bundles: what a failing attempt leaves, replayed anywhere with one command."""
