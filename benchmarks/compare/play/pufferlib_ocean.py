"""PufferLib's C environments through their Python class; actions are drawn beforehand, there is no mask."""

from __future__ import annotations

import clock
import numpy as np
from pufferlib.ocean.breakout.breakout import Breakout
from pufferlib.ocean.tetris.tetris import Tetris
from pufferlib.ocean.tripletriad.tripletriad import TripleTriad

DRAWN = 64

ENVIRONMENTS = {
    "triple_triad": lambda num_envs: TripleTriad(
        num_envs, report_interval=128
    ),  # its logs cost more than its steps
    "breakout": Breakout,
    "tetris": lambda num_envs: Tetris(num_envs, log_interval=128),
}


def prepare(game: str) -> clock.Loop:
    """``game`` is a name and a number of environments."""
    name, number = game.split()
    num_envs = int(number)
    envs = ENVIRONMENTS[name](num_envs)
    drawn = np.random.default_rng(0).integers(envs.single_action_space.n, size=(DRAWN, num_envs))
    drawn = drawn.astype(envs.actions.dtype)
    envs.reset(seed=0)

    def play(calls: int) -> None:
        for call in range(calls):
            envs.step(drawn[call % DRAWN])

    return clock.Loop(play, envs.observations[0].nbytes, 0, num_envs)


if __name__ == "__main__":
    clock.run(prepare)
