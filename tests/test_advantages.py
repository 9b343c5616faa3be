"""Advantages along each seat's own decisions, against a slow plain version."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from agents.networks import PolicyValueNet
from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.match import Match
from fivesthrees_env.rules import Rules
from train.advantages import seat_advantages
from train.ppo import Args, Rollout, collect

# ------------------------------------------------------------------------- the slow plain version


def plain_advantages(
    rewards: list[list[float]],
    values: list[float],
    seats: list[int],
    dones: list[bool],
    gamma: float,
    lam: float,
) -> dict[int, float]:
    """One match, forward, by the definitions alone: step -> advantage, for the usable steps."""
    advantages = {}
    for first, last, finished in episodes(dones):
        for seat in set(seats[first : last + 1]):
            own = [t for t in range(first, last + 1) if seats[t] == seat]
            side = seat % len(rewards[0])
            deltas = []
            for t, following in zip(own, [*own[1:], None], strict=True):
                if following is not None:
                    earned = sum(rewards[u][side] for u in range(t, following))
                    deltas.append(earned + gamma * values[following] - values[t])
                elif finished:
                    earned = sum(rewards[u][side] for u in range(t, last + 1))
                    deltas.append(earned - values[t])
            for k in range(len(deltas)):
                discounted = [(gamma * lam) ** (j - k) * deltas[j] for j in range(k, len(deltas))]
                advantages[own[k]] = sum(discounted)
    return advantages


def episodes(dones: list[bool]) -> list[tuple[int, int, bool]]:
    """First step, last step and whether it was finished, of each episode of one match."""
    ends = [t for t, done in enumerate(dones) if done]
    found = [(a + 1, b, True) for a, b in zip([-1, *ends], ends, strict=False)]
    rest = ends[-1] + 1 if ends else 0
    return found if rest == len(dones) else [*found, (rest, len(dones) - 1, False)]


def assert_agrees_with_plain(
    rewards: np.ndarray,
    values: np.ndarray,
    seats: np.ndarray,
    dones: np.ndarray,
    num_players: int,
    gamma: float,
    lam: float,
) -> None:
    advantages, usable = seat_advantages(rewards, values, seats, dones, num_players, gamma, lam)
    assert advantages.shape == usable.shape == values.shape
    assert advantages.dtype == np.float32
    assert usable.dtype == np.bool_
    for i in range(values.shape[1]):
        plain = plain_advantages(
            rewards[:, i].tolist(),
            values[:, i].tolist(),
            seats[:, i].tolist(),
            dones[:, i].tolist(),
            gamma,
            lam,
        )
        assert set(np.flatnonzero(usable[:, i]).tolist()) == set(plain)
        for t in range(len(values)):
            assert advantages[t, i] == pytest.approx(plain.get(t, 0.0), rel=1e-4, abs=1e-4)


# ------------------------------------------------------------------------------ random trajectories


@st.composite
def trajectories(draw: st.DrawFn) -> dict[str, Any]:
    """Any rollout: seats repeat, seats are absent, episodes end anywhere, also at once."""
    num_players, sides = draw(st.sampled_from([(2, 2), (3, 3), (4, 2), (4, 4)]))
    steps, matches = draw(st.integers(1, 24)), draw(st.integers(1, 3))
    present = draw(st.lists(st.integers(0, num_players - 1), min_size=1, unique=True))
    how_often_done = draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    return {
        "rewards": rng.normal(size=(steps, matches, sides)).astype(np.float32),
        "values": rng.normal(size=(steps, matches)).astype(np.float32),
        "seats": rng.choice(present, size=(steps, matches)).astype(np.int8),
        "dones": rng.random((steps, matches)) < how_often_done,
        "num_players": num_players,
    }


DISCOUNTS = st.one_of(st.sampled_from([0.0, 1.0]), st.floats(0.01, 0.99))


@given(trajectories(), DISCOUNTS, DISCOUNTS)
def test_advantages_agree_with_the_plain_version(
    trajectory: dict[str, Any], gamma: float, lam: float
) -> None:
    assert_agrees_with_plain(**trajectory, gamma=gamma, lam=lam)


@given(trajectories())
def test_undiscounted_advantages_are_plain_returns_minus_values(trajectory: dict[str, Any]) -> None:
    """gamma = lambda = 1: all that the side still earns in the episode, minus the value."""
    rewards, values, dones = trajectory["rewards"], trajectory["values"], trajectory["dones"]
    seats, sides = trajectory["seats"], rewards.shape[-1]
    advantages, usable = seat_advantages(**trajectory, gamma=1.0, lam=1.0)
    for i in range(values.shape[1]):
        for first, last, finished in episodes(dones[:, i].tolist()):
            if finished:
                assert usable[first : last + 1, i].all()
                for t in range(first, last + 1):
                    to_come = rewards[t : last + 1, i, seats[t, i] % sides].sum()
                    assert advantages[t, i] + values[t, i] == pytest.approx(to_come, abs=1e-4)


@given(trajectories())
def test_a_decision_is_usable_where_what_follows_is_known(trajectory: dict[str, Any]) -> None:
    """Until the last done every decision is; after it, all but the last one of each seat."""
    _, usable = seat_advantages(**trajectory, gamma=0.9, lam=0.95)
    seats, dones = trajectory["seats"], trajectory["dones"]
    for i in range(usable.shape[1]):
        ended = np.flatnonzero(dones[:, i])
        rest = ended[-1] + 1 if ended.size else 0
        assert usable[:rest, i].all()
        for t in range(rest, len(usable)):
            assert usable[t, i] == (seats[t, i] in seats[t + 1 :, i])


@given(trajectories())
def test_matches_do_not_influence_each_other(trajectory: dict[str, Any]) -> None:
    together = seat_advantages(**trajectory, gamma=0.9, lam=0.8)
    for i in range(trajectory["values"].shape[1]):
        alone = {k: v if k == "num_players" else v[:, i : i + 1] for k, v in trajectory.items()}
        single = seat_advantages(**alone, gamma=0.9, lam=0.8)
        for all_matches, one in zip(together, single, strict=True):
            np.testing.assert_array_equal(all_matches[:, i : i + 1], one)


# ---------------------------------------------------------------------------- worked by hand


def advantages_of(
    rewards: list[list[float]],
    values: list[float],
    seats: list[int],
    dones: list[int],
    num_players: int,
    gamma: float,
    lam: float,
) -> tuple[list[float], list[bool]]:
    """One match, as lists."""
    advantages, usable = seat_advantages(
        np.array(rewards, np.float32)[:, None],
        np.array(values, np.float32)[:, None],
        np.array(seats, np.int8)[:, None],
        np.array(dones, np.bool_)[:, None],
        num_players,
        gamma,
        lam,
    )
    return advantages[:, 0].tolist(), usable[:, 0].tolist()


def test_rewards_of_the_plies_between_belong_to_the_decision_before_them() -> None:
    """Two players, gamma 0.5, lambda 0.5; the episode ends with step 4.

    Seat 0 decides at 0, 2 and 4; seat 1 at 1 and 3.
      step 4: 16 - 5                        = 11
      step 2: (4 + 8) + 0.5*5 - 3 = 11.5,     11.5 + 0.25*11     = 14.25
      step 0: (1 + 2) + 0.5*3 - 1 = 3.5,       3.5 + 0.25*14.25  = 7.0625
      step 3: (-8 - 16) - 4                 = -28
      step 1: (-2 - 4) + 0.5*4 - 2 = -6,      -6 + 0.25*-28      = -13
    """
    rewards = [[1, -1], [2, -2], [4, -4], [8, -8], [16, -16]]
    advantages, usable = advantages_of(
        rewards, [1, 2, 3, 4, 5], [0, 1, 0, 1, 0], [0, 0, 0, 0, 1], 2, 0.5, 0.5
    )
    assert advantages == [7.0625, -13.0, 14.25, -28.0, 11.0]
    assert usable == [True] * 5


def test_a_rollout_that_is_cut_off_uses_the_last_own_value_and_drops_that_decision() -> None:
    """Three players, gamma 0.5, lambda 1; nothing ends.

    Seat 0 decides at 0, 1 and 4, seat 1 at 2, seat 2 at 3.
      step 1: (2 + 4 + 8) + 0.5*10 - 7 = 12
      step 0: 1 + 0.5*7 - 6 = -1.5,            -1.5 + 0.5*12 = 4.5
    The others are each seat's last.
    """
    rewards = [[1, 0, 0], [2, 0, 0], [4, 0, 0], [8, 0, 0], [16, 0, 0]]
    advantages, usable = advantages_of(rewards, [6, 7, 8, 9, 10], [0, 0, 1, 2, 0], [0] * 5, 3, 0.5, 1.0)
    assert advantages == [4.5, 12.0, 0.0, 0.0, 0.0]
    assert usable == [True, True, False, False, False]


def test_partners_share_rewards_but_not_chains() -> None:
    """Four players in pairs, gamma 1, lambda 0: seats 0 and 2 earn alike, each from its turn."""
    rewards = [[1, 0], [0, 2], [4, 0], [0, 8]]
    advantages, usable = advantages_of(rewards, [0.5] * 4, [0, 1, 2, 3], [0, 0, 0, 1], 4, 1.0, 0.0)
    assert advantages == [5 - 0.5, 10 - 0.5, 4 - 0.5, 8 - 0.5]
    assert usable == [True] * 4


def test_nothing_passes_from_one_episode_to_the_one_before() -> None:
    """Two episodes of one decision each, then one that is cut off."""
    advantages, usable = advantages_of(
        [[1, 0], [2, 0], [400, 0]], [10, 20, 3000], [0, 0, 0], [1, 1, 0], 2, 1.0, 1.0
    )
    assert advantages == [-9.0, -18.0, 0.0]
    assert usable == [True, True, False]


def test_a_seat_that_never_decides_changes_nothing() -> None:
    """Only seat 1 is ever to move; what seat 0 earns is nobody's."""
    advantages, usable = advantages_of([[5, 1], [5, 2], [5, 4]], [0, 0, 0], [1, 1, 1], [0, 0, 1], 2, 1.0, 1.0)
    assert advantages == [7.0, 6.0, 4.0]
    assert usable == [True] * 3


# ------------------------------------------------------------------------------- real rollouts


def replay(batch: MatchBatch, actions: np.ndarray, lane: int) -> dict[str, list[Any]]:
    """One match of a batch played again as ``Match`` objects, forced moves included.

    Returns per decision: the seat, the margin of each side until the next decision, and whether
    the match ended by then.
    """
    found: dict[str, list[Any]] = {"seats": [], "margins": [], "dones": []}
    match = Match(batch.rules, seed=batch.seed + lane)
    for action in actions[:, lane].tolist():
        before = np.array(match.scores)
        found["seats"].append(match.seat)
        match.play(action)
        while not match.over and len(match.legal_actions()) == 1:
            match.play(match.legal_actions()[0])
        gained = np.array(match.scores) - before
        others = (gained.sum() - gained) / (len(gained) - 1)
        found["margins"].append((gained - others).tolist())
        found["dones"].append(match.over)
        if match.over:
            return found
    return found


@pytest.mark.parametrize(
    "preset",
    [
        "mini-3",
        "fives_and_threes-2p",
        "fives_and_threes-3p",
        "fives_and_threes-4p",
        "fives_and_threes-4p-singles",
    ],
)
def test_rewards_of_skipped_plies_belong_to_the_decision_before_them(preset: str) -> None:
    """A real rollout against a replay of its first matches with forced moves played one by one."""
    torch.manual_seed(0)
    rules = Rules.preset(preset)
    args = Args(rules=preset, margin_reward=0.25 * rules.target, gamma=0.9, lam=0.8)
    batch = MatchBatch(6, rules, seed=3, skip_forced=True)
    network = PolicyValueNet(batch.layout.size, rules.num_actions, width=16, depth=1)
    rollout = Rollout(batch, steps=120)
    collect(rollout, batch, network, np.random.default_rng(1))
    rewards = rollout.rewards(args)
    advantages, usable = seat_advantages(
        *(rewards, rollout.values, rollout.seats, rollout.dones),
        *(rules.num_players, args.gamma, args.lam),
    )
    finished = 0
    for lane in range(batch.num_matches):
        slow = replay(batch, rollout.actions, lane)
        steps = len(slow["seats"])
        finished += slow["dones"][-1]
        assert rollout.seats[:steps, lane].tolist() == slow["seats"]
        assert rollout.dones[:steps, lane].tolist() == slow["dones"]
        scaled = np.array(slow["margins"]) * 0.25
        np.testing.assert_allclose(rewards[:steps, lane], scaled, atol=1e-6)
        if slow["dones"][-1]:
            values = rollout.values[:steps, lane].tolist()
            plain = plain_advantages(
                scaled.tolist(), values, slow["seats"], slow["dones"], args.gamma, args.lam
            )
            assert usable[:steps, lane].all()
            for t, advantage in plain.items():
                assert advantages[t, lane] == pytest.approx(advantage, abs=1e-4)
    assert finished
    assert_agrees_with_plain(
        *(rewards, rollout.values, rollout.seats, rollout.dones),
        *(rules.num_players, args.gamma, args.lam),
    )


def test_rewards_are_zero_sum_and_a_win_counts_once() -> None:
    """The win reward goes to the winner at the end of a match, and is shared by the losers."""
    batch = MatchBatch(8, "mini-3", seed=0, skip_forced=True)
    network = PolicyValueNet(batch.layout.size, batch.rules.num_actions, width=8, depth=1)
    rollout = Rollout(batch, steps=60)
    collect(rollout, batch, network, np.random.default_rng(0))
    points = rollout.rewards(Args(margin_reward=11.0, win_reward=0.0))
    both = rollout.rewards(Args(margin_reward=11.0, win_reward=3.0))
    np.testing.assert_allclose(points.sum(-1), 0.0, atol=1e-6)
    np.testing.assert_allclose(both.sum(-1), 0.0, atol=1e-6)
    assert rollout.dones.any()
    won = (both - points)[rollout.dones]
    assert sorted(set(won.ravel().tolist())) == [-3.0, 3.0]
    assert (won.argmax(-1) == rollout.winners[rollout.dones]).all()
    np.testing.assert_array_equal(both[~rollout.dones], points[~rollout.dones])


def test_with_three_sides_a_win_costs_each_loser_half() -> None:
    batch = MatchBatch(2, "fives_and_threes-3p", seed=0, skip_forced=True)
    rollout = Rollout(batch, steps=2)
    rollout.winners[:] = -1
    rollout.winners[1, 0] = 2
    rewards = rollout.rewards(Args(win_reward=2.0))
    assert rewards[1, 0].tolist() == [-1.0, -1.0, 2.0]
    rewards[1, 0] = 0.0
    assert not rewards.any()
