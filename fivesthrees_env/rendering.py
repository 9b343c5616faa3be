"""Pictures of a match: text, SVG, pixels and a window.

There is one drawing. :func:`scene` composes it from rounded rectangles, circles and texts;
:func:`svg` and :func:`rgb_array` are thin painters of that list, and :class:`Window` shows the
pixels. Where the tiles go is decided by :func:`layout_line` and :func:`layout_hand`, pure functions
of the tiles and of the room there is.

A renderer draws whatever table it is given; to keep hidden tiles hidden, give it the table of a
view. Only pixels and window need pygame (``pip install 'fivesthrees-env[render]'``), and it is
imported when first used.

Lengths in a layout are in *units*, the side of half a tile: a tile is 2 x 1. Points are complex
numbers with x to the right and y down, so a heading is one of 1, 1j, -1, -1j and a quarter turn is
a factor 1j.
"""

from __future__ import annotations

import textwrap
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product
from typing import Any, NamedTuple
from xml.sax.saxutils import escape

import numpy as np

from fivesthrees_env.table import END_NAMES, Event, Table
from fivesthrees_env.tiles import Tile

__all__ = [
    "Window",
    "ansi",
    "describe_last",
    "layout_hand",
    "layout_line",
    "rgb_array",
    "scene",
    "svg",
]

Piece = Tile | str  # a tile, near half first, or the name of the open end that closes a chain


# -------------------------------------------------------------------------------------------- words


def _plural(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _name(tile: Tile) -> str:
    return f"[{tile[0]}|{tile[1]}]"


def _names(tiles: Iterable[Tile]) -> str:
    return "".join(map(_name, tiles))


def _title(table: Table) -> str:
    """The game, and the preset where it is another than the usual one: "All Fives (muggins-2p)"."""
    game = "All Fives" if table.rules.draw or table.rules.spinner else "Fives and Threes"
    usual = f"{game.lower().replace(' ', '_')}-{table.num_players}p"
    return game if table.rules.name in ("", usual) else f"{game} ({table.rules.name})"


def _side_name(table: Table, side: int) -> str:
    seats = [str(seat) for seat in range(table.num_players) if table.side_of(seat) == side]
    return f"{'seat' if len(seats) == 1 else 'seats'} {' + '.join(seats)}"


def _result(table: Table) -> str:
    if table.winner is None:
        return "the match is over"
    verb = "win" if "seats" in _side_name(table, table.winner) else "wins"
    return f"{_side_name(table, table.winner)} {verb} the match"


def _points(table: Table, last: Event) -> str:
    """The points of the last event in words; a rejected one says why."""
    if not last.offered:
        return "no points"
    if last.accepted:
        return _plural(last.offered, "point")
    score, target = table.scores[table.side_of(last.seat)], table.rules.target
    reason = ""
    if score + last.offered > target:
        reason = f" ({score} + {last.offered} > {target})"
    elif last.kind == "lead":
        reason = " (a lead does not win)"
    return f"{_plural(last.offered, 'point')} offered, rejected{reason}"


def _round_end(table: Table, last: Event) -> str:
    if not last.round_end:
        return ""
    how = f"seat {last.seat} is out" if last.round_end == "out" else last.round_end
    words = f"; {how}, the round ends"
    settlement, side = getattr(last, "settlement", 0), getattr(last, "settled_side", None)
    if settlement and side is not None:
        words += f"; {_plural(settlement, 'point')} from other hands to {_side_name(table, side)}"
    return words


def describe_last(table: Table) -> str:
    """The last event in words; "" if there is none.

    For example ``seat 2 laid [1|4] left: count 10, 2 points``.
    """
    last = table.last
    if last is None:
        return ""
    if last.tile is not None and last.end is not None:
        done = "led" if last.kind == "lead" else "laid"
        where = "" if last.kind == "lead" else f" {END_NAMES[last.end]}"
        words = f"seat {last.seat} {done} {_name(last.tile)}{where}: "
        words += f"count {last.count}, {_points(table, last)}"
    else:
        words = f"seat {last.seat} {'draws' if last.kind == 'draw' else 'knocks'}"
        words += f": {_points(table, last)}" if last.offered else ""
    return words + _round_end(table, last)


# --------------------------------------------------------------------------------------------- text


def _ansi_layout(table: Table) -> Iterator[tuple[str, str]]:
    yield "line", _names(table.line) or "(empty)"
    if table.spinner_index is not None:
        yield "spinner", _name(table.line[table.spinner_index])
        for name, arm in zip(("up", "down"), table.arms, strict=True):
            if arm:
                yield name, _names(arm)
    if table.line:
        ends = zip(END_NAMES, table.ends, strict=False)
        yield "ends", ", ".join(f"{name} {pips}" for name, pips in ends) + f"; count {table.count}"


def _ansi_seats(table: Table) -> Iterator[tuple[str, str]]:
    for seat in range(table.num_players):
        hidden = f"{_plural(table.held[seat], 'tile')} face down"
        hand = hidden if table.hidden[seat] else _names(table.hands[seat]) or "(empty)"
        to_move = "  <- to move" if seat == table.seat and not table.over else ""
        yield f"seat {seat}", hand + to_move
    yield "asleep" if not table.rules.draw else "boneyard", str(table.sleeping)


def ansi(table: Table, color: bool = False) -> str:
    """The table as a few lines of text.

    Args:
        table: what to draw.
        color: whether to print headings and the seat to move with terminal colours.

    Returns:
        Text that ends in a newline: title, scores, the line, its ends and count, the hands and
        the last event.
    """
    rows: list[tuple[str, str]] = [
        (_side_name(table, side), f"{score} / {table.rules.target}")
        for side, score in enumerate(table.scores)
    ]
    rows += [*_ansi_layout(table), *_ansi_seats(table)]
    if table.last is not None:
        rows.append(("last", describe_last(table)))
    if table.over:
        rows.append(("result", _result(table)))
    width = max(len(head) for head, _ in rows)
    title = f"{_title(table)}, round {table.round_index + 1}, seat {table.opener} opens"
    if not color:
        return "\n".join([title, *(f"  {head:<{width}}  {body}" for head, body in rows)]) + "\n"
    lines = [f"\033[1m{title}\033[0m"]
    for head, body in rows:
        bold = "\033[1;33m" if body.endswith("<- to move") else ""
        lines.append(f"  \033[36m{head:<{width}}\033[0m  {bold}{body}{chr(27) + '[0m' if bold else ''}")
    return "\n".join(lines) + "\n"


# ------------------------------------------------------------------------------------------- layout


class Box(NamedTuple):
    """A rectangle: left, top, width, height."""

    x: float
    y: float
    w: float
    h: float

    def inset(self, dx: float, dy: float) -> Box:
        """The same box with ``dx`` less on the left and right and ``dy`` less above and below."""
        return Box(self.x + dx, self.y + dy, self.w - 2 * dx, self.h - 2 * dy)


@dataclass(frozen=True, slots=True)
class Placed:
    """A piece and the centres of its two halves (the same point for the marker of an open end)."""

    piece: Piece
    near: complex
    far: complex

    @property
    def corners(self) -> tuple[complex, complex]:
        """Top left and bottom right corner, with halves of side 1."""
        x = sorted((self.near.real, self.far.real))
        y = sorted((self.near.imag, self.far.imag))
        return complex(x[0] - 0.5, y[0] - 0.5), complex(x[1] + 0.5, y[1] + 0.5)


@dataclass(frozen=True, slots=True)
class Layout:
    """Pieces with points in pixels, and the pixels of one unit."""

    unit: float
    placed: tuple[Placed, ...]


def _is_double(piece: Piece) -> bool:
    return not isinstance(piece, str) and piece[0] == piece[1]


def _length(piece: Piece) -> int:
    """Units of a row that a piece takes; doubles lie crosswise."""
    return 1 if isinstance(piece, str) or _is_double(piece) else 2


class _Chain:
    """Pieces laid one after the other from a joint: straight on, round a corner, in rows.

    No double ever has to go round a corner: a piece is laid straight on only if a double behind it
    has room too (two doubles never meet).
    """

    #: A corner takes one unit, and a double that follows on it sticks out by half a unit more.
    TURN = 1.5

    def __init__(self, pieces: Iterable[Piece], joint: complex, heading: complex) -> None:
        self.rest = deque(pieces)
        self.joint, self.heading = joint, heading
        self.laid: list[Placed] = []

    def _lay(self, near: complex, far: complex) -> None:
        self.laid.append(Placed(self.rest.popleft(), near, far))

    def straight(self) -> None:
        """Lays the next piece straight on, a double crosswise."""
        piece, half = self.rest[0], self.heading / 2
        first = self.joint + half
        self.joint += self.heading * _length(piece)
        if isinstance(piece, str):
            self._lay(first, first)
        elif _is_double(piece):
            self._lay(first - half * 1j, first + half * 1j)
        else:
            self._lay(first, first + self.heading)

    def corner(self, heading: complex) -> None:
        """Lays the near half of the next piece straight on and its far half to the side."""
        if _length(self.rest[0]) == 1:
            self.straight()
            return
        near = self.joint + self.heading / 2
        self.joint, self.heading = near + heading * 1.5, heading
        self._lay(near, near + heading)

    def stem(self, length: float) -> None:
        """Lays one piece and what else keeps within ``length`` straight on."""
        start = self.joint
        while self.rest:
            self.straight()
            used = abs(self.joint - start)
            if not self.rest or (self._need() + used > length and not _is_double(self.rest[0])):
                return

    def rows(self, across: complex, low: float, high: float) -> bool:
        """Lays pieces in rows from x = low to x = high and back, stepping 3 units ``across``.

        Returns:
            Whether all found room; a narrow strip may not even let a row turn.
        """
        while self.rest:
            room = self._room(low, high)
            if self._need() + (self.TURN if len(self.rest) > 1 else 0) <= room:
                self.straight()
            elif room < self.TURN or _is_double(self.rest[0]):
                return False
            else:
                self._turn(across)
        return self._room(low, high) >= 0

    def _room(self, low: float, high: float) -> float:
        """Units from the joint to the end of the row."""
        if not self.heading.real:
            return 0
        return high - self.joint.real if self.heading.real > 0 else self.joint.real - low

    def _need(self) -> int:
        """Units that the next piece takes, with the double behind it."""
        follower = len(self.rest) > 1 and _is_double(self.rest[1])
        return _length(self.rest[0]) + follower

    def _turn(self, across: complex) -> None:
        back = -self.heading
        self.corner(across)
        if self.rest:
            self.straight()
        if self.rest and _is_double(self.laid[-1].piece):
            self.corner(back)
        elif self.rest:
            self.joint, self.heading = self.laid[-1].far + back / 2, back
            self.straight()


def _snake(line: Sequence[Tile], reach: float) -> list[Placed] | None:
    """The line from left to right in rows of length ``reach``, if they find room."""
    chain = _Chain(("left", *line, "right"), 0, 1)
    return chain.laid if chain.rows(1j, 0, reach) else None


def _cross(
    line: Sequence[Tile], spinner: int, arms: Sequence[Sequence[Tile]], reach: float, stem: float
) -> list[Placed] | None:
    """Four chains around an upright spinner, each in its own quarter, if they find room."""
    before = [(right, left) for left, right in reversed(line[:spinner])]
    right = _Chain((*line[spinner + 1 :], "right"), 0.5, 1)
    left = _Chain((*before, "left"), -0.5, -1)
    up = _Chain((*arms[0], "up"), -1j, -1j)
    down = _Chain((*arms[1], "down"), 1j, 1j)
    for arm, side in ((up, 1), (down, -1)):
        arm.stem(stem)
        if arm.rest:
            arm.corner(side)
    found_room = (
        right.rows(1j, 2.5, reach)
        and left.rows(-1j, -reach, -2.5)
        and up.rows(-1j, -1, reach)
        and down.rows(1j, -reach, 1)
    )
    spin = Placed(line[spinner], -0.5j, 0.5j)
    return [spin, *right.laid, *left.laid, *up.laid, *down.laid] if found_room else None


def _fit(placed: Sequence[Placed], width: float, height: float, largest: float) -> Layout:
    """Scales and centres a layout to a room of width x height pixels."""
    corners = [piece.corners for piece in placed]
    left, top = min(low.real for low, _ in corners), min(low.imag for low, _ in corners)
    right, bottom = max(high.real for _, high in corners), max(high.imag for _, high in corners)
    unit = min(width / (right - left), height / (bottom - top), largest)
    shift = complex(width, height) / 2 - complex(left + right, top + bottom) / 2 * unit
    moved = (Placed(p.piece, p.near * unit + shift, p.far * unit + shift) for p in placed)
    return Layout(unit, tuple(moved))


@lru_cache(maxsize=128)
def layout_line(
    line: tuple[Tile, ...],
    spinner: int | None,
    arms: tuple[tuple[Tile, ...], tuple[Tile, ...]],
    width: float,
    height: float,
    largest: float = 50,
) -> Layout:
    """Finds places for the tiles on the table and for markers of the open ends, as large as it can.

    The line winds in rows when it is long. As soon as both long sides of the spinner are covered,
    the spinner stands upright in the middle and its four arms wind around it like a pinwheel.

    Args:
        line: oriented tiles, left to right; not empty.
        spinner: position of the spinner in the line, if there is one.
        arms: the oriented tiles above and below the spinner, from the spinner outward.
        width: pixels of the room.
        height: pixels of the room.
        largest: pixels of a unit beyond which nothing is enlarged.

    Returns:
        The layout within ``0 <= x <= width`` and ``0 <= y <= height``; an end's marker carries its
        name.
    """
    length = sum(map(_length, (*line, *arms[0], *arms[1])))
    tries: Iterable[list[Placed] | None]
    if spinner is None or not 0 < spinner < len(line) - 1:
        tries = (_snake(line, reach) for reach in _reaches(length))
    else:
        shapes = product((9, 7, 5, 3), _reaches(length))
        tries = (_cross(line, spinner, arms, reach, stem) for stem, reach in shapes)
    layouts = (_fit(placed, width, height, largest) for placed in tries if placed)
    return max(layouts, key=lambda layout: layout.unit)


def _reaches(length: int) -> list[int]:
    """Row lengths to try: an ample one, then from long to short (of equals the first is kept)."""
    return [length + 8, *range(min(length + 7, 40), 5, -1)]


def layout_hand(
    count: int, width: float, height: float, upright: bool = True, largest: float = 40
) -> tuple[float, list[complex]]:
    """Finds places for ``count`` tiles side by side, in as many rows as make them largest.

    Args:
        count: number of tiles.
        width: pixels of the room.
        height: pixels of the room.
        upright: whether tiles stand (rows fill first) or lie (columns fill first).
        largest: pixels of a unit beyond which nothing is enlarged.

    Returns:
        The unit and the centre of every tile, both in pixels.
    """
    if count == 0:
        return largest, []
    tile_w, tile_h = (1.14, 2.14) if upright else (2.14, 1.14)
    shapes = [(-(-count // rows), rows) for rows in range(1, count + 1)]
    if not upright:
        shapes.reverse()
    unit, columns, rows = max(
        ((min(width / (c * tile_w), height / (r * tile_h), largest), c, r) for c, r in shapes),
        key=lambda shape: shape[0],
    )
    step = complex(tile_w, tile_h) * unit
    centres = []
    for i in range(count):
        row, column = divmod(i, columns)
        in_row = min(columns, count - row * columns)
        x = width / 2 + (column - (in_row - 1) / 2) * step.real
        centres.append(complex(x, height / 2 + (row - (rows - 1) / 2) * step.imag))
    return unit, centres


# -------------------------------------------------------------------------------------------- scene

WIDTH, HEIGHT = 1280, 800

PAGE, TABLE, TRAY, TRAY_ACTIVE, CARD = "#16202b", "#26394a", "#1f303f", "#2f475c", "#1f2c39"
IVORY, EDGE, INK, SHADOW = "#fbf5e6", "#d8cbae", "#1f2a35", "#1c2b39"
BACK, BACK_EDGE, BACK_MARK = "#6d8299", "#4d6075", "#8598ad"
BRIGHT, SOFT, FAINT, ACCENT, BRASS, ALARM = (
    "#f4f6f8",
    "#a9b8c6",
    "#3d5163",
    "#ffc857",
    "#c79a3b",
    "#ff8a7a",
)
SIDES = ("#ffb14e", "#4cc9c0", "#f2788f", "#a99bff")

PIP_PLACES: dict[int, tuple[tuple[int, int], ...]] = {0: (), 1: ((0, 0),), 2: ((-1, -1), (1, 1))}
PIP_PLACES[3] = PIP_PLACES[2] + PIP_PLACES[1]
PIP_PLACES[4] = (*PIP_PLACES[2], (-1, 1), (1, -1))
PIP_PLACES[5] = PIP_PLACES[4] + PIP_PLACES[1]
PIP_PLACES[6] = (*PIP_PLACES[4], (0, -1), (0, 1))
PIP_PLACES[7] = PIP_PLACES[6] + PIP_PLACES[1]
PIP_PLACES[8] = (*PIP_PLACES[6], (-1, 0), (1, 0))
PIP_PLACES[9] = PIP_PLACES[8] + PIP_PLACES[1]


@dataclass(frozen=True, slots=True)
class Rect:
    """A filled rectangle with rounded corners."""

    x: float
    y: float
    w: float
    h: float
    radius: float
    fill: str


@dataclass(frozen=True, slots=True)
class Circle:
    """A filled circle."""

    x: float
    y: float
    r: float
    fill: str


@dataclass(frozen=True, slots=True)
class Text:
    """A line of text: ``y`` is the middle of its capitals, ``x`` its start, middle or end."""

    x: float
    y: float
    text: str
    size: float
    fill: str
    anchor: str = "start"


Shape = Rect | Circle | Text


def scene(table: Table) -> list[Shape]:
    """The picture of a table: shapes from back to front on a canvas of WIDTH x HEIGHT."""
    felt = Box(16, 16, 936, 768)
    shapes: list[Shape] = [Rect(0, 0, WIDTH, HEIGHT, 0, PAGE), Rect(*felt, 28, TABLE)]
    shapes += _draw_line(table, _middle(table.num_players, felt))
    for seat, (place, tray) in enumerate(_trays(table.num_players, felt)):
        shapes += _draw_seat(table, seat, place, tray)
    return [*shapes, *_draw_panel(table, Box(968, 16, 296, 768))]


def _trays(num_players: int, felt: Box) -> list[tuple[str, Box]]:
    """Where seats sit: seat 0 at the bottom, the others clockwise."""
    x, y, w, h = felt
    wide = w - 2 * 138
    places = {
        "bottom": Box(x + 138, y + h - 118, wide, 106),
        "left": Box(x + 12, y + 126, 118, h - 252),
        "top": Box(x + 138, y + 12, wide, 92),
        "right": Box(x + w - 130, y + 126, 118, h - 252),
    }
    chosen = {2: ("bottom", "top"), 3: ("bottom", "left", "right")}.get(num_players, tuple(places))
    return [(place, places[place]) for place in chosen]


def _middle(num_players: int, felt: Box) -> Box:
    """The room between the trays."""
    x, y, w, h = felt
    side = 24 if num_players == 2 else 146
    top = 24 if num_players == 3 else 118
    return Box(x + side, y + top, w - 2 * side, h - top - 132)


def _draw_line(table: Table, room: Box) -> Iterator[Shape]:
    if not table.line:
        words = f"seat {table.seat} leads" if not table.over else ""
        yield Text(room.x + room.w / 2, room.y + room.h / 2, words, 26, SOFT, "middle")
        return
    layout = layout_line(
        tuple(table.line),
        table.spinner_index,
        (tuple(table.arms[0]), tuple(table.arms[1])),
        room.w,
        room.h,
    )
    shift, unit = complex(room.x, room.y), layout.unit
    last = table.last.tile if table.last is not None and table.last.kind in ("lead", "play") else None
    spinner = None if table.spinner_index is None else tuple(table.line[table.spinner_index])
    for placed in sorted(layout.placed, key=lambda placed: _is_tile(placed.piece, last)):
        near, far = placed.near + shift, placed.far + shift
        if isinstance(placed.piece, str):
            if not table.over:
                yield from _draw_end(placed.piece, near, unit)
            continue
        if _is_tile(placed.piece, last):
            yield _tile_rect(near, far, unit, 0.06, ACCENT)
        yield from _draw_tile(placed.piece, near, far, unit, pinned=placed.piece == spinner)


def _is_tile(piece: Piece, tile: Tile | None) -> bool:
    """Whether a piece is a certain tile, either way round."""
    return tile is not None and not isinstance(piece, str) and sorted(piece) == sorted(tile)


def _draw_end(name: str, centre: complex, unit: float) -> Iterator[Shape]:
    yield Circle(centre.real, centre.imag, 0.3 * unit, FAINT)
    yield Text(centre.real, centre.imag, name[0].upper(), 0.36 * unit, SOFT, "middle")


def _tile_rect(near: complex, far: complex, unit: float, grow: float, fill: str) -> Rect:
    """The outline of a tile, larger by ``grow`` units on all sides."""
    x, y = min(near.real, far.real), min(near.imag, far.imag)
    w, h = abs(near.real - far.real), abs(near.imag - far.imag)
    side = (0.5 + grow) * unit
    return Rect(x - side, y - side, w + 2 * side, h + 2 * side, (0.17 + grow) * unit, fill)


def _draw_tile(tile: Tile, near: complex, far: complex, unit: float, pinned: bool = False) -> Iterator[Shape]:
    """An ivory tile with its pips; a spinner has a brass pin in the middle."""
    yield from _draw_blank(near, far, unit, IVORY, EDGE)
    along, middle = (far - near) / unit, (near + far) / 2
    bar = complex(0.03, 0.36) * along * unit
    yield Rect(middle.real - abs(bar.real), middle.imag - abs(bar.imag), *_size(bar), 0.03 * unit, EDGE)
    if pinned:
        yield Circle(middle.real, middle.imag, 0.12 * unit, BRASS)
    for centre, pips in ((near, tile[0]), (far, tile[1])):
        for a, b in PIP_PLACES[int(pips)]:
            pip = centre + complex(a, b) * along * 0.265 * unit
            yield Circle(pip.real, pip.imag, 0.095 * unit, INK)


def _size(half: complex) -> tuple[float, float]:
    return 2 * abs(half.real), 2 * abs(half.imag)


def _draw_blank(near: complex, far: complex, unit: float, face: str, edge: str) -> Iterator[Shape]:
    """A tile without pips: an edge below a slightly lower face."""
    body = _tile_rect(near, far, unit, -0.035, edge)
    yield body
    yield Rect(body.x, body.y, body.w, body.h - 0.06 * unit, body.radius, face)


def _draw_back(near: complex, far: complex, unit: float) -> Iterator[Shape]:
    yield from _draw_blank(near, far, unit, BACK, BACK_EDGE)
    middle = (near + far) / 2
    for step in (-0.5, 0, 0.5):
        mark = middle + step * (far - near)
        yield Circle(mark.real, mark.imag, 0.07 * unit, BACK_MARK)


def _draw_seat(table: Table, seat: int, place: str, tray: Box) -> Iterator[Shape]:
    to_move = seat == table.seat and not table.over
    if to_move:
        yield Rect(*tray.inset(-3, -3), 19, ACCENT)
    yield Rect(*tray, 16, TRAY_ACTIVE if to_move else TRAY)
    upright = place in ("bottom", "top")
    yield from _draw_label(table, seat, tray, upright)
    room = tray.inset(112, 8) if upright else tray.inset(8, 82)
    tiles = [None] * table.held[seat] if table.hidden[seat] else list(table.hands[seat])
    unit, centres = layout_hand(len(tiles), room.w, room.h, upright, 40 if place == "bottom" else 34)
    half = unit / 2 * (1j if upright else 1)
    for tile, centre in zip(tiles, centres, strict=True):
        middle = centre + complex(room.x, room.y)
        if tile is None:
            yield from _draw_back(middle - half, middle + half, unit)
        else:
            yield from _draw_tile(tile, middle - half, middle + half, unit)


def _draw_label(table: Table, seat: int, tray: Box, upright: bool) -> Iterator[Shape]:
    x, y = tray.x + 16, tray.y + (tray.h / 2 - 24 if upright else 22)
    yield Circle(x + 6, y, 6, SIDES[table.side_of(seat) % len(SIDES)])
    yield Text(x + 20, y, f"Seat {seat}", 17, BRIGHT)
    yield Text(x, y + 24, _plural(table.held[seat], "tile"), 14, SOFT)
    state = ""
    if seat == table.seat and not table.over:
        state = "to move"
    elif table.last is not None and table.last.seat == seat and table.last.kind in ("knock", "draw"):
        state = "knocks" if table.last.kind == "knock" else "draws"
    yield Text(x, y + 45, state, 14, ACCENT if state == "to move" else ALARM)


# -------------------------------------------------------------------------------------------- panel

HOLES_PER_ROW = 30
LETTER = 0.57  # mean width of a letter of the fonts used, in parts of its size


def _shrink(text: str, size: float, width: float) -> float:
    """The size at which ``text`` surely keeps within ``width``."""
    return min(size, width / (LETTER * max(len(text), 1)))


def _draw_panel(table: Table, panel: Box) -> Iterator[Shape]:
    x, y, w, h = panel
    title = _title(table)
    yield Text(x + 4, y + 22, title, _shrink(title, 27, w - 8), BRIGHT)
    words = f"Round {table.round_index + 1}, seat {table.opener} opens"
    yield Text(x + 4, y + 52, words, 15, SOFT)
    y += 76
    for side in range(table.num_sides):
        card = Box(x, y, w, 54 + 11 * _hole_rows(table.rules.target))
        yield from _draw_score(table, side, card)
        y += card.h + 8
    yield from _draw_ends(table, Box(x, y, w, 80))
    y += 88
    news = _news_lines(table, w)
    if news:
        card = Box(x, y, w, 22 + 23 * len(news))
        yield from _draw_news(news, card)
        y += card.h + 8
    rows = -(-table.sleeping // 12)
    yield from _draw_sleepers(table, Box(x, y, w, min(56 + 40 * rows, panel.y + h - y)))


def _hole_rows(target: int) -> int:
    holes = _holes(target)
    return max(1, -(-(holes - 1) // HOLES_PER_ROW))


def _holes(target: int) -> int:
    return -(-target // _hole_value(target))


def _hole_value(target: int) -> int:
    """Points per hole: games to a high target are scored in fives."""
    return 1 if target <= 121 else 5


def _draw_score(table: Table, side: int, card: Box) -> Iterator[Shape]:
    """A card with a side's score, also as a peg on a board with a hole per point (or per five)."""
    color, target, score = SIDES[side % len(SIDES)], table.rules.target, table.scores[side]
    if table.over and table.winner == side:
        yield Rect(*card.inset(-3, -3), 15, ACCENT)
    yield Rect(*card, 12, CARD)
    yield Circle(card.x + 22, card.y + 26, 7, color)
    yield Text(card.x + 38, card.y + 26, _side_name(table, side).capitalize(), 17, BRIGHT)
    right = card.x + card.w - 26 - 16 * 0.5 * len(f"/ {target}")
    yield Text(right, card.y + 25, str(score), 32, color, "end")
    yield Text(card.x + card.w - 16, card.y + 28, f"/ {target}", 16, SOFT, "end")
    value, holes = _hole_value(target), _holes(target)
    for hole in range(holes):
        row = min(hole // HOLES_PER_ROW, _hole_rows(target) - 1)
        column = hole - row * HOLES_PER_ROW
        x = card.x + 17 + 7.85 * column + 4.6 * (column // 5)
        filled, peg = (hole + 1) * value <= score, hole == score // value - 1
        radius = 4.2 if peg else 3.2 if hole == holes - 1 else 2.6
        yield Circle(x, card.y + 53 + 11 * row, radius, color if filled else FAINT)


def _draw_ends(table: Table, card: Box) -> Iterator[Shape]:
    yield Rect(*card, 12, CARD)
    x, right = card.x + 16, card.x + card.w - 16
    yield Text(x, card.y + 30, "Count", 17, BRIGHT)
    yield Text(right, card.y + 30, str(table.count), 32, BRIGHT, "end")
    ends = ", ".join(f"{name} {pips}" for name, pips in zip(END_NAMES, table.ends, strict=False))
    words = f"Ends: {ends}" if table.line else "The line is empty"
    yield Text(x, card.y + 61, words, _shrink(words, 15, card.w - 32), SOFT)


def _news_lines(table: Table, width: float) -> list[tuple[str, str]]:
    """Lines and their colours: the last event in words, and the result of a finished match."""
    words = describe_last(table)
    news = [(words, ALARM if "rejected" in words else BRIGHT)] if words else []
    if table.over:
        news.append((_result(table), ACCENT))
    letters = int((width - 32) / (LETTER * 16))
    return [
        (line, color)
        for text, color in news
        for part in text.replace("; ", ": ").split(": ")
        for line in textwrap.wrap(part[0].upper() + part[1:], letters)
    ]


def _draw_news(news: Sequence[tuple[str, str]], card: Box) -> Iterator[Shape]:
    yield Rect(*card, 12, CARD)
    for i, (line, color) in enumerate(news):
        yield Text(card.x + 16, card.y + 23 + 23 * i, line, 16, color)


def _draw_sleepers(table: Table, card: Box) -> Iterator[Shape]:
    """How many tiles sleep, and their backs if there is room for a pile."""
    pile = card.h >= 80 and table.sleeping > 0
    yield Rect(*card, 12, CARD) if pile else Rect(card.x, card.y, card.w, 42, 12, CARD)
    yield Text(card.x + 16, card.y + 22, "Boneyard" if table.rules.draw else "Asleep", 17, BRIGHT)
    yield Text(card.x + card.w - 16, card.y + 22, str(table.sleeping), 17, BRIGHT, "end")
    if pile:
        room = Box(card.x + 16, card.y + 42, card.w - 32, card.h - 54)
        unit, centres = layout_hand(table.sleeping, room.w, room.h, True, 18)
        for centre in centres:
            middle = centre + complex(room.x, room.y)
            yield from _draw_back(middle - unit * 0.5j, middle + unit * 0.5j, unit)


# ----------------------------------------------------------------------------------------- painters

FONTS = "'Helvetica Neue', Helvetica, Arial, 'Liberation Sans', 'DejaVu Sans', sans-serif"
BASELINE = 0.36  # from the middle of a capital down to its foot, in parts of the size


def _element(shape: Shape) -> str:
    match shape:
        case Rect(x, y, w, h, radius, fill):
            size = f'width="{w:.5g}" height="{h:.5g}" rx="{radius:.4g}"'
            return f'<rect x="{x:.5g}" y="{y:.5g}" {size} fill="{fill}"/>'
        case Circle(x, y, r, fill):
            return f'<circle cx="{x:.5g}" cy="{y:.5g}" r="{r:.4g}" fill="{fill}"/>'
        case Text(x, y, text, size, fill, anchor):
            place = f'x="{x:.5g}" y="{y + BASELINE * size:.5g}" text-anchor="{anchor}"'
            return f'<text {place} font-size="{size:.4g}" fill="{fill}">{escape(text)}</text>'


def svg(table: Table) -> str:
    """The table as a self-contained SVG document, which scales to any size."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" '
        f'height="{HEIGHT}" font-family="{FONTS}" font-weight="600" role="img">'
    )
    title = f"<title>{escape(_title(table))}, round {table.round_index + 1}</title>"
    return "\n".join([head, title, *map(_element, scene(table)), "</svg>", ""])


FINER = 2  # pixels that are painted for each one that is shown


def _pygame() -> Any:
    try:
        import pygame
    except ImportError as error:
        raise ImportError("drawing pixels needs pygame: pip install 'fivesthrees-env[render]'") from error
    return pygame


def _paint(table: Table, size: tuple[int, int]) -> Any:
    """The table as a pygame surface, drawn too large and smoothed down; needs no display."""
    pygame = _pygame()
    if min(size) < 1:
        raise ValueError(f"size must be positive, got {size}")
    pygame.font.init()
    canvas = pygame.Surface((FINER * size[0], FINER * size[1]), 0, 32)
    canvas.fill(PAGE)
    scale = min(canvas.get_width() / WIDTH, canvas.get_height() / HEIGHT)
    shift_x = (canvas.get_width() - scale * WIDTH) / 2
    shift_y = (canvas.get_height() - scale * HEIGHT) / 2
    fonts: dict[int, Any] = {}
    for shape in scene(table):
        x, y = shift_x + scale * shape.x, shift_y + scale * shape.y
        match shape:
            case Rect(_, _, w, h, radius, fill):
                right, bottom = round(x + scale * w), round(y + scale * h)
                place = (round(x), round(y), right - round(x), bottom - round(y))
                pygame.draw.rect(canvas, fill, place, border_radius=round(scale * radius))
            case Circle(_, _, r, fill):
                pygame.draw.circle(canvas, fill, (round(x), round(y)), round(scale * r))
            case Text():
                _write(pygame, canvas, shape, x, y, scale, fonts)
    return pygame.transform.smoothscale(canvas, size)


def _write(
    pygame: Any, canvas: Any, text: Text, x: float, y: float, scale: float, fonts: dict[int, Any]
) -> None:
    # pygame draws its own font at 0.6875 of the size that is asked for.
    points = max(1, round(text.size * scale / 0.6875))
    font = fonts.setdefault(points, None) or pygame.font.Font(None, points)
    fonts[points] = font
    image = font.render(text.text, True, text.fill)
    left = x - image.get_width() * {"start": 0, "middle": 0.5, "end": 1}[text.anchor]
    canvas.blit(image, (round(left), round(y + BASELINE * text.size * scale - font.get_ascent())))


def rgb_array(table: Table, size: tuple[int, int] = (960, 600)) -> np.ndarray:
    """The table as pixels.

    Args:
        table: what to draw.
        size: width and height in pixels; a picture of 8:5 is centred in any other shape.

    Returns:
        (height, width, 3) uint8, red, green, blue.

    Raises:
        ImportError: if pygame is not installed.
        ValueError: if a length is not positive.
    """
    pixels = _pygame().surfarray.array3d(_paint(table, size))
    return np.ascontiguousarray(pixels.swapaxes(0, 1), dtype=np.uint8)


class Window:
    """A window that shows tables; it opens on the first :meth:`show`.

    Somebody who closes the window by hand is not pestered: it stays shut until :meth:`close` is
    called.

    Args:
        size: width and height in pixels.
        title: what stands above the picture.
    """

    def __init__(self, size: tuple[int, int] = (1200, 750), title: str = "Fives and Threes") -> None:
        self.size, self.title = size, title
        self._screen: Any = None
        self._dismissed = False

    @property
    def is_open(self) -> bool:
        """Whether the window is on the screen."""
        return self._screen is not None

    def show(self, table: Table) -> None:
        """Draws a table and answers the window system."""
        pygame = _pygame()
        if self._dismissed:
            return
        if self._screen is None:
            pygame.display.init()
            pygame.display.set_caption(self.title)
            self._screen = pygame.display.set_mode(self.size)
        self._screen.blit(_paint(table, self.size), (0, 0))
        pygame.display.flip()
        self.pump()

    def pump(self) -> None:
        """Answers the window system without drawing; call it now and then while nothing changes."""
        if self._screen is not None and any(e.type == _pygame().QUIT for e in _pygame().event.get()):
            self.close()
            self._dismissed = True

    def close(self) -> None:
        """Closes the window; closing it again does nothing."""
        self._dismissed = False
        if self._screen is not None:
            self._screen = None
            _pygame().display.quit()
