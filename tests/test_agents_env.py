"""The opponents that the environments bring along: random and greedy."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from conftest import (
    AF_PRESETS,
    FT_PRESETS,
    PRESETS,
    Tile,
    action_id,
    chi_square,
    chi_square_limit,
    lay,
    random_plies,
    table,
    valid_rules,
)
from hypothesis import given
from hypothesis import strategies as st

from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.match import Match
from fivesthrees_env.opponents import Agent, GreedyAgent, RandomAgent, action_masks, opponent, rules_of
from fivesthrees_env.rules import Rules

AGENTS = {"random": RandomAgent, "greedy": GreedyAgent}


def choice(agent: Agent, match: Match, seed: int = 0) -> int:
    """What an agent does for the seat to move."""
    return int(agent.act(match.view(match.seat), np.random.default_rng(seed))[0])


# ------------------------------------------------------------------------------------ all agents


@pytest.mark.parametrize("name", AGENTS)
def test_they_are_agents_and_have_names(name: str) -> None:
    agent = AGENTS[name]()
    assert isinstance(agent, Agent)
    assert agent.name == name
    assert type(opponent(name)) is AGENTS[name]
    assert opponent(agent) is agent


@pytest.mark.parametrize("agent", ["", "Greedy", "expert"])
def test_other_names_are_refused_with_the_list(agent: str) -> None:
    with pytest.raises(ValueError, match=f"opponent: '{agent}' given; .*'random', 'greedy'"):
        opponent(agent)


@pytest.mark.parametrize("agent", [None, 3, object(), RandomAgent.act, {"name": "x"}])
def test_objects_that_are_no_agents_are_refused(agent: object) -> None:
    with pytest.raises(TypeError, match=r"opponent: .* given; allowed: an Agent"):
        opponent(agent)


@pytest.mark.parametrize("name", PRESETS)
def test_masks_of_views_are_those_of_the_matches(name: str) -> None:
    batch = MatchBatch(10, name, seed=1)
    rng = np.random.default_rng(1)
    for _ in range(80):
        assert (action_masks(batch.views) == batch.action_masks).all()
        assert (action_masks(batch.matches) == batch.action_masks).all()
        batch.step(batch.random_actions(rng))


# ---------------------------------------------------------------------------------------- random


@pytest.mark.parametrize("name", ["fives_and_threes-4p", "all_fives-2p", "double-nine-4p"])
def test_random_is_uniform_over_the_legal_actions(name: str) -> None:
    """40,000 choices in each of some positions: chi-square with fixed seeds."""
    match = Match(name, seed=3)
    for number, _ in enumerate(random_plies(match, np.random.default_rng(3), 25)):
        legal = match.legal_actions()
        views = np.repeat(match.view(match.seat), 40_000)
        actions = RandomAgent().act(views, np.random.default_rng(number))
        counts = np.bincount(actions, minlength=match.rules.num_actions)
        assert counts[legal].sum() == 40_000
        if len(legal) > 1:
            assert chi_square(counts[legal], 40_000 / len(legal)) < chi_square_limit(len(legal) - 1)


def test_random_repeats_with_its_generator_and_only_then() -> None:
    views = np.repeat(Match("league-2p", seed=1).view(0), 100)
    acts = [RandomAgent().act(views, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert (acts[0] == acts[1]).all()
    assert (acts[0] != acts[2]).any()
    rng = np.random.default_rng(1)
    assert (RandomAgent().act(views, rng) != RandomAgent().act(views, rng)).any()


# ---------------------------------------------------------------------------------------- greedy


def expected_settlement(match: Match, played: Tile) -> int:
    """What a block pays the side to move, where the other hands hold unseen tiles of average weight."""
    rules, me = match.rules, match.seat
    own = sum(map(sum, match.hands[me])) - sum(played)
    hidden = [tile for seat, hand in enumerate(match.hands) if seat != me for tile in hand]
    mean = Fraction(sum(map(sum, hidden)), len(hidden))  # nothing sleeps: all that is unseen is in hands
    pips = [Fraction(0)] * rules.num_sides
    for seat in range(rules.num_players):
        pips[rules.side_of(seat)] += own if seat == me else mean * match.held[seat]
    mine = pips.pop(rules.side_of(me))
    if mine >= min(pips):
        return 0
    paid = round(sum(pips) - (mine if rules.block == "others_minus_own" else 0))
    fives = (paid + 2) // 5
    return fives if rules.scoring == "fives_over_5" else 5 * fives


def best_by_trying(match: Match) -> int:
    """The action that earns most now, then by pips, then the larger half, then first end."""
    rules = match.rules

    def rank(action: int) -> tuple[int, int, int, int]:
        if action in (rules.draw_action, rules.knock_action):
            return (0, 0, 0, 0)
        event = match.copy().play(action)
        points = event.accepted - (event.settlement if event.round_end == "out" else 0)  # hidden pips
        if event.round_end == "blocked" and rules.block != "none" and match.held[match.seat] > 1:
            points += expected_settlement(match, event.tile)
        return (points, sum(event.tile), max(event.tile), -event.end)

    return max(match.legal_actions().tolist(), key=rank)


@pytest.mark.parametrize("name", [*FT_PRESETS, *AF_PRESETS])
def test_greedy_takes_the_most_accepted_points(name: str) -> None:
    for seed in range(4):
        match = Match(name, seed=seed)
        rng = np.random.default_rng(seed)
        while not match.over and len(match.events) < 200:
            assert choice(GreedyAgent(), match) == best_by_trying(match)
            match.play(rng.choice(match.legal_actions()))


@given(valid_rules(), st.integers(0, 2**32))
def test_greedy_takes_the_most_accepted_points_whatever_the_rules(rules: Rules, seed: int) -> None:
    if rules.going_out == "pips" and rules.overshoot == "reject":
        rules = rules.replace(going_out="one")  # hidden pips would decide what is accepted
    sleepers = rules.num_tiles - rules.num_players * rules.hand_size
    if rules.block != "none" and (rules.boneyard_floor or (sleepers and not rules.draw)):
        rules = rules.replace(block="none")  # sleepers would decide what is a block
    match, rng = Match(rules, seed=seed), np.random.default_rng(seed)
    while not match.over and len(match.events) < 30:
        assert choice(GreedyAgent(), match) == best_by_trying(match)
        match.play(rng.choice(match.legal_actions()))


def test_greedy_prefers_points_that_are_accepted() -> None:
    match = table([[(6, 6), (1, 4), (5, 5)], [(0, 0)]], scores=[60, 0])
    assert choice(GreedyAgent(), match) == action_id(match.rules, ((1, 4), "left"))
    match.deal([[(6, 6), (1, 4), (5, 5)], [(0, 0)]], scores=[50, 0])
    assert choice(GreedyAgent(), match) == action_id(match.rules, ((6, 6), "left"))
    match.deal([[(6, 6), (1, 4), (5, 5)], [(0, 0)]], scores=[59, 0])
    assert choice(GreedyAgent(), match) == action_id(match.rules, ((5, 5), "left"))


def test_greedy_gives_up_points_for_a_block_that_pays_more() -> None:
    match, rng = Match("all_fives-2p-9-tiles", seed=620), np.random.default_rng(620)
    while len(match.events) < 33:
        match.play(rng.choice(match.legal_actions()))
    points = {match.action_name(a): match.copy().play(a).accepted for a in match.legal_actions()}
    assert points == {"[5|6] up": 15, "[5|6] down": 0}
    assert match.action_name(choice(GreedyAgent(), match)) == "[5|6] down"
    event = match.play(choice(GreedyAgent(), match))
    assert (event.round_end, event.settlement, event.settled_side) == ("blocked", 20, event.seat)


def test_greedy_counts_the_bonus_for_going_out() -> None:
    match = table([[(1, 6), (1, 4)], [(6, 2), (3, 3)]])
    lay(match, (1, 6))
    lay(match, (2, 6), "right")
    assert choice(GreedyAgent(), match) == action_id(match.rules, ((1, 4), "left"))


def test_greedy_breaks_ties_by_the_heavier_tile() -> None:
    match = table([[(0, 1), (0, 2), (3, 4), (2, 5), (6, 1)], [(0, 0)]])
    assert choice(GreedyAgent(), match) == action_id(match.rules, ((1, 6), "left"))
    match.deal([[(0, 1), (0, 4), (1, 3), (2, 2)], [(0, 0)]])  # 4 pips each, no points
    assert choice(GreedyAgent(), match) == action_id(match.rules, ((0, 4), "left"))


def test_greedy_breaks_mirror_images_by_the_first_end() -> None:
    match = table([[(2, 2), (0, 0)], [(2, 5), (1, 2)]])
    lay(match, (2, 2))
    assert choice(GreedyAgent(), match) == action_id(match.rules, ((2, 5), "left"))


def test_greedy_wins_against_random_as_often_as_published() -> None:
    """94.5 % of matches of four in pairs: within four standard errors of 2,000, plus the rounding."""
    batch = MatchBatch(2000, "fives_and_threes-4p", seed=1, specialise=False)
    greedy_side = np.arange(2000) % 2
    rng, winners = np.random.default_rng(1), np.full(2000, -1)
    while (winners < 0).any():
        greedy = GreedyAgent().act(batch.views, rng)
        random = RandomAgent().act(batch.views, rng)
        batch.step(np.where(batch.seats % 2 == greedy_side, greedy, random))
        winners = np.where(winners < 0, batch.winners, winners)
    share = (winners == greedy_side).mean()
    assert abs(share - 0.945) < 4 * (0.945 * 0.055 / 2000) ** 0.5 + 0.0005


def test_the_rules_of_records_are_those_of_all_of_them() -> None:
    views = [MatchBatch(3, name, seed=1).views for name in ("long-4p", "short-4p")]
    mixed = np.concatenate(views)
    mixed.setflags(write=False)
    for one in (mixed[:3], mixed[2::-1], mixed[:3:2], np.broadcast_to(mixed[:1], 4)):
        assert rules_of(one) == Rules.preset("long-4p")
    assert rules_of(mixed[3:]) == Rules.preset("short-4p")
    for several, other in ((mixed, 3), (mixed[::-1], 3), (mixed[::3], 1)):
        with pytest.raises(
            ValueError, match=rf"records: \[{other}\] has other rules than \[0\]; allowed: one"
        ):
            rules_of(several)


def test_masks_of_several_games_at_once_are_refused() -> None:
    views = np.concatenate([MatchBatch(2, name, seed=1).views for name in ("mini-3", "all_fives-4p")])
    with pytest.raises(ValueError, match=r"records: \[2\] has other rules than \[0\]; allowed: one game"):
        action_masks(views)
    assert action_masks(views[:0]).shape == (0, 0)
