"""EnvPool: many environments in one call, synchronous, on one thread.

Board and card games show every player an observation after each step. Where there is no mask, the actions are
drawn beforehand.
"""

from __future__ import annotations

import choice
import clock
import envpool
import numpy as np

DRAWN = 64


def prepare(game: str) -> clock.Loop:
    """``game`` is a name and a number of environments."""
    name, number = game.split()
    num_envs = int(number)
    envs = envpool.make(name, env_type="gymnasium", num_envs=num_envs, num_threads=1, seed=0)
    rng = np.random.default_rng(0)
    observations, infos = envs.reset()
    masks = infos.get("legal_action_mask")
    drawn = rng.integers(envs.action_space.n, size=(DRAWN, num_envs), dtype=np.int32)

    def play_legally(calls: int) -> None:
        nonlocal masks
        for _ in range(calls):
            masks = envs.step(choice.legal(masks, rng))[-1]["legal_action_mask"]

    def play_drawn(calls: int) -> None:
        for call in range(calls):
            envs.step(drawn[call % DRAWN])

    if masks is None:
        return clock.Loop(play_drawn, observations.nbytes // num_envs, 0, num_envs)
    return clock.Loop(play_legally, observations.nbytes // num_envs, masks[0].nbytes, num_envs)


if __name__ == "__main__":
    clock.run(prepare)
