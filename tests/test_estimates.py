"""Intervals by bootstrap, luck taken out without bias, stopping when the interval is narrow enough."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from train.estimates import Estimate, looks, resampled_means, variance_factor, without_luck

RNG = np.random.default_rng


def coverage(estimates: list[Estimate], truth: float) -> float:
    return sum(e.low <= truth <= e.high for e in estimates) / len(estimates)


# -------------------------------------------------------------------------------------- bootstrap


@pytest.mark.parametrize("luck", ["normal", "exponential"])
def test_the_bootstrap_interval_covers_the_truth_19_times_in_20(luck: str) -> None:
    draw = RNG(0).normal if luck == "normal" else RNG(0).exponential
    deals = draw(size=(300, 80)) - (luck == "exponential")
    assert 0.91 < coverage([Estimate.by_bootstrap(x, 80) for x in deals], 0.0) < 0.975


def test_the_bootstrap_interval_leans_to_where_the_long_tail_is() -> None:
    """Where results are skewed, the normal interval misses on one side more than on the other."""
    estimate = Estimate.by_bootstrap(RNG(1).exponential(size=60), 60)
    assert estimate.high - estimate.mean > 1.1 * (estimate.mean - estimate.low)


def test_with_many_deals_the_bootstrap_interval_is_the_normal_one() -> None:
    deals = RNG(2).normal(3.0, 2.0, size=3000)
    bootstrap, normal = Estimate.by_bootstrap(deals, 1), Estimate.of_mean(deals, 1)
    assert bootstrap.mean == normal.mean
    assert bootstrap.width == pytest.approx(normal.width, rel=0.06)


def test_whatever_was_played_on_a_deal_is_one_observation() -> None:
    """Eight rounds of a deal that come out alike are worth one."""
    deals = RNG(3).normal(size=50)
    clustered = Estimate.by_bootstrap(np.repeat(deals, 8).reshape(50, 8).mean(1), 400)
    alone = Estimate.by_bootstrap(np.repeat(deals, 8), 400)
    assert (clustered.clusters, clustered.games) == (50, 400)
    assert clustered.width == pytest.approx(alone.width * math.sqrt(8), rel=0.12)


def test_the_same_data_give_the_same_interval_and_mirrored_data_the_mirrored_one() -> None:
    deals = RNG(4).exponential(size=40)
    there, again, back = (Estimate.by_bootstrap(x, 1) for x in (deals, deals, -deals))
    assert there == again
    assert (back.low, back.high) == pytest.approx((-there.high, -there.low))


def test_what_never_varies_has_no_width_and_one_deal_no_end() -> None:
    constant = Estimate.by_bootstrap(np.full(20, 0.1), 20)
    assert (constant.low, constant.high) == pytest.approx((0.1, 0.1), abs=1e-15)
    one = Estimate.by_bootstrap(np.array([1.5]), 8)
    assert (one.mean, one.low, one.high) == (1.5, -math.inf, math.inf)


def test_all_columns_are_resampled_on_the_same_deals() -> None:
    """So the difference of agents that met the same luck is known better than either."""
    luck = RNG(5).normal(size=100)
    means = resampled_means(np.stack([luck, luck + 1, 2 * luck], 1), 500)
    np.testing.assert_allclose(means[:, 1] - means[:, 0], 1.0)
    np.testing.assert_allclose(means[:, 2], 2 * means[:, 0])
    assert means[:, 0].std() == pytest.approx(0.1, rel=0.2)


def test_a_column_that_was_played_on_fewer_deals_is_a_mean_over_those() -> None:
    values = np.stack([np.arange(60.0), np.where(np.arange(60) < 20, 7.0, np.nan)], 1)
    means = resampled_means(values, 300)
    np.testing.assert_allclose(means[:, 1], 7.0)
    assert means[:, 0].mean() == pytest.approx(29.5, rel=0.05)


# ------------------------------------------------------------------------------------------- luck


@settings(max_examples=40, deadline=None)
@given(st.lists(st.tuples(st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 1)), min_size=3, max_size=6))
def test_taking_luck_out_changes_no_mean(deals: list[tuple[float, float, float]]) -> None:
    """Luck of either sign is as likely: over all signs, the mean of the mean stays exactly what it was,
    whatever the results are and however they depend on the luck of their own deal.
    """
    unlucky, lucky, size = np.array(deals).T
    before, after = [], []
    for signs in product((-1, 1), repeat=len(deals)):
        sign = np.array(signs)
        values = np.where(sign > 0, lucky, unlucky)
        before.append(values.mean())
        after.append(without_luck(values, sign * size).mean())
    assert np.mean(after) == pytest.approx(np.mean(before), abs=1e-9)


def test_taking_luck_out_leaves_the_variance_that_is_not_luck() -> None:
    rng = RNG(6)
    luck, rest = rng.normal(size=2000), rng.normal(size=2000)
    values = 0.3 + 2 * luck + rest
    clean = without_luck(values, luck)
    assert variance_factor(values, clean) == pytest.approx(5.0, rel=0.15)
    assert clean.mean() == pytest.approx(0.3, abs=0.1)


def test_luck_that_is_not_there_or_not_known_is_not_taken_out() -> None:
    values = RNG(7).normal(size=50)
    np.testing.assert_array_equal(without_luck(values, np.zeros(50)), values)
    np.testing.assert_array_equal(without_luck(values[:2], np.ones(2)), values[:2])
    assert variance_factor(values, values) == 1.0
    assert variance_factor(np.ones(5), np.ones(5)) == 1.0


# ------------------------------------------------------------------------------------- early stop


@pytest.mark.parametrize(("size", "block"), [(1, 16), (100, 16), (129, 16), (5000, 16), (5000, 8)])
def test_looks_grow_by_whole_blocks_up_to_the_last_deal(size: int, block: int) -> None:
    found = list(looks(size, block))
    assert found[-1] == size
    assert found == sorted(set(found))
    assert all(look % block == 0 for look in found[:-1])
    assert found[0] == min(128, size)


@pytest.mark.parametrize("luck", ["normal", "exponential", "shares"])
def test_an_interval_that_ended_the_play_still_covers_the_truth(luck: str) -> None:
    """The rule of Chow and Robbins: 95 % as the width falls; here never below 93.5 %."""
    rng, truth, width = RNG(8), 0.0, 0.3
    if luck == "normal":
        results = rng.normal(size=(1500, 1500))
    elif luck == "exponential":
        results = rng.exponential(size=(1500, 1500)) - 1
    else:
        results, truth, width = rng.choice([0, 0.5, 1], p=[0.05, 0.4, 0.55], size=(1500, 1500)), 0.75, 0.09
    stopped = []
    for deals in results:
        at = (look for look in looks(1500, 16) if Estimate.of_mean(deals[:look], 1).width <= width)
        stopped.append(Estimate.of_mean(deals[: next(at, 1500)], 1))
    assert 0.935 < coverage(stopped, truth) < 0.965
    assert max(e.clusters for e in stopped) < 1500
    assert len({e.clusters for e in stopped}) > 1
