"""EnvPool: many environments in one call, synchronous, on one thread.

Board and card games show every player an observation after each step. Where there is no mask, the actions are
drawn beforehand.
"""

from __future__ import annotations

import choice
import clock
import envpool
import numpy as np

NUM_ENVS = 4096
DRAWN = 64


def prepare(name: str) -> clock.Loop:
    envs = envpool.make(name, env_type="gymnasium", num_envs=NUM_ENVS, num_threads=1, seed=0)
    rng = np.random.default_rng(0)
    observations, infos = envs.reset()
    masks = infos.get("legal_action_mask")
    drawn = rng.integers(envs.action_space.n, size=(DRAWN, NUM_ENVS), dtype=np.int32)

    def play_legally(calls: int) -> None:
        nonlocal masks
        for _ in range(calls):
            masks = envs.step(choice.legal(masks, rng))[-1]["legal_action_mask"]

    def play_drawn(calls: int) -> None:
        for call in range(calls):
            envs.step(drawn[call % DRAWN])

    if masks is None:
        return clock.Loop(play_drawn, observations.nbytes // NUM_ENVS, 0, NUM_ENVS)
    return clock.Loop(play_legally, observations.nbytes // NUM_ENVS, masks[0].nbytes, NUM_ENVS)


if __name__ == "__main__":
    clock.run(prepare)
