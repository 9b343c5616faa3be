"""Random legal play through PettingZoo's AEC interface; the same loop for every environment that has it."""

from __future__ import annotations

from typing import Any

import numpy as np


def play(env: Any, steps: int, rng: np.random.Generator) -> None:
    """Make uniformly random legal steps: ``last()``, choose from the mask, ``step()``; resets come on top."""
    numbers = iter(rng.random(steps).tolist())
    left = steps
    env.reset(seed=0)
    while left:
        observation, _, terminated, truncated, _ = env.last()
        if terminated or truncated:
            env.reset()
            continue
        legal = np.flatnonzero(observation["action_mask"])
        env.step(legal[int(next(numbers) * legal.size)])
        left -= 1


def row_bytes(env: Any) -> tuple[int, int]:
    """Bytes of the observation and of the mask of the agent to move."""
    env.reset(seed=0)
    observation = env.last()[0]
    return observation["observation"].nbytes, observation["action_mask"].nbytes
