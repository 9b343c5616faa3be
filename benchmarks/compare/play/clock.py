"""What all measuring scripts share: ``script.py GAME SECONDS`` prints one line of JSON.

    {"steps": 81920, "seconds": 0.51, "observation_bytes": 366, "mask_bytes": 57}

Only the standard library is imported, so that it runs in any environment.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

WARM_UP = 0.25  # share of the measured time that is played before and does not count


@dataclass
class Loop:
    """Random play, ready to be timed."""

    play: Callable[[int], float | None]
    """Makes so many calls of the environment; may return the seconds that count, if not all of them do."""
    observation_bytes: int
    """Written in one step, for all players that are shown something."""
    mask_bytes: int
    """Likewise; 0 where the library gives no mask."""
    steps_per_call: int = 1
    """Environments that one call steps."""


def seconds_of(loop: Loop, calls: int) -> float:
    started = time.perf_counter()
    counted = loop.play(calls)
    return time.perf_counter() - started if counted is None else counted


def measure(loop: Loop, seconds: float) -> dict[str, float]:
    """Time about so many seconds of play, after a shorter stretch that does not count."""
    calls = 1
    seconds_of(loop, calls)  # compiles
    while (spent := seconds_of(loop, calls)) < WARM_UP * seconds:
        calls *= 2
    calls = max(1, round(calls * seconds / spent))
    spent = seconds_of(loop, calls)
    return {
        "steps": calls * loop.steps_per_call,
        "seconds": spent,
        "observation_bytes": loop.observation_bytes,
        "mask_bytes": loop.mask_bytes,
    }


def run(prepare: Callable[[str], Loop]) -> None:
    """The command line of a script; ``prepare`` makes the loop of a game."""
    game, seconds = sys.argv[1], float(sys.argv[2])
    print(json.dumps(measure(prepare(game), seconds)))
