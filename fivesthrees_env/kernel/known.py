"""Rules that the compiler knows: machine code for one game.

The kernel reads the rules from each match record, since any game may be in it. Where thousands of matches
are stepped it pays to compile for the one game that they all play: ``known(matches, game)`` sees the same
records as a type whose ``rules`` are constants, and the compiler drops every branch and unrolls every loop
that they decide. The source of the kernel stays as it is, and so does what it does.

Numbers that follow from the rules, such as the places in an observation, come the same way: a kernel takes
`game`, which is either a ``KnownGame`` or, where nothing is to be compiled in, the array of these numbers.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.datamodel import models
from numba.core.imputils import impl_ret_borrowed, lower_getattr_generic
from numba.extending import NativeValue, intrinsic, register_model, unbox

from fivesthrees_env.kernel.jit import CACHE_LINE

__all__ = ["KnownGame", "borrowed", "known", "numbers_of", "scratch"]

#: Functions written as LLVM instructions; typed by Numba, not for type checkers.
_intrinsic: Any = intrinsic


class KnownGame:
    """The constants of one game, as an argument of a kernel; each game is a type of its own.

    Args:
        rules: ``Rules.record``.
        numbers: (rows, columns) int64, what else the kernel is to know.
    """

    def __init__(self, rules: np.ndarray, numbers: np.ndarray) -> None:
        values = tuple((name, rules[name].item()) for name in rules.dtype.names or ())
        self._numba_type_ = _GameType(values, tuple(map(tuple, numbers.tolist())))


class _GameType(types.Opaque):
    def __init__(self, rules: tuple[tuple[str, int], ...], numbers: tuple[tuple[int, ...], ...]) -> None:
        self.rules, self.numbers = rules, numbers
        super().__init__(f"Game({rules}, {numbers})")


class _Known(types.Record):
    """A record type that is told from others by its name."""

    @property
    def mangling_args(self) -> tuple[str, tuple[()]]:
        # Symbols of cached code come from different processes. Numba's own are numbered in each of them.
        return self.name, ()


class _KnownRules(_Known):
    """``RULES`` with a constant in every field."""

    def __init__(self, rules: Any, values: tuple[tuple[str, int], ...]) -> None:
        super().__init__(_fields(rules), rules.size, rules.aligned)
        self.values = dict(values)
        self.name = f"Rules{values}"


class _KnownMatch(_Known):
    """``MATCH`` with constant rules."""

    def __init__(self, match: types.Record, values: tuple[tuple[str, int], ...]) -> None:
        rules = _KnownRules(match.fields["rules"].type, values)
        super().__init__(_fields(match, rules=rules), match.size, match.aligned)
        self.name = f"Match{values}"


register_model(_GameType)(models.OpaqueModel)
register_model(_KnownRules)(models.RecordModel)
register_model(_KnownMatch)(models.RecordModel)


def _fields(record: types.Record, **others: types.Type) -> Any:
    """The fields of a record as its constructor takes them, some with another type."""
    return [
        (name, {"type": others.get(name, field.type), "offset": field.offset})
        for name, field in record.fields.items()
    ]


@unbox(_GameType)
def _unbox_game(typ: Any, obj: Any, c: Any) -> NativeValue:
    return NativeValue(c.context.get_dummy_value())


@lower_getattr_generic(_KnownRules)
def _constant(context: Any, builder: Any, typ: Any, value: Any, name: str) -> Any:
    return context.get_constant(typ.typeof(name), typ.values[name])


@_intrinsic
def known(typingctx: Any, matches: Any, game: Any) -> Any:
    """The same array (N,) of ``MATCH`` for a ``KnownGame``, with rules that the compiler knows."""
    rules = game.rules if isinstance(game, _GameType) else None
    seen = matches.copy(dtype=_KnownMatch(matches.dtype, rules)) if rules else matches

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return impl_ret_borrowed(context, builder, seen, args[0])

    return seen(matches, game), codegen


@_intrinsic
def numbers_of(typingctx: Any, game: Any) -> Any:
    """The numbers of a game: constants if it is known, the array itself if not."""
    if not isinstance(game, _GameType):
        return game(game), lambda context, builder, _, args: impl_ret_borrowed(
            context, builder, game, args[0]
        )
    rows = game.numbers
    table = types.UniTuple(types.UniTuple(types.int64, len(rows[0])), len(rows))

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return context.get_constant_generic(builder, table, rows)

    return table(game), codegen


@_intrinsic
def scratch(typingctx: Any, records: Any) -> Any:
    """A record like this one or those of this array, on the stack, not initialised: working memory.

    It lasts as long as the function that asks for it. What the compiler can follow never reaches memory at
    all.
    """
    record = records.dtype if isinstance(records, types.Array) else records

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        memory = cgutils.alloca_once(builder, ir.ArrayType(ir.IntType(8), record.size))
        memory.align = CACHE_LINE
        return builder.bitcast(memory, context.get_value_type(record))

    return record(records), codegen


@_intrinsic
def borrowed(typingctx: Any, array: Any) -> Any:
    """The same array without its reference count, which costs an atomic step wherever it is handed on.

    For a loop whose caller keeps the array alive.
    """

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        uncounted = context.make_array(array)(context, builder, args[0])
        uncounted.meminfo = cgutils.get_null_value(uncounted.meminfo.type)
        return uncounted._getvalue()

    return array(array), codegen
