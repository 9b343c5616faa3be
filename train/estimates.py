"""Means with 95 % intervals, where all games of one deal are one observation.

- ``Estimate.of_mean``: the normal interval, in closed form.
- ``Estimate.of_share``: Wilson's interval of a share, which stays sensible at 0 and 1.
- ``Estimate.by_bootstrap``: deals are drawn again with replacement (Efron, "Better bootstrap confidence
  intervals", JASA 1987: bias-corrected and accelerated). Whatever was played on a deal goes with it, so
  differences between agents on the same deals keep their pairing.

``without_luck`` takes a covariate of known mean 0 out of a result; ``looks`` says when to look whether an
interval is narrow enough.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from statistics import NormalDist

import numpy as np

__all__ = ["RESAMPLES", "Estimate", "looks", "resampled_means", "variance_factor", "without_luck"]

#: Resamples of a bootstrap, and the seed that draws them: the same data give the same interval.
RESAMPLES = 4000
_BOOTSTRAP_SEED = 61

_NORMAL = NormalDist()
_Z = 1.959964  # 97.5 % point of the normal distribution
_TAILS = (0.025, 0.975)


@dataclass(frozen=True)
class Estimate:
    """A mean with its 95 % interval."""

    mean: float
    low: float
    high: float
    games: int
    """Rounds or matches played."""
    clusters: int
    """Deals or seeds: independent observations."""

    @property
    def width(self) -> float:
        """From the low to the high end of the interval."""
        return self.high - self.low

    def as_json(self) -> dict[str, float | None]:
        """As JSON types: an unbounded interval is null."""
        return {k: v if math.isfinite(v) else None for k, v in asdict(self).items()}

    @classmethod
    def of_mean(cls, per_cluster: np.ndarray, games: int) -> Estimate:
        """The normal interval of a mean over independent clusters: (clusters,) float."""
        mean, half = float(per_cluster.mean()), _Z * _standard_error(per_cluster)
        return cls(mean, mean - half, mean + half, games, len(per_cluster))

    @classmethod
    def of_share(cls, per_cluster: np.ndarray, games: int) -> Estimate:
        """Wilson's interval (1927) of a share, with the sample size that the clusters are worth."""
        p, error = float(per_cluster.mean()), _standard_error(per_cluster)
        n = p * (1 - p) / error**2 if 0 < error < math.inf else len(per_cluster)
        centre = (p + _Z**2 / (2 * n)) / (1 + _Z**2 / n)
        half = _Z / (1 + _Z**2 / n) * math.sqrt(p * (1 - p) / n + _Z**2 / (4 * n * n))
        return cls(p, max(centre - half, 0.0), min(centre + half, 1.0), games, len(per_cluster))

    @classmethod
    def by_bootstrap(cls, per_cluster: np.ndarray, games: int) -> Estimate:
        """The BCa bootstrap interval of a mean over independent clusters: (clusters,) float.

        With fewer than about 30 clusters it is somewhat too narrow, as every bootstrap is.
        """
        mean = float(per_cluster.mean())
        if len(per_cluster) < 2:
            return cls(mean, -math.inf, math.inf, games, len(per_cluster))
        # Centred first, so that a constant has no width at all.
        means = np.sort(resampled_means((per_cluster - mean)[:, None])[:, 0])
        low, high = np.quantile(means, _bca_levels(per_cluster - mean, means))
        return cls(mean, mean + float(low), mean + float(high), games, len(per_cluster))


def resampled_means(values: np.ndarray, resamples: int = RESAMPLES) -> np.ndarray:
    """Means of columns over clusters drawn with replacement, the same ones for all columns.

    Args:
        values: (clusters, columns) float; NaN where a column was not played on a cluster.
        resamples: how many.

    Returns:
        (resamples, columns) float; NaN where none of a column's clusters was drawn.
    """
    rng, clusters = np.random.default_rng(_BOOTSTRAP_SEED), len(values)
    played = ~np.isnan(values)
    known, played = np.where(played, values, 0.0), played.astype(np.float64)
    means = np.empty((resamples, values.shape[1]))
    at_once = max(1, 2**22 // clusters)
    for first in range(0, resamples, at_once):
        rows = min(at_once, resamples - first)
        drawn = rng.integers(clusters, size=(rows, clusters)) + clusters * np.arange(rows)[:, None]
        times = np.bincount(drawn.ravel(), minlength=rows * clusters).reshape(rows, clusters)
        times = times.astype(np.float64)
        with np.errstate(invalid="ignore"):
            means[first : first + rows] = (times @ known) / (times @ played)
    return means


def _bca_levels(centred: np.ndarray, means: np.ndarray) -> list[float]:
    """Which quantiles of the resampled means are the ends of the interval."""
    squares = float((centred**2).sum())
    tie = 1e-9 * math.sqrt(squares)  # what rounding leaves of a mean that is the same
    below = (np.mean(means < -tie) + np.mean(means <= tie)) / 2
    if not 0 < below < 1 or squares == 0:
        return list(_TAILS)
    bias = _NORMAL.inv_cdf(float(below))
    skew = float((centred**3).sum()) / (6 * squares**1.5)  # the jackknife's acceleration of a mean
    shifted = (bias + _NORMAL.inv_cdf(tail) for tail in _TAILS)
    return [_NORMAL.cdf(bias + z / (1 - skew * z)) for z in shifted]


def without_luck(values: np.ndarray, luck: np.ndarray) -> np.ndarray:
    """Take luck out of results: values - b * luck, with the slope b that leaves least variance.

    The slope that a cluster's own luck is multiplied with is fitted to all *other* clusters. It is thus
    independent of that luck, whose mean is 0: the product has mean 0 exactly, whatever the slope, and the
    mean of the result stays unbiased with any number of clusters.

    Args:
        values: (clusters,) float.
        luck: (clusters,) float; independent over clusters, each of known mean 0.

    Returns:
        (clusters,) float.
    """
    others = len(values) - 1
    if others < 2:
        return values
    mean_of_others = (values.sum() - values) / others
    products, squares, total = luck * values, luck**2, luck.sum()
    covariance = products.sum() - products - mean_of_others * (total - luck)
    variance = squares.sum() - squares
    slope = np.divide(covariance, variance, out=np.zeros_like(values), where=variance > 0)
    return values - slope * luck


def variance_factor(before: np.ndarray, after: np.ndarray) -> float:
    """How many times fewer deals give the same interval; 1 where nothing varies."""
    variance = float(after.var())
    return float(before.var()) / variance if variance > 0 else 1.0


def looks(size: int, block: int) -> Iterator[int]:
    """After how many clusters to look whether an interval is narrow enough: each time a quarter more.

    Stopping at the first look whose interval is narrow enough is the fixed-width rule of Chow and Robbins
    ("On the asymptotic theory of fixed-width sequential confidence intervals", Annals of Mathematical
    Statistics 1965). It looks at the spread of the results and not at their mean, so the interval keeps its
    coverage as the width falls; a first look at 128 clusters keeps the early spread from being too small
    by luck.

    Args:
        size: clusters at most: the last look.
        block: clusters that are played together.
    """
    look = 128
    while look < size:
        yield look
        look = -(-look * 5 // (4 * block)) * block
    yield size


def _standard_error(values: np.ndarray) -> float:
    return float(values.std(ddof=1) / math.sqrt(len(values))) if len(values) > 1 else math.inf
