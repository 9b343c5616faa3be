"""No leak: what a seat gets is the same in all worlds that it cannot tell apart, and only in those."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pytest
from conftest import PRESETS, other_world, random_plies, tile_id, valid_rules
from hypothesis import given
from hypothesis import strategies as st

from fivesthrees_env.kernel.record import EVENT, PLY, RULES
from fivesthrees_env.match import IllegalAction, Match
from fivesthrees_env.observations import Layout, encode_history, encode_many
from fivesthrees_env.rules import Rules
from fivesthrees_env.views import redact

MAX_PLIES = 150
"""Plies per example: several rounds."""


def observation(match: Match, view: np.ndarray) -> np.ndarray:
    """The bits of one view."""
    layout = Layout.of(match.rules)
    row = np.full((1, layout.size), 77, np.int8)
    encode_many(view, layout, row)
    return row


def knowledge(match: Match, seat: int) -> dict[str, bytes]:
    """All that a seat is ever handed, as bytes."""
    view = match.view(seat)
    handed = {
        "view": view,
        "observation": observation(match, view),
        "history": encode_history(view),
    }
    if match.seat == seat:
        handed["mask"] = match.action_mask()
        handed["actions"] = match.legal_actions()
    return {name: array.tobytes() for name, array in handed.items()}


def check_worlds(match: Match, rng: np.random.Generator, most: int = MAX_PLIES) -> int:
    """Play at random; after every ply compare what each seat gets here and in another world.

    Returns:
        In how many comparisons the other world had other hands.
    """
    differing = 0
    plies = random_plies(match, rng, most)
    while True:
        for seat in range(match.num_players):
            world = other_world(match, seat, rng)
            differing += world.hands != match.hands
            assert knowledge(world, seat) == knowledge(match, seat)
        if next(plies, None) is None:
            return differing


@given(st.sampled_from(sorted(PRESETS)), st.integers(0, 2**32))
def test_worlds_that_a_seat_cannot_tell_apart_look_the_same(name: str, seed: int) -> None:
    check_worlds(Match(name, seed=seed), np.random.default_rng(seed))


@given(valid_rules(), st.integers(0, 2**32))
def test_worlds_look_the_same_whatever_the_rules(rules: Rules, seed: int) -> None:
    check_worlds(Match(rules, seed=seed), np.random.default_rng(seed), most=60)


@pytest.mark.parametrize("name", PRESETS)
def test_the_worlds_compared_do_differ(name: str) -> None:
    rng = np.random.default_rng(21)
    assert sum(check_worlds(Match(name, seed=seed), rng, most=60) for seed in range(4)) > 50


# ------------------------------------------------------------------ the check itself is checked


def leak_a_hand(view: np.ndarray, match: np.ndarray, seat: int) -> None:
    view["hands"][0, 1] = match["hands"][0, (seat + 1) % match["rules"]["num_players"][0]]


def leak_weight_of_a_hand(view: np.ndarray, match: np.ndarray, seat: int) -> None:
    other = match["hands"][0, (seat + 1) % match["rules"]["num_players"][0]]
    view["newer"][0, 0, 0] = other & 1


def leak_the_field(name: str) -> Callable:
    def leak(view: np.ndarray, match: np.ndarray, seat: int) -> None:
        view[name] = match[name]

    return leak


LEAKS = {
    "a hand": leak_a_hand,
    "one tile of a hand": leak_weight_of_a_hand,
    "the deck": leak_the_field("deck"),
    "the key of the stream": leak_the_field("key"),
    "the counter of the stream": leak_the_field("counter"),
    "the tile to be led": leak_the_field("must_lead"),
}


@pytest.mark.parametrize("leak", LEAKS)
def test_a_leak_would_be_noticed(leak: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def leaky(matches: np.ndarray, seat: int) -> np.ndarray:
        view = redact(matches, seat)
        LEAKS[leak](view, matches, seat)
        return view

    monkeypatch.setattr("fivesthrees_env.match.redact", leaky)
    matches = [Match("all_fives-4p", seed=seed) for seed in range(50)]
    with pytest.raises(AssertionError):
        sum(check_worlds(match, np.random.default_rng(match.seed), most=2) for match in matches)


# ------------------------------------------------------------- worlds made by dealing otherwise


def unseen_places(match: Match, hands: list, boneyard: list, seat: int) -> list[tuple[int, int]]:
    """Where the tiles lay that a seat has not seen yet: (seat, or -1 for the boneyard; position)."""
    unseen = {tile for s, hand in enumerate(match.hands) if s != seat for tile in hand}
    unseen |= set(match.boneyard)
    places = [(s, i) for s, hand in enumerate(hands) for i, tile in enumerate(hand) if tile in unseen]
    return places + [(-1, i) for i, tile in enumerate(boneyard) if tile in unseen]


def exchange(hands: list, boneyard: list, places: list, number: int, rng: np.random.Generator):
    """The same deal but for `number` random exchanges among these places."""
    piles = [list(hand) for hand in hands] + [list(boneyard)]
    for _ in range(number if len(places) > 1 else 0):
        (a, i), (b, j) = (places[k] for k in rng.choice(len(places), 2, replace=False))
        piles[a][i], piles[b][j] = piles[b][j], piles[a][i]
    return piles[:-1], piles[-1]


def must_be_led_by_another(rules: Rules, hands: list, opener: int) -> bool:
    """AF-2: whether the tile that has to start is not in the opener's hand."""
    if rules.lead_first != "highest_double":
        return False
    dealt = [tile for hand in hands for tile in hand]
    return max(dealt, key=lambda t: (t[0] == t[1], sum(t), tile_id(t))) not in hands[opener]


def first_round(rules: Rules, seed: int, deal: tuple, actions: list[int]) -> Iterator[Match]:
    """A round dealt by hand, after every one of these actions; ends early where one is not legal."""
    match = Match(rules, seed=seed)
    hands, boneyard, opener = deal
    match.deal(hands, opener, boneyard=boneyard if rules.draw else None)
    yield match
    for action in actions:
        try:
            match.play(action)
        except IllegalAction:
            return
        yield match


@pytest.mark.parametrize("name", PRESETS)
def test_another_deal_with_the_same_public_plies_looks_the_same(name: str) -> None:
    """The other world is dealt and played from the start, and from another seed."""
    rules, rng = PRESETS[name], np.random.default_rng(5)
    found = 0
    for seed in range(25):
        match = Match(rules, seed=seed)
        hands, boneyard, opener = match.hands, match.boneyard, match.opener
        most = rng.integers(1, 12)
        actions, events = [], []
        while len(actions) < most:
            action = rng.choice(match.legal_actions())
            ahead = match.copy()
            if ahead.play(action).round_end or ahead.over:
                break
            actions.append(action)
            events.append(match.play(action))
        seat = int(rng.integers(rules.num_players))
        places = unseen_places(match, hands, boneyard, seat)
        for attempt in range(12):
            other = exchange(hands, boneyard, places, 1 + (12 - attempt) // 3, rng)
            if must_be_led_by_another(rules, other[0], opener):
                continue
            *_, last = first_round(rules, seed + 1000, (*other, opener), actions)
            if last.events != events:
                continue
            found += last.hands != match.hands
            here = first_round(rules, seed, (hands, boneyard, opener), actions)
            there = first_round(rules, seed + 1000, (*other, opener), actions)
            for one, two in zip(here, there, strict=True):
                assert knowledge(one, seat) == knowledge(two, seat)
    assert found > 20


# ------------------------------------------------------------------------------ what is erased


@pytest.mark.parametrize("name", PRESETS)
def test_a_view_holds_no_other_hand_no_deck_and_no_chance(name: str) -> None:
    match = Match(name, seed=8)
    for _ in random_plies(match, np.random.default_rng(8), MAX_PLIES):
        for seat in range(match.num_players):
            view = match.view(seat)
            assert view["hands"][0, 0] == match.records["hands"][0, seat]
            assert not view["hands"][0, 1:].any()
            assert not view["deck"].any()
            assert not view["key"].any()
            assert not view["counter"].any()
            if seat != match.seat:
                assert view["must_lead"][0] == -1


@pytest.mark.parametrize("part", [RULES, PLY, EVENT], ids=["RULES", "PLY", "EVENT"])
def test_parts_that_are_copied_whole_have_no_gaps(part: np.dtype) -> None:
    """Gaps would carry whatever lay in memory into a view."""
    assert sum(part[name].itemsize for name in part.names) == part.itemsize


def test_history_does_not_tell_which_tile_was_drawn() -> None:
    match = Match("all_fives-3p", seed=4)
    drawn = 0
    for event in random_plies(match, np.random.default_rng(4)):
        if event.kind == "draw":
            drawn += 1
            assert (event.tile, event.end, event.count) == (None, None, None)
            if not event.round_end:
                for seat in range(3):
                    last = encode_history(match.view(seat))[0, -1]
                    assert last.tolist() == [(event.seat - seat) % 3, 3, -1, -1, last[4], 0, 0]
    assert drawn > 5


# ----------------------------------------------------- two states of knowledge are never mixed up

SMALL = {
    "all_fives-2p, double-two": Rules.all_fives(2, highest=2, hand_size=2, target=20),
    "all_fives-3p, double-three": Rules.all_fives(3, highest=3, hand_size=2, target=20),
    "fives_and_threes-4p, double-two": Rules.fives_and_threes(4, highest=2, hand_size=1, target=4),
}
SMALL |= {name: PRESETS[name] for name in ("mini-2", "mini-3", "mini-3-pairs")}


def seen(match: Match, seat: int) -> tuple:
    """What a seat has seen of a round, in its own words: it counts seats and sides from itself.

    Of the round before it keeps who won it, and until the lead its last ply.
    """
    own = match.side_of(seat)

    def from_here(event) -> tuple:
        side = event.settled_side
        side = None if side is None else (side - own) % match.num_sides
        return ((event.seat - seat) % match.num_players, *event[1:-2], side, event.match_over)

    kinds = [event.kind for event in match.events]
    start = len(kinds) - 1 - kinds[::-1].index("lead") if match.line else len(kinds)
    before = from_here(match.events[start - 1]) if start else None
    if before and match.line:
        before = before[0] if before[8] == "out" else before[10]
    return (
        match.hands[seat],
        tuple(map(from_here, match.events[start:])),
        match.scores[own:] + match.scores[:own],
        (match.opener - seat) % match.num_players,
        (match.seat - seat) % match.num_players,
        match.round_index,
        before,
    )


@pytest.mark.parametrize("name", SMALL)
def test_views_are_equal_exactly_where_knowledge_is(name: str) -> None:
    """Two states of knowledge never share a view, and one never has two."""
    rules, rng = SMALL[name], np.random.default_rng(1)
    view_of: dict[tuple, bytes] = {}
    seen_in: dict[bytes, tuple] = {}
    number = 0
    for seed in range(150):
        match = Match(rules, seed=seed)
        plies = random_plies(match, rng, 40)
        while not match.over:
            for seat in range(match.num_players):
                known, view = seen(match, seat), match.view(seat).tobytes()
                assert view_of.setdefault(known, view) == view
                assert seen_in.setdefault(view, known) == known
                number += 1
            if next(plies, None) is None:
                break
    assert 500 < len(view_of) < number - 100  # there is something to mix up


@pytest.mark.parametrize("name", SMALL)
def test_bits_and_history_tell_all_that_is_known_of_the_round(name: str) -> None:
    rules, rng = SMALL[name], np.random.default_rng(2)
    seen_in: dict[tuple, tuple] = {}
    for seed in range(60):
        match = Match(rules, seed=seed)
        plies = random_plies(match, rng, 40)
        while not match.over:
            for seat in range(match.num_players):
                view = match.view(seat)
                handed = observation(match, view).tobytes(), encode_history(view).tobytes()
                known = seen(match, seat)[:-2]
                assert seen_in.setdefault(handed, known) == known
            if next(plies, None) is None:
                break
