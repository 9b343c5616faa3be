"""The reference against the rule page: stored cases, worked positions and published numbers."""

from __future__ import annotations

import copy
import json
import random
from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations, permutations, product
from pathlib import Path

import pytest
from reference import (
    DOWN,
    LEFT,
    RIGHT,
    UP,
    Reference,
    Tile,
    end_count,
    points_for_count,
    points_for_pips,
    tile_index,
    tile_set,
)

CASES = json.loads((Path(__file__).parent / "cases" / "rounds.json").read_text())
END_NAMES = ["left", "right", "up", "down"]

RANDOM_ROUNDS = 3000
"""Random rounds per number of players."""

FIVES_AND_THREES = {
    "num_players": 2,
    "highest": 6,
    "hand_size": 7,
    "partnership": "pairs",
    "pair_round_end": "both_out",
    "target": 61,
    "overshoot": "reject",
    "scoring": "fives_and_threes",
    "going_out": "one",
    "block": "none",
    "lead_first": "lot",
    "lead_later": "rotate",
    "knock_points": False,
    "win_on_lead": True,
    "spinner": False,
    "draw": False,
    "boneyard_floor": 0,
}
ALL_FIVES = FIVES_AND_THREES | {
    "partnership": "singles",
    "target": 150,
    "overshoot": "win",
    "scoring": "fives",
    "going_out": "pips",
    "block": "others_minus_own",
    "lead_first": "highest_double",
    "lead_later": "winner",
    "spinner": True,
    "draw": True,
}
GAMES = {"fives_and_threes": FIVES_AND_THREES, "all_fives": ALL_FIVES}
NO_TARGET = 10**9


def settings_for(game: str, num_players: int, **changes: object) -> dict:
    """Returns the settings of a game with its own hand size."""
    hand_size = 7 if num_players == 2 else 5
    return GAMES[game] | {"num_players": num_players, "hand_size": hand_size} | changes


def deal(deck: list[Tile], num_players: int, hand_size: int) -> tuple[list[list[Tile]], list[Tile]]:
    """Deals a deck in blocks; the rest is the boneyard."""
    dealt = num_players * hand_size
    return [deck[i : i + hand_size] for i in range(0, dealt, hand_size)], deck[dealt:]


def action_id(game: Reference, tile: Tile, end: int = LEFT) -> int:
    """Returns the id of a placement."""
    return end * len(game.tiles) + tile_index(tile)


def lay(game: Reference, tile: Tile, end: int = LEFT) -> dict:
    """Lays a tile."""
    return game.play(action_id(game, tile, end))


# ---------------------------------------------------------------------------------- stored cases


def as_action(game: Reference, move: str | dict) -> int:
    """Returns the id of a stored move."""
    if move == "knock":
        return game.knock_action
    if move == "draw":
        return game.draw_action
    return action_id(game, tuple(move["tile"]), END_NAMES.index(move["end"]))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_stored_case(case: dict) -> None:
    game = Reference(settings_for(case["game"], case["num_players"]))
    game.start_round(case["hands"], case["boneyard"] or (), case["opener"], case["scores"])
    for ply in case["plies"]:
        assert game.seat == ply["seat"]
        legal = sorted(as_action(game, move) for move in ply["legal"])
        assert game.legal_actions() == legal
        assert [a for a, on in enumerate(game.action_mask()) if on] == legal
        event = game.play(as_action(game, ply["move"]))
        assert event["seat"] == ply["seat"]
        for field in ("count", "offered", "accepted", "round_end", "match_over"):
            assert event[field] == ply[field], field
        assert game.scores == ply["scores"]
        assert game.over == ply["match_over"]
        assert game.round_over == (ply["match_over"] or ply["round_end"] is not None)
    assert game.round_over
    assert game.winner == (event["seat"] if game.over else None)
    assert len(game.plies) == len(case["plies"])


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_stored_case_opener_by_the_rules(case: dict) -> None:
    """AF-2: every stored All Fives round is led by the seat that the rules name."""
    game = Reference(settings_for(case["game"], case["num_players"]))
    if case["game"] == "fives_and_threes":
        with pytest.raises(ValueError, match="lot"):
            game.start_round(case["hands"])
    else:
        game.start_round(case["hands"], case["boneyard"])
        assert game.opener == case["opener"]


# ----------------------------------------------------------------------------- worked positions


def laid_by_two(settings: dict, tiles: list[Tile]) -> Reference:
    """Returns a two-player round in which the seats hold every second one of these tiles."""
    spare = [tile for tile in tile_set(settings["highest"]) if tile not in tiles]
    hands = [tiles[0::2] + spare[0::2], tiles[1::2] + spare[1::2]]
    game = Reference(settings | {"target": NO_TARGET, "lead_first": "lot"})
    game.start_round(hands, opener=0)
    return game


def test_ft_worked_positions() -> None:
    game = laid_by_two(FIVES_AND_THREES, [(1, 4), (1, 1), (4, 4), (3, 4)])
    expected = [(LEFT, 5, 1), (LEFT, 6, 2), (RIGHT, 10, 2), (RIGHT, 5, 1)]
    for tile, (end, count, points) in zip([(1, 4), (1, 1), (4, 4), (3, 4)], expected, strict=True):
        event = lay(game, tile, end)
        assert (event["count"], event["offered"], event["accepted"]) == (count, points, points)
    assert game.line == [(1, 1), (1, 4), (4, 4), (4, 3)]
    assert game.ends == [1, 3]


def test_ft_worked_fifteen() -> None:
    game = laid_by_two(FIVES_AND_THREES, [(3, 6), (6, 6)])
    lay(game, (3, 6))
    event = lay(game, (6, 6), RIGHT)
    assert (event["count"], event["accepted"]) == (15, 8)


def test_ft_11_lone_doubles() -> None:
    for tile, count, points in [((2, 2), 4, 0), ((0, 0), 0, 0), ((6, 6), 12, 4)]:
        event = lay(laid_by_two(FIVES_AND_THREES, [tile]), tile)
        assert (event["count"], event["offered"]) == (count, points)


def test_ft_12_lone_double_gets_a_neighbour() -> None:
    game = laid_by_two(FIVES_AND_THREES, [(4, 4), (1, 4)])
    lay(game, (4, 4))
    assert lay(game, (1, 4), LEFT)["count"] == 9


def test_ft_7_same_tile_same_value_other_end() -> None:
    for end, count in [(LEFT, 5), (RIGHT, 9)]:
        tiles = [(4, 4), (3, 4), (2, 3), (2, 4), (1, 4)]
        game = laid_by_two(FIVES_AND_THREES, tiles)
        for tile in tiles[:-1]:
            lay(game, tile, RIGHT if game.line else LEFT)
        assert game.line == [(4, 4), (4, 3), (3, 2), (2, 4)]
        assert lay(game, (1, 4), end)["count"] == count


def test_ft_13_points() -> None:
    scoring = {3: 1, 5: 1, 6: 2, 9: 3, 10: 2, 12: 4, 15: 8, 18: 6, 20: 4}
    for count in {*range(19), 20, 22}:
        assert points_for_count(count, "fives_and_threes") == scoring.get(count, 0)


@pytest.mark.parametrize(
    ("score", "count_points", "after"), [(59, 2, 59), (60, 0, 61), (60, 1, 60), (58, 2, 61)]
)
def test_ft_22_bonus_and_points_are_one_event(score: int, count_points: int, after: int) -> None:
    last = {0: (1, 6), 1: (1, 4), 2: (1, 5)}[count_points]  # counts 7, 5 and 6 with the [1|1]
    game = Reference(FIVES_AND_THREES)
    game.start_round([[last], [(2, 3)]], opener=0, scores=[score, 0])
    event = lay(game, last)
    assert (event["offered"], game.scores[0]) == (count_points + 1, after)
    assert event["round_end"] == "out"
    assert event["match_over"] == game.over == (after == 61)


def test_af_5_spinner_walk() -> None:
    walk = [((5, 5), LEFT, 10), ((2, 5), LEFT, 12), ((3, 5), RIGHT, 5), ((0, 5), UP, 5)]
    walk.append(((5, 6), DOWN, 11))
    game = laid_by_two(ALL_FIVES, [tile for tile, _, _ in walk])
    for tile, end, count in walk:
        event = lay(game, tile, end)
        assert event["count"] == count
        assert event["offered"] == (count if count % 5 == 0 else 0)
        assert len(game.ends) == (4 if len(game.line) == 3 else 2)
    assert game.line == [(2, 5), (5, 5), (5, 3)]
    assert game.arms == ([(5, 0)], [(5, 6)])
    assert game.ends == [2, 3, 0, 6]


def test_af_8_rounding() -> None:
    rounded = {0: 0, 2: 0, 3: 5, 7: 5, 8: 10, 14: 15, 19: 20}
    for number, points in rounded.items():
        assert points_for_pips(number, "fives") == points
        assert points_for_pips(number, "fives_over_5") == points // 5


# --------------------------------------------------------------------------------------- perft

PERFT = {
    ("fives_and_threes", 2): [7, 15, 39, 84, 170, 358, 594, 1062],
    ("fives_and_threes", 3): [5, 9, 20, 41, 74, 118, 175, 268, 342],
    ("fives_and_threes", 4): [5, 9, 20, 66, 131, 251, 414, 986],
    ("all_fives", 2): [7, 15, 36, 85, 190, 428, 1080],
    ("all_fives", 3): [5, 9, 20, 45, 86, 168, 363],
    ("all_fives", 4): [5, 9, 20, 78, 215, 572, 1541],
}


def children(game: Reference) -> Iterator[Reference]:
    """Returns the positions one ply on; a finished round is its own only child."""
    if game.round_over:
        yield game
    for action in game.legal_actions():
        child = copy.deepcopy(game)
        child.play(action)
        yield child


@pytest.mark.parametrize(("game_name", "num_players"), PERFT)
def test_perft(game_name: str, num_players: int) -> None:
    in_order = sorted(tile_set(6))
    deck = [in_order[(5 * i) % 28] for i in range(28)]
    settings = settings_for(game_name, num_players, target=NO_TARGET, lead_first="lot")
    game = Reference(settings)
    game.start_round(*deal(deck, num_players, settings["hand_size"]), opener=0)
    level = [game]
    for leaves in PERFT[game_name, num_players]:
        level = [child for parent in level for child in children(parent)]
        assert len(level) == leaves


# ------------------------------------------------------------------------------- reachable counts


def short_lines() -> Iterator[list[Tile]]:
    """Yields every line of one to three tiles."""
    either_way = {(a, b) for a, b in product(range(7), repeat=2)}
    for first in either_way:
        yield [first]
        for second in either_way:
            if second[0] != first[1] or sorted(second) == sorted(first):
                continue
            yield [first, second]
            for third in either_way:
                if third[0] == second[1] and sorted(third) not in (sorted(first), sorted(second)):
                    yield [first, second, third]


def test_ft_reachable_counts_and_gains() -> None:
    counts = {end_count(line, ([], [])) for line in short_lines()}
    assert counts == set(range(19)) | {20, 22}
    gains = {points_for_count(count, "fives_and_threes") for count in counts}
    assert gains | {gain + 1 for gain in gains} == set(range(10))
    assert max(points_for_count(count, "fives") for count in counts) == 20  # Muggins


def test_ft_counts_that_no_line_has() -> None:
    """Longer lines add nothing: the two terminal tiles are different ones."""
    for left, right in permutations(tile_set(6), 2):
        for outer_left, outer_right in product(set(left), set(right)):
            line = [(outer_left, sum(left) - outer_left), (sum(right) - outer_right, outer_right)]
            assert end_count(line, ([], [])) not in (19, 21)
            assert end_count(line, ([], [])) <= 22


def test_af_reachable_counts() -> None:
    """Four arms of one or two tiles around [0|0] make every count from 0 to 36."""
    arms = [[(0, v)] for v in range(1, 7)]
    arms += [[(0, v), (v, w)] for v in range(1, 7) for w in range(1, 7)]
    counts = {end_count(line, ([], [])) for line in short_lines()}
    for left, right, up, down in combinations(arms, 4):
        tiles = [tuple(sorted(tile)) for arm in (left, right, up, down) for tile in arm]
        if len(set(tiles)) == len(tiles):
            line = [(b, a) for a, b in reversed(left)] + [(0, 0)] + right
            counts.add(end_count(line, (up, down)))
    assert counts == set(range(37))
    assert max(points_for_count(count, "fives") for count in counts) == 35


@pytest.mark.parametrize(
    ("game_name", "scoring_leads", "mean"),
    [("fives_and_threes", 14, Fraction(27, 28)), ("all_fives", 5, Fraction(5, 4))],
)
def test_leads_that_score(game_name: str, scoring_leads: int, mean: Fraction) -> None:
    points = [lay(laid_by_two(GAMES[game_name], [tile]), tile)["accepted"] for tile in tile_set(6)]
    assert sum(p > 0 for p in points) == scoring_leads
    assert Fraction(sum(points), 28) == mean


# --------------------------------------------------------------------------------- random rounds


@pytest.mark.parametrize(
    ("num_players", "most_placements", "blocked_share"),
    [(2, 13, 0.708), (3, 13, 0.461), (4, 19, 0.722)],
)
def test_ft_random_rounds(num_players: int, most_placements: int, blocked_share: float) -> None:
    rng = random.Random(num_players)
    settings = settings_for("fives_and_threes", num_players, target=NO_TARGET)
    blocked = 0
    for _ in range(RANDOM_ROUNDS):
        game = Reference(settings)
        deck = rng.sample(tile_set(6), 28)
        game.start_round(*deal(deck, num_players, settings["hand_size"]), opener=0)
        while not game.round_over:
            event = game.play(rng.choice(game.legal_actions()))
            halves = [half for tile in game.line for half in tile]
            for value in range(7):  # v-halves and ends that show v: both odd or both even
                assert halves.count(value) % 2 == game.ends.count(value) % 2
            for seat, values in enumerate(game.lacks):
                assert not any(set(tile) & values for tile in game.hands[seat])
        assert len(game.line) <= most_placements
        if num_players == 2:
            assert len(game.plies) <= 24
        blocked += event["round_end"] == "blocked"
    five_sigma = 5 * (blocked_share * (1 - blocked_share) / RANDOM_ROUNDS) ** 0.5
    assert abs(blocked / RANDOM_ROUNDS - blocked_share) < five_sigma


@pytest.mark.parametrize("num_players", [2, 3, 4])
@pytest.mark.parametrize("game_name", GAMES)
def test_random_matches_to_the_target(game_name: str, num_players: int) -> None:
    """Whole matches: openers, scores that carry on, tiles that stay in the set, one winner."""
    rng = random.Random(num_players)
    settings = settings_for(game_name, num_players, boneyard_floor=num_players % 3)
    for _ in range(10):
        game = Reference(settings)
        while not game.over:
            opener, scores = game.opener, list(game.scores)
            by_lot = game_name == "fives_and_threes" and opener is None
            deck = rng.sample(tile_set(6), 28)
            hands, boneyard = deal(deck, num_players, settings["hand_size"])
            game.start_round(hands, boneyard, opener=0 if by_lot else None)
            assert game.scores == scores
            if game_name == "fives_and_threes" and not by_lot:
                assert game.opener == (opener + 1) % num_players  # FT-4
            while not game.round_over:
                event = game.play(rng.choice(game.legal_actions()))
                on_table = [*game.line, *game.arms[0], *game.arms[1]]
                tiles = [t for hand in game.hands for t in hand] + game.boneyard + on_table
                assert len({tuple(sorted(t)) for t in tiles}) == len(tiles) == 28
                for seat, values in enumerate(game.lacks):
                    assert not any(set(tile) & values for tile in game.hands[seat])
        assert event["match_over"]
        winners = [s for s, score in enumerate(game.scores) if score >= settings["target"]]
        assert winners == [game.winner]
        with pytest.raises(ValueError, match="match is over"):
            game.start_round(hands, boneyard)


# ----------------------------------------------------------------------------- interface, variants


def test_illegal_action_changes_nothing() -> None:
    game = laid_by_two(FIVES_AND_THREES, [(1, 4), (1, 1)])
    lay(game, (1, 4))
    before = copy.deepcopy(vars(game))
    for action in (-1, game.knock_action, game.num_actions, action_id(game, (1, 1), RIGHT)):
        with pytest.raises(ValueError, match="not legal"):
            game.play(action)
    assert vars(game) == before


@pytest.mark.parametrize(
    ("changes", "knock", "draw", "num_actions"),
    [
        ({}, 56, None, 57),
        ({"spinner": True}, 112, None, 113),
        ({"draw": True}, 113, 112, 114),
        ({"draw": True, "spinner": True}, 113, 112, 114),
    ],
)
def test_action_ids(changes: dict, knock: int, draw: int | None, num_actions: int) -> None:
    game = Reference(FIVES_AND_THREES | changes)
    assert (game.knock_action, game.draw_action, game.num_actions) == (knock, draw, num_actions)
    assert len(game.action_mask()) == num_actions


def test_missing_or_unknown_setting() -> None:
    for broken in ({"block": "some"}, {"target": None}):
        with pytest.raises(ValueError, match="must be"):
            Reference(FIVES_AND_THREES | broken)


@pytest.mark.parametrize(("knock_points", "offered"), [(False, 0), (True, 2)])
def test_knock_points(knock_points: bool, offered: int) -> None:
    settings = settings_for("fives_and_threes", 3, knock_points=knock_points)
    game = Reference(settings)
    hands = [[(1, 3), (1, 6), (5, 5)], [(0, 5), (2, 2)], [(4, 4), (4, 5)]]
    game.start_round(hands, opener=0, scores=[0, 0, 0])
    lay(game, (1, 3))
    game.play(game.knock_action)
    assert game.lacks == [set(), {1, 3}, set()]
    game.play(game.knock_action)
    event = lay(game, (1, 6))  # count 6 + 3 = 9
    assert event["offered"] == event["accepted"] == 3 + offered
    assert game.round_over


@pytest.mark.parametrize(("overshoot", "score"), [("reject", 60), ("win", 60), ("win", 61 - 8)])
def test_no_winning_on_a_lead(overshoot: str, score: int) -> None:
    hands = [[(0, 3), (5, 5)], [(3, 3), (4, 4)]]
    for allowed in (True, False):
        game = Reference(FIVES_AND_THREES | {"overshoot": overshoot, "win_on_lead": allowed})
        game.start_round(hands, opener=0, scores=[score, 0])
        event = lay(game, (0, 3))  # 1 point
        wins = allowed and score == 60
        assert event["accepted"] == (1 if wins or score < 60 else 0)
        assert game.over == wins


def test_af_pairs_ignore_the_partner() -> None:
    settings = settings_for("all_fives", 4, partnership="pairs", pair_round_end="first_out")
    game = Reference(settings | {"lead_first": "lot"})
    game.start_round([[(0, 1)], [(3, 4)], [(6, 6), (5, 5)], [(2, 5)]], opener=0)
    event = lay(game, (0, 1))
    assert (event["round_end"], event["settlement"]) == ("out", 15)  # 7 and 7, not 36
    assert game.scores == [15, 0]


@pytest.mark.parametrize(
    ("block", "own", "settlement"),
    [
        ("others_minus_own", (1, 2), 20),  # AF-9: 3, 10, 12: 22 - 3 = 19
        ("others_minus_own", (3, 4), 15),
        ("others_total", (3, 4), 20),
        ("none", (3, 4), 0),
    ],
)
def test_af_9_block(block: str, own: Tile, settlement: int) -> None:
    game = Reference(settings_for("all_fives", 3, block=block, lead_first="lot"))
    game.start_round([[(0, 0), own], [(4, 6)], [(6, 6)]], opener=0)
    event = lay(game, (0, 0))
    assert event["round_end"] == "blocked"
    assert (event["offered"], event["accepted"]) == (0, 0)
    assert event["settlement"] == settlement
    assert game.scores == [settlement, 0, 0]
    if settlement:  # AF-3: the winner leads any tile
        game.start_round([[(0, 0), (1, 3)], [(4, 6)], [(6, 6)]])
        assert game.opener == 0
        assert len(game.legal_actions()) == 2
    else:
        with pytest.raises(ValueError, match="lot"):
            game.start_round([[(0, 0)], [(4, 6)], [(6, 6)]])


def test_block_in_pairs_compares_the_sides() -> None:
    settings = settings_for("all_fives", 4, partnership="pairs", lead_first="lot")
    game = Reference(settings)
    game.start_round([[(0, 0), (4, 5)], [(3, 4)], [(1, 1)], [(2, 5)]], opener=0)
    event = lay(game, (0, 0))  # 9 + 2 against 7 + 7: 14 - 11 = 3
    assert event["settlement"] == 5
    assert game.scores == [5, 0]
    game.start_round([[(0, 0)], [(3, 4)], [(1, 1)], [(2, 5)]])
    assert game.opener == 2  # the lighter of the partners


def test_ft_24_win_comes_before_the_block() -> None:
    game = Reference(FIVES_AND_THREES)
    game.start_round([[(5, 5), (1, 2)], [(3, 4)]], opener=0, scores=[59, 0])
    event = lay(game, (5, 5))  # nobody has a 5
    assert (event["accepted"], event["round_end"], event["match_over"]) == (2, None, True)
    assert (game.round_over, game.winner, game.legal_actions()) == (True, 0, [])


def test_af_3_tied_block_leads_as_round_one() -> None:
    game = Reference(settings_for("all_fives", 2, lead_first="highest_double"))
    game.start_round([[(0, 0), (1, 5)], [(2, 4)]])
    assert lay(game, (0, 0))["settlement"] == 0
    game.start_round([[(0, 0), (4, 5)], [(3, 6), (2, 2)]])
    assert game.opener == 1
    assert game.legal_actions() == [action_id(game, (2, 2))]


def test_af_2_without_a_double() -> None:
    game = Reference(ALL_FIVES)
    game.start_round([[(0, 6), (4, 5)], [(3, 6), (0, 1)]])
    assert game.opener == 1
    assert game.legal_actions() == [action_id(game, (3, 6))]


def test_af_7_floor_and_lacks() -> None:
    game = Reference(ALL_FIVES | {"lead_first": "lot", "boneyard_floor": 1})
    hands = [[(0, 0), (0, 1)], [(2, 3)]]
    game.start_round(hands, [(4, 4), (5, 5)], opener=0)
    lay(game, (0, 0))
    assert game.legal_actions() == [game.draw_action]
    event = game.play(game.draw_action)
    assert (event["seat"], event["round_end"], game.seat) == (1, None, 1)
    assert (game.lacks[1], game.drawn_since_failure[1]) == (set(), {0: 1})
    assert game.boneyard == [(5, 5)]
    assert game.legal_actions() == [game.knock_action]
    game.play(game.knock_action)
    assert game.lacks[1] == {0}
    assert lay(game, (0, 1), RIGHT)["settlement"] == 15  # 5 and 8 are 13
