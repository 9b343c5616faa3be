"""How fast ``MatchBatch`` steps: one core, observation, mask and a random legal choice every step.

    python -m benchmarks.engine

Figures are medians over repetitions; "x writing" compares with the time that writing zeros to the same
observation and mask rows takes alone, in the same run: a yardstick that moves with the machine.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import tyro
from rich.console import Console
from rich.table import Table

from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.kernel.jit import jit

PRESETS = [
    "fives_and_threes-4p",
    "fives_and_threes-3p",
    "fives_and_threes-2p",
    "league-2p",
    "all_fives-4p",
    "all_fives-2p",
]


@dataclass
class Args:
    """Arguments of the benchmark."""

    presets: list[str] = field(default_factory=lambda: list(PRESETS))
    """Rules to measure."""
    num_matches: int = 4096
    """Matches side by side."""
    steps: int = 200
    """Steps per repetition."""
    repeats: int = 7
    """Repetitions; the median counts."""


@jit
def write_rows(observations, masks):
    for i in range(observations.shape[0]):
        observations[i][:] = 0
        masks[i][:] = 0


def median_seconds(work: Callable[[], None], repeats: int) -> float:
    """Median time of some calls, after one that does not count."""
    work()
    times = []
    for _ in range(repeats):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return float(np.median(times))


def measure(preset: str, args: Args) -> tuple[str, ...]:
    """One row of the table."""
    batch = MatchBatch(args.num_matches, preset, seed=0)
    rng = np.random.default_rng(0)

    def choose() -> None:
        for _ in range(args.steps):
            batch.random_actions(rng)

    def play() -> None:
        for _ in range(args.steps):
            batch.step(batch.random_actions(rng))

    def write() -> None:
        for _ in range(args.steps):
            write_rows(batch.observations, batch.action_masks)

    plies = args.steps * args.num_matches
    play()  # spreads the matches over all stages of a round
    playing, choosing, writing = (median_seconds(f, args.repeats) for f in (play, choose, write))
    stepping = playing - choosing
    row_bytes = batch.layout.size + batch.rules.num_actions
    return (
        preset,
        f"{row_bytes}",
        f"{plies / playing / 1e6:.1f} M",
        f"{plies / stepping / 1e6:.1f} M",
        f"{stepping / plies * 1e9:.0f} ns",
        f"{row_bytes * plies / stepping / 1e9:.1f} GB/s",
        f"{stepping / writing:.1f}",
    )


def main(args: Args) -> None:
    table = Table(title=f"MatchBatch, {args.num_matches} matches, one core", title_justify="left")
    columns = (
        "rules",
        "bytes",
        "steps/s",
        "without the choice",
        "per step",
        "written",
        "x writing",
    )
    for column in columns:
        table.add_column(column, justify="left" if column == "rules" else "right")
    for preset in args.presets:
        table.add_row(*measure(preset, args))
    Console().print(table)


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
