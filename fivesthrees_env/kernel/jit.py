"""How the kernel is compiled: once, cached on disk, and never from a stale cache.

Numba asks of a cached function whether its own file has changed, so an edit in one module would leave its
callers in other modules on the old code. Here all of them depend on all sources of the package, and those
outside of it (``agents``, ``train``) on their neighbours and on ``agents`` too.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from platform import machine
from typing import Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, event, types
from numba.extending import intrinsic

CACHE_LINE = 64  # bytes
_HOT_LINES = 6  # of a match, the first plies of the round included; records do not begin on a line

# The instruction by which a core is told that it only waits, as LLVM names it.
_PAUSES: dict[str, tuple[Any, ...]] = {
    "x86_64": ("llvm.x86.sse2.pause",),
    "AMD64": ("llvm.x86.sse2.pause",),
    "aarch64": ("llvm.aarch64.hint", 1),
    "arm64": ("llvm.aarch64.hint", 1),
}

_PACKAGE = Path(__file__).resolve().parents[1]

if getattr(numba.config, "DISABLE_JIT", 0):
    raise ImportError(f"NUMBA_DISABLE_JIT is set; {_PACKAGE.name} works on compiled records only: unset it")


@cache
def _digest_of_sources(folder: Path) -> str:
    """A fingerprint of what a function in this folder can depend on.

    That is the package; outside of it also the neighbours and, in a checkout, ``agents``.
    """
    sources = set(_PACKAGE.rglob("*.py"))
    if not folder.is_relative_to(_PACKAGE):
        sources.update(folder.glob("*.py"), (_PACKAGE.parent / "agents").glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sorted(sources))).hexdigest()


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


class _FirstCompile(event.Listener):
    """Says once per process, on stderr, that something is being compiled: a wait that nobody expects."""

    said = False

    def on_start(self, event: Any) -> None:
        source = Path(event.data["dispatcher"].py_func.__code__.co_filename)
        if not self.said and (source.is_relative_to(_PACKAGE) or source.parent.parent == _PACKAGE.parent):
            self.said = True
            sys.stderr.write(
                f"{_PACKAGE.name}: compiling what is used here for the first time; "
                "it takes up to half a minute, and is kept for the next time\n"
            )

    def on_end(self, event: Any) -> None:
        """A listener has to have one."""


_listen: Any = event.register
_listen("numba:compile", _FirstCompile())


def call(function: Callable[..., Any]) -> Any:
    """``jit`` for what is large or happens once a round: called, not copied into every caller."""
    return jit(function, inline=False)


#: Functions written as LLVM instructions; typed by Numba, not for type checkers.
_intrinsic: Any = intrinsic
_declare: Any = cgutils.get_or_insert_function


@_intrinsic
def lowest_bit(typingctx: Any, mask: Any) -> Any:
    """Position of the lowest set bit of a non-zero uint64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.cttz(args[0], context.get_constant(types.boolean, True))

    return types.uint64(types.uint64), codegen


def _unpacker(lanes: int) -> Any:
    """An intrinsic: the lowest `lanes` bits of a uint64 go to ``row[start : start + lanes]`` (int8)."""

    @_intrinsic
    def unpack_lanes(typingctx: Any, row: Any, start: Any, mask: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, args[0])
            bits = builder.bitcast(
                builder.trunc(args[2], ir.IntType(lanes)), ir.VectorType(ir.IntType(1), lanes)
            )
            whole = ir.VectorType(ir.IntType(8), lanes)
            target = builder.bitcast(builder.gep(array.data, [args[1]]), whole.as_pointer())
            builder.store(builder.zext(bits, whole), target, align=1)
            return context.get_dummy_value()

        return types.void(row, types.int64, types.uint64), codegen

    return unpack_lanes


_unpack_4, _unpack_8, _unpack_16, _unpack_32 = map(_unpacker, (4, 8, 16, 32))


@_intrinsic
def clear(typingctx: Any, row: Any, start: Any, count: Any) -> Any:
    """Set ``row[start : start + count]`` (int8) to zero; a count that the compiler knows takes no loop."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        byte, pointer, word = ir.IntType(8), ir.IntType(8).as_pointer(), ir.IntType(64)
        fill = builder.module.declare_intrinsic("llvm.memset", [pointer, word])
        target = builder.bitcast(builder.gep(array.data, [args[1]]), pointer)
        builder.call(fill, [target, byte(0), args[2], ir.IntType(1)(0)])
        return context.get_dummy_value()

    return types.void(row, types.int64, types.int64), codegen


@_intrinsic
def copy(typingctx: Any, target: Any, source: Any) -> Any:
    """Copy a row of int8 onto another of at least its length."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        pointer, word = ir.IntType(8).as_pointer(), ir.IntType(64)
        onto, row = (
            context.make_array(typ)(context, builder, arg)
            for typ, arg in zip(signature.args, args, strict=True)
        )
        move = builder.module.declare_intrinsic("llvm.memcpy", [pointer, pointer, word])
        builder.call(move, [onto.data, row.data, builder.extract_value(row.shape, 0), ir.IntType(1)(0)])
        return context.get_dummy_value()

    return types.void(target, source), codegen


def positives(count: int) -> Any:
    """An intrinsic: bit k of its result is set if ``row[k] > 0``, for the first `count` of a row of int8."""

    @_intrinsic
    def positives_of(typingctx: Any, row: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, args[0])
            vector = ir.VectorType(ir.IntType(8), count)
            values = builder.load(builder.bitcast(array.data, vector.as_pointer()), align=1)
            bits = builder.icmp_signed(">", values, ir.Constant(vector, None))
            return builder.zext(builder.bitcast(bits, ir.IntType(count)), ir.IntType(64))

        return types.uint64(row), codegen

    return positives_of


@_intrinsic
def non_zeros(typingctx: Any, row: Any, start: Any) -> Any:
    """Which of ``row[start : start + 64]`` (int8) are not zero: a uint64, the first one lowest."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        whole = ir.VectorType(ir.IntType(8), 64)
        source = builder.bitcast(builder.gep(array.data, [args[1]]), whole.as_pointer())
        flags = builder.icmp_signed("!=", builder.load(source, align=1), ir.Constant(whole, None))
        return builder.bitcast(flags, ir.IntType(64))

    return types.uint64(row, types.int64), codegen


def adder(lanes: int) -> Any:
    """An intrinsic: ``sums[i : i + lanes] += terms[j : j + lanes]`` as one vector of floats.

    A loop would first rule out that they overlap.
    """

    @_intrinsic
    def add_lanes(typingctx: Any, sums: Any, i: Any, terms: Any, j: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            whole = ir.VectorType(context.get_value_type(signature.args[0].dtype), lanes)

            def vector(array: int, index: int) -> Any:
                data = context.make_array(signature.args[array])(context, builder, args[array]).data
                return builder.bitcast(builder.gep(data, [args[index]]), whole.as_pointer())

            target, source = vector(0, 1), vector(2, 3)
            size = signature.args[0].dtype.bitwidth // 8
            added = builder.fadd(builder.load(target, align=size), builder.load(source, align=size))
            builder.store(added, target, align=size)
            return context.get_dummy_value()

        return types.void(sums, types.int64, terms, types.int64), codegen

    return add_lanes


@_intrinsic
def count_bits(typingctx: Any, mask: Any) -> Any:
    """Number of set bits of a uint64."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@_intrinsic
def fetch_add(typingctx: Any, counters: Any, i: Any, amount: Any) -> Any:
    """Add to ``counters[i]`` (int64), as one step for all threads; returns what it was."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        counter = builder.gep(array.data, [args[1]])
        return builder.atomic_rmw("add", counter, args[2], "seq_cst")

    return types.int64(counters, types.int64, types.int64), codegen


@_intrinsic
def atomic_load(typingctx: Any, counters: Any, i: Any) -> Any:
    """``counters[i]`` (int64) as it is now, whoever has written it."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        array = context.make_array(signature.args[0])(context, builder, args[0])
        return builder.load_atomic(builder.gep(array.data, [args[1]]), "acquire", 8)

    return types.int64(counters, types.int64), codegen


@_intrinsic
def pause(typingctx: Any) -> Any:
    """Let the core rest for a moment (some ten nanoseconds): for loops that wait."""

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        name, *hint = _PAUSES.get(machine(), ("llvm.donothing",))
        words = [ir.IntType(32)(number) for number in hint]
        kind = ir.FunctionType(ir.VoidType(), [word.type for word in words])
        builder.call(_declare(builder.module, kind, name), words)
        return context.get_dummy_value()

    return types.void(), codegen


def _prefetcher(lines: int) -> Any:
    """An intrinsic: ask for the first cache lines of an array's i-th element before they are needed."""

    @_intrinsic
    def prefetch_lines(typingctx: Any, elements: Any, i: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            array = context.make_array(signature.args[0])(context, builder, args[0])
            pointer, word = ir.IntType(8).as_pointer(), ir.IntType(32)
            element = builder.bitcast(builder.gep(array.data, [args[1]]), pointer)
            kind = ir.FunctionType(ir.VoidType(), [pointer, word, word, word])
            ask = builder.module.declare_intrinsic("llvm.prefetch", [pointer], kind)
            for line in range(lines):
                address = builder.gep(element, [ir.IntType(64)(line * CACHE_LINE)])
                builder.call(ask, [address, word(1), word(3), word(1)])  # to write, for all caches, data
            return context.get_dummy_value()

        return types.void(elements, types.int64), codegen

    return prefetch_lines


#: ``prefetch_hot(matches, i)``: what a ply touches of a match, but for the history.
prefetch_hot = _prefetcher(_HOT_LINES)
#: ``prefetch(elements, i)``: the line where an element begins.
prefetch = _prefetcher(1)


@jit
def unpack(row, start, mask, count):
    """Write the lowest `count` bits of a uint64 to ``row[start : start + count]`` (int8).

    Two vectors that overlap cover any count between one and two of their lengths, without a loop over bits.
    """
    if count >= 32:
        _unpack_32(row, start, mask)
        _unpack_32(row, start + count - 32, mask >> np.uint64(count - 32))
    elif count >= 16:
        _unpack_16(row, start, mask)
        _unpack_16(row, start + count - 16, mask >> np.uint64(count - 16))
    elif count >= 8:
        _unpack_8(row, start, mask)
        _unpack_8(row, start + count - 8, mask >> np.uint64(count - 8))
    elif count >= 4:
        _unpack_4(row, start, mask)
        _unpack_4(row, start + count - 4, mask >> np.uint64(count - 4))
    else:
        for k in range(count):
            row[start + k] = (mask >> np.uint64(k)) & np.uint64(1)
