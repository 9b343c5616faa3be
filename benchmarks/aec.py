"""Steps/s of the AEC loop ``last()`` / choose from the mask / ``step()``, on one core.

    python -m benchmarks.aec

The same loop runs over an environment that does nothing, bare and in PettingZoo's order enforcing:
the room that is left for a game. Environments take turns, and the median of the rounds counts.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from gymnasium import spaces
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from benchmarks.compare.play import aec_loop
from fivesthrees_env import all_fives_v0, fives_and_threes_v0

ROUNDS = 9
SECONDS_PER_ROUND = 0.25


class DoNothing(AECEnv):
    """Two agents, constant arrays of our sizes, no game."""

    metadata: ClassVar[dict[str, Any]] = {"name": "do_nothing_v0", "render_modes": []}
    render_mode = None

    def __init__(self) -> None:
        super().__init__()
        self.possible_agents = ["player_0", "player_1"]
        mask = np.zeros(57, np.int8)
        mask[[3, 14, 31]] = 1
        self.constant = {"observation": np.zeros(354, np.int8), "action_mask": mask}

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Dict()

    def action_space(self, agent: str) -> spaces.Space[Any]:
        return spaces.Discrete(57)

    def reset(self, seed: int | None = None, options: dict[str, Any] | None = None) -> None:
        self.agents = self.possible_agents.copy()
        self.agent_selection = self.agents[0]
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos = {agent: {} for agent in self.agents}

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        return self.constant

    def step(self, action: int) -> None:
        pass


def contenders() -> dict[str, Callable[[], Any]]:
    made: dict[str, Callable[[], Any]] = {
        "nothing": DoNothing,
        "nothing, order enforced": lambda: OrderEnforcingWrapper(DoNothing()),
        "Fives and Threes, 4p, raw_env()": fives_and_threes_v0.raw_env,
        "Fives and Threes, 4p, env()": fives_and_threes_v0.env,
        "Fives and Threes, 2p, env()": lambda: fives_and_threes_v0.env(num_players=2),
        "All Fives, 4p, raw_env()": all_fives_v0.raw_env,
        "All Fives, 4p, env()": all_fives_v0.env,
    }
    try:
        from pettingzoo.classic import tictactoe_v3
    except ImportError as error:
        print(f"PettingZoo's tic-tac-toe cannot be imported: {error}", file=sys.stderr)
    else:
        made["PettingZoo tic-tac-toe, env()"] = tictactoe_v3.env
    return made


def steps_per_second(env: Any, steps: int, rng: np.random.Generator) -> float:
    """Steps/s of uniformly random legal play, the resets included."""
    start = time.perf_counter()
    aec_loop.play(env, steps, rng)
    return steps / (time.perf_counter() - start)


def measure() -> dict[str, float]:
    """Median steps/s of each contender."""
    rng = np.random.default_rng(0)
    envs = {name: make() for name, make in contenders().items()}
    steps = {}
    for name, env in envs.items():  # compile, and find out how many steps fill a round
        steps_per_second(env, 200, rng)
        steps[name] = int(SECONDS_PER_ROUND * steps_per_second(env, 2000, rng))
    speeds: dict[str, list[float]] = {name: [] for name in envs}
    for _ in range(ROUNDS):
        for name, env in envs.items():
            speeds[name].append(steps_per_second(env, steps[name], rng))
    return {name: statistics.median(values) for name, values in speeds.items()}


def main() -> None:
    speeds = measure()
    print(f"{'AEC loop, one core':<34}{'steps/s':>12}{'of nothing':>13}{'of enforced':>13}")
    for name, speed in speeds.items():
        bare, enforced = speed / speeds["nothing"], speed / speeds["nothing, order enforced"]
        print(f"{name:<34}{speed:>12,.0f}{bare:>12.2f}x{enforced:>12.2f}x")


if __name__ == "__main__":
    main()
