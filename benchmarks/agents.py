"""How fast the scripted agents choose: decisions per second on one core, over a batch of views.

    python -m benchmarks.agents

The views are taken from random play, at all stages of a round, where there is a choice. Figures are medians
over repetitions, in processor time.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

import agents
from benchmarks.clock import timed
from fivesthrees_env.batch import MatchBatch


@dataclass
class Args:
    """Arguments of the benchmark."""

    agents: list[str] = field(default_factory=lambda: ["random", "greedy", "smart-greedy", "expert"])
    """Names of agents, or what else ``agents.load`` takes."""
    presets: list[str] = field(
        default_factory=lambda: ["fives_and_threes-4p", "fives_and_threes-2p", "all_fives-4p"]
    )
    """Rules to measure."""
    num_views: int = 4096
    """Views in the batch."""
    repeats: int = 50
    """Repetitions; the median counts."""


def decision_views(preset: str, num_views: int) -> np.ndarray:
    """Views of seats that have a choice, at all stages of a round: (num_views,) of dtype ``MATCH``."""
    batch, rng = MatchBatch(num_views, preset, seed=0, skip_forced=True), np.random.default_rng(0)
    for _ in range(60):
        batch.step(batch.random_actions(rng))
    return batch.views.copy()


def decisions_per_second(agent: agents.Agent, views: np.ndarray, repeats: int) -> float:
    """Median over some calls, after one that does not count."""
    rng = np.random.default_rng(0)
    (seconds,) = timed(repeats, lambda: agent.act(views, rng), clock=time.process_time)
    return len(views) / seconds


def main(args: Args) -> None:
    table = Table(title=f"Decisions per second, {args.num_views} views, one core", title_justify="left")
    table.add_column("agent")
    for preset in args.presets:
        table.add_column(preset, justify="right")
    views = [decision_views(preset, args.num_views) for preset in args.presets]
    for name in args.agents:
        agent = agents.load(name)
        rates = (decisions_per_second(agent, batch, args.repeats) for batch in views)
        table.add_row(name, *(f"{rate / 1e6:.2f} M" for rate in rates))
    Console().print(table)


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
