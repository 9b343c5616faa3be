"""Our environments: ``MatchBatch``, PettingZoo, Gymnasium."""

from __future__ import annotations

import time
from collections.abc import Callable

import aec_loop
import choice
import clock
import gymnasium
import numpy as np

from fivesthrees_env import MatchBatch, all_fives_v0, fives_and_threes_v0

NUM_MATCHES = 4096


def batch(rules: str) -> clock.Loop:
    """Random legal choice and step."""
    matches, rng = MatchBatch(NUM_MATCHES, rules, seed=0), np.random.default_rng(0)

    def play(calls: int) -> None:
        for _ in range(calls):
            matches.step(matches.random_actions(rng))

    return clock.Loop(play, matches.layout.size, matches.rules.num_actions, NUM_MATCHES)


def given(rules: str) -> clock.Loop:
    """The same play, but only the steps count: what is left when somebody else chooses."""
    matches, rng = MatchBatch(NUM_MATCHES, rules, seed=0), np.random.default_rng(0)

    def play(calls: int) -> float:
        spent = 0.0
        for _ in range(calls):
            actions = matches.random_actions(rng)
            started = time.perf_counter()
            matches.step(actions)
            spent += time.perf_counter() - started
        return spent

    return clock.Loop(play, matches.layout.size, matches.rules.num_actions, NUM_MATCHES)


def aec(make: Callable) -> clock.Loop:
    env, rng = make(), np.random.default_rng(0)
    return clock.Loop(lambda calls: aec_loop.play(env, calls, rng), *aec_loop.row_bytes(env))


def single() -> clock.Loop:
    """One learner; partner and opponents are greedy and play inside the step."""
    env, rng = gymnasium.make("fivesthrees/FivesAndThrees-v0", opponents="greedy"), np.random.default_rng(0)
    observation, info = env.reset(seed=0)
    sizes = observation.nbytes, info["action_mask"].nbytes

    def play(calls: int) -> None:
        mask = env.reset()[1]["action_mask"]
        for number in rng.random(calls).tolist():
            legal = np.flatnonzero(mask)
            _, _, terminated, truncated, info = env.step(legal[int(number * legal.size)])
            if terminated or truncated:
                info = env.reset()[1]
            mask = info["action_mask"]

    return clock.Loop(play, *sizes)


def vector() -> clock.Loop:
    """The same, many side by side; only the steps count, since NumPy chooses more slowly than they run."""
    envs = gymnasium.make_vec("fivesthrees/FivesAndThrees-v0", num_envs=NUM_MATCHES, opponents="greedy")
    rng = np.random.default_rng(0)
    observations, infos = envs.reset(seed=0)
    masks = infos["action_mask"]
    sizes = observations[0].nbytes, masks[0].nbytes

    def play(calls: int) -> float:
        nonlocal masks
        spent = 0.0
        for _ in range(calls):
            actions = choice.legal(masks, rng)
            started = time.perf_counter()
            masks = envs.step(actions)[-1]["action_mask"]
            spent += time.perf_counter() - started
        return spent

    return clock.Loop(play, *sizes, NUM_MATCHES)


GAMES: dict[str, Callable[[], clock.Loop]] = {
    "batch fives_and_threes-4p": lambda: batch("fives_and_threes-4p"),
    "batch fives_and_threes-2p": lambda: batch("fives_and_threes-2p"),
    "batch all_fives-4p": lambda: batch("all_fives-4p"),
    "batch all_fives-2p": lambda: batch("all_fives-2p"),
    "given fives_and_threes-4p": lambda: given("fives_and_threes-4p"),
    "given all_fives-4p": lambda: given("all_fives-4p"),
    "aec fives_and_threes env": lambda: aec(fives_and_threes_v0.env),
    "aec fives_and_threes raw_env": lambda: aec(fives_and_threes_v0.raw_env),
    "aec all_fives env": lambda: aec(all_fives_v0.env),
    "gym single": single,
    "gym vector": vector,
}

if __name__ == "__main__":
    clock.run(lambda game: GAMES[game]())
