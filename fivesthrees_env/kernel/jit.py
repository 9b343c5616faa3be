"""How the kernel is compiled: once, cached on disk, and never from a stale cache.

Numba stores compiled functions beside their source file and checks that file alone, so an edit in one
module would leave its callers in other modules on the old code. The check below closes that gap.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import numba
from numba.core import types
from numba.extending import intrinsic

_PACKAGE = Path(__file__).resolve().parents[1]


def _drop_stale_caches() -> None:
    """Delete compiled files that are older than the newest source of the package."""
    newest = max(path.stat().st_mtime for path in _PACKAGE.rglob("*.py"))
    for path in _PACKAGE.rglob("__pycache__/*.nb[ci]"):
        with suppress(OSError):  # another process may have been faster
            if path.stat().st_mtime < newest:
                path.unlink()


_drop_stale_caches()


def jit(function: Callable[..., Any]) -> Any:
    """Compile a kernel function: no Python objects, no GIL, cached on disk."""
    return numba.njit(cache=True, nogil=True, error_model="numpy")(function)


@intrinsic
def lowest_bit(typingctx: Any, mask: Any) -> Any:
    """Position of the lowest set bit of a non-zero uint64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), codegen


@intrinsic
def count_bits(typingctx: Any, mask: Any) -> Any:
    """Number of set bits of a uint64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen
