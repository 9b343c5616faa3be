"""The published numbers: perft, counts, gains, leads, lengths of rounds, blocks."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import NamedTuple

import numpy as np
import pytest
from conftest import AF_PRESETS, PRESETS, action_id, lay, random_plies

from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.match import Match
from fivesthrees_env.rules import Rules

GAMES = {"fives_and_threes": Rules.fives_and_threes, "all_fives": Rules.all_fives}
NO_TARGET = {"target": 1000}
DOUBLE_SIX = [(low, high) for low in range(7) for high in range(low, 7)]

PERFT = {
    ("fives_and_threes", 2): [7, 15, 39, 84, 170, 358, 594, 1062],
    ("fives_and_threes", 3): [5, 9, 20, 41, 74, 118, 175, 268, 342],
    ("fives_and_threes", 4): [5, 9, 20, 66, 131, 251, 414, 986],
    ("all_fives", 2): [7, 15, 36, 85, 190, 428, 1080],
    ("all_fives", 3): [5, 9, 20, 45, 86, 168, 363],
    ("all_fives", 4): [5, 9, 20, 78, 215, 572, 1541],
}


def children(match: Match) -> Iterator[Match]:
    """The positions one ply on; a match whose first round is over is its own only child."""
    if match.round_index:
        yield match
        return
    for action in match.legal_actions():
        child = match.copy()
        child.play(action)
        yield child


@pytest.mark.parametrize(("game", "num_players"), PERFT)
def test_perft(game: str, num_players: int) -> None:
    rules = GAMES[game](num_players, lead_first="lot", **NO_TARGET)
    deck = [DOUBLE_SIX[5 * i % 28] for i in range(28)]
    size = rules.hand_size
    hands = [deck[size * seat : size * (seat + 1)] for seat in range(num_players)]
    match = Match(rules, seed=0)
    match.deal(hands, opener=0, boneyard=deck[size * num_players :] if rules.draw else None)
    level = [match]
    for leaves in PERFT[game, num_players]:
        level = [child for parent in level for child in children(parent)]
        assert len(level) == leaves


@pytest.mark.parametrize(
    ("game", "scoring_leads", "mean"),
    [("fives_and_threes", 14, Fraction(27, 28)), ("all_fives", 5, Fraction(5, 4))],
)
def test_leads_that_score(game: str, scoring_leads: int, mean: Fraction) -> None:
    points = []
    for tile in DOUBLE_SIX:
        spare = [other for other in DOUBLE_SIX if other != tile]
        match = Match(GAMES[game](2, lead_first="lot"), seed=0)
        match.deal([[tile, *spare[:6]], spare[6:13]])
        points.append(lay(match, tile).accepted)
    assert sum(p > 0 for p in points) == scoring_leads
    assert Fraction(sum(points), 28) == mean


class Rounds(NamedTuple):
    """What became of many random rounds, one number per round or per ply."""

    blocked: np.ndarray
    plies: np.ndarray
    placements: np.ndarray
    counts: np.ndarray
    gains: np.ndarray


def random_rounds(rules: Rules, number: int, seed: int) -> Rounds:
    """Round 1 of `number` matches, played uniformly at random."""
    batch = MatchBatch(number, rules.replace(**NO_TARGET), seed=seed, episode="match")
    rng = np.random.default_rng(seed)
    running = np.ones(number, bool)
    blocked, plies, placements = np.zeros((3, number), np.int64)
    counts, gains = [], []
    while running.any():
        actions = batch.random_actions(rng)
        batch.step(actions)
        event = batch.matches["event"]
        laid = running & (actions < rules.num_ends * rules.num_tiles)
        plies += running
        placements += laid
        counts.append(np.unique(event["ply"]["count"][laid]))
        gains.append(np.unique(event["accepted"][running]))
        blocked[running] = event["round_end"][running] == 2
        running &= event["round_end"] == 0
    values = [np.unique(np.concatenate(found)) for found in (counts, gains)]
    return Rounds(blocked, plies, placements, *values)


NUMBER = 20_000

#: Game, players, blocked share, most placements of a round.
SHARES = [
    ("fives_and_threes", 2, 0.708, 13),
    ("fives_and_threes", 3, 0.461, 13),
    ("fives_and_threes", 4, 0.722, 19),
    ("all_fives", 2, 0.029, 28),
    ("all_fives", 3, 0.007, 28),
    ("all_fives", 4, 0.012, 28),
]


@pytest.mark.parametrize(("game", "num_players", "share", "most"), SHARES)
def test_random_rounds_end_blocked_as_often_as_published(game, num_players, share, most) -> None:
    """The share within five standard errors of 20,000 rounds, plus the rounding of the number."""
    rounds = random_rounds(GAMES[game](num_players), NUMBER, seed=100 * num_players)
    tolerance = 5 * (share * (1 - share) / NUMBER) ** 0.5 + 0.0005
    assert abs(rounds.blocked.mean() - share) < tolerance
    assert rounds.placements.max() <= most
    if (game, num_players) == ("fives_and_threes", 2):
        assert rounds.plies.max() <= 24


@pytest.mark.parametrize(("num_players", "mean"), [(2, 19.7), (3, 18.4), (4, 21.5)])
def test_all_fives_rounds_are_as_long_as_published(num_players: int, mean: float) -> None:
    """Mean plies within five standard errors of 20,000 rounds, plus the rounding of the number."""
    plies = random_rounds(Rules.all_fives(num_players), NUMBER, seed=7 * num_players).plies
    assert abs(plies.mean() - mean) < 5 * plies.std() / NUMBER**0.5 + 0.05


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_ft_reachable_counts_and_gains(num_players: int) -> None:
    rounds = random_rounds(Rules.fives_and_threes(num_players), NUMBER, seed=num_players)
    assert rounds.counts.tolist() == [*range(19), 20, 22]
    assert rounds.gains.tolist() == list(range(10))


@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_af_reachable_counts_and_gains(num_players: int) -> None:
    rules = Rules.all_fives(num_players, going_out="none", block="none")
    rounds = random_rounds(rules, NUMBER, seed=num_players)
    assert set(rounds.counts) <= set(range(37))
    assert set(rounds.gains) <= set(range(0, 40, 5))
    assert rounds.counts.max() > 22
    flat = random_rounds(rules.replace(spinner=False), NUMBER, seed=num_players)
    assert flat.counts.tolist() == [*range(19), 20, 22]
    assert flat.gains.tolist() == [0, 5, 10, 15, 20]


@pytest.mark.parametrize("count", [35, 36])
def test_af_highest_counts(count: int) -> None:
    """Four arms of two tiles around [0|0]: three end in doubles, the fourth in [3|3] or [3|5]."""
    last = (3, 3) if count == 36 else (3, 5)
    arms = {
        "left": ((0, 6), (6, 6)),
        "right": ((0, 5), (5, 5)),
        "up": ((0, 4), (4, 4)),
        "down": ((0, 3), last),
    }
    moves = [((0, 0), "left")]
    moves += [(arm[i], end) for i in (0, 1) for end, arm in arms.items()]
    spare = [(1, 1), (2, 2), (1, 2)]
    tiles = [tile for tile, _ in moves]
    match = Match(Rules.all_fives(2, lead_first="lot"), seed=0)
    match.deal([[*tiles[0::2], spare[0]], [*tiles[1::2], spare[1]]])
    events = [match.play(action_id(match.rules, move)) for move in moves]
    assert events[-1].count == count
    assert events[-1].offered == (35 if count == 35 else 0)


@pytest.mark.parametrize("name", PRESETS)
def test_halves_on_the_line_match_the_ends_in_parity_and_tiles_are_conserved(name: str) -> None:
    """For every value v: v-halves on the line are as odd or even as the ends that show v."""
    match = Match(name, seed=11)
    rules = match.rules
    for _ in random_plies(match, np.random.default_rng(11), most=1500):
        laid = [*match.line, *match.arms[0], *match.arms[1]]
        if laid:
            for value in range(rules.highest + 1):
                halves = sum(tile.count(value) for tile in laid)
                assert halves % 2 == match.ends.count(value) % 2
        tiles = [*(t for hand in match.hands for t in hand), *match.boneyard]
        tiles += [tuple(sorted(tile)) for tile in laid]
        assert len(tiles) == len(set(tiles)) == rules.num_tiles


@pytest.mark.parametrize("name", AF_PRESETS)
def test_all_fives_scores_are_multiples_of_their_unit(name: str) -> None:
    match = Match(name, seed=3)
    unit = 1 if match.rules.scoring == "fives_over_5" else 5
    assert match.rules.score_unit == unit
    for event in random_plies(match, np.random.default_rng(3)):
        assert event.accepted % unit == event.settlement % unit == 0
    assert match.scores[match.winner] >= match.rules.target
