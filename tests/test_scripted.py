"""The scripted players: smart-greedy, and the expert with its rules."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from conftest import PRESETS, Tile, action_id, random_plies, tile_id

from agents.desk import gain_book, look, new_desk
from agents.race import PAST, even_race, gain_frequencies, odds, race
from agents.scripted import (
    WHEN_ON,
    ExpertAgent,
    Lore,
    SmartGreedyAgent,
    _take_stock,
    expert_action,
    smart_greedy_action,
)
from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.kernel.jit import jit
from fivesthrees_env.match import Match
from fivesthrees_env.opponents import Agent, GreedyAgent
from fivesthrees_env.rules import Rules
from fivesthrees_env.tiles import HIGH, LOW
from train import ablate

PLAYERS: dict[str, Agent] = {
    "smart-greedy": SmartGreedyAgent(),
    "smart-greedy, expected": SmartGreedyAgent("expected"),
    "expert": ExpertAgent(),
    "expert, all rules on": ExpertAgent(**dict.fromkeys(Lore._fields, True)),
}
every_player = pytest.mark.parametrize("player", PLAYERS.values(), ids=PLAYERS.keys())
RNG = np.random.default_rng


def choice(agent: Agent, match: Match) -> str:
    """What an agent does for the seat to move, by name."""
    return match.action_name(int(agent.act(match.view(match.seat), RNG(0))[0]))


# ------------------------------------------------------------------------------------ all players


def test_play_outs_on_matches_choose_like_agents_on_views() -> None:
    batch, rng = MatchBatch(60, "fives_and_threes-4p", seed=5), RNG(5)
    rules, desk, actions = batch.rules, new_desk(), np.empty((60, 2), np.int64)
    for _ in range(12):
        batch.step(batch.random_actions(rng))
        _choose_on_matches(batch.matches, desk, gain_book(rules), odds(rules), Lore(), actions)
        np.testing.assert_array_equal(actions[:, 0], PLAYERS["smart-greedy"].act(batch.views, rng))
        np.testing.assert_array_equal(actions[:, 1], PLAYERS["expert"].act(batch.views, rng))


@jit
def _choose_on_matches(matches, desks, book, odds, lore, actions):
    for i in range(matches.size):
        look(desks[0], matches[i], True)
        actions[i, 0] = smart_greedy_action(desks[0], book, False, True)
        actions[i, 1] = expert_action(desks[0], book, odds, lore)


def many_views(preset: str, matches: int = 64, steps: int = 20) -> np.ndarray:
    """Views of seats that have a choice, so many that it pays to compile for their game."""
    batch, rng = MatchBatch(matches, preset, seed=9, skip_forced=True), RNG(9)
    views = []
    for _ in range(steps):
        views.append(batch.views.copy())
        batch.step(batch.random_actions(rng))
    return np.concatenate(views)


@every_player
@pytest.mark.parametrize("preset", ["fives_and_threes-4p", "all_fives-4p"])
def test_players_compiled_for_a_game_choose_like_any_other(preset: str, player: Agent) -> None:
    views = many_views(preset)
    few = [player.act(part, RNG(0)) for part in np.split(views, 20)]
    np.testing.assert_array_equal(player.act(views, RNG(0)), np.concatenate(few))


@every_player
def test_many_views_of_two_games_are_not_taken_for_one(player: Agent) -> None:
    views = many_views("fives_and_threes-4p")
    views["rules"][1::2] = Rules.preset("fives_and_threes-4p-singles").record
    with pytest.raises(ValueError, match=r"records: \[1\] has other rules than \[0\]; allowed: one game"):
        player.act(views, RNG(0))
    for one_game in (views[::2], views[1::2]):  # with gaps in memory
        np.testing.assert_array_equal(player.act(one_game, RNG(0)), player.act(one_game.copy(), RNG(0)))


@every_player
def test_the_last_tile_fears_no_reply(player: Agent) -> None:
    """Going out ends the round: what others could do next is of no account."""
    rules, asked = Rules.fives_and_threes(2, hand_size=2), 0
    for seed in range(400):
        match, rng = Match(rules, seed=seed), RNG(seed)
        for _ in random_plies(match, rng, 5):
            actions = match.legal_actions().tolist()
            if match.held[match.seat] == 1 and len(actions) > 1:
                accepted = [match.copy().play(action).accepted for action in actions]
                chosen = int(player.act(match.view(match.seat), rng)[0])
                assert accepted[actions.index(chosen)] == max(accepted)
                asked += min(accepted) < max(accepted)
    assert asked > 5


# ------------------------------------------------------------------------------------ smart-greedy


def replies(match: Match, action: int) -> tuple[int, list[int], int]:
    """Own accepted points, what each possible tile of the next opponent would earn, and its hand's size.

    Tried out: the opponent is given one tile after the other and plays it wherever it is accepted.
    """
    me, rules = match.seat, match.rules
    after = match.copy()
    event = after.play(action)
    own = event.accepted - event.settlement
    opponent = next(
        s % rules.num_players for s in range(me + 1, me + 4) if rules.side_of(s) != rules.side_of(me)
    )
    if event.round_end == "out" or after.over:
        return own, [], match.held[opponent]
    seen = {tile_id(tile) for tile in (*match.hands[me], *(e.tile for e in match.events if e.tile))}
    lacks = match.records[0]["lacks"][opponent]
    earned = []
    for tile in set(range(rules.num_tiles)) - seen:
        if lacks >> LOW[tile] & 1 or lacks >> HIGH[tile] & 1:
            continue
        world = match.copy()
        world.play(action)
        record = world.records[0]
        record["seat"], record["over"], record["knocks"] = opponent, 0, 0
        record["hands"][opponent] = np.uint64(1) << np.uint64(tile)
        tries = [a for a in world.legal_actions().tolist() if a % rules.num_tiles == tile]
        gains = [world.copy().play(a).accepted for a in tries if a < rules.knock_action]
        earned.append(max(gains, default=0))
    return own, earned, match.held[opponent]


def may_block(match: Match) -> bool:
    """Whether a placement would block the round, so that there is no reply to try."""
    return any(match.copy().play(a).round_end == "blocked" for a in match.legal_actions())


def margins(match: Match, expected: bool) -> dict[int, float]:
    """Own points minus the reply of the next opponent, for every legal action."""
    ranks = {}
    for action in match.legal_actions().tolist():
        own, gains, held = replies(match, action)
        if not gains:
            reply = 0.0
        elif expected:
            reply = float(np.mean([max(hand) for hand in combinations(gains, held)]))
        else:
            reply = max(gains)
        ranks[action] = own - reply
    return ranks


@pytest.mark.parametrize("expected", [False, True], ids=["best", "expected"])
@pytest.mark.parametrize("preset", ["mini-3", "mini-4", "fives_and_threes-2p", "mini-3-pairs"])
def test_smart_greedy_is_own_points_minus_the_reply(preset: str, expected: bool) -> None:
    player, asked = SmartGreedyAgent("expected" if expected else "best"), 0
    for seed in range(6):
        match, rng = Match(preset, seed=seed), RNG(seed)
        match.records[0]["scores"][:2] = RNG(seed).integers(match.rules.target, size=2)
        while not match.over and len(match.events) < 8:
            if len(match.legal_actions()) > 1 and match.line and not may_block(match):
                ranks = margins(match, expected)
                chosen = int(player.act(match.view(match.seat), rng)[0])
                assert ranks[chosen] > max(ranks.values()) - 0.03, match  # ties go by pips / 1000
                asked += 1
            match.play(rng.choice(match.legal_actions()))
            if match.events[-1].round_end:
                break
    assert asked > 3


def test_smart_greedy_fears_the_reply_to_a_win_only_as_in_the_public_ladder() -> None:
    match = played(LEADS, 0, [58, 53])
    assert choice(SmartGreedyAgent(), match) == "[3|6] left"
    assert choice(SmartGreedyAgent(take_win=False), match) != "[3|6] left"


def test_smart_greedy_refuses_another_reply() -> None:
    with pytest.raises(ValueError, match='reply: \'worst\' given; allowed: "best" or "expected"'):
        SmartGreedyAgent("worst")


# ------------------------------------------------------------------------------------ the race


@pytest.mark.parametrize("preset", ["fives_and_threes-2p", "fives_and_threes-4p", "league-2p"])
def test_59_wins_more_often_than_60(preset: str) -> None:
    chance = race(Rules.preset(preset))
    for other in (1, 2, 3, 5, 8, 20):
        assert 1 - chance[other, 2] > 1 - chance[other, 1]  # the other side is to move


@pytest.mark.parametrize("preset", PRESETS)
def test_a_race_is_a_table_of_chances(preset: str) -> None:
    rules = Rules.preset(preset)
    for chance in (race(rules), even_race(rules)):
        assert not chance.flags.writeable
        assert ((chance >= 0) & (chance <= 1)).all()
    assert (race(rules)[0, 1:] == 1).all()
    assert (race(rules)[1:, 0] == 0).all()
    assert (race(rules)[1:, 1:] + race(rules)[1:, 1:].T >= 0.999).all()  # to move is never a burden
    assert race(rules) is race(rules)


@pytest.mark.parametrize("preset", PRESETS)
@pytest.mark.parametrize("aim", [True, False])
def test_odds_are_the_race_with_every_score_over_the_target_on_it(preset: str, aim: bool) -> None:
    rules = Rules.preset(preset)
    chance, table = race(rules) if aim else even_race(rules), odds(rules, aim)
    needs = np.arange(len(chance))
    for need in range(-PAST, len(chance)):
        np.testing.assert_array_equal(table.by_own[:, PAST + need], chance[needs, max(need, 0)])
        np.testing.assert_array_equal(table.by_other[:, PAST + need], chance[max(need, 0), needs])
    assert not table.by_own.flags.writeable
    assert not table.by_other.flags.writeable


def test_a_race_solves_its_own_equation() -> None:
    """To need 1 against 1: whoever first has the gain on offer wins."""
    rules = Rules.preset("fives_and_threes-2p")
    p = gain_frequencies(rules)[1]
    assert race(rules)[1, 1] == pytest.approx(p / (1 - (1 - p) ** 2), abs=1e-4)
    assert 0.2 < p < 0.6


# ------------------------------------------------------------------------------------ expert


def played(
    dealt: list[list[Tile]], opener: int, scores: list[int], *moves: str | tuple[Tile, str], preset: str = ""
) -> Match:
    """A round with these hands after these moves, at these scores."""
    match = Match(preset or Rules.fives_and_threes(len(dealt)), seed=0)
    match.deal(dealt, opener=opener)
    for move in moves:
        match.play(action_id(match.rules, move))
    match.records[0]["scores"][: len(scores)] = scores
    return match


def hands(text: str) -> list[list[Tile]]:
    """``"01 25 | 33 46"``: [0|1] and [2|5] for seat 0, [3|3] and [4|6] for seat 1."""
    return [[(int(a), int(b)) for a, b in hand.split()] for hand in text.split("|")]


LEADS = hands("01 06 11 12 14 24 36 | 00 04 05 22 25 26 35")

#: For each rule a position in which it alone changes the choice: what is done with it, and without it.
POSITIONS: dict[str, tuple[Match, str, str]] = {
    # 58: [3|6] wins at once; the reply to it would never be made
    "take_win": (played(LEADS, 0, [58, 53]), "[3|6] left", "[1|2] left"),
    # both make 2 points; the opponent at 59 wants exactly 2, so that other replies do not matter
    "aim": (
        played(hands("00 03 05 06 12 22 26 | 04 15 25 33 44 46 56"), 1, [59, 47]),
        "[1|5] left",
        "[4|6] left",
    ),
    # after [3|3] the replies that score are few, though one of them would score more
    "weigh_replies": (
        played(hands("03 11 13 15 33 34 44 | 06 12 16 22 24 35 36"), 0, [0, 0]),
        "[3|3] left",
        "[1|5] left",
    ),
    # the opponent has knocked on 3: the 3 that stays open at the other end is harmless
    "read_knocks": (
        played(
            hands("06 11 12 24 26 44 55 | 00 14 16 23 25 35 33"),
            1,
            [0, 0],
            ((3, 3), "left"),
            "knock",
        ),
        "[3|5] left",
        "[2|3] left",
    ),
    # the opponent laid [0|4] for nothing: it has nothing that scored
    "read_points": (
        played(
            hands("01 06 11 12 24 36 14 | 00 05 22 25 26 35 04"),
            0,
            [0, 0],
            ((1, 4), "left"),
            ((0, 4), "right"),
        ),
        "[0|1] right",
        "[0|1] left",
    ),
    "lead_54": (
        played(hands("01 02 06 11 15 23 46 | 13 16 25 35 45 55 66"), 1, [0, 0]),
        "[4|5] left",
        "[5|5] left",
    ),
    "follow_partner": (
        played(
            hands("00 23 33 44 55 | 03 15 22 24 45 | 05 12 35 36 46 | 02 04 14 34 56"),
            2,
            [0, 0],
        ),
        "[3|6] left",
        "[4|6] left",
    ),
    "follow_self": (played(LEADS, 0, [0, 0]), "[1|2] left", "[2|4] left"),
    # no other 5 in the hand
    "cover_doubles": (
        played(hands("04 06 12 13 26 34 55 | 00 05 25 35 36 45 46"), 0, [0, 0]),
        "[0|6] left",
        "[5|5] left",
    ),
    # ahead by a point; [0|1] would make both ends 0
    "hold_stitch": (
        played(
            hands("15 22 25 35 56 66 14 | 01 03 13 36 46 55 04"),
            1,
            [44, 45],
            ((0, 4), "left"),
            ((1, 4), "right"),
        ),
        "[1|3] right",
        "[0|1] right",
    ),
    # partner led [2|2], an opponent made the 1
    "spare_partner": (
        played(
            hands("14 23 33 36 46 | 01 05 13 16 26 | 04 11 24 44 22 | 25 35 45 55 12"),
            2,
            [0, 0],
            ((2, 2), "left"),
            ((1, 2), "left"),
        ),
        "[1|4] left",
        "[2|3] right",
    ),
    # behind, and the opponent needs 3; 1 at both ends leaves few tiles that fit
    "block_behind": (
        played(
            hands("15 24 25 36 45 56 16 | 23 44 46 55 06 01 05"),
            1,
            [47, 58],
            ((0, 6), "left"),
            ((1, 6), "right"),
            ((0, 1), "right"),
            "knock",
            ((0, 5), "left"),
        ),
        "[1|5] left",
        "[5|6] left",
    ),
    # 60: all that scores would pass 61; [0|3] leaves fewer tiles that fit than [0|0]
    "block_busts": (
        played(
            hands("13 35 66 25 55 | 00 03 12 26 56 | 02 33 46 44 06 | 16 22 23 24 45"),
            2,
            [42, 60],
            ((4, 4), "left"),
            ((2, 4), "right"),
            ((2, 5), "right"),
            ((5, 6), "right"),
            ((0, 6), "right"),
            ((4, 5), "left"),
            ((5, 5), "left"),
        ),
        "[0|3] right",
        "[0|0] right",
    ),
    # as many points, and three pips fewer to be paid for
    "shed": (
        played(
            hands("00 04 05 13 15 34 56 | 02 11 22 24 25 46 44"),
            1,
            [0, 0],
            ((4, 4), "left"),
            preset="all_fives-2p",
        ),
        "[3|4] left",
        "[0|4] left",
    ),
}


@pytest.mark.parametrize("rule", Lore._fields)
def test_each_rule_alone_changes_a_choice(rule: str) -> None:
    match, with_it, without_it = POSITIONS[rule]
    assert choice(ExpertAgent(**{rule: True}), match) == with_it
    assert choice(ExpertAgent(**{rule: False}), match) == without_it


def test_the_experts_rules_are_switches_or_weights() -> None:
    assert ExpertAgent().lore == Lore()
    assert ExpertAgent(lead_54=False).lore == Lore()._replace(lead_54=0.0)
    assert ExpertAgent(hold_stitch=True).lore == Lore()._replace(hold_stitch=WHEN_ON.hold_stitch)
    assert ExpertAgent(follow_self=1).lore == Lore()._replace(follow_self=1.0)
    assert all(WHEN_ON)
    with pytest.raises(ValueError, match=r"rule 'lead_66' given; allowed: take_win, aim, "):
        ExpertAgent(lead_66=True)


@pytest.mark.parametrize("preset", ["fives_and_threes-2p", "all_fives-2p", "fives_and_threes-4p-singles"])
def test_lore_of_partners_is_off_without_partners(preset: str) -> None:
    batch, rng = MatchBatch(500, preset, seed=6, skip_forced=True), RNG(6)
    off = ExpertAgent(follow_partner=False, spare_partner=False)
    on = ExpertAgent(follow_partner=5.0, spare_partner=5.0)
    for _ in range(5):
        batch.step(batch.random_actions(rng))
        np.testing.assert_array_equal(on.act(batch.views, rng), off.act(batch.views, rng))


@pytest.mark.parametrize("preset", [name for name, rules in PRESETS.items() if rules.block != "none"])
def test_nobody_blocks_for_a_new_deal_where_a_block_is_paid(preset: str) -> None:
    batch, rng = MatchBatch(200, preset, seed=6, skip_forced=True), RNG(6)
    on, off = ExpertAgent(block_behind=50.0, block_busts=50.0), ExpertAgent()
    for _ in range(10):
        batch.step(batch.random_actions(rng))
        np.testing.assert_array_equal(on.act(batch.views, rng), off.act(batch.views, rng))


# ------------------------------------------------------------------------------------ ladder


@pytest.mark.parametrize(
    ("better", "worse", "rules"),
    [
        (SmartGreedyAgent(), GreedyAgent(), "league-2p"),
        (ExpertAgent(), GreedyAgent(), "fives_and_threes-4p"),
        (ExpertAgent(), SmartGreedyAgent(), "fives_and_threes-2p"),
    ],
)
def test_each_rung_beats_the_one_below(better: Agent, worse: Agent, rules: str) -> None:
    share = ablate.whole_matches(better, worse, Rules.preset(rules), 1000)
    assert share.low > 0.5


def test_an_ablation_finds_the_worth_of_a_rule(capsys: pytest.CaptureFixture[str]) -> None:
    rules = Rules.preset("fives_and_threes-2p")
    worth = ablate.worth_of_rule("weigh_replies", rules, deals=300, matches=300)
    assert worth.default
    assert worth.rounds.low > 0
    nothing = ablate.worth_of_rule("spare_partner", rules, deals=20, matches=20)
    assert (nothing.rounds.mean, nothing.matches.mean) == (0.0, 0.5)  # no partner: the same player twice
    ablate.main(ablate.Args(rules="mini-3", only=["aim", "hold_stitch"], deals=10, matches=10))
    shown = capsys.readouterr().out
    assert "aim" in shown
    assert "off" in shown
    with pytest.raises(ValueError, match="rule 'luck' given; allowed: take_win, "):
        ablate.worth_of_rule("luck", rules, deals=1, matches=1)


# ------------------------------------------------------------------------------- worth of a point


@pytest.mark.parametrize("preset", ["fives_and_threes-4p", "double-nine-4p", "league-4p", "all_fives-2p"])
def test_a_point_is_worth_something_at_every_score(preset: str) -> None:
    """Just before the target the slope of the race may point the other way; the expert must not follow it."""
    rules = PRESETS[preset]
    lowest = max(rules.target - 15 * rules.score_unit, 0)
    scores = np.arange(lowest, rules.target, rules.score_unit)
    views = np.repeat(MatchBatch(1, rules, seed=0).views, len(scores) ** 2)
    views["scores"][:, 0] = np.repeat(scores, len(scores))
    views["scores"][:, 1] = np.tile(scores, len(scores))
    worth = np.empty(len(views))
    _points(views, new_desk(), odds(rules), Lore(), worth)
    assert (worth > 0).all()


@jit
def _points(views, desks, odds, lore, worth):
    for i in range(views.size):
        look(desks[0], views[i], True)
        _take_stock(desks[0].table, desks[0], odds, lore)
        worth[i] = desks[0].point


@pytest.mark.parametrize("weight", [np.nan, np.inf, -np.inf])
def test_a_weight_that_is_no_number_is_refused(weight: float) -> None:
    with pytest.raises(ValueError, match=r"follow_self: .* given; allowed: True, False or a finite weight"):
        ExpertAgent(follow_self=weight)
