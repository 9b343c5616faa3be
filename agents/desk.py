"""What a seat knows, laid out for looking one reply ahead: the desk of the scripted players.

A desk holds for each other seat the tiles that it may hold. All of these are equally likely to be in its
hand; that is what turns gains of a reply into expected gains. What is noted there comes from a `table`, as
the seat to move sees it: a view, or what ``look`` lays on the desk. ``look`` is the only function that reads
a match, so nothing behind it can see a hidden tile: play-outs of a search may use desks on full matches.

Replies are not tried tile by tile: a ``Book`` lists, for an end and what the other ends count, which tiles
gain how much. It is worked out by the kernel, once for each set of rules. Loops over its gains leave none
out: which of them are on offer cannot be predicted.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fivesthrees_env.kernel.jit import count_bits, jit, positives
from fivesthrees_env.kernel.known import scratch
from fivesthrees_env.kernel.layout import clear_line, end_count, join, joined, look_ahead, tile_bit
from fivesthrees_env.kernel.play import next_seat
from fivesthrees_env.kernel.record import DOWN, LEFT, MATCH, MAX_ENDS, MAX_SEATS, NONE, PLAY, RIGHT, UP
from fivesthrees_env.kernel.settle import BONUS_ONE, goes_out, points_of, refusal, side_of
from fivesthrees_env.rules import Rules
from fivesthrees_env.tiles import DOUBLE, FITS, MAX_HIGHEST, MAX_TILES
from fivesthrees_env.views import redact_history, redact_table

__all__ = ["DESK", "Book", "gain_book", "look", "new_desk"]

#: Most different gains that a placement can make, 0 among them; double-nine with four open ends makes 20.
MAX_GAINS = 64

_INVERSE = 1.0 / np.maximum(np.arange(MAX_TILES + 1), 1)

#: The tiles with any of some values: (1024,) uint64, by a mask of values.
_WITH_ANY = np.array(
    [
        np.bitwise_or.reduce([FITS[v] for v in range(MAX_HIGHEST + 1) if values >> v & 1] or [np.uint64(0)])
        for values in range(1 << MAX_HIGHEST + 1)
    ]
)

_drawn_since = positives(MAX_HIGHEST + 1)

DESK = np.dtype(
    [
        ("table", MATCH),  # what the seat to move of a match sees; it is seat 0 here
        ("gaining", "u8", (MAX_GAINS,)),  # for each gain of the book the tiles that make it next
        ("tiles", "u8", (MAX_SEATS,)),  # what each other seat may hold
        ("owner", "i1", (MAX_ENDS,)),  # seat that laid the tile at each end, or NONE
        ("unlikely", "u8", (MAX_SEATS,)),  # what each seat would have laid for more points, had it held it
        # -- what the expert notes before it looks at placements
        ("rival", "i8"),  # the next opponent
        ("own_need", "i8"),  # in units of ``score_unit``, as is the other need
        ("other_need", "i8"),  # of the next opponent's side
        ("point", "f8"),  # chance to win that a point is worth at this score
        ("block", "f8"),  # points that a block is worth
        ("ahead", "?"),
        ("partner", "?"),  # whether seat 0 has one
        ("opponents_end", "?"),  # whether there is a play on an end that an opponent made
    ],
    align=True,
)


class Book(NamedTuple):
    """Which tiles gain how much, and how likely hands lack them: what compiled code reads.

    ``_row`` finds the row of an end: there is one for each rest, in pips, that the other ends may count, and
    for each value that the end may show, a closed end first.
    """

    gains: np.ndarray
    """(G,) int64: all gains of a placement in points, falling; the last is 0."""
    steps: np.ndarray
    """(G,) int64: the same in units of ``Rules.score_unit``."""
    tiles: np.ndarray
    """(rows, G) uint64: the tiles that make a gain at an end."""
    better: np.ndarray
    """(rows, highest gain + 1) uint64: the tiles that gain more than some points at an end."""
    none_of: np.ndarray
    """(held, tiles, k) float64: the chance that a hand drawn from some tiles has none of k of these
    (hypergeometric)."""
    surely_none_of: np.ndarray
    """The same for those who take a hand to hold every tile that it may hold: 1 or 0."""


@lru_cache(maxsize=64)
def gain_book(rules: Rules) -> Book:
    """The book of some rules."""
    match = np.zeros(1, MATCH)
    match["rules"] = rules.record
    rests = 1 + 2 * (rules.num_ends - 1) * rules.highest
    points = np.zeros((rests, rules.highest + 1, rules.num_tiles), np.int64)
    _try_all(match, points)
    gains = np.unique(np.append(points, 0))[::-1].copy()
    bits = np.uint64(1) << np.arange(rules.num_tiles, dtype=np.uint64)
    fits = np.where(FITS[: rules.highest + 1, None] & bits, bits, np.uint64(0))
    tiles = [_rows(fits, points == gain) for gain in gains]
    better = [_rows(fits, points > least) for least in range(gains[0] + 1)]
    none_of = _chances_of_none(rules.num_tiles)
    steps = gains // rules.score_unit
    return Book(gains, steps, np.stack(tiles, -1), np.stack(better, -1), none_of, np.floor(none_of))


def _rows(fits: np.ndarray, chosen: np.ndarray) -> np.ndarray:
    """The chosen ones (rests, values, tiles) of the tiles that fit (values, tiles), as masks (rows,)."""
    masks = np.where(chosen, fits, np.uint64(0)).sum(-1, dtype=np.uint64)
    return np.pad(masks, [(0, 0), (1, 0)]).reshape(-1)


def _chances_of_none(most: int) -> np.ndarray:
    """The hypergeometric chances of ``Book.none_of`` for up to so many tiles, tile after tile of the k."""
    held, total, k = np.ogrid[: most + 1, : most + 1, :most]
    none_more = np.maximum(total - held - k, 0) * _INVERSE[np.maximum(total - k, 0)]
    return np.pad(np.cumprod(none_more, axis=-1), [(0, 0), (0, 0), (1, 0)], constant_values=1.0)


@jit
def _try_all(matches, points):
    """Lay every tile at an end of every value, next to ends that count every rest."""
    match = matches[0]
    clear_line(match)
    match.placed = 2
    match.ends[RIGHT] = 1
    for rest in range(points.shape[0]):
        match.weights[RIGHT] = rest
        for value in range(points.shape[1]):
            match.ends[LEFT] = value
            for tile in range(points.shape[2]):
                if FITS[value] & tile_bit(tile):
                    points[rest, value, tile] = points_of(match, look_ahead(match, tile, LEFT)[0])


def new_desk() -> np.ndarray:
    """An empty desk to work on, for ``look`` and the players' functions: (1,) of dtype ``DESK``."""
    return np.zeros(1, DESK)


@jit
def look(desk, match, history):
    """Lay out what the seat to move knows of a match or view; with `history` the plies of the round too."""
    desk.table.rules = match.rules
    redact_table(desk.table, match, match.seat)
    if history:
        redact_history(desk.table, match, match.seat)


# ------------------------------------------------------------------------------------ hands


@jit
def unseen_tiles(table):
    """The tiles that seat 0 has not seen, as a mask: in other hands, asleep, or in the boneyard."""
    tiles = (tile_bit(table.rules.num_tiles) - np.uint64(1)) & ~table.hands[0]
    for seat in range(MAX_SEATS):
        tiles &= ~table.laid[seat]
    return tiles


@jit
def without_voids(table, seat, tiles):
    """Those of some tiles that a seat has not shown to lack; what it has drawn since may be any."""
    return tiles & ~_WITH_ANY[np.uint64(table.lacks[seat]) & ~_drawn_since(table.newer[seat])]


@jit
def next_opponent(table, seat):
    """The first seat after `seat` that holds tiles and plays against seat 0, or NONE."""
    for _ in range(table.rules.num_players - 1):
        seat = next_seat(table, seat)
        if table.held[seat] and side_of(table, seat) != 0:
            return seat
    return np.int64(NONE)


@jit
def note_hand(table, desk, seat, tiles):
    """Let a seat hold any of some tiles.

    Where seat 0 is about to end the round by its last tile, no tile of others will matter.
    """
    ends = table.held[0] == 1 and goes_out(table, 0)
    desk.tiles[seat] = np.uint64(0) if ends else tiles


@jit
def chance_of_none(table, desk, book, seat, tiles):
    """Chance that a seat holds none of some tiles."""
    may_hold = desk.tiles[seat]
    return book.none_of[np.uint64(table.held[seat]), count_bits(may_hold), count_bits(tiles & may_hold)]


# ------------------------------------------------------------------------------------ replies


@jit
def note_gains(table, desk, book, tile, end):
    """Note what every tile would gain next to a tile that seat 0 lays."""
    ends, weights, _, _ = joined(table, tile, end)
    count = np.int64(0)
    for e in range(MAX_ENDS):
        count += np.int64(ends[e]) * weights[e]
    led_double = table.placed == 0 and DOUBLE[tile]
    left = _row(table, ends, weights, count, led_double, LEFT)
    right = _row(table, ends, weights, count, led_double, RIGHT)
    for g in range(len(book.gains)):
        desk.gaining[g] = book.tiles[left, g] | book.tiles[right, g]
    if table.rules.num_ends > 2:
        up = _row(table, ends, weights, count, led_double, UP)
        down = _row(table, ends, weights, count, led_double, DOWN)
        for g in range(len(book.gains)):
            desk.gaining[g] |= book.tiles[up, g] | book.tiles[down, g]


@jit
def _row(table, ends, weights, count, led_double, end):
    """The row of the book for an end of a line: by its value, and by what the others count.

    Next to a double that was led both its sides count (FT-12).
    """
    rest = count if led_double else count - np.int64(ends[end]) * weights[end]
    return np.uint64(rest * (np.int64(table.rules.highest) + 2) + ends[end] + 1)


@jit
def bonus_of(table, seat):
    """What a seat gains by its next tile besides the placement (FT-16, FT-17)."""
    return np.int64(table.rules.going_out == BONUS_ONE and table.held[seat] == 1 and goes_out(table, seat))


@jit
def first_accepted(table, book, seat, bonus, before):
    """From which gain of the book on a score would take them with a bonus: nearly always all of them.

    `before`: what the seat's side has gained by then.
    """
    side, g = side_of(table, seat), np.int64(0)
    while g < len(book.gains) and refusal(table, side, before + book.gains[g] + bonus, False):
        g += 1
    return g


@jit
def most_gained(table, desk, book, seat, tiles):
    """The most that a seat gains next by any one of some tiles, in points."""
    bonus, most = bonus_of(table, seat), np.int64(0)
    first = first_accepted(table, book, seat, bonus, 0)
    for k in range(len(book.gains)):  # the greatest last
        g = len(book.gains) - 1 - k
        most = book.gains[g] + bonus if g >= first and desk.gaining[g] & tiles else most
    return most


@jit
def expected_gain(table, desk, book, seat):
    """What a seat gains next by its best tile, expected, in points."""
    bonus, may_hold = bonus_of(table, seat), desk.tiles[seat]
    chances = book.none_of[np.uint64(table.held[seat]), count_bits(may_hold)]
    mean, tiles, none = 0.0, np.uint64(0), 1.0
    for g in range(first_accepted(table, book, seat, bonus, 0), len(book.gains)):
        tiles |= desk.gaining[g]
        none_better, none = none, chances[count_bits(tiles & may_hold)]
        mean += (none_better - none) * (book.gains[g] + bonus)
    return mean


# ------------------------------------------------------------------------------------ the round so far


@jit
def lay_again(table, desk, better):
    """Note from the plies of the round who laid the tile at each end, and which tiles a seat hardly holds.

    Those are the tiles that would have earned it more than what it laid. A lead tells nothing here, and
    neither does a tile whose points were refused.
    """
    for seat in range(MAX_SEATS):
        desk.unlikely[seat] = 0
    for end in range(MAX_ENDS):
        desk.owner[end] = NONE
    if table.placed == 0:
        return
    line = scratch(table)
    line.rules = table.rules
    clear_line(line)
    most = better.shape[1] - 1
    lead = table.history[0]
    desk.owner[LEFT] = desk.owner[RIGHT] = lead.seat
    join(line, lead.tile, LEFT)
    for i in range(1, table.num_plies):
        ply = table.history[i]
        if ply.kind == PLAY:
            desk.owner[ply.end] = ply.seat
            points = min(np.int64(ply.offered), most) if ply.reason == 0 else most
            desk.unlikely[ply.seat] |= _better_tiles(line, better, points)
            join(line, ply.tile, ply.end)


@jit
def _better_tiles(line, better, points):
    """The tiles that would gain more than some points on a line."""
    count = end_count(line)
    led_double = line.placed == 1 and line.ends[LEFT] == line.ends[RIGHT]
    tiles = np.uint64(0)
    for end in range(line.rules.num_ends):
        tiles |= better[_row(line, line.ends, line.weights, count, led_double, end), np.uint64(points)]
    return tiles
