"""The ``Agent`` protocol, and the opponents that the environments themselves need: random and greedy.

An agent gets views, so it cannot see what its seat may not see. Everything that plays answers the same call.
"""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from fivesthrees_env.kernel.jit import count_bits, jit, lowest_bit
from fivesthrees_env.kernel.layout import at_end, look_ahead, playable, tile_bit
from fivesthrees_env.kernel.play import (
    accepted_points,
    knock_action,
    may_draw,
    nowhere,
    placements_of,
    without_placement,
    write_mask,
)
from fivesthrees_env.kernel.random import below, seed_stream
from fivesthrees_env.kernel.record import MATCH, MAX_ENDS, RULES
from fivesthrees_env.kernel.settle import (
    BLOCK_NONE,
    BLOCK_OTHERS_MINUS_OWN,
    mask_pips,
    rounded,
    side_of,
)
from fivesthrees_env.rules import Rules
from fivesthrees_env.tiles import PIPS

__all__ = [
    "Agent",
    "GreedyAgent",
    "RandomAgent",
    "action_masks",
    "opponent",
    "random_actions",
    "random_stream",
    "rules_of",
]


# The bytes of a record that are its rules.
_RULES_BEGIN = int(dict(MATCH.fields or {})["rules"][1])
_RULES_SIZE = RULES.itemsize


@runtime_checkable
class Agent(Protocol):
    """Anything that plays: scripted, searching, neural, human."""

    name: str

    def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose for a batch of views in which the viewer, seat 0, is to move.

        Args:
            views: (N,) of dtype ``MATCH``, all of one game; an agent must not change them.
            rng: the only source of chance.

        Returns:
            (N,) int64: a legal action for each view.
        """
        ...


class RandomAgent:
    """Any legal action, all equally likely: it knows the rules, and looks at nothing else."""

    name = "random"

    def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See ``Agent.act``."""
        return random_actions(views, rng)


class GreedyAgent:
    """The placement that earns most now, rejected points left out; ties go to the heavier tile.

    It knows its hand, the ends and its score: no memory, no partner, no thought of the next reply.

    Where a placement is sure to block a round of All Fives, the settlement counts with the pips that the
    hidden hands hold on average. The bonus for going out does not: every placement of the last tile earns it.
    """

    name = "greedy"

    def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See ``Agent.act``; among equally heavy tiles the one with the larger half, then the first end."""
        actions = np.empty(len(views), np.int64)
        _act_greedily(views, actions)
        return actions


def random_actions(records: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A uniformly random legal action for each match or view (N,): (N,) int64."""
    actions = np.empty(len(records), np.int64)
    _act_randomly(records, random_stream(rng), actions)
    return actions


def action_masks(records: np.ndarray) -> np.ndarray:
    """1 for every legal action of the seat to move, for each match or view (N,): (N, actions) int8.

    Raises:
        ValueError: if they are of games with other numbers of actions.
    """
    if not len(records):
        return np.empty((0, 0), np.int8)
    masks = np.empty((len(records), Rules.from_record(records["rules"][0]).num_actions), np.int8)
    other = _write_masks(records, masks)
    if other >= 0:
        raise ValueError(f"records: [{other}] has other rules than [0]; allowed: one game in a batch")
    return masks


def rules_of(records: np.ndarray) -> Rules:
    """The rules that all of some matches or views (N,) share, at least one.

    Raises:
        ValueError: if they are of several games.
    """
    begin = 0
    if records.flags.c_contiguous:
        rows, begin = records.view(np.uint8).reshape(len(records), -1), _RULES_BEGIN
    else:
        rows = np.ascontiguousarray(records["rules"][:, None].view(np.uint8))
    other = _first_other(rows, begin)
    if other < len(records):
        raise ValueError(f"records: [{other}] has other rules than [0]; allowed: one game in a batch")
    return Rules.from_record(records["rules"][0])


def opponent(agent: Agent | str) -> Agent:
    """An agent object as it is, or one of the built-in ones by name ("random", "greedy").

    Raises:
        ValueError: for any other name.
        TypeError: for an object without ``name`` and ``act``.
    """
    built_in = {cls.name: cls for cls in (RandomAgent, GreedyAgent)}
    if isinstance(agent, str):
        if agent not in built_in:
            raise ValueError(
                f"opponent: {agent!r} given; allowed: an Agent or one of "
                f"{', '.join(map(repr, built_in))} (more: agents.load(name_or_path) in a checkout)"
            )
        return built_in[agent]()
    if not isinstance(agent, Agent):
        raise TypeError(f"opponent: {agent!r} given; allowed: an Agent (name, act) or a name")
    return agent


def random_stream(rng: np.random.Generator) -> np.ndarray:
    """A record whose random stream starts where `rng` says: how kernel code draws."""
    stream = np.zeros(1, MATCH)
    _seed(stream, rng.integers(2**63))
    return stream


@jit
def _seed(stream, seed):
    seed_stream(stream[0], seed)


@jit
def random_action(match, stream):
    """A uniformly random legal action of the seat to move; `stream` is a record to draw from."""
    return random_choice(match, placements_of(match), stream)


@jit
def random_choice(match, placements, stream):
    """``random_action`` in a match whose placements are known."""
    if nowhere(placements):
        return without_placement(match)
    choices = np.int64(0)
    for end in range(MAX_ENDS):
        choices += np.int64(count_bits(at_end(placements, end)))
    choice = below(stream, choices)
    for end in range(MAX_ENDS):
        tiles = at_end(placements, end)
        here = np.int64(count_bits(tiles))
        if choice < here:
            for _ in range(choice):
                tiles &= tiles - np.uint64(1)
            return end * np.int64(match.rules.num_tiles) + np.int64(lowest_bit(tiles))
        choice -= here
    return knock_action(match)


@jit
def greedy_action(match):
    """The legal action that earns most, then by pips, then the larger tile, then the first end."""
    best = without_placement(match)
    best_rank = np.int64(-1)
    for end in range(match.rules.num_ends):
        tiles = playable(match, match.seat, end)
        while tiles:
            tile = np.int64(lowest_bit(tiles))
            tiles &= tiles - np.uint64(1)
            points = accepted_points(match, tile, end) + settlement_points(match, tile, end)
            rank = (points * 32 + PIPS[tile]) * 64 + tile
            if rank > best_rank:
                best, best_rank = end * np.int64(match.rules.num_tiles) + tile, rank
    return best


@jit
def settlement_points(view, tile, end):
    """What a placement that surely blocks the round is expected to pay its own side; 0 for any other."""
    rules = view.rules
    if rules.block == BLOCK_NONE or may_draw(view) or view.held[view.seat] == 1:
        return 0
    own = view.hands[view.seat] & ~tile_bit(tile)
    unseen = (tile_bit(rules.num_tiles) - np.uint64(1)) & ~own & ~tile_bit(tile)
    for seat in range(rules.num_players):
        unseen &= ~view.laid[seat]
    _, fits = look_ahead(view, tile, end)
    if fits & (own | unseen):
        return 0
    mean = mask_pips(unseen) / max(np.int64(count_bits(unseen)), 1)
    mine = mask_pips(own) + 0.0
    total, lightest_other = mine, np.inf
    for other in range(rules.num_sides):
        pips = 0.0
        for seat in range(other, rules.num_players, rules.num_sides):
            if seat != view.seat:
                pips += mean * view.held[seat]
        total += pips
        if other == side_of(view, view.seat):
            mine += pips
        else:
            lightest_other = min(lightest_other, pips)
    if mine >= lightest_other:
        return 0
    others = total - mine
    return rounded(
        view, np.int64(np.rint(others - mine if rules.block == BLOCK_OTHERS_MINUS_OWN else others))
    )


@jit
def _write_masks(records, masks):
    for i in range(records.size):
        if knock_action(records[i]) + 1 != masks.shape[1]:
            return i
        write_mask(records[i], masks[i])
    return -1


@jit
def _first_other(rows, begin):
    """The first row of bytes (N, bytes) that differs from row 0 where the rules are, else their number."""
    for i in range(rows.shape[0]):
        others = 0
        for k in range(begin, begin + _RULES_SIZE):
            others |= rows[i, k] ^ rows[0, k]
        if others:
            return i
    return rows.shape[0]


@jit
def _act_randomly(views, stream, actions):
    for i in range(views.size):
        actions[i] = random_action(views[i], stream[0])


@jit
def _act_greedily(views, actions):
    for i in range(views.size):
        actions[i] = greedy_action(views[i])
