"""Fives and Threes, rule by rule (FT-1 to FT-24), and its variants: positions set up by hand."""

from __future__ import annotations

from itertools import combinations, permutations

import numpy as np
import pytest
from conftest import FT_PRESETS, chi_square, chi_square_limit, knock, lay, legal, random_plies, table

from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.match import IllegalAction, Match
from fivesthrees_env.rules import Rules

DOUBLE_SIX = [(low, high) for low in range(7) for high in range(low, 7)]
POINTS = {3: 1, 5: 1, 6: 2, 9: 3, 10: 2, 12: 4, 15: 8, 18: 6, 20: 4}

num_players = pytest.mark.parametrize("num_players", [2, 3, 4])


def tiles_of(match: Match) -> list[tuple[int, int]]:
    """Every tile, wherever it is."""
    on_the_table = [tuple(sorted(tile)) for tile in match.line]
    return sorted([*(t for hand in match.hands for t in hand), *match.boneyard, *on_the_table])


# --------------------------------------------------------------------------- set, seats, sides


@num_players
def test_ft_1_double_six_set_of_28_tiles_and_168_pips(num_players: int) -> None:
    match = Match(Rules.fives_and_threes(num_players), seed=1)
    assert tiles_of(match) == DOUBLE_SIX
    assert sum(map(sum, tiles_of(match))) == 168


@num_players
def test_ft_1_tiles_are_conserved_after_every_ply(num_players: int) -> None:
    match = Match(Rules.fives_and_threes(num_players), seed=2)
    for _ in random_plies(match, np.random.default_rng(0)):
        assert tiles_of(match) == DOUBLE_SIX


@pytest.mark.parametrize(("num_players", "sides"), [(2, [0, 1]), (3, [0, 1, 2]), (4, [0, 1, 0, 1])])
def test_ft_2_sides(num_players: int, sides: list[int]) -> None:
    match = Match(Rules.fives_and_threes(num_players))
    assert [match.side_of(seat) for seat in range(num_players)] == sides
    assert len(match.scores) == len(set(sides))


@pytest.mark.parametrize("seat", range(4))
def test_ft_2_partners_share_one_score(seat: int) -> None:
    hands = [[(0, 0), (0, 1)], [(1, 1), (0, 2)], [(2, 2), (0, 3)], [(3, 3), (0, 5)]]
    hands[seat][0] = (1, 4)
    match = table(hands, opener=seat)
    assert lay(match, (1, 4)).accepted == 1
    assert match.scores == ((1, 0) if seat in (0, 2) else (0, 1))


@pytest.mark.parametrize(("num_players", "held", "asleep"), [(2, 7, 14), (3, 5, 13), (4, 5, 8)])
def test_ft_3_hands_and_sleepers(num_players: int, held: int, asleep: int) -> None:
    match = Match(Rules.fives_and_threes(num_players), seed=3)
    assert match.held == (held,) * num_players
    assert len(match.boneyard) == match.sleeping == asleep
    for seat in range(num_players):
        own, *others = match.view(seat)["hands"][0]
        assert int(own).bit_count() == held
        assert not any(others)


@num_players
def test_ft_3_nobody_ever_draws(num_players: int) -> None:
    match = Match(Rules.fives_and_threes(num_players), seed=4)
    assert match.rules.draw_action is None
    assert match.rules.num_actions == 57
    sleepers = sorted(match.boneyard)
    for event in random_plies(match, np.random.default_rng(4)):
        assert event.kind != "draw"
        if event.round_end and not match.over:
            sleepers = sorted(match.boneyard)
        assert sorted(match.boneyard) == sleepers


@num_players
def test_ft_3_every_tile_is_equally_likely_in_every_place(num_players: int) -> None:
    """Each of 28 tiles in each hand and asleep, 40,000 deals: chi-square with fixed seeds."""
    rules = Rules.fives_and_threes(num_players)
    matches = MatchBatch(40_000, rules, seed=10_000, specialise=False).matches
    bits = np.arange(28, dtype=np.uint64)
    in_hand = [(matches["hands"][:, seat, None] >> bits & 1).sum(0) for seat in range(num_players)]
    in_hand = np.array(in_hand, np.float64)
    places = np.vstack([in_hand, 40_000 - in_hand.sum(0)])
    sizes = np.array([rules.hand_size] * num_players + [28 - rules.hand_size * num_players])
    freedom = 27 * num_players
    assert chi_square(places, 40_000 * sizes[:, None] / 28) < chi_square_limit(freedom)


@num_players
def test_ft_3_every_pair_of_tiles_is_equally_likely_in_one_hand(num_players: int) -> None:
    """All 378 pairs in the first hand, 40,000 deals; pairs overlap, so the limit is generous."""
    rules = Rules.fives_and_threes(num_players)
    matches = MatchBatch(40_000, rules, seed=90_000, specialise=False).matches
    hand = (matches["hands"][:, 0, None] >> np.arange(28, dtype=np.uint64) & 1).astype(np.int64)
    together = hand.T @ hand
    counts = np.array([together[a, b] for a, b in combinations(range(28), 2)])
    chance = rules.hand_size * (rules.hand_size - 1) / (28 * 27)
    assert chi_square(counts, 40_000 * chance) < 2 * chi_square_limit(377)


@num_players
def test_ft_4_first_opener_is_drawn_by_lot(num_players: int) -> None:
    """Uniform over the seats, and whatever hand the seat holds: chi-square, 40,000 lots."""
    matches = MatchBatch(40_000, Rules.fives_and_threes(num_players), seed=70_000, specialise=False).matches
    openers = np.bincount(matches["opener"], minlength=num_players)
    assert chi_square(openers, 40_000 / num_players) < chi_square_limit(num_players - 1)
    holds_double_six = matches["hands"][:, 0] >> np.uint64(27) & 1 == 1
    holders = np.bincount(matches["opener"][holds_double_six], minlength=num_players)
    expected = holders.sum() / num_players
    assert chi_square(holders, expected) < chi_square_limit(num_players - 1)


def test_ft_4_next_opener_sits_left_after_a_going_out() -> None:
    match = table([[(1, 6)], [(2, 3)]])
    assert lay(match, (1, 6)).round_end == "out"
    assert (match.opener, match.seat, match.round_index) == (1, 1, 1)


def test_ft_4_next_opener_sits_left_after_a_block() -> None:
    match = table([[(1, 2)], [(3, 4)], [(0, 0), (5, 6)]], opener=2)
    assert lay(match, (0, 0)).round_end == "blocked"
    assert (match.opener, match.seat) == (0, 0)


def test_ft_4_next_opener_sits_left_also_if_that_seat_had_been_out() -> None:
    match = table([[(0, 1), (5, 5)], [(1, 2)], [(2, 6), (4, 4)], [(3, 3), (6, 6)]])
    lay(match, (0, 1))
    lay(match, (1, 2), "right")
    lay(match, (2, 6), "right")
    assert match.held[1] == 0
    assert lay(match, (6, 6), "right").round_end == "blocked"
    assert (match.opener, match.seat) == (1, 1)


@pytest.mark.parametrize("name", FT_PRESETS)
def test_ft_4_openers_rotate_and_play_runs_clockwise(name: str) -> None:
    match = Match(name, seed=5)
    n = match.num_players
    opener, seat = match.opener, match.opener
    for event in random_plies(match, np.random.default_rng(5)):
        assert event.seat == seat
        if event.round_end and not match.over:
            opener = (opener + 1) % n
            assert (match.opener, match.seat) == (opener, opener)
        if not match.over:
            seat = match.seat
            passed = [(event.seat + i) % n for i in range(1, (seat - event.seat - 1) % n + 1)]
            assert event.round_end or not any(match.held[s] for s in passed)


# ------------------------------------------------------------------------------------- laying


def test_ft_5_opener_may_lead_any_tile() -> None:
    hand = [(0, 0), (1, 4), (2, 2), (6, 6), (3, 5)]
    match = table([[(0, 1)], hand, [(0, 2)]], opener=1)
    assert legal(match) == {(tile, "left") for tile in hand}


def test_ft_6_a_tile_joins_an_end_by_a_half_of_the_same_value() -> None:
    match = table([[(1, 4), (0, 0)], [(4, 6), (1, 1), (2, 3)]])
    lay(match, (1, 4))
    assert legal(match) == {((4, 6), "right"), ((1, 1), "left")}
    lay(match, (4, 6), "right")
    assert match.line == ((1, 4), (4, 6))
    assert match.ends == (1, 6)


def test_ft_6_one_placement_ends_the_turn() -> None:
    match = table([[(1, 4), (4, 4)], [(4, 6), (6, 6)], [(5, 6), (0, 0)]])
    assert [lay(match, (1, 4)).seat, match.seat] == [0, 1]
    assert [lay(match, (4, 6), "right").seat, match.seat] == [1, 2]


@pytest.mark.parametrize("name", FT_PRESETS)
def test_ft_6_no_double_branches(name: str) -> None:
    match = Match(name, seed=6)
    assert match.rules.num_ends == 2
    for _ in random_plies(match, np.random.default_rng(6)):
        if match.line:
            assert len(match.ends) == 2
            assert match.ends == (match.line[0][0], match.line[-1][1])
            assert match.arms == ((), ())
            assert match.spinner_index is None
            assert all(a[1] == b[0] for a, b in zip(match.line, match.line[1:], strict=False))


@pytest.mark.parametrize(("end", "count"), [("left", 5), ("right", 9)])
def test_ft_7_a_placement_is_a_tile_and_an_end(end: str, count: int) -> None:
    match = table([[(4, 4), (2, 3), (1, 4), (0, 0)], [(3, 4), (2, 4), (6, 6)]])
    lay(match, (4, 4))
    lay(match, (3, 4), "right")
    lay(match, (2, 3), "right")
    lay(match, (2, 4), "right")
    assert match.line == ((4, 4), (4, 3), (3, 2), (2, 4))
    assert {((1, 4), "left"), ((1, 4), "right")} <= legal(match)
    assert lay(match, (1, 4), end).count == count


def test_ft_8_a_tile_that_fits_both_ends_has_two_placements() -> None:
    match = table([[(1, 2), (1, 4)], [(2, 4), (6, 6)]])
    assert legal(match) == {((1, 2), "left"), ((1, 4), "left")}
    lay(match, (1, 2))
    lay(match, (2, 4), "right")
    assert match.ends == (1, 4)
    assert legal(match) == {((1, 4), "left"), ((1, 4), "right")}


def test_ft_8_mirror_images_at_equal_ends_are_both_legal() -> None:
    match = table([[(2, 2), (0, 0)], [(2, 5), (2, 3)]])
    lay(match, (2, 2))
    assert legal(match) == {(t, end) for t in [(2, 5), (2, 3)] for end in ("left", "right")}
    mirrored = match.copy()
    assert lay(match, (2, 5), "left").count == lay(mirrored, (2, 5), "right").count == 9
    assert match.line == ((5, 2), (2, 2))
    assert mirrored.line == ((2, 2), (2, 5))


# --------------------------------------------------------------------------- count and points


def plain_count(line: list[tuple[int, int]]) -> int:
    """The count by the words of FT-9 to FT-12."""
    if len(line) == 1:
        return sum(line[0])
    (a, b), (c, d) = line[0], line[-1]
    return a * (2 if a == b else 1) + d * (2 if c == d else 1)


def test_ft_9_the_lead_and_the_last_tile_are_counted() -> None:
    match = table([[(1, 4), (1, 6)], [(4, 5), (0, 0)]])
    assert lay(match, (1, 4)).count == 5
    lay(match, (4, 5), "right")
    last = lay(match, (1, 6))
    assert (last.count, last.round_end) == (11, "out")


@pytest.mark.parametrize("name", FT_PRESETS)
def test_ft_9_every_placement_is_counted(name: str) -> None:
    match = Match(name, seed=9)
    line: list[tuple[int, int]] = []
    for event in random_plies(match, np.random.default_rng(9)):
        if event.kind == "knock":
            assert event.count is None
            continue
        if event.kind == "lead":
            line = [event.tile]
        elif event.end == 0:
            line.insert(0, event.tile if event.tile[1] == line[0][0] else event.tile[::-1])
        else:
            line.append(event.tile if event.tile[0] == line[-1][1] else event.tile[::-1])
        assert event.count == plain_count(line)
        if not event.round_end:
            assert match.count == event.count


def test_ft_10_a_terminal_double_counts_both_halves_until_it_is_covered() -> None:
    match = table([[(1, 4), (4, 6), (0, 0)], [(4, 4), (6, 6)]])
    assert lay(match, (1, 4)).count == 1 + 4
    assert lay(match, (4, 4), "right").count == 1 + 8
    assert lay(match, (4, 6), "right").count == 1 + 6


@pytest.mark.parametrize(
    ("tile", "count"), [((2, 2), 4), ((6, 6), 12), ((0, 0), 0), ((1, 4), 5), ((0, 6), 6)]
)
def test_ft_11_a_lone_tile_counts_its_halves_once(tile: tuple[int, int], count: int) -> None:
    match = table([[tile, (3, 3)], [(3, 4), (0, 1)]])
    assert lay(match, tile).count == count
    assert match.over or match.line in ((tile,), ())


@pytest.mark.parametrize("end", ["left", "right"])
def test_ft_12_the_free_side_of_a_led_double_is_a_terminal_double(end: str) -> None:
    match = table([[(4, 4), (0, 4)], [(1, 4), (6, 6)]])
    assert lay(match, (4, 4)).count == 8
    assert lay(match, (1, 4), end).count == 9
    other = {"left": "right", "right": "left"}[end]
    assert lay(match, (0, 4), other).count == 1


WORKED = [
    [
        ((1, 4), "left", 5, 1),
        ((1, 1), "left", 6, 2),
        ((4, 4), "right", 10, 2),
        ((3, 4), "right", 5, 1),
    ],
    [((3, 6), "left", 9, 3), ((6, 6), "right", 15, 8)],
    [((2, 2), "left", 4, 0)],
    [((0, 0), "left", 0, 0)],
]


@pytest.mark.parametrize("position", WORKED, ids=lambda position: str(position[-1][0]))
def test_ft_13_worked_positions(position: list) -> None:
    laid = [tile for tile, *_ in position]
    spare = [tile for tile in DOUBLE_SIX if tile not in laid][-10:]
    match = table([laid[0::2] + spare[:2], laid[1::2] + spare[2:4]])
    for tile, end, count, points in position:
        event = lay(match, tile, end)
        assert (event.count, event.offered, event.accepted) == (count, points, points)
        assert event.reason is None


def test_ft_13_points_of_every_reachable_count() -> None:
    seen = {}
    leads = [[(tile, "left")] for tile in DOUBLE_SIX]
    two_doubles = [
        [((a, a), "left"), (tuple(sorted((a, b))), "left"), ((b, b), "left")]
        for a, b in permutations(range(7), 2)
    ]
    for position in leads + two_doubles:
        laid = [tile for tile, _ in position]
        spare = [tile for tile in DOUBLE_SIX if tile not in laid][:2]
        match = table([laid[0::2] + spare[:1], laid[1::2] + spare[1:]], target=1000)
        for tile, end in position:
            event = lay(match, tile, end)
            assert event.accepted == event.offered
            assert seen.setdefault(event.count, event.offered) == event.offered
    assert seen == {count: POINTS.get(count, 0) for count in [*range(19), 20, 22]}


def test_ft_13_no_points_are_no_event() -> None:
    match = table([[(0, 0), (1, 1)], [(0, 1), (3, 3)]], scores=[60, 60])
    event = lay(match, (0, 0))
    assert (event.count, event.offered, event.accepted, event.reason) == (0, 0, 0, None)


# ------------------------------------------------------------------------------ play or knock


def test_ft_14_who_can_lay_must() -> None:
    match = table([[(1, 4), (0, 0)], [(4, 6), (2, 3)]])
    lay(match, (1, 4))
    assert legal(match) == {((4, 6), "right")}
    with pytest.raises(IllegalAction):
        knock(match)


def test_ft_14_who_cannot_lay_knocks_and_that_is_public() -> None:
    match = table([[(1, 4), (1, 1)], [(2, 3), (0, 6)], [(4, 4), (5, 5)]])
    with pytest.raises(IllegalAction):
        knock(match)
    lay(match, (1, 4))
    assert legal(match) == {"knock"}
    event = knock(match)
    assert (event.seat, event.kind, event.tile, event.end, event.count) == (1, "knock", None, None, None)
    assert (event.offered, event.accepted) == (0, 0)
    assert match.lacks == ((), (1, 4), ())
    assert match.seat == 2
    assert match.ends == (1, 4)


@pytest.mark.parametrize("name", FT_PRESETS)
def test_ft_14_a_knock_is_legal_exactly_when_nothing_fits(name: str) -> None:
    match = Match(name, seed=14)
    rng = np.random.default_rng(14)
    while not match.over:
        fits = any(set(tile) & set(match.ends) for tile in match.hands[match.seat])
        if match.line and not fits:
            assert legal(match) == {"knock"}
        else:
            assert "knock" not in legal(match)
        match.play(rng.choice(match.legal_actions()))


def test_ft_15_an_empty_hand_is_skipped_silently() -> None:
    match = table([[(0, 1), (0, 5)], [(1, 2)], [(2, 6), (4, 5)], [(3, 3), (6, 6)]])
    for tile, end in [((0, 1), "left"), ((1, 2), "right"), ((2, 6), "right"), ((6, 6), "right")]:
        assert lay(match, tile, end).round_end is None
    assert lay(match, (0, 5), "left").seat == 0
    assert match.held == (0, 0, 1, 1)
    assert match.seat == 2
    assert [event.kind for event in match.events] == ["lead", "play", "play", "play", "play"]


def test_ft_15_two_empty_hands_in_a_row_are_skipped() -> None:
    match = table([[(0, 1), (3, 3)], [(1, 2)], [(2, 6)], [(4, 6), (0, 4)]])
    for tile, end in [((0, 1), "left"), ((1, 2), "right"), ((2, 6), "right"), ((4, 6), "right")]:
        lay(match, tile, end)
    assert match.seat == 0
    knock(match)
    assert match.seat == 3  # 1 and 2 are out


# ----------------------------------------------------------------------------------- round end


@pytest.mark.parametrize("others", [1, 2])
def test_ft_16_the_last_tile_ends_the_round_and_earns_one(others: int) -> None:
    match = table([[(1, 6)], *[[(2, i)] for i in range(3, 3 + others)]])
    event = lay(match, (1, 6))
    assert (event.count, event.offered, event.accepted) == (7, 1, 1)
    assert (event.round_end, event.match_over) == ("out", False)
    assert match.scores == (1,) + (0,) * others
    assert match.round_index == 1


def test_ft_16_bonus_comes_on_top_of_the_points() -> None:
    event = lay(table([[(1, 5)], [(2, 3)]]), (1, 5))
    assert (event.count, event.offered, event.accepted) == (6, 3, 3)


def test_ft_17_pairs_play_on_when_the_first_partner_is_out() -> None:
    match = table([[(1, 6)], [(6, 6), (5, 5)], [(1, 3)], [(3, 3), (0, 0)]])
    first = lay(match, (1, 6))
    assert (first.offered, first.round_end, match.held[0]) == (0, None, 0)
    lay(match, (6, 6), "right")
    second = lay(match, (1, 3))
    assert (second.count, second.offered, second.accepted) == (15, 8 + 1, 9)
    assert second.round_end == "out"
    assert match.scores == (9, 0)


def test_ft_17_one_of_each_pair_out_is_no_end() -> None:
    match = table([[(1, 6)], [(6, 6)], [(1, 3), (0, 0)], [(3, 3), (0, 3)]])
    assert lay(match, (1, 6)).round_end is None
    assert lay(match, (6, 6), "right").round_end is None
    assert match.held == (0, 0, 2, 2)
    assert lay(match, (1, 3)).round_end is None


def test_ft_18_the_lead_may_block() -> None:
    match = table([[(0, 0), (1, 1)], [(1, 3), (2, 2)], [(1, 5), (2, 3)]])
    event = lay(match, (0, 0))
    assert (event.kind, event.round_end) == ("lead", "blocked")
    assert match.round_index == 1
    assert [e.kind for e in match.events] == ["lead"]


def test_ft_18_the_blocking_placement_scores_and_nobody_gets_the_bonus() -> None:
    match = table([[(5, 5), (1, 1)], [(1, 3), (2, 2)], [(1, 4), (2, 3)]], scores=[3, 4, 5])
    event = lay(match, (5, 5))
    assert (event.count, event.offered, event.accepted) == (10, 2, 2)
    assert (event.round_end, event.settlement, event.settled_side) == ("blocked", 0, None)
    assert match.scores == (5, 4, 5)


def test_ft_18_a_block_is_a_state_and_no_knocks_are_played_out() -> None:
    match = table([[(1, 6), (2, 2)], [(1, 1), (3, 3)]])
    lay(match, (1, 6))
    assert lay(match, (1, 1)).round_end == "blocked"
    assert [event.kind for event in match.events] == ["lead", "play"]


def test_ft_18_tiles_asleep_and_seats_that_are_out_do_not_matter() -> None:
    match = table([[(0, 1)], [(1, 1), (3, 3)], [(2, 2)], [(4, 4)]])
    assert lay(match, (0, 1)).round_end is None
    assert lay(match, (1, 1), "right").round_end == "blocked"


def test_ft_18_one_seat_that_can_lay_keeps_the_round_open() -> None:
    match = table([[(0, 0), (1, 1)], [(1, 3), (2, 2)], [(1, 5), (0, 3)]])
    assert lay(match, (0, 0)).round_end is None
    assert knock(match).round_end is None
    assert lay(match, (0, 3)).round_end is None


@pytest.mark.parametrize("name", FT_PRESETS)
def test_ft_18_no_position_is_left_in_which_nobody_can_lay(name: str) -> None:
    match = Match(name, seed=18)
    for _ in random_plies(match, np.random.default_rng(18)):
        if not match.over and match.line:
            assert any(set(t) & set(match.ends) for hand in match.hands for t in hand)


def test_ft_19_going_out_comes_before_the_block() -> None:
    event = lay(table([[(0, 0)], [(1, 1)]]), (0, 0))
    assert (event.round_end, event.accepted) == ("out", 1)


def test_ft_19_second_partner_out_and_all_stuck_is_a_going_out() -> None:
    match = table([[(1, 6)], [(6, 6), (5, 5)], [(1, 1)], [(3, 3), (2, 2)]])
    lay(match, (1, 6))
    lay(match, (6, 6), "right")
    event = lay(match, (1, 1))
    assert (event.count, event.round_end, event.accepted) == (14, "out", 1)


def test_ft_19_first_partner_out_and_all_stuck_is_a_block_without_bonus() -> None:
    match = table([[(0, 0)], [(1, 1)], [(2, 2)], [(3, 3)]])
    event = lay(match, (0, 0))
    assert (event.round_end, event.offered, event.accepted) == ("blocked", 0, 0)
    assert match.scores == (0, 0)


@pytest.mark.parametrize(("hand", "end"), [([(1, 6)], "out"), ([(0, 0), (6, 6)], "blocked")])
def test_ft_20_tiles_left_in_hands_are_never_counted(hand: list, end: str) -> None:
    match = table([hand, [(5, 5), (4, 4)]], scores=[10, 20])
    event = lay(match, hand[0])
    assert (event.round_end, event.settlement) == (end, 0)
    assert match.scores == (11 if end == "out" else 10, 20)


# ----------------------------------------------------------------------------------- exactly 61


@pytest.mark.parametrize(
    ("score", "lead", "after"),
    [(60, (1, 4), 61), (59, (1, 5), 61), (60, (1, 5), 60), (58, (5, 5), 60), (58, (6, 6), 58)],
)
def test_ft_21_an_event_counts_whole_or_not_at_all(score: int, lead: tuple, after: int) -> None:
    match = table([[lead, (0, 1)], [(1, 1), (6, 5), (4, 2)]], scores=[score, 0])
    event = lay(match, lead)
    assert match.scores[0] == after
    assert event.accepted == after - score
    assert event.reason == (None if after > score else "over the target")
    assert match.over == (after == 61)


@pytest.mark.parametrize(
    ("score", "tile", "offered", "after"),
    [(59, (1, 5), 3, 59), (60, (1, 6), 1, 61), (60, (1, 2), 2, 60), (58, (1, 5), 3, 61)],
)
def test_ft_22_points_and_bonus_are_one_event(score, tile, offered, after) -> None:
    match = table([[tile], [(2, 3), (4, 5)]], scores=[score, 0])
    event = lay(match, tile)
    assert (event.offered, event.accepted) == (offered, after - score)
    assert (event.round_end, event.match_over) == ("out", after == 61)
    assert match.scores[0] == after
    assert match.round_index == (0 if after == 61 else 1)


def test_ft_22_whole_event_rejected_when_bonus_busts_in_pairs() -> None:
    match = table([[(1, 6)], [(6, 6), (5, 5)], [(1, 1)], [(3, 3)]], scores=[60, 0])
    lay(match, (1, 6))
    lay(match, (6, 6), "right")
    assert match.scores == (60, 0)
    won = match.copy()
    event = lay(won, (1, 1))  # count 14: the bonus alone
    assert (event.offered, event.accepted, won.winner) == (1, 1, 0)
    match.deal([[(1, 6)], [(6, 6), (5, 5)], [(1, 3)], [(3, 3)]], scores=[53, 0])
    lay(match, (1, 6))
    lay(match, (6, 6), "right")
    event = lay(match, (1, 3))  # count 15: 8 would be exactly 61, 8 + 1 is one too many
    assert (event.offered, event.accepted, event.reason) == (9, 0, "over the target")
    assert (event.round_end, match.scores) == ("out", (53, 0))


def test_ft_23_a_rejected_event_is_recorded_and_undoes_nothing_else() -> None:
    match = table([[(6, 6), (0, 1)], [(5, 6), (1, 1)]], scores=[58, 0])
    event = lay(match, (6, 6))
    assert event == (0, "lead", (6, 6), 0, 12, 4, 0, "over the target", None, 0, None, False)
    assert match.line == ((6, 6),)
    assert match.hands[0] == ((0, 1),)
    assert (match.seat, match.scores) == (1, (58, 0))
    assert match.events == [event] == [match.last]


def test_ft_23_an_ended_round_stays_ended() -> None:
    match = table([[(5, 5), (1, 1)], [(1, 3), (2, 2)]], scores=[60, 0])
    event = lay(match, (5, 5))
    assert (event.accepted, event.round_end) == (0, "blocked")
    assert (match.round_index, match.opener, match.scores) == (1, 1, (60, 0))


def test_ft_24_exactly_61_wins_whatever_others_hold() -> None:
    match = table([[(1, 6), (0, 2)], [(4, 6), (1, 1)], [(0, 0)]], scores=[60, 60, 60])
    lay(match, (1, 6))  # 7
    assert not match.over
    event = lay(match, (4, 6), "right")  # 1 + 4 = 5
    assert (event.accepted, event.match_over) == (1, True)
    assert (match.winner, match.scores) == (1, (60, 61, 60))


def test_ft_24_a_win_in_mid_round_ends_everything() -> None:
    match = table([[(1, 4), (0, 2)], [(4, 4), (1, 6)]], scores=[60, 60])
    event = lay(match, (1, 4))
    assert (event.accepted, event.round_end, event.match_over) == (1, None, True)
    assert (match.over, match.winner, match.scores) == (True, 0, (61, 60))
    assert not match.legal_actions().size
    assert not match.action_mask().any()
    before = match.records.tobytes()
    for action in range(match.rules.num_actions):
        with pytest.raises(IllegalAction, match="over"):
            match.play(action)
    assert match.records.tobytes() == before


def test_ft_24_a_win_comes_before_the_block() -> None:
    match = table([[(5, 5), (1, 2)], [(3, 4)]], scores=[59, 0])
    event = lay(match, (5, 5))
    assert (event.accepted, event.round_end, event.match_over) == (2, None, True)


def test_ft_24_the_second_pair_wins_as_a_pair() -> None:
    match = table([[(0, 0)], [(1, 1)], [(2, 2)], [(1, 4), (3, 3)]], opener=3, scores=[60, 60])
    assert lay(match, (1, 4)).match_over
    assert match.winner == 1


# ------------------------------------------------------------------------------------- variants


@pytest.mark.parametrize(
    ("num_players", "hand_size"), [(2, 7), (2, 9), (3, 5), (3, 6), (3, 9), (4, 5), (4, 6), (4, 7)]
)
def test_variant_hand_sizes(num_players: int, hand_size: int) -> None:
    match = Match(Rules.fives_and_threes(num_players, hand_size=hand_size), seed=1)
    assert match.held == (hand_size,) * num_players
    assert match.sleeping == 28 - num_players * hand_size
    for event in random_plies(match, np.random.default_rng(1)):
        assert tiles_of(match) == DOUBLE_SIX
        if event.round_end and not match.over:
            assert match.held == (hand_size,) * num_players
    assert match.scores[match.winner] == 61


def test_variant_four_singles_keep_four_scores_and_first_out_ends_the_round() -> None:
    rules = {"partnership": "singles"}
    match = table([[(1, 6)], [(6, 6)], [(1, 3)], [(3, 3)]], scores=[1, 2, 3, 4], **rules)
    assert [match.side_of(seat) for seat in range(4)] == [0, 1, 2, 3]
    event = lay(match, (1, 6))
    assert (event.round_end, event.accepted) == ("out", 1)
    assert match.scores == (2, 2, 3, 4)


def test_variant_pair_round_ends_when_the_first_player_is_out() -> None:
    match = table([[(1, 6)], [(6, 6)], [(1, 3)], [(3, 3)]], pair_round_end="first_out")
    event = lay(match, (1, 6))
    assert (event.round_end, event.accepted) == ("out", 1)
    assert match.scores == (1, 0)


@pytest.mark.parametrize("target", [31, 61, 121])
def test_variant_targets(target: int) -> None:
    exact = table([[(1, 4), (0, 0)], [(4, 4)]], scores=[target - 1, 0], target=target)
    assert lay(exact, (1, 4)).match_over
    assert exact.scores[0] == target
    over = table([[(1, 5), (0, 0)], [(5, 5)]], scores=[target - 1, 0], target=target)
    assert lay(over, (1, 5)).reason == "over the target"
    assert over.scores[0] == target - 1


def test_variant_no_bonus_for_going_out() -> None:
    match = table([[(1, 6)], [(2, 3)]], scores=[60, 0], going_out="none")
    event = lay(match, (1, 6))
    assert (event.round_end, event.offered, match.scores) == ("out", 0, (60, 0))
    match.deal([[(1, 5)], [(2, 3)]], scores=[59, 0])
    assert lay(match, (1, 5)).match_over


@num_players
def test_variant_highest_double_leads_the_first_round_only(num_players: int) -> None:
    rules = Rules.fives_and_threes(num_players, lead_first="highest_double")
    for seed in range(50):
        match = Match(rules, seed=seed)
        dealt = [tile for hand in match.hands for tile in hand]
        doubles = [tile for tile in dealt if tile[0] == tile[1]]
        wanted = max(doubles) if doubles else max(dealt, key=lambda t: (t[0] + t[1], t[1]))
        assert wanted in match.hands[match.opener]
        assert legal(match) == {(wanted, "left")}
        first = match.opener
        for event in random_plies(match, np.random.default_rng(seed)):
            if event.round_end:
                break
        if not match.over:
            assert match.opener == (first + 1) % num_players
            assert legal(match) == {(tile, "left") for tile in match.hands[match.seat]}


def test_variant_without_a_double_the_heaviest_tile_leads() -> None:
    rules = {"lead_first": "highest_double"}
    match = table([[(4, 5), (0, 1)], [(3, 6), (0, 2)]], opener=1, **rules)
    assert legal(match) == {((3, 6), "left")}
    match = table([[(4, 5), (0, 1)], [(3, 5), (0, 6)]], opener=0, **rules)
    assert legal(match) == {((4, 5), "left")}
    match = table([[(4, 5), (5, 6)], [(0, 0), (0, 6)]], opener=1, **rules)
    assert legal(match) == {((0, 0), "left")}


@pytest.mark.parametrize(("knock_points", "bonus"), [(False, 0), (True, 2)])
def test_variant_knocks_pay_the_next_seat_able_to_play(knock_points: bool, bonus: int) -> None:
    hands = [[(1, 3), (1, 6), (5, 5)], [(0, 5), (2, 2)], [(4, 4), (4, 5)]]
    match = table(hands, knock_points=knock_points)
    lay(match, (1, 3))
    assert [knock(match).accepted, knock(match).accepted] == [0, 0]
    event = lay(match, (1, 6))  # 6 + 3 = 9
    assert (event.offered, event.accepted) == (3 + bonus, 3 + bonus)


def test_variant_knock_points_count_only_the_knocks_just_before() -> None:
    hands = [[(1, 3), (1, 6), (5, 5)], [(6, 5), (2, 2)], [(4, 4), (4, 3)]]
    match = table(hands, knock_points=True)
    lay(match, (1, 3))
    knock(match)
    assert lay(match, (3, 4), "right").offered == 1 + 1  # 1 + 4 = 5, and a knock
    assert lay(match, (1, 6)).offered == 2  # 6 + 4 = 10: the knock is paid already


def test_variant_knock_points_and_bonus_are_one_event_with_the_points() -> None:
    match = table([[(1, 3), (1, 6)], [(0, 5)]], scores=[58, 0], knock_points=True)
    lay(match, (1, 3))
    knock(match)
    event = lay(match, (1, 6))  # 9: 3 points, a knock, the bonus
    assert (event.offered, event.accepted, event.reason) == (5, 0, "over the target")
    assert (event.round_end, match.scores) == ("out", (58, 0))


def test_variant_knocks_do_not_carry_over_to_the_next_round() -> None:
    match = Match("league-4p-knocks", seed=3)
    for event in random_plies(match, np.random.default_rng(3)):
        if event.kind == "lead":
            assert event.offered == POINTS.get(event.count, 0)


def test_variant_no_winning_on_a_lead() -> None:
    hands = [[(1, 4), (0, 2)], [(4, 6), (1, 6)]]
    match = table(hands, scores=[60, 57], win_on_lead=False)
    event = lay(match, (1, 4))
    assert (event.offered, event.accepted, event.reason) == (1, 0, "no winning on a lead")
    assert (match.over, match.scores) == (False, (60, 57))
    event = lay(match, (4, 6), "right")  # 1 + 6 = 7
    assert event.offered == 0
    match.deal([[(1, 6), (0, 2)], [(6, 4), (1, 1)]], scores=[0, 60])
    lay(match, (1, 6))
    assert lay(match, (4, 6), "right").match_over  # 1 + 4 = 5, not a lead
    match.deal(hands, scores=[58, 0])
    assert lay(match, (1, 4)).accepted == 1  # 59: a lead may score
    match.deal([[(1, 5), (0, 2)], [(5, 5)]], scores=[60, 0])
    assert lay(match, (1, 5)).reason == "over the target"


@pytest.mark.parametrize(
    ("name", "num_tiles", "held"),
    [("mini-2", 6, 2), ("mini-3", 10, 3), ("mini-4", 15, 4), ("mini-3-pairs", 10, 2)],
)
def test_variant_small_sets(name: str, num_tiles: int, held: int) -> None:
    for seed in range(20):
        match = Match(name, seed=seed)
        assert set(match.held) == {held}
        assert match.rules.num_actions == 2 * num_tiles + 1
        whole = [(a, b) for a in range(match.rules.highest + 1) for b in range(a, match.rules.highest + 1)]
        for _ in random_plies(match, np.random.default_rng(seed)):
            assert tiles_of(match) == whole
        assert match.scores[match.winner] == match.rules.target


def test_variant_double_nine_counts_to_thirty_four() -> None:
    hands = [[(9, 9), (6, 6), (0, 0)], [(6, 9), (8, 8)]]
    match = table(hands, highest=9, target=121)
    assert lay(match, (9, 9)).offered == 6  # 18
    assert lay(match, (6, 9)).count == 24
    event = lay(match, (6, 6))
    assert (event.count, event.offered) == (30, 10 + 6)
    match.deal([[(9, 9), (8, 8), (0, 0)], [(8, 9), (7, 7)]])
    lay(match, (9, 9))
    lay(match, (8, 9))
    event = lay(match, (8, 8))
    assert (event.count, event.offered) == (34, 0)
