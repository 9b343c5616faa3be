"""RLCard: ``env.step(action)``; the state has the observation and the legal actions as ids, not as a mask."""

from __future__ import annotations

import random

import clock
import rlcard


def prepare(name: str) -> clock.Loop:
    env, rng = rlcard.make(name, config={"seed": 0}), random.Random(0)
    state, _ = env.reset()

    def play(calls: int) -> None:
        state, _ = env.reset()
        for _ in range(calls):
            legal = list(state["legal_actions"])
            state, _ = env.step(legal[int(rng.random() * len(legal))])
            if env.is_over():
                state, _ = env.reset()

    return clock.Loop(play, state["obs"].nbytes, 0)


if __name__ == "__main__":
    clock.run(prepare)
