"""Observations: a view as a flat vector of bits with named slices, and as a history of plies.

    >>> layout = Layout.of(Rules.preset("fives_and_threes-4p"))
    >>> layout.size, layout["hand"]
    (366, slice(0, 28, None))

Seats are counted from the viewer (0), clockwise; sides from the viewer's side (0).
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from fivesthrees_env.kernel.jit import clear, jit, positives, unpack
from fivesthrees_env.kernel.layout import end_count
from fivesthrees_env.kernel.record import MATCH, MAX_ENDS, MAX_PLIES, MAX_SEATS
from fivesthrees_env.rules import Rules
from fivesthrees_env.tiles import MAX_HIGHEST

__all__ = ["HISTORY_COLUMNS", "Layout", "Slice", "encode_history", "encode_many"]

# Positions of the slices, in the order of _parts(): how the encoder addresses them.
_HAND, _LAID, _LACKS, _ENDS, _DOUBLE_ENDS, _COUNT, _HELD, _TO_MOVE, _OPENER, _NEEDED = range(10)
_SPINNER, _NEWER, _UNDEALT, _END = range(10, 14)


_drawn_since = positives(MAX_HIGHEST + 1)


@dataclass(frozen=True)
class Slice:
    """One named part of the observation."""

    name: str
    start: int
    shape: tuple[int, ...]
    meaning: str

    @property
    def size(self) -> int:
        """Number of bits."""
        return int(np.prod(self.shape))

    @property
    def slice(self) -> slice:
        """Where the bits are."""
        return slice(self.start, self.start + self.size)


@dataclass(frozen=True)
class Layout:
    """Where everything is in the observation of some rules.

    Attributes:
        rules: the rules that it belongs to.
        slices: the parts in order, without gaps.
    """

    rules: Rules
    slices: tuple[Slice, ...]

    @staticmethod
    @cache
    def of(rules: Rules) -> Layout:
        """The layout for these rules."""
        slices, start = [], 0
        for name, shape, meaning in _parts(rules):
            part = Slice(name, start, shape, meaning)
            if part.size:
                slices.append(part)
                start += part.size
        return Layout(rules, tuple(slices))

    @cached_property
    def size(self) -> int:
        """Length of the observation."""
        return self.slices[-1].slice.stop

    def __getitem__(self, name: str) -> slice:
        """Where the slice of that name is."""
        return self._by_name(name).slice

    def named(self, observation: np.ndarray) -> dict[str, np.ndarray]:
        """Views of an observation (..., size), by name, each (..., *shape): the same memory."""
        lead = observation.shape[:-1]
        return {s.name: observation[..., s.slice].reshape(lead + s.shape) for s in self.slices}

    @cached_property
    def fingerprint(self) -> str:
        """Twelve hex digits that are equal exactly for equal names, places and shapes."""
        text = repr([(s.name, s.start, s.shape) for s in self.slices])
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def table(self) -> str:
        """The documentation table (Markdown), made from this layout."""
        rows = ["| bits | slice | shape | a bit is set where |", "|---|---|---|---|"]
        for s in self.slices:
            shape = " × ".join(map(str, s.shape))
            rows.append(f"| {s.start}–{s.slice.stop - 1} | `{s.name}` | {shape} | {s.meaning} |")
        return "\n".join(rows)

    @cached_property
    def places(self) -> np.ndarray:
        """What the encoder reads: int64, the first bit and the bits per row of each slice, and the size."""
        present = {s.name: s for s in self.slices}
        parts = [present.get(part[0]) for part in _parts(self.rules)]
        rows = [(s.start, s.size // s.shape[0]) if s else (0, 0) for s in parts]
        return np.array([*rows, (self.size, 0)], np.int64)

    def _by_name(self, name: str) -> Slice:
        for part in self.slices:
            if part.name == name:
                return part
        raise KeyError(f"no slice {name!r}; there are: {', '.join(s.name for s in self.slices)}")


def _parts(rules: Rules) -> list[tuple[str, tuple[int, ...], str]]:
    """Every possible slice in order: name, shape, meaning. A shape with a zero means "not in this game"."""
    n, tiles, values = rules.num_players, rules.num_tiles, rules.highest + 1
    undealt = tiles - rules.hand_size * n
    drawable = undealt - rules.boneyard_floor if rules.draw else 0
    spinners = int(rules.spinner)
    return [
        ("hand", (tiles,), "the viewer holds the tile"),
        ("laid", (n, tiles), "the seat has laid the tile in this round"),
        ("lacks", (n - 1, values), "the seat (1 …) has shown that it lacks the value"),
        ("ends", (rules.num_ends, values), "the end is open and shows the value"),
        ("double_ends", (rules.num_ends, values), "a double of the value lies there, uncovered"),
        ("count", (max_count(rules) + 1,), "the ends add up to this many pips"),
        ("held", (n, rules.hand_size + drawable + 1), "the seat holds this many tiles"),
        ("to_move", (n,), "it is the seat's turn"),
        ("opener", (n,), "the seat led the round"),
        (
            "needed",
            (rules.num_sides, -(-rules.target // rules.score_unit)),
            f"the side needs {rules.score_unit} × (1 …) points to reach the target",
        ),
        ("spinner", (spinners * values,), "the spinner has this value"),
        (
            "newer",
            ((n - 1) * int(rules.draw), values),
            "the seat has drawn tiles since it showed that it lacked the value",
        ),
        ("undealt", ((undealt + 1) * int(rules.draw),), "the boneyard has this many tiles"),
    ]


def max_count(rules: Rules) -> int:
    """An upper bound of the end count, in pips: at each end another double, or the highest pip."""
    ends = 4 if rules.spinner else 2
    return sum(max(2 * (rules.highest - i), rules.highest) for i in range(ends))


@jit
def encode(view, places, row):
    """Write the observation of one view into a row of int8, (size,); `places` as in ``Layout``."""
    _encode_tiles(view, places, row)
    clear(row, _at(places, _LACKS, 0), _at(places, _END, 0) - _at(places, _LACKS, 0))
    _encode_seats(view, places, row)
    _encode_line(view, places, row)
    _encode_scores(view, places, row)
    if view.rules.draw:
        _encode_boneyard(view, places, row)


@jit
def _encode_tiles(view, places, row):
    n, tiles = view.rules.num_players, np.int64(view.rules.num_tiles)
    unpack(row, _at(places, _HAND, 0), view.hands[0], tiles)
    first = _at(places, _LAID, 0)
    for r in range(MAX_SEATS):  # loops of constant length, which the compiler unrolls
        if r < n:
            unpack(row, first + r * tiles, view.laid[r], tiles)


@jit
def _encode_seats(view, places, row):
    n = np.int64(view.rules.num_players)
    _encode_values(view, row, _at(places, _LACKS, 0), view.lacks)
    first, width = _at(places, _HELD, 0), _width(places, _HELD)
    for r in range(MAX_SEATS):
        if r < n:
            row[first + r * width + view.held[r]] = 1
    row[_at(places, _TO_MOVE, 0) + view.seat] = 1
    row[_at(places, _OPENER, 0) + view.opener] = 1


@jit
def _encode_values(view, row, start, sets):
    """Sets of values, one for every other seat."""
    values = np.int64(view.rules.highest) + 1
    bits = np.uint64(0)
    for r in range(1, MAX_SEATS):
        bits |= np.uint64(sets[r]) << np.uint64((r - 1) * values)
    unpack(row, start, bits, (np.int64(view.rules.num_players) - 1) * values)


@jit
def _encode_line(view, places, row):
    # Bits are written rather than branched for: where the ends are is what no processor can predict.
    row[_at(places, _COUNT, 0) + end_count(view)] = view.placed > 0
    lone_double = view.placed == 1 and view.ends[0] == view.ends[1]  # FT-11
    num_ends, values = view.rules.num_ends, np.int64(view.rules.highest) + 1
    ends, double_ends = _at(places, _ENDS, 0), _at(places, _DOUBLE_ENDS, 0)
    for end in range(MAX_ENDS):
        if end < num_ends:
            is_open = view.ends[end] >= 0
            bit = end * values + max(view.ends[end], 0)
            row[ends + bit] = is_open
            row[double_ends + bit] = is_open & (lone_double | (view.weights[end] == 2))
    if view.rules.spinner and view.spinner >= 0:
        row[_at(places, _SPINNER, 0) + view.spinner] = 1


@jit
def _encode_scores(view, places, row):
    rules = view.rules
    sides, target, unit = rules.num_sides, np.int64(rules.target), np.int64(rules.score_unit)
    first, width = _at(places, _NEEDED, 0), _width(places, _NEEDED)
    for side in range(MAX_SEATS):
        needed = target - view.scores[side]
        if side < sides and needed > 0:
            units = needed if unit == 1 else (needed + unit - 1) // unit  # divisions are slow
            row[first + side * width + units - 1] = 1


@jit
def _encode_boneyard(view, places, row):
    row[_at(places, _UNDEALT, 0) + view.undealt] = 1
    fresh = (_fresh(view, 0), _fresh(view, 1), _fresh(view, 2), _fresh(view, 3))
    _encode_values(view, row, _at(places, _NEWER, 0), fresh)


@jit
def _fresh(view, r):
    """The values that a seat has shown to lack before it drew again, as a mask of values."""
    return _drawn_since(view.newer[r]) & np.uint64(view.lacks[r])


@jit
def _at(places, part, i):
    """First bit of row i of a slice."""
    return places[part][0] + i * places[part][1]


@jit
def _width(places, part):
    """Bits per row of a slice."""
    return places[part][1]


def encode_many(views: np.ndarray, layout: Layout, rows: np.ndarray) -> None:
    """Write the observations of views.

    Args:
        views: (N,) of dtype ``MATCH``, all of the rules of the layout.
        layout: where everything goes.
        rows: (N, layout.size) int8, C-contiguous, to write into.

    Raises:
        ValueError: if one of them does not fit the others.
    """
    wanted = (len(views), layout.size)
    if rows.shape != wanted or rows.dtype != np.int8 or not rows.flags.c_contiguous:
        raise ValueError(f"rows: {rows.dtype} {rows.shape} given; allowed: C-contiguous int8 {wanted}")
    if views.dtype != MATCH or (views["rules"] != layout.rules.record).any():
        raise ValueError(f"views: of another dtype or other rules than the layout's ({layout.rules})")
    _encode_many(views, layout.places, rows)


@jit
def _encode_many(views, places, rows):
    for i in range(views.size):
        encode(views[i], places, rows[i])


HISTORY_COLUMNS = ("seat", "kind", "tile", "end", "count", "offered", "accepted")


def encode_history(views: np.ndarray, length: int | None = None) -> np.ndarray:
    """The plies of the running round, in order, for sequence models.

    Args:
        views: (N,) of dtype ``MATCH``.
        length: number of rows; a longer history keeps its latest plies. Default: the longest of these views.

    Returns:
        (N, length, 7) int16 with the columns of ``HISTORY_COLUMNS``: the seat counted from the viewer; the
        kind (0 lead, 1 play, 2 knock, 3 draw); tile index; end; end count in pips; points offered; points
        accepted. -1 stands for "no tile", "no end" and for rows past the history.
    """
    plies = views["num_plies"].astype(np.int64)
    length = int(plies.max(initial=0)) if length is None else length
    first = np.maximum(plies - length, 0)
    wanted = first[:, None] + np.arange(length)
    taken = np.take_along_axis(views["history"], np.minimum(wanted, MAX_PLIES - 1), axis=1)
    columns = [taken[name].astype(np.int16) for name in HISTORY_COLUMNS[:-1]]
    columns.append(np.where(taken["reason"] == 0, taken["offered"], 0).astype(np.int16))
    history = np.stack(columns, axis=-1)
    history[wanted >= plies[:, None]] = -1
    return history
