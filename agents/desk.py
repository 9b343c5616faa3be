"""What a seat knows, laid out for looking one reply ahead: the desk of the scripted players.

A desk holds the table as the seat to move sees it, a second table to try placements on, and for each other
seat the tiles that it may hold. All of these are equally likely to be in its hand; that is what turns
gains of a reply into expected gains. ``look`` fills a desk and is the only function that reads a match, so
nothing behind it can see a hidden tile: play-outs of a search may use desks on full matches.

Replies are not tried tile by tile: a ``Book`` lists, for an end and what the other ends count, which tiles
gain how much. It is worked out by the kernel, once for each set of rules.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fivesthrees_env.kernel.jit import count_bits, jit
from fivesthrees_env.kernel.layout import clear_line, join, look_ahead, tile_bit
from fivesthrees_env.kernel.play import next_seat
from fivesthrees_env.kernel.record import LEAD, LEFT, MATCH, MAX_ENDS, MAX_SEATS, NONE, PLAY, RIGHT
from fivesthrees_env.kernel.settle import BONUS_ONE, goes_out, points_of, refusal, side_of
from fivesthrees_env.rules import Rules
from fivesthrees_env.tiles import FITS, MAX_TILES
from fivesthrees_env.views import redact_history, redact_table

__all__ = ["DESK", "Book", "gain_book", "look", "new_desk"]

#: Most different gains that a placement can make, 0 among them; double-nine with four open ends makes 20.
MAX_GAINS = 64

_INVERSE = 1.0 / np.maximum(np.arange(MAX_TILES + 1), 1)

DESK = np.dtype(
    [
        ("table", MATCH),  # what the seat to move sees; it is seat 0 here
        ("after", MATCH),  # the line after a placement that is thought of
        ("gaining", "u8", (MAX_GAINS,)),  # for each gain of the book the tiles that make it on that line
        ("tiles", "u8", (MAX_SEATS,)),  # what each other seat may hold
        ("none_of", "f8", (MAX_SEATS, MAX_TILES + 1)),  # chance that the seat holds none of k such tiles
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
    """Which tiles gain how much: what compiled code reads."""

    gains: np.ndarray
    """(G,) int64: all gains of a placement in points, rising; the first is 0."""
    tiles: np.ndarray
    """(rests, values, G) uint64: the tiles that make a gain at an end that shows a value, where the other
    ends count a rest, in pips."""


@lru_cache(maxsize=64)
def gain_book(rules: Rules) -> Book:
    """The book of some rules."""
    match = np.zeros(1, MATCH)
    match["rules"] = rules.record
    rests = 1 + 2 * (rules.num_ends - 1) * rules.highest
    points = np.zeros((rests, rules.highest + 1, rules.num_tiles), np.int64)
    _try_all(match, points)
    gains = np.unique(np.append(points, 0))
    bits = np.uint64(1) << np.arange(rules.num_tiles, dtype=np.uint64)
    fits = (FITS[: rules.highest + 1, None] & bits) != 0
    tiles = np.stack([np.where(fits & (points == gain), bits, 0).sum(-1) for gain in gains], -1)
    return Book(gains, tiles.astype(np.uint64))


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
    desk.after.rules = match.rules
    redact_table(desk.table, match, match.seat)
    if history:
        redact_history(desk.table, match, match.seat)


# ------------------------------------------------------------------------------------ hands


@jit
def unseen_tiles(table):
    """The tiles that seat 0 has not seen, as a mask: in other hands, asleep, or in the boneyard."""
    tiles = (tile_bit(table.rules.num_tiles) - np.uint64(1)) & ~table.hands[0]
    for seat in range(table.rules.num_players):
        tiles &= ~table.laid[seat]
    return tiles


@jit
def without_voids(table, seat, tiles):
    """Those of some tiles that a seat has not shown to lack; what it has drawn since may be any."""
    if table.lacks[seat]:
        for value in range(table.rules.highest + 1):
            if table.lacks[seat] >> value & 1 and table.newer[seat, value] == 0:
                tiles &= ~FITS[value]
    return tiles


@jit
def next_opponent(table, seat):
    """The first seat after `seat` that holds tiles and plays against seat 0, or NONE."""
    for _ in range(table.rules.num_players - 1):
        seat = next_seat(table, seat)
        if table.held[seat] and side_of(table, seat) != 0:
            return seat
    return np.int64(NONE)


@jit
def note_hand(desk, seat, tiles):
    """Let a seat hold any of some tiles: the chances of none among k of them (hypergeometric).

    Where seat 0 is about to end the round by its last tile, no tile of others will matter.
    """
    if desk.table.held[0] == 1 and goes_out(desk.table, 0):
        tiles = np.uint64(0)
    desk.tiles[seat] = tiles
    total, held = np.int64(count_bits(tiles)), np.int64(desk.table.held[seat])
    none = 1.0
    desk.none_of[seat, 0] = none
    for k in range(total):
        none *= max(0, total - held - k) * _INVERSE[total - k]
        desk.none_of[seat, k + 1] = none


@jit
def chance_of_none(desk, seat, tiles):
    """Chance that a seat holds none of some tiles."""
    return desk.none_of[seat, np.int64(count_bits(tiles & desk.tiles[seat]))]


# ------------------------------------------------------------------------------------ replies


@jit
def try_placement(desk, book, tile, end):
    """Lay a tile of seat 0 on the second table, and note what every tile would gain there next."""
    table, after = desk.table, desk.after
    for e in range(MAX_ENDS):
        after.ends[e] = table.ends[e]
        after.weights[e] = table.weights[e]
    after.placed, after.spinner, after.spinner_free = table.placed, table.spinner, table.spinner_free
    join(after, tile, end)
    note_gains(desk, book)


@jit
def note_gains(desk, book):
    """Note which tiles make which gain on the second table."""
    after = desk.after
    for g in range(len(book.gains)):
        desk.gaining[g] = 0
    for end in range(after.rules.num_ends):
        value = np.int64(after.ends[end])
        if value >= 0:
            blank = value * (value + 1) // 2  # the tile [0|value]: it leaves what the other ends count
            rest, _ = look_ahead(after, blank, end)
            for g in range(len(book.gains)):
                desk.gaining[g] |= book.tiles[rest, value, g]


@jit
def bonus_of(table, seat):
    """What a seat gains by its next tile besides the placement (FT-16, FT-17)."""
    return np.int64(table.rules.going_out == BONUS_ONE and table.held[seat] == 1 and goes_out(table, seat))


@jit
def accepted_gain(table, book, g, seat, bonus):
    """The g-th gain of the book and a bonus, as far as the score of a seat would take them."""
    points = book.gains[g] + bonus
    return 0 if refusal(table, side_of(table, seat), points, False) else points


@jit
def most_gained(desk, book, seat, tiles):
    """The most that a seat gains on the second table by any one of some tiles, in points."""
    bonus = bonus_of(desk.table, seat)
    for g in range(len(book.gains) - 1, -1, -1):
        if desk.gaining[g] & tiles:
            points = accepted_gain(desk.table, book, g, seat, bonus)
            if points:
                return points
    return np.int64(0)


@jit
def expected_gain(desk, book, seat):
    """What a seat gains on the second table by its best tile, expected, in points."""
    table, bonus = desk.table, bonus_of(desk.table, seat)
    mean, tiles, none = 0.0, np.uint64(0), 1.0
    for g in range(len(book.gains) - 1, -1, -1):  # `none`: chance that no tile gains this or more
        points = accepted_gain(table, book, g, seat, bonus)
        if points and desk.gaining[g]:
            tiles |= desk.gaining[g]
            none_either = chance_of_none(desk, seat, tiles)
            mean += (none - none_either) * points
            none = none_either
    return mean


# ------------------------------------------------------------------------------------ the round so far


@jit
def note_owners(desk):
    """Who laid the tile that lies at each end."""
    table = desk.table
    for end in range(MAX_ENDS):
        desk.owner[end] = NONE
    for i in range(table.num_plies):
        ply = table.history[i]
        if ply.kind == PLAY:
            desk.owner[ply.end] = ply.seat
        elif ply.kind == LEAD:
            desk.owner[LEFT] = desk.owner[RIGHT] = ply.seat


@jit
def note_unlikely(desk, book):
    """The tiles that would have earned a seat more than what it laid: it hardly holds them.

    The round is laid again on the second table. A lead tells nothing here, and neither does a tile whose
    points were refused.
    """
    table, after = desk.table, desk.after
    for seat in range(MAX_SEATS):
        desk.unlikely[seat] = 0
    clear_line(after)
    for i in range(table.num_plies):
        ply = table.history[i]
        if ply.kind == PLAY and ply.seat != 0 and ply.reason == 0:
            note_gains(desk, book)
            for g in range(len(book.gains)):
                if book.gains[g] > ply.offered:
                    desk.unlikely[ply.seat] |= desk.gaining[g]
        if ply.kind == PLAY or ply.kind == LEAD:
            join(after, ply.tile, ply.end)
