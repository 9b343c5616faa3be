"""``Rules``: what is allowed, presets, storing."""

from __future__ import annotations

import dataclasses
import json
import pickle
from typing import Any

import numpy as np
import pytest
from conftest import PRESETS, name_of_type, valid_rules
from hypothesis import given
from hypothesis import strategies as st

from fivesthrees_env.match import Match
from fivesthrees_env.rules import CHOICES, Rules, RulesError

FIELDS = [field.name for field in dataclasses.fields(Rules)]

FT_NAMES = {
    *("fives_and_threes-2p", "fives_and_threes-3p", "fives_and_threes-4p"),
    *("league-2p", "league-4p", "mini-2", "mini-3", "mini-4"),
}

IMPOSSIBLE = [
    ({"num_players": 1}, "num_players: 1 given; allowed: 2, 3 or 4"),
    ({"num_players": 5}, "num_players: 5 given; allowed: 2, 3 or 4"),
    ({"num_players": True}, "num_players: True given; allowed: a value of type int"),
    ({"num_players": 2.0}, "num_players: 2.0 given; allowed: a value of type int"),
    ({"num_players": "2"}, "num_players: '2' given; allowed: a value of type int"),
    ({"num_players": None}, "num_players: None given; allowed: a value of type int"),
    ({"highest": 1}, "highest: 1 given; allowed: 2 to 9"),
    ({"highest": 10}, "highest: 10 given; allowed: 2 to 9"),
    ({"hand_size": -1}, "hand_size: -1 given; allowed: 1 to 7"),
    ({"hand_size": 8}, "hand_size: 8 given; allowed: 1 to 7"),
    ({"num_players": 2, "hand_size": 15}, "hand_size: 15 given; allowed: 1 to 14"),
    ({"num_players": 4, "highest": 3}, "hand_size: 0 given; allowed: 1 to 2"),
    ({"target": 0}, "target: 0 given; allowed: 1 to 1000"),
    ({"target": -5}, "target: -5 given; allowed: 1 to 1000"),
    ({"target": 1001}, "target: 1001 given; allowed: 1 to 1000"),
    ({"target": 61.0}, "target: 61.0 given; allowed: a value of type int"),
    ({"target": float("nan")}, "target: nan given; allowed: a value of type int"),
    ({"partnership": "trio"}, "partnership: 'trio' given; allowed: 'singles' or 'pairs'"),
    ({"scoring": "sevens"}, "scoring: 'sevens' given; allowed: 'fives_and_threes' or"),
    ({"overshoot": "bounce"}, "overshoot: 'bounce' given; allowed: 'reject' or 'win'"),
    ({"going_out": "two"}, "going_out: 'two' given; allowed: 'none' or 'one' or 'pips'"),
    ({"block": "half"}, "block: 'half' given; allowed: 'none' or"),
    ({"lead_first": "me"}, "lead_first: 'me' given; allowed: 'lot' or 'highest_double'"),
    ({"lead_later": "me"}, "lead_later: 'me' given; allowed: 'rotate' or 'winner'"),
    ({"pair_round_end": "never"}, "pair_round_end: 'never' given; allowed: 'both_out' or"),
    ({"partnership": 1}, "partnership: 1 given; allowed: a value of type str"),
    ({"knock_points": 1}, "knock_points: 1 given; allowed: a value of type bool"),
    ({"spinner": "yes"}, "spinner: 'yes' given; allowed: a value of type bool"),
    ({"boneyard_floor": -1, "draw": True}, "boneyard_floor: -1 given; allowed: 0 to 8"),
    ({"boneyard_floor": 9, "draw": True}, "boneyard_floor: 9 given; allowed: 0 to 8"),
    ({"boneyard_floor": 2}, "boneyard_floor: 2 given; allowed: 0 where nothing is drawn"),
    (
        {"overshoot": "win", "win_on_lead": False},
        'win_on_lead: False given; allowed: True unless overshoot is "reject"',
    ),
    (
        {"partnership": "singles", "pair_round_end": "first_out"},
        "pair_round_end: 'first_out' given; allowed: \"both_out\" where nobody has a partner",
    ),
    (
        {"num_players": 2, "pair_round_end": "first_out"},
        "pair_round_end: 'first_out' given; allowed: \"both_out\" where nobody has a partner",
    ),
    (
        {"scoring": "fives", "going_out": "none", "target": 61},
        "target: 61 given; allowed: a multiple of 5",
    ),
]


@pytest.mark.parametrize(("changes", "message"), IMPOSSIBLE, ids=lambda value: str(value)[:40])
def test_impossible_settings_name_field_value_and_what_is_allowed(changes, message) -> None:
    with pytest.raises(RulesError) as caught:
        Rules(**changes)
    assert message in str(caught.value)


@pytest.mark.parametrize("name", [name for name in FIELDS if name != "name"])
@pytest.mark.parametrize("value", [None, 10**30, -1, 2.5, "", "x", [], object()], ids=name_of_type)
def test_hostile_values_of_every_field_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(RulesError, match=rf"^{name}: .* given; allowed: "):
        Rules(**{name: value})


def test_unknown_fields_are_refused() -> None:
    with pytest.raises(TypeError, match="colour"):
        Rules(colour="red")
    with pytest.raises(RulesError, match="unknown field 'colour'; allowed: num_players"):
        Rules.from_dict({"colour": "red"})


def test_the_defaults_are_the_game_of_the_rule_page() -> None:
    rules = Rules()
    assert rules == Rules.fives_and_threes(4)
    assert (rules.highest, rules.num_tiles, rules.hand_size, rules.target) == (6, 28, 5, 61)
    assert (rules.partnership, rules.num_sides, rules.pair_round_end) == ("pairs", 2, "both_out")
    assert (rules.overshoot, rules.going_out, rules.block) == ("reject", "one", "none")
    assert (rules.lead_first, rules.lead_later) == ("lot", "rotate")
    assert not any((rules.knock_points, rules.spinner, rules.draw, rules.boneyard_floor))
    assert rules.win_on_lead


def test_the_defaults_of_all_fives_are_those_of_the_rule_page() -> None:
    rules = Rules.all_fives(4)
    assert (rules.hand_size, rules.target, rules.partnership) == (5, 150, "singles")
    assert (rules.scoring, rules.overshoot, rules.going_out) == ("fives", "win", "pips")
    assert (rules.block, rules.lead_first) == ("others_minus_own", "highest_double")
    assert (rules.lead_later, rules.spinner, rules.draw) == ("winner", True, True)


@pytest.mark.parametrize(("num_players", "hand_size"), [(2, 7), (3, 5), (4, 5)])
def test_hand_size_0_is_the_usual_number(num_players: int, hand_size: int) -> None:
    for make in (Rules.fives_and_threes, Rules.all_fives):
        assert make(num_players).hand_size == hand_size
        assert make(num_players) == make(num_players, hand_size=hand_size)


@pytest.mark.parametrize("num_players", [2, 3])
def test_two_and_three_players_are_always_singles(num_players: int) -> None:
    rules = Rules(num_players=num_players, partnership="pairs")
    assert (rules.partnership, rules.num_sides) == ("singles", num_players)


@pytest.mark.parametrize(
    ("changes", "draw", "knock", "num_actions"),
    [
        ({}, None, 56, 57),
        ({"spinner": True}, None, 112, 113),
        ({"draw": True}, 112, 113, 114),
        ({"draw": True, "spinner": True}, 112, 113, 114),
        ({"highest": 2, "hand_size": 1}, None, 12, 13),
        ({"highest": 9}, None, 110, 111),
    ],
)
def test_action_ids(changes, draw, knock, num_actions) -> None:
    rules = Rules(**changes)
    assert (rules.draw_action, rules.knock_action) == (draw, knock)
    assert rules.num_actions == num_actions
    assert Match(rules).action_mask().shape == (num_actions,)


def test_rules_cannot_be_changed_but_replaced() -> None:
    rules = Rules.preset("league-2p")
    with pytest.raises(dataclasses.FrozenInstanceError):
        rules.target = 5
    with pytest.raises(ValueError, match="read-only"):
        rules.record["target"] = 5
    other = rules.replace(target=121)
    assert (other.target, other.hand_size, other.name) == (121, 9, "")
    assert rules.target == 61
    with pytest.raises(RulesError):
        rules.replace(target=0)


def test_numpy_values_become_plain_ones() -> None:
    rules = Rules(num_players=np.int64(2), target=np.uint8(31), knock_points=np.bool_(True))
    assert rules == Rules(num_players=2, target=31, knock_points=True)
    assert json.loads(json.dumps(rules.to_dict())) == rules.to_dict()


def test_equality_and_hash_ignore_the_name() -> None:
    one, two = Rules(name="a"), Rules(name="b")
    assert one == two
    assert hash(one) == hash(two)
    assert one.fingerprint == two.fingerprint
    assert str(one) == "a"
    assert Rules(target=60) != Rules(target=61)


# ------------------------------------------------------------------------------------- presets


def test_presets_are_listed() -> None:
    presets = Rules.presets()
    assert presets.keys() >= FT_NAMES | {"all_fives-2p", "all_fives-3p", "all_fives-4p"}
    for name, rules in presets.items():
        assert rules.name == str(rules) == name
        assert Rules.preset(name) == Rules.coerce(name) == rules
    assert len({rules.fingerprint for rules in presets.values()}) == len(presets)


def test_the_list_of_presets_is_a_copy() -> None:
    Rules.presets().clear()
    assert Rules.presets()


def test_an_unknown_preset_is_refused_with_the_list() -> None:
    with pytest.raises(RulesError, match="no preset 'chess'; there are: fives_and_threes-2p, "):
        Rules.preset("chess")


def test_what_the_presets_are() -> None:
    ft = Rules.fives_and_threes
    wanted = {
        "fives_and_threes-3p": ft(3),
        "league-2p": ft(2, hand_size=9),
        "league-4p": ft(4, hand_size=6),
        "teesdale-2p": ft(2, hand_size=9, win_on_lead=False),
        "teesdale-4p": ft(4, hand_size=6, win_on_lead=False),
        "fives_and_threes-4p-singles": ft(4, partnership="singles"),
        "all_fives-3p": Rules.all_fives(3),
    }
    assert {name: Rules.preset(name) for name in wanted} == wanted
    assert [Rules.preset(f"mini-{n}").highest for n in (2, 3, 4)] == [2, 3, 4]


@pytest.mark.parametrize("rules", [5, 1.5, [], b"x", object()])
def test_coerce_refuses_other_types(rules: Any) -> None:
    with pytest.raises(RulesError, match=r"rules: .* given; allowed: "):
        Rules.coerce(rules)


def test_coerce_of_none_is_the_default() -> None:
    assert Rules.coerce(None) == Rules()
    assert Rules.coerce(None, PRESETS["mini-2"]) == PRESETS["mini-2"]


# ------------------------------------------------------------------------------------- storing

any_rules = st.sampled_from(list(PRESETS.values())) | valid_rules()


@given(any_rules)
def test_dict_record_and_pickle_give_the_same_rules_back(rules: Rules) -> None:
    stored = json.loads(json.dumps(rules.to_dict()))
    assert "name" not in stored
    record = Match(rules, seed=0).records["rules"][0]
    for again in (
        Rules.from_dict(stored),
        Rules.coerce(stored),
        Rules.from_record(record),
        Rules.from_record(Match(rules, seed=0).view(1)["rules"][0]),
        pickle.loads(pickle.dumps(rules)),
        rules.replace(),
    ):
        assert again == rules
        assert again.fingerprint == rules.fingerprint
        assert again.to_dict() == rules.to_dict()


@pytest.mark.parametrize("name", PRESETS)
def test_a_stored_preset_still_prints_its_name(name: str) -> None:
    rules = PRESETS[name]
    assert str(Rules.from_dict(rules.to_dict())) == name
    assert str(Rules.from_record(Match(rules).records["rules"][0])) == name
    assert str(rules.replace(target=997)).startswith("rules ")


@given(any_rules, any_rules)
def test_fingerprints_are_equal_exactly_for_equal_rules(one: Rules, two: Rules) -> None:
    assert (one.fingerprint == two.fingerprint) == (one == two)
    differences = one.differences(two)
    assert (not differences) == (one == two)
    mine, theirs = one.to_dict(), two.to_dict()
    assert differences == {key: (mine[key], theirs[key]) for key in mine if mine[key] != theirs[key]}


def test_the_fingerprint_of_the_main_game_stays() -> None:
    """Records and checkpoints carry it: it changes only together with the rules themselves."""
    assert Rules().fingerprint == "fbb2019d6ce3"


@pytest.mark.parametrize("name", [name for name in FIELDS if name != "name"])
def test_every_field_is_part_of_the_fingerprint(name: str) -> None:
    base = {"num_players": 4, "draw": True, "hand_size": 3}
    other = {"num_players": 3, "highest": 9, "hand_size": 4, "target": 31, "boneyard_floor": 1}
    other |= {"partnership": "singles", "draw": False}
    value = getattr(Rules(**base), name)
    if name in CHOICES:
        value = next(choice for choice in CHOICES[name] if choice != value)
    elif isinstance(value, bool):
        value = not value
    changed = Rules(**base | {name: other.get(name, value)})
    assert changed.fingerprint != Rules(**base).fingerprint
    assert name in changed.differences(Rules(**base))


def test_missing_fields_take_their_default() -> None:
    assert Rules.from_dict({}) == Rules()
    assert Rules.from_dict({"num_players": 2, "hand_size": 9}) == Rules.preset("league-2p")
