"""How fast the double-dummy solver is: every lead of whole deals, on one core.

    python -m benchmarks.solver

Each deal counts with its fastest repetition, in CPU time; the percentiles are over deals.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from agents.solver import Solver
from fivesthrees_env.rules import Rules
from train.arena import deal_rounds

PRESETS = [
    "fives_and_threes-4p",
    "fives_and_threes-2p",
    "fives_and_threes-3p",
    "fives_and_threes-4p-singles",
    "league-2p",
    "league-4p",
    "double-nine-4p",
    "all_fives-2p",
    "all_fives-3p",
    "all_fives-4p",
]


@dataclass
class Args:
    """Arguments of the benchmark."""

    presets: list[str] = field(default_factory=lambda: list(PRESETS))
    """Rules to measure."""
    deals: int = 200
    """Deals; in All Fives, where one may take seconds, a tenth of them."""
    repeats: int = 5
    """Repetitions of each deal; the fastest counts. In All Fives one."""
    objective: str = "margin"
    """"margin", or "match" where the game has an equity table."""
    most_plies: int = 30_000_000
    """Plies after which a deal of All Fives counts as not solved."""


def measure(preset: str, args: Args) -> tuple[str, ...]:
    """One row of the table."""
    rules = Rules.preset(preset)
    deals, repeats = (max(args.deals // 10, 1), 1) if rules.draw else (args.deals, args.repeats)
    records = deal_rounds(rules, np.arange(deals), np.arange(deals) % rules.num_players)
    solver = Solver(args.objective, args.most_plies if rules.draw else None)
    solver.action_values(records[:1])
    seconds, plies, exact = np.empty(deals), np.empty(deals), np.empty(deals)
    for i in range(deals):
        times = []
        for _ in range(repeats):
            started = time.thread_time()
            result = solver.action_values(records[i : i + 1])
            times.append(time.thread_time() - started)
        seconds[i], plies[i], exact[i] = min(times), result.plies[0], result.exact[0]
    return (
        preset,
        *(f"{1e3 * x:,.2f}" for x in np.percentile(seconds, [50, 90, 100])),
        *(f"{x:,.0f}" for x in np.percentile(plies, [50, 100])),
        f"{plies.sum() / seconds.sum() / 1e6:.1f} M",
        f"{exact.mean():.0%}",
    )


def main(args: Args) -> None:
    table = Table(title=f"All leads of a deal, objective {args.objective}, one core", title_justify="left")
    for column in ("rules", "ms, median", "90 %", "most", "plies, median", "most", "plies/s", "exact"):
        table.add_column(column, justify="left" if column == "rules" else "right")
    for preset in args.presets:
        table.add_row(*measure(preset, args))
    Console().print(table)


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
