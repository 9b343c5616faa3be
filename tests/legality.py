"""Every agent on random states of every preset: it chooses what is legal, and leaves what it is given alone.

The tests ask the quick agents 10,000 times in every preset, and those that search less often. For all alike:

    python -m tests.legality --states 10000
    python -m tests.legality --states 10000 --agents rollout oracle --presets fives_and_threes-4p mini-3
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import numpy as np

import agents
from agents.ismcts import IsmctsAgent
from agents.oracle import OracleAgent
from agents.pimc import PimcAgent
from agents.rollout import RolloutAgent
from agents.scripted import ExpertAgent, Lore, SmartGreedyAgent
from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.kernel.record import MATCH
from fivesthrees_env.opponents import Agent, action_masks
from fivesthrees_env.rules import Rules
from fivesthrees_env.views import redact_many

#: The agents that need microseconds for a move, and two more of their settings.
QUICK: dict[str, Callable[[], Agent]] = {
    "random": lambda: agents.load("random"),
    "greedy": lambda: agents.load("greedy"),
    "smart-greedy": lambda: agents.load("smart-greedy"),
    "smart-greedy, expected": lambda: SmartGreedyAgent("expected"),
    "expert": lambda: agents.load("expert"),
    "expert, all rules on": lambda: ExpertAgent(**dict.fromkeys(Lore._fields, True)),
}
#: Those that search, with settings that make them fast and weak.
SEARCHING: dict[str, Callable[[], Agent]] = {
    "rollout": lambda: RolloutAgent(samples=50, pool=2),
    "ismcts": lambda: IsmctsAgent(iterations=40, pool=2),
    "pimc": lambda: PimcAgent(samples=3, most_plies=500),
    "oracle": lambda: OracleAgent(most_plies=500),
}
EVERYBODY = QUICK | SEARCHING

#: States that are asked about in one call, at most.
AT_ONCE = 500


class Misplay(AssertionError):
    """An agent did what it may not; says which agent, where, and what."""


def choose(agent: Agent, matches: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What an agent does in a batch of matches, from views or by the oracle's door.

    Raises:
        Misplay: if it changes what it was given, or its answer is not a whole number for each match.
    """
    if isinstance(agent, OracleAgent):
        act, given = agent.act_on_matches, _copy(matches)
    else:
        act, given = agent.act, np.zeros(len(matches), MATCH)
        redact_many(given, matches, matches["seat"])
    before = given.tobytes()
    actions = act(given, rng)
    if given.tobytes() != before:
        raise Misplay(f"{agent.name} has changed what it was given")
    if actions.shape != (len(matches),) or actions.dtype != np.int64:
        raise Misplay(f"{agent.name} answers {actions.dtype} of shape {actions.shape}")
    return actions


def random_states(rules: Rules, count: int, seed: int) -> Iterator[np.ndarray]:
    """So many states of random play, a few plies apart, from first leads on, in arrays of matches."""
    size = min(AT_ONCE, max(count // 20, 1))
    batch, rng = MatchBatch(size, rules, seed=seed), np.random.default_rng(seed)
    for first in range(0, count, size):
        yield _copy(batch.matches[: count - first])
        for _ in range(rng.integers(1, 8)):
            batch.step(batch.random_actions(rng))


def check(players: Sequence[Agent], rules: Rules, states: int, seed: int = 0) -> None:
    """Ask agents in random states, the same for all of them.

    Raises:
        Misplay: if a choice is not legal, or an agent does anything else that it may not.
    """
    rng = np.random.default_rng(seed)
    for matches in random_states(rules, states, seed):
        masks = action_masks(matches) == 1
        for agent in players:
            actions = choose(agent, matches, rng)
            legal = (actions >= 0) & (actions < rules.num_actions)
            legal[legal] = masks[legal, actions[legal]]
            if not legal.all():
                i = legal.argmin()
                allowed = ", ".join(map(str, np.flatnonzero(masks[i])))
                raise Misplay(f"{agent.name} chose {actions[i]} in {rules}; allowed: {allowed}")


def _copy(matches: np.ndarray) -> np.ndarray:
    """Byte by byte: NumPy's own copy of records goes field by field."""
    return np.frombuffer(bytearray(matches.tobytes()), MATCH)


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Ask every agent in random states of every preset.")
    parser.add_argument("--states", type=int, default=10_000, help="per agent and preset")
    parser.add_argument("--agents", nargs="+", default=list(EVERYBODY), choices=EVERYBODY)
    parser.add_argument("--presets", nargs="+", default=list(Rules.presets()), choices=Rules.presets())
    parser.add_argument("--seed", type=int, default=0, help="of the states")
    args = parser.parse_args()
    players = [EVERYBODY[name]() for name in args.agents]
    for preset in args.presets:
        start = time.monotonic()
        try:
            check(players, Rules.preset(preset), args.states, args.seed)
        except Misplay as misplay:
            print(misplay)
            return 1
        print(f"{preset}: {args.states:,} states in {time.monotonic() - start:.0f} s", flush=True)
    print(f"never an illegal move by {', '.join(args.agents)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
