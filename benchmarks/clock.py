"""How the benchmarks take time."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np


def timed(
    repeats: int, *parts: Callable[[], None], clock: Callable[[], float] = time.perf_counter
) -> list[float]:
    """Median seconds of each part, after a round that does not count.

    The parts take turns, so that the machine's mood hits all alike. For what runs on one core,
    ``time.process_time`` as the clock leaves out the time that other processes had.
    """
    seconds = np.zeros((repeats + 1, len(parts)))
    for row in seconds:
        for k, part in enumerate(parts):
            started = clock()
            part()
            row[k] = clock() - started
    return np.median(seconds[1:], axis=0).tolist()
