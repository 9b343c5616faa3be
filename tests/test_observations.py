"""Observations: the layout, and every bit against an encoding in plain Python."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from conftest import PRESETS, lay, random_match, table, tile_id, valid_rules
from hypothesis import given
from hypothesis import strategies as st

from fivesthrees_env.match import Match
from fivesthrees_env.observations import HISTORY_COLUMNS, Layout, encode_history, encode_many
from fivesthrees_env.rules import Rules
from fivesthrees_env.table import Event

NAMES = ["hand", "laid", "lacks", "ends", "double_ends", "count", "held", "to_move", "opener", "needed"]
NAMES += ["spinner", "newer", "undealt"]

any_rules = st.sampled_from(list(PRESETS.values())) | valid_rules()


def bits_of(match: Match, seat: int) -> np.ndarray:
    """What the encoder writes for a seat, over a row full of something else."""
    layout = Layout.of(match.rules)
    row = np.full((1, layout.size), 99, np.int8)
    encode_many(match.view(seat), layout, row)
    return row[0]


# -------------------------------------------------------------------------------------- layout


@given(any_rules)
def test_the_layout_has_neither_gaps_nor_overlaps(rules: Rules) -> None:
    layout = Layout.of(rules)
    start = 0
    for part in layout.slices:
        assert part.start == start
        assert part.size == np.prod(part.shape) > 0
        assert layout[part.name] == part.slice == slice(start, start + part.size)
        start += part.size
    assert layout.size == start
    names = [part.name for part in layout.slices]
    assert len(set(names)) == len(names)


def test_the_slices_of_both_games() -> None:
    names = [part.name for part in Layout.of(PRESETS["all_fives-4p"]).slices]
    assert names == NAMES
    names = [part.name for part in Layout.of(PRESETS["fives_and_threes-4p"]).slices]
    assert names == NAMES[:-3]


def test_every_preset_has_a_slice_for_all_that_a_player_can_use() -> None:
    for rules in PRESETS.values():
        layout = Layout.of(rules)
        shapes = {part.name: part.shape for part in layout.slices}
        n, values = rules.num_players, rules.highest + 1
        assert shapes["hand"] == (rules.num_tiles,)
        assert shapes["laid"] == (n, rules.num_tiles)
        assert shapes["lacks"] == (n - 1, values)
        assert shapes["ends"] == shapes["double_ends"] == (rules.num_ends, values)
        assert shapes["to_move"] == shapes["opener"] == (n,)
        assert shapes["needed"][0] == rules.num_sides
        assert all(part.meaning for part in layout.slices)


def test_exactly_61_shows_as_one_bit_for_every_number_of_points() -> None:
    assert {p.name: p.shape for p in Layout.of(Rules()).slices}["needed"] == (2, 61)


def test_named_parts_share_memory_with_the_observation() -> None:
    layout = Layout.of(PRESETS["all_fives-3p"])
    observations = np.zeros((5, 2, layout.size), np.int8)
    named = layout.named(observations)
    assert set(named) == {part.name for part in layout.slices}
    for number, part in enumerate(layout.slices, 1):
        assert named[part.name].shape == (5, 2, *part.shape)
        assert np.shares_memory(named[part.name], observations)
        named[part.name][:] = number
    assert (observations == observations[0, 0]).all()
    for number, part in enumerate(layout.slices, 1):
        assert (observations[..., part.slice] == number).all()
    single = layout.named(observations[3, 1])
    single["hand"][0] = 77
    assert observations[3, 1, 0] == 77


def test_an_unknown_slice_is_refused_with_the_list() -> None:
    with pytest.raises(KeyError, match="no slice 'colour'; there are: hand, laid"):
        Layout.of(Rules())["colour"]
    with pytest.raises(KeyError, match="no slice 'spinner'"):
        Layout.of(Rules())["spinner"]


def test_layouts_are_made_once_per_rules() -> None:
    assert Layout.of(Rules()) is Layout.of(Rules.fives_and_threes(4))


@given(any_rules, any_rules)
def test_fingerprints_are_equal_exactly_for_equal_layouts(one: Rules, two: Rules) -> None:
    places = [[(p.name, p.start, p.shape) for p in Layout.of(rules).slices] for rules in (one, two)]
    same = Layout.of(one).fingerprint == Layout.of(two).fingerprint
    assert same == (places[0] == places[1])


def test_the_fingerprint_tells_targets_hands_and_players_apart() -> None:
    ft = Rules.fives_and_threes
    rules = [ft(4), ft(3), ft(2), ft(4, target=31), ft(4, hand_size=6), ft(4, partnership="singles")]
    rules += [ft(4, highest=9), Rules.all_fives(4), Rules.all_fives(4, spinner=False)]
    fingerprints = [Layout.of(each).fingerprint for each in rules]
    assert len(set(fingerprints)) == len(rules)
    assert all(re.fullmatch("[0-9a-f]{12}", fingerprint) for fingerprint in fingerprints)
    assert Layout.of(ft(4, win_on_lead=False)).fingerprint == fingerprints[0]


@pytest.mark.parametrize("name", PRESETS)
def test_the_table_of_the_documentation_covers_every_bit(name: str) -> None:
    layout = Layout.of(PRESETS[name])
    head, rule, *rows = layout.table().splitlines()
    assert head.count("|") == rule.count("|") == 5
    assert len(rows) == len(layout.slices)
    following = 0
    for row, part in zip(rows, layout.slices, strict=True):
        bits, slice_name, shape, meaning = (cell.strip() for cell in row.strip("|").split("|"))
        first, last = map(int, bits.split("–"))
        assert (first, slice_name, meaning) == (following, f"`{part.name}`", part.meaning)
        assert tuple(map(int, shape.split(" × "))) == part.shape
        following = last + 1
    assert following == layout.size


# ------------------------------------------------------------------------------------ encoding


class Shown:
    """What the seats have shown in a round, noted while it is played."""

    def __init__(self, match: Match) -> None:
        self.match = match
        self.start_round()

    def start_round(self) -> None:
        seats = range(self.match.num_players)
        self.events: list[Event] = []
        self.drawn = [dict[int, int]() for _ in seats]  # since a seat showed that it lacks a value

    def play(self, action: int) -> None:
        ends = set(self.match.ends)
        event = self.match.play(action)
        drawn = self.drawn[event.seat]
        if event.round_end and not event.match_over:
            self.start_round()
            return
        if event.kind in ("knock", "draw"):
            drawn.update(dict.fromkeys(ends, 0))
        if event.kind == "draw":
            drawn.update({value: number + 1 for value, number in drawn.items()})
        elif event.tile:
            just_drawn = bool(self.events) and self.events[-1].kind == "draw"
            for value, number in drawn.items():
                fewer = number > 0 and (just_drawn or value in event.tile)
                drawn[value] = min(number - fewer, self.match.held[event.seat])
        self.events.append(event)


def is_double(tile: tuple[int, int]) -> bool:
    return tile[0] == tile[1]


def plain_encoding(shown: Shown, viewer: int) -> dict[str, np.ndarray]:
    """Every slice by the words of its meaning."""
    parts = {part.name: np.zeros(part.shape, np.int8) for part in Layout.of(shown.match.rules).slices}
    encode_tiles_and_voids(parts, shown, viewer)
    encode_line(parts, shown)
    encode_seats_and_sides(parts, shown.match, viewer)
    return parts


def encode_tiles_and_voids(parts: dict[str, np.ndarray], shown: Shown, viewer: int) -> None:
    match, n = shown.match, shown.match.num_players
    for tile in match.hands[viewer]:
        parts["hand"][tile_id(tile)] = 1
    for event in shown.events:
        if event.tile:
            parts["laid"][(event.seat - viewer) % n, tile_id(event.tile)] = 1
    for r in range(1, n):
        for value, number in shown.drawn[(viewer + r) % n].items():
            parts["lacks"][r - 1, value] = 1
            if match.rules.draw:
                parts["newer"][r - 1, value] = number > 0


def encode_line(parts: dict[str, np.ndarray], shown: Shown) -> None:
    match, outer = shown.match, []
    if match.line:
        arms = [arm[-1] if arm else (0, 1) for arm in match.arms]
        outer = [match.line[0], match.line[-1], *arms][: len(match.ends)]
        parts["count"][match.count] = 1
    for end, (value, tile) in enumerate(zip(match.ends, outer, strict=True)):
        parts["ends"][end, value] = 1
        parts["double_ends"][end, value] = is_double(tile)
    doubles = [event.tile[0] for event in shown.events if event.tile and is_double(event.tile)]
    if match.rules.spinner and doubles:
        parts["spinner"][doubles[0]] = 1
    if match.rules.draw:
        parts["undealt"][len(match.boneyard)] = 1


def encode_seats_and_sides(parts: dict[str, np.ndarray], match: Match, viewer: int) -> None:
    rules, n, sides = match.rules, match.num_players, match.num_sides
    for r in range(n):
        seat = (viewer + r) % n
        parts["held"][r, len(match.hands[seat])] = 1
        parts["to_move"][r] = seat == match.seat
        parts["opener"][r] = seat == match.opener
    for k in range(sides):
        needed = rules.target - match.scores[(match.side_of(viewer) + k) % sides]
        if needed > 0:
            parts["needed"][k, -(-needed // rules.score_unit) - 1] = 1


def positions(match: Match, seed: int, plies: int) -> Iterator[Shown]:
    """A match after every ply of random play."""
    shown = Shown(match)
    rng = np.random.default_rng(seed)
    for _ in range(plies):
        yield shown
        if shown.match.over:
            return
        shown.play(rng.choice(shown.match.legal_actions()))


def check_encoding(match: Match, seed: int, plies: int) -> None:
    layout = Layout.of(match.rules)
    for shown in positions(match, seed, plies):
        for viewer in range(match.num_players):
            named = layout.named(bits_of(shown.match, viewer))
            for name, wanted in plain_encoding(shown, viewer).items():
                assert named[name].tolist() == wanted.tolist(), name


@pytest.mark.parametrize("name", PRESETS)
def test_every_bit_is_what_its_meaning_says(name: str) -> None:
    check_encoding(Match(name, seed=1), seed=1, plies=150)


@given(valid_rules(), st.integers(0, 2**32))
def test_every_bit_is_what_its_meaning_says_whatever_the_rules(rules: Rules, seed: int) -> None:
    check_encoding(Match(rules, seed=seed), seed, plies=40)


@pytest.mark.parametrize("name", PRESETS)
def test_every_bit_fits_after_deals_by_hand_of_one_tile_each(name: str) -> None:
    """Who draws all that is left holds more than the usual hand."""
    rules = PRESETS[name]
    for seed in range(20):
        match = Match(rules, seed=seed)
        tiles = [tile for hand in match.hands for tile in hand]
        match.deal([[tile] for tile in tiles[: rules.num_players]])
        check_encoding(match, seed, plies=25)


@given(any_rules, st.integers(0, 2**32), st.integers(0, 200))
def test_bits_are_bits(rules: Rules, seed: int, plies: int) -> None:
    match = random_match(rules, seed, plies)
    for seat in range(rules.num_players):
        assert np.isin(bits_of(match, seat), (0, 1)).all()


@pytest.mark.parametrize(
    ("highest", "arms", "count"),
    [
        (3, [(1, [3, 3]), (1, [2, 2]), (1, [0, 3])], 13),
        (4, [(0, [4, 4]), (0, [3, 3]), (0, [2, 2]), (0, [1, 4])], 22),
        (5, [(0, [5, 5]), (0, [4, 4]), (0, [3, 3]), (0, [1, 5])], 29),
        (6, [(0, [6, 6]), (0, [5, 5]), (0, [4, 4]), (0, [3, 3])], 36),
    ],
)
def test_the_highest_counts_of_small_sets_have_a_bit_of_their_own(highest, arms, count) -> None:
    """Arms around a spinner: three that end in doubles and one that shows a high value again."""
    spinner = arms[0][0]
    ends = ("left", "right", "up", "down")[: len(arms)]
    inner = [(tuple(sorted((spinner, tile[0]))), end) for (_, tile), end in zip(arms, ends, strict=True)]
    outer = [(tuple(sorted(tile)), end) for (_, tile), end in zip(arms, ends, strict=True)]
    moves = [((spinner, spinner), "left"), *inner, *outer]
    tiles = [(a, b) for b in range(highest + 1) for a in range(b + 1)]
    size = min(len(tiles) // 2, 7)
    rules = Rules.all_fives(2, highest=highest, hand_size=size, lead_first="lot")
    spare = [tile for tile in tiles if tile not in [tile for tile, _ in moves]][:2]
    match = Match(rules, seed=0)
    laid = [tile for tile, _ in moves]
    match.deal([[*laid[0::2], spare[0]], [*laid[1::2], spare[1]]], opener=0)
    events = [lay(match, tile, end) for tile, end in moves]
    assert (events[-1].count, events[-1].round_end) == (count, None)
    layout = Layout.of(rules)
    for viewer in range(2):
        named = layout.named(bits_of(match, viewer))
        assert np.flatnonzero(named["count"]).tolist() == [count]
        assert named["held"].sum() == 2
        assert named["held"][0, match.held[viewer]] == 1


def test_a_position_by_hand() -> None:
    match = table([[(1, 4), (0, 0)], [(2, 3), (6, 6)], [(4, 4), (5, 6)], [(1, 1)]], scores=[58, 0])
    lay(match, (1, 4))
    match.play(match.rules.knock_action)
    lay(match, (4, 4), "right")
    named = Layout.of(match.rules).named(bits_of(match, 3))
    assert np.flatnonzero(named["hand"]).tolist() == [tile_id((1, 1))]
    assert named["laid"][1, tile_id((1, 4))] == named["laid"][3, tile_id((4, 4))] == 1
    assert named["laid"].sum() == 2
    assert np.argwhere(named["lacks"]).tolist() == [[1, 1], [1, 4]]  # seat 1 sits two places on
    assert np.argwhere(named["ends"]).tolist() == [[0, 1], [1, 4]]
    assert np.argwhere(named["double_ends"]).tolist() == [[1, 4]]
    assert np.flatnonzero(named["count"]).tolist() == [9]
    assert np.argwhere(named["held"]).tolist() == [[0, 1], [1, 1], [2, 2], [3, 1]]
    assert named["to_move"].tolist() == [1, 0, 0, 0]
    assert named["opener"].tolist() == [0, 1, 0, 0]
    # The viewer's side needs 61 points; the other has 58, 1 for the lead, and 0 + 1 + 8 = 9 is over.
    assert np.argwhere(named["needed"]).tolist() == [[0, 60], [1, 1]]


# ------------------------------------------------------------------------------------- history


@given(any_rules, st.integers(0, 2**32), st.integers(0, 60))
def test_history_is_the_plies_of_the_round_seen_from_the_viewer(rules, seed, plies) -> None:
    *_, shown = positions(Match(rules, seed=seed), seed, plies + 1)
    match = shown.match
    for viewer in range(rules.num_players):
        history = encode_history(match.view(viewer))
        assert history.shape == (1, len(shown.events), len(HISTORY_COLUMNS))
        assert history.dtype == np.int16
        for row, event in zip(history[0].tolist(), shown.events, strict=True):
            told = dict(zip(HISTORY_COLUMNS, row, strict=True))
            assert told["seat"] == (event.seat - viewer) % rules.num_players
            assert ("lead", "play", "knock", "draw")[told["kind"]] == event.kind
            assert told["tile"] == (-1 if event.tile is None else tile_id(event.tile))
            assert told["end"] == (-1 if event.end is None else event.end)
            assert event.count is None or told["count"] == event.count
            assert (told["offered"], told["accepted"]) == (event.offered, event.accepted)


def test_history_of_several_views_is_padded_and_cut_to_the_latest() -> None:
    matches = [random_match(PRESETS["league-4p"], 3, plies) for plies in (0, 2, 5)]
    views = np.concatenate([match.view(0) for match in matches])
    whole = encode_history(views)
    assert whole.shape == (3, 5, 7)
    assert (whole[0] == -1).all()
    assert (whole[1, 2:] == -1).all()
    assert (whole[1, :2, 0] >= 0).all()
    cut = encode_history(views, length=3)
    assert cut[2].tolist() == whole[2, 2:].tolist()
    assert cut[1].tolist() == whole[1, :3].tolist()
    padded = encode_history(views, length=300)
    assert padded[:, :5].tolist() == whole.tolist()
    assert (padded[:, 5:] == -1).all()
    assert encode_history(views[:1]).shape == (1, 0, 7)
    assert encode_history(views[:0]).shape == (0, 0, 7)


def test_rows_and_views_that_do_not_fit_are_refused() -> None:
    layout, views = Layout.of(Rules.preset("mini-3")), Match("mini-3", seed=0).view(0)
    for rows in (
        np.zeros((1, layout.size - 1), np.int8),
        np.zeros((2, layout.size), np.int8),
        np.zeros((1, layout.size), np.float32),
        np.zeros((1, 2 * layout.size), np.int8)[:, ::2],
    ):
        with pytest.raises(ValueError, match=r"rows: .* allowed: C-contiguous int8"):
            encode_many(views, layout, rows)
    with pytest.raises(ValueError, match="other rules than the layout's"):
        encode_many(Match("mini-2", seed=0).view(0), layout, np.zeros((1, layout.size), np.int8))
