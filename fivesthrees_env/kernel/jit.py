"""How the kernel is compiled: once, cached on disk, and never from a stale cache.

Numba asks of a cached function whether its own file has changed, so an edit in one module would leave its
callers in other modules on the old code. Here all of them depend on all sources of the package, and those
outside of it (``agents``, ``train``) on their neighbours too.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import types
from numba.extending import intrinsic

_PACKAGE = Path(__file__).resolve().parents[1]


@cache
def _digest_of_sources(folder: Path) -> str:
    """A fingerprint of what a function in this folder can depend on: its neighbours and the package."""
    sources = sorted({*_PACKAGE.rglob("*.py"), *folder.glob("*.py")})
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def jit(function: Callable[..., Any], inline: bool = True) -> Any:
    """Compile a kernel function, or one that calls some: no Python objects, no GIL, cached on disk.

    Args:
        function: what to compile.
        inline: put it into its callers as a whole. Where a large function is called in several places,
            a call costs less than the time to compile them all: ``@call``.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy", "forceinline": inline}
    try:
        compiled: Any = numba.njit(cache=True, **options)(function)
        # Numba's stamp of a cached function is the time and size of its file; ours is the whole package.
        folder = Path(function.__code__.co_filename).parent
        compiled._cache._cache_file._source_stamp = _digest_of_sources(folder)
    except (RuntimeError, AttributeError):  # no folder can be written, or Numba keeps its stamp elsewhere
        compiled = numba.njit(**options)(function)
    return compiled


def call(function: Callable[..., Any]) -> Any:
    """Compile a function that stays one of its own."""
    return jit(function, inline=False)


#: Functions written as LLVM instructions; typed by Numba, not for type checkers.
_intrinsic: Any = intrinsic


@_intrinsic
def lowest_bit(typingctx: Any, mask: Any) -> Any:
    """Position of the lowest set bit of a non-zero uint64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), codegen


@_intrinsic
def unpack_byte(typingctx: Any, row: Any, start: Any, byte: Any) -> Any:
    """Write the eight bits of `byte` (uint8) to ``row[start : start + 8]`` (int8), lowest first."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        lanes = ir.VectorType(ir.IntType(8), 8)
        bits = builder.bitcast(args[2], ir.VectorType(ir.IntType(1), 8))
        target = builder.gep(array.data, [args[1]])
        builder.store(builder.zext(bits, lanes), builder.bitcast(target, lanes.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(row, types.int64, types.uint8), codegen


@_intrinsic
def count_bits(typingctx: Any, mask: Any) -> Any:
    """Number of set bits of a uint64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@jit
def unpack(row, start, mask, count):
    """Write the lowest `count` bits of a uint64 to ``row[start : start + count]`` (int8)."""
    if count < 8:
        for k in range(count):
            row[start + k] = (mask >> np.uint64(k)) & np.uint64(1)
        return
    for k in range(0, count - 7, 8):
        unpack_byte(row, start + k, np.uint8(mask >> np.uint64(k)))
    # What is left, together with some bits before it: a whole byte again, without a loop over bits.
    unpack_byte(row, start + count - 8, np.uint8(mask >> np.uint64(count - 8)))
