"""How the kernel is compiled: once, cached on disk, and never from a stale cache.

Numba stores compiled functions beside their source file and checks that file alone, so an edit in one
module would leave its callers in other modules on the old code. The check below closes that gap.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from contextlib import suppress
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
def _digest_of_sources() -> str:
    sources = sorted(_PACKAGE.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


@cache
def _drop_stale_caches(folder: Path) -> None:
    """Delete the compiled files of a folder unless they were made from the package as it is now."""
    stamp = folder / "__pycache__" / "compiled-from"
    with suppress(OSError):  # a folder that cannot be written holds no compiled files either
        if stamp.exists() and stamp.read_text() == _digest_of_sources():
            return
        for path in stamp.parent.glob("*.nb[ci]"):
            path.unlink(missing_ok=True)
        stamp.parent.mkdir(exist_ok=True)
        stamp.write_text(_digest_of_sources())


def jit(function: Callable[..., Any]) -> Any:
    """Compile a kernel function, or one that calls some: no Python objects, no GIL, cached on disk."""
    _drop_stale_caches(Path(function.__code__.co_filename).parent)
    return numba.njit(cache=True, nogil=True, error_model="numpy", forceinline=True)(function)


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
