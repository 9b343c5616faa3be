"""``Match``: play, copies, positions by hand, records and what is refused."""

from __future__ import annotations

import copy
import json
import pathlib
import pickle
from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
import pytest
from conftest import PRESETS, lay, name_of_type, random_match, random_plies, table, valid_rules
from hypothesis import given, settings
from hypothesis import strategies as st

from agents.sampling import _sample as sampler
from fivesthrees_env.batch import _step_blocks as step_kernel
from fivesthrees_env.kernel.jit import _digest_of_sources
from fivesthrees_env.match import DealError, IllegalAction, Match, RecordError
from fivesthrees_env.observations import _encode_many as encode_kernel
from fivesthrees_env.records import read_records, write_records
from fivesthrees_env.rules import Rules, RulesError
from fivesthrees_env.views import redact, redact_many

SEED_0_HANDS = (
    ((1, 5), (2, 3), (3, 4), (5, 6), (6, 6)),
    ((0, 1), (0, 5), (1, 4), (2, 5), (4, 5)),
    ((1, 6), (2, 6), (3, 5), (4, 6), (5, 5)),
    ((0, 0), (2, 2), (3, 3), (3, 6), (4, 4)),
)
LAST_SEED_BONEYARD = ((2, 3), (0, 3), (5, 6), (3, 6))

COPIES = {
    "copy": lambda match: match.copy(),
    "copy.deepcopy": copy.deepcopy,
    "pickle": lambda match: pickle.loads(pickle.dumps(match)),
    "replay": lambda match: Match.replay(match.record()),
}


def whole(match: Match) -> tuple:
    """All that a match is, comparable: gaps in the layout of the match record left out."""
    fields = [match.records[name].tobytes() for name in match.records.dtype.names]
    return fields, json.dumps(match.record()), list(match.events), match.seed


# -------------------------------------------------------------------------------------- making


def test_the_default_is_fives_and_threes_for_four_in_pairs() -> None:
    assert Match().rules == Rules.fives_and_threes(4)


@pytest.mark.parametrize("rules", ["mini-3", PRESETS["mini-3"], PRESETS["mini-3"].to_dict()])
def test_rules_may_be_rules_a_name_or_a_dict(rules: Any) -> None:
    assert Match(rules).rules == PRESETS["mini-3"]


@pytest.mark.parametrize("rules", [5, "chess", {"colour": 1}, ["mini-3"], {"num_players": 5}])
def test_other_rules_are_refused(rules: Any) -> None:
    with pytest.raises(RulesError):
        Match(rules)


@pytest.mark.parametrize("name", PRESETS)
def test_same_seed_same_match(name: str) -> None:
    one, two = random_match(PRESETS[name], 3, 200), random_match(PRESETS[name], 3, 200)
    assert whole(one) == whole(two)


def test_the_deal_of_a_seed_is_the_same_on_every_machine() -> None:
    assert Match("fives_and_threes-4p", seed=0).hands == SEED_0_HANDS
    assert Match("all_fives-2p", seed=2**63 - 1).boneyard[:4] == LAST_SEED_BONEYARD


def test_neighbouring_seeds_give_other_matches() -> None:
    deals = {Match("mini-4", seed=seed).hands for seed in range(1000)}
    assert len(deals) > 990


def test_a_match_without_a_seed_draws_one_and_tells_it() -> None:
    one, two = Match(), Match()
    assert one.seed != two.seed
    assert Match(seed=one.seed).hands == one.hands


@pytest.mark.parametrize("seed", [0, 1, 2**63 - 1, np.int64(7), np.uint8(7), np.uint64(2**62)])
def test_seeds_that_are_whole_numbers(seed: Any) -> None:
    match = Match("mini-3", seed=seed)
    assert match.seed == int(seed)
    assert type(match.seed) is int
    assert match.hands == Match("mini-3", seed=int(seed)).hands


@pytest.mark.parametrize("seed", [-1, 2**63, 10**30, 1.0, float("nan"), "1", True, b"1", [1], 1j])
def test_other_seeds_are_refused(seed: Any) -> None:
    with pytest.raises(ValueError, match=r"seed: .* given; allowed: None or a whole number"):
        Match("mini-3", seed=seed)


# ------------------------------------------------------------------------------------- playing


@pytest.mark.parametrize("name", PRESETS)
def test_events_and_state_fit_together(name: str) -> None:
    match = Match(name, seed=1)
    assert match.last is None
    assert match.events == []
    scores, rounds = [0] * match.num_sides, 0
    for number, event in enumerate(random_plies(match, np.random.default_rng(1)), 1):
        assert len(match.events) == number
        assert match.events[-1] == match.last == event
        scores[match.side_of(event.seat)] += event.accepted
        if event.round_end == "blocked" and event.settled_side is not None:
            scores[event.settled_side] += event.settlement
        assert match.scores == tuple(scores)
        assert match.over == event.match_over
        if event.round_end and not match.over:
            rounds += 1
            assert match.line == ()
            assert match.count == 0
        assert match.round_index == rounds
    assert match.scores[match.winner] >= match.rules.target
    assert sum(score >= match.rules.target for score in match.scores) == 1


def test_mask_and_legal_actions_agree_and_are_the_callers_own() -> None:
    match = Match("fives_and_threes-4p", seed=5)
    mask = match.action_mask()
    assert (mask.shape, mask.dtype) == ((57,), np.int8)
    assert np.flatnonzero(mask).tolist() == match.legal_actions().tolist()
    mask[:] = 1
    assert len(match.legal_actions()) == 5
    assert match.action_mask().sum() == 5


NO_ACTIONS = [
    -1,
    114,
    10**30,
    -(10**30),
    0.0,
    1.5,
    float("nan"),
    float("inf"),
    "3",
    b"3",
    None,
    True,
    False,
    [3],
    (3,),
    {3},
    {},
    1j,
    object(),
    np.float64(3),
    np.float32("nan"),
    np.bool_(True),
    np.str_("3"),
    np.int64(-1),
    np.array([0, 1]),
    np.array([]),
    np.array([3.0]),
    np.array(None),
    np.datetime64(3, "s"),
]


@pytest.mark.parametrize("action", NO_ACTIONS, ids=name_of_type)
@pytest.mark.parametrize("name", ["fives_and_threes-4p", "all_fives-2p"])
def test_what_is_no_action_is_refused_and_changes_nothing(name: str, action: Any) -> None:
    match = random_match(PRESETS[name], 4, 6)
    before = whole(match)
    with pytest.raises(IllegalAction, match="allowed") as caught:
        match.play(action)
    assert str(match.legal_actions()[0]) in str(caught.value)
    assert whole(match) == before


@given(st.sampled_from(sorted(PRESETS)), st.integers(0, 2**32), st.integers(0, 80))
def test_every_illegal_action_is_refused_and_changes_nothing(name: str, seed: int, plies: int) -> None:
    match = random_match(PRESETS[name], seed, plies)
    before = whole(match)
    for action in set(range(match.rules.num_actions)) - set(match.legal_actions().tolist()):
        with pytest.raises(IllegalAction):
            match.play(action)
    assert whole(match) == before


@pytest.mark.parametrize("code", "bhilqBHILQ")
def test_whole_numbers_of_any_type_are_actions(code: str) -> None:
    match = Match("fives_and_threes-4p", seed=4)
    action = match.legal_actions()[0]
    wanted = match.copy().play(int(action))
    number = np.array([action]).astype(code)
    for form in (number[0], number, number.reshape(()), number.reshape(1, 1)):
        assert match.copy().play(form) == wanted


def test_actions_have_names() -> None:
    match = Match("all_fives-2p")
    names = [match.action_name(action) for action in (0, 27, 28, 56 + 19, 84 + 2, 112, 113)]
    assert names == ["[0|0] left", "[6|6] left", "[0|0] right", "[4|5] up", "[1|1] down", "draw", "knock"]
    assert Match("mini-2").action_name(12) == "knock"


@pytest.mark.parametrize("seat", [-1, 4, 100])
def test_a_view_is_of_a_seat(seat: int) -> None:
    with pytest.raises(IndexError, match="allowed: 0 to 3"):
        Match().view(seat)


# -------------------------------------------------------------------------------------- copies


@pytest.mark.parametrize("how", COPIES)
@given(name=st.sampled_from(sorted(PRESETS)), seed=st.integers(0, 2**32), plies=st.integers(0, 60))
@settings(max_examples=25)
def test_a_copy_is_equal_independent_and_continues_identically(how, name, seed, plies) -> None:
    match = random_match(PRESETS[name], seed, plies)
    twin = COPIES[how](match)
    before = whole(match)
    if how != "replay":  # what lies in the deck under dealt tiles is not part of a record
        assert whole(twin) == before
    played = list(random_plies(twin, np.random.default_rng(seed), 60))
    assert whole(match) == before
    assert played == list(random_plies(match, np.random.default_rng(seed), 60))
    assert whole(match)[1:] == whole(twin)[1:]
    assert how == "replay" or whole(match) == whole(twin)


# ------------------------------------------------------------------------------ positions by hand


def test_deal_sets_up_exactly_what_is_given() -> None:
    match = random_match(PRESETS["all_fives-3p"], 1, 30)
    hands = [[(6, 6), (1, 2)], [(5, 0)], [(3, 3), (4, 4), (2, 2)]]
    match.deal(hands, opener=2, scores=[5, 145, 0], boneyard=[(1, 1), (0, 6), (3, 1)])
    assert match.hands == (((1, 2), (6, 6)), ((0, 5),), ((2, 2), (3, 3), (4, 4)))
    assert (match.opener, match.seat, match.scores) == (2, 2, (5, 145, 0))
    assert match.boneyard == ((1, 1), (0, 6), (1, 3))
    assert (match.sleeping, match.held) == (3, (2, 1, 3))
    assert (match.round_index, match.events, match.line, match.over) == (0, [], (), False)
    assert match.last is None


def test_deal_revives_a_match_that_was_over() -> None:
    match = random_match(PRESETS["mini-2"], 1)
    assert match.over
    match.deal([[(0, 1)], [(2, 2)]])
    assert (match.over, match.winner, match.scores) == (False, None, (0, 0))


def test_rounds_after_a_deal_are_full_ones() -> None:
    match = table([[(1, 6)], [(2, 3)]])
    lay(match, (1, 6))
    assert match.held == (7, 7)


def test_undealt_tiles_are_shuffled_by_the_seed_unless_given() -> None:
    hands = [[(6, 6)], [(5, 0)]]
    orders = []
    for seed in (1, 1, 2):
        match = Match("all_fives-2p", seed=seed)
        match.deal(hands)
        orders.append(match.boneyard)
    assert orders[0] == orders[1] != orders[2]
    assert len(orders[0]) == len(orders[2]) == 14  # as many as full hands leave


def test_tiles_asleep_are_all_that_nobody_holds() -> None:
    match = table([[(6, 6)], [(5, 0)]])
    assert len(match.boneyard) == match.sleeping == 26


def test_an_opener_without_the_highest_double_may_lead_any_tile() -> None:
    match = Match("all_fives-2p")
    match.deal([[(6, 6), (0, 1)], [(1, 2), (3, 4)]], opener=1)
    assert len(match.legal_actions()) == 2
    match.deal([[(6, 6), (0, 1)], [(1, 2), (3, 4)]], opener=0)
    assert len(match.legal_actions()) == 1


@pytest.mark.parametrize(
    "hands",
    [
        np.array([[[0, 1], [2, 3]], [[4, 4], [6, 5]]]),
        (((0, 1), (2, 3)), ((4, 4), (6, 5))),
        [[[0, 1], [2, 3]], [[4, 4], [6, 5]]],
        [[(np.int8(0), np.uint64(1)), (2, 3)], [np.array([4, 4]), (6, 5)]],
    ],
)
def test_deal_takes_lists_tuples_arrays_and_numpy_numbers(hands: Any) -> None:
    match = Match("fives_and_threes-2p")
    match.deal(hands, opener=np.int64(1), scores=np.array([3, 4]))
    assert match.hands == (((0, 1), (2, 3)), ((4, 4), (5, 6)))
    assert (match.opener, match.scores) == (1, (3, 4))
    assert json.loads(json.dumps(match.record()))["rounds"][0]["opener"] == 1


GOOD = [[(0, 1), (2, 3)], [(4, 4), (6, 5)]]
NO_DEALS = {
    "one hand": {"hands": GOOD[:1]},
    "three hands": {"hands": [*GOOD, [(0, 0)]]},
    "no hands": {"hands": []},
    "hands are None": {"hands": None},
    "hands are a string": {"hands": "ab"},
    "hands are a number": {"hands": 7},
    "hands are a dict": {"hands": {0: [(0, 1)], 1: [(2, 2)]}},
    "an empty hand": {"hands": [[], [(0, 1)]]},
    "too many tiles": {"hands": [[(0, i) for i in range(7)] + [(1, 1)], [(2, 2)]]},
    "a hand is None": {"hands": [None, [(0, 1)]]},
    "a hand is a string": {"hands": ["01", [(0, 1)]]},
    "the same tile in two hands": {"hands": [[(0, 1)], [(1, 0)]]},
    "the same tile twice in a hand": {"hands": [[(0, 1), (0, 1)], [(2, 2)]]},
    "a half too high": {"hands": [[(0, 7)], [(2, 2)]]},
    "a negative half": {"hands": [[(-1, 3)], [(2, 2)]]},
    "a huge half": {"hands": [[(0, 10**30)], [(2, 2)]]},
    "a float": {"hands": [[(0, 1.0)], [(2, 2)]]},
    "NaN": {"hands": [[(0, float("nan"))], [(2, 2)]]},
    "a string half": {"hands": [[("0", 1)], [(2, 2)]]},
    "a bool": {"hands": [[(False, True)], [(2, 2)]]},
    "None for a half": {"hands": [[(0, None)], [(2, 2)]]},
    "one half": {"hands": [[(0,)], [(2, 2)]]},
    "three halves": {"hands": [[(0, 1, 2)], [(2, 2)]]},
    "a tile is a number": {"hands": [[5], [(2, 2)]]},
    "a tile is a string": {"hands": [["01"], [(2, 2)]]},
    "float array": {"hands": np.zeros((2, 1, 2))},
    "opener too high": {"opener": 2},
    "negative opener": {"opener": -1},
    "float opener": {"opener": 0.0},
    "opener is NaN": {"opener": float("nan")},
    "opener is a string": {"opener": "0"},
    "opener is None": {"opener": None},
    "opener is a bool": {"opener": True},
    "one score": {"scores": [1]},
    "three scores": {"scores": [1, 2, 3]},
    "a score at the target": {"scores": [61, 0]},
    "a score past the target": {"scores": [0, 10**9]},
    "a negative score": {"scores": [-1, 0]},
    "a float score": {"scores": [1.0, 0]},
    "a NaN score": {"scores": [float("nan"), 0]},
    "a string score": {"scores": ["1", 0]},
    "a bool score": {"scores": [True, 0]},
    "scores are a number": {"scores": 5},
    "a boneyard where nothing is drawn": {"boneyard": [(0, 0)]},
    "an empty boneyard where nothing is drawn": {"boneyard": []},
}
NO_BONEYARDS = {
    "a dealt tile": [(0, 1)],
    "a tile twice": [(0, 0), (0, 0)],
    "more than full hands leave": [(a, b) for a in range(1, 4) for b in range(4, 7)]
    + [(a, a) for a in (0, 1, 2, 3, 5, 6)],
    "no tile": [(0, 9)],
    "a float": [(0, 0.0)],
    "not a list": 5,
    "a string": "ab",
}


@pytest.mark.parametrize("what", NO_DEALS)
def test_impossible_deals_are_refused_and_change_nothing(what: str) -> None:
    match = random_match(PRESETS["fives_and_threes-2p"], 2, 9)
    before = whole(match)
    with pytest.raises(DealError) as caught:
        match.deal(**{"hands": GOOD, **NO_DEALS[what]})
    assert "allowed" in str(caught.value) or "each tile is there once" in str(caught.value)
    assert whole(match) == before


@pytest.mark.parametrize("what", NO_BONEYARDS)
def test_impossible_boneyards_are_refused_and_change_nothing(what: str) -> None:
    match = random_match(PRESETS["all_fives-2p"], 2, 9)
    before = whole(match)
    with pytest.raises(DealError):
        match.deal(GOOD, boneyard=NO_BONEYARDS[what])
    assert whole(match) == before


@given(st.sampled_from(sorted(PRESETS)), st.integers(0, 2**32), st.data())
def test_any_deal_of_the_set_can_be_set_up_and_played(name: str, seed: int, data: st.DataObject) -> None:
    rules = PRESETS[name]
    tiles = [(a, b) for b in range(rules.highest + 1) for a in range(b + 1)]
    tiles = data.draw(st.permutations(tiles))
    sizes = [data.draw(st.integers(1, rules.hand_size)) for _ in range(rules.num_players)]
    hands = [[tiles.pop() for _ in range(size)] for size in sizes]
    most = rules.num_tiles - rules.num_players * rules.hand_size
    boneyard = tiles[: data.draw(st.integers(0, most))] if rules.draw else None
    opener = data.draw(st.integers(0, rules.num_players - 1))
    scores = [data.draw(st.integers(0, rules.target - 1)) for _ in range(rules.num_sides)]
    match = Match(rules, seed=seed)
    match.deal(hands, opener, scores, boneyard)
    assert match.hands == tuple(tuple(sorted(hand)) for hand in hands)
    assert (match.opener, match.scores) == (opener, tuple(scores))
    if rules.draw:
        assert match.boneyard == tuple(boneyard)
    for _ in random_plies(match, np.random.default_rng(seed), 60):
        pass
    assert json.dumps(Match.replay(match.record()).record()) == json.dumps(match.record())


# ------------------------------------------------------------------------------------- records


@given(st.sampled_from(sorted(PRESETS)), st.integers(0, 2**32), st.integers(0, 400))
def test_a_record_replays(name: str, seed: int, plies: int) -> None:
    check_replay(random_match(PRESETS[name], seed, plies))


@given(valid_rules(), st.integers(0, 2**32), st.integers(0, 80))
def test_a_record_replays_whatever_the_rules(rules: Rules, seed: int, plies: int) -> None:
    check_replay(random_match(rules, seed, plies))


def check_replay(match: Match) -> None:
    stored = json.dumps(match.record())
    again = Match.replay(json.loads(stored))
    assert json.dumps(again.record()) == stored
    assert again.events == match.events
    for name in match.records.dtype.names:
        if name != "deck":  # what lies under dealt tiles is not part of a record
            assert again.records[name].tobytes() == match.records[name].tobytes(), name
    assert again.boneyard == match.boneyard or not match.rules.draw


def test_a_record_holds_rules_seed_and_rounds() -> None:
    match = random_match(PRESETS["mini-3"], 6)
    record = json.loads(json.dumps(match.record()))
    assert Rules.from_dict(record["rules"]) == match.rules
    assert record["fingerprint"] == match.rules.fingerprint
    assert (record["seed"], record["scores"]) == (6, list(match.scores))
    assert record["winner"] == match.winner
    assert len(record["rounds"]) == match.round_index + 1
    assert sum(len(stored["plies"]) for stored in record["rounds"]) == len(match.events)
    first = record["rounds"][0]
    assert set(first) == {"opener", "hands", "boneyard", "scores", "plies", "events"}
    assert first["hands"] == [[list(tile) for tile in hand] for hand in Match("mini-3", seed=6).hands]


def test_a_record_of_an_earlier_moment_does_not_grow() -> None:
    match = random_match(PRESETS["mini-4"], 6, 3)
    record = match.record()
    stored = json.dumps(record)
    for _ in random_plies(match, np.random.default_rng(0), 20):
        pass
    assert json.dumps(record) == stored


def test_files_of_records(tmp_path) -> None:
    path = tmp_path / "matches.jsonl"
    matches = [random_match(PRESETS[name], 1, 50) for name in PRESETS]
    write_records(path, matches[:5])
    write_records(path, matches[5:], append=True)
    assert len(path.read_text(encoding="utf-8").splitlines()) == len(matches)
    for match, again in zip(matches, read_records(path), strict=True):
        assert json.dumps(again.record()) == json.dumps(match.record())
    write_records(path, matches[:1])
    assert len(list(read_records(path))) == 1


@pytest.mark.parametrize("line", [b"{", b"", b"null", b"[]", b"5", b'"x"', b"{}", b"\xff\xfe{}"])
def test_a_damaged_line_of_a_file_is_named(tmp_path, line: bytes) -> None:
    path = tmp_path / "matches.jsonl"
    write_records(path, [random_match(PRESETS["mini-2"], 1)])
    path.write_bytes(path.read_bytes() + line + b"\n")
    matches = read_records(path)
    assert next(matches).over
    with pytest.raises(RecordError, match=r"matches\.jsonl, line 2: "):
        next(matches)


# ------------------------------------------------------------------------------ damaged records

Path = tuple[str | int, ...]

WRONG: list[Any] = [
    *(None, True, False, -1, 0, 1, 2, 7, 100, 1000, 2**31, -(2**31), 10**30, 1.5),
    *(float("nan"), float("inf"), "", "x", "0", [], {}, [0, 1], [[0, 1]], {"x": 1}),
]
"""What a node of a record may turn into."""


@cache
def stored_records() -> dict[str, str]:
    """Records, as JSON, that are damaged below."""
    lot_and_winner = Rules.fives_and_threes(3, lead_later="winner", target=31)
    made = {
        "mini-2": random_match(PRESETS["mini-2"], 1),
        "mini-3-pairs, running": random_match(PRESETS["mini-3-pairs"], 1, 9),
        "fives_and_threes-2p": random_match(PRESETS["fives_and_threes-2p"], 2, 60),
        "all_fives-3p": random_match(PRESETS["all_fives-3p"], 3),
        "no plies": Match("mini-3", seed=4),
        "a lot after blocks": random_match(lot_and_winner, 5, 60),
    }
    return {name: json.dumps(match.record()) for name, match in made.items()}


def nodes(value: Any, path: Path = ()) -> Iterator[Path]:
    """The places of all values in a record, leaves and what holds them."""
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, inner in items:
        yield (*path, key)
        if isinstance(inner, (dict, list)):
            yield from nodes(inner, (*path, key))


def damage(stored: str, path: Path, how: str, wrong: Any = None) -> dict[str, Any]:
    """The record with one value replaced, removed or doubled."""
    record = json.loads(stored)
    holder = record
    for key in path[:-1]:
        holder = holder[key]
    if how == "replace":
        holder[path[-1]] = wrong
    elif how == "remove":
        del holder[path[-1]]
    elif isinstance(holder, list):
        holder.insert(path[-1], holder[path[-1]])
    return record


def check_damaged(stored: str, damaged: dict[str, Any], path: Path) -> None:
    """A damaged record is refused by name, or tells of exactly the same match."""
    try:
        again = Match.replay(damaged)
    except RecordError as refusal:
        again, message = None, str(refusal)
    if again is None:
        named = ("round", "ply", "damaged", "format", "fingerprint", "rules", "seed", "scores")
        named += ("hands", "boneyard", "opener", "winner", "dealt", "unknown field", "digest")
        assert any(word in message for word in named), message
    else:
        assert json.loads(json.dumps(again.record())) == json.loads(stored), path


@pytest.mark.parametrize("name", ["mini-2", "mini-3-pairs, running", "no plies"])
def test_whatever_is_damaged_in_a_record_is_noticed(name: str) -> None:
    """Every value of small records, turned into everything."""
    stored = stored_records()[name]
    for path in nodes(json.loads(stored)):
        check_damaged(stored, damage(stored, path, "remove"), path)
        check_damaged(stored, damage(stored, path, "double"), path)
        for wrong in WRONG:
            check_damaged(stored, damage(stored, path, "replace", wrong), path)


@given(st.sampled_from(sorted(stored_records())), st.data())
@settings(max_examples=500)
def test_whatever_is_damaged_in_a_longer_record_is_noticed(name: str, data: st.DataObject) -> None:
    stored = stored_records()[name]
    path = data.draw(st.sampled_from(list(nodes(json.loads(stored)))))
    how = data.draw(st.sampled_from(["replace", "remove", "double"]))
    numbers = st.integers(0, 9) | st.integers(-300, 300)
    wrong = data.draw(numbers | st.sampled_from(WRONG)) if how == "replace" else None
    check_damaged(stored, damage(stored, path, how, wrong), path)


@pytest.mark.parametrize("record", [*WRONG, b"x", object()], ids=name_of_type)
def test_what_is_no_record_is_refused(record: Any) -> None:
    with pytest.raises(RecordError):
        Match.replay(record)


def test_whatever_is_damaged_in_a_hand_dealt_record_is_noticed() -> None:
    match = table([[(1, 4), (0, 0)], [(4, 6), (1, 1)]], scores=[3, 7])
    lay(match, (1, 4))
    lay(match, (4, 6), "right")
    stored = json.dumps(match.record())
    for path in nodes(json.loads(stored)):
        for wrong in WRONG:
            check_damaged(stored, damage(stored, path, "replace", wrong), path)


def test_another_deal_that_fits_all_plies_is_noticed() -> None:
    """A tile that was never laid changes places with a sleeping one."""
    match = random_match(PRESETS["fives_and_threes-2p"], 2, 60)
    stored = json.dumps(match.record())
    exchanged = 0
    for index, played in enumerate(json.loads(stored)["rounds"]):
        laid = [event["tile"] for event in played["events"]]
        dealt = [tile for hand in played["hands"] for tile in hand]
        asleep = [[6, 6], [5, 5], [0, 6], [0, 0], [3, 3], [1, 6]]
        asleep = [tile for tile in asleep if tile not in dealt]
        for seat, hand in enumerate(played["hands"]):
            for place, tile in enumerate(hand):
                if tile not in laid and asleep:
                    path = ("rounds", index, "hands", seat, place)
                    with pytest.raises(RecordError, match=r"digest|hands"):
                        Match.replay(damage(stored, path, "replace", asleep[0]))
                    exchanged += 1
    assert exchanged > 5


def test_a_lost_first_round_is_noticed() -> None:
    stored = json.dumps(random_match(PRESETS["fives_and_threes-2p"], 2, 60).record())
    with pytest.raises(RecordError):
        Match.replay(damage(stored, ("rounds", 0), "remove"))


def test_a_record_written_by_hand_needs_no_digest() -> None:
    match = random_match(PRESETS["mini-3"], 1)
    record = match.record()
    del record["digest"]
    assert Match.replay(record).events == match.events


@pytest.mark.parametrize("opener", [-1, 3, 7, 127, None, 0.5, "0", float("nan"), 10**30])
def test_an_opener_that_is_no_seat_is_refused(opener: Any) -> None:
    """Also where a lot decides, so that the record alone knows who led."""
    stored = stored_records()["a lot after blocks"]
    rounds = json.loads(stored)["rounds"]
    assert len(rounds) > 3
    for index in range(len(rounds)):
        path = ("rounds", index, "opener")
        damaged = damage(stored, path, "replace", opener)
        with pytest.raises(RecordError, match=r"opener|round \d"):
            Match.replay(damaged)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r["rounds"][1]["events"][2].update(count=33), "round 1, ply 2"),
        (lambda r: r["rounds"][1]["events"][2].update(tile=[0, 0]), "round 1, ply 2"),
        (lambda r: r["rounds"][0]["plies"].__setitem__(1, 56), "round 0, ply 1: action 56"),
        (lambda r: r["rounds"][1].update(opener=1 - r["rounds"][1]["opener"]), "round 1: .*opener"),
        (lambda r: r["rounds"][1]["scores"].__setitem__(0, 60), "round 1: .*scores"),
        (lambda r: r["rounds"].pop(1), "round 1"),
        (lambda r: r.update(winner=0, scores=[61, 0]), "winner 0 are stored"),
        (lambda r: r.update(format="fivesthrees-match-9"), "format: 'fivesthrees-match-9' given"),
        (lambda r: r["rules"].update(target=121), "fingerprint"),
        (lambda r: r["rules"].update(target=0), "rules: target: 0 given"),
        (lambda r: r["rules"].update(colour="red"), "rules: unknown field 'colour'"),
        (lambda r: r.pop("rounds"), "rounds"),
        (lambda r: r.update(rounds=[]), "rounds: none given"),
    ],
)
def test_the_message_names_what_differs(change, message: str) -> None:
    record = json.loads(stored_records()["fives_and_threes-2p"])
    change(record)
    with pytest.raises(RecordError, match=message):
        Match.replay(record)


# --------------------------------------------------------------------------------------- words


def test_a_match_prints_itself() -> None:
    match = table([[(1, 4), (4, 4), (0, 0)], [(1, 1), (3, 4)]], scores=[10, 20])
    lay(match, (1, 4))
    lay(match, (1, 1))
    lay(match, (4, 4), "right")
    text = str(match)
    assert "[1|1][1|4][4|4]" in text
    assert "[3|4]" in text
    assert "(empty)" not in text.splitlines()[3]
    for words in ("13 / 61", "22 / 61", "to move", "asleep", "count 10", "round 1"):
        assert words in text
    assert next(line for line in text.splitlines() if "to move" in line).split()[:2] == ["seat", "1"]


def test_a_match_prints_a_rejected_event() -> None:
    match = table([[(6, 6), (0, 1)], [(5, 6), (1, 1)]], scores=[58, 0])
    lay(match, (6, 6))
    assert "4 points offered, rejected (58 + 4 > 61)" in str(match)


@pytest.mark.parametrize("name", PRESETS)
def test_every_moment_prints(name: str) -> None:
    match = Match(name, seed=2)
    for _ in random_plies(match, np.random.default_rng(2), 150):
        assert str(match).endswith("\n")
        assert f"round {match.round_index + 1}" in repr(match)


def test_a_finished_match_prints_its_winner() -> None:
    match = random_match(PRESETS["mini-2"], 1)
    assert f"seat {match.winner} wins the match" in str(match)
    assert f"won by side {match.winner}" in repr(match)


@pytest.mark.parametrize("seat", [-1, 2, 7, 10**9, 0.5])
def test_a_view_of_no_seat_is_refused(seat: Any) -> None:
    match = Match("mini-3", seed=0)
    for ask in (match.view, lambda seat: redact(match.records, seat)):
        with pytest.raises(IndexError, match=r"seat .* given; allowed: 0 to 1"):
            ask(seat)


def test_a_refused_settlement_pays_nobody() -> None:
    """FT-21 with All Fives' bonus: the whole event of a last tile is refused, the pips too."""
    match = Match(Rules.all_fives(2, overshoot="reject"), seed=1)
    match.deal([[(5, 5)], [(6, 6)]], scores=[145, 0], boneyard=[])
    event = match.play(match.legal_actions()[0])
    assert (event.offered, event.accepted, event.reason) == (20, 0, "over the target")
    assert (event.settlement, event.settled_side) == (10, None)


def test_scores_that_can_never_meet_the_target_are_refused() -> None:
    match = Match(Rules.all_fives(2, overshoot="reject"), seed=1)
    with pytest.raises(DealError, match="scores: 3 given; allowed: multiples of 5"):
        match.deal([[(5, 5)], [(6, 6)]], scores=[3, 0])


def test_a_match_from_read_only_memory_gets_memory_of_its_own() -> None:
    match, buffers = Match("mini-3", seed=4), []
    data = pickle.dumps(match, protocol=5, buffer_callback=buffers.append)
    frozen = [bytes(buffer.raw()) for buffer in buffers]
    before = [bytes(part) for part in frozen]
    twin = pickle.loads(data, buffers=frozen)
    while not twin.over:
        twin.play(twin.legal_actions()[0])
    assert frozen == before


def test_a_record_nested_without_end_is_refused(tmp_path: Path) -> None:
    (tmp_path / "deep.jsonl").write_text("[" * 100_000)
    with pytest.raises(RecordError, match="line 1"):
        list(read_records(tmp_path / "deep.jsonl"))


def test_every_cached_function_depends_on_every_source() -> None:
    """An edit anywhere in the package, or beside a function, makes compiled code stale."""
    for function in (redact_many, step_kernel, encode_kernel, sampler):
        folder = pathlib.Path(function.py_func.__code__.co_filename).parent
        assert function._cache._cache_file._source_stamp == _digest_of_sources(folder)
