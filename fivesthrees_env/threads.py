"""One kernel on several threads: each works through its own part of the batch, then helps with the rest.

A step of some thousand matches takes a tenth of a millisecond on two threads. It is shared without losing
much of that:

- To wake a sleeping thread takes long. A helper that has just worked looks out for the next call for a while
  before it sleeps.
- Threads queue for the GIL. A helper looks out inside the kernel, in ``next_block``, and goes on without any
  Python where the next call is like the last: the same kernel with the same arrays.
- To fetch a match from another core's cache takes longer than to step it. A thread begins each call where it
  began the last one.
- On a busy machine, a helper may come late. The caller works, too, and waits for none that has not come.
  (OpenMP's threads wait for each other, which then costs a time slice, a hundred times the call.)
"""

from __future__ import annotations

import atexit
import operator
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from fivesthrees_env.kernel.jit import atomic_load, fetch_add, jit, pause

__all__ = ["check_threads", "next_block", "run"]

# What all threads share. The gate tells in one number, hence at one moment, how many helpers are inside,
# whether more may come, and which call it is. Helpers read the others only while they are inside.
_GATE, _JOB, _WANTED = range(3)
_OPEN = 1 << 15
_CALL = 1 << 16

# What each thread has of its own: who it is; the job that it knows, and how many helpers that wants; the
# block that it begins with, the one it looks at next, and how many it has looked at; whether it is inside
# (the caller: whether anybody may be), and in which call it was last.
_ROLE, _KNOWN, _WANTS, _FIRST, _NEXT, _SEEN, _INSIDE, _LAST = range(8)
_CALLER, _HELPER = 1, 2  # 0: works alone; helpers are numbered from _HELPER on

# Looks at the gate: 0.1 ms of looking out for the next call, 20 ms of waiting for helpers.
_LOOK_OUT, _PATIENCE = 5_000, 1_000_000


def check_threads(num_threads: int) -> int:
    """The number itself.

    Raises:
        ValueError: if it is not a whole number from 1 on.
    """
    if not isinstance(num_threads, int | np.integer) or num_threads < 1:
        raise ValueError(f"num_threads: {num_threads!r} given; allowed: 1 or more")
    return int(num_threads)


def run(kernel: Callable[..., None], num_threads: int, num_blocks: int, *args: Any) -> None:
    """Call ``kernel(blocks, *args)`` on that many threads; each asks ``next_block(blocks)`` for its work.

    There are helpers for all cores but one, and at least one; while they work for somebody else, the caller
    works alone. When this returns or raises, nobody is at work any more; an error of a helper is raised here.
    Calls that follow each other closely cost least with the same arguments, not only equal ones.

    A kernel asks until it gets -1, and not again; it has nothing to do then. What it reads before it asks for
    the first time must be the same in all calls with these arguments.
    """
    if num_threads > 1 and _team.free.acquire(blocking=False):
        try:
            _team.call(kernel, num_threads, num_blocks, args)
        finally:
            _team.free.release()
    else:
        kernel((_nobody, np.zeros(num_blocks, np.int64), np.zeros(8, np.int64)), *args)


def _own(role: int) -> np.ndarray:
    """The numbers that a thread has of its own."""
    own = _numbers(8)
    own[_ROLE], own[_LAST] = role, -1
    return own


def _numbers(count: int) -> np.ndarray:
    """Zeros with a cache line of room on both sides, so that threads do not take each other's away."""
    return np.zeros(count + 16, np.int64)[8:-8]


# ------------------------------------------------------------------------------- inside the kernel


@jit
def next_block(blocks):
    """Number of a block that nobody has taken yet; -1 once all are taken and, for the caller, done."""
    shared, taken, own = blocks
    if own[_ROLE] == _CALLER and not own[_INSIDE]:
        _open(shared, taken, own)
    while True:
        while own[_SEEN] < taken.size:
            block = own[_NEXT]
            own[_NEXT] = block + 1 if block + 1 < taken.size else 0
            own[_SEEN] += 1
            if fetch_add(taken, block, 1) == 0:
                return block
        if own[_ROLE] == _CALLER:
            _close(shared, own)
        if own[_ROLE] < _HELPER or not _goes_on(shared, own):
            return np.int64(-1)


@jit
def _open(shared, taken, own):
    """A call begins. By now the caller is without the GIL: no helper will have to wait for it."""
    taken[:] = 0
    shared[_JOB], shared[_WANTED] = own[_KNOWN], own[_WANTS]
    own[_NEXT], own[_SEEN], own[_INSIDE] = 0, 0, 1
    fetch_add(shared, _GATE, _OPEN)


@jit
def _close(shared, own):
    """Let nobody come any more, and wait some time for those who are inside."""
    fetch_add(shared, _GATE, _CALL - _OPEN)
    for _ in range(_PATIENCE):
        if atomic_load(shared, _GATE) % _OPEN == 0:
            own[_INSIDE] = 0
            break
        pause()


@jit
def _goes_on(shared, own):
    """A helper is done, and looks out; whether it has come to a call that it knows how to work on."""
    _leave(shared, own)
    if not _look_out(shared, own) or atomic_load(shared, _JOB) != own[_KNOWN]:
        return False
    own[_NEXT], own[_SEEN] = own[_FIRST], 0
    return True


@jit
def _look_out(shared, own):
    """Wait some time for another call, and go inside; returns whether there was one."""
    for _ in range(_LOOK_OUT):
        gate = atomic_load(shared, _GATE)
        if gate & _OPEN and gate // _CALL != own[_LAST]:
            if fetch_add(shared, _GATE, 1) // _OPEN == gate // _OPEN:  # the same call, and open
                own[_INSIDE], own[_LAST] = 1, gate // _CALL
                if own[_ROLE] - _HELPER < atomic_load(shared, _WANTED):
                    return True
                own[_INSIDE] = 0
            fetch_add(shared, _GATE, -1)
        pause()
    return False


@jit
def _leave(shared, own):
    own[_INSIDE] = 0
    fetch_add(shared, _GATE, -1)


# ---------------------------------------------------------------------------------- outside of it


@dataclass
class _Job:
    """What a call works on, and by what the caller finds its blocks."""

    kernel: Callable[..., None]
    args: tuple[Any, ...]
    blocks: tuple[np.ndarray, np.ndarray, np.ndarray]
    helpers: list[_Helper]

    def same_as(self, kernel: Callable[..., None], num_helpers: int, num_blocks: int, args: Any) -> bool:
        """Whether this is the job of a call, so that helpers need not be told about it."""
        return (
            self.kernel is kernel
            and len(self.helpers) == num_helpers
            and len(self.blocks[1]) == num_blocks
            and len(self.args) == len(args)
            and all(map(operator.is_, self.args, args))
        )


class _Team:
    """The helpers of this process, and what they work on.

    Attributes:
        free: held by the thread whose call it is.
        shared: (3,) int64, see above.
        job: the running call's, and for a moment the last one's.
        running: whether there is a call to come to.
        over: whether the helpers are to end.
    """

    def __init__(self) -> None:
        self.begin()

    def begin(self) -> None:
        """Without any helper: a forked process inherits the team, but none of its threads."""
        self.free = threading.Lock()
        self.shared = _numbers(3)
        self.job: _Job | None = None
        self.running, self.over = False, False
        self._helpers: list[_Helper] = []
        self._num_jobs = 0
        self._most_helpers = max(_num_cores() - 1, 1)

    def end(self) -> None:
        """Let the helpers end: Python, when it ends, would tear them out of compiled code."""
        self.free.acquire(timeout=1.0)  # and never released: whoever calls now works alone
        self.over = True
        for helper in self._helpers:
            helper.wake.set()
            helper.thread.join(1.0)

    def call(
        self, kernel: Callable[..., None], num_threads: int, num_blocks: int, args: tuple[Any, ...]
    ) -> None:
        """See ``run``."""
        if self.shared[_GATE] % _CALL:  # a call that was interrupted while it ended
            self._close()
        job, count = self.job, min(num_threads - 1, self._most_helpers)
        if job is None or not job.same_as(kernel, count, num_blocks, args):
            job = self._new_job(kernel, count, num_blocks, args)
        try:
            self.job, self.running = job, True
            for helper in job.helpers:
                if helper.asleep:
                    helper.wake.set()
            kernel(job.blocks, *args)
        except BaseException:
            job.blocks[1][:] = 1  # what is left is left
            self.job = None
            raise
        finally:
            self._finish(job)
            errors = [helper.take_error() for helper in job.helpers]
        for error in filter(None, errors):
            raise error

    def rest(self) -> None:
        """Between calls that do not follow closely: keep no array of the last one."""
        if self.free.acquire(blocking=False):
            self.job = None
            self.free.release()

    def _finish(self, job: _Job) -> None:
        """Wait for the helpers, whatever signal comes: nobody may be at work once a call has ended."""
        self.running, interrupt = False, None
        while job.blocks[2][_INSIDE]:
            try:
                self._close()
                job.blocks[2][_INSIDE] = 0
            except BaseException as error:
                interrupt = error
                job.blocks[1][:] = 1
        if interrupt is not None:
            self.job = None
            raise interrupt

    def _close(self) -> None:
        """End a call whose kernel has raised an error, or lost its patience with a helper."""
        if self.shared[_GATE] & _OPEN:
            _fetch_add(self.shared, _GATE, _CALL - _OPEN)
        while _value(self.shared, _GATE) % _OPEN:
            time.sleep(1e-4)

    def _new_job(self, kernel: Callable[..., None], count: int, num_blocks: int, args: Any) -> _Job:
        helpers = self._gather(count)
        self._num_jobs += 1
        own = _own(_CALLER)
        own[_KNOWN], own[_WANTS] = self._num_jobs, len(helpers)
        return _Job(kernel, args, (self.shared, np.zeros(num_blocks, np.int64), own), helpers)

    def _gather(self, count: int) -> list[_Helper]:
        """So many helpers, new ones if need be; fewer where there are no more cores or threads."""
        try:
            while len(self._helpers) < count:
                self._helpers.append(_Helper(self, len(self._helpers)))
        except RuntimeError:  # no thread can be had, as when Python shuts down
            pass
        return self._helpers[:count]


class _Helper:
    """A thread that works for the team.

    Attributes:
        asleep: whether it has looked out in vain, and waits for `wake`.
    """

    def __init__(self, team: _Team, index: int) -> None:
        self.team, self.index = team, index
        self.asleep = False
        self.wake = threading.Event()
        self._error: BaseException | None = None
        self.thread = threading.Thread(target=self._live, name=f"fivesthrees-{index}", daemon=True)
        self.thread.start()

    def take_error(self) -> BaseException | None:
        """The error of the latest call, once."""
        error, self._error = self._error, None
        return error

    def _live(self) -> None:
        own = _own(_HELPER + self.index)
        while not self.team.over:
            if own[_INSIDE] or _look_out(self.team.shared, own):
                self._work(own)
            else:
                self.asleep = True
                if not (self._may_come(own) or self.team.over):
                    self.team.rest()
                    self.wake.wait()
                self.wake.clear()
                self.asleep = False

    def _may_come(self, own: np.ndarray) -> bool:
        """Whether there is a call that has begun too late for the latest look-out, and too early to wake."""
        team, job = self.team, self.team.job
        call = team.shared[_GATE] // _CALL
        return team.running and call != own[_LAST] and job is not None and self in job.helpers

    def _work(self, own: np.ndarray) -> None:
        """Work on the job of the call that the helper has come to, and on all that are like it."""
        team, job = self.team, self.team.job
        try:
            if job is not None:  # else it has just been forgotten
                _, taken, callers = job.blocks
                own[_KNOWN], own[_SEEN] = callers[_KNOWN], 0
                own[_FIRST] = own[_NEXT] = len(taken) * (self.index + 1) // (len(job.helpers) + 1)
                job.kernel((team.shared, taken, own), *job.args)
        except BaseException as error:
            if not own[_INSIDE]:  # after its part; nobody waits for it any more
                raise
            self._error = error
            taken[:] = 1  # what is left is left
        if own[_INSIDE] and (job is None or team.shared[_JOB] == own[_KNOWN]):  # the kernel stopped early
            _leave(team.shared, own)


@jit
def _fetch_add(numbers, i, amount):
    return fetch_add(numbers, i, amount)


@jit
def _value(numbers, i):
    return atomic_load(numbers, i)


def _num_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


_team, _nobody = _Team(), np.zeros(3, np.int64)
atexit.register(_team.end)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_team.begin)
