"""A first layer for bits: it adds the weights of the bits that are set instead of multiplying by all.

Some 20 to 30 of 350 bits of an observation are set, so that a dense layer multiplies by zero nine times in
ten. Gathering the set bits' rows is the same linear map, to rounding, at a fifth of the time on a CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from fivesthrees_env.kernel.jit import adder, jit, lowest_bit, non_zeros
from fivesthrees_env.threads import next_block, run

__all__ = ["BitLinear"]

# Outputs that a thread takes at a time in the backward pass: no two threads write the same gradient, and the
# sums of all inputs for so few outputs fit into a core's first cache.
_LANES = 16
_WORD = 64  # bits of a row that ``non_zeros`` looks at together

_add_lanes = adder(_LANES)


class BitLinear(nn.Module):
    """A linear layer whose inputs are bits.

    Bits (N, inputs) of int8 on a CPU are gathered and added. Anything else is multiplied as usual.

    Attributes:
        weight: (inputs, outputs), a row for each bit: ``nn.Linear``'s transposed, since rows are added.
        bias: (outputs,).
    """

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(inputs, outputs))
        self.bias = nn.Parameter(torch.zeros(outputs))

    def forward(self, inputs: Tensor) -> Tensor:
        """The layer's outputs (..., outputs), in the dtype of its weights.

        Raises:
            ValueError: if the inputs are not of its width.
        """
        if inputs.shape[-1] != len(self.weight):
            raise ValueError(f"inputs: {inputs.shape[-1]} columns given; allowed: {len(self.weight)}")
        if inputs.ndim != 2:
            outputs = self(inputs.reshape(-1, len(self.weight)))
            return outputs.reshape(*inputs.shape[:-1], outputs.shape[-1])
        if inputs.dtype == torch.int8 and inputs.device.type == "cpu":
            gather_sum: Any = _GatherSum.apply
            return gather_sum(inputs.contiguous(), self.weight, self.bias)
        return torch.addmm(self.bias, inputs.to(self.weight.dtype), self.weight)


class _GatherSum(torch.autograd.Function):
    """``bits @ rows + bias`` with the sums running over set bits only."""

    @staticmethod
    def forward(ctx: Any, bits: Tensor, rows: Tensor, bias: Tensor) -> Tensor:
        ctx.set_bits = _set_bits(bits.numpy())
        ctx.shape = rows.shape
        places, ends = (torch.from_numpy(array) for array in ctx.set_bits)
        return functional.embedding_bag(places, rows, ends, mode="sum", include_last_offset=True).add_(bias)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor, Tensor]:
        inputs, outputs = ctx.shape
        missing = -outputs % _LANES
        padded = functional.pad(gradient, (0, missing)) if missing else gradient.contiguous()
        of_rows = torch.empty((inputs, outputs + missing), dtype=gradient.dtype)
        num_blocks = of_rows.shape[1] // _LANES
        run(
            _add_up,
            min(torch.get_num_threads(), num_blocks),
            num_blocks,
            *ctx.set_bits,
            padded.numpy(),
            of_rows.numpy(),
        )
        return None, of_rows[:, :outputs], gradient.sum(0)


def _set_bits(bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns of the set bits, row after row, and where each row's begin (one more than rows); both int32."""
    places = np.empty(bits.size, np.int32)
    ends = np.empty(len(bits) + 1, np.int32)
    return places[: _find(bits.reshape(-1), bits.shape[1], places, ends)], ends


@jit
def _find(bits, inputs, places, ends):
    count = 0
    ends[0] = 0
    for i in range(len(ends) - 1):
        begin = i * inputs
        for word in range(0, inputs - _WORD + 1, _WORD):
            left = non_zeros(bits, begin + word)
            while left:
                places[count] = word + np.int64(lowest_bit(left))
                count += 1
                left &= left - np.uint64(1)
        for j in range(inputs - inputs % _WORD, inputs):  # written always and kept if the bit is set
            places[count] = j
            count += bits[begin + j] != 0
        ends[i + 1] = count
    return count


@jit
def _add_up(blocks, places, ends, gradient, of_rows):
    """Add each row of the gradient to the rows of its set bits, in the columns that this thread gets."""
    inputs, width = of_rows.shape
    terms = gradient.reshape(-1)
    sums = np.empty(inputs * _LANES, gradient.dtype)
    block = next_block(blocks)
    while block >= 0:
        first = block * _LANES
        sums[:] = 0.0
        for i in range(len(ends) - 1):
            for k in range(ends[i], ends[i + 1]):
                _add_lanes(sums, np.int64(places[k]) * _LANES, terms, i * width + first)
        for row in range(inputs):
            for lane in range(_LANES):
                of_rows[row, first + lane] = sums[row * _LANES + lane]
        block = next_block(blocks)
