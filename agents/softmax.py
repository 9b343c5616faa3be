"""Softmax-greedy: greedy play with doubt, as probabilities; what may be supposed of an unknown seat."""

from __future__ import annotations

import numpy as np

from fivesthrees_env.kernel.jit import call, jit, lowest_bit
from fivesthrees_env.kernel.layout import playable
from fivesthrees_env.kernel.play import accepted_points, is_legal, only_action
from fivesthrees_env.kernel.record import MATCH, NONE
from fivesthrees_env.opponents import rules_of
from fivesthrees_env.tiles import PIPS

__all__ = ["SoftmaxGreedy"]


class SoftmaxGreedy:
    """P(action) is softmax(worth / temperature), mixed with a uniform choice.

    The worth of a placement is what greedy looks at: the points that the score takes, and pips, which
    decide between equal points.

    Args:
        temperature: in points; above 0. Small ones play as greedy does.
        pips: worth of one pip in points.
        doubt: share of the uniform choice, 0 to 1: how far the rest is mistrusted.
    """

    name = "softmax-greedy"

    def __init__(self, temperature: float = 0.5, pips: float = 0.1, doubt: float = 0.1) -> None:
        if not temperature > 0:
            raise ValueError(f"temperature: {temperature} given; allowed: above 0")
        if not 0 <= doubt <= 1:
            raise ValueError(f"doubt: {doubt} given; allowed: 0 to 1")
        self.temperature, self.pips, self.doubt = float(temperature), float(pips), float(doubt)

    def __call__(self, views: np.ndarray) -> np.ndarray:
        """Probabilities of all actions of the seat to move, for views (N,): (N, actions) float64."""
        actions = rules_of(views).num_actions if len(views) else 1
        chances = np.zeros((len(views), actions))
        _write_chances(views, self.temperature, self.pips, self.doubt, chances)
        return chances

    def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See ``Agent.act``: drawn from these probabilities."""
        limits = self(views).cumsum(1)
        return (limits <= (rng.random(len(views)) * limits[:, -1])[:, None]).sum(1)


@jit
def placement_worth(match, tile, end, pips):
    """What greedy looks at, in points."""
    return accepted_points(match, tile, end) + pips * PIPS[tile]


@call
def softmax_chance(match, action, temperature, pips, doubt):
    """The probability of one legal action of the seat to move."""
    if only_action(match) != NONE:
        return 1.0
    count, total, chosen, highest = 0, 0.0, 0.0, -np.inf
    for end in range(match.rules.num_ends):
        tiles = playable(match, match.seat, end)
        while tiles:
            tile = np.int64(lowest_bit(tiles))
            tiles &= tiles - np.uint64(1)
            worth = placement_worth(match, tile, end, pips) / temperature
            if worth > highest:  # weights are relative to the highest worth: none overflows
                scale = np.exp(highest - worth)
                total, chosen, highest = total * scale, chosen * scale, worth
            weight = np.exp(worth - highest)
            total += weight
            count += 1
            if end * np.int64(match.rules.num_tiles) + tile == action:
                chosen = weight
    return (1 - doubt) * chosen / total + doubt / count


@jit
def _write_chances(views, temperature, pips, doubt, chances):
    scratch = np.empty(1, MATCH)
    for i in range(views.size):
        scratch[0] = views[i]  # looking ahead lays tiles for a moment
        forced = only_action(scratch[0])
        for action in range(chances.shape[1]):
            if action == forced:
                chances[i, action] = 1.0
            elif forced == NONE and is_legal(scratch[0], action):
                chances[i, action] = softmax_chance(scratch[0], action, temperature, pips, doubt)
