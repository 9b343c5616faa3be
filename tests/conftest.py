"""What the tests share: hypothesis profiles, moves by name, random play, random rules."""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
from differential import random_rules
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from fivesthrees_env.match import Match
from fivesthrees_env.rules import Rules
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


def name_of_type(value: object) -> str:
    """How a hostile value is called in the name of a test: the same in every process."""
    return type(value).__name__


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


def valid_rules() -> st.SearchStrategy[Rules]:
    """Any rules that can be played."""
    return st.builds(random_rules, st.randoms(use_true_random=False))


def other_world(match: Match, seat: int, rng: np.random.Generator) -> Match:
    """A match that one seat cannot tell from this one: hidden tiles and chance are others.

    The tiles in other hands and undealt change places, as far as shown voids, the duty to lead the
    highest double and the fact that the round goes on allow; the stream of chance starts elsewhere.
    """
    world = match.copy()
    record = world.records[0]
    record["key"], record["counter"] = rng.integers(2**63, size=2)
    num_tiles = match.rules.num_tiles
    others = [s for s in range(match.num_players) if s != seat]
    undealt = [tile_id(tile) for tile in match.boneyard]
    dealt = [tile for tile in range(num_tiles) if tile not in undealt]
    for _ in range(20):
        hidden = undealt + [tile_id(tile) for s in others for tile in match.hands[s]]
        hidden = rng.permutation(hidden).tolist()
        hands = {seat: [tile_id(tile) for tile in match.hands[seat]]}
        for s in others:
            hands[s] = [hidden.pop() for _ in range(match.held[s])]
        if _is_possible(match, hands, len(hidden)):
            dealt = [tile for tile in range(num_tiles) if tile not in hidden]
            undealt = hidden
            for s, hand in hands.items():
                record["hands"][s] = sum(1 << tile for tile in hand)
            if record["must_lead"] >= 0:
                record["must_lead"] = _starting_tile(hands)
            break
    record["deck"][:num_tiles] = [*rng.permutation(dealt), *undealt]
    return world


def _halves(tile: int) -> Tile:
    high = next(h for h in range(10) if tile < (h + 1) * (h + 2) // 2)
    return tile - high * (high + 1) // 2, high


def _starting_tile(hands: dict[int, list[int]]) -> int:
    """The highest double, else the heaviest tile (AF-2)."""

    def rank(tile: int) -> tuple[bool, int, int]:
        low, high = _halves(tile)
        return low == high, low + high, tile

    return max((tile for hand in hands.values() for tile in hand), key=rank)


def _is_possible(match: Match, hands: dict[int, list[int]], undealt: int) -> bool:
    """Whether these hands contradict nothing that all can see."""
    record, rules = match.records[0], match.rules
    if match.over:
        return True
    if record["must_lead"] >= 0 and _starting_tile(hands) not in hands[match.opener]:
        return False
    if any(set(_halves(t)) & set(match.lacks[s]) for s, hand in hands.items() for t in hand):
        return False
    if not match.line or (rules.draw and undealt > rules.boneyard_floor):
        return True
    return any(set(_halves(t)) & set(match.ends) for hand in hands.values() for t in hand)
