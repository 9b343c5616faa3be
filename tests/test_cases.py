"""The stored rounds of both games (``cases/rounds.json``), every value, and their records."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from conftest import Move, action_id, legal

from fivesthrees_env.match import Match
from fivesthrees_env.rules import Rules

CASES = json.loads((Path(__file__).parent / "cases" / "rounds.json").read_text(encoding="utf-8"))

cases = pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])


def set_up(case: dict) -> Match:
    """The match of a case, dealt but not played."""
    match = Match(Rules.preset(f"{case['game']}-{case['num_players']}p"), seed=1)
    match.deal(case["hands"], case["opener"], case["scores"], case["boneyard"])
    return match


def move_of(stored: str | dict) -> Move:
    """A stored move as the tests write it."""
    return stored if isinstance(stored, str) else (tuple(stored["tile"]), stored["end"])


def play_case(case: dict) -> Match:
    """The match of a case, played to the end of the round."""
    match = set_up(case)
    for ply in case["plies"]:
        match.play(action_id(match.rules, move_of(ply["move"])))
    return match


def test_both_games_are_among_the_cases() -> None:
    assert {case["game"] for case in CASES} == {"fives_and_threes", "all_fives"}


@cases
def test_case_is_set_up_exactly(case: dict) -> None:
    match = set_up(case)
    assert match.hands == tuple(tuple(map(tuple, hand)) for hand in case["hands"])
    assert (match.opener, match.seat) == (case["opener"], case["opener"])
    assert match.scores == tuple(case["scores"])
    if case["boneyard"] is not None:
        assert match.boneyard == tuple(map(tuple, case["boneyard"]))


@cases
def test_case_ply_by_ply(case: dict) -> None:
    match = set_up(case)
    for ply in case["plies"]:
        move = move_of(ply["move"])
        assert match.seat == ply["seat"]
        assert legal(match) == set(map(move_of, ply["legal"]))
        ids = sorted(action_id(match.rules, move_of(stored)) for stored in ply["legal"])
        assert match.legal_actions().tolist() == ids
        assert np.flatnonzero(match.action_mask()).tolist() == ids
        event = match.play(action_id(match.rules, move))
        assert event.seat == ply["seat"]
        placed = not isinstance(move, str)
        assert event.kind == (move if not placed else "play" if len(match.events) > 1 else "lead")
        assert event.tile == (move[0] if placed else None)
        for field in ("count", "offered", "accepted", "round_end", "match_over"):
            assert getattr(event, field) == ply[field], field
        assert match.scores == tuple(ply["scores"])
        assert match.over == ply["match_over"]
    assert match.over or match.round_index == 1


@cases
def test_case_record_replays(case: dict) -> None:
    match = play_case(case)
    stored = json.dumps(match.record())
    again = Match.replay(json.loads(stored))
    assert json.dumps(again.record()) == stored
    assert again.events == match.events
    assert (again.scores, again.winner, again.hands) == (match.scores, match.winner, match.hands)
