"""What holds by any rules that can be played: whole random matches over random `Rules`."""

from __future__ import annotations

import numpy as np
from conftest import valid_rules
from hypothesis import given
from hypothesis import strategies as st

from fivesthrees_env.kernel.record import MAX_PLIES
from fivesthrees_env.match import Match
from fivesthrees_env.rules import Rules

MOST_ROUNDS = 12  # some rules take for ever to hit their target


def most_plies(rules: Rules) -> int:
    """A bound for one round.

    No tile is laid or drawn twice. Nobody knocks while tiles can be drawn, and after a placement fewer than
    `num_players` knocks follow, since a round in which nobody can play is blocked at once.
    """
    in_hands = rules.num_players * rules.hand_size
    drawn = rules.num_tiles - in_hands - rules.boneyard_floor if rules.draw else 0
    return drawn + (in_hands + drawn) * rules.num_players


@given(valid_rules(), st.integers(0, 2**32))
def test_rounds_end_tiles_stay_and_scores_keep_to_the_target(rules: Rules, seed: int) -> None:
    match, rng = Match(rules, seed=seed), np.random.default_rng(seed)
    tiles = {tile for hand in match.hands for tile in hand} | set(match.boneyard)
    assert len(tiles) == rules.num_tiles
    bound, plies = most_plies(rules), 0
    assert bound <= MAX_PLIES
    while not match.over and match.round_index < MOST_ROUNDS:
        mask = match.action_mask()
        assert mask.any()
        before, scores = match.round_index, match.scores
        event = match.play(rng.choice(np.flatnonzero(mask)))
        plies += 1
        assert plies <= bound
        assert_scores_follow_from_the_event(match, event, scores)
        if match.round_index == before:
            assert_each_tile_is_in_one_place(match, tiles)
        else:
            plies = 0
    if match.over:
        assert not match.action_mask().any()
        assert match.scores[match.winner] >= rules.target


def assert_scores_follow_from_the_event(match: Match, event: tuple, before: tuple[int, ...]) -> None:
    rules, gains = match.rules, [0] * match.num_sides
    gains[match.side_of(event.seat)] += event.accepted
    if event.round_end == "blocked" and event.settled_side is not None:
        gains[event.settled_side] += event.settlement
    assert event.accepted in (0, event.offered)
    assert match.scores == tuple(a + b for a, b in zip(before, gains, strict=True))
    if rules.overshoot == "reject":
        assert max(match.scores) <= rules.target
    assert match.over == event.match_over == (max(match.scores) >= rules.target)


def assert_each_tile_is_in_one_place(match: Match, tiles: set[tuple[int, int]]) -> None:
    laid = [*match.line, *match.arms[0], *match.arms[1]]
    places = [tile for hand in match.hands for tile in hand]
    places += [*match.boneyard, *(tuple(sorted(tile)) for tile in laid)]
    assert len(places) == len(tiles)
    assert set(places) == tiles
