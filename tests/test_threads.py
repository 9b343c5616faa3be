"""Threads: they share the work of a step and change nothing of what it writes."""

from __future__ import annotations

import copy
import os
import pickle
import signal
import subprocess
import sys
import textwrap
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from fivesthrees_env import threads
from fivesthrees_env.batch import _BLOCK as BLOCK
from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.kernel.jit import jit
from fivesthrees_env.kernel.record import MATCH
from fivesthrees_env.threads import next_block, run

ROOT = Path(__file__).resolve().parents[1]
Blocks = tuple[np.ndarray, np.ndarray, np.ndarray]
PATIENCE = 30.0  # seconds, after which a thread that does not come counts as lost


def written(batch: MatchBatch) -> dict[str, bytes]:
    """All that a batch shows and keeps, by name; of records the fields, as copies leave out their padding."""
    arrays = {name: value for name, value in vars(batch).items() if isinstance(value, np.ndarray)}
    for name, records in (("matches", batch.matches), ("_views", batch.views)):
        del arrays[name]
        arrays |= {f"{name}.{field}": records[field] for field in MATCH.names}
    return {name: array.tobytes() for name, array in arrays.items()}


def assert_step_alike(batches: list[MatchBatch], rng: np.random.Generator) -> None:
    """A step of the first and of all others, with the same actions."""
    actions = batches[0].random_actions(rng)
    for batch in batches:
        batch.step(actions)
    wanted = written(batches[0])
    for batch in batches[1:]:
        assert written(batch) == wanted


# ------------------------------------------------------------------------------ a batch on threads


@pytest.mark.parametrize("skip_forced", [False, True])
@pytest.mark.parametrize(
    ("preset", "num_matches"),
    [
        ("fives_and_threes-4p", 2 * BLOCK + 1),
        ("fives_and_threes-2p", 3 * BLOCK),
        ("league-2p", BLOCK - 1),
        ("all_fives-3p", BLOCK + 100),
        ("all_fives-4p", 2),
        ("mini-3-pairs", 5 * BLOCK - 1),
    ],
)
def test_num_threads_changes_no_array_of_any_step(preset: str, num_matches: int, skip_forced: bool) -> None:
    """On one thread, on two, and on more than there are blocks and cores; the tiny ones end many matches."""
    batches = [
        MatchBatch(num_matches, preset, seed=3, skip_forced=skip_forced, num_threads=threads)
        for threads in (1, 2, 9)
    ]
    first = written(batches[0])
    assert all(written(batch) == first for batch in batches)
    rng = np.random.default_rng(3)
    for _ in range(40):
        assert_step_alike(batches, rng)


@pytest.mark.parametrize("episode", ["match", "round"])
def test_num_threads_changes_nothing_at_the_end_of_an_episode(episode: str) -> None:
    batches = [
        MatchBatch(2 * BLOCK, "mini-2", seed=1, episode=episode, reward="win", num_threads=threads)
        for threads in (1, 2)
    ]
    rng, ended = np.random.default_rng(1), 0
    for _ in range(60):
        assert_step_alike(batches, rng)
        ended += int(batches[1].dones.sum())
    assert ended > 2 * BLOCK


def test_a_state_stored_on_one_thread_goes_on_alike_on_two() -> None:
    one = MatchBatch(300, "all_fives-2p", seed=5, skip_forced=True)
    two = MatchBatch(300, "all_fives-2p", seed=6, skip_forced=True, num_threads=2)
    rng = np.random.default_rng(5)
    for _ in range(10):
        one.step(one.random_actions(rng))
    two.load_state_dict(one.state_dict())
    two.seed = one.seed
    assert_step_alike([one, two], rng)


@pytest.mark.parametrize("given", [0, -1, 1.0, 2.5, "2", None, np.float64(2), [2]])
def test_a_number_of_threads_that_cannot_be_is_refused(given: object) -> None:
    with pytest.raises(ValueError, match="allowed: 1 or more") as caught:
        MatchBatch(2, "mini-2", num_threads=given)
    assert str(caught.value) == f"num_threads: {given!r} given; allowed: 1 or more"


def test_a_number_of_threads_may_be_numpys() -> None:
    assert MatchBatch(2, "mini-2", num_threads=np.int32(2)).num_threads == 2


@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda batch: pickle.loads(pickle.dumps(batch))])
def test_a_copied_batch_steps_on_threads_and_alone(twin_of: Callable[[MatchBatch], MatchBatch]) -> None:
    batch, rng = MatchBatch(2 * BLOCK, "mini-4", seed=2, num_threads=2), np.random.default_rng(2)
    batch.step(batch.random_actions(rng))
    twin = twin_of(batch)
    assert twin.num_threads == 2
    for _ in range(10):
        assert_step_alike([batch, twin], rng)
    before = written(twin)
    batch.step(batch.random_actions(rng))
    assert written(twin) == before


def test_several_callers_may_step_batches_at_once() -> None:
    """Threads of the caller, each with a batch on two threads, share the helpers."""

    def play(seed: int, num_threads: int) -> dict[str, bytes]:
        batch = MatchBatch(2 * BLOCK, "mini-3", seed, num_threads=num_threads)
        rng = np.random.default_rng(seed)
        for _ in range(50):
            batch.step(batch.random_actions(rng))
        return written(batch)

    results: dict[int, dict[str, bytes]] = {}
    callers = [
        threading.Thread(target=lambda seed=seed: results.update({seed: play(seed, 2)})) for seed in range(4)
    ]
    for caller in callers:
        caller.start()
    for caller in callers:
        caller.join(PATIENCE)
    assert results == {seed: play(seed, 1) for seed in range(4)}


# ------------------------------------------------------------------------------------- forking

FORKED = """
    import os, threading
    import numpy as np
    from fivesthrees_env.batch import MatchBatch
    from fivesthrees_env.threads import next_block, run

    def meet(blocks):
        next_block(blocks)
        together.wait(30)  # passed only by two threads at work

    def play(batch, rng):
        for _ in range(5):
            batch.step(batch.random_actions(rng))
        return batch.state_dict()["matches"].tobytes()

    batch, rng = MatchBatch(1000, "mini-3", seed=0, num_threads=2), np.random.default_rng(0)
    play(batch, rng)  # the pool has threads now, which a child does not inherit
    together = threading.Barrier(2)
    run(meet, 2, 2)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        together = threading.Barrier(2)
        run(meet, 2, 2)
        os.write(writing, play(batch, rng)[:4096])
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status == 0, status
    assert os.read(reading, 4096) == play(batch, rng)[:4096]
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not fork")
def test_a_forked_batch_steps_on_threads_of_its_own() -> None:
    script = [
        sys.executable,
        "-W",
        "ignore",
        "-c",
        textwrap.dedent(FORKED),
    ]  # Python 3.12 warns of such forks
    finished = subprocess.run(script, cwd=ROOT, capture_output=True, text=True, timeout=120, check=False)
    assert finished.returncode == 0, finished.stderr


# ----------------------------------------------------------------------------- what run promises


class Meeting:
    """A kernel in which caller and helper meet; then each does its part."""

    def __init__(self, caller: Callable[[], None], helper: Callable[[], None]) -> None:
        self.main = threading.get_ident()
        self.both = threading.Barrier(2)
        self.parts = caller, helper

    def __call__(self, blocks: Blocks) -> None:
        next_block(blocks)
        self.both.wait(PATIENCE)
        self.parts[threading.get_ident() != self.main]()


def nothing() -> None:
    """No part."""


def fail() -> None:
    raise ZeroDivisionError("in the kernel")


@pytest.mark.parametrize("parts", [(nothing, fail), (fail, nothing), (fail, fail)])
def test_an_error_in_any_thread_reaches_the_caller(parts: tuple[Callable[[], None], ...]) -> None:
    with pytest.raises(ZeroDivisionError, match="in the kernel"):
        run(Meeting(*parts), 2, 2)
    run(Meeting(nothing, nothing), 2, 2)  # and the helper is still there


def test_after_an_error_of_the_caller_no_helper_is_still_writing() -> None:
    raised, ended = threading.Event(), []

    def caller() -> None:
        raised.set()
        fail()

    def helper() -> None:
        raised.wait(PATIENCE)
        ended.append(threading.Event().wait(0.05))

    with pytest.raises(ZeroDivisionError):
        run(Meeting(caller, helper), 2, 2)
    assert ended


def test_helpers_that_work_for_somebody_else_are_not_waited_for() -> None:
    """The caller does the work alone."""
    free, callers = threading.Event(), []
    busy = threading.Barrier(3)  # a helper, the thread that has called it, and this one

    def hold(blocks: Blocks) -> None:
        next_block(blocks)
        busy.wait(PATIENCE)
        free.wait(PATIENCE)

    holder = threading.Thread(target=run, args=(hold, 2, 2))
    holder.start()
    busy.wait(PATIENCE)
    run(lambda _: callers.append(threading.get_ident()), 4, 3)
    free.set()
    holder.join(PATIENCE)
    assert callers == [threading.get_ident()]


def test_a_helper_that_has_not_come_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a busy machine, where it may be long until a helper gets a core."""
    team, held = threads._Team(), threading.Event()
    monkeypatch.setattr(threads, "_team", team)
    monkeypatch.setattr(threads._Helper, "_live", lambda _: held.wait(PATIENCE))
    assert sorted(blocks_taken(2, 50)) == list(range(50))
    assert not held.is_set()
    held.set()


def blocks_taken(num_threads: int, num_blocks: int) -> list[int]:
    """By all threads together, in the order in which they were taken."""
    taken: list[int] = []

    def kernel(blocks: Blocks) -> None:
        while (block := next_block(blocks)) >= 0:
            taken.append(block)

    run(kernel, num_threads, num_blocks)
    return taken


@pytest.mark.parametrize("num_threads", [1, 2, 3])
@pytest.mark.parametrize("num_blocks", [0, 1, 2, 50])
def test_every_block_is_taken_once(num_threads: int, num_blocks: int) -> None:
    for _ in range(20):
        assert sorted(blocks_taken(num_threads, num_blocks)) == list(range(num_blocks))


@jit
def _mark(blocks, marks, amount):
    block = next_block(blocks)
    while block >= 0:
        marks[block] += amount[0]
        block = next_block(blocks)


@pytest.mark.parametrize("pause", [0.0, 1e-5, 2e-4, 1e-3], ids=str)
def test_calls_in_a_row_do_all_blocks_of_each(pause: float) -> None:
    """With the same arguments and with others, at once and after helpers have gone to sleep."""
    marks, others, amount = np.zeros(40, np.int64), np.zeros(7, np.int64), np.zeros(1, np.int64)
    for call in range(300):
        amount[0] = call
        before = marks.copy(), others.copy()
        run(_mark, 2, 40, marks, amount)
        if call % 5 == 0:
            run(_mark, 2, 7, others, amount)
        assert (marks == before[0] + call).all()
        assert (others == before[1] + call * (call % 5 == 0)).all()
        time.sleep(pause)


def test_helpers_keep_no_array_of_a_call_that_is_long_over() -> None:
    marks = np.zeros(1000)
    kept = weakref.ref(marks)
    run(_mark, 2, 1000, marks, np.ones(1))
    del marks
    deadline = time.monotonic() + PATIENCE
    while kept() is not None and time.monotonic() < deadline:
        time.sleep(0.01)
    assert kept() is None


EXITS = """
    import numpy as np
    from fivesthrees_env.batch import MatchBatch

    batch, rng = MatchBatch(1000, "mini-3", seed=0, num_threads=2), np.random.default_rng(0)
    for _ in range(20):
        batch.step(batch.random_actions(rng))
"""


@pytest.mark.parametrize("ending", ["", "raise SystemExit(0)", "import time; time.sleep(0.05)"])
def test_python_ends_whatever_the_helpers_do(ending: str) -> None:
    """Looking out for the next call, or asleep."""
    for _ in range(3):
        command = [sys.executable, "-c", f"{textwrap.dedent(EXITS)}\n{ending}\n"]
        ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        assert (ended.returncode, ended.stderr) == (0, "")


class Interrupt(Exception):
    """Raised by a signal."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no such signals")
def test_a_signal_ends_no_call_before_its_helper_is_done() -> None:
    """While the caller waits, as after Ctrl-C; calls after it are whole."""
    done: list[bool] = []
    caller = threading.get_ident()

    def interrupt(*_: object) -> None:
        raise Interrupt

    def kernel(blocks: Blocks) -> None:
        mine = next_block(blocks)
        both.wait(PATIENCE)
        if threading.get_ident() != caller:
            time.sleep(0.3)
            done.append(True)
        while mine >= 0:
            mine = next_block(blocks)

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        for _ in range(3):
            both = threading.Barrier(2)
            signal.setitimer(signal.ITIMER_REAL, 0.1)
            with pytest.raises(Interrupt):
                run(kernel, 2, 2)
            assert done.pop()
            assert sorted(blocks_taken(2, 10)) == list(range(10))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def test_after_an_error_the_rest_is_left() -> None:
    taken: list[int] = []

    def kernel(blocks: Blocks) -> None:
        while (block := next_block(blocks)) >= 0:
            taken.append(block)
            time.sleep(0.001)
            if len(taken) >= 3:
                fail()

    with pytest.raises(ZeroDivisionError):
        run(kernel, 2, 1000)
    assert len(taken) < 100
