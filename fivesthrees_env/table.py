"""``Table``: a match record or view as people read it: tuples of tiles, names of events."""

from __future__ import annotations

from collections import deque
from typing import NamedTuple

import numpy as np

from fivesthrees_env.kernel.jit import jit
from fivesthrees_env.kernel.layout import end_count
from fivesthrees_env.kernel.record import DOWN, KINDS, LEFT, NONE, REASONS, RIGHT, ROUND_ENDS, UP
from fivesthrees_env.rules import Rules
from fivesthrees_env.tiles import HIGH, LOW, Tile, mask_to_tiles

__all__ = ["END_NAMES", "Event", "Table"]

END_NAMES = ("left", "right", "up", "down")


class Event(NamedTuple):
    """What one ply did."""

    seat: int
    """Who made it."""
    kind: str
    """"lead", "play", "knock" or "draw"."""
    tile: Tile | None
    """The tile laid, (low, high); None for a knock and for a draw (only the drawer sees that tile)."""
    end: int | None
    """Where: 0 left, 1 right, 2 up, 3 down (see ``END_NAMES``); None for a knock or a draw."""
    count: int | None  # type: ignore[assignment]  # the contract's name, and a method of tuples
    """End count after the placement, in pips; None for a knock or a draw."""
    offered: int
    """Points of the event: of the count and, where it applies, the bonus for going out."""
    accepted: int
    """What of them the score took: all or nothing."""
    reason: str | None
    """Why the offered points were rejected ("over the target", "no winning on a lead"), or None."""
    round_end: str | None
    """"out" or "blocked" if the ply ended the round."""
    settlement: int
    """All Fives: points from other hands that the end of the round was worth."""
    settled_side: int | None
    """All Fives: the side that was paid; None where nobody was, or where the points were refused."""
    match_over: bool
    """Whether the ply decided the match."""


class Table:
    """A readable, read-only picture of one match record or view.

    Args:
        records: a batch of one: (1,) of dtype ``MATCH``. It is read, never copied.
        rules: the record's rules, where the caller has them at hand.
    """

    def __init__(self, records: np.ndarray, rules: Rules | None = None) -> None:
        self.records = records
        self.rules = rules if rules is not None else Rules.from_record(records["rules"][0])

    def __str__(self) -> str:
        from fivesthrees_env.rendering import ansi

        return ansi(self)

    def _repr_svg_(self) -> str:
        """The picture that notebooks show."""
        from fivesthrees_env.rendering import svg

        return svg(self)

    # ------------------------------------------------------------ the match

    @property
    def num_players(self) -> int:
        """Seats at the table."""
        return self.rules.num_players

    @property
    def num_sides(self) -> int:
        """Owners of a score."""
        return self.rules.num_sides

    def side_of(self, seat: int) -> int:
        """The side that owns a seat's score."""
        return self.rules.side_of(seat)

    @property
    def seat(self) -> int:
        """The seat to move."""
        return int(self.records["seat"][0])

    @property
    def opener(self) -> int:
        """The seat that leads, or led, this round."""
        return int(self.records["opener"][0])

    @property
    def round_index(self) -> int:
        """Rounds of the match before this one."""
        return int(self.records["round_index"][0])

    @property
    def over(self) -> bool:
        """Whether the match is decided."""
        return bool(self.records["over"][0])

    @property
    def winner(self) -> int | None:
        """The side that won the match, or None."""
        return _some(self.records["winner"][0])

    @property
    def scores(self) -> tuple[int, ...]:
        """Points per side."""
        return tuple(self.records["scores"][0, : self.num_sides].tolist())

    @property
    def last(self) -> Event | None:
        """The latest ply, or None at the start of a match."""
        event = self._event()
        return None if event.tile is None and event.kind == "lead" else event

    # ------------------------------------------------------------ the tiles

    @property
    def hands(self) -> tuple[tuple[Tile, ...], ...]:
        """The tiles of each seat; empty where they are hidden."""
        return tuple(mask_to_tiles(mask) for mask in self.records["hands"][0, : self.num_players])

    @property
    def held(self) -> tuple[int, ...]:
        """How many tiles each seat holds."""
        return tuple(self.records["held"][0, : self.num_players].tolist())

    @property
    def hidden(self) -> tuple[bool, ...]:
        """Which seats' hands lie face down in this picture."""
        hands = self.records["hands"][0]
        return tuple(n > 0 and hands[seat] == 0 for seat, n in enumerate(self.held))

    @property
    def sleeping(self) -> int:
        """Tiles undealt: asleep, or in the boneyard."""
        return int(self.records["undealt"][0])

    @property
    def lacks(self) -> tuple[tuple[int, ...], ...]:
        """Per seat, the values that it has shown it lacks and that no tile drawn since can show."""
        bits = self.records["lacks"][0, : self.num_players, None] >> np.arange(self.rules.highest + 1) & 1
        certain = (bits == 1) & (self.records["newer"][0, : self.num_players, : bits.shape[1]] == 0)
        return tuple(tuple(np.flatnonzero(row).tolist()) for row in certain)

    # ------------------------------------------------------------- the line

    @property
    def line(self) -> tuple[Tile, ...]:
        """The tiles from left to right, each as it lies: (left half, right half)."""
        return self._laid()[0]

    @property
    def arms(self) -> tuple[tuple[Tile, ...], tuple[Tile, ...]]:
        """The tiles up and down of the spinner, from the spinner outward, each (inner, outer half)."""
        return self._laid()[1]

    @property
    def spinner_index(self) -> int | None:
        """Position of the spinner in ``line``, or None."""
        value = int(self.records["spinner"][0])
        return None if value == NONE else self.line.index((value, value))

    @property
    def ends(self) -> tuple[int, ...]:
        """The pip that each open end shows: left, right (, up, down)."""
        return tuple(pip for pip in self.records["ends"][0].tolist() if pip != NONE)

    @property
    def count(self) -> int:
        """What the open ends add up to, in pips; 0 on the empty line."""
        return int(_count(self.records))

    def _laid(self) -> tuple[tuple[Tile, ...], tuple[tuple[Tile, ...], tuple[Tile, ...]]]:
        line: deque[Tile] = deque()
        arms: dict[int, list[Tile]] = {UP: [], DOWN: []}
        spinner = int(self.records["spinner"][0])
        for ply in self.records["history"][0, : int(self.records["num_plies"][0])]:
            tile, end = int(ply["tile"]), int(ply["end"])
            if tile == NONE:
                continue
            low, high = int(LOW[tile]), int(HIGH[tile])
            if not line:
                line.append((low, high))
            elif end == LEFT:
                line.appendleft((low, high) if line[0][0] == high else (high, low))
            elif end == RIGHT:
                line.append((low, high) if line[-1][1] == low else (high, low))
            else:
                inner = arms[end][-1][1] if arms[end] else spinner
                arms[end].append((low, high) if inner == low else (high, low))
        return tuple(line), (tuple(arms[UP]), tuple(arms[DOWN]))

    def _event(self) -> Event:
        ply, accepted, settlement, settled_side, round_end, match_over = self.records["event"].item()
        seat, kind, tile, end, count, reason, offered = ply
        laid = tile != NONE
        return Event(
            seat,
            KINDS[kind],
            (int(LOW[tile]), int(HIGH[tile])) if laid else None,
            end if laid else None,
            count if laid else None,
            offered,
            accepted,
            REASONS[reason],
            ROUND_ENDS[round_end],
            settlement,
            _some(settled_side),
            bool(match_over),
        )


@jit
def _count(records):
    return end_count(records[0]) if records[0].placed else 0


def _some(index: int) -> int | None:
    return None if index == NONE else int(index)
