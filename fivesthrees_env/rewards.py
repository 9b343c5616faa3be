"""What an event is worth to each side: the three reward schemes, once for all environments.

| scheme | reward of a side for one event |
|---|---|
| ``"points"`` | the points that its score took |
| ``"margin"`` | the same, minus the mean of the other sides' (the sum over sides is zero) |
| ``"win"`` | nothing until the match is won; then +1 for the winner, −1/(sides−1) for the others |
"""

from __future__ import annotations

import numpy as np

from fivesthrees_env.kernel.jit import jit
from fivesthrees_env.kernel.record import BLOCKED
from fivesthrees_env.kernel.settle import side_of

__all__ = ["SCHEMES", "add_rewards", "check_scheme", "margins", "write_rewards"]

SCHEMES = ("points", "margin", "win")
POINTS, MARGIN, WIN = range(3)


def check_scheme(scheme: str) -> int:
    """The index of a scheme.

    Raises:
        ValueError: for any other name.
    """
    if scheme not in SCHEMES:
        raise ValueError(f"reward: {scheme!r} given; allowed: {', '.join(map(repr, SCHEMES))}")
    return SCHEMES.index(scheme)


def margins(points: np.ndarray) -> np.ndarray:
    """Points (..., sides) as margins: each side's minus the mean of the other sides'."""
    sides = points.shape[-1]
    return (sides * points - points.sum(-1, keepdims=True)) / (sides - 1)


@jit
def add_rewards(match, scheme, rewards, i):
    """Add what the latest event of a match is worth to row i of ``rewards`` (N, sides) of float32."""
    event, sides = match.event, match.rules.num_sides
    if scheme == WIN:
        if event.match_over:
            for side in range(sides):
                rewards[i, side] += 1.0 if side == match.winner else -1.0 / (sides - 1)
        return
    _add(rewards, i, sides, scheme, side_of(match, event.ply.seat), event.accepted)
    if event.round_end == BLOCKED and event.settled_side >= 0:
        _add(rewards, i, sides, scheme, event.settled_side, event.settlement)


@jit
def _add(rewards, i, sides, scheme, side, points):
    rewards[i, side] += points
    if scheme == MARGIN:
        for other in range(sides):
            if other != side:
                rewards[i, other] -= points / (sides - 1)


@jit
def write_rewards(matches, scheme, rewards):
    """Set ``rewards[i]`` (N, sides) to what the latest event of ``matches[i]`` is worth."""
    rewards[:] = 0.0
    for i in range(matches.size):
        add_rewards(matches[i], scheme, rewards, i)
