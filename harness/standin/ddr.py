"""The board's DDR, shared between QEMU and this process without copies."""

from __future__ import annotations

import mmap
import os

from harness.standin.boards import DDR
from harness.standin.errors import StandinError


class SharedDdr:
    """Memory without a name in any file system: it is gone when the last process that has it ends.

    `descriptor` is for QEMU. Pages exist from their first use on.

    Raises:
        OSError: no room for it.
    """

    def __init__(self) -> None:
        self.descriptor = _anonymous()
        os.ftruncate(self.descriptor, DDR.size)
        self._mapping: mmap.mmap | None = None

    def qemu_words(self) -> list[str]:
        """QEMU's options that back the machine's memory with it; goes with `machine_option`."""
        path = f"/dev/fd/{self.descriptor}"
        return ["-object", f"memory-backend-file,id=ddr,size={DDR.size},mem-path={path},share=on"]

    @property
    def machine_option(self) -> str:
        """To be appended to QEMU's machine."""
        return ",memory-backend=ddr"

    def mapping(self) -> mmap.mmap:
        """All of it, writable; the first byte is at address `DDR.origin`."""
        if self._mapping is None:
            self._mapping = mmap.mmap(self.descriptor, DDR.size)
        return self._mapping

    def dump(self, path: str, address: int, size: int) -> None:
        """Write `size` bytes from `address` on to a file.

        Raises:
            StandinError: the file cannot be written.
        """
        start = address - DDR.origin
        try:
            with open(path, "wb") as file:  # noqa: PTH123 - pathlib is slow to import
                file.write(memoryview(self.mapping())[start : start + size])
        except OSError as error:
            raise StandinError(f"--dump '{path}': {error.strerror}") from None

    def close(self) -> None:
        """Give it back; QEMU keeps its own hold, and so does a mapping that is still in use."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1


def _anonymous() -> int:
    if hasattr(os, "memfd_create"):
        return os.memfd_create("corstone-ddr")
    import tempfile  # systems other than Linux

    with tempfile.TemporaryFile() as file:
        return os.dup(file.fileno())
