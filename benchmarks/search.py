"""How fast a belief is built and sampled, and how long searching agents think: one core.

    python -m benchmarks.search

Positions are those before each ply of random matches. Figures are medians over repetitions.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

import agents
from agents.belief import Belief
from benchmarks.agents import decision_views
from benchmarks.clock import timed

PRESETS = ["fives_and_threes-4p", "fives_and_threes-2p", "all_fives-4p", "all_fives-2p", "double-nine-4p"]


@dataclass
class Args:
    """Arguments of the benchmark."""

    presets: list[str] = field(default_factory=lambda: list(PRESETS))
    """Rules to measure."""
    views: int = 100
    """Positions."""
    deals: int = 1000
    """Deals per belief."""
    repeats: int = 5
    """Repetitions; the median counts."""


def measure(views: np.ndarray, args: Args) -> list[str]:
    """One row of the table."""
    rng = np.random.default_rng(0)
    rows = [views[i : i + 1] for i in range(len(views))]
    beliefs = [Belief(row) for row in rows]
    players = [agents.load(name) for name in ("rollout", "ismcts")]
    building, sampling, *thinking = timed(
        args.repeats,
        lambda: [Belief(row) for row in rows],
        lambda: [belief.sample(args.deals, rng) for belief in beliefs],
        *(lambda player=player: player.act(views, rng) for player in players),
    )
    count = len(views)
    figures = [f"{1e6 * building / count:.0f}", f"{count * args.deals / (1e3 * sampling):,.0f}"]
    figures += [f"{1e3 * seconds / count:.1f}" for seconds in thinking]
    return figures


def main(args: Args) -> None:
    table = Table(title="Belief and search", title_justify="left")
    for column in ("rules", "belief µs", "deals per ms", "rollout ms a move", "ismcts ms a move"):
        table.add_column(column, justify="left" if column == "rules" else "right")
    for name in args.presets:
        table.add_row(name, *measure(decision_views(name, args.views), args))
    Console().print(table)


if __name__ == "__main__":
    main(tyro.cli(Args))
