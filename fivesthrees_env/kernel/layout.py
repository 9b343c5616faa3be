"""The line on the table: its ends, what fits them, what they count."""

from __future__ import annotations

import numpy as np

from fivesthrees_env.kernel.jit import jit
from fivesthrees_env.kernel.record import DOWN, LEFT, MAX_ENDS, NONE, RIGHT, UP
from fivesthrees_env.tiles import DOUBLE, FITS, HIGH, LOW

_NOTHING = np.uint64(0)
_ONE = np.uint64(1)


@jit
def tile_bit(tile):
    """The mask of one tile."""
    return _ONE << np.uint64(tile)


@jit
def clear_line(match):
    """Take every tile off the table."""
    for end in range(MAX_ENDS):
        match.ends[end] = NONE
        match.weights[end] = 0
    match.placed = 0
    match.spinner = NONE
    match.spinner_free = 0


@jit
def fitting(match, end):
    """The tiles that fit an end, whoever holds them, as a mask (FT-6)."""
    return FITS[match.ends[end]] if match.ends[end] >= 0 else _NOTHING


@jit
def fitting_anywhere(match):
    """The tiles that fit any open end, whoever holds them, as a mask."""
    tiles = _NOTHING
    for end in range(MAX_ENDS):
        tiles |= fitting(match, end)
    return tiles


@jit
def playable(match, seat, end):
    """The tiles that a seat can lay at an end, as a mask (FT-5 to FT-8, AF-2, AF-4)."""
    if match.placed == 0:
        if end != LEFT:
            return _NOTHING
        if match.must_lead >= 0:
            return tile_bit(match.must_lead)
        return match.hands[seat]
    return match.hands[seat] & fitting(match, end)


@jit
def can_lay(match, seat):
    """Whether a seat has any placement."""
    for end in range(match.rules.num_ends):
        if playable(match, seat, end) != 0:
            return True
    return False


@jit
def join(match, tile, end):
    """Lay a tile at an end (FT-6, FT-8, AF-4): the lead lies low half left."""
    low, high, double = LOW[tile], HIGH[tile], DOUBLE[tile]
    if match.placed == 0:
        match.ends[LEFT], match.ends[RIGHT] = low, high
        match.weights[LEFT] = match.weights[RIGHT] = 1  # FT-11: a lone double is counted once
    else:
        if match.placed == 1 and match.ends[LEFT] == match.ends[RIGHT]:
            match.weights[1 - end] = 2  # FT-12: the free side of a led double is a terminal double
        match.ends[end] = low if match.ends[end] == high else high
        match.weights[end] = 1 + double  # FT-10
        match.spinner_free &= ~(1 << end)
    if match.rules.spinner and double and match.spinner == NONE:
        match.spinner = low
        match.spinner_free = 0b11 if match.placed == 0 else 1 << end
    match.placed += 1
    if match.spinner != NONE and match.spinner_free == 0 and match.ends[UP] == NONE:
        match.ends[UP] = match.ends[DOWN] = match.spinner  # AF-4: both long sides are covered
        match.weights[UP] = match.weights[DOWN] = 0  # AF-5: nothing lies there yet


@jit
def end_count(match):
    """What the open ends add up to, in pips (FT-9 to FT-12, AF-5)."""
    count = 0
    for end in range(MAX_ENDS):  # a closed end has the weight 0
        count += np.int64(match.ends[end]) * match.weights[end]
    return count


@jit
def look_ahead(match, tile, end):
    """What laying a tile at an end would make: the end count, and the tiles that would fit anywhere.

    The match stays as it is.
    """
    ends = (match.ends[0], match.ends[1], match.ends[2], match.ends[3])
    weights = (match.weights[0], match.weights[1], match.weights[2], match.weights[3])
    placed, spinner, spinner_free = match.placed, match.spinner, match.spinner_free
    join(match, tile, end)
    count, fits = end_count(match), fitting_anywhere(match)
    for e in range(MAX_ENDS):
        match.ends[e] = ends[e]
        match.weights[e] = weights[e]
    match.placed, match.spinner, match.spinner_free = placed, spinner, spinner_free
    return count, fits


@jit
def shown_values(match):
    """The values that the open ends show, as a mask of values."""
    values = 0
    for end in range(MAX_ENDS):
        if match.ends[end] >= 0:
            values |= 1 << match.ends[end]
    return values
