"""Errors that end the stand-in with a message, and the status they end it with."""

from __future__ import annotations

STATUS_REFUSED = 2
STATUS_QEMU = 3
STATUS_LOCKUP = 4


class StandinError(Exception):
    """A message for the user, printed as one `Error:` line; `status` becomes the exit status."""

    status = STATUS_REFUSED


class QemuError(StandinError):
    """QEMU is missing, failed to start, crashed or was killed."""

    status = STATUS_QEMU


class ConnectionLostError(QemuError):
    """QEMU's end of the gdb connection is closed: the process is ending, and its status says why."""


class LockupError(StandinError):
    """The guest CPU locked up."""

    status = STATUS_LOCKUP


class TimeLimitError(Exception):
    """The simulation's time limit passed."""


class JobTimeLimitError(TimeLimitError):
    """It passed while the guest stood still for a job of a device."""
