"""How fast ``MatchBatch`` steps: observation, mask and a random legal choice every step.

    python -m benchmarks.engine

Figures are medians over repetitions, in processor time on one core; all but the first rate are without the
choice. Two yardsticks are measured in the same run, so that they move with the machine: "x zeros" compares a
step with writing zeros to as many observation and mask rows; "x ones" with writing zeros and then the same
ones, at places known beforehand: all of the work but for the game. The last lines tell how many times
as many steps several threads make in the same time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import tyro
from rich.box import SIMPLE
from rich.console import Console
from rich.table import Table

from benchmarks.clock import timed
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
MANY = 65_536  # matches, far more than any cache holds


@dataclass
class Args:
    """Arguments of the benchmark."""

    presets: list[str] = field(default_factory=lambda: list(PRESETS))
    """Rules to measure; the first also on several threads."""
    num_matches: int = 4096
    """Matches side by side."""
    steps: int = 200
    """Steps per repetition."""
    repeats: int = 7
    """Repetitions; the median counts."""
    threads: int = os.cpu_count() or 1
    """Threads of the last lines; default: all cores."""


@jit
def write_zeros(observations, masks):
    for i in range(observations.shape[0]):
        observations[i][:] = 0
        masks[i][:] = 0


@jit
def write_ones(observations, masks, bits, legal):
    """Clear each row and write its ones: ``bits`` and ``legal`` are ``ones_of`` the rows."""
    for i in range(observations.shape[0]):
        _write_row(observations[i], i, bits)
        _write_row(masks[i], i, legal)


@jit
def _write_row(row, i, ones):
    places, ends = ones
    row[:] = 0
    for k in range(ends[i], ends[i + 1]):
        row[places[k]] = 1


def ones_of(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns of the ones, row after row, and where each row's begin (one more than rows)."""
    ends = np.concatenate([[0], np.count_nonzero(rows, axis=1).cumsum()])
    return rows.nonzero()[1].astype(np.int16), ends


class RandomPlay:
    """Some steps of random play in a batch, and the parts of it that are timed alone."""

    def __init__(self, preset: str, num_matches: int, steps: int, num_threads: int = 1) -> None:
        self.batch = MatchBatch(num_matches, preset, seed=0, num_threads=num_threads)
        self.rng = np.random.default_rng(0)
        self.steps = steps

    @property
    def plies(self) -> int:
        return self.steps * self.batch.num_matches

    def play(self) -> None:
        for _ in range(self.steps):
            self.batch.step(self.batch.random_actions(self.rng))

    def choose(self) -> None:
        for _ in range(self.steps):
            self.batch.random_actions(self.rng)


def yardsticks(batch: MatchBatch, steps: int) -> tuple[Callable[[], None], Callable[[], None]]:
    """Writing a batch's rows as they stand, that many times: as zeros, and as zeros and then the ones."""
    rows = batch.observations.copy(), batch.action_masks.copy()
    ones = ones_of(rows[0]), ones_of(rows[1])

    def zeros_alone() -> None:
        for _ in range(steps):
            write_zeros(*rows)

    def and_ones() -> None:
        for _ in range(steps):
            write_ones(*rows, *ones)

    return zeros_alone, and_ones


def measure(preset: str, args: Args) -> tuple[str, ...]:
    """One row of the table."""
    loop = RandomPlay(preset, args.num_matches, args.steps)
    loop.play()  # spreads the matches over all stages of a round
    parts = loop.play, loop.choose, *yardsticks(loop.batch, args.steps)
    playing, choosing, zeros, ones = timed(args.repeats, *parts, clock=time.process_time)
    stepping = playing - choosing
    row_bytes = loop.batch.layout.size + loop.batch.rules.num_actions
    return (
        preset,
        f"{row_bytes}",
        f"{loop.plies / playing / 1e6:.1f}",
        f"{loop.plies / stepping / 1e6:.1f}",
        f"{stepping / loop.plies * 1e9:.0f}",
        f"{row_bytes * loop.plies / stepping / 1e9:.1f}",
        f"{stepping / zeros:.1f}",
        f"{stepping / ones:.1f}",
    )


def speedup(preset: str, num_matches: int, args: Args) -> float:
    """How many times as fast the steps (without the choice) are on several threads as on one."""
    steps = max(args.steps * args.num_matches // num_matches, 1)
    one, many = (RandomPlay(preset, num_matches, steps, threads) for threads in (1, args.threads))
    on_one, on_many, choosing = timed(args.repeats, one.play, many.play, one.choose)
    return (on_one - choosing) / (on_many - choosing)


def main(args: Args) -> None:
    title = f"MatchBatch, {args.num_matches:,} matches, one core"
    table = Table(title=title, title_justify="left", box=SIMPLE, pad_edge=False, collapse_padding=True)
    columns = "rules", "bytes", "M steps/s", "without choice", "ns a step", "GB/s", "x zeros", "x ones"
    for column in columns:
        name = column == "rules"
        table.add_column(column, justify="left" if name else "right", no_wrap=name)
    for preset in args.presets:
        table.add_row(*measure(preset, args))
    console = Console(highlight=False)
    console.print(table)
    if args.threads > 1:
        preset = args.presets[0]
        for num_matches in (args.num_matches, MANY):
            times = speedup(preset, num_matches, args)
            console.print(
                f"{preset}, {num_matches:,} matches: {args.threads} threads step {times:.2f} x as fast as one"
            )


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
