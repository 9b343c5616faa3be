"""Deal sets: what an evaluation is played with, numbered and hashed so that others can repeat a figure.

    >>> deals = DealSet(Rules.preset("fives_and_threes-4p"), number=0, size=1000)
    >>> deals.hash                                   # of the very tiles, not of the program that dealt them
    >>> deals.check("0123456789ab")                  # ValueError if it is another set

A set is made of seeds, one per deal; duplicate rounds take the deal, whole matches go on from it. For match
equity, every deal has start scores too: those of a round drawn from whole matches of greedy against itself.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np

from fivesthrees_env.opponents import GreedyAgent
from fivesthrees_env.rules import Rules
from train.arena import deal_next_rounds, new_matches, play_out

__all__ = ["BLOCK", "CURVE_SEED", "EVALUATION_SEED", "START_MATCHES", "DealSet", "evaluation_seeds"]

#: Seeds of evaluation deals start here; training deals from below (see ppo.py), so the two never meet.
EVALUATION_SEED = 2**40
#: Number of the deals that learning curves are drawn with; final measurements take others.
CURVE_SEED = 2**16
#: Seeds of the matches that start scores are drawn from start here, above all evaluation deals.
START_SEED = 2**62 + 2**61
#: So many matches are played for the start scores of a set.
START_MATCHES = 1024
#: Deals that are played together, and share one random stream. A result depends on nothing else: not on how
#: blocks are spread over processes, nor on which of them were played before.
BLOCK = 16


def evaluation_seeds(count: int, seed: int) -> np.ndarray:
    """Seeds of the deals of an evaluation: (count,) int64; another `seed` gives others.

    Raises:
        ValueError: if there are no deals, or no such seeds.
    """
    if not 1 <= count <= 2**32:
        raise ValueError(f"deals, matches: {count} given; allowed: 1 to {2**32}")
    if not 0 <= seed < 2**30:
        raise ValueError(f"seed: {seed} given; allowed: 0 to {2**30 - 1}")
    return EVALUATION_SEED + seed * 2**32 + np.arange(count)


@dataclass(frozen=True)
class DealSet:
    """Deals of one game, with start scores; a larger set of the same number begins with the smaller one.

    Args:
        rules: the game.
        number: another number gives other deals.
        size: how many.

    Raises:
        ValueError: if there are no deals, or no such number.
    """

    rules: Rules
    number: int = 0
    size: int = 1000

    def __post_init__(self) -> None:
        evaluation_seeds(self.size, self.number)

    @cached_property
    def seeds(self) -> np.ndarray:
        """(size,) int64: ``new_matches(rules, seeds)`` deals them."""
        return evaluation_seeds(self.size, self.number)

    @cached_property
    def starts(self) -> np.ndarray:
        """(size, sides) int16: points at the start of a round, drawn from real matches."""
        pool = _round_starts(self.rules, self.number)
        draws = np.random.default_rng([START_SEED, self.number]).integers(len(pool), size=self.size)
        return pool[draws]

    @cached_property
    def hash(self) -> str:
        """Twelve hex digits of the rules, all deals, what they are continued with, and the start scores."""
        total = hashlib.sha256(self.rules.fingerprint.encode())
        for first in range(0, self.size, 4096):
            dealt = new_matches(self.rules, self.seeds[first : first + 4096])
            for name, dtype in (("hands", "<u8"), ("deck", "<i1"), ("opener", "<i1"), ("key", "<u8")):
                total.update(dealt[name].astype(dtype).tobytes())
        total.update(self.starts.astype("<i2").tobytes())
        return total.hexdigest()[:12]

    @property
    def about(self) -> dict[str, str | int]:
        """What has to be told with a figure: rules, number, size and hash."""
        return {"rules": str(self.rules), "number": self.number, "size": self.size, "hash": self.hash}

    def check(self, wanted: str | None) -> None:
        """Refuse another hash than this set's; None is not checked.

        Raises:
            ValueError: if it differs.
        """
        if wanted is not None and wanted != self.hash:
            raise ValueError(
                f"hash: {wanted} given, but {self} has {self.hash}; "
                "allowed: the number, size, rules and version that the hash was printed with"
            )

    def blocks(self) -> list[tuple[int, int]]:
        """Which deals are played together: (start, stop) of each block."""
        return [(first, min(first + BLOCK, self.size)) for first in range(0, self.size, BLOCK)]

    def stream(self, start: int, purpose: int) -> np.random.Generator:
        """The agents' source of chance for the block that starts at deal `start`."""
        return np.random.default_rng([self.number, start, purpose])

    def __str__(self) -> str:
        return f"deal set {self.number} of {self.size:,} deals, {self.rules}"


@lru_cache(maxsize=16)
def _round_starts(rules: Rules, number: int) -> np.ndarray:
    """The scores at the start of every round of greedy's matches against itself: (rounds, sides) int16."""
    matches = new_matches(rules, START_SEED + number * 2**20 + np.arange(START_MATCHES))
    greedy, scores = GreedyAgent(), []
    while matches.size:
        scores.append(matches["scores"][:, : rules.num_sides].copy())
        seats = np.zeros((matches.size, rules.num_players), np.int64)
        play_out(matches, [greedy], seats, np.random.default_rng(0), one_round=True)
        matches = matches[matches["over"] == 0]
        deal_next_rounds(matches)
    pool = np.concatenate(scores)
    pool.setflags(write=False)
    return pool
