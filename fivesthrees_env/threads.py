"""One kernel on several threads: whoever is free takes the next block of the batch.

The calling thread works, too, and waits for no thread that has not begun. On a busy machine, where a helper
may wake late, a call is therefore hardly slower than on one thread. (OpenMP's threads wait for each other,
which on a busy machine costs a time slice, a hundred times the call.)
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from typing import Any

import numpy as np

from fivesthrees_env.kernel.jit import fetch_add, jit

__all__ = ["BLOCK", "check_threads", "next_block", "run"]

#: Matches that a thread takes at a time: some ten microseconds of work.
BLOCK = 256


def check_threads(num_threads: int) -> int:
    """The number itself.

    Raises:
        ValueError: if it is not a whole number from 1 on.
    """
    if not isinstance(num_threads, int | np.integer) or num_threads < 1:
        raise ValueError(f"num_threads: {num_threads!r} given; allowed: 1 or more")
    return int(num_threads)


def run(kernel: Callable[..., None], num_threads: int, *args: Any) -> None:
    """Call ``kernel(blocks, *args)`` on that many threads; it asks ``next_block(blocks)`` for its work.

    There are as many helpers as cores. When this returns or raises, nobody is at work any more; an error of
    a helper is raised here.
    """
    blocks = np.zeros(1, np.int64)
    helpers = []
    for _ in range(num_threads - 1):
        try:
            helpers.append(_pool().submit(kernel, blocks, *args))
        except RuntimeError:  # no thread can be had, as when Python shuts down: the caller works alone
            break
    try:
        kernel(blocks, *args)
    finally:
        begun = [helper for helper in helpers if not helper.cancel()]
        errors = [error for helper in begun if (error := helper.exception())]
    for error in errors:
        raise error


@jit
def next_block(blocks):
    """First index of a block that nobody has taken yet; past the end when all are taken."""
    return fetch_add(blocks, 0) * BLOCK


@cache
def _pool() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="fivesthrees")


if hasattr(os, "register_at_fork"):  # a forked process inherits the pool, but none of its threads
    os.register_at_fork(after_in_child=_pool.cache_clear)
