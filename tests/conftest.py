"""What the tests share: hypothesis profiles, moves by name, random play, random rules."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import fields

import numpy as np
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from fivesthrees_env.match import Match
from fivesthrees_env.rules import CHOICES, Rules
from fivesthrees_env.table import END_NAMES, Event

settings.register_profile(
    "ci",
    derandomize=True,
    deadline=None,
    max_examples=40,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
settings.register_profile("thorough", settings.get_profile("ci"), derandomize=False, max_examples=2000)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))

PRESETS = Rules.presets()
FT_PRESETS = {name: rules for name, rules in PRESETS.items() if not rules.draw}
AF_PRESETS = {name: rules for name, rules in PRESETS.items() if rules.draw}

Tile = tuple[int, int]
Move = str | tuple[Tile, str]


def tile_id(tile: Tile) -> int:
    """The index of a tile, in whichever order its halves are given."""
    low, high = sorted(tile)
    return high * (high + 1) // 2 + low


def action_id(rules: Rules, move: Move) -> int:
    """The id of "knock", of "draw" or of a placement (tile, end)."""
    if move == "knock":
        return rules.knock_action
    if move == "draw":
        return rules.draw_action
    tile, end = move
    return END_NAMES.index(end) * rules.num_tiles + tile_id(tile)


def legal(match: Match) -> set[Move]:
    """The legal moves by name."""
    rules = match.rules
    tiles = [(low, high) for high in range(rules.highest + 1) for low in range(high + 1)]
    moves: list[Move] = [(tile, end) for end in END_NAMES[: rules.num_ends] for tile in tiles]
    moves += ["draw", "knock"] if rules.draw else ["knock"]
    names = {action_id(rules, move): move for move in moves}
    return {names[action] for action in match.legal_actions().tolist()}


def lay(match: Match, tile: Tile, end: str = "left") -> Event:
    """Lay a tile at an end."""
    return match.play(action_id(match.rules, (tile, end)))


def knock(match: Match) -> Event:
    """Knock."""
    return match.play(match.rules.knock_action)


def table(
    hands: list[list[Tile]], opener: int = 0, scores: list[int] | None = None, **changes: object
) -> Match:
    """A round of Fives and Threes with exactly these hands, for as many seats as there are hands."""
    match = Match(Rules.fives_and_threes(num_players=len(hands), **changes), seed=0)
    match.deal(hands, opener=opener, scores=scores)
    return match


def random_plies(match: Match, rng: np.random.Generator, most: int = 10**9) -> Iterator[Event]:
    """Play on at random, ply by ply, until the match is over or `most` plies are played."""
    for _ in range(most):
        if match.over:
            return
        yield match.play(rng.choice(match.legal_actions()))


def random_match(rules: Rules, seed: int, most: int = 10**9) -> Match:
    """A match played at random from a seed."""
    match = Match(rules, seed=seed)
    for _ in random_plies(match, np.random.default_rng(seed), most):
        pass
    return match


def chi_square(observed: np.ndarray, expected: float | np.ndarray) -> float:
    """Pearson's statistic of counts against what was expected."""
    return float(((observed - expected) ** 2 / expected).sum())


def chi_square_limit(freedom: int) -> float:
    """What a true uniform exceeds about once in 100,000: Wilson and Hilferty's cube, 4.26 sigma."""
    return freedom * (1 - 2 / (9 * freedom) + 4.26 * (2 / (9 * freedom)) ** 0.5) ** 3


@st.composite
def valid_rules(draw: st.DrawFn) -> Rules:
    """Any rules that can be played: all combinations of settings that contradict nothing."""
    players = draw(st.sampled_from((2, 3, 4)))
    highest = draw(st.integers(2, 9))
    tiles = (highest + 1) * (highest + 2) // 2
    values = {key: draw(st.sampled_from(allowed)) for key, allowed in CHOICES.items()}
    values |= {
        field.name: draw(st.booleans()) for field in fields(Rules) if isinstance(field.default, bool)
    }
    values |= {"num_players": players, "highest": highest}
    values["hand_size"] = draw(st.integers(1, min(tiles // players, 9)))
    values["target"] = 5 * draw(st.integers(1, 30))
    undealt = tiles - players * values["hand_size"]
    values["boneyard_floor"] = draw(st.integers(0, min(undealt, 3))) if values["draw"] else 0
    if values["overshoot"] != "reject":
        values["win_on_lead"] = True
    if players < 4 or values["partnership"] == "singles":
        values |= {"partnership": "singles", "pair_round_end": "both_out"}
    return Rules(**values)
