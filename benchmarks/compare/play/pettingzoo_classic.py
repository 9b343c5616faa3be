"""PettingZoo classic: ``env()`` through the AEC interface, the loop that ours goes through too."""

from __future__ import annotations

from importlib import import_module

import aec_loop
import clock
import numpy as np


def prepare(name: str) -> clock.Loop:
    env, rng = import_module(f"pettingzoo.classic.{name}").env(), np.random.default_rng(0)
    return clock.Loop(lambda calls: aec_loop.play(env, calls, rng), *aec_loop.row_bytes(env))


if __name__ == "__main__":
    clock.run(prepare)
