"""`harness …`: the shell face."""
