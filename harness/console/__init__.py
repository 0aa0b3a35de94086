"""The console of one run: a process on a pseudo-terminal, its lines as events, the events as an outcome."""
