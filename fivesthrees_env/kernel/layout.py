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
def at_end(values, end):
    """One of four values at hand, chosen by the end: a branch here could not be predicted."""
    left_or_right = values[LEFT] if end == LEFT else values[RIGHT]
    up_or_down = values[UP] if end == UP else values[DOWN]
    return left_or_right if end <= RIGHT else up_or_down


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
    return _fitting_any(match.ends)


@jit
def _fitting_any(ends):
    tiles = _NOTHING
    for end in range(MAX_ENDS):
        tiles |= FITS[ends[end]] if ends[end] >= 0 else _NOTHING
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
def joined(match, tile, end):
    """The line as a tile laid at an end would leave it (FT-6, FT-8, AF-4): the lead lies low half left.

    The match stays as it is.

    Returns:
        Ends and weights, four of each, the spinner, and its free sides, as in the record.
    """
    left, right, up, down = match.ends[LEFT], match.ends[RIGHT], match.ends[UP], match.ends[DOWN]
    w_left, w_right, w_up, w_down = (
        match.weights[LEFT],
        match.weights[RIGHT],
        match.weights[UP],
        match.weights[DOWN],
    )
    low, high, double = LOW[tile], HIGH[tile], DOUBLE[tile]
    spinner, spinner_free = match.spinner, match.spinner_free & ~(1 << end)
    if match.placed == 0:
        left, right = low, high
        w_left = w_right = np.int8(1)  # FT-11: a lone double is counted once
    else:
        free = low if at_end((left, right, up, down), end) == high else high
        weight = np.int8(1 + double)  # FT-10
        if match.placed == 1 and left == right:
            w_left = w_right = np.int8(2)  # FT-12: the free side of a led double is a terminal double
        if end == LEFT:
            left, w_left = free, weight
        if end == RIGHT:
            right, w_right = free, weight
        if end == UP:
            up, w_up = free, weight
        if end == DOWN:
            down, w_down = free, weight
    if match.rules.spinner:
        if double and spinner == NONE:
            spinner = low
            spinner_free = 0b11 if match.placed == 0 else 1 << end
        if spinner != NONE and spinner_free == 0 and up == NONE:
            up = down = spinner  # AF-4: both long sides are covered
            w_up = w_down = np.int8(0)  # AF-5: nothing lies there yet
    return (left, right, up, down), (w_left, w_right, w_up, w_down), spinner, spinner_free


@jit
def join(match, tile, end):
    """Lay a tile at an end."""
    ends, weights, match.spinner, match.spinner_free = joined(match, tile, end)
    for e in range(MAX_ENDS):
        match.ends[e] = ends[e]
        match.weights[e] = weights[e]
    match.placed += 1


@jit
def end_count(match):
    """What the open ends add up to, in pips (FT-9 to FT-12, AF-5)."""
    return _count(match.ends, match.weights)


@jit
def _count(ends, weights):
    count = 0
    for end in range(MAX_ENDS):  # a closed end has the weight 0
        count += np.int64(ends[end]) * weights[end]
    return count


@jit
def look_ahead(match, tile, end):
    """What laying a tile at an end would make: the end count, and the tiles that would fit anywhere.

    The match stays as it is.
    """
    ends, weights, _, _ = joined(match, tile, end)
    return _count(ends, weights), _fitting_any(ends)


@jit
def shown_values(match):
    """The values that the open ends show, as a mask of values."""
    values = 0
    for end in range(MAX_ENDS):
        if match.ends[end] >= 0:
            values |= 1 << match.ends[end]
    return values
