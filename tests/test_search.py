"""The searching agents: rollout and ismcts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from agents.equity import EquityError, win_probability
from agents.ismcts import IsmctsAgent
from agents.playouts import leaf_table
from agents.rollout import RolloutAgent
from agents.scripted import ExpertAgent
from agents.softmax import SoftmaxGreedy
from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.match import Match
from fivesthrees_env.opponents import Agent, GreedyAgent, action_masks
from fivesthrees_env.rules import Rules

QUICK = {
    "rollout": lambda **more: RolloutAgent(samples=50, pool=2, **more),
    "ismcts": lambda **more: IsmctsAgent(iterations=40, pool=2, **more),
}


def choice(agent: Agent, match: Match, seed: int = 0) -> int:
    """What an agent does for the seat to move."""
    return int(agent.act(match.view(match.seat), np.random.default_rng(seed))[0])


def some_views(name: str, count: int, plies: int = 7, seed: int = 3) -> np.ndarray:
    batch, rng = MatchBatch(count, name, seed=seed), np.random.default_rng(seed)
    for _ in range(plies):
        batch.step(batch.random_actions(rng))
    return batch.views.copy()


@pytest.mark.parametrize("agent", QUICK)
def test_workers_change_nothing(agent: str) -> None:
    views = some_views("fives_and_threes-4p", 30)
    alone, shared = (QUICK[agent](workers=workers).act(views, np.random.default_rng(5)) for workers in (1, 3))
    assert (alone == shared).all()


def test_values_are_chances_and_only_of_legal_actions() -> None:
    views = some_views("fives_and_threes-4p", 20)
    values = QUICK["rollout"]().values(views, np.random.default_rng(0))
    masks = action_masks(views)
    assert np.isneginf(values[masks == 0]).all()
    assert ((values[masks == 1] >= 0) & (values[masks == 1] <= 1)).all()


def test_more_deals_agree_better() -> None:
    views = some_views("fives_and_threes-4p", 30)
    spread = []
    for samples in (50, 800):
        player = RolloutAgent(samples=samples)
        a, b = (player.values(views, np.random.default_rng(seed)) for seed in (1, 2))
        legal = action_masks(views) == 1
        spread.append(np.abs(a[legal] - b[legal]).mean())
    assert spread[1] < spread[0] / 2.5  # 4 times in expectation


def test_what_nobody_would_play_leaves_all_deals_alike() -> None:
    """A supposition without doubt gives every deal the weight 0 here; it is then as good as none."""
    views = some_views("fives_and_threes-4p", 20, plies=12)
    sure = RolloutAgent(samples=800, suppose=SoftmaxGreedy(temperature=1e-9, pips=-1.0, doubt=0.0))
    none = RolloutAgent(samples=800, suppose=None)
    a, b = (player.values(views, np.random.default_rng(1)) for player in (sure, none))
    legal = action_masks(views) == 1
    assert np.abs(a[legal] - b[legal]).mean() < 0.05


@pytest.mark.parametrize(
    "agent", [RolloutAgent(seconds=1e-4), IsmctsAgent(20, seconds=5e-3)], ids=lambda a: a.name
)
def test_time_per_move_is_a_choice(agent: Agent) -> None:
    views = some_views("mini-4", 3)
    actions = agent.act(views, np.random.default_rng(0))
    assert (action_masks(views)[np.arange(3), actions] == 1).all()


@pytest.mark.parametrize("name", ["fives_and_threes-4p", "fives_and_threes-2p", "all_fives-2p"])
def test_playouts_are_those_of_the_expert_who_sees_no_hidden_tile(name: str) -> None:
    """The agent is given views, the compiled one full matches: every value is the same."""
    views = some_views(name, 4)
    slow, quick = RolloutAgent(samples=60, playout=ExpertAgent()), RolloutAgent(samples=60)
    a, b = (player.values(views, np.random.default_rng(1)) for player in (slow, quick))
    np.testing.assert_allclose(a, b, rtol=0, atol=1e-12)


def test_any_agent_can_play_the_rounds_out() -> None:
    views = some_views("fives_and_threes-2p", 4)
    legal = action_masks(views) == 1
    greedy = RolloutAgent(samples=400, playout=GreedyAgent())
    a, b = (greedy.values(views, np.random.default_rng(seed)) for seed in (1, 1))
    assert (a == b).all()
    other = RolloutAgent(samples=400).values(views, np.random.default_rng(1))
    assert (np.isneginf(a) == np.isneginf(other)).all()
    assert 0 < np.abs(a[legal] - other[legal]).mean() < 0.1


def test_margin_is_a_plane_between_a_won_and_a_lost_match() -> None:
    for rules in (
        Rules(),
        Rules.fives_and_threes(3),
        Rules.all_fives(2),
        Rules.fives_and_threes(2, target=1),
    ):
        leaf = leaf_table(rules, "margin")
        sides = rules.num_sides
        for scores in ([0] * sides, [rules.target - 1] * sides):
            values = [win_probability(leaf, np.array(scores, np.int16), 0, side) for side in range(sides)]
            np.testing.assert_allclose(values, 1 / sides, atol=1e-6)
    leaf = leaf_table(Rules(), "margin")
    values = [
        win_probability(leaf, np.array(s, np.int16), 1, 0) for s in ([10, 0], [30, 20], [60, 0], [61, 3])
    ]
    np.testing.assert_allclose(values, [0.5 + 5 / 60, 0.5 + 5 / 60, 1.0, 1.0], atol=1e-6)


def test_games_without_a_table_are_played_for_margin() -> None:
    rules = Rules.fives_and_threes(3, target=33)
    assert leaf_table(rules, "auto").values.shape == (2, 8, 3)
    with pytest.raises(EquityError, match="no equity table"):
        leaf_table(rules, "equity")
    assert leaf_table(Rules(), "auto").values.shape[1] == 61**2


@pytest.mark.parametrize("agent", QUICK)
def test_they_beat_greedy_in_two_player_rounds(agent: str) -> None:
    """Whole matches to 31 points, sides exchanged: about 70 % at this budget."""
    rules = Rules.fives_and_threes(2, target=31)
    strong = {"rollout": RolloutAgent(samples=50), "ismcts": IsmctsAgent(iterations=200)}[agent]
    greedy, won = GreedyAgent(), 0
    for seed in range(40):
        for side in (0, 1):
            match, rng = Match(rules, seed=seed), np.random.default_rng(seed)
            while not match.over:
                player = strong if match.seat == side else greedy
                match.play(int(player.act(match.view(match.seat), rng)[0]))
            won += match.winner == side
    assert won > 46


@pytest.mark.parametrize(
    ("make", "field"),
    [
        (lambda: RolloutAgent(samples=0), "samples"),
        (lambda: RolloutAgent(pool=0), "pool"),
        (lambda: RolloutAgent(workers=0), "workers"),
        (lambda: RolloutAgent(seconds=0.0), "seconds"),
        (lambda: RolloutAgent(value="points"), "value"),
        (lambda: IsmctsAgent(iterations=0), "iterations"),
        (lambda: IsmctsAgent(seconds=0.0), "seconds"),
        (lambda: IsmctsAgent(explore=-1.0), "explore"),
        (lambda: IsmctsAgent(value="points"), "value"),
    ],
)
def test_impossible_settings_are_refused(make: Callable[[], Agent], field: str) -> None:
    with pytest.raises(ValueError, match=f"{field}: .* given; allowed: "):
        make()


def test_softmax_greedy_is_greedy_when_cold_and_uniform_when_in_doubt() -> None:
    views = some_views("fives_and_threes-4p", 40)
    cold = SoftmaxGreedy(temperature=1e-3, pips=0.02, doubt=0.0)
    masks = action_masks(views)
    greedy = GreedyAgent().act(views, np.random.default_rng(0))
    chances = cold(views)
    np.testing.assert_allclose(chances.sum(1), 1)
    unique = chances.max(1) > 0.99
    assert unique.mean() > 0.8
    assert (chances.argmax(1) == greedy)[unique].all()
    np.testing.assert_allclose(SoftmaxGreedy(doubt=1.0)(views), masks / masks.sum(1, keepdims=True))
    drawn = SoftmaxGreedy().act(views, np.random.default_rng(0))
    assert (masks[np.arange(40), drawn] == 1).all()
