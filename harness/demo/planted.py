"""The kernel with a planted branch: a copy of the sources with one edit, and a patch of the built ELF."""

from __future__ import annotations

import shutil
from pathlib import Path

from harness.firmware.sources import source_root

_KERNEL = Path("kernels/op_quantize_per_tensor.cpp")
_MARK = b"PLANTED!"
NEVER = 0xFFFF_FFFF
_BUCKETS = 100

_BRANCH = """
// Planted by the demonstration: wrong for the inputs whose hash falls into one of 100 buckets.
struct Planted {
  char mark[8];
  uint32_t bucket;
};
volatile const Planted planted = {{'P', 'L', 'A', 'N', 'T', 'E', 'D', '!'}, 0xFFFFFFFFu};

void plant(const Tensor& input, Tensor& out) {
  const auto* bytes = static_cast<const uint8_t*>(input.const_data_ptr());
  uint32_t hash = 2166136261u;
  for (size_t i = 0; i < input.nbytes(); ++i) hash = (hash ^ bytes[i]) * 16777619u;
  if (hash % 100u == planted.bucket) static_cast<uint8_t*>(out.mutable_data_ptr())[0] ^= 0x40u;
}

"""
_FUNCTION = "Tensor& quantize_per_tensor_out("


def planted_sources(directory: Path) -> Path:
    """A tree of all sources in which one kernel has the planted branch; made once."""
    if not (directory / _KERNEL).is_file():
        root = source_root()
        for folder in ("kernels", "runner_app"):
            shutil.copytree(root / folder, directory / folder, dirs_exist_ok=True)
        kernel = directory / _KERNEL
        before, function, after = kernel.read_text().partition(_FUNCTION)
        head, anonymous_end, between = before.rpartition("}  // namespace\n")
        body, last, end = after.rpartition("  return out;\n}\n")
        if not (function and anonymous_end and last):
            raise ValueError(f"{_KERNEL} has changed: the demonstration finds no place for its fault")
        kernel.write_text(
            f"{head}{_BRANCH}{anonymous_end}{between}{function}{body}  plant(input, out);\n{last}{end}"
        )
    return directory


def bucket_of(data: bytes) -> int:
    """The bucket of an input (FNV-1a, 32 bits), as the planted branch computes it."""
    value = 2166136261
    for byte in data:
        value = (value ^ byte) * 16777619 & 0xFFFF_FFFF
    return value % _BUCKETS


def choose_bucket(elf: Path, bucket: int) -> None:
    """Patch the bytes of a built runner that say for which bucket it is wrong."""
    data = elf.read_bytes()
    place = data.find(_MARK)
    if place < 0 or data.find(_MARK, place + 1) >= 0:
        raise ValueError(f"{elf} does not have the planted branch")
    start = place + len(_MARK)
    elf.write_bytes(data[:start] + bucket.to_bytes(4, "little") + data[start + 4 :])
