"""``redact``: the one gate that hidden information passes.

A *view* is a match record with everything erased that its viewer may not know (other hands, the order of the
deck, the random stream) and with seats and sides turned so that the viewer is seat 0, side 0. Observations,
agents, renderers and servers read views, never matches.
"""

from __future__ import annotations

import numpy as np

from fivesthrees_env.kernel.jit import copy, jit
from fivesthrees_env.kernel.record import MATCH, MAX_SEATS, NONE, PLY
from fivesthrees_env.kernel.settle import side_of

__all__ = ["redact"]

_NO_PLY = np.zeros(1, PLY)


def redact(matches: np.ndarray, seat: int) -> np.ndarray:
    """What one seat knows of a match.

    Args:
        matches: a batch of one match: (1,) of dtype ``MATCH``.
        seat: the viewer.

    Returns:
        A new batch of one view: (1,) of dtype ``MATCH``.

    Raises:
        IndexError: if there is no such seat.
        ValueError: if `matches` is something else.
    """
    if matches.dtype != MATCH or matches.shape != (1,):
        raise ValueError(f"matches: {matches.dtype} {matches.shape} given; allowed: (1,) of dtype MATCH")
    players = int(matches["rules"]["num_players"][0])
    if seat not in range(players):
        raise IndexError(f"seat {seat} given; allowed: 0 to {players - 1}")
    views = np.zeros(1, MATCH)
    redact_many(views, matches, np.array([seat], np.int64))
    return views


@jit
def redact_many(views, matches, seats):
    """Write ``views[i]``, what seat ``seats[i]`` knows of ``matches[i]``: all three (N,), unchecked."""
    for i in range(matches.size):
        view, match, seat = views[i], matches[i], np.int64(seats[i])
        view.rules = match.rules
        redact_history(view, match, seat)
        redact_table(view, match, seat)
        redact_progress(view, match, seat)


@jit
def redact_table(view, match, seat):
    """The table, as one seat sees it: what observations and masks are made of."""
    n, sides = np.int64(match.rules.num_players), np.int64(match.rules.num_sides)
    own = side_of(match, seat)
    for r in range(MAX_SEATS):  # a loop of constant length, which the compiler unrolls
        s = _place(seat, r, n)
        view.hands[r] = match.hands[s] if r == 0 else np.uint64(0)
        view.laid[r] = match.laid[s]
        view.lacks[r] = match.lacks[s]
        view.held[r] = match.held[s]
        view.scores[r] = match.scores[_place(own, r, sides)]
        view.ends[r] = match.ends[r]
        view.weights[r] = match.weights[r]
    if match.rules.draw:
        for r in range(MAX_SEATS):
            copy(view.newer[r], match.newer[_place(seat, r, n)])
    view.seat = turned(match, seat, match.seat)
    view.opener = turned(match, seat, match.opener)
    view.must_lead = match.must_lead if match.seat == seat else NONE
    view.placed = match.placed
    view.knocks = match.knocks
    view.spinner = match.spinner
    view.spinner_free = match.spinner_free
    view.undealt = match.undealt
    view.over = match.over
    view.key = view.counter = 0


@jit
def redact_progress(view, match, seat):
    """How the match came here, as one seat sees it: rounds, the winner, the latest event."""
    view.round_winner = NONE
    if match.round_winner != NONE:
        view.round_winner = turned(match, seat, match.round_winner)
    view.winner = turned_side(match, seat, match.winner)
    view.round_index = match.round_index
    view.event = match.event
    if match.round_index > 0 or match.num_plies > 0:  # before that the event is empty, nobody's
        view.event.ply.seat = turned(match, seat, match.event.ply.seat)
    view.event.settled_side = turned_side(match, seat, match.event.settled_side)


@jit
def redact_history(view, match, seat):
    """The plies of the round; the deck stays erased."""
    for ply in range(match.num_plies, view.num_plies):  # left over from an earlier use of the view
        view.history[ply] = _NO_PLY[0]
    for ply in range(match.num_plies):
        view.history[ply] = match.history[ply]
        view.history[ply].seat = turned(match, seat, match.history[ply].seat)
    view.num_plies = match.num_plies
    for i in range(match.rules.num_tiles):
        view.deck[i] = 0


@jit
def seated(match, viewer, r):
    """The seat that sits r places to the left of the viewer."""
    return _wrapped(viewer + r, np.int64(match.rules.num_players))


@jit
def turned(match, viewer, seat):
    """How many places to the left of the viewer a seat sits."""
    n = np.int64(match.rules.num_players)
    return _wrapped(np.int64(seat) - viewer + n, n)


@jit
def turned_side(match, viewer, side):
    """A side, counted from the viewer's; NONE stays NONE."""
    if side == NONE:
        return np.int64(NONE)
    sides = np.int64(match.rules.num_sides)
    return _wrapped(np.int64(side) - side_of(match, viewer) + sides, sides)


@jit
def _place(first, r, n):
    """Where row r of n turned rows comes from; the rows from n on are empty and stay where they are.

    Unsigned, since an index that might be negative costs Numba three more instructions.
    """
    return np.uint64(_wrapped(first + r, n) if r < n else r)


@jit
def _wrapped(index, n):
    """``index % n`` for an index below 2n, without a division."""
    return index - n if index >= n else index
