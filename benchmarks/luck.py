"""How many deals the evaluation saves: exchanges, the luck of deals, and what is of no use.

    python -m benchmarks.luck
    python -m benchmarks.luck --rules fives_and_threes-2p --agents expert greedy

A factor of 2 means: half the matches give the same interval.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import tyro

from fivesthrees_env.opponents import GreedyAgent
from fivesthrees_env.rules import Rules
from train.arena import deal_rounds, play_out
from train.contest import Contest, Team, measure
from train.deals import DealSet
from train.estimates import Estimate, variance_factor, without_luck


@dataclass
class Args:
    agents: tuple[str, str] = ("greedy", "benchmarks.luck:Careless")
    """Two agents, or pairs a+b."""
    rules: str = "fives_and_threes-4p"
    deals: int = 1000
    seed: int = 7


class Careless:
    """Greedy, but for one in twenty actions, which is random: nearly as strong."""

    name = "careless"

    def act(self, views, rng):
        from fivesthrees_env.opponents import random_actions

        careless = rng.random(len(views)) < 0.05
        return np.where(careless, random_actions(views, rng), GreedyAgent().act(views, rng))


@dataclass
class Stakes:
    """What can be said of a deal that favours no side: (deals,) arrays, centred."""

    deals: DealSet
    names: tuple[str, ...] = field(default=("points", "spread", "length"), init=False)

    def covariates(self) -> np.ndarray:
        rules, count = self.deals.rules, self.deals.size
        leads = rules.num_players
        rounds = deal_rounds(rules, np.repeat(self.deals.seeds, leads), np.tile(np.arange(leads), count))
        seats = np.zeros((len(rounds), rules.num_players), int)
        play_out(rounds, [GreedyAgent()], seats, np.random.default_rng(0), one_round=True)
        points = rounds["scores"][:, : rules.num_sides].astype(float)
        found = [points.sum(1), np.ptp(points, axis=1), rounds["num_plies"].astype(float)]
        table = np.stack(found, 1).reshape(count, leads, -1).mean(1)
        return table - table.mean(0)


def main(args: Args) -> None:
    rules = Rules.preset(args.rules)
    deals = DealSet(rules, args.seed, args.deals)
    first, second = (Team.of(name, rules) for name in args.agents)
    contest = Contest(first, second, deals)
    print(f"{first.name} against {second.name}, {deals}, hash {deals.hash}")

    values, luck = measure(contest, "matches").T
    games = contest.games("matches")
    share = float(values.mean())
    alone = share * (1 - share) / games
    print(f"matches won {share:.1%}; mean luck {Estimate.by_bootstrap(luck, 1)}")
    print(f"  exchanges of sides          x{alone / values.var():.2f}")
    print(f"  luck of deals taken out     x{variance_factor(values, without_luck(values, luck)):.2f}")
    print(f"  the same with the slope 1   x{variance_factor(values, values - luck):.2f}")

    margin = measure(contest, "rounds")[:, 0]
    stakes = Stakes(deals)
    for name, covariate in zip(stakes.names, stakes.covariates().T, strict=True):
        correlation = np.corrcoef(margin, covariate)[0, 1]
        print(f"duplicate rounds, {name:>7} of the deal x{1 / (1 - correlation**2):.3f} at most")


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
