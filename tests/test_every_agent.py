"""What all agents have in common: see ``legality.py`` for their settings, and for 10,000 states of each."""

from __future__ import annotations

import re
import subprocess
import sys
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest
from conftest import FT_PRESETS, PRESETS, action_id, lay, other_world, random_plies, table, valid_rules
from hypothesis import given, settings
from hypothesis import strategies as st
from legality import EVERYBODY, QUICK, SEARCHING, Misplay, check, choose, random_states

import agents
from fivesthrees_env.match import Match
from fivesthrees_env.opponents import Agent, RandomAgent, action_masks
from fivesthrees_env.rules import Rules

ROOT = Path(__file__).resolve().parents[1]
RNG = np.random.default_rng

#: Without a random stream: the same view, the same choice.
DETERMINISTIC = [name for name in EVERYBODY if name not in ("random", "rollout", "ismcts", "pimc")]
#: All that look at points; random alone lets a win go by.
THINKING = [name for name in EVERYBODY if name != "random"]

#: States of each preset in which a searching agent is asked here.
SEARCHED_STATES = 24


@lru_cache
def player(name: str) -> Agent:
    return EVERYBODY[name]()


def choice(name: str, match: Match, seed: int = 0) -> int:
    """What an agent does for the seat to move."""
    return int(choose(player(name), match.records, RNG(seed))[0])


def some_states(preset: str, count: int, seed: int = 3) -> np.ndarray:
    return np.concatenate(list(random_states(PRESETS[preset], count, seed)))


# ------------------------------------------------------------------------------------- several games


@pytest.mark.parametrize("name", EVERYBODY)
def test_views_of_several_games_at_once_are_refused_or_played_as_they_are_apart(name: str) -> None:
    """Games with the same actions: only the rules tell them apart."""
    games = [some_states(preset, 1200 if name not in SEARCHING else 2) for preset in ("short-4p", "long-4p")]
    mixed = np.concatenate(games)
    if name in ("random", "greedy"):
        apart = np.concatenate([choose(player(name), matches, RNG(0)) for matches in games])
        together = choose(player(name), mixed, RNG(0))
        assert name == "random" or (together == apart).all()
        assert (action_masks(mixed)[np.arange(len(mixed)), together] == 1).all()
    else:
        with pytest.raises(
            ValueError, match=rf"\[{len(games[0])}\] has other rules than \[0\]; allowed: one game"
        ):
            choose(player(name), mixed, RNG(0))


# ------------------------------------------------------------------------------------------ names


def test_everybody_is_everybody() -> None:
    assert set(agents.names()) <= set(EVERYBODY)


@pytest.mark.parametrize("name", agents.names())
def test_an_agent_is_loaded_by_name_and_says_what_it_knows(name: str) -> None:
    agent = agents.load(name)
    assert isinstance(agent, Agent)
    assert agent.name == name == player(name).name
    assert type(agent) is type(player(name))
    assert re.search("knows?|sees?|hands|tiles", type(agent).__doc__ or "")  # its own, not inherited


def test_the_documentation_lists_every_agent() -> None:
    lines = (ROOT / "docs" / "ladder.md").read_text(encoding="utf-8").splitlines()
    rows = [line.split("|")[1].strip().strip("`") for line in lines if line.startswith("| `")]
    assert [row for row in rows if row in agents.names()][: len(agents.names())] == list(agents.names())


# ----------------------------------------------------------------------------------------- legality


@pytest.mark.parametrize("preset", PRESETS)
def test_never_illegal_and_never_changes_a_view(preset: str) -> None:
    check([player(name) for name in QUICK], PRESETS[preset], states=10_000, seed=1)
    check([player(name) for name in SEARCHING], PRESETS[preset], SEARCHED_STATES, seed=2)


@given(valid_rules(), st.integers(0, 2**32))
@settings(max_examples=25)
def test_never_illegal_whatever_the_rules(rules: Rules, seed: int) -> None:
    """Each ply by another agent."""
    match, names = Match(rules, seed=seed), RNG(seed).permutation(list(EVERYBODY)).tolist()
    for number in range(20):
        if match.over:
            break
        match.play(choice(names[number % len(names)], match, number))  # raises if illegal


def test_what_an_agent_may_not_do_is_noticed() -> None:
    class First(RandomAgent):
        def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            return np.zeros(len(views), np.int64)

    class Beyond(RandomAgent):
        def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            return np.full(len(views), -1)

    class Scribbler(RandomAgent):
        def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            views["scores"] = 0
            return super().act(views, rng)

    class Short(RandomAgent):
        def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
            return super().act(views[1:], rng)

    for cheat, message in (
        (First(), r"random chose 0 in mini-3; allowed: [1-9]"),
        (Beyond(), "random chose -1 in mini-3"),
        (Scribbler(), "random has changed what it was given"),
        (Short(), r"random answers int64 of shape \(4,\)"),
    ):
        with pytest.raises(Misplay, match=message):
            check([cheat], PRESETS["mini-3"], states=100)


def test_the_command_reports_presets_and_agents() -> None:
    command = [sys.executable, "-m", "tests.legality", "--states", "30"]
    command += ["--agents", "greedy", "oracle", "--presets", "mini-3"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "mini-3: 30 states in " in done.stdout
    assert done.stdout.endswith("never an illegal move by greedy, oracle\n")


# -------------------------------------------------------------------------------- views and chance


@lru_cache
def worlds(preset: str) -> tuple[np.ndarray, np.ndarray]:
    """States of a match, and the same states with other tiles where the seat to move cannot see them."""
    match, rng = Match(preset, seed=6), RNG(6)
    here, there = [match.records.copy()], [other_world(match, match.seat, rng).records]
    for _ in random_plies(match, rng, 40):
        if match.over:
            break
        here.append(match.records.copy())
        there.append(other_world(match, match.seat, rng).records)
    return np.concatenate(here), np.concatenate(there)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("name", [name for name in EVERYBODY if name != "oracle"])
def test_no_choice_changes_when_hidden_tiles_are_exchanged(name: str, preset: str) -> None:
    here, there = worlds(preset)
    few = np.arange(0, len(here), 1 if name in QUICK else 4)
    differing = (here["hands"] != there["hands"]).any(1)
    assert differing[few].sum() >= 2
    actions = choose(player(name), here[few], RNG(2))
    np.testing.assert_array_equal(choose(player(name), there[few], RNG(2)), actions)


def test_the_oracle_does_look_at_hidden_tiles() -> None:
    here, there = worlds("fives_and_threes-4p")
    assert (choose(player("oracle"), here, RNG(2)) != choose(player("oracle"), there, RNG(2))).any()


@pytest.mark.parametrize("name", EVERYBODY)
def test_the_same_seed_makes_the_same_choices(name: str) -> None:
    states = some_states("fives_and_threes-4p", 40)
    actions = [
        choose(agent, states, RNG(seed))
        for agent, seed in ((player(name), 5), (player(name), 5), (EVERYBODY[name](), 5), (player(name), 6))
    ]
    np.testing.assert_array_equal(actions[1], actions[0])
    np.testing.assert_array_equal(actions[2], actions[0])
    assert (actions[3] == actions[0]).all() == (name in DETERMINISTIC)


@pytest.mark.parametrize("preset", ["fives_and_threes-4p", "league-2p", "all_fives-3p"])
@pytest.mark.parametrize("name", DETERMINISTIC)
def test_a_batch_is_no_different_from_one_by_one(name: str, preset: str) -> None:
    states = some_states(preset, 60)
    together = choose(player(name), states, RNG(0))
    alone = [choose(player(name), states[i : i + 1], RNG(i))[0] for i in range(len(states))]
    np.testing.assert_array_equal(alone, together)


@pytest.mark.parametrize("name", EVERYBODY)
def test_the_first_of_a_batch_is_no_different_from_it_alone(name: str) -> None:
    states = some_states("fives_and_threes-2p", 12)
    for k in range(0, 12, 3):
        together = choose(player(name), states[k:], RNG(2))
        assert choose(player(name), states[k : k + 1], RNG(2))[0] == together[0]


@pytest.mark.parametrize("name", EVERYBODY)
def test_an_empty_batch_is_no_trouble(name: str) -> None:
    assert choose(EVERYBODY[name](), some_states("mini-2", 1)[:0], RNG(0)).shape == (0,)


# --------------------------------------------------------------------------------------- positions


@pytest.mark.parametrize("name", THINKING)
def test_a_forced_61_is_taken(name: str) -> None:
    """At 59 one placement of 2 points, at 58 one of 3; the others bust, score less or nothing."""
    match = table([[(6, 6), (1, 4), (5, 5), (3, 5)], [(0, 0), (0, 1), (0, 2), (0, 3)]], scores=[59, 60])
    assert choice(name, match) == action_id(match.rules, ((5, 5), "left"))
    match = table([[(0, 6), (3, 6), (6, 6)], [(0, 0), (0, 1)], [(0, 2), (0, 4)], [(4, 4), (4, 5)]])
    match.records[0]["scores"][:2] = 58, 60
    assert choice(name, match) == action_id(match.rules, ((3, 6), "left"))


@lru_cache
def states_with_a_win(preset: str) -> list[tuple[Match, list[int]]]:
    """States of first rounds near the target in which some placements win now and others do not."""
    rules, found = PRESETS[preset], []
    for seed in range(40):
        match, rng = Match(rules, seed=seed), RNG(seed)
        match.records["scores"][0, : rules.num_sides] = rules.target - rng.integers(1, 5, rules.num_sides)
        for _ in random_plies(match, rng, int(rng.integers(1, 8))):
            pass
        if match.over or match.round_index:
            continue
        legal = match.legal_actions().tolist()
        winning = [action for action in legal if match.copy().play(action).match_over]
        if 0 < len(winning) < len(legal):
            found.append((match, winning))
    return found


@pytest.mark.parametrize("name", THINKING)
def test_a_win_that_can_be_had_now_is_taken(name: str) -> None:
    """Random states of all Fives and Threes, where the winning placement also scores most."""
    asked = 0
    for preset in FT_PRESETS:
        for match, winning in states_with_a_win(preset):
            assert choice(name, match) in winning, match
            asked += 1
    assert asked > 50


@pytest.mark.parametrize("name", THINKING)
def test_ft_7_heavier_double_end_or_plain_end_is_decided_by_points(name: str) -> None:
    """[1|4] at the plain end makes 9, three points; at the double end 5, one point. It is the last tile."""
    match = table([[(4, 4), (2, 3), (1, 4)], [(3, 4), (2, 4), (6, 6)]], opener=0)
    lay(match, (4, 4))
    lay(match, (3, 4), "right")
    lay(match, (2, 3), "right")
    lay(match, (2, 4), "right")
    assert match.ends[:2] == (4, 4)
    plain, double = (action_id(match.rules, ((1, 4), end)) for end in ("right", "left"))
    assert set(match.legal_actions().tolist()) == {plain, double}
    assert [match.copy().play(action).accepted for action in (plain, double)] == [3 + 1, 1 + 1]
    assert choice(name, match) == plain
