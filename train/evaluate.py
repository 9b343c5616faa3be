"""Who plays better? Duplicate rounds and whole matches, with 95 % intervals.

    python -m train.evaluate greedy random
    python -m train.evaluate runs/fives_and_threes-4p-seed1 greedy --deals 5000 --matches 2000

**Duplicate rounds**: every deal is played with the agents exchanged through all sides and with the lead
through all seats, so that good hands and the lead favour nobody; what is left is play. The
result is the mean margin, in points per round: a side of the first agent minus a side of the second.

**Whole matches**: every seed is played with the agents exchanged through all sides; the result is the share
of matches that the first agent's side wins. Equal agents get 0 points and 50 %.

Intervals treat all games of one deal or seed as one observation, since they share their luck.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import product
from typing import Any

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

import agents
from fivesthrees_env.opponents import Agent
from fivesthrees_env.rules import Rules
from train.arena import deal_rounds, new_matches, play_out

__all__ = [
    "CURVE_SEED",
    "EVALUATION_SEED",
    "Estimate",
    "compare",
    "duplicate_rounds",
    "evaluation_seeds",
    "exchanges",
    "results_table",
    "whole_matches",
]

#: Seeds of evaluation deals start here; training deals from below (see ppo.py), so the two never meet.
EVALUATION_SEED = 2**40
#: Number of the deals that learning curves are drawn with; final measurements take others.
CURVE_SEED = 2**16

_SUMMARY = "Who plays better? Duplicate rounds and whole matches, with 95 % intervals."

_Z = 1.959964  # 97.5 % point of the normal distribution


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float
    games: int
    """Rounds or matches played."""
    clusters: int
    """Deals or seeds: independent observations."""

    def as_json(self) -> dict[str, float | None]:
        """As JSON types: an unbounded interval is null."""
        return {k: v if math.isfinite(v) else None for k, v in asdict(self).items()}

    @classmethod
    def of_mean(cls, per_cluster: np.ndarray, games: int) -> Estimate:
        """The normal interval of a mean over independent clusters: (clusters,) float."""
        mean, half = float(per_cluster.mean()), _Z * _standard_error(per_cluster)
        return cls(mean, mean - half, mean + half, games, len(per_cluster))

    @classmethod
    def of_share(cls, per_cluster: np.ndarray, games: int) -> Estimate:
        """Wilson's interval (1927) of a share, with the sample size that the clusters are worth."""
        p, error = float(per_cluster.mean()), _standard_error(per_cluster)
        n = p * (1 - p) / error**2 if 0 < error < math.inf else len(per_cluster)
        centre = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        half = _Z / (1 + _Z**2 / n) * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n * n))
        return cls(p, max(centre - half, 0.0), min(centre + half, 1.0), games, len(per_cluster))


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.inf


def exchanges(rules: Rules) -> np.ndarray:
    """All ways to give the sides to agent 0 and agent 1, each with at least one: (ways, players) int."""
    ways = [w for w in product((0, 1), repeat=rules.num_sides) if 0 < sum(w) < len(w)]
    return np.array([[w[rules.side_of(s)] for s in range(rules.num_players)] for w in ways])


def evaluation_seeds(count: int, seed: int) -> np.ndarray:
    """Seeds of the deals of an evaluation: (count,) int64; another `seed` gives others.

    Raises:
        ValueError: if there are no deals, or no such seeds.
    """
    if not 1 <= count <= 2**32:
        raise ValueError(f"deals, matches: {count} given; allowed: 1 to {2**32}")
    if not 0 <= seed < 2**30:
        raise ValueError(f"seed: {seed} given; allowed: 0 to {2**30 - 1}")
    return EVALUATION_SEED + seed * 2**32 + np.arange(count)


def duplicate_rounds(first: Agent, second: Agent, rules: Rules, deals: int, seed: int = 0) -> Estimate:
    """Mean margin of the first agent in points per round, over exchanged sides and leads.

    Args:
        first: an agent; the result is from its point of view.
        second: the agent that it is measured against.
        rules: what is played.
        deals: number of deals; each is played ``len(exchanges(rules)) * rules.num_players`` times.
        seed: another number takes other deals.
    """
    seating = exchanges(rules)
    leads = range(rules.num_players) if rules.lead_first == "lot" else range(1)
    way, lead = (np.array(x) for x in zip(*product(range(len(seating)), leads), strict=True))
    seeds = evaluation_seeds(deals, seed)
    matches = deal_rounds(rules, np.repeat(seeds, len(way)), np.tile(lead, deals))
    seats = seating[np.tile(way, deals)]
    play_out(matches, [first, second], seats, np.random.default_rng(seed), one_round=True)
    sides = seats[:, : rules.num_sides]
    scores = matches["scores"][:, : rules.num_sides].astype(np.float64)
    mine = np.where(sides == 0, scores, 0.0).sum(1) / (sides == 0).sum(1)
    theirs = np.where(sides == 1, scores, 0.0).sum(1) / (sides == 1).sum(1)
    return Estimate.of_mean((mine - theirs).reshape(deals, -1).mean(1), len(matches))


def whole_matches(first: Agent, second: Agent, rules: Rules, matches: int, seed: int = 0) -> Estimate:
    """Share of matches that the first agent's side wins, over exchanged sides.

    Args:
        first: an agent; the result is from its point of view.
        second: the agent that it is measured against.
        rules: what is played.
        matches: about how many; rounded up to whole exchanges.
        seed: another number takes other deals.
    """
    seating = exchanges(rules)
    seeds = evaluation_seeds(-(-matches // len(seating)), seed)
    batch = new_matches(rules, np.repeat(seeds, len(seating)))
    seats = np.tile(seating, (len(seeds), 1))
    play_out(batch, [first, second], seats, np.random.default_rng(seed))
    won = seats[np.arange(len(batch)), batch["winner"]] == 0
    return Estimate.of_share(won.reshape(len(seeds), -1).mean(1), len(batch))


def results_table(results: Sequence[dict[str, Any]], title: str) -> Table:
    """A printable table of results: dicts with first, second, rounds and matches (estimates)."""
    games = " and ".join(f"{results[0][what].games:,} {what}" for what in ("rounds", "matches"))
    table = Table(title=f"{title}, {games} each", title_justify="left")
    for name in ("agent", "against", "points per round", "matches won"):
        left = name in ("agent", "against")
        table.add_column(name, justify="left" if left else "right", overflow="fold")
    for result in results:
        rounds, matches = result["rounds"], result["matches"]
        table.add_row(
            result["first"],
            result["second"],
            f"{rounds.mean:+.2f} ± {rounds.high - rounds.mean:.2f}",
            f"{matches.mean:.1%} ({100 * matches.low:.1f}–{100 * matches.high:.1f})",
        )
    return table


def compare(
    first: Agent | str,
    second: Agent | str,
    rules: Rules | str,
    deals: int = 1000,
    matches: int = 1000,
    seed: int = 0,
) -> dict[str, Any]:
    """Both measurements of a pair of agents, each an ``Agent`` or what ``agents.load`` takes."""
    first, second = (agents.load(a) if isinstance(a, str) else a for a in (first, second))
    rules = Rules.coerce(rules)
    return {
        "first": first.name,
        "second": second.name,
        "rounds": duplicate_rounds(first, second, rules, deals, seed),
        "matches": whole_matches(first, second, rules, matches, seed),
    }


@dataclass
class Args:
    """Arguments of an evaluation."""

    first: tyro.conf.Positional[str]
    """An agent: a name (random, greedy, smart-greedy, expert) or the path of a checkpoint or run."""
    second: tyro.conf.Positional[str]
    """The agent to measure it against."""
    rules: str | None = None
    """A preset's name; default: what a trained agent of the two was trained for, else four in pairs."""
    deals: int = 1000
    """Deals for duplicate rounds."""
    matches: int = 1000
    """Whole matches."""
    seed: int = 0
    """Another number takes other deals."""
    json: bool = False
    """Print JSON instead of a table."""


def main(args: Args) -> None:
    """Load both agents, measure, print."""
    first, second = agents.load(args.first), agents.load(args.second)
    rules = _rules_for(args.rules, first, second)
    result = compare(first, second, rules, args.deals, args.matches, args.seed)
    if args.json:
        plain = {k: v.as_json() if isinstance(v, Estimate) else v for k, v in result.items()}
        print(json.dumps({"rules": str(rules), "seed": args.seed, **plain}))
    else:
        Console().print(results_table([result], f"{rules}, 95 % intervals"))


def _rules_for(name: str | None, *players: Agent) -> Rules:
    if name is not None:
        return Rules.preset(name)
    trained = [agent.rules for agent in players if hasattr(agent, "rules")]
    return trained[0] if trained else Rules()


if __name__ == "__main__":
    try:
        main(tyro.cli(Args, prog="python -m train.evaluate", description=_SUMMARY))
    except (ValueError, OSError) as error:  # no such agent, a checkpoint that does not fit, ...
        sys.exit(f"train.evaluate: {error}")
