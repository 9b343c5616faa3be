"""``Match``: one match, for people, tests and search.

    >>> match = Match(Rules.fives_and_threes(num_players=2), seed=7)
    >>> while not match.over:
    ...     event = match.play(match.legal_actions()[0])
    >>> Match.replay(match.record()).scores == match.scores
    True
"""

from __future__ import annotations

import operator
import secrets
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fivesthrees_env.kernel.deal import deal, deal_next, lead_with_highest, shuffle, start_match
from fivesthrees_env.kernel.episode import begin_one, play_one
from fivesthrees_env.kernel.jit import jit
from fivesthrees_env.kernel.play import write_mask
from fivesthrees_env.kernel.record import MATCH, NONE
from fivesthrees_env.rules import Rules
from fivesthrees_env.table import END_NAMES, Event, Table
from fivesthrees_env.tiles import HIGH, LOW, Tile, tile_index, tile_name
from fivesthrees_env.views import redact

__all__ = ["DealError", "IllegalAction", "Match", "RecordError", "check_seed"]

RECORD_FORMAT = "fivesthrees-match-1"

_AS_SHUFFLED = np.zeros(0, np.int8)


class IllegalAction(ValueError):
    """An action that the seat to move may not take; the match is unchanged."""


class DealError(ValueError):
    """Hands, scores or a boneyard that no round can start with."""


class RecordError(ValueError):
    """A stored match that cannot be read, or that the rules do not reproduce."""


class Match(Table):
    """One match: play it, copy it, set up a position, record and replay it.

    Reads like a ``Table`` (``seat``, ``scores``, ``hands``, ``line``, ``ends``, ``count``, ...). All hands are
    open here; what a seat may know is ``view(seat)``.

    Args:
        rules: a ``Rules``, a preset's name or a dict; default: Fives and Threes for four, in pairs.
        seed: 0 to 2**63 - 1; the same seed gives the same deals. None draws one (see ``match.seed``).
    """

    def __init__(
        self, rules: Rules | str | Mapping[str, Any] | None = None, seed: int | None = None
    ) -> None:
        rules = Rules.coerce(rules)
        self.seed = check_seed(seed)
        records = np.zeros(1, MATCH)
        records["rules"] = rules.record
        super().__init__(records, rules)
        begin_one(records, self.seed)
        self.events: list[Event] = []
        self._mask = np.zeros(rules.num_actions, np.int8)
        self._rounds: list[dict[str, Any]] = []
        self._decks: list[np.ndarray] = []  # how later rounds are dealt, where that is not left to chance
        self._note_round()

    # --------------------------------------------------------------- playing

    def action_mask(self) -> np.ndarray:
        """1 for every legal action of the seat to move: (num_actions,) int8; all 0 once it is over."""
        _write_mask(self.records, self._mask)
        return self._mask.copy()

    def legal_actions(self) -> np.ndarray:
        """Ids of the legal actions of the seat to move, ascending."""
        return np.flatnonzero(self.action_mask())

    def play(self, action: int) -> Event:
        """Make an action of the seat to move. A finished round is followed by the next deal at once.

        Raises:
            IllegalAction: if the action is not legal now; nothing has changed.
        """
        index = self.check_action(action)
        if not play_one(self.records, index):
            raise IllegalAction(self._why_not(index))
        event = self._event()
        self.events.append(event)
        current = self._rounds[-1]
        current["plies"].append(index)
        current["events"].append(event)
        if event.round_end and not event.match_over:
            _next_round(self.records, self._decks.pop(0) if self._decks else _AS_SHUFFLED)
            self._note_round()
        return event

    def check_action(self, action: Any) -> int:
        """The action as an int, if it is a whole number at all.

        Raises:
            IllegalAction: if it is not.
        """
        try:
            if isinstance(action, np.ndarray) and action.size == 1:
                action = action.reshape(())[()]
            if isinstance(action, (bool, np.bool_)):
                raise TypeError
            index = operator.index(action)
        except TypeError:
            raise IllegalAction(
                f"action {action!r} given; allowed: a whole number, one of {self._allowed()}"
            ) from None
        if not 0 <= index < self.rules.num_actions:
            raise IllegalAction(
                f"action {index} is outside 0 to {self.rules.num_actions - 1}; "
                f"allowed now: {self._allowed()}"
            )
        return index

    def action_name(self, action: int) -> str:
        """An action in words: ``[4|5] left``, ``draw``, ``knock``."""
        if action == self.rules.knock_action:
            return "knock"
        if action == self.rules.draw_action:
            return "draw"
        end, tile = divmod(int(action), self.rules.num_tiles)
        return f"{tile_name(tile)} {END_NAMES[end]}"

    def copy(self) -> Match:
        """An independent copy in the same state: it continues identically."""
        twin = object.__new__(type(self))
        Table.__init__(twin, self.records.copy(), self.rules)
        twin.seed = self.seed
        twin.events = self.events.copy()
        twin._mask = self._mask.copy()
        twin._decks = self._decks.copy()
        lists = ("plies", "events")
        twin._rounds = [{**r, **{key: r[key].copy() for key in lists}} for r in self._rounds]
        return twin

    def view(self, seat: int) -> np.ndarray:
        """What a seat knows: a batch of one view, (1,) of dtype ``MATCH``, the viewer turned to seat 0."""
        if not 0 <= seat < self.num_players:
            raise IndexError(f"seat {seat} given; allowed: 0 to {self.num_players - 1}")
        return redact(self.records, seat)

    @property
    def boneyard(self) -> tuple[Tile, ...]:
        """The undealt tiles: in the order in which they will be drawn, or asleep."""
        start = self.rules.num_tiles - self.sleeping
        deck = self.records["deck"][0, start : self.rules.num_tiles]
        return tuple((int(LOW[tile]), int(HIGH[tile])) for tile in deck)

    # ------------------------------------------------------ positions by hand

    def deal(
        self,
        hands: Sequence[Sequence[Tile]],
        opener: int = 0,
        scores: Sequence[int] | None = None,
        boneyard: Sequence[Tile] | None = None,
    ) -> None:
        """Set up a round exactly; the match starts anew from there.

        Args:
            hands: per seat, 1 to ``rules.hand_size`` tiles (a, b).
            opener: the seat that leads; where the highest double decides round 1 and this seat holds it, it
                must be led.
            scores: points per side, below the target; default all 0.
            boneyard: undealt tiles in drawing order, where the game draws; default: all others, shuffled.

        Raises:
            DealError: if that cannot be; nothing has changed.
        """
        dealt = self._check_hands(hands)
        undealt = self._check_boneyard(dealt, boneyard)
        points = self._check_scores(scores)
        if not (_is_int(opener) and 0 <= opener < self.num_players):
            raise DealError(f"opener: {opener!r} given; allowed: 0 to {self.num_players - 1}")
        self._set_up(dealt, int(opener), points, undealt)
        self.events = []
        self._rounds = []
        self._note_round()

    def _set_up(
        self, hands: list[list[int]], opener: int, scores: list[int], undealt: list[int] | None
    ) -> None:
        records, dealt = self.records, [tile for hand in hands for tile in hand]
        _restart(records)
        deck = records["deck"][0, : self.rules.num_tiles]
        if undealt is None:
            undealt = [tile for tile in deck.tolist() if tile not in dealt]
        missing = [t for t in range(self.rules.num_tiles) if t not in dealt and t not in undealt]
        deck[:] = dealt + missing + undealt
        _deal(records, opener)
        records["undealt"] = len(undealt)
        for seat, hand in enumerate(hands):
            records["hands"][0, seat] = sum(1 << tile for tile in hand)
            records["held"][0, seat] = len(hand)
        records["scores"][0, : self.num_sides] = scores
        if self.rules.lead_first == "highest_double":
            _force_lead(records, opener)

    def _check_hands(self, hands: Sequence[Sequence[Tile]]) -> list[list[int]]:
        if not _is_list(hands) or len(hands) != self.num_players:
            raise DealError(f"hands: {hands!r} given; allowed: {self.num_players} lists of tiles")
        dealt = [self._check_tiles(hand, f"hands[{seat}]") for seat, hand in enumerate(hands)]
        for seat, hand in enumerate(dealt):
            if not 1 <= len(hand) <= self.rules.hand_size:
                raise DealError(
                    f"hands[{seat}]: {len(hand)} tiles given; allowed: 1 to {self.rules.hand_size}"
                )
        self._check_once([tile for hand in dealt for tile in hand])
        return dealt

    def _check_boneyard(
        self, hands: list[list[int]], boneyard: Sequence[Tile] | None
    ) -> list[int] | None:
        if boneyard is None:
            return None
        if not self.rules.draw:
            raise DealError("boneyard: given, but nothing is drawn in this game; allowed: None")
        undealt = self._check_tiles(boneyard, "boneyard")
        self._check_once([tile for hand in hands for tile in hand] + undealt)
        return undealt

    def _check_tiles(self, tiles: Sequence[Tile], where: str) -> list[int]:
        if not _is_list(tiles):
            raise DealError(f"{where}: {tiles!r} given; allowed: a list of tiles (a, b)")
        for tile in tiles:
            halves = tuple(tile) if _is_list(tile) else ()
            if len(halves) != 2 or not all(
                _is_int(half) and 0 <= half <= self.rules.highest for half in halves
            ):
                raise DealError(
                    f"{where}: {tile!r} is no tile; allowed: (a, b) with halves 0 to {self.rules.highest}"
                )
        return [tile_index(int(a), int(b)) for a, b in tiles]

    def _check_once(self, tiles: list[int]) -> None:
        for tile in tiles:
            if tiles.count(tile) > 1:
                raise DealError(f"{tile_name(tile)} is dealt twice; each tile is there once")

    def _check_scores(self, scores: Sequence[int] | None) -> list[int]:
        if scores is None:
            return [0] * self.num_sides
        allowed = f"{self.num_sides} whole numbers from 0 to {self.rules.target - 1}"
        if not _is_list(scores) or len(scores) != self.num_sides:
            raise DealError(f"scores: {scores!r} given; allowed: {allowed}")
        for score in scores:
            if not (_is_int(score) and 0 <= score < self.rules.target):
                raise DealError(f"scores: {score!r} given; allowed: {allowed}")
        return [int(score) for score in scores]

    # ---------------------------------------------------------------- records

    def record(self) -> dict[str, Any]:
        """The match so far as JSON types: rules, seed, and per round the deal, the plies, the events."""
        rounds = [
            {**r, "plies": r["plies"].copy(), "events": [e._asdict() for e in r["events"]]}
            for r in self._rounds
        ]
        return {
            "format": RECORD_FORMAT,
            "rules": self.rules.to_dict(),
            "fingerprint": self.rules.fingerprint,
            "seed": self.seed,
            "rounds": rounds,
            "scores": list(self.scores),
            "winner": self.winner,
        }

    @classmethod
    def replay(cls, record: Mapping[str, Any]) -> Match:
        """Play a record through the kernel again.

        Raises:
            RecordError: if the record is damaged, or if the rules give another event than it tells: the
                message names the round and the ply that differ.
        """
        from fivesthrees_env.records import replay

        return replay(cls, record)

    def _note_round(self) -> None:
        self._rounds.append(
            {
                "opener": self.opener,
                "hands": [[list(tile) for tile in hand] for hand in self.hands],
                "boneyard": [list(tile) for tile in self.boneyard] if self.rules.draw else None,
                "scores": list(self.scores),
                "plies": [],
                "events": [],
            }
        )

    # ------------------------------------------------------------------ words

    def __str__(self) -> str:
        from fivesthrees_env.rendering import ansi

        return ansi(self)

    def __repr__(self) -> str:
        return (
            f"<Match {self.rules}, round {self.round_index + 1}, scores {self.scores}, "
            + (f"won by side {self.winner}>" if self.over else f"seat {self.seat} to move>")
        )

    def _allowed(self) -> str:
        actions = self.legal_actions()
        if not actions.size:
            return "none, the match is over"
        return ", ".join(f"{action} ({self.action_name(action)})" for action in actions)

    def _why_not(self, action: int) -> str:
        if self.over:
            return f"action {action} ({self.action_name(action)}): the match is over, nothing is legal"
        return (
            f"action {action} ({self.action_name(action)}) is not legal for seat {self.seat}; "
            f"allowed now: {self._allowed()}"
        )


def check_seed(seed: int | None) -> int:
    """A seed as an int; None draws a fresh one.

    Raises:
        ValueError: if it is not a whole number from 0 to 2**63 - 1.
    """
    if seed is None:
        return secrets.randbits(32)
    if not _is_int(seed) or not 0 <= seed < 2**63:
        raise ValueError(f"seed: {seed!r} given; allowed: None or a whole number from 0 to 2**63 - 1")
    return int(seed)


def _is_int(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))


@jit
def _write_mask(matches, mask):
    write_mask(matches[0], mask)


@jit
def _next_round(matches, deck):
    match = matches[0]
    match.round_index += 1
    shuffle(match)
    for i in range(deck.size):
        match.deck[i] = deck[i]
    deal_next(match)


@jit
def _restart(matches):
    start_match(matches[0])


@jit
def _deal(matches, opener):
    deal(matches[0], opener)


@jit
def _force_lead(matches, opener):
    """AF-2 for a deal set up by hand: an opener who holds the starting tile must lead it."""
    match = matches[0]
    lead_with_highest(match)
    if match.opener != opener:
        match.opener = match.seat = opener
        match.must_lead = NONE
