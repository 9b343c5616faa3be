"""The tile set: one index per tile, its halves, its name.

The tile ``[low|high]`` with ``low <= high`` has the index ``high * (high + 1) // 2 + low``. Sets with a
smaller highest pip are therefore prefixes of larger ones, and one table serves them all.

    >>> tile_index(4, 5), tile_name(19)
    (19, '[4|5]')
"""

from __future__ import annotations

import numpy as np

__all__ = [
    "DOUBLE",
    "FITS",
    "HIGH",
    "LOW",
    "MAX_HIGHEST",
    "MAX_TILES",
    "PIPS",
    "mask_to_tiles",
    "num_tiles",
    "tile_index",
    "tile_name",
]

Tile = tuple[int, int]

MAX_HIGHEST = 9


def num_tiles(highest: int) -> int:
    """Number of tiles in the set whose highest pip is ``highest`` (28 for the double-six set)."""
    return (highest + 1) * (highest + 2) // 2


MAX_TILES = num_tiles(MAX_HIGHEST)

_PAIRS = [(low, high) for high in range(MAX_HIGHEST + 1) for low in range(high + 1)]

#: Smaller and larger half, pips and "is a double" of every tile: (55,) int8 each.
LOW = np.array([low for low, _ in _PAIRS], np.int8)
HIGH = np.array([high for _, high in _PAIRS], np.int8)
PIPS = LOW + HIGH
DOUBLE = (LOW == HIGH).astype(np.int8)

#: ``FITS[v]``: the tiles with a half of value v, as a bit mask: (10,) uint64, bit i = tile i.
FITS = np.array(
    [sum(1 << i for i, pair in enumerate(_PAIRS) if v in pair) for v in range(MAX_HIGHEST + 1)],
    np.uint64,
)


def tile_index(low: int, high: int) -> int:
    """Index of the tile with these two halves, in either order."""
    low, high = sorted((low, high))
    return high * (high + 1) // 2 + low


def tile_name(tile: int) -> str:
    """``[low|high]`` of a tile index."""
    return f"[{LOW[tile]}|{HIGH[tile]}]"


def mask_to_tiles(mask: int) -> tuple[Tile, ...]:
    """The tiles ``(low, high)`` of a bit mask, sorted by low half, then high half."""
    return tuple(sorted(pair for i, pair in enumerate(_PAIRS) if int(mask) >> i & 1))
