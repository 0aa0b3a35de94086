"""Small pictures for the HTML report: error heat map, LSB histogram, sparkline. No external resources."""

from __future__ import annotations

import base64
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from harness.compare.tensors import TensorError, has_file, load_tensor
from harness.flow import RunSpec, TensorSpec

# Cells of a heat map on one side; more elements than that share a cell, which shows the largest error.
CELLS = 96
# [bytes] A larger output is not read for a picture.
_LARGEST = 64 << 20
_LARGEST_SPEC = 4 << 20


@dataclass(frozen=True)
class HeatMap:
    """Where an output differs: a PNG as data URI, its cells, and what they and the full colour stand for."""

    index: int
    uri: str
    rows: int
    columns: int
    caption: str


@dataclass(frozen=True)
class Bar:
    """One bar of a histogram, heights in percent of the highest, on a logarithmic scale."""

    label: str
    count: int
    height: float


def heat_maps(directory: Path) -> tuple[HeatMap, ...]:
    """Heat maps of the outputs in an attempt directory that differ from their references.

    A directory that is gone or has no comparable output gives none.
    """
    try:
        with (directory / "runspec.json").open("rb") as file:
            spec = RunSpec.from_json(file.read(_LARGEST_SPEC).decode("utf-8"))
    except (OSError, ValueError):
        return ()
    rows = zip(spec.output_names, spec.references, spec.output_specs, strict=False)
    made = (_heat_map(directory, index, *row) for index, row in enumerate(rows))
    return tuple(picture for picture in made if picture is not None)


def _heat_map(directory: Path, index: int, output: str, reference: str, spec: TensorSpec) -> HeatMap | None:
    got_path, expected_path = directory / Path(output).name, directory / Path(reference).name
    try:
        if not has_file(spec) or max(got_path.stat().st_size, expected_path.stat().st_size) > _LARGEST:
            return None
        got = load_tensor(got_path, spec).astype(np.float64)
        expected = load_tensor(expected_path, spec).astype(np.float64)
    except (OSError, TensorError, ValueError, MemoryError):
        return None
    with np.errstate(invalid="ignore"):
        error = np.abs(got - expected)
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    error = np.where(same, 0.0, np.where(np.isfinite(error), error, np.inf))
    if not error.any():
        return None
    plane, per_cell = _plane(error)
    finite = plane[np.isfinite(plane)]
    worst = float(finite.max()) if finite.size else 0.0
    shades = np.where(plane > 0, 1 + 253 * np.minimum(plane / worst, 1.0) if worst else 255.0, 0.0)
    shades = np.where(np.isfinite(plane), shades, 255.0).astype(np.uint8)
    caption = (
        f"output {index}, {spec.dtype}{list(spec.shape)}: "
        f"{int((error > 0).sum())} of {error.size} elements differ, full colour = {worst:.6g}"
    )
    if per_cell > 1:
        caption += f", one cell = the worst of up to {per_cell} elements"
    rows, columns = plane.shape
    return HeatMap(index, _png(shades), rows, columns, caption)


def _plane(error: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """The errors as rows × columns, both at most CELLS, and the number of elements in a cell.

    Columns are the last logical dimension, rows all the others; a vector is folded into a square.
    """
    if error.ndim >= 2 and error.shape[-1] > 1:
        plane = error.reshape(-1, error.shape[-1])
    else:
        flat = error.reshape(-1)
        width = int(np.ceil(np.sqrt(flat.size)))
        plane = np.pad(flat, (0, -flat.size % width)).reshape(-1, width)
    heights, widths = steps = [-(-size // CELLS) for size in plane.shape]
    padding = [(0, -size % step) for size, step in zip(plane.shape, steps, strict=True)]
    padded = np.pad(plane, padding)
    rows, columns = padded.shape[0] // heights, padded.shape[1] // widths
    return padded.reshape(rows, heights, columns, widths).max(axis=(1, 3)), heights * widths


def _png(shades: NDArray[np.uint8]) -> str:
    """A data URI of an image with a palette: 0 equal, 1 to 254 by error, 255 not finite."""
    rows, columns = shades.shape
    ramp = np.linspace(0.0, 1.0, 254)[:, None]
    # From yellow over red to near black, readable for colour-blind people by lightness.
    colours = np.array([[255, 224, 102]]) * (1 - ramp) ** 1.2 + np.array([[120, 0, 30]]) * ramp
    palette = np.vstack([[[236, 238, 241]], colours, [[255, 0, 255]]]).clip(0, 255).astype(np.uint8)
    raw = b"".join(b"\0" + row.tobytes() for row in shades)
    chunks = [
        (b"IHDR", struct.pack(">IIBBBBB", columns, rows, 8, 3, 0, 0, 0)),
        (b"PLTE", palette.tobytes()),
        (b"IDAT", zlib.compress(raw, 9)),
        (b"IEND", b""),
    ]
    data = b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(*chunk) for chunk in chunks)
    return "data:image/png;base64," + base64.b64encode(data).decode("ascii")


def _chunk(name: bytes, content: bytes) -> bytes:
    return struct.pack(">I", len(content)) + name + content + struct.pack(">I", zlib.crc32(name + content))


def histogram_bars(histogram: Mapping[int, int]) -> tuple[Bar, ...]:
    """Bars of a histogram of LSB differences, in order of the difference."""
    if not histogram:
        return ()
    highest = float(np.log1p(max(histogram.values())))
    return tuple(
        Bar(f"{difference:+d}" if difference else "0", count, 100 * float(np.log1p(count)) / highest)
        for difference, count in sorted(histogram.items())
    )


def sparkline(outcomes: str, shown: int = 40) -> Mapping[str, Any]:
    """SVG paths of the last outcomes, one for each letter of `history.FlakeRow.outcomes`, and the width."""
    last = outcomes[-shown:]
    paths = dict.fromkeys("PFK", "")
    for i, letter in enumerate(last):
        if letter in paths:
            height = 5 if letter == "P" else 12
            paths[letter] += f"M{4 * i} 14v-{height}h3v{height}z"
    return {"width": max(4 * len(last), 4), **paths}
