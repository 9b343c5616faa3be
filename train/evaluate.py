"""Who plays better? Duplicate rounds and whole matches, with 95 % intervals.

    python -m train.evaluate greedy random
    python -m train.evaluate runs/fives_and_threes-4p-seed1 greedy --deals 5000 --matches 2000
    python -m train.evaluate expert greedy --matches 100000 --width 0.02
    python -m train.evaluate expert+greedy greedy

**Duplicate rounds**: every deal is played with the agents exchanged through all sides and with the lead
through all seats, so that good hands and the lead favour nobody; what is left is play. The
result is the mean margin, in points per round: a side of the first agent minus a side of the second.

**Equity per round**: the same, from start scores of real matches; the result is what a round of a side of
the first agent adds to its probability of winning the match.

**Whole matches**: every seed is played with the agents exchanged through all sides; the result is the share
of matches that the first agent's side wins. Equal agents get 0 points and 50 %. **Less luck** is the same
share without the luck of the deals: unbiased too, and with a narrower interval; the factor says how many
times more matches would do as much.

Intervals treat all games of one deal or seed as one observation, since they share their luck. The deal set is
printed with its hash; ``--hash`` refuses to measure on another. docs/evaluation.md tells more.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import tyro
from rich.console import Console, Group
from rich.jupyter import JupyterMixin
from rich.table import Table
from rich.text import Text

from fivesthrees_env.opponents import Agent
from fivesthrees_env.rules import Rules
from train.contest import (
    Contest,
    Team,
    equity_of,
    estimate,
    exchanges,
    less_luck,
    measure,
    rules_for,
    seeds_for,
)
from train.deals import CURVE_SEED, EVALUATION_SEED, DealSet, evaluation_seeds
from train.estimates import Estimate, variance_factor, without_luck

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

_SUMMARY = "Who plays better? Duplicate rounds and whole matches, with 95 % intervals."


def duplicate_rounds(first: Agent, second: Agent, rules: Rules, deals: int, seed: int = 0) -> Estimate:
    """Mean margin of the first agent in points per round, over exchanged sides and leads.

    Args:
        first: an agent; the result is from its point of view.
        second: the agent that it is measured against.
        rules: what is played.
        deals: number of deals; each is played ``len(exchanges(rules)) * rules.num_players`` times.
        seed: another number takes other deals.
    """
    contest = Contest(Team.of(first, rules), Team.of(second, rules), DealSet(rules, seed, deals))
    return estimate(contest, "rounds", measure(contest, "rounds"))


def whole_matches(first: Agent, second: Agent, rules: Rules, matches: int, seed: int = 0) -> Estimate:
    """Share of matches that the first agent's side wins, over exchanged sides.

    Args:
        first: an agent; the result is from its point of view.
        second: the agent that it is measured against.
        rules: what is played.
        matches: about how many; rounded up to whole exchanges.
        seed: another number takes other deals.
    """
    teams = Team.of(first, rules), Team.of(second, rules)
    contest = Contest(*teams, DealSet(rules, seed, seeds_for(matches, *teams, rules)))
    return estimate(contest, "matches", measure(contest, "matches"))


class _Printable(Group, JupyterMixin):
    """Lines and tables that a notebook shows as a terminal does."""


def results_table(results: Sequence[dict[str, Any]], title: str) -> Group:
    """A printable table of results of ``compare``, all on the same deals."""
    rounds, matches = results[0]["rounds"], results[0]["matches"]
    title = f"{title}, {rounds.games:,} rounds and {matches.games:,} matches each"
    table = Table("figure")
    for result in results:
        table.add_column(f"{result['first']} against {result['second']}", justify="right", overflow="fold")
    for figure, label in _LABELS.items():
        if results[0][figure] is not None:
            table.add_row(label, *(_cell(figure, result) for result in results))
    return _Printable(Text(title), table, Text(results[0]["deals"]["text"]))


_LABELS = {
    "rounds": "points per round",
    "swing": "equity per round",
    "matches": "matches won",
    "less_luck": "less luck",
}


def _cell(figure: str, result: dict[str, Any]) -> str:
    value = result[figure]
    if figure == "rounds":
        return f"{value.mean:+.2f} ± {value.width / 2:.2f}"
    if figure == "swing":
        return f"{100 * value.mean:+.2f} ± {50 * value.width:.2f} %"
    interval = f"{value.mean:.1%} ({100 * value.low:.1f}–{100 * value.high:.1f})"
    return interval if figure == "matches" else f"{interval} ×{result['factor']:.1f}"


def compare(
    first: Agent | str | Team,
    second: Agent | str | Team,
    rules: Rules | str,
    deals: int = 1000,
    matches: int = 1000,
    seed: int = 0,
    *,
    wanted_hash: str | None = None,
    width: float | None = None,
    rounds_width: float | None = None,
    swing_width: float | None = None,
) -> dict[str, Any]:
    """All measurements of a pair of agents or teams.

    Args:
        first: an ``Agent``, a ``Team``, or what ``Team.of`` takes; results are from its point of view.
        second: who it is measured against.
        rules: what is played.
        deals: duplicate rounds are played on so many.
        matches: about so many whole matches; rounded up to whole exchanges.
        seed: number of the deal set.
        wanted_hash: refuse to measure on a deal set with another hash.
        width: stop the whole matches when the interval of their share (less luck) is that wide, from low
            to high.
        rounds_width: the same for points per round.
        swing_width: the same for equity per round.

    Returns:
        ``first``, ``second`` (names), ``rounds``, ``swing``, ``matches``, ``less_luck`` (an ``Estimate``
        each, or None without an equity table of the game), ``factor`` (matches that one match less luck is
        worth), ``deals`` (number, size and hash of the deal set, and its text).

    Raises:
        ValueError: for impossible numbers, agents that do not exist, or another hash.
    """
    rules = Rules.coerce(rules)
    teams = Team.of(first, rules), Team.of(second, rules)
    seeds = seeds_for(matches, *teams, rules)
    on_deals, on_seeds = (Contest(*teams, DealSet(rules, seed, size)) for size in (deals, seeds))
    for name, wanted in (("width", width), ("rounds_width", rounds_width), ("swing_width", swing_width)):
        if wanted is not None and not wanted > 0:
            raise ValueError(f"{name}: {wanted} given; allowed: more than 0")
    whole = max(on_deals.deals, on_seeds.deals, key=lambda deal_set: deal_set.size)
    whole.check(wanted_hash)
    played = measure(on_seeds, "matches", width)
    known = equity_of(rules) is not None
    swing = measure(on_deals, "swing", swing_width) if known else None
    return {
        "first": teams[0].name,
        "second": teams[1].name,
        "rounds": estimate(on_deals, "rounds", measure(on_deals, "rounds", rounds_width)),
        "swing": None if swing is None else estimate(on_deals, "swing", swing),
        "matches": estimate(on_seeds, "matches", played),
        "less_luck": less_luck(on_seeds, played) if known else None,
        "factor": variance_factor(played[:, 0], without_luck(played[:, 0], played[:, 1])),
        "deals": {**whole.about, "text": f"{whole}, hash {whole.hash}"},
    }


@dataclass
class Args:
    """Arguments of an evaluation."""

    first: tyro.conf.Positional[str]
    """An agent: a name (random, greedy, ...), the path of a checkpoint or run, module:Class, or a+b."""
    second: tyro.conf.Positional[str]
    """The agent to measure it against."""
    rules: str | None = None
    """A preset's name; default: what a trained agent of the two was trained for, else four in pairs."""
    deals: int = 1000
    """Deals for duplicate rounds (at most, with --rounds-width or --swing-width)."""
    matches: int = 1000
    """Whole matches (at most, with --width)."""
    seed: int = 0
    """Number of the deal set; another takes other deals."""
    hash: str | None = None
    """Refuse a deal set with another hash than this one."""
    width: float | None = None
    """Stop the matches when the interval of their share is that wide: 0.02 for ± 1 %."""
    rounds_width: float | None = None
    """Stop the duplicate rounds when the interval of points per round is that wide."""
    swing_width: float | None = None
    """The same for equity per round."""
    json: bool = False
    """Print JSON instead of a table."""


def main(args: Args) -> None:
    """Load both agents, measure, print."""
    rules = rules_for(args.rules, [args.first, args.second])
    result = compare(
        args.first,
        args.second,
        rules,
        args.deals,
        args.matches,
        args.seed,
        wanted_hash=args.hash,
        width=args.width,
        rounds_width=args.rounds_width,
        swing_width=args.swing_width,
    )
    if args.json:
        plain = {k: v.as_json() if isinstance(v, Estimate) else v for k, v in result.items()}
        print(json.dumps({"rules": str(rules), "seed": args.seed, **plain}))
    else:
        Console().print(results_table([result], f"{rules}, 95 % intervals"))


if __name__ == "__main__":
    try:
        main(tyro.cli(Args, prog="python -m train.evaluate", description=_SUMMARY))
    except (ValueError, OSError) as error:  # no such agent, a checkpoint that does not fit, ...
        sys.exit(f"train.evaluate: {error}")
    except KeyboardInterrupt:
        print("\ntrain.evaluate: interrupted, nothing is kept; train.ladder goes on", file=sys.stderr)
        sys.exit(130)
