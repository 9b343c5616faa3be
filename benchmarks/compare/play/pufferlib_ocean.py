"""PufferLib's C environments through their Python class; actions are drawn beforehand, there is no mask."""

from __future__ import annotations

import clock
import numpy as np
from pufferlib.ocean.breakout.breakout import Breakout
from pufferlib.ocean.tetris.tetris import Tetris
from pufferlib.ocean.tripletriad.tripletriad import TripleTriad

NUM_ENVS = 4096
DRAWN = 64

ENVIRONMENTS = {
    "triple_triad": lambda: TripleTriad(NUM_ENVS, report_interval=128),  # its logs cost more than its steps
    "breakout": lambda: Breakout(NUM_ENVS),
    "tetris": lambda: Tetris(NUM_ENVS, log_interval=128),
}


def prepare(name: str) -> clock.Loop:
    envs = ENVIRONMENTS[name]()
    drawn = np.random.default_rng(0).integers(envs.single_action_space.n, size=(DRAWN, NUM_ENVS))
    drawn = drawn.astype(envs.actions.dtype)
    envs.reset(seed=0)

    def play(calls: int) -> None:
        for call in range(calls):
            envs.step(drawn[call % DRAWN])

    return clock.Loop(play, envs.observations[0].nbytes, 0, NUM_ENVS)


if __name__ == "__main__":
    clock.run(prepare)
