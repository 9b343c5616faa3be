"""The double-dummy solver against plain enumeration, and in endgames worked out by hand."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from conftest import PRESETS, Tile, action_id, knock, lay, random_plies, table, valid_rules
from hypothesis import given
from hypothesis import strategies as st

from agents.equity import Equity
from agents.solver import Solver, SolverError, action_values, solve
from fivesthrees_env.kernel.record import MATCH
from fivesthrees_env.match import Match
from fivesthrees_env.rewards import margins
from fivesthrees_env.rules import Rules

# ---------------------------------------------------------------------------- plain enumeration


def made_up_equity(rules: Rules, seed: int = 0) -> Equity:
    """A table of random numbers: what it says does not matter, but that the solver reads it right."""
    unit, sides = rules.score_unit, rules.num_sides
    levels = np.arange(0, rules.target, unit)
    if (levels.size**sides) > 10_000:
        levels = np.linspace(0, rules.target - 1, 8).astype(np.int64)
    values = np.random.default_rng(seed).random((2, levels.size**sides, sides), np.float32)
    return Equity(rules, levels, values / values.sum(-1, keepdims=True), {})


def value_of_scores(match: Match, event, scores, equity: Equity | None) -> np.ndarray:
    """What the end of a round is worth; `scores` are those at its start."""
    if equity is None:
        return margins(np.array(match.scores, float) - scores)
    opener = match.opener
    if match.rules.lead_later == "winner" and not match.over and event.round_end == "blocked":
        opener = opener if event.settled_side is not None else -1
    won = equity([match.scores], [opener])[0].astype(float)
    if match.rules.num_sides == 2:
        won[1] = 1 - won[0]
    return won


def enumerate_values(match: Match, scores, equity: Equity | None) -> dict[int, np.ndarray]:
    """The value of each legal action for all sides, by plain recursion over copies of the match."""
    values = {}
    for action in match.legal_actions().tolist():
        twin, before = match.copy(), match.round_index
        event = twin.play(action)
        if twin.over or twin.round_index != before:
            values[action] = value_of_scores(twin, event, scores, equity)
        else:
            values[action] = best_of(twin, enumerate_values(twin, scores, equity))
    return values


def best_of(match: Match, values: dict[int, np.ndarray]) -> np.ndarray:
    """The outcome that the side to move takes: most for itself, then least for the next sides in turn."""
    side, sides = match.side_of(match.seat), match.num_sides

    def rank(value: np.ndarray) -> tuple[float, ...]:
        turned = np.round(np.roll(value, -side), 9)
        return (turned[0], *-turned[1:])

    assert sides >= 2
    return max(values.values(), key=rank)


def late_position(rules: Rules, seed: int, most_hidden: int, scores: str = "near") -> Match:
    """A random position from which at most so many tiles can still be laid."""
    rng = np.random.default_rng(seed)
    match = Match(rules, seed=seed)
    top = rules.target // rules.score_unit
    low = max(0, top - 12) if scores == "near" else 0
    points = rng.integers(low, top, rules.num_sides) * rules.score_unit
    match.records["scores"][0, : rules.num_sides] = points
    for _ in random_plies(match, rng):
        tiles = sum(match.held) + (len(match.boneyard) if rules.draw else 0)
        if match.over:
            return late_position(rules, seed + 1000, most_hidden, scores)
        if tiles <= most_hidden and len(match.legal_actions()) > 1:
            break
    return match


def assert_solved(match: Match, equity: Equity | None, solver: Solver) -> None:
    scores = np.array(match.scores, float)
    expected = enumerate_values(match, scores, equity)
    got = solver.action_values(match.records)
    assert got.exact.all()
    side = match.side_of(match.seat)
    for action in range(match.rules.num_actions):
        if action in expected:
            assert got.values[0, action] == pytest.approx(expected[action][side], abs=1e-6)
        else:
            assert np.isnan(got.values[0, action])
    solution = solver.solve(match.records)
    assert solution.exact.all()
    assert solution.values[0] == pytest.approx(best_of(match, expected), abs=1e-6)


SIZES = {"fives": 7, "fives_over_5": 7, "fives_and_threes": 9}


@pytest.mark.parametrize("objective", ["margin", "match"])
@pytest.mark.parametrize("name", PRESETS)
def test_values_are_those_of_plain_enumeration(name: str, objective: str) -> None:
    rules = PRESETS[name]
    equity = made_up_equity(rules) if objective == "match" else None
    solver = Solver(equity or "margin")
    for seed in range(3):
        match = late_position(rules, seed, SIZES[rules.scoring], "near" if seed else "any")
        assert_solved(match, equity, solver)
