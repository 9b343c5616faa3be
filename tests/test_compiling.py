"""The kernel's compiler: when it works, what it says, and the instructions written for it."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import threading
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivesthrees_env.kernel.jit import (
    clear,
    copy,
    count_bits,
    fetch_add,
    jit,
    lowest_bit,
    positives,
    unpack,
)
from fivesthrees_env.kernel.known import borrowed, scratch
from fivesthrees_env.kernel.record import MATCH

ROOT = Path(__file__).resolve().parents[1]


def python(script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """A script in a process of its own."""
    command, environment = [sys.executable, "-c", textwrap.dedent(script)], os.environ | variables
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=120, check=False
    )


# ---------------------------------------------------------------------------------- when it works

FIRST_STEP = """
    import gc
    import numpy as np
    from numba.core import event
    from numba.core.dispatcher import Dispatcher
    from fivesthrees_env.batch import MatchBatch

    def ready():
        functions = [thing for thing in gc.get_objects() if isinstance(thing, Dispatcher)]
        return {{(f.py_func.__qualname__, str(types)) for f in functions for types in f.signatures}}

    batch = MatchBatch({arguments})
    before = ready()
    assert any("_step_blocks" in name for name, _ in before)
    with event.install_recorder("numba:compile") as recorder:
        batch.step({actions})
        batch.random_actions(np.random.default_rng(1))
    assert not recorder.buffer, recorder.buffer
    assert ready() == before, ready() - before
"""
RANDOM = "batch.random_actions(np.random.default_rng(0))"


@pytest.mark.parametrize(
    ("arguments", "actions"),
    [
        ("4, 'fives_and_threes-4p', seed=0", RANDOM),
        (
            "600, 'all_fives-3p', seed=0, skip_forced=True, reward='win', episode='round', num_threads=2",
            RANDOM,
        ),
        ("4, 'fives_and_threes-4p', seed=0, specialise=True", RANDOM),
        ("4, 'mini-2'", f"np.repeat({RANDOM}, 2)[::2]"),
        ("4, 'mini-2'", f"np.frombuffer({RANDOM}.tobytes(), np.int64)"),
        ("4, 'mini-2'", f"{RANDOM}.astype('>i2')"),
    ],
    ids=[
        "plain",
        "with every option",
        "compiled for its rules",
        "gaps between actions",
        "read-only actions",
        "other whole numbers",
    ],
)
def test_a_batch_has_everything_compiled_before_the_first_step(arguments: str, actions: str) -> None:
    """Neither the first step nor the first random choice compiles a function or loads a compiled one."""
    finished = python(FIRST_STEP.format(arguments=arguments, actions=actions))
    assert finished.returncode == 0, finished.stderr


# ------------------------------------------------------------------------------------ what it says

TWO_FUNCTIONS = """
    import sys
    import numpy as np
    from fivesthrees_env.kernel.settle import mask_pips
    from fivesthrees_env.threads import next_block

    print("imported", file=sys.stderr)
    assert next_block((np.zeros(3, np.int64), np.zeros(1, np.int64), np.zeros(8, np.int64))) == 0
    print("one function", file=sys.stderr)
    assert mask_pips(np.uint64(0b111)) == 0 + 1 + 2
    print("two functions", file=sys.stderr)
"""
TOLD = (
    "fivesthrees_env: compiling what is used here for the first time; "
    "it takes up to half a minute, and is kept for the next time"
)


def test_compiling_is_told_once_a_process_and_only_where_it_happens(tmp_path: Path) -> None:
    """On stderr, before the first function; a second process finds the compiled ones and is silent."""
    first, second = (python(TWO_FUNCTIONS, NUMBA_CACHE_DIR=str(tmp_path)) for _ in range(2))
    assert first.stderr.splitlines() == ["imported", TOLD, "one function", "two functions"]
    assert second.stderr.splitlines() == ["imported", "one function", "two functions"]
    assert first.stdout == second.stdout == ""


def test_compiling_other_peoples_functions_is_not_told() -> None:
    script = """
        import numba
        import fivesthrees_env.kernel.jit
        assert numba.njit(lambda x: x + 1)(1) == 2
    """
    finished = python(script)
    assert (finished.returncode, finished.stderr) == (0, "")


# ------------------------------------------------------------------------------ its instructions


@pytest.mark.parametrize("count", range(65))
@given(mask=st.integers(0, 2**64 - 1), start=st.integers(0, 70))
@settings(max_examples=15)
def test_unpack_writes_the_lowest_bits_and_nothing_beside_them(count: int, mask: int, start: int) -> None:
    row = np.full(start + count + 70, 77, np.int8)
    unpack(row, start, np.uint64(mask), count)
    assert row[start : start + count].tolist() == [mask >> k & 1 for k in range(count)]
    assert (row[:start] == 77).all()
    assert (row[start + count :] == 77).all()


_positives_of_10 = positives(10)


@jit
def _clear(row, start, count):
    clear(row, start, count)


@jit
def _copy(target, source):
    copy(target, source)


@jit
def _positives(row):
    return _positives_of_10(row)


@given(st.integers(0, 200), st.integers(0, 200))
@settings(max_examples=50)
def test_clear_sets_to_zero_what_it_is_given_and_nothing_beside_it(start: int, count: int) -> None:
    row = np.full(start + count + 9, 77, np.int8)
    _clear(row, start, count)
    assert row.tolist() == [77] * start + [0] * count + [77] * 9


@given(st.lists(st.integers(-128, 127), max_size=20), st.integers(0, 9))
@settings(max_examples=50)
def test_copy_writes_a_row_and_nothing_beside_it(values: list[int], more: int) -> None:
    target = np.full(len(values) + more, 77, np.int8)
    _copy(target, np.array(values, np.int8))
    assert target.tolist() == values + [77] * more


@given(st.lists(st.integers(-128, 127), min_size=10, max_size=10))
@settings(max_examples=50)
def test_positives_tells_which_numbers_are_above_zero(values: list[int]) -> None:
    assert _positives(np.array(values, np.int8)) == sum(1 << k for k, value in enumerate(values) if value > 0)


@jit
def _times(array, factor):
    """A borrowed array, changed in place, and its sum."""
    lent = borrowed(array)
    lent *= factor
    return lent.sum()


def test_a_borrowed_array_is_the_same_memory_and_still_its_owners() -> None:
    array = np.arange(5)
    before = sys.getrefcount(array)
    assert _times(array, 3) == 30
    assert array.tolist() == [0, 3, 6, 9, 12]
    assert sys.getrefcount(array) == before


@jit
def _next_to(matches, i):
    """The seat after one that is written to scratch records: like those of an array, like one record."""
    one, other = scratch(matches), scratch(matches[i])
    one.seat, other.seat = matches[i].seat, matches[i].seat + 1
    return one.seat, other.seat


def test_scratch_records_are_no_records_of_the_array_and_not_each_other() -> None:
    matches = np.zeros(3, MATCH)
    matches["seat"] = [0, 1, 2]
    assert _next_to(matches, 1) == (1, 2)
    assert matches["seat"].tolist() == [0, 1, 2]


@jit
def _count(mask):
    return count_bits(mask)


@jit
def _lowest(mask):
    return lowest_bit(mask)


@jit
def _count_up(counters, i, times):
    """What the counter was last."""
    was = np.int64(0)
    for _ in range(times):
        was = fetch_add(counters, i, 1)
    return was


def test_a_kernel_that_is_not_compiled_says_why_it_does_not_work() -> None:
    result = python("from fivesthrees_env import Match", NUMBA_DISABLE_JIT="1")
    assert result.stderr.splitlines()[-1].startswith("ImportError: NUMBA_DISABLE_JIT is set; ")


@given(st.integers(1, 2**64 - 1))
def test_count_bits_and_lowest_bit(mask: int) -> None:
    assert _count(np.uint64(mask)) == mask.bit_count()
    assert _lowest(np.uint64(mask)) == (mask & -mask).bit_length() - 1


def test_fetch_add_counts_one_on_and_tells_what_was() -> None:
    counters = np.array([5, -1, 2**62])
    assert [_count_up(counters, i, 1) for i in (0, 0, 1, 2)] == [5, 6, -1, 2**62]
    assert counters.tolist() == [7, 0, 2**62 + 1]


def test_fetch_add_loses_no_count_between_threads() -> None:
    counters = np.zeros(1, np.int64)
    _count_up(counters, 0, 0)  # compiled now
    threads = [threading.Thread(target=_count_up, args=(counters, 0, 300_000)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counters[0] == 1_200_000
