"""The double-dummy solver against plain enumeration, and in endgames worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from conftest import PRESETS, Tile, knock, lay, random_plies, table, valid_rules
from hypothesis import given
from hypothesis import strategies as st

from agents.equity import Equity
from agents.solver import Solver, SolverError, action_values, solve
from fivesthrees_env.kernel.record import MATCH
from fivesthrees_env.match import Match
from fivesthrees_env.opponents import GreedyAgent
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
    side = match.side_of(match.seat)

    def rank(value: np.ndarray) -> tuple[float, ...]:
        turned = np.round(np.roll(value, -side), 9)
        return (turned[0], *-turned[1:])

    return max(values.values(), key=rank)


def late_position(rules: Rules, seed: int, most_hidden: int, scores: str = "near") -> Match | None:
    """A random position with a choice from which at most so many tiles can still be laid, if one is found.

    Its scores are random too: "near" the target, or "any".
    """
    rng = np.random.default_rng(seed)
    top = rules.target // rules.score_unit
    low = max(0, top - 12) if scores == "near" else 0
    for attempt in range(30):
        match = Match(rules, seed=1000 * attempt + seed)
        for _ in random_plies(match, rng, 100):
            tiles = sum(match.held) + (len(match.boneyard) if rules.draw else 0)
            if not match.over and tiles <= most_hidden and len(match.legal_actions()) > 1:
                points = rng.integers(low, top, rules.num_sides) * rules.score_unit
                match.records["scores"][0, : rules.num_sides] = points
                return match
    return None


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


@given(valid_rules(), st.integers(0, 2**32), st.booleans())
def test_values_are_those_of_plain_enumeration_whatever_the_rules(
    rules: Rules, seed: int, for_the_match: bool
) -> None:
    equity = made_up_equity(rules) if for_the_match else None
    match = late_position(rules, seed, 6)
    if match is not None:
        assert_solved(match, equity, Solver(equity or "margin", table_bits=6))


@pytest.mark.parametrize("name", ["mini-2", "mini-3", "mini-3-pairs", "mini-all-fives-3"])
def test_whole_small_games_are_solved(name: str) -> None:
    rules = PRESETS[name]
    for seed in range(6):
        assert_solved(Match(rules, seed=seed), None, Solver())
        assert_solved(Match(rules, seed=seed), made_up_equity(rules), Solver(made_up_equity(rules)))


@pytest.mark.parametrize(
    ("name", "tiles"),
    [("fives_and_threes-4p", 18), ("fives_and_threes-3p", 15), ("teesdale-2p", 16), ("muggins-2p", 15)],
)
def test_the_table_changes_no_value(name: str, tiles: int) -> None:
    """With two slots next to nothing is remembered; scores are near the target."""
    rules = PRESETS[name]
    positions = [late_position(rules, seed, tiles) for seed in range(12)]
    matches = np.concatenate([match.records for match in positions if match is not None])
    forgetful, usual = (Solver(table_bits=bits).action_values(matches) for bits in (1, 14))
    assert np.array_equal(forgetful.values, usual.values, equal_nan=True)
    assert forgetful.plies.sum() > usual.plies.sum()


# ------------------------------------------------------------------------- endgames worked out by hand


def values_by_move(match: Match, objective: str | Equity = "margin") -> dict[str, float]:
    """The value of each legal action for the side to move, by name."""
    values = action_values(match, objective)
    return {match.action_name(a): float(values[a]) for a in match.legal_actions()}


def test_heavier_double_end_or_plain_end() -> None:
    """FT-7: [1|4] leaves 1+4 = 5 at the double end, 1 point, and 8+1 = 9 at the plain end, 3 points.

    It is the last tile: one more for going out, and nothing follows.
    """
    match = table([[(4, 4), (2, 3), (1, 4)], [(3, 4), (2, 4), (0, 0)]])
    lay(match, (4, 4))
    lay(match, (3, 4), "right")
    lay(match, (2, 3), "right")
    lay(match, (2, 4), "right")
    assert values_by_move(match) == {"[1|4] left": 2.0, "[1|4] right": 4.0}


def test_points_now_are_not_taken_where_they_give_more_away() -> None:
    """[1|4] makes 5: 1 point, but then [4|4] makes 1+8 = 9: 3 points and out, 1.

    [2|3] makes 5 as well, and nobody fits: a block, so 1 point to none.
    """
    match = table([[(1, 4), (2, 3)], [(4, 4)]])
    assert values_by_move(match) == {"[1|4] left": 1.0 - 4.0, "[2|3] left": 1.0}
    assert solve(match).tolist() == [1.0, -1.0]


def test_exactly_61_decides_what_a_tile_is_worth() -> None:
    """At 60 only one point is accepted; [3|3] alone makes 6, two: refused, as 62 would be too much."""
    hands: list[list[Tile]] = [[(3, 3), (1, 4)], [(0, 0)]]
    assert values_by_move(table(hands)) == {"[3|3] left": 2.0, "[1|4] left": 1.0}
    match = table(hands, scores=[60, 0])
    assert values_by_move(match) == {"[3|3] left": 0.0, "[1|4] left": 1.0}
    equity = made_up_equity(match.rules)
    stays = float(equity([[60, 0]], [1])[0, 0])
    by_move = values_by_move(match, equity)
    assert by_move == {"[3|3] left": pytest.approx(stays), "[1|4] left": 1.0}


def test_a_partner_plays_for_the_pair() -> None:
    """Seat 2 goes out second, so the bonus is the pair's: 1 point, and 5 at the end makes another."""
    match = table([[(1, 2)], [(6, 6)], [(2, 4)], [(5, 6)]])
    event = lay(match, (1, 2))
    assert event.accepted == 1
    assert match.seat == 1
    assert solve(match).tolist() == [2.0, -2.0]
    knock(match)
    assert values_by_move(match) == {"[2|4] right": 2.0}


def test_maxn_ties_go_to_the_outcome_that_gives_the_next_side_least() -> None:
    """Seat 1 makes 2 points with either tile. After [1|4] seat 2 makes 8+2 = 10 with [4|4], 2 points; after
    [2|5] it cannot play, and seat 0 makes 5+5 = 10 with [1|5]. Seat 1's margin is 2 - 2/2 both times.
    """
    hands: list[list[Tile]] = [[(1, 2), (1, 5), (3, 3)], [(1, 4), (2, 5)], [(4, 4), (0, 0)]]
    match = table(hands, going_out="none")
    lay(match, (1, 2))
    assert values_by_move(match) == {"[1|4] left": 1.0, "[2|5] right": 1.0}
    assert solve(match).tolist() == [1.0, 1.0, -2.0]
    assert np.nanmax(action_values(table(hands, going_out="none"))) == 2.0  # [1|2] made 1 more for seat 0


# ------------------------------------------------------------------------------------------ properties


@pytest.mark.parametrize("name", ["fives_and_threes-4p", "fives_and_threes-3p", "all_fives-2p", "muggins-2p"])
def test_values_of_all_sides_add_up(name: str) -> None:
    """Margins are zero-sum, chances of winning add up to one, and the best action has the value."""
    rules = PRESETS[name]
    matches = np.concatenate([late_position(rules, seed, 9, "any").records for seed in range(10)])
    for objective, total in (("margin", 0.0), (made_up_equity(rules), 1.0)):
        solver = Solver(objective)
        values = solver.solve(matches).values
        assert values.sum(1) == pytest.approx(np.full(10, total))
        best = np.nanmax(solver.action_values(matches).values, 1)
        assert best == pytest.approx(values[np.arange(10), matches["seat"] % rules.num_sides], abs=1e-6)


def turned_by(match: Match, places: int) -> np.ndarray:
    """The same table with every seat moved on by some places."""
    record, rules = match.records.copy(), match.rules
    n, sides = rules.num_players, rules.num_sides
    for field, count in (
        ("hands", n),
        ("laid", n),
        ("held", n),
        ("lacks", n),
        ("newer", n),
        ("scores", sides),
    ):
        record[field][0, :count] = np.roll(match.records[field][0, :count], places, axis=0)
    for field in ("seat", "opener"):
        record[field] = (record[field] + places) % n
    return record


@pytest.mark.parametrize("name", ["fives_and_threes-4p", "fives_and_threes-3p", "all_fives-4p", "mini-4"])
def test_moving_all_seats_on_moves_the_values_on(name: str) -> None:
    """With two sides this flips the sign."""
    rules = PRESETS[name]
    for seed in range(10):
        match = late_position(rules, seed, 8, "any")
        values = solve(match)
        for places in range(1, rules.num_players):
            turned = Solver().solve(turned_by(match, places)).values[0]
            assert turned.tolist() == np.roll(values, places).tolist()


def test_a_lead_of_points_is_worth_nothing_to_the_rest_of_the_round() -> None:
    """Points that are already made shift nothing as long as the target is far."""
    match = Match("long-4p", seed=2)
    before = action_values(match)
    match.records["scores"][0, :2] = 30, 7
    assert np.array_equal(action_values(match), before, equal_nan=True)


def test_solving_changes_no_match_and_repeats() -> None:
    match = late_position(PRESETS["all_fives-2p"], 3, 9)
    before = match.records.tobytes()
    solver = Solver()
    first = solver.action_values(match.records)
    again = solver.action_values(match.records)
    assert match.records.tobytes() == before
    assert np.array_equal(first.values, again.values, equal_nan=True)
    assert first.plies == again.plies


# ---------------------------------------------------------------------------------------------- limits


@pytest.mark.parametrize("name", ["fives_and_threes-4p", "fives_and_threes-3p", "all_fives-2p"])
def test_a_limit_gives_exact_values_or_says_that_it_does_not(name: str) -> None:
    matches = np.concatenate([Match(name, seed=s).records for s in range(8)])
    expected = Solver().action_values(matches)
    plenty, few = (Solver(most_plies=n).action_values(matches) for n in (10_000_000, 300))
    assert plenty.exact.all()
    assert np.array_equal(plenty.values, expected.values, equal_nan=True)
    assert not few.exact.all()
    assert (np.isnan(few.values) == np.isnan(expected.values)).all()
    assert (few.values[~few.exact] != expected.values[~few.exact]).any()


def test_the_smallest_limit_plays_every_action_out_greedily() -> None:
    match = Match("fives_and_threes-4p", seed=5)
    result = Solver(most_plies=1).action_values(match.records)
    greedy = GreedyAgent()
    for action in match.legal_actions():
        twin = match.copy()
        event = twin.play(action)
        while event.round_end is None:
            event = twin.play(greedy.act(twin.view(twin.seat), np.random.default_rng(0))[0])
        margin = twin.scores[match.side_of(match.seat)] - twin.scores[1 - match.side_of(match.seat)]
        assert result.values[0, action] == margin
    assert not result.exact[0]


# ---------------------------------------------------------------------------------------------- errors


def a_match(**fields: object) -> np.ndarray:
    records = Match("mini-3", seed=0).records.copy()
    for field, value in fields.items():
        records[field] = value
    return records


@pytest.mark.parametrize(
    ("records", "message"),
    [
        (a_match(over=1), r"records\[0\]: the round is over; allowed: a running round"),
        (Match("mini-3", seed=0).view(0), r"records\[0\]: hands or the boneyard are hidden, as in a view"),
        (Match("all_fives-2p", seed=0).view(0), r"records\[0\]: hands or the boneyard are hidden"),
        (np.zeros(0, MATCH), r"records: .*\(0,\) given; allowed: \(N,\) of dtype MATCH, N at least 1"),
        (np.zeros((1, 1), MATCH), r"records: .*\(1, 1\) given"),
        (np.zeros(3), r"records: float64 \(3,\) given"),
        (
            np.concatenate([Match(name, seed=0).records for name in ("mini-2", "mini-3")]),
            "records: several rules given; allowed: records of one game",
        ),
    ],
    ids=range(7),
)
def test_records_that_cannot_be_solved_are_refused(records: np.ndarray, message: str) -> None:
    for method in (Solver().solve, Solver().action_values):
        with pytest.raises(SolverError, match=message):
            method(records)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"objective": "points"}, "objective: 'points' given; allowed: 'margin', 'match' or an Equity"),
        ({"most_plies": 0}, "most_plies: 0 given; allowed: 1 or more, or None"),
        ({"table_bits": 0}, "table_bits: 0 given; allowed: 1 to 28, or None"),
    ],
)
def test_impossible_settings_are_refused(settings: dict[str, object], message: str) -> None:
    with pytest.raises(SolverError, match=message):
        Solver(**settings)


def test_an_equity_of_another_game_is_refused() -> None:
    with pytest.raises(SolverError, match="objective: an equity of mini-2 given; allowed: one of mini-3"):
        solve(Match("mini-3", seed=0), made_up_equity(PRESETS["mini-2"]))
