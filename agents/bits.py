"""A first layer for bits: it adds the weights of the bits that are set instead of multiplying by all.

Some 20 to 30 of 350 bits of an observation are set, so that a dense layer multiplies by zero nine times in
ten. Gathering the set bits' rows is the same linear map, to rounding, at a fifth of the time on a CPU.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic
from torch import Tensor, nn
from torch.nn import functional

from fivesthrees_env.kernel.jit import fetch_add, jit, lowest_bit
from fivesthrees_env.threads import run

__all__ = ["BitLinear"]

# Outputs that a thread takes at a time in the backward pass: no two threads write the same gradient, and the
# sums of all inputs for so few outputs fit into a core's first cache.
_LANES = 16
_WORD = 64  # bits of a row that are looked at together

#: Functions written as LLVM instructions; typed by Numba, not for type checkers.
_intrinsic: Any = intrinsic


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
        """The layer's outputs (N, outputs), in the dtype of its weights.

        Raises:
            ValueError: if the inputs are not of its width.
        """
        if inputs.shape[-1] != len(self.weight):
            raise ValueError(f"inputs: {inputs.shape[-1]} columns given; allowed: {len(self.weight)}")
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
        run(_add_up, torch.get_num_threads(), *ctx.set_bits, padded.numpy(), of_rows.numpy())
        return None, of_rows[:, :outputs], gradient.sum(0)


def _set_bits(bits: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns of the set bits, row after row, and where each row's begin (one more than rows); both int32."""
    places = np.empty(bits.size, np.int32)
    ends = np.empty(len(bits) + 1, np.int32)
    return places[: _find(bits.reshape(-1), bits.shape[1], places, ends)], ends


@_intrinsic
def _non_zero(typingctx: Any, row: Any, start: Any) -> Any:
    """Which of ``row[start : start + 64]`` (int8) are not zero: a uint64, the first one lowest."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        whole = ir.VectorType(ir.IntType(8), _WORD)
        source = builder.bitcast(builder.gep(array.data, [args[1]]), whole.as_pointer())
        flags = builder.icmp_signed("!=", builder.load(source, align=1), ir.Constant(whole, None))
        return builder.bitcast(flags, ir.IntType(_WORD))

    return types.uint64(row, types.int64), codegen


@_intrinsic
def _add_lanes(typingctx: Any, sums: Any, i: Any, terms: Any, j: Any) -> Any:
    """``sums[i : i + 16] += terms[j : j + 16]`` as one vector; a loop would first rule out an overlap."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        whole = ir.VectorType(context.get_value_type(signature.args[0].dtype), _LANES)

        def vector(array: int, index: int) -> Any:
            data = context.make_array(signature.args[array])(context, builder, args[array]).data
            return builder.bitcast(builder.gep(data, [args[index]]), whole.as_pointer())

        target, source = vector(0, 1), vector(2, 3)
        size = signature.args[0].dtype.bitwidth // 8
        added = builder.fadd(builder.load(target, align=size), builder.load(source, align=size))
        builder.store(added, target, align=size)
        return context.get_dummy_value()

    return types.void(sums, types.int64, terms, types.int64), codegen


@jit
def _find(bits, inputs, places, ends):
    count = 0
    ends[0] = 0
    for i in range(len(ends) - 1):
        begin = i * inputs
        for word in range(0, inputs - _WORD + 1, _WORD):
            left = _non_zero(bits, begin + word)
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
    first = fetch_add(blocks, 0) * _LANES
    while first < width:
        sums[:] = 0.0
        for i in range(len(ends) - 1):
            for k in range(ends[i], ends[i + 1]):
                _add_lanes(sums, np.int64(places[k]) * _LANES, terms, i * width + first)
        for row in range(inputs):
            for lane in range(_LANES):
                of_rows[row, first + lane] = sums[row * _LANES + lane]
        first = fetch_add(blocks, 0) * _LANES
