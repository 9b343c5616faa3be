"""What is each rule of the expert worth? The expert with a rule against the expert without it.

    python -m train.ablate
    python -m train.ablate --rules fives_and_threes-2p --only aim follow_self --deals 20000

Both sides are the expert in all other rules, so that a worth is that of the rule on top of the others: points
per duplicate round and the share of whole matches for the side that follows the rule, as in
``train.evaluate``, with 95 % intervals. Rules that the expert does not follow by default are measured too.
"""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass, field
from pathlib import Path

import tyro
from rich.console import Console
from rich.table import Table

from agents.scripted import ExpertAgent, Lore
from fivesthrees_env.rules import Rules
from train.evaluate import Estimate, duplicate_rounds, whole_matches

__all__ = ["Worth", "worth_of_rule", "worth_table"]

_SUMMARY = "What is each rule of the expert worth? The expert with a rule against the expert without it."


@dataclass(frozen=True)
class Worth:
    """What one rule is worth to the side that follows it."""

    rule: str
    default: bool
    """Whether the expert follows the rule by default."""
    rounds: Estimate
    """Margin in points per duplicate round."""
    matches: Estimate
    """Share of whole matches won."""


def worth_of_rule(rule: str, rules: Rules, deals: int, matches: int, seed: int = 0) -> Worth:
    """Play the expert with a rule against the expert without it.

    Args:
        rule: a field of ``Lore``; one that is off by default gets its usual weight.
        rules: what is played.
        deals: number of deals for duplicate rounds.
        matches: about how many whole matches.
        seed: another number takes other deals.

    Raises:
        ValueError: if there is no such rule.
    """
    without = ExpertAgent(**{rule: False})
    default = bool(getattr(Lore(), rule))
    following = ExpertAgent() if default else ExpertAgent(**{rule: True})
    return Worth(
        rule,
        default,
        duplicate_rounds(following, without, rules, deals, seed),
        whole_matches(following, without, rules, matches, seed),
    )


def worth_table(worths: list[Worth], title: str) -> Table:
    """A printable table, a row for each rule."""
    table = Table(title=title, title_justify="left")
    for name in ("rule", "by default", "points per round", "matches won"):
        table.add_column(name, justify="left" if name in ("rule", "by default") else "right")
    for worth in worths:
        rounds, matches = worth.rounds, worth.matches
        table.add_row(
            worth.rule,
            "on" if worth.default else "off",
            f"{rounds.mean:+.3f} ± {rounds.high - rounds.mean:.3f}",
            f"{matches.mean:.1%} ({100 * matches.low:.1f}–{100 * matches.high:.1f})",
        )
    return table


@dataclass
class Args:
    """Arguments of an ablation."""

    rules: str = "fives_and_threes-4p"
    """A preset's name."""
    only: list[str] = field(default_factory=list)
    """Rules to measure; default: all."""
    deals: int = 2000
    """Deals for duplicate rounds, for each rule."""
    matches: int = 4000
    """Whole matches, for each rule."""
    seed: int = 0
    """Another number takes other deals."""
    json: Path | None = None
    """A file for the results as JSON."""


def main(args: Args) -> None:
    """Measure rule by rule, print, store."""
    rules = Rules.preset(args.rules)
    worths = [
        worth_of_rule(rule, rules, args.deals, args.matches, args.seed) for rule in args.only or Lore._fields
    ]
    games = f"{worths[0].rounds.games:,} rounds and {worths[0].matches.games:,} matches each"
    Console().print(worth_table(worths, f"Worth of the expert's rules, {rules}, {games}"))
    if args.json:
        rows = [
            {
                "rule": worth.rule,
                "default": worth.default,
                "rounds": worth.rounds.as_json(),
                "matches": worth.matches.as_json(),
            }
            for worth in worths
        ]
        text = json.dumps({"rules": str(rules), "seed": args.seed, "worths": rows}, indent=1)
        args.json.write_text(text + "\n")


if __name__ == "__main__":
    try:
        main(tyro.cli(Args, prog="python -m train.ablate", description=_SUMMARY))
    except (ValueError, OSError) as error:
        sys.exit(f"train.ablate: {error}")
