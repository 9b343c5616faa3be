"""Match equity: the chain against dense solutions and whole matches, the tables against their provenance."""

from __future__ import annotations

import json
from contextlib import suppress
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from conftest import PRESETS
from hypothesis import given
from hypothesis import strategies as st

from agents.equity import SHIPPED, Equity, EquityError, value_of_round, win_probability
from fivesthrees_env.kernel.deal import deal, deal_first, next_opener, start_round
from fivesthrees_env.kernel.jit import jit
from fivesthrees_env.kernel.record import MATCH, NONE
from fivesthrees_env.opponents import GreedyAgent, RandomAgent
from fivesthrees_env.rules import Rules
from train import equity as tool
from train.arena import deal_rounds, new_matches, play_out
from train.equity import DEAL_SEED, make, score_levels, states

FT, AF = Rules.fives_and_threes, Rules.all_fives
#: Small enough for a dense solution, one for each way in which sides and leads can work. Nothing is
#: drawn where tied blocks, which leave the lead to the deal, shall occur often enough.
SMALL = {
    "two, rotating": FT(2, highest=2, hand_size=2, target=5),
    "pairs, rotating": FT(4, highest=3, hand_size=2, target=4),
    "three, rotating": FT(3, highest=3, hand_size=2, target=4),
    "highest double first": FT(2, highest=3, hand_size=2, target=4, lead_first="highest_double"),
    "two, winner": AF(2, highest=3, hand_size=2, target=20, draw=False),
    "two, winner, lot": AF(2, highest=3, hand_size=2, target=20, draw=False, lead_first="lot"),
    "pairs, winner": AF(4, highest=3, hand_size=2, target=15, partnership="pairs", boneyard_floor=2),
    "three, winner": AF(3, highest=3, hand_size=3, target=15, draw=False),
    "four, winner": AF(4, highest=3, hand_size=2, target=10),
}
DEALS = 16
RNG = np.random.default_rng


class ByViews:
    """Greedy as any other agent: the tool plays it through the arena."""

    name = "greedy"

    def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        return GreedyAgent().act(views, rng)


def shipped() -> list[str]:
    return [name for name in Rules.presets() if (SHIPPED / f"{name}.npz").exists()]


every_table = pytest.mark.parametrize("name", shipped())


def all_levels(rules: Rules) -> np.ndarray:
    return np.arange(0, rules.target, rules.score_unit)


def dense_solution(rules: Rules, deals: int) -> dict[tuple[tuple[int, ...], int], np.ndarray]:
    """P(each side wins | scores, opener or NONE), from one linear system over all scores and all seats.

    Scores are not turned and seats not merged into sides. Every deal is played with its hands at all seats.
    """
    players, sides = rules.num_players, rules.num_sides
    decks = turned_decks(rules, deals)
    openers = range(NONE if rules.lead_first == "highest_double" else 0, players)
    every_score = product(all_levels(rules).tolist(), repeat=sides)
    index = {key: i for i, key in enumerate(product(every_score, openers))}
    move, won = np.zeros((len(index), len(index))), np.zeros((len(index), sides))
    for (points, opener), i in index.items():
        matches = round_starts(rules, decks, points, opener)
        play_out(matches, [ByViews()], np.zeros((len(matches), players), int), RNG(0), one_round=True)
        for match in matches:
            if match["over"]:
                won[i, match["winner"]] += 1 / len(matches)
                continue
            leads = next_leads(rules, match)
            for lead in leads:
                after = tuple(match["scores"][:sides].tolist())
                move[i, index[after, lead]] += 1 / len(leads) / len(matches)
    worth = np.linalg.solve(np.eye(len(index)) - move, won)
    return {key: worth[i] for key, i in index.items()}


def next_leads(rules: Rules, match: np.void) -> list[int]:
    """Who may lead next (FT-4, AF-3), all equally likely; written here anew."""
    if rules.lead_later == "rotate":
        return [(int(match["opener"]) + 1) % rules.num_players]
    if match["round_winner"] >= 0:
        return [int(match["round_winner"])]
    return [NONE] if rules.lead_first == "highest_double" else list(range(rules.num_players))


def turned_decks(rules: Rules, deals: int) -> np.ndarray:
    """The decks that the tool deals, with the hands moved on by every number of seats."""
    decks = new_matches(rules, DEAL_SEED + np.arange(deals))["deck"]
    dealt = rules.num_players * rules.hand_size
    turned = [decks.copy() for _ in range(rules.num_players)]
    for seats, deck in enumerate(turned):
        deck[:, :dealt] = np.roll(deck[:, :dealt], seats * rules.hand_size, axis=1)
    return np.concatenate(turned)


def round_starts(rules: Rules, decks: np.ndarray, points: tuple[int, ...], opener: int) -> np.ndarray:
    """Rounds with these decks, scores and opener."""
    matches = new_matches(rules, np.zeros(len(decks), int))
    matches["deck"] = decks
    _deal(matches, opener)
    matches["scores"][:, : rules.num_sides] = points
    return matches


@jit
def _deal(matches, opener):
    for i in range(matches.size):
        if opener == NONE:
            deal_first(matches[i])
        else:
            deal(matches[i], opener)


def greedy_matches(rules: Rules, count: int, points: tuple[int, ...], opener: int) -> np.ndarray:
    """Whole matches of greedy, from these scores on: (count,) winners."""
    matches = new_matches(rules, np.arange(count))
    _deal(matches, opener)
    matches["scores"][:, : rules.num_sides] = points
    play_out(matches, [GreedyAgent()], np.zeros((count, rules.num_players), int), RNG(0))
    return matches["winner"]


# ------------------------------------------------------------------ the chain


@pytest.mark.parametrize("name", SMALL)
def test_the_chain_equals_a_dense_linear_solution(name: str) -> None:
    rules = SMALL[name]
    equity = make(rules, deals=DEALS, levels=all_levels(rules))
    expected = dense_solution(rules, DEALS)
    scores, openers = (np.array(x) for x in zip(*expected, strict=True))
    np.testing.assert_allclose(equity(scores, openers), list(expected.values()), atol=1e-6)


@pytest.mark.parametrize(
    ("preset", "points", "opener"),
    [
        ("mini-3", (0, 0), 0),
        ("mini-3", (10, 4), 1),
        ("mini-3-pairs", (3, 7), 2),
        ("mini-all-fives-3", (5, 20), -1),
    ],
)
def test_equity_is_the_share_of_matches_won(preset: str, points: tuple[int, int], opener: int) -> None:
    rules = Rules.preset(preset)
    winners = greedy_matches(rules, 8_000, points, opener)
    predicted = Equity.load(rules)([points], [opener])[0, 0]
    assert abs((winners == 0).mean() - predicted) < 4 * 0.5 / np.sqrt(8_000)


@pytest.mark.parametrize(
    ("preset", "points", "opener"),
    [
        ("fives_and_threes-4p", (0, 0), 1),
        ("fives_and_threes-4p", (45, 50), 0),
        ("fives_and_threes-4p", (59, 60), 3),
        ("fives_and_threes-3p", (50, 40, 30), 1),  # between levels
        ("fives_and_threes-3p", (56, 59, 60), 1),
    ],
)
def test_shipped_tables_agree_with_whole_matches(preset: str, points: tuple[int, ...], opener: int) -> None:
    equity, count = Equity.load(preset), 3000
    winners = greedy_matches(equity.rules, count, points, opener)
    won = np.bincount(winners, minlength=len(points)) / count
    error = np.hypot(0.5 / np.sqrt(count), 2 * equity.about["standard_error_mean"])
    assert np.abs(won - equity([points], [opener])[0]).max() < 3 * error


def test_an_agent_is_played_through_views_and_gives_the_same_table() -> None:
    rules = Rules.preset("mini-all-fives-3")
    fast, through_views = make(rules, GreedyAgent(), deals=32), make(rules, ByViews(), deals=32)
    np.testing.assert_array_equal(fast.table.values, through_views.table.values)


def test_another_policy_gives_another_table() -> None:
    rules = Rules.preset("mini-2")
    greedy, random = make(rules, "greedy", deals=64), make(rules, RandomAgent(), deals=64)
    assert random.about["policy"] == "random"
    assert np.abs(greedy.table.values - random.table.values).max() > 0.01


def test_a_score_that_no_round_changes_is_refused() -> None:
    """Both are one short of the target and nothing that is worth one point can be laid."""
    rules = FT(2, highest=2, hand_size=1, target=7, going_out="none")
    with pytest.raises(ValueError, match="deals: too few to change the scores"):
        make(rules, deals=8)


@pytest.mark.parametrize("sides", [2, 3, 4])
def test_states_are_every_score_once_but_for_turnings_and_highest_sums_first(sides: int) -> None:
    found = list(states(3, sides))
    turnings = {at[k:] + at[:k] for at in found for k in range(sides)}
    assert turnings == set(product(range(3), repeat=sides))
    assert len({min(at[k:] + at[:k] for k in range(sides)) for at in found}) == len(found)
    assert sorted(map(sum, found), reverse=True) == list(map(sum, found))


def test_levels_are_all_scores_for_two_sides_and_dense_near_the_target_for_more() -> None:
    np.testing.assert_array_equal(score_levels(FT(2)), np.arange(61))
    np.testing.assert_array_equal(score_levels(AF(2)), np.arange(0, 150, 5))
    for rules in (FT(3), FT(4, partnership="singles"), AF(3), AF(4)):
        levels = score_levels(rules)
        assert levels[0] == 0
        assert (levels % rules.score_unit == 0).all()
        gaps = np.diff(levels)
        assert (np.diff(gaps) <= 0)[1:].all()  # but for the first gap, which is what is left
        np.testing.assert_array_equal(levels[-5:], rules.target - rules.score_unit * np.arange(5, 0, -1))


# ----------------------------------------------------------------- the lookup


@every_table
def test_probabilities_sum_to_one(name: str) -> None:
    rules = Rules.preset(name)
    equity, rng = Equity.load(rules), RNG(0)
    units = -(-rules.target // rules.score_unit)
    scores = rng.integers(units, size=(2000, rules.num_sides)) * rules.score_unit
    values = equity(scores, rng.integers(-1, rules.num_players, size=2000))
    assert values.dtype == np.float32
    assert values.min() >= 0
    np.testing.assert_allclose(values.sum(1), 1, atol=1e-6)
    np.testing.assert_allclose(equity.table.values.sum(-1), 1, atol=1e-6)


@every_table
def test_seats_can_be_turned(name: str) -> None:
    rules = Rules.preset(name)
    equity, rng, sides = Equity.load(rules), RNG(1), rules.num_sides
    scores = rng.integers(-(-rules.target // rules.score_unit), size=(500, sides)) * rules.score_unit
    openers = rng.integers(-1, rules.num_players, size=500)
    turned = np.where(openers == NONE, NONE, (openers + 1) % rules.num_players)
    there = equity(np.roll(scores, 1, axis=1), turned)
    np.testing.assert_allclose(np.roll(equity(scores, openers), 1, axis=1), there, atol=2e-5)


@every_table
def test_a_side_at_the_target_has_won(name: str) -> None:
    rules = Rules.preset(name)
    equity = Equity.load(rules)
    for winner in range(rules.num_sides):
        scores = np.zeros((1, rules.num_sides), int)
        scores[0, winner] = rules.target
        np.testing.assert_array_equal(equity(scores, [0])[0], np.arange(rules.num_sides) == winner)


def test_an_opener_by_lot_is_worth_the_mean_over_openers() -> None:
    for name in ("fives_and_threes-4p", "mini-3"):
        equity = Equity.load(name)
        scores = RNG(2).integers(equity.rules.target, size=(200, 2))
        seats = range(equity.rules.num_players)
        mean = np.mean([equity(scores, np.full(200, seat)) for seat in seats], axis=0)
        np.testing.assert_allclose(equity(scores, np.full(200, NONE)), mean, atol=1e-6)


def test_between_levels_probabilities_are_interpolated_linearly() -> None:
    rules = FT(3, highest=3, hand_size=2, target=5)
    equity = make(rules, deals=8, levels=np.array([0, 2, 4]))
    corners = equity(list(product((0, 2), (2, 4), (4,))), np.zeros(4, int))
    np.testing.assert_allclose(equity([[1, 3, 4]], [0])[0], corners.mean(0), atol=1e-6)
    axis = equity([[0, 0, 0], [2, 0, 0]], [1, 1])
    np.testing.assert_allclose(equity([[1, 0, 0]], [1])[0], axis.mean(0), atol=1e-6)


@jit
def _ask(table, matches, opener):
    return win_probability(table, matches[0].scores, opener, 1), value_of_round(table, matches[0], 1)


def test_compiled_code_can_ask_the_table() -> None:
    equity = Equity.load("fives_and_threes-4p")
    matches = new_matches(equity.rules, np.zeros(1, int))
    matches["scores"][:, :2], matches["opener"] = (30, 41), 3
    expected = equity([(30, 41), (30, 41)], [2, 0])[:, 1]  # seat 2 leads, then the seat after seat 3
    np.testing.assert_allclose(_ask(equity.table, matches, 2), expected)


# --------------------------------------------------------------- what is known


def by_own_score(equity: Equity) -> np.ndarray:
    """(leads, own score, other scores …): the first side's equity."""
    shape = (2, *[len(equity.levels)] * equity.rules.num_sides)
    return equity.table.values[..., 0].reshape(shape).astype(np.float64)


@pytest.mark.parametrize("name", [name for name in shipped() if Rules.preset(name).overshoot == "win"])
def test_where_overshooting_wins_points_never_hurt(name: str) -> None:
    """Greedy then plays the same at all scores, so a side that has more has more until the end."""
    grid = by_own_score(Equity.load(name))
    assert np.diff(grid, axis=1).min() > -3e-5  # rounding
    assert np.diff(grid, axis=2).max() < 3e-5


def test_59_wins_more_often_than_60_in_pairs() -> None:
    grid = by_own_score(Equity.load("fives_and_threes-4p"))[1]
    assert (grid[59, 20:] > grid[60, 20:]).all()


# ---------------------------------------------------------------- rounds' ends


@pytest.mark.parametrize("name", ["fives_and_threes-4p", "all_fives-2p"])
def test_a_round_changes_equity_by_nothing_on_average(name: str) -> None:
    equity = Equity.load(name)
    points = (40, 45)
    matches = new_matches(equity.rules, np.arange(6000))
    matches["scores"][:, :2] = points
    before = equity(np.tile(points, (6000, 1)), np.full(6000, NONE))
    play_out(
        matches, [GreedyAgent()], np.zeros((6000, equity.rules.num_players), int), RNG(0), one_round=True
    )
    swing = equity.after_round(matches)[:, 0] - before[:, 0]
    assert swing.std() > 0.02
    assert abs(swing.mean()) < 4 * swing.std() / np.sqrt(6000) + 4 * equity.about["standard_error_mean"]


def test_the_value_of_a_round_counts_who_leads_next() -> None:
    equity = make(SMALL["two, winner"], deals=DEALS)
    matches = new_matches(equity.rules, np.arange(300))
    play_out(matches, [GreedyAgent()], np.zeros((300, 2), int), RNG(0), one_round=True)
    expected = equity(matches["scores"][:, :2], matches["round_winner"])
    np.testing.assert_array_equal(equity.after_round(matches), expected)
    tied = (matches["round_winner"] == NONE) & (matches["over"] == 0)  # the deal decides who leads
    assert tied.any()


def test_the_value_of_a_finished_match_is_its_result() -> None:
    equity = Equity.load("mini-3")
    matches = new_matches(equity.rules, np.arange(50))
    play_out(matches, [GreedyAgent()], np.zeros((50, 2), int), RNG(0))
    np.testing.assert_array_equal(equity.after_round(matches)[:, 0], matches["winner"] == 0)


@jit
def _next_openers(matches, foretold, found):
    for i in range(matches.size):
        foretold[i] = next_opener(matches[i])
        start_round(matches[i])
        found[i] = matches[i].opener


@pytest.mark.parametrize("name", ["three, rotating", "two, winner", "two, winner, lot"])
def test_the_next_opener_is_who_leads_the_next_round(name: str) -> None:
    rules = SMALL[name].replace(target=1000)
    matches = deal_rounds(rules, np.arange(400), np.arange(400) % rules.num_players)
    play_out(matches, [GreedyAgent()], np.zeros((400, rules.num_players), int), RNG(0), one_round=True)
    foretold, found = np.empty(400, int), np.empty(400, int)
    _next_openers(matches, foretold, found)
    known = foretold != NONE
    np.testing.assert_array_equal(foretold[known], found[known])
    assert known.all() == (rules.lead_later == "rotate")


# -------------------------------------------------------------------- the files


def test_a_rebuild_with_the_same_seed_is_the_same_file(tmp_path: Path) -> None:
    for name, seed in (("a", 0), ("b", 0), ("c", 1)):
        make("mini-2", deals=32, seed=seed).save(tmp_path / name)
    a, b, c = ((tmp_path / name).read_bytes() for name in "abc")
    assert a == b
    assert a != c
    assert Equity.load("mini-2", tmp_path / "c").about["seed"] == 1


def test_a_table_survives_storing(tmp_path: Path) -> None:
    for rules in (SMALL["two, winner"], SMALL["three, rotating"]):
        made = make(rules, deals=16)
        made.save(tmp_path / "table.npz")
        loaded = Equity.load(rules, tmp_path / "table.npz")
        np.testing.assert_allclose(loaded.table.values, made.table.values, atol=2e-5)
        assert loaded.about.items() >= made.about.items()
        loaded.save(tmp_path / "again.npz")
        assert (tmp_path / "again.npz").read_bytes() == (tmp_path / "table.npz").read_bytes()


@pytest.mark.parametrize("name", ["mini-2", "mini-all-fives-3"])
def test_a_shipped_table_is_what_its_provenance_makes(name: str) -> None:
    table = Equity.load(name, SHIPPED / f"{name}.npz")
    again = make(name, table.about["policy"], table.about["deals"], table.about["seed"])
    np.testing.assert_allclose(again.table.values, table.table.values, atol=2e-5)
    assert table.about.items() >= again.about.items()


def test_shipped_tables_are_small_and_of_the_rules_they_are_named_for() -> None:
    for name in shipped():
        about = Equity.load(name, SHIPPED / f"{name}.npz").about
        assert about["fingerprint"] == Rules.preset(name).fingerprint
        assert about["standard_error_mean"] < 0.02
    assert sum(path.stat().st_size for path in SHIPPED.glob("*.npz")) < 3_000_000


def test_other_rules_are_refused_with_what_differs(tmp_path: Path) -> None:
    make("mini-2", deals=8).save(tmp_path / "table.npz")
    with pytest.raises(EquityError, match="target: made for 5, asked for 6"):
        Equity.load(Rules.preset("mini-2").replace(target=6), tmp_path / "table.npz")


@pytest.mark.parametrize("preset", PRESETS)
def test_every_preset_has_a_table(preset: str) -> None:
    equity = Equity.load(preset)
    start = np.zeros((1, PRESETS[preset].num_sides), np.int64)
    np.testing.assert_allclose(equity(start, np.array([0])).sum(), 1, atol=1e-4)


def test_a_missing_table_says_which_there_are_and_how_to_make_it(monkeypatch, tmp_path: Path) -> None:
    with pytest.raises(EquityError, match=r"there are: .*mini-2.*train\.equity\.make"):
        Equity.load(Rules.preset("mini-2").replace(target=6))
    monkeypatch.setattr("agents.equity.SHIPPED", tmp_path)
    monkeypatch.setattr("agents.equity.MADE_HERE", tmp_path)
    with pytest.raises(EquityError, match=r"python -m train\.equity --rules mini-2"):
        Equity.load("mini-2")
    with pytest.raises(EquityError, match="no such equity table"):
        Equity.load("mini-2", tmp_path / "nothing.npz")


@given(data=st.data())
def test_damaged_files_are_refused_or_unharmed(data: st.DataObject, tmp_path_factory) -> None:
    whole = (SHIPPED / "mini-2.npz").read_bytes()
    spot = data.draw(st.integers(0, len(whole) - 1))
    kind = data.draw(st.sampled_from(["cut", "changed"]))
    changed = whole[:spot] + bytes([whole[spot] ^ data.draw(st.integers(1, 255))]) + whole[spot + 1 :]
    path = tmp_path_factory.getbasetemp() / "damaged.npz"
    path.write_bytes(whole[:spot] if kind == "cut" else changed)
    with suppress(EquityError):
        table = Equity.load("mini-2", path)
        np.testing.assert_array_equal(table.table.values, Equity.load("mini-2").table.values)


@pytest.mark.parametrize("change", ["format", "digest", "rules", "values"])
def test_files_that_contradict_themselves_are_refused(change: str, tmp_path: Path) -> None:
    with np.load(SHIPPED / "mini-2.npz") as file:
        arrays = dict(file)
    about = json.loads(arrays["about"].item())
    if change == "values":
        arrays["values"] = arrays["values"] // 2
    else:
        about[change] = {"target": 6} if change == "rules" else "other"
    np.savez(tmp_path / "table.npz", **{**arrays, "about": np.array(json.dumps(about))})
    with pytest.raises(EquityError, match="damaged or no equity table"):
        Equity.load("mini-2", tmp_path / "table.npz")


# ------------------------------------------------------------------ bad questions


@pytest.mark.parametrize(
    ("scores", "openers", "message"),
    [
        ([[1, 2, 3]], [0], r"allowed: \(N, 2\), \(N,\)"),
        ([[1, 2]], [0, 1], r"allowed: \(N, 2\), \(N,\)"),
        ([[1, -2]], [0], "scores: .* whole numbers, 0 to"),
        ([[1.5, 2.0]], [0], "scores: .* whole numbers"),
        ([[1, 2]], [2], "openers: .* -1 to 1"),
        ([[5, 5]], [0], "two sides have 5"),
    ],
)
def test_impossible_questions_are_refused(scores: list, openers: list, message: str) -> None:
    with pytest.raises(EquityError, match=message):
        Equity.load("mini-2")(scores, openers)


def test_running_rounds_and_other_games_have_no_value() -> None:
    equity = Equity.load("mini-2")
    with pytest.raises(EquityError, match=r"matches\[0\]: its round has not ended"):
        equity.after_round(new_matches(equity.rules, np.zeros(1, int)))
    with pytest.raises(EquityError, match="other rules"):
        equity.after_round(new_matches(Rules.preset("mini-3"), np.zeros(1, int)))
    with pytest.raises(EquityError, match="of dtype MATCH"):
        equity.after_round(np.zeros((1, 1), MATCH))


@pytest.mark.parametrize(("setting", "value"), [("deals", 12), ("deals", 0), ("seed", -1), ("seed", 128)])
def test_impossible_settings_are_refused(setting: str, value: int) -> None:
    with pytest.raises(ValueError, match=f"{setting}: {value} given"):
        make("mini-2", **{setting: value})


# --------------------------------------------------------------------- the tool


def test_the_tool_makes_a_table_and_draws_it(tmp_path: Path, capsys) -> None:
    tool.main(tool.Args(rules=("mini-3",), deals=8, out=tmp_path))
    assert "mini-3.npz" in capsys.readouterr().out
    assert Equity.load("mini-3", tmp_path / "mini-3.npz").about["deals"] == 8
    tool.main(tool.Args(rules=("mini-3",), picture=tmp_path / "mini-3.png"))
    assert (tmp_path / "mini-3.png").read_bytes().startswith(b"\x89PNG")


def test_only_games_of_two_sides_have_a_picture(tmp_path: Path) -> None:
    equity = make(SMALL["three, rotating"], deals=8)
    with pytest.raises(ValueError, match="3 sides; allowed: games of two sides"):
        tool.picture(equity, tmp_path / "three.png")
