"""How fast ``train/ppo.py`` trains: decisions per second, rollout included, and where the time goes.

    python -m benchmarks.train

"roofline" is the time that the network alone takes for the same rows, measured in the same run: one forward
pass per decision for the rollout, and a forward and backward pass for each minibatch. Its rows are the
rollout's own, as int8 and in the order in which they lie there, in the same shares and on the same threads:
choosing, shuffling and gathering, masks, losses and the optimiser are what is left out.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial

import numpy as np
import torch
import tyro
from rich.console import Console
from rich.table import Table
from torch import Tensor

from benchmarks.clock import timed
from train.ppo import (
    LEARNED_SHARE,
    PLAYED_SHARE,
    Args,
    Rollout,
    Trainer,
    collect,
    minibatches,
    samples_of,
    update,
)
from train.shares import in_shares, single_threaded

REPEATS = 9


def as_they_are(rows: Tensor) -> Tensor:
    return rows


class Iteration:
    """An iteration of training, and the parts of it that are timed alone."""

    def __init__(self, args: Args) -> None:
        self.args = args
        self.trainer = Trainer(args)
        self.rollout = Rollout(self.trainer.batch, args.steps)
        self.collect()
        self.gradient_steps = sum(1 for _ in self.minibatches(samples_of(self.rollout, args)[1]))

    @property
    def decisions(self) -> int:
        return self.rollout.actions.size

    def minibatches(self, usable: np.ndarray) -> Iterator[np.ndarray]:
        return minibatches(usable, self.args, self.trainer.rng)

    def collect(self) -> None:
        it = self.trainer
        collect(self.rollout, it.batch, it.network, it.rng, it.threads)

    def update(self) -> None:
        it = self.trainer
        samples, usable = samples_of(self.rollout, self.args)
        update(it.network, it.optimizer, samples, self.minibatches(usable), self.args, it.threads)

    @single_threaded()
    def forward(self, inputs: Callable[[Tensor], Tensor] = as_they_are) -> None:
        """The network's part of the rollout."""

        def of_share(rows: Tensor, share: slice) -> None:
            with torch.inference_mode():
                self.trainer.network(inputs(rows[share]))

        for rows in torch.from_numpy(self.rollout.observations[: self.args.steps]):
            in_shares(partial(of_share, rows), len(rows), PLAYED_SHARE, self.trainer.threads)

    @single_threaded()
    def backward(self, inputs: Callable[[Tensor], Tensor] = as_they_are) -> None:
        """The network's part of the update."""
        network = self.trainer.network
        parameters = list(network.parameters())

        def of_share(rows: Tensor, share: slice) -> None:
            outputs = network(inputs(rows[share]))
            torch.autograd.grad(outputs, parameters, [torch.ones_like(output) for output in outputs])

        rows = torch.from_numpy(self.rollout.observations).flatten(0, 1)
        size = min(self.args.minibatch, self.decisions)
        batches = rows.split(size)[: self.decisions // size]
        for k in range(self.gradient_steps):
            batch = batches[k % len(batches)]
            in_shares(partial(of_share, batch), size, LEARNED_SHARE, self.trainer.threads)

    def dense(self) -> None:
        """Both, but with a first layer that multiplies by all bits, as floats."""
        self.forward(Tensor.float)
        self.backward(Tensor.float)


def main(args: Args) -> None:
    iteration = Iteration(args)
    rollout_s, update_s, forward_s, backward_s, dense_s = timed(
        REPEATS, iteration.collect, iteration.update, iteration.forward, iteration.backward, iteration.dense
    )
    table = Table(
        title=f"train.ppo, {args.rules}, width {args.width} x {args.depth}, {args.epochs} epochs, "
        f"{'bfloat16' if args.bfloat16 else 'float32'}, {iteration.trainer.threads} threads",
        title_justify="left",
    )
    for column in ("part", "seconds per iteration", "of it the network alone"):
        table.add_column(column, justify="left" if column == "part" else "right")
    table.add_row("rollout", f"{rollout_s:.3f}", f"{forward_s / rollout_s:.0%}")
    table.add_row("update", f"{update_s:.3f}", f"{backward_s / update_s:.0%}")
    total, roofline = rollout_s + update_s, forward_s + backward_s
    table.add_row("together", f"{total:.3f}", f"{roofline / total:.0%}")
    console = Console(highlight=False)
    console.print(table)
    decisions = iteration.decisions
    console.print(f"{decisions / total:,.0f} decisions/s; the roofline is {decisions / roofline:,.0f}")
    console.print(
        f"with a dense first layer, the network alone would take {dense_s / roofline:.2f} x the time"
    )


if __name__ == "__main__":
    main(replace(tyro.cli(Args, description=__doc__), report=False))
