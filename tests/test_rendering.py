"""Renderers: words, layout and painters, on a made-up table (no kernel needed)."""

from __future__ import annotations

import random
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass, field, replace
from itertools import combinations, pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fivesthrees_env import rendering
from fivesthrees_env.rendering import Circle, Rect, Text

Tile = tuple[int, int]
PRINTS = settings(max_examples=40, deadline=None)


@dataclass(frozen=True)
class FakeRules:
    num_players: int = 4
    partnership: str = "pairs"
    target: int = 61
    highest: int = 6
    name: str = ""
    spinner: bool = False
    draw: bool = False


@dataclass(frozen=True)
class FakeEvent:
    seat: int = 3
    kind: str = "play"
    tile: Tile | None = (4, 4)
    end: int | None = 1
    count: int = 10
    offered: int = 2
    accepted: bool = True
    round_end: str | None = None
    settlement: int = 0
    settled_side: int | None = None


@dataclass(frozen=True)
class FakeTable:
    rules: FakeRules = field(default_factory=FakeRules)
    seat: int = 0
    opener: int = 1
    round_index: int = 2
    over: bool = False
    winner: int | None = None
    scores: tuple[int, ...] = (48, 37)
    hands: tuple[tuple[Tile, ...], ...] = (((0, 3), (2, 6)), (), (), ())
    held: tuple[int, ...] = (2, 4, 4, 3)
    hidden: tuple[bool, ...] = (False, True, True, True)
    sleeping: int = 8
    line: tuple[Tile, ...] = ((1, 1), (1, 4), (4, 4))
    spinner_index: int | None = None
    arms: tuple[tuple[Tile, ...], tuple[Tile, ...]] = ((), ())
    ends: tuple[int, ...] = (1, 4)
    count: int = 10
    last: FakeEvent | None = field(default_factory=FakeEvent)

    @property
    def num_players(self) -> int:
        return self.rules.num_players

    @property
    def num_sides(self) -> int:
        return len(self.scores)

    def side_of(self, seat: int) -> int:
        return seat % self.num_sides


ALL_FIVES = FakeTable(
    rules=FakeRules(num_players=2, target=150, name="all_fives-2p", spinner=True, draw=True),
    hands=(((0, 1),), ()),
    held=(1, 6),
    hidden=(False, True),
    line=((2, 5), (5, 5), (5, 3)),
    spinner_index=1,
    arms=(((5, 0), (0, 0)), ()),
    ends=(2, 3, 0, 5),
    count=5,
    last=FakeEvent(0, "play", (0, 0), 2, 5, 5),
)


# ------------------------------------------------------------------------------------ made-up lines


def walk(rng: random.Random, highest: int, start: int, most: int, used: set[Tile]) -> tuple[Tile, ...]:
    """Up to ``most`` oriented tiles that fit one another, beginning at the value ``start``."""
    laid: list[Tile] = []
    value = start
    while len(laid) < most:
        fits = [v for v in range(highest + 1) if (min(v, value), max(v, value)) not in used]
        if not fits:
            break
        other = value if value in fits and rng.random() < 0.8 else rng.choice(fits)
        used.add((min(value, other), max(value, other)))
        laid.append((value, other))
        value = other
    return tuple(laid)


@st.composite
def straight_lines(draw: st.DrawFn) -> tuple[Tile, ...]:
    rng, highest = random.Random(draw(st.integers(0, 2**32))), draw(st.sampled_from((6, 9)))
    most = draw(st.integers(1, 28 if highest == 6 else 55))
    return walk(rng, highest, rng.randrange(highest + 1), most, set())


@st.composite
def crossed_lines(draw: st.DrawFn) -> dict:
    rng, highest = random.Random(draw(st.integers(0, 2**32))), draw(st.sampled_from((6, 9)))
    spin = rng.randrange(highest + 1)
    used = {(spin, spin)}
    first = [walk(rng, highest, spin, 1, used) for _ in range(2)]
    chains = []
    for _ in range(4):
        start = first.pop() if first else ()
        most = draw(st.integers(0, 28 if highest == 6 else 40))
        chains.append(start + walk(rng, highest, start[-1][1] if start else spin, most, used))
    left = tuple((far, near) for near, far in reversed(chains[0]))
    return {
        "line": (*left, (spin, spin), *chains[1]),
        "spinner": len(left),
        "arms": (chains[2], chains[3]),
    }


def boxes(layout: rendering.Layout) -> list[tuple[float, float, float, float]]:
    """Left, top, right, bottom of all pieces in pixels."""
    half = layout.unit / 2
    found = []
    for placed in layout.placed:
        x, y = (sorted((p(placed.near), p(placed.far))) for p in (np.real, np.imag))
        found.append((x[0] - half, y[0] - half, x[1] + half, y[1] + half))
    return found


def overlap(a: tuple[float, ...], b: tuple[float, ...], slack: float = 1e-6) -> bool:
    """Whether two boxes share an area."""
    apart = a[2] <= b[0] + slack or b[2] <= a[0] + slack or a[3] <= b[1] + slack or b[3] <= a[1] + slack
    return not apart


def check_layout(layout: rendering.Layout, tiles: list[Tile], width: float, height: float) -> None:
    found = boxes(layout)
    assert sorted(p.piece for p in layout.placed if not isinstance(p.piece, str)) == sorted(tiles)
    for box in found:
        assert min(box[:2]) >= -1e-6
        assert box[2] <= width + 1e-6
        assert box[3] <= height + 1e-6
    assert not any(overlap(a, b) for a, b in combinations(found, 2))
    for placed, box in zip(layout.placed, found, strict=True):
        length = 1 if isinstance(placed.piece, str) else 2
        assert np.isclose((box[2] - box[0]) * (box[3] - box[1]), length * layout.unit**2)


def touch(a: rendering.Placed, b: rendering.Placed, unit: float) -> bool:
    """Whether two pieces join, end to end or at the middle of a double."""
    a_ends = {a.near, a.far, (a.near + a.far) / 2}
    b_ends = {b.near, b.far, (b.near + b.far) / 2}
    return any(np.isclose(abs(p - q), unit) for p in a_ends for q in b_ends)


# ------------------------------------------------------------------------------------------- layout


@PRINTS
@given(straight_lines(), st.sampled_from([(640.0, 518.0), (888.0, 518.0), (300.0, 700.0)]))
def test_line_finds_room_without_overlaps(line: tuple[Tile, ...], room: tuple[float, float]) -> None:
    layout = rendering.layout_line(line, None, ((), ()), *room)
    check_layout(layout, list(line), *room)
    assert layout.placed[0].piece == "left"
    assert layout.placed[-1].piece == "right"
    assert all(touch(a, b, layout.unit) for a, b in pairwise(layout.placed))
    assert layout.unit > 10


@PRINTS
@given(crossed_lines(), st.sampled_from([(640.0, 518.0), (888.0, 518.0)]))
def test_arms_find_room_without_overlaps(cross: dict, room: tuple[float, float]) -> None:
    layout = rendering.layout_line(**cross, width=room[0], height=room[1])
    flipped = [(b, a) for a, b in cross["line"][: cross["spinner"]]]
    tiles = [*flipped, *cross["line"][cross["spinner"] :], *cross["arms"][0], *cross["arms"][1]]
    check_layout(layout, tiles, *room)
    names = [placed.piece for placed in layout.placed if isinstance(placed.piece, str)]
    assert names == ["right", "left", "up", "down"]
    assert layout.unit > 7


@PRINTS
@given(straight_lines(), st.integers(5, 12))
def test_rows_keep_within_their_reach(line: tuple[Tile, ...], reach: int) -> None:
    chain = rendering._Chain((*line, "right"), 0, 1)
    if chain.rows(1j, 0, reach):
        corners = [corner for placed in chain.laid for corner in placed.corners]
        assert min(corner.real for corner in corners) >= 0
        assert max(corner.real for corner in corners) <= reach
        layout = rendering.Layout(1, tuple(chain.laid))
        assert not any(overlap(a, b) for a, b in combinations(boxes(layout), 2))
    else:
        assert reach < 10


@PRINTS
@given(crossed_lines(), st.integers(6, 14), st.sampled_from((3, 5, 7, 9)))
def test_arms_keep_to_their_quarters(cross: dict, reach: int, stem: int) -> None:
    placed = rendering._cross(cross["line"], cross["spinner"], cross["arms"], reach, stem)
    found = boxes(rendering.Layout(1, tuple(placed or ())))
    assert not any(overlap(a, b) for a, b in combinations(found, 2))
    assert placed or reach < 13


def test_short_line_is_straight_and_doubles_lie_crosswise() -> None:
    layout = rendering.layout_line(((1, 1), (1, 4), (4, 4)), None, ((), ()), 800, 500, largest=50)
    assert layout.unit == 50
    assert [p.near.imag == p.far.imag for p in layout.placed] == [True, False, True, False, True]
    middles = [(p.near + p.far) / 2 for p in layout.placed]
    assert middles == [275 + 250j, 325 + 250j, 400 + 250j, 475 + 250j, 525 + 250j]


def test_arms_open_when_both_sides_are_covered() -> None:
    def names(line: tuple[Tile, ...], spinner: int) -> set[str]:
        layout = rendering.layout_line(line, spinner, ((), ()), 800, 500)
        return {placed.piece for placed in layout.placed if isinstance(placed.piece, str)}

    assert names(((2, 5), (5, 5)), 1) == {"left", "right"}
    assert names(((2, 5), (5, 5), (5, 3)), 1) == {"left", "right", "up", "down"}


@PRINTS
@given(st.integers(0, 55), st.floats(40, 700), st.floats(40, 500), st.booleans())
def test_hand_finds_room_without_overlaps(count: int, width: float, height: float, upright: bool) -> None:
    unit, centres = rendering.layout_hand(count, width, height, upright)
    assert len(centres) == count
    w, h = (unit, 2 * unit) if upright else (2 * unit, unit)
    found = [(c.real - w / 2, c.imag - h / 2, c.real + w / 2, c.imag + h / 2) for c in centres]
    assert all(min(b[:2]) >= -1e-6 and b[2] <= width + 1e-6 and b[3] <= height + 1e-6 for b in found)
    assert not any(overlap(a, b) for a, b in combinations(found, 2))


# -------------------------------------------------------------------------------------------- words


def test_ansi() -> None:
    assert (
        rendering.ansi(FakeTable())
        == """\
Fives and Threes, round 3, seat 1 opens
  seats 0 + 2  48 / 61
  seats 1 + 3  37 / 61
  line         [1|1][1|4][4|4]
  ends         left 1, right 4; count 10
  seat 0       [0|3][2|6]  <- to move
  seat 1       4 tiles face down
  seat 2       4 tiles face down
  seat 3       3 tiles face down
  asleep       8
  last         seat 3 laid [4|4] right: count 10, 2 points
"""
    )


def test_ansi_with_spinner() -> None:
    assert (
        rendering.ansi(ALL_FIVES)
        == """\
All Fives, round 3, seat 1 opens
  seat 0    48 / 150
  seat 1    37 / 150
  line      [2|5][5|5][5|3]
  spinner   [5|5]
  up        [5|0][0|0]
  ends      left 2, right 3, up 0, down 5; count 5
  seat 0    [0|1]  <- to move
  seat 1    6 tiles face down
  boneyard  8
  last      seat 0 laid [0|0] up: count 5, 5 points
"""
    )


def test_ansi_before_the_lead_and_after_the_match() -> None:
    lead = rendering.ansi(FakeTable(line=(), ends=(), count=0, last=None))
    assert "(empty)" in lead
    assert "ends" not in lead
    assert "last" not in lead
    over = rendering.ansi(FakeTable(over=True, winner=1, scores=(48, 61)))
    assert "seats 1 + 3 win the match" in over
    assert "to move" not in over
    assert "the match is over" in rendering.ansi(FakeTable(over=True))


def test_ansi_colors_only_when_asked() -> None:
    assert "\033" not in rendering.ansi(FakeTable())
    assert "\033[1;33m" in rendering.ansi(FakeTable(), color=True)


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (FakeEvent(2, "lead", (1, 4), 0, 5, 1), "seat 2 led [1|4]: count 5, 1 point"),
        (FakeEvent(2, "play", (1, 4), 0, 7, 0), "seat 2 laid [1|4] left: count 7, no points"),
        (FakeEvent(1, "knock", None, None, 0, 0), "seat 1 knocks"),
        (FakeEvent(1, "draw", None, None, 0, 0), "seat 1 draws"),
        (
            FakeEvent(2, "play", (1, 4), 1, 6, 3, False, "out"),
            "seat 2 laid [1|4] right: count 6, 3 points offered, rejected (59 + 3 > 61); "
            "seat 2 is out, the round ends",
        ),
        (
            FakeEvent(2, "lead", (1, 4), 0, 6, 2, False),
            "seat 2 led [1|4]: count 6, 2 points offered, rejected (a lead does not win)",
        ),
        (
            FakeEvent(3, "play", (0, 6), 0, 7, 0, True, "blocked"),
            "seat 3 laid [0|6] left: count 7, no points; blocked, the round ends",
        ),
        (
            FakeEvent(3, "play", (0, 6), 0, 5, 5, True, "out", 15, 1),
            "seat 3 laid [0|6] left: count 5, 5 points; seat 3 is out, the round ends; "
            "15 points from other hands to seats 1 + 3",
        ),
    ],
)
def test_last_event_in_words(event: FakeEvent, words: str) -> None:
    assert rendering.describe_last(FakeTable(scores=(59, 37), last=event)) == words


# -------------------------------------------------------------------------------------------- scene

FACES = (rendering.IVORY, rendering.BACK)


def check_scene(table: FakeTable) -> None:
    shapes = rendering.scene(table)
    for shape in shapes:
        match shape:
            case Rect(x, y, w, h):
                box = (x, y, x + w, y + h)
            case Circle(x, y, r):
                box = (x - r, y - r, x + r, y + r)
            case Text(x, y, text, size, _, anchor):
                width = 0.57 * size * len(text)
                left = x - width * {"start": 0, "middle": 0.5, "end": 1}[anchor]
                box = (left, y - size / 2, left + width, y + size / 2)
        assert min(box) >= 0, shape
        assert box[2] <= rendering.WIDTH, shape
        assert box[3] <= rendering.HEIGHT, shape
    faces = [(s.x, s.y, s.x + s.w, s.y + s.h) for s in shapes if isinstance(s, Rect) and s.fill in FACES]
    tiles = len(table.line) + sum(map(len, table.arms)) + sum(table.held)
    assert tiles <= len(faces) <= tiles + table.sleeping
    assert not any(overlap(a, b) for a, b in combinations(faces, 2))


@PRINTS
@given(st.data(), st.integers(2, 4), st.sampled_from((31, 61, 121, 150, 250)))
def test_scene_keeps_inside_the_canvas(data: st.DataObject, players: int, target: int) -> None:
    held = tuple(data.draw(st.integers(0, 23)) for _ in range(players))
    cross = data.draw(crossed_lines())
    last = FakeEvent(1, "play", cross["line"][0], 0, 6, 3, False, "blocked")
    check_scene(
        FakeTable(
            rules=FakeRules(num_players=players, target=target, spinner=True, draw=True, name="n" * 70),
            scores=(target,) * players,
            over=data.draw(st.booleans()),
            hands=((),) * players,
            held=held,
            hidden=(True,) * players,
            line=cross["line"],
            spinner_index=cross["spinner"],
            arms=cross["arms"],
            ends=(1, 2, 3, 4),
            last=last,
        )
    )


def test_scene_shows_hidden_hands_face_down_only() -> None:
    def faces(table: FakeTable) -> tuple[int, int]:
        fills = [shape.fill for shape in rendering.scene(table)]
        return fills.count(rendering.IVORY), fills.count(rendering.BACK)

    assert faces(FakeTable(sleeping=0)) == (3 + 2, 4 + 4 + 3)
    leaking = FakeTable(sleeping=0, hands=(((0, 3), (2, 6)), ((5, 5),) * 4, ((5, 6),) * 4, ((3, 6),) * 3))
    assert rendering.svg(leaking) == rendering.svg(FakeTable(sleeping=0))


@pytest.mark.parametrize("pips", range(10))
def test_pips_are_drawn_as_many_as_they_count(pips: int) -> None:
    table = FakeTable(line=((pips, 0),), hands=((),) * 4, held=(0,) * 4, last=None)
    dots = [s for s in rendering.scene(table) if isinstance(s, Circle) and s.fill == rendering.INK]
    assert len(dots) == len({(dot.x, dot.y) for dot in dots}) == pips


def test_seat_to_move_and_last_tile_stand_out() -> None:
    accents = [s for s in rendering.scene(FakeTable()) if s.fill == rendering.ACCENT]
    assert [type(s) for s in accents] == [Rect, Rect, Text]
    still = FakeTable(last=None, over=True)
    assert [s.text for s in rendering.scene(still) if s.fill == rendering.ACCENT] == ["The match is over"]


# ----------------------------------------------------------------------------------------- painters

TABLES = {
    "plain": FakeTable(),
    "spinner": ALL_FIVES,
    "empty": FakeTable(line=(), ends=(), count=0, last=None),
    "over": FakeTable(over=True, winner=0, scores=(61, 37)),
    "three": replace(FakeTable(), rules=FakeRules(num_players=3, partnership="singles"), scores=(1, 2, 3)),
}


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_svg_is_a_document_of_its_own(table: FakeTable) -> None:
    text = rendering.svg(table)
    root = ElementTree.fromstring(text)
    assert root.tag.endswith("svg")
    assert len(root) > 20
    assert "href" not in text
    assert "url(" not in text
    assert text == rendering.svg(table)


def test_svg_escapes_names() -> None:
    ElementTree.fromstring(rendering.svg(FakeTable(rules=FakeRules(name="<a & b>"))))


@pytest.mark.parametrize("table", TABLES.values(), ids=TABLES)
def test_rgb_array(table: FakeTable) -> None:
    pygame = pytest.importorskip("pygame")
    pixels = rendering.rgb_array(table, (320, 240))
    assert pixels.shape == (240, 320, 3)
    assert pixels.dtype == np.uint8
    assert pixels.flags.c_contiguous
    assert len(np.unique(pixels.reshape(-1, 3), axis=0)) > 50
    assert not pygame.display.get_init()
    assert np.array_equal(pixels, rendering.rgb_array(table, (320, 240)))


def test_rgb_array_shows_what_the_scene_says() -> None:
    pytest.importorskip("pygame")
    pixels = rendering.rgb_array(FakeTable(), (rendering.WIDTH, rendering.HEIGHT))
    ring = next(s for s in rendering.scene(FakeTable()) if s.fill == rendering.ACCENT)
    assert isinstance(ring, Rect)
    seen = pixels[round(ring.y + ring.h / 2), round(ring.x + 1)]
    assert "#" + bytes(seen).hex() == rendering.ACCENT


def test_rgb_array_refuses_an_empty_size() -> None:
    pytest.importorskip("pygame")
    with pytest.raises(ValueError, match="positive"):
        rendering.rgb_array(FakeTable(), (0, 100))


def test_missing_pygame_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pygame", None)
    with pytest.raises(ImportError, match=r"pip install 'fivesthrees-env\[render\]'"):
        rendering.rgb_array(FakeTable())
    rendering.svg(FakeTable())


def test_window(monkeypatch: pytest.MonkeyPatch) -> None:
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    window = rendering.Window((320, 200))
    assert not window.is_open
    window.show(FakeTable())
    assert window.is_open
    assert np.array_equal(
        pygame.surfarray.array3d(pygame.display.get_surface()).swapaxes(0, 1),
        rendering.rgb_array(FakeTable(), (320, 200)),
    )
    window.close()
    window.close()
    assert not window.is_open
    assert not pygame.display.get_init()


def test_window_closed_by_hand_stays_shut(monkeypatch: pytest.MonkeyPatch) -> None:
    pygame = pytest.importorskip("pygame")
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    window = rendering.Window((320, 200))
    window.show(FakeTable())
    pygame.event.post(pygame.event.Event(pygame.QUIT))
    window.pump()
    window.show(FakeTable())
    assert not window.is_open
    window.close()
    window.show(FakeTable())
    assert window.is_open
    window.close()
