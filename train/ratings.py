"""Bradley–Terry ratings of everyone against everyone, and where no rating fits: cycles.

In the model of Bradley and Terry ("Rank analysis of incomplete block designs", Biometrika 1952) player i wins
the share s_i / (s_i + s_j) of its games against j. Ratings are 400 * log10(s), as Elo's: 400 points are odds
of 10 to 1, 100 points are 64 %. One player is the anchor, with 1000 points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import NormalDist

import numpy as np

__all__ = ["ANCHOR_RATING", "VIRTUAL_DRAWS", "Ratings", "bradley_terry", "cycles", "rate"]

#: Rating of the anchor, points for odds of ten to one.
ANCHOR_RATING, TENFOLD = 1000.0, 400.0
#: Games, half won by each, that every pair has played beside its real ones: without them somebody who won
#: everything would have no finite rating.
VIRTUAL_DRAWS = 1.0


def bradley_terry(shares: np.ndarray, games: np.ndarray) -> np.ndarray:
    """The most likely strengths.

    By the MM algorithm of Hunter ("MM algorithms for generalized Bradley–Terry models", Annals of Statistics
    2004), which raises the likelihood in every step.

    Args:
        shares: (..., players, players) float; what the row's player won against the column's, 0 to 1.
        games: (players, players) float; how many games that was, 0 where they have not met.

    Returns:
        (..., players) float64: natural logarithms of the strengths, with mean 0.
    """
    played = np.where(games > 0, games + VIRTUAL_DRAWS, 0.0)
    won = np.where(games > 0, np.clip(shares, 0.0, 1.0) * games + VIRTUAL_DRAWS / 2, 0.0)
    total = won.sum(-1)
    strength = np.ones(total.shape)
    for _ in range(10_000):
        met = played / (strength[..., :, None] + strength[..., None, :])
        new = total / met.sum(-1)
        new /= np.exp(np.log(new).mean(-1, keepdims=True))
        change = np.abs(np.log(new / strength)).max()
        strength = new
        if change < 1e-7:
            break
    return np.log(strength)


@dataclass(frozen=True)
class Ratings:
    """Ratings with 95 % intervals, in the order of the players; see ``rate``."""

    rating: np.ndarray
    """(players,) points."""
    low: np.ndarray
    """(players,) points; -inf for whoever won nothing that would bound it from below."""
    high: np.ndarray
    """(players,) points; inf for whoever lost nothing that would bound it from above."""
    resampled: np.ndarray
    """(resamples, players) points: for differences, which share their deals."""

    def ahead(self, better: int, worse: int) -> tuple[float, float, float]:
        """How far one player is ahead of another in points: the difference and its interval."""
        low, high = np.quantile(self.resampled[:, better] - self.resampled[:, worse], (0.025, 0.975))
        return float(self.rating[better] - self.rating[worse]), float(low), float(high)


def rate(shares: np.ndarray, games: np.ndarray, resampled: np.ndarray, anchor: int) -> Ratings:
    """Fit ratings to shares, and to each resample of them.

    A player that nobody in the anchor's reach has ever taken a game from has a rating that the virtual draws
    alone keep finite: its interval is then open at the top (or, the other way round, at the bottom). That is
    the condition of Ford ("Solution of a ranking problem from binary comparisons", 1957), player by player.

    Args:
        shares: (players, players) float; what the row's player won against the column's, 0 to 1.
        games: (players, players) float; how many games that was.
        resampled: (resamples, players, players) float; shares on resampled deals.
        anchor: the player with 1000 points.
    """
    rating, again = (_points(bradley_terry(x, games), anchor) for x in (shares, resampled))
    low, high = np.quantile(again, (0.025, 0.975), axis=0)
    beats = _reach((shares > 0) & (games > 0))
    low = np.where(beats[:, anchor], np.minimum(low, rating), -np.inf)
    high = np.where(beats[anchor], np.maximum(high, rating), np.inf)
    return Ratings(rating, low, high, again)


def _points(logs: np.ndarray, anchor: int) -> np.ndarray:
    return ANCHOR_RATING + TENFOLD / np.log(10) * (logs - logs[..., anchor, None])


def _reach(beats: np.ndarray) -> np.ndarray:
    """Who has beaten whom, or somebody who has beaten them, and so on: (players, players) bool."""
    reach = beats | np.eye(len(beats), dtype=bool)
    for k in range(len(beats)):
        reach |= reach[:, k, None] & reach[None, k]
    return reach


def cycles(
    shares: np.ndarray, errors: np.ndarray, names: Sequence[str], level: float = 0.05
) -> list[tuple[str, str, str]]:
    """Triples in which the first beats the second, the second the third, and the third the first.

    Each of the three wins has to be significant with Bonferroni's correction for all pairs, so that with
    the probability ``1 - level`` no cycle at all is noted where there is none.

    Args:
        shares: (players, players) float; what the row's player won against the column's, 0 to 1.
        errors: (players, players) float; their standard errors.
        names: of the players.
        level: probability of a false alarm, at most.
    """
    pairs = max(len(names) * (len(names) - 1) // 2, 1)
    z = NormalDist().inv_cdf(1 - level / (2 * pairs))
    wins = shares - 0.5 > z * errors
    np.fill_diagonal(wins, False)
    found = []
    for a, b, c in combinations(range(len(names)), 3):
        for one, two, three in ((a, b, c), (a, c, b)):
            if wins[one, two] and wins[two, three] and wins[three, one]:
                found.append((names[one], names[two], names[three]))
    return found
