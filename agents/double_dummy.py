"""The search behind ``agents/solver.py``, compiled: one round with open hands, to its end.

Every rule is the kernel's: a search state is a match record without what no rule needs while hands are open
(``STATE``), so kernel functions play on it as on a match. The rest is game-tree search:

- **Two sides**: alpha-beta (Knuth and Moore, "An analysis of alpha-beta pruning", 1975), fail-soft.
- **Three and four sides**: maxⁿ (Luckhardt and Irani, "An algorithmic solution of n-person games", 1986):
  every side maximises its own value. Nothing is pruned: shallow pruning (Korf, "Multi-player alpha-beta
  pruning", 1991) needs a tight bound on what each side may get, and point margins have none. Where outcomes
  are equal for the side to move, it takes the one that gives the next side least, then the one after that:
  so the value is defined by outcomes alone, not by the order of moves.
- **A transposition table**, one entry per slot, keyed by 64-bit hashes (Zobrist, 1970, as sums of products).
  Two of a million positions share a hash with probability 3e-8.
- **Iterative deepening** only where the number of plies is limited: see ``solve_moves``.

Values are totals at the end of the round, in ``float64``: (sides − 1) times the point margin, a whole number;
or the probability of winning the match. A frame of the explicit stack stands for one decision; knocks, draws
and single moves are played on the way to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from agents.equity import EquityTable, value_of_round
from fivesthrees_env.kernel.jit import call, count_bits, jit, lowest_bit
from fivesthrees_env.kernel.layout import look_ahead, playable
from fivesthrees_env.kernel.play import make_ply, next_seat, without_placement
from fivesthrees_env.kernel.random import mix
from fivesthrees_env.kernel.record import MATCH, MAX_ENDS, MAX_SEATS, NONE
from fivesthrees_env.kernel.settle import (
    BLOCK_NONE,
    BONUS_ONE,
    BONUS_PIPS,
    placement_points,
    points_of,
    rounded,
    side_of,
)
from fivesthrees_env.opponents import greedy_action
from fivesthrees_env.tiles import MAX_HIGHEST, MAX_TILES, PIPS

__all__ = ["FOREVER", "MARGIN", "Tree", "new_tree", "solve_moves", "solve_position"]

_NOT_NEEDED = ("lacks", "newer", "key", "counter", "round_index", "history")
_FIELDS: Mapping[str, Any] = MATCH.fields or {}

#: A match as a search sees it: 250 bytes instead of 2,700, so that a copy for each ply costs little. What
#: seats have shown is still written by the kernel, though nobody reads it; the history stays empty.
STATE = np.dtype(
    [(name, field[0]) for name, field in _FIELDS.items() if name not in _NOT_NEEDED]
    + [(name, _FIELDS[name][0]) for name in ("lacks", "newer")]
    + [("history", MATCH["history"].base, (1,))],
    align=True,
)

#: Most placements of one seat: each end takes at most as many tiles as have its value.
MOST_MOVES = MAX_ENDS * (MAX_HIGHEST + 1)

#: One decision on the way from the root to the current position.
FRAME = np.dtype(
    [
        ("state", STATE),
        ("key", "u8"),
        ("alpha", "f8"),  # of side 0, two sides only: it has this much elsewhere
        ("beta", "f8"),  # side 1 can hold it to this much elsewhere
        ("window", "f8", (2,)),  # alpha and beta as they were at first
        ("values", "f8", (MAX_SEATS,)),  # per side: the best found so far
        ("count", "i4"),
        ("next", "i4"),  # moves tried so far
        ("depth", "i2"),  # decisions still to be searched below, this one included
        ("action", "i2"),  # still to be made on the state; NONE: none
        ("best", "i2"),  # action
        ("side", "i1"),  # to move
        ("is_node", "i1"),  # a decision, not a position whose value is known at once
        ("is_cut", "i1"),  # the horizon was met below
        ("actions", "i2", (MOST_MOVES,)),
        ("ranks", "i4", (MOST_MOVES,)),  # two sides only
    ],
    align=True,
)

#: One slot of the transposition table.
ENTRY = np.dtype(
    [
        ("key", "u8"),
        ("values", "f4", (MAX_SEATS,)),  # still to come; with two sides: at least, at most, for side 0
        ("stamp", "u4"),  # which call wrote it
        ("depth", "i2"),  # decisions searched below; FULL: to the end of the round
        ("tile", "i2"),  # of the best move
    ],
    align=True,
)

#: What stays the same during one call, and its count of plies.
TASK = np.dtype(
    [
        ("plies", "i8"),
        ("most_plies", "i8"),
        ("stamp", "u4"),
        ("most_placement", "i4"),
        ("most_at_end", "i4"),
    ],
    align=True,
)

FULL = 2**15 - 1
FOREVER = 2**62
_FIRST = 1 << 20  # a rank above all others
_STEP = 2  # decisions by which the horizon moves on
_EXACT, _CUT, _SPENT = range(3)

_RNG = np.random.default_rng(61)
_WORDS = _RNG.integers(2**63, size=(4, 128), dtype=np.uint64) * np.uint64(2) + np.uint64(1)
_HAND, _END, _ROOM, _REST = _WORDS


class Tree(NamedTuple):
    """The working memory of a search, used again from call to call; one thread may use it at a time."""

    frames: np.ndarray
    """(decisions of a round + 2,) of dtype ``FRAME``; the last one is the root."""
    table: np.ndarray
    """(a power of two,) of dtype ``ENTRY``."""
    task: np.ndarray
    """(1,) of dtype ``TASK``; ``most_plies`` is set by the caller."""
    results: np.ndarray
    """(MOST_MOVES, MAX_SEATS) float64: for each of the root's moves, the value for each side."""
    drafts: np.ndarray
    """The same, of a search that is not finished."""


def new_tree(table_bits: int = 14, most_plies: int = FOREVER) -> Tree:
    """Working memory with ``2**table_bits`` slots of 32 bytes, for calls of at most `most_plies` plies."""
    task = np.zeros(1, TASK)
    task["most_plies"] = most_plies
    results, drafts = np.zeros((2, MOST_MOVES, MAX_SEATS))
    return Tree(np.zeros(MAX_TILES + 2, FRAME), np.zeros(1 << table_bits, ENTRY), task, results, drafts)


def _no_table() -> EquityTable:
    arrays = np.zeros((2, 0, 0), np.float32), np.zeros(0, np.float32)
    for array in arrays:
        array.setflags(write=False)
    return EquityTable(*arrays)


#: Stands for "no equity: the point margin" wherever a table is asked for.
MARGIN = _no_table()


# ------------------------------------------------------------------------------------- the root


@jit
def solve_position(match, tree, equity):
    """The value of the rest of a round, for each side, in ``tree.results[0]``.

    Args, result: as in ``solve_moves``.
    """
    root = tree.frames[tree.frames.size - 1]
    load_state(root.state, match)
    root.actions[0], root.count = NONE, 1
    return solve_root(tree, equity)


@jit
def solve_moves(match, tree, equity):
    """The value of every legal action of the seat to move.

    Where ``tree.task[0].most_plies`` does not suffice for an exact answer, the search goes as many decisions
    deep as it does suffice for (in steps of two), and greedy play by everybody follows.

    Args:
        match: a record with open hands in a running round; it is not changed.
        tree: working memory. After the call the root (``tree.frames[-1]``) has ``count`` legal ``actions``,
            and ``tree.results[k, side]`` is the value of the k-th, from now to the end of the round: the
            point margin of the side, or its probability of winning the match.
        equity: an ``EquityTable`` for the value of scores after the round, or ``MARGIN`` for points.

    Returns:
        Whether the values are exact.
    """
    root = tree.frames[tree.frames.size - 1]
    load_state(root.state, match)
    list_legal(root)
    return solve_root(tree, equity)


@jit
def load_state(state, match):
    """Copy what a search needs of a match."""
    for seat in range(MAX_SEATS):
        state.hands[seat], state.held[seat] = match.hands[seat], match.held[seat]
        state.laid[seat], state.scores[seat] = match.laid[seat], match.scores[seat]
    for end in range(MAX_ENDS):
        state.ends[end], state.weights[end] = match.ends[end], match.weights[end]
    state.seat, state.opener, state.must_lead = match.seat, match.opener, match.must_lead
    state.placed, state.knocks, state.undealt = match.placed, match.knocks, match.undealt
    state.spinner, state.spinner_free = match.spinner, match.spinner_free
    state.over, state.winner, state.round_winner = match.over, match.winner, match.round_winner
    state.event.round_end = 0  # of the round before
    state.rules = match.rules
    for i in range(match.rules.num_tiles):
        state.deck[i] = match.deck[i]


@jit
def list_legal(frame):
    """Write all legal actions of the seat to move, mirror images too."""
    state, n = frame.state, 0
    for end in range(state.rules.num_ends):
        n = append_moves(frame, n, end, playable(state, state.seat, end))
    if n == 0:
        frame.actions[0], n = without_placement(state), 1
    frame.count = n


@jit
def append_moves(frame, n, end, tiles):
    """Write the placements of some tiles at an end behind the first n; returns how many there are now."""
    while tiles:
        frame.actions[n] = end * np.int64(frame.state.rules.num_tiles) + np.int64(lowest_bit(tiles))
        tiles &= tiles - np.uint64(1)
        n += 1
    return n


@call
def solve_root(tree, equity):
    """Search all actions of the root, exactly or as deep as the plies suffice; returns whether exactly."""
    task, root = tree.task[0], tree.frames[tree.frames.size - 1]
    task.stamp += np.uint32(1)
    task.plies = 0
    note_bounds(task, root.state)
    depth = FULL if task.most_plies >= FOREVER else 0
    while True:
        outcome = search_root(tree, equity, depth)
        if outcome != _SPENT:
            tree.results[: root.count] = tree.drafts[: root.count]
        if outcome != _CUT:
            return outcome == _EXACT
        depth += _STEP


@jit
def search_root(tree, equity, depth):
    """Search all actions of the root to a depth: their values from now on into ``tree.drafts``."""
    root, first = tree.frames[tree.frames.size - 1], tree.frames[0]
    sides = root.state.rules.num_sides
    is_cut = False
    for k in range(root.count):
        first.state = root.state
        first.action, first.depth = root.actions[k], depth
        first.alpha, first.beta = -np.inf, np.inf
        if not search(tree, equity):
            return _SPENT
        is_cut |= first.is_cut != 0
        for side in range(sides):
            value = first.values[side] - value_so_far(root.state, equity, side)
            tree.drafts[k, side] = value if by_equity(equity) else value / (sides - 1)
    return _CUT if is_cut else _EXACT


# ----------------------------------------------------------------------------------- the search


@jit
def search(tree, equity):
    """The value of the first frame, in its ``values``; returns False where the plies do not suffice."""
    frames, task = tree.frames, tree.task[0]
    d = 0
    while True:
        open_frame(frames[d], tree.table, task, equity)
        while is_done(frames[d]):
            if frames[d].is_node:
                store(frames[d], tree.table, task, equity)
            if d == 0:
                return True
            d -= 1
            take(frames[d], frames[d + 1])
        if task.plies > task.most_plies:
            return False
        frame, child = frames[d], frames[d + 1]
        child.state = frame.state
        child.action, child.depth = next_move(frame), frame.depth - 1
        child.alpha, child.beta = frame.alpha, frame.beta
        d += 1


@call
def open_frame(frame, table, task, equity):
    """Make the frame's action and all that is forced after it: to a decision, or to a known value."""
    state = frame.state
    frame.count = frame.next = frame.is_node = frame.is_cut = 0
    count, action = 0, np.int64(frame.action)
    while True:
        if action != NONE:
            make_ply(state, action)
            task.plies += 1
            if state.over or state.event.round_end:
                for side in range(state.rules.num_sides):
                    frame.values[side] = value_at_end(state, equity, side)
                return
        count = list_moves(frame)
        if count == 1:
            action = np.int64(frame.actions[0])
        elif count == 0:
            action = without_placement(state)
        elif frame.depth > 0:
            break
        else:
            frame.is_cut = 1
            action = greedy_action(state)
    frame.side = side_of(state, state.seat)
    frame.key = position_key(state, task, by_equity(equity))
    entry = table[np.int64(frame.key & np.uint64(table.size - 1))]
    known = entry.key == frame.key and entry.stamp == task.stamp
    if known and entry.depth >= frame.depth and recall(frame, entry, equity):
        return
    frame.is_node, frame.count, frame.best = 1, count, NONE
    frame.window[0], frame.window[1] = frame.alpha, frame.beta
    if state.rules.num_sides == 2:
        rank_moves(frame, entry.tile if known else NONE)


@jit
def list_moves(frame):
    """Write the placements of the seat to move, but one of several mirror images; returns how many."""
    state, n = frame.state, 0
    for end in range(state.rules.num_ends):
        is_new = True
        for other in range(end):
            is_new &= end_code(state, end) != end_code(state, other)
        if is_new:
            n = append_moves(frame, n, end, playable(state, state.seat, end))
    return n


@jit
def end_code(state, end):
    """All that matters of an open end, in 7 bits; equal ends are mirror images of each other."""
    free = (np.int64(state.spinner_free) >> end) & 1
    return (np.int64(state.ends[end]) + 1) * 8 + np.int64(state.weights[end]) * 2 + free


@call
def rank_moves(frame, best_tile):
    """Which moves to try first: the table's, then those that leave opponents little to lay and earn much.

    The weights are those of several tried that visited the fewest positions, a third fewer than points alone.
    """
    state = frame.state
    rules, seat = state.rules, np.int64(state.seat)
    for k in range(frame.count):
        end, tile = divmod(np.int64(frame.actions[k]), np.int64(rules.num_tiles))
        count, fits = look_ahead(state, tile, end)
        rank = np.int64(count_bits(fits & state.hands[seat]))
        rank += 2 * placement_points(state, count) // rules.score_unit
        other, weight = next_seat(state, seat), -6
        while other != seat:
            sign = 1 if side_of(state, other) == frame.side else weight
            rank += sign * np.int64(count_bits(fits & state.hands[other]))
            other, weight = next_seat(state, other), -3
        frame.ranks[k] = rank + (_FIRST if tile == best_tile else 0)


@jit
def next_move(frame):
    """The untried move of the highest rank; with three and more sides, where all are tried, the next one."""
    first = best = frame.next
    if frame.state.rules.num_sides == 2:
        for k in range(first + 1, frame.count):
            if frame.ranks[k] > frame.ranks[best]:
                best = k
    frame.actions[first], frame.actions[best] = frame.actions[best], frame.actions[first]
    frame.ranks[first], frame.ranks[best] = frame.ranks[best], frame.ranks[first]
    frame.next += 1
    return np.int64(frame.actions[first])


@jit
def is_done(frame):
    """Whether the value of a frame is known: all moves tried, or one refutes it (two sides)."""
    return frame.next == frame.count or frame.alpha >= frame.beta


@jit
def take(frame, child):
    """Look at the value of the move tried last."""
    sides = frame.state.rules.num_sides
    frame.is_cut |= child.is_cut
    if frame.best == NONE or prefers(frame, child, sides):
        frame.best = frame.actions[frame.next - 1]
        for side in range(sides):
            frame.values[side] = child.values[side]
    if sides == 2 and frame.side == 0:
        frame.alpha = max(frame.alpha, frame.values[0])
    elif sides == 2:
        frame.beta = min(frame.beta, frame.values[0])


@jit
def prefers(frame, child, sides):
    """Whether the side to move likes a child better: more for itself, else less for the next side."""
    side = np.int64(frame.side)
    if child.values[side] != frame.values[side]:
        return child.values[side] > frame.values[side]
    for k in range(1, sides - 1):
        other = (side + k) % sides
        if child.values[other] != frame.values[other]:
            return child.values[other] < frame.values[other]
    return False


# ------------------------------------------------------------------------------------ the values


@jit
def by_equity(equity):
    """Whether the objective is the match, not the round."""
    return equity.places.size > 0


@call
def value_at_end(state, equity, side):
    """What a finished round is worth to a side."""
    if not by_equity(equity):
        return value_so_far(state, equity, side)
    if state.rules.num_sides == 2 and side == 1:
        return 1.0 - np.float64(np.float32(value_of_round(equity, state, 0)))
    return np.float64(np.float32(value_of_round(equity, state, side)))  # as the table keeps it


@jit
def value_so_far(state, equity, side):
    """The part of a round's value that its scores hold already: nothing where the match counts."""
    if by_equity(equity):
        return 0.0
    sides, total = np.int64(state.rules.num_sides), np.int64(0)
    for other in range(sides):
        total += state.scores[other]
    return np.float64(sides * state.scores[side] - total)


# ------------------------------------------------------------------------- the transposition table


@jit
def note_bounds(task, state):
    """Most points of one placement, and of the end of a round: by the rules alone."""
    rules, most, pips = state.rules, 0, 0
    for count in range(2 * rules.num_ends * rules.highest + 1):
        most = max(most, points_of(state, count))
    for tile in range(rules.num_tiles):
        pips += PIPS[tile]
    task.most_placement = most + (rules.num_players - 1 if rules.knock_points else 0)
    task.most_at_end = 1 if rules.going_out == BONUS_ONE else 0
    if rules.going_out == BONUS_PIPS or rules.block != BLOCK_NONE:
        task.most_at_end = max(np.int64(task.most_at_end), np.int64(rounded(state, pips)))


@jit
def position_key(state, task, all_scores):
    """A hash of all that the rest of the round depends on.

    Ends are added up in no order: mirror images are the same. What a side may still score before the target
    matters only where it can get there in this round, unless the final scores themselves are the value.
    """
    rules, key = state.rules, np.uint64(0)
    for seat in range(MAX_SEATS):
        key += state.hands[seat] * _HAND[seat]
    for end in range(rules.num_ends):
        key += _END[end_code(state, end)]
    key += np.uint64(state.seat + 8 * min(state.placed, 2)) * _REST[0]
    key += np.uint64(state.spinner + 1) * _REST[1]
    key += np.uint64(state.must_lead + 1) * _REST[2]
    if rules.draw:
        key += np.uint64(state.undealt) * _REST[3]
    if rules.knock_points:
        key += np.uint64(state.knocks) * _REST[4]
    for side in range(rules.num_sides):
        room = np.int64(rules.target) - state.scores[side]
        if all_scores or room <= most_to_come(state, task, side):
            key += np.uint64(room) * _ROOM[side]
    return mix(key)


@jit
def most_to_come(state, task, side):
    """More points than this cannot come to a side in the rest of the round."""
    tiles = np.int64(state.undealt) if state.rules.draw else np.int64(0)
    for seat in range(side, state.rules.num_players, state.rules.num_sides):
        tiles += state.held[seat]
    return tiles * task.most_placement + task.most_at_end


@call
def store(frame, table, task, equity):
    """Keep what is known of a decision now: with two sides the bounds that its window leaves."""
    state = frame.state
    entry = table[np.int64(frame.key & np.uint64(table.size - 1))]
    entry.key, entry.stamp = frame.key, task.stamp
    entry.depth = frame.depth if frame.is_cut else FULL
    entry.tile = frame.best % state.rules.num_tiles
    sides = state.rules.num_sides
    if sides == 2:
        value = frame.values[0] - value_so_far(state, equity, 0)
        entry.values[0] = value if frame.values[0] > frame.window[0] else -np.inf
        entry.values[1] = value if frame.values[0] < frame.window[1] else np.inf
    else:
        for side in range(sides):
            entry.values[side] = frame.values[side] - value_so_far(state, equity, side)


@jit
def recall(frame, entry, equity):
    """Take the value of an entry, if it settles the frame; returns whether it does."""
    state = frame.state
    sides = state.rules.num_sides
    if sides == 2:
        so_far = value_so_far(state, equity, 0)
        lower, upper = so_far + entry.values[0], so_far + entry.values[1]
        if lower < upper and lower < frame.beta and upper > frame.alpha:
            return False
        frame.values[0] = upper if upper <= frame.alpha else lower
        frame.values[1] = (1.0 if by_equity(equity) else 0.0) - frame.values[0]
    else:
        for side in range(sides):
            frame.values[side] = value_so_far(state, equity, side) + entry.values[side]
    frame.is_cut = entry.depth < FULL
    return True
