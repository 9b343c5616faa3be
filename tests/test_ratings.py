"""Bradley–Terry ratings, their intervals, and cycles."""

from __future__ import annotations

import numpy as np
import pytest

from train.ratings import bradley_terry, cycles, rate

RNG = np.random.default_rng


def shares_of(logs: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(logs[None] - logs[:, None]))


def games_of(players: int, games: float = 400.0) -> np.ndarray:
    return np.where(np.eye(players, dtype=bool), 0.0, games)


def resamples(shares: np.ndarray, games: float, count: int = 200) -> np.ndarray:
    drawn = RNG(0).binomial(int(games), np.broadcast_to(shares, (count, *shares.shape))) / games
    upper = np.triu(drawn, 1)
    below = np.tril(np.ones(shares.shape), -1)
    return upper + np.swapaxes(below.T - upper, 1, 2) + 0.5 * np.eye(len(shares))


def test_known_strengths_are_recovered() -> None:
    logs = np.array([-1.0, -0.2, 0.0, 0.4, 0.8])
    found = bradley_terry(shares_of(logs), games_of(5, 1e6))
    np.testing.assert_allclose(found, logs - logs.mean(), atol=1e-4)


def test_known_strengths_lie_within_their_intervals_19_times_in_20() -> None:
    logs, games = np.array([0.0, -0.7, 0.5, 1.0]), 300.0
    truth = 1000 + 400 / np.log(10) * logs
    inside = []
    for shares in resamples(shares_of(logs), games, 150):
        found = rate(shares, games_of(4, games), resamples(shares, games), anchor=0)
        inside.append((found.low <= truth) & (truth <= found.high))
    assert np.mean(inside, axis=0)[0] == 1.0  # the anchor is known
    assert 0.9 < np.mean(inside, axis=0)[1:].mean() < 0.985


def test_400_points_are_odds_of_ten_to_one() -> None:
    shares = np.array([[0.5, 1 / 11], [10 / 11, 0.5]])
    found = rate(shares, games_of(2, 1e7), shares[None], anchor=0)
    assert found.rating == pytest.approx([1000.0, 1400.0], abs=0.01)
    assert found.ahead(1, 0)[0] == pytest.approx(400.0, abs=0.01)


def test_pairs_that_have_not_met_are_rated_through_others() -> None:
    logs = np.array([0.0, 0.7, 1.4])
    shares, games = shares_of(logs), games_of(3, 1e6)
    games[0, 2] = games[2, 0] = 0
    shares[0, 2] = shares[2, 0] = 0.5
    np.testing.assert_allclose(bradley_terry(shares, games), logs - logs.mean(), atol=1e-4)


def test_who_never_lost_has_a_finite_rating_with_an_open_interval() -> None:
    """The virtual draws keep it finite; more games without a loss raise it."""
    shares = np.array([[0.5, 0.7, 0.0], [0.3, 0.5, 0.0], [1.0, 1.0, 0.5]])
    ratings = [rate(shares, games_of(3, games), shares[None], anchor=0) for games in (50, 500)]
    for found in ratings:
        assert np.isfinite(found.rating).all()
        assert found.high[2] == np.inf
        assert 1000 < found.low[2] < np.inf
        assert np.isfinite(found.high[:2]).all()
        assert np.isfinite(found.low[:2]).all()
    assert ratings[1].rating[2] > ratings[0].rating[2] + 300


def test_who_never_won_has_an_interval_that_is_open_below() -> None:
    shares = np.array([[0.5, 1.0], [0.0, 0.5]])
    found = rate(shares, games_of(2), shares[None], anchor=0)
    assert (found.low[1], found.high[0], found.low[0]) == (-np.inf, 1000.0, 1000.0)
    assert found.high[1] < 1000


def test_two_that_only_lose_to_each_other_are_both_open_at_the_top() -> None:
    shares = np.array([[0.5, 0.0, 0.0], [1.0, 0.5, 0.6], [1.0, 0.4, 0.5]])
    found = rate(shares, games_of(3), shares[None], anchor=0)
    assert (found.high[1], found.high[2]) == (np.inf, np.inf)
    assert found.ahead(1, 2)[0] > 0


def test_differences_of_ratings_keep_the_pairing_of_their_deals() -> None:
    """Two that stand against the anchor on the same deals are told apart better than their own intervals
    say.
    """
    luck = 0.1 * RNG(1).normal(size=500)
    drawn = np.full((500, 3, 3), 0.5)
    for k, strength in ((1, 0.55), (2, 0.57)):
        drawn[:, k, 0] = np.clip(strength + luck, 0.05, 0.95)
        drawn[:, 0, k] = 1 - drawn[:, k, 0]
    games = games_of(3, 1000)
    games[1, 2] = games[2, 1] = 0
    found = rate(drawn.mean(0), games, drawn, anchor=0)
    _, low, high = found.ahead(2, 1)
    assert found.low[2] < found.high[1]
    assert low > 0
    assert high - low < (found.high[1] - found.low[1]) / 4


ROCK = np.array([[0.5, 0.6, 0.4], [0.4, 0.5, 0.6], [0.6, 0.4, 0.5]])
NAMES = ["rock", "scissors", "paper"]


def test_a_cycle_is_found_once_and_in_its_direction() -> None:
    assert cycles(ROCK, np.full((3, 3), 0.01), NAMES) == [("rock", "scissors", "paper")]
    assert cycles(ROCK.T, np.full((3, 3), 0.01), NAMES) == [("rock", "paper", "scissors")]


def test_a_cycle_that_may_be_chance_is_not_noted() -> None:
    assert cycles(ROCK, np.full((3, 3), 0.05), NAMES) == []
    assert cycles(shares_of(np.array([0.0, 1.0, 2.0])), np.full((3, 3), 0.001), NAMES) == []


def test_where_all_are_equal_a_cycle_is_noted_one_time_in_twenty_at_most() -> None:
    rng, found = RNG(2), 0
    for _ in range(400):
        noise = np.triu(0.02 * rng.normal(size=(8, 8)), 1)
        found += bool(cycles(0.5 + noise - noise.T, np.full((8, 8), 0.02), [*"abcdefgh"]))
    assert found <= 20
