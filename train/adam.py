"""Adam with gradient clipping, on the threads that have made the gradients.

PyTorch's optimiser, where it may not start threads of its own, lets all but one wait: a tenth of the time of
a small network. Here threads take one weight tensor after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from fivesthrees_env.kernel.jit import call, jit
from fivesthrees_env.threads import next_block, run

__all__ = ["SharedAdam"]

_LANES = 64  # sums that are kept side by side, as vectors


class SharedAdam(torch.optim.Adam):
    """``torch.optim.Adam`` (Kingma and Ba, 2015) for float32 weights on a CPU; the same ``state_dict``.

    ``step_by`` is its step. Weight decay and other options that change the formula are not supported.
    """

    def __init__(self, parameters: Sequence[Tensor], lr: float, eps: float) -> None:
        super().__init__(parameters, lr=lr, eps=eps)
        self._memory: tuple[tuple[np.ndarray, ...], ...] | None = None

    @torch.no_grad()
    def step_by(self, shares: Sequence[Sequence[Tensor]], max_norm: float, threads: int = 1) -> float:
        """One step by the sum of several gradients, scaled down to at most that norm.

        Args:
            shares: of each a gradient per parameter; the first share's are overwritten.
            max_norm: as in ``torch.nn.utils.clip_grad_norm_``.
            threads: threads that may work on it; results do not depend on it.

        Returns:
            The norm before it was scaled.
        """
        total, *others = shares
        for other in others:
            for gradient, term in zip(total, other, strict=True):
                gradient.add_(term)
        gradients, count = _flat(total), len(total)
        squares = np.zeros(count)
        run(_sum_squares, min(threads, count), count, gradients, squares)
        norm = float(squares.sum() ** 0.5)
        if self._memory is None or not _same_memory(self._memory[0], self.param_groups[0]["params"]):
            self._memory = self._begin()
        numbers = self._numbers(min(max_norm / (norm + 1e-6), 1.0))
        run(_move, min(threads, count), count, *self._memory, gradients, numbers)
        return norm

    def __setstate__(self, state: dict[str, Any]) -> None:
        restore: Any = super().__setstate__  # of a copy, a pickle or a state_dict
        restore(state)
        self._memory = None

    def _begin(self) -> tuple[tuple[np.ndarray, ...], ...]:
        """The memory of weights and of the running means, which begin as PyTorch's own do."""
        parameters = self.param_groups[0]["params"]
        for parameter in parameters:
            if not self.state[parameter]:
                self.state[parameter] = {
                    "step": torch.tensor(0.0),
                    "exp_avg": torch.zeros_like(parameter),
                    "exp_avg_sq": torch.zeros_like(parameter),
                }
        states = [self.state[parameter] for parameter in parameters]
        kept = (parameters, *([state[name] for state in states] for name in ("exp_avg", "exp_avg_sq")))
        return tuple(tuple(tensor.detach().view(-1).numpy() for tensor in tensors) for tensors in kept)

    def _numbers(self, scale: float) -> np.ndarray:
        """Count the step, and tell the kernel what it needs: (8,) float32."""
        group = self.param_groups[0]
        for parameter in group["params"]:
            step = self.state[parameter]["step"]
            step += 1
        (beta1, beta2), count = group["betas"], float(step)
        rate, spread = group["lr"] / (1 - beta1**count), (1 - beta2**count) ** 0.5
        return np.array([scale, beta1, 1 - beta1, beta2, 1 - beta2, rate, spread, group["eps"]], np.float32)


def _same_memory(arrays: Sequence[np.ndarray], tensors: Sequence[Tensor]) -> bool:
    """Whether these arrays still are the memory of the tensors, none of which has been given another."""
    return all(array.ctypes.data == tensor.data_ptr() for array, tensor in zip(arrays, tensors, strict=True))


def _flat(tensors: Sequence[Tensor]) -> tuple[np.ndarray, ...]:
    return tuple(tensor.detach().reshape(-1).numpy() for tensor in tensors)


@jit
def _sum_squares(blocks, gradients, squares):
    """The sum of each gradient's squares."""
    k = next_block(blocks)
    while k >= 0:
        squares[k] = _squares_of(gradients[k])
        k = next_block(blocks)


@call
def _squares_of(gradient):
    lanes, whole = np.zeros(_LANES), gradient.size - gradient.size % _LANES
    for i in range(0, whole, _LANES):
        for lane in range(_LANES):
            value = np.float64(gradient[i + lane])
            lanes[lane] += value * value
    for i in range(whole, gradient.size):
        lanes[0] += np.float64(gradient[i]) ** 2
    return lanes.sum()


@jit
def _move(blocks, weights, means, means_of_squares, gradients, numbers):
    """Adam's step for all weights."""
    k = next_block(blocks)
    while k >= 0:
        _move_one(weights[k], means[k], means_of_squares[k], gradients[k], numbers)
        k = next_block(blocks)


@call
def _move_one(weights, means, means_of_squares, gradient, numbers):
    """Running means of the gradient and of its squares, and a step by their quotient."""
    scale, rate, spread, eps = numbers[0], numbers[5], numbers[6], numbers[7]
    beta1, rest1, beta2, rest2 = numbers[1], numbers[2], numbers[3], numbers[4]
    for i in range(weights.size):
        slope = gradient[i] * scale
        means[i] = beta1 * means[i] + rest1 * slope
        means_of_squares[i] = beta2 * means_of_squares[i] + rest2 * slope * slope
        weights[i] -= rate * means[i] / (np.sqrt(means_of_squares[i]) / spread + eps)
