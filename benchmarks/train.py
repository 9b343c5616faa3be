"""How fast ``train/ppo.py`` trains: decisions per second, rollout included, and where the time goes.

    python -m benchmarks.train

"roofline" is the time that the forward and backward passes of the same shapes take alone, measured in the
same run: one forward pass per decision for the rollout, one forward and backward pass per decision and epoch.
"""

from __future__ import annotations

import time
from dataclasses import replace

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.table import Table

from train.ppo import Args, Rollout, Trainer, collect, minibatches, update


def timed(repeats: int, *parts) -> list[float]:
    """Median seconds of each part; the parts take turns, so that the machine's mood hits all alike."""
    seconds = np.zeros((repeats + 1, len(parts)))
    for row in seconds:
        for k, part in enumerate(parts):
            started = time.perf_counter()
            part()
            row[k] = time.perf_counter() - started
    return np.median(seconds[1:], axis=0).tolist()


def main(args: Args) -> None:
    torch.set_num_threads(args.threads or torch.get_num_threads())
    trainer = Trainer(args)
    network, batch = trainer.network, trainer.batch
    rollout = Rollout(batch, args.steps)
    decisions = rollout.actions.size
    rows = torch.from_numpy(rollout.observations[0]).float()
    columns = torch.zeros(args.minibatch, batch.layout.size)

    def play() -> None:
        collect(rollout, batch, network, trainer.rng)

    def learn() -> None:
        batches = minibatches(rollout, args, trainer.rng)
        update(network, trainer.optimizer, batches, args)

    def forward_alone() -> None:
        with torch.inference_mode():
            for _ in range(args.steps):
                network(rows)

    def backward_alone() -> None:
        for _ in range(args.epochs * decisions // args.minibatch):
            logits, values = network(columns)
            (logits.sum() + values.sum()).backward()
        trainer.optimizer.zero_grad()

    rollout_s, update_s, forward_s, backward_s = timed(9, play, learn, forward_alone, backward_alone)
    table = Table(
        title=f"train.ppo, {args.rules}, width {args.width} x {args.depth}, {args.epochs} epochs, "
        f"{torch.get_num_threads()} threads",
        title_justify="left",
    )
    for column in ("part", "seconds per iteration", "of it the network alone"):
        table.add_column(column, justify="left" if column == "part" else "right")
    table.add_row("rollout", f"{rollout_s:.3f}", f"{forward_s / rollout_s:.0%}")
    table.add_row("update", f"{update_s:.3f}", f"{backward_s / update_s:.0%}")
    total, roofline = rollout_s + update_s, forward_s + backward_s
    table.add_row("together", f"{total:.3f}", f"{roofline / total:.0%}")
    console = Console()
    console.print(table)
    console.print(
        f"{decisions / total:,.0f} decisions/s; the roofline is {decisions / roofline:,.0f}",
        highlight=False,
    )


if __name__ == "__main__":
    main(replace(tyro.cli(Args, description=__doc__), report=False))
