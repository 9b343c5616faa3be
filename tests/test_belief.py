"""The belief against full enumeration: every deck that the kernel can replay into the very same view."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from itertools import combinations, permutations
from math import comb, perm, prod

import numpy as np
import pytest
from conftest import (
    PRESETS,
    chi_square,
    chi_square_limit,
    lay,
    random_plies,
    table,
    tile_id,
    valid_rules,
)
from hypothesis import given
from hypothesis import strategies as st

from agents.belief import Belief, _play_again, _sample_with_starts, count_ways, effective_size
from agents.softmax import SoftmaxGreedy
from fivesthrees_env.kernel.deal import deal, lead_with_highest
from fivesthrees_env.kernel.jit import jit
from fivesthrees_env.kernel.play import is_legal, play
from fivesthrees_env.kernel.record import DRAW, KNOCK, MATCH
from fivesthrees_env.match import Match
from fivesthrees_env.opponents import random_stream
from fivesthrees_env.rules import Rules
from fivesthrees_env.tiles import mask_to_tiles
from fivesthrees_env.views import redact, redact_many

MOST_DECKS = 6000

#: Sets small enough to enumerate from the first ply on.
MINI = {
    **{name: PRESETS[name] for name in ("mini-2", "mini-3", "mini-3-pairs", "mini-all-fives-3")},
    "all-fives-3-3p": Rules.all_fives(3, highest=3, hand_size=2, target=30),
    "all-fives-3-pairs": Rules.all_fives(4, highest=3, hand_size=1, target=30, partnership="pairs"),
    "all-fives-3-lot": Rules.all_fives(2, highest=3, hand_size=2, target=30, lead_first="lot"),
    "all-fives-3-floor": Rules.all_fives(2, highest=3, hand_size=2, target=30, boneyard_floor=2),
}
LATE = ("mini-4", "fives_and_threes-2p", "fives_and_threes-4p", "league-4p", "all_fives-2p", "muggins-2p")


class Position:
    """A view with all decks that are possible, found by playing every deck through the kernel."""

    def __init__(self, match: Match, start: np.ndarray, by_highest: bool, actions: list[int], viewer: int):
        self.view = match.view(viewer)
        self.players = match.num_players
        history = self.view["history"][0, : len(actions)]
        self.others_drew = bool(((history["kind"] == DRAW) & (history["seat"] != 0)).any())
        decks = np.array(list(_decks(match, viewer)), np.int8)
        self.matches = np.repeat(start, len(decks))
        self.matches["deck"][:, : decks.shape[1]] = decks
        self.starts = self.matches.copy()
        good = np.zeros(len(decks), np.bool_)
        opener = int(match.opener)
        _replay_all(self.matches, self.starts, opener, by_highest, np.array(actions, np.int64), good)
        views = np.zeros(len(decks), MATCH)
        redact_many(views, self.matches, np.full(len(decks), viewer))
        seen = self.view.tobytes()
        kept = [i for i in np.flatnonzero(good) if views[i].tobytes() == seen]
        self.matches, self.starts = self.matches[kept], self.starts[kept]
        self.hands = self.matches["hands"][:, (viewer + np.arange(self.players)) % self.players]
        self.viewer, self.actions = viewer, actions

    def marginals(self, weights: np.ndarray | None = None) -> np.ndarray:
        tiles = np.arange(int(self.view["rules"]["num_tiles"][0]), dtype=np.uint64)
        held = (self.hands[:, :, None] >> tiles & np.uint64(1)).astype(float)
        chances = np.average(held, axis=0, weights=weights)
        laid = np.bitwise_or.reduce(self.view["laid"][0]) >> tiles & np.uint64(1)
        return np.vstack([chances, 1 - laid - chances.sum(0)])


def _decks(match: Match, viewer: int) -> Iterator[list[int]]:
    """Every deck in which what has been seen lies where it may have lain, and far more than those."""
    record = match.records[0]
    draws = [int(p["seat"]) for p in record["history"][: record["num_plies"]] if p["kind"] == DRAW]
    tiles = range(match.rules.num_tiles)
    own = [t for t in tiles if int(record["hands"][viewer]) >> t & 1]
    laid = [[t for t in tiles if int(record["laid"][s]) >> t & 1] for s in range(match.num_players)]
    unseen = [t for t in tiles if t not in own and not any(t in hand for hand in laid)]
    for hands, rest in _shared_out(unseen, [0 if s == viewer else int(h) for s, h in enumerate(match.held)]):
        hands[viewer] = own
        for drawn in _products([permutations(hands[s] + laid[s], draws.count(s)) for s in range(len(hands))]):
            queues = [list(d) for d in drawn]
            dealt = [t for s, hand in enumerate(hands) for t in hand + laid[s] if t not in drawn[s]]
            yield dealt + [queues[seat].pop(0) for seat in draws] + rest


def _products(choices: list[Iterator[tuple[int, ...]]]) -> Iterator[list[tuple[int, ...]]]:
    lists = [list(c) for c in choices]
    counts = [len(c) for c in lists]
    for number in range(prod(counts)):
        picked = []
        for options in lists:
            number, k = divmod(number, len(options))
            picked.append(options[k])
        yield picked


def _shared_out(tiles: list[int], sizes: list[int]) -> Iterator[tuple[list[list[int]], list[int]]]:
    if not sizes:
        yield [], tiles
        return
    for hand in combinations(tiles, sizes[0]):
        for hands, rest in _shared_out([t for t in tiles if t not in hand], sizes[1:]):
            yield [list(hand), *hands], rest


def _num_decks(match: Match, viewer: int) -> int:
    record, total = match.records[0], 1
    history = record["history"][: record["num_plies"]]
    unseen = match.rules.num_tiles - int(record["placed"]) - int(record["held"][viewer])
    for seat in range(match.num_players):
        held, draws = (
            int(record["held"][seat]),
            int(((history["kind"] == DRAW) & (history["seat"] == seat)).sum()),
        )
        total *= perm(held + int(record["laid"][seat]).bit_count(), draws)
        if seat != viewer:
            total *= comb(unseen, held)
            unseen -= held
    return total


@jit
def _replay_all(matches, starts, opener, by_highest, actions, good):
    for i in range(matches.size):
        deal(matches[i], opener)
        if by_highest:
            lead_with_highest(matches[i])
        starts[i] = matches[i]
        good[i] = matches[i].opener == opener
        for action in actions:
            if not good[i]:
                break
            good[i] = matches[i].event.round_end == 0 or matches[i].num_plies == 0
            if good[i] and is_legal(matches[i], action):
                play(matches[i], action)
            else:
                good[i] = False


def positions(rules: Rules, seeds: range, late: bool = False) -> Iterator[Position]:
    """Positions along random matches that are few enough decks to try all."""
    for seed in seeds:
        match, rng = Match(rules, seed=seed), np.random.default_rng(seed)
        start, round_index, actions, won = match.records.copy(), 0, [], -1
        while not match.over and round_index < 3:
            highest = rules.lead_first == "highest_double" and (
                round_index == 0 or (rules.lead_later == "winner" and won == -1)
            )
            viewer = int(rng.integers(match.num_players))
            if _num_decks(match, viewer) <= MOST_DECKS and rng.random() < (0.3 if late else 0.5):
                yield Position(match, start, highest, actions, viewer)
            actions.append(int(rng.choice(match.legal_actions())))
            event = match.play(actions[-1])
            if event.round_end:
                start, actions, round_index = match.records.copy(), [], round_index + 1
                won = int(match.records["round_winner"][0])


CASES = [(name, rules, range(4), False) for name, rules in MINI.items()]
CASES += [(name, PRESETS[name], range(8 if PRESETS[name].draw else 3), True) for name in LATE]


@pytest.mark.parametrize(("rules", "seeds", "late"), [c[1:] for c in CASES], ids=[c[0] for c in CASES])
def test_marginals_and_counts_are_those_of_full_enumeration(rules: Rules, seeds: range, late: bool) -> None:
    seen = drawn = 0
    for position in positions(rules, seeds, late):
        belief = Belief(position.view)
        np.testing.assert_allclose(belief.marginals(), position.marginals(), atol=1e-12)
        if not rules.draw:
            assert belief.count == len(position.matches)
        seen, drawn = seen + 1, drawn + position.others_drew
    assert seen >= 10
    assert drawn >= 3 or not rules.draw


@pytest.mark.parametrize("name", MINI)
def test_samples_have_the_frequencies_of_full_enumeration(name: str) -> None:
    """Hands and the boneyard's order together, chi-square with fixed seeds."""
    checked = 0
    for number, position in enumerate(positions(MINI[name], range(2))):
        sample = Belief(position.view).sample(4000, np.random.default_rng(number))
        expected = Counter(h.tobytes() for h in position.hands)
        drawn = Counter(h.tobytes() for h in sample.hands)
        assert drawn.keys() <= expected.keys()
        if 1 < len(expected) < 400:
            share = np.array([expected[k] for k in expected]) * 4000 / len(position.hands)
            found = np.array([drawn[k] for k in expected])
            assert chi_square(found, share) < chi_square_limit(len(expected) - 1)
            checked += 1
    assert checked >= 3


def test_the_boneyard_lies_in_any_order() -> None:
    match = Match(MINI["all-fives-3-lot"], seed=1)
    for _ in random_plies(match, np.random.default_rng(1), 3):
        pass
    undealt = Belief(match.view(0)).sample(20_000, np.random.default_rng(1)).undealt
    assert undealt.shape == (20_000, match.records["undealt"][0])
    assert undealt.shape[1] > 2
    first = np.bincount(undealt[:, 0], minlength=10)
    assert chi_square(first[first > 0], np.bincount(undealt[:, -1], minlength=10)[first > 0]) < 60
    sleeps = Belief(match.view(0)).marginals()[-1]
    possible = sleeps > 0
    expected = sleeps[possible] / sleeps.sum() * 20_000
    assert chi_square(first[possible], expected) < chi_square_limit(possible.sum() - 1)


def views_of_random_matches(rules: Rules, seed: int, plies: int) -> Iterator[tuple[Match, int, np.ndarray]]:
    match, rng = Match(rules, seed=seed), np.random.default_rng(seed)
    for _ in range(plies):
        viewer = int(rng.integers(match.num_players))
        yield match, viewer, match.view(viewer)
        match.play(rng.choice(match.legal_actions()))
        if match.over:
            return


def check_belief(match: Match, viewer: int, view: np.ndarray, rng: np.random.Generator) -> None:
    belief = Belief(view)
    assert belief.count >= 1
    assert ways_of_the_truth(belief, match, viewer) >= 1
    chances = belief.marginals()
    np.testing.assert_allclose(chances[:-1].sum(1), view["held"][0, : match.num_players], atol=1e-9)
    deals, starts = np.empty(3, MATCH), np.empty(3, MATCH)
    _sample_with_starts(
        belief._view, belief._plan, belief._room, belief._ways, random_stream(rng), deals, starts
    )
    for ply in range(int(view["num_plies"][0])):
        _play_again(belief._view, starts, ply)
    for deal_, start in zip(deals, starts, strict=True):
        assert redact(deal_.reshape(1), 0).tobytes() == view.tobytes()
        assert redact(start.reshape(1), 0).tobytes() == view.tobytes()
        assert deal_["hands"].tobytes() == start["hands"].tobytes()


def ways_of_the_truth(belief: Belief, match: Match, viewer: int) -> float:
    """The ways that are left when every unseen tile is held to where it really lies."""
    plan = belief._plan.copy()
    hands = np.roll(match.records["hands"][0, : match.num_players], -viewer)
    for j in range(plan["num_tiles"][0]):
        if not plan["unseen"][0, j]:
            continue
        holders = [s for s in range(match.num_players) if int(hands[s]) >> int(plan["tiles"][0, j]) & 1]
        plan["unseen"][0, j] = not holders
        plan["allowed"][0, j] &= plan["groups"][0, holders[0]] if holders else np.uint64(0)
    return float(count_ways(plan[0])[1][0, -1])


@pytest.mark.parametrize("name", PRESETS)
def test_the_truth_is_possible_and_every_sample_replays_into_the_view(name: str) -> None:
    rng = np.random.default_rng(5)
    for seed in range(2):
        for match, viewer, view in views_of_random_matches(PRESETS[name], seed, 80):
            check_belief(match, viewer, view, rng)


@given(valid_rules(), st.integers(0, 2**32))
def test_the_truth_is_possible_whatever_the_rules(rules: Rules, seed: int) -> None:
    for match, viewer, view in views_of_random_matches(rules, seed, 40):
        check_belief(match, viewer, view, np.random.default_rng(seed))


def test_a_position_led_against_the_highest_double_has_deals() -> None:
    """Set up by hand: nobody drew, and yet a higher tile than the led one was dealt."""
    match = Match(Rules.all_fives(2), seed=0)
    match.deal([[(1, 2), (0, 3)], [(2, 6), (5, 6)]], opener=0)
    lay(match, (1, 2))
    lay(match, (2, 6), "right")
    check_belief(match, 0, match.view(0), np.random.default_rng(0))


def test_who_must_knock_knows_that_somebody_can_lay() -> None:
    match = table([[(1, 1), (2, 2)], [(4, 6), (0, 4)]], opener=1)
    lay(match, (4, 6))
    belief = Belief(match.view(0))
    assert belief.count == 12  # the 13 tiles with a 4 or a 6, without [4|6]
    fitting = [tile_id(tile) for tile in ((0, 4), (4, 4), (3, 6), (6, 6))]
    np.testing.assert_allclose(belief.marginals()[1, fitting], 1 / 12)


def test_who_opens_by_right_holds_the_highest_tile() -> None:
    match = Match(MINI["all-fives-3-3p"], seed=2)
    other = (match.seat + 1) % 3
    belief = Belief(match.view(other))
    for deal_ in belief.deals(200, np.random.default_rng(0)):
        tiles = mask_to_tiles(deal_["hands"][int(deal_["opener"])])
        everything = [tile for hand in deal_["hands"] for tile in mask_to_tiles(hand)]
        best = max(everything, key=lambda tile: (tile[0] == tile[1], sum(tile), tile[1]))
        assert best in tiles
        assert deal_["must_lead"] == tile_id(best)


def exact_weights(position: Position, policy: SoftmaxGreedy) -> np.ndarray:
    """By the definition: replay every deck, multiply the probabilities of what the others chose."""
    weights, matches = np.ones(len(position.starts)), position.starts.copy()
    for action in position.actions:
        views = np.zeros(len(matches), MATCH)
        redact_many(views, matches, matches["seat"])
        if matches["seat"][0] != position.viewer:
            weights *= policy(views)[:, action]
        _play_all(matches, action)
    return weights


@jit
def _play_all(matches, action):
    for i in range(matches.size):
        play(matches[i], action)


@pytest.mark.parametrize("name", ["mini-3", "mini-3-pairs", "mini-all-fives-3"])
def test_weighted_deals_are_those_of_bayes(name: str) -> None:
    policy, checked = SoftmaxGreedy(temperature=1.0), 0
    for position in positions(MINI[name], range(2)):
        if len(position.starts) > 300 or len(position.actions) < 3:
            continue
        exact = position.marginals(exact_weights(position, policy))
        deals = Belief(position.view).weighted(4000, policy, np.random.default_rng(1))
        tiles = np.arange(exact.shape[1], dtype=np.uint64)
        held = (deals.matches["hands"][:, : position.players, None] >> tiles & np.uint64(1)).astype(float)
        sampled = np.average(held, axis=0, weights=deals.weights)
        error = 5 / np.sqrt(effective_size(deals.weights))
        np.testing.assert_allclose(sampled, exact[:-1], atol=error)
        assert error < 0.3
        checked += 1
    assert checked >= 3


def test_where_no_sample_is_likely_all_weigh_the_same() -> None:
    match = Match("mini-3", seed=3)
    match.play(match.legal_actions()[0])
    deals = Belief(match.view(match.seat)).weighted(
        10, lambda views: np.zeros((len(views), match.rules.num_actions)), np.random.default_rng(0)
    )
    np.testing.assert_allclose(deals.weights, 0.1)


def test_samples_repeat_with_their_generator_and_only_then() -> None:
    belief = Belief(Match("fives_and_threes-4p", seed=1).view(2))
    hands = [belief.sample(50, np.random.default_rng(seed)).hands for seed in (1, 1, 2)]
    assert (hands[0] == hands[1]).all()
    assert (hands[0] != hands[2]).any()
    assert (hands[0] == belief.deals(50, np.random.default_rng(1))["hands"]).all()


def test_finished_rounds_and_strange_views_are_refused() -> None:
    match = table([[(1, 1)], [(0, 1)]], target=1)
    lay(match, (1, 1))
    with pytest.raises(ValueError, match="finished round given; allowed: one of a round that goes on"):
        Belief(match.view(0))
    with pytest.raises(ValueError, match="allowed: \\(1,\\) of dtype MATCH"):
        Belief(match.view(0)[:0])


@pytest.mark.parametrize(
    ("field", "value"), [("temperature", 0.0), ("doubt", 1.5), ("temperature", float("nan"))]
)
def test_impossible_policies_are_refused(field: str, value: float) -> None:
    with pytest.raises(ValueError, match=f"{field}: .* given; allowed"):
        SoftmaxGreedy(**{field: value})


def test_a_view_that_no_deal_can_have_led_to_is_refused() -> None:
    """A seat that knocks, by a history tampered with, and later lays a tile that would have fitted."""
    refused = 0
    for seed in range(10):
        match, rng = Match("fives_and_threes-2p", seed=seed), np.random.default_rng(seed)
        for _ in range(5):
            match.play(rng.choice(match.legal_actions()))
        view = match.view(0)
        for ply in np.flatnonzero(view["history"]["seat"][0, 2:5] == 1) + 1:
            forged = view.copy()
            forged["history"]["kind"][0, ply] = KNOCK
            forged["history"]["seat"][0, ply] = 1
            refused += (
                why_refused(forged) == "view: one that no deal can have led to; allowed: views of matches"
            )
    assert refused > 0


def why_refused(view: np.ndarray) -> str:
    try:
        Belief(view)
    except ValueError as error:
        return str(error)
    return ""
