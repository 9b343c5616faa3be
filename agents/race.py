"""The race to the target: how likely the side to move wins from each pair of needs.

A need is the target minus the score. The model leaves tiles out of account: turn by turn, the sides in
alternation, every gain is on offer independently with the frequency that it has at the table, and the side
to move takes whichever leaves it best off, or nothing. That is enough to know which needs are easy to
meet: in Fives and Threes a side that needs 2 wins more often than one that needs 1, the lore's
"aim for 59, not for 60".
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from fivesthrees_env.kernel.episode import advance, begin
from fivesthrees_env.kernel.jit import jit, lowest_bit
from fivesthrees_env.kernel.layout import playable, tile_bit
from fivesthrees_env.kernel.play import accepted_points
from fivesthrees_env.kernel.record import MATCH
from fivesthrees_env.opponents import greedy_action
from fivesthrees_env.rules import Rules

__all__ = ["MAX_GAIN", "PAST", "Odds", "even_race", "gain_frequencies", "odds", "race"]

#: Gains are below this number, in units of ``Rules.score_unit``: at most 60 pips of double-nine and 3 knocks.
MAX_GAIN = 64
#: How far below 0 a need may fall in ``Odds``: that is added to it.
PAST = 2 * MAX_GAIN
_ROUNDS = 400
_SWEEPS = 30


@lru_cache(maxsize=64)
def race(rules: Rules) -> np.ndarray:
    """Chance that the side to move wins, by its own need and by the other side's.

    Returns:
        (needs, needs) float64, read-only; needs are in units of ``rules.score_unit`` and start at 0. With
        more than two sides the other one stands for the next opponent.
    """
    chance = np.zeros((_num_needs(rules),) * 2)
    _solve(chance, gain_frequencies(rules), rules.overshoot == "reject")
    chance.setflags(write=False)
    return chance


@lru_cache(maxsize=64)
def even_race(rules: Rules) -> np.ndarray:
    """A table like ``race`` in which every point is worth the same: what a player without an aim has."""
    needs = np.arange(_num_needs(rules))
    chance = 0.5 + (needs - needs[:, None]) / (2.0 * len(needs))
    chance.setflags(write=False)
    return chance


class Odds(NamedTuple):
    """A table of chances as compiled code reads it: by either side's need, a row at a time.

    Both are (needs, PAST + needs) float64, read-only. The second need may be as low as -PAST, after a score
    over the target; it is looked up at ``PAST + need``.
    """

    by_own: np.ndarray
    """By the need of the side to move, then by the other side's."""
    by_other: np.ndarray
    """By the other side's need, then by that of the side to move."""


@lru_cache(maxsize=64)
def odds(rules: Rules, aim: bool = True) -> Odds:
    """The chances of ``race``, or of ``even_race`` for a player without an aim."""
    chance = race(rules) if aim else even_race(rules)
    return Odds(_over_target(chance), _over_target(chance.T.copy()))


def _over_target(chance: np.ndarray) -> np.ndarray:
    """The table with columns for needs below 0, which are met as well as 0 is."""
    padded = np.pad(chance, [(0, 0), (PAST, 0)], mode="edge")
    padded.setflags(write=False)
    return padded


def gain_frequencies(rules: Rules) -> np.ndarray:
    """In which share of turns each gain is on offer, in rounds that greedy plays: (MAX_GAIN,) float64."""
    matches = np.zeros(_ROUNDS, MATCH)
    matches["rules"] = rules.record
    offered = np.zeros(MAX_GAIN)
    _count_offers(matches, rules.score_unit, offered)
    return offered


def _num_needs(rules: Rules) -> int:
    return -(-rules.target // rules.score_unit) + 1


@jit
def _count_offers(matches, unit, offered):
    turns = 0
    for i in range(matches.size):
        match = matches[i]
        begin(match, i)
        while True:
            gains = np.uint64(0)
            for end in range(match.rules.num_ends):
                tiles = playable(match, match.seat, end)
                while tiles:
                    tile = np.int64(lowest_bit(tiles))
                    tiles &= tiles - np.uint64(1)
                    gains |= tile_bit(accepted_points(match, tile, end) // unit)
            for gain in range(1, MAX_GAIN):
                offered[gain] += gains >> np.uint64(gain) & np.uint64(1)
            turns += 1
            if advance(match, greedy_action(match), True):
                break
    offered /= turns


@jit
def _solve(chance, offered, reject):
    """Fill the table by rising needs: a gain leads to pairs that are known, none to the same pair turned."""
    needs = chance.shape[0]
    chance[0, :] = 1.0
    chance[:, 0] = 0.0
    for total in range(2, 2 * needs - 1):
        for own in range(max(1, total - needs + 1), total // 2 + 1):
            other = total - own
            chance[own, other] = chance[other, own] = 0.5
            for _ in range(_SWEEPS):
                chance[own, other] = _best_turn(chance, offered, reject, own, other)
                chance[other, own] = _best_turn(chance, offered, reject, other, own)


@jit
def _best_turn(chance, offered, reject, own, other):
    """Chance of the side to move: the gains by falling worth, each taken where no better one is on offer."""
    nothing = 1.0 - chance[other, own]
    mean, none_better, above = 0.0, 1.0, np.inf
    while True:
        best, here = nothing, 1.0  # the best gain worth less than `above`; chance that it is not on offer
        for gain in range(1, MAX_GAIN):
            if offered[gain] == 0.0 or (reject and gain > own):
                continue
            worth = 1.0 - chance[other, own - gain] if gain < own else 1.0
            if best < worth < above:
                best, here = worth, 1.0 - offered[gain]
            elif worth == best and worth > nothing:
                here *= 1.0 - offered[gain]
        if best == nothing:
            return mean + none_better * nothing
        mean += none_better * (1.0 - here) * best
        none_better *= here
        above = best
