"""``pimc`` and ``oracle``: the agents that solve rounds, and the door that only the oracle has."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from conftest import PRESETS, name_of_type, random_plies
from numpy.random import Generator

from agents.oracle import OracleAgent
from agents.pimc import PimcAgent
from agents.solver import Solver, action_values
from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.match import Match
from fivesthrees_env.opponents import GreedyAgent, RandomAgent
from fivesthrees_env.rules import Rules
from train.arena import new_matches, play_out
from train.evaluate import whole_matches


def quick_pimc(**changes: object) -> PimcAgent:
    return PimcAgent(**{"samples": 3, "most_plies": 500, **changes})


def quick_oracle(**changes: object) -> OracleAgent:
    return OracleAgent(**{"most_plies": 500, **changes})


def choice(agent: PimcAgent, match: Match, seed: int = 0) -> int:
    """What an agent does for the seat to move."""
    return int(agent.act(match.view(match.seat), np.random.default_rng(seed))[0])


# ------------------------------------------------------------------------------------------ both


@pytest.mark.parametrize("name", ["fives_and_threes-2p", "fives_and_threes-4p", "league-4p-knocks"])
@pytest.mark.parametrize("objective", ["margin", "match"])
def test_a_61_that_can_be_made_now_is_made(name: str, objective: str) -> None:
    rules, found = PRESETS[name], 0
    pimc, oracle = quick_pimc(objective=objective), quick_oracle(objective=objective)
    for seed in range(60):
        match, rng = Match(rules, seed=seed), np.random.default_rng(seed)
        match.records["scores"][0, :2] = rng.integers(57, 61, 2)
        for _ in random_plies(match, rng, int(rng.integers(1, 8))):
            pass
        if match.over or match.round_index:
            continue
        winning = [a for a in match.legal_actions().tolist() if match.copy().play(a).match_over]
        if winning and len(winning) < len(match.legal_actions()):
            found += 1
            assert choice(pimc, match) in winning
            assert oracle.act_on_matches(match.records, rng)[0] in winning
    assert found > 5


def test_another_game_is_no_trouble() -> None:
    for agent in (quick_pimc(), quick_oracle()):
        for name in ("mini-3", "fives_and_threes-3p", "mini-3"):
            matches = new_matches(PRESETS[name], np.arange(3))
            play_out(matches, [agent], np.zeros((3, 3), int), np.random.default_rng(0), one_round=True)


# ------------------------------------------------------------------------------------------ pimc


def test_workers_change_nothing() -> None:
    views = MatchBatch(30, "fives_and_threes-4p", seed=1).views
    acts = [quick_pimc(workers=workers).act(views, np.random.default_rng(1)) for workers in (1, 2, 7)]
    assert (acts[0] == acts).all()


def test_where_nothing_is_hidden_pimc_is_exact() -> None:
    """Two hands and nothing asleep: the other hand follows from the own one."""
    rules, checked = Rules.fives_and_threes(num_players=2, highest=3, hand_size=5), 0
    for seed in range(10):
        match = Match(rules, seed=seed)
        while match.round_index == 0 and not match.over:
            values = action_values(match)
            action = choice(quick_pimc(samples=1, objective="margin", most_plies=None), match)
            assert values[action] == np.nanmax(values)
            checked += len(match.legal_actions()) > 1
            match.play(action)
    assert checked > 20


def test_values_tend_to_the_mean_over_all_possible_deals() -> None:
    """At the first lead of a double-three set the other hand is one of 35, all equally likely."""
    match = Match("mini-3", seed=4)
    unseen = [tile for tile in range(10) if not int(match.records["hands"][0, match.seat]) >> tile & 1]
    values = []
    for hand in combinations(unseen, 3):
        world = match.copy()
        world.records["hands"][0, 1 - match.seat] = sum(1 << tile for tile in hand)
        values.append(action_values(world))
    assert len(values) == 35
    pimc = quick_pimc(samples=4000, objective="margin", most_plies=None)
    pimc._prepare(match.rules)
    means = pimc._mean_values(match.view(match.seat), pimc._solvers[0], np.random.default_rng(0))
    legal, expected = match.legal_actions(), np.mean(values, 0)
    error = np.std(values, 0)[legal] / 4000**0.5
    assert (np.abs(means - expected)[legal] < 4 * error).all()
    assert np.ptp(expected[legal]) > 8 * error.max()


def test_a_time_budget_ends_a_move() -> None:
    views = MatchBatch(2, "all_fives-2p", seed=1).views
    batch = MatchBatch(2, "all_fives-2p", seed=1)
    actions = PimcAgent(seconds=0.01, most_plies=500).act(views, np.random.default_rng(1))
    assert (batch.action_masks[np.arange(2), actions] == 1).all()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"samples": 0}, "samples: 0 given; allowed: 1 or more"),
        ({"workers": 0}, "workers: 0 given; allowed: 1 or more"),
        ({"seconds": 0.0}, "seconds: 0.0 given; allowed: more than 0, or None"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, float], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        PimcAgent(**settings)


# ---------------------------------------------------------------------------------------- oracle


class Peeper:
    """An ordinary agent that would like to see all hands."""

    name = "peeper"

    def act(self, views: np.ndarray, rng: Generator) -> np.ndarray:
        return RandomAgent().act(views, rng)

    def act_on_matches(self, matches: np.ndarray, rng: Generator) -> np.ndarray:
        raise AssertionError("it was given matches")


def by_instance() -> RandomAgent:
    agent = RandomAgent()
    agent.act_on_matches = Peeper().act_on_matches
    return agent


@pytest.mark.parametrize("agent", [Peeper(), by_instance()], ids=name_of_type)
def test_no_other_agent_is_given_matches(agent: Peeper) -> None:
    matches = new_matches(Rules(), np.arange(4))
    before = matches.tobytes()
    with pytest.raises(TypeError, match=r"has act_on_matches; allowed: act\(views, rng\)"):
        play_out(matches, [GreedyAgent(), agent], np.tile([0, 1], (4, 2)), np.random.default_rng(0))
    assert matches.tobytes() == before


def test_the_oracle_cannot_be_made_into_another_class() -> None:
    with pytest.raises(TypeError, match="Cheat given; allowed: OracleAgent itself"):
        type("Cheat", (OracleAgent,), {})


def test_the_oracle_does_not_play_from_views() -> None:
    with pytest.raises(TypeError, match="the oracle needs open hands"):
        quick_oracle().act(Match("mini-2", seed=0).view(0), np.random.default_rng(0))


def test_all_others_get_views() -> None:
    """What they are given holds no hand but their own."""
    seen = []

    class Watcher(RandomAgent):
        name = "watcher"

        def act(self, views: np.ndarray, rng: Generator) -> np.ndarray:
            seen.append(views["hands"][:, 1:].max())
            return super().act(views, rng)

    matches = new_matches(Rules(), np.arange(4))
    play_out(matches, [quick_oracle(), Watcher()], np.tile([0, 1], (4, 2)), np.random.default_rng(0), True)
    assert seen
    assert max(seen) == 0


def test_the_oracle_takes_the_value_that_the_solver_finds() -> None:
    """Both sides play the oracle to the end of a round: it ends with the solver's margin."""
    rules = PRESETS["fives_and_threes-4p"]
    matches = new_matches(rules, np.arange(8))
    values = Solver("margin").solve(matches).values
    play_out(matches, [OracleAgent("margin")], np.zeros((8, 4), int), np.random.default_rng(0), True)
    assert (matches["scores"][:, 0] - matches["scores"][:, 1] == values[:, 0]).all()


def test_the_oracle_beats_greedy_nearly_always() -> None:
    result = whole_matches(OracleAgent(most_plies=5_000), GreedyAgent(), PRESETS["fives_and_threes-2p"], 40)
    assert result.mean > 0.9


def test_the_oracle_cannot_call_itself_anything_else() -> None:
    with pytest.raises(AttributeError):
        OracleAgent().name = "honest"  # type: ignore[misc]


def test_nobody_turns_into_the_oracle() -> None:
    class Late(RandomAgent):
        pass

    with pytest.raises(TypeError):
        Late().__class__ = OracleAgent  # type: ignore[assignment]
