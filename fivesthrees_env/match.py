"""``Match``: one match, for people, tests and search.

>>> match = Match(Rules.fives_and_threes(num_players=2), seed=7)
>>> while not match.over:
...     event = match.play(match.legal_actions()[0])
>>> Match.replay(match.record()).scores == match.scores
True
"""

from __future__ import annotations

import hashlib
import json
import operator
import secrets
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from typing import Any

import numba
import numpy as np

from fivesthrees_env.kernel.deal import deal, deal_next, lead_with_highest, shuffle, start_match
from fivesthrees_env.kernel.episode import begin
from fivesthrees_env.kernel.jit import jit
from fivesthrees_env.kernel.play import is_legal, play, write_mask
from fivesthrees_env.kernel.record import EVENT, MATCH, MAX_SEATS, NONE
from fivesthrees_env.rules import Rules
from fivesthrees_env.table import END_NAMES, Event, Table
from fivesthrees_env.tiles import HIGH, LOW, MAX_TILES, Tile, mask_to_tiles, tile_index, tile_name
from fivesthrees_env.views import redact

__all__ = ["DealError", "IllegalAction", "Match", "RecordError", "check_seed", "whole_number"]

RECORD_FORMAT = "fivesthrees-match-1"

# What ``Match.advance`` tells in one number: the seat to move next, and these.
SEAT, PAID, ROUND_OVER, MATCH_OVER = 7, 8, 16, 32
_ILLEGAL = -1

#: One ply and one deal as a match notes them; events and records are made from these on demand.
_PLIED = np.dtype([("event", EVENT), ("action", "i2")], align=True)
_DEALT = np.dtype(
    [
        ("hands", "u8", (MAX_SEATS,)),
        ("first_ply", "i4"),
        ("scores", "i2", (MAX_SEATS,)),
        ("opener", "i1"),
        ("undealt", "i1"),
        ("deck", "i1", (MAX_TILES,)),
    ],
    align=True,
)

_WHOLE_NUMBERS = {int, *(np.dtype(code).type for code in "bhilqBHILQ")}
_AS_SHUFFLED = np.zeros(0, np.int8)


class IllegalAction(ValueError):
    """An action that the seat to move may not take; the match is unchanged."""


class DealError(ValueError):
    """Hands, scores or a boneyard that no round can start with."""


class RecordError(ValueError):
    """A stored match that cannot be read, or that the rules do not reproduce."""


class Match(Table):
    """One match: play it, copy it, set up a position, record and replay it.

    Reads like a ``Table`` (``seat``, ``scores``, ``hands``, ``line``, ``ends``, ``count``, ...).
    All hands are open here; what a seat may know is ``view(seat)``.

    Args:
        rules: a ``Rules``, a preset's name or a dict; default: Fives and Threes for four, in pairs.
        seed: 0 to 2**63 - 1; the same seed gives the same deals. None draws one (``match.seed``).
    """

    def __init__(self, rules: Rules | str | Mapping[str, Any] | None = None, seed: int | None = None) -> None:
        rules = Rules.coerce(rules)
        self.seed = check_seed(seed)
        records = np.zeros(1, MATCH)
        records["rules"] = rules.record
        super().__init__(records, rules)
        self._num_actions = rules.num_actions
        self._decks: list[np.ndarray] = []  # of later rounds, where they are not left to chance
        self._plies, self._deals = np.zeros(64, _PLIED), np.zeros(8, _DEALT)
        self._num_plies, self._num_deals = 0, 1
        self._events: list[Event] = []
        _begin(records, self.seed, self._deals)

    # --------------------------------------------------------------- playing

    def action_mask(self) -> np.ndarray:
        """1 for every legal action of the seat to move: (num_actions,) int8; all 0 at the end."""
        mask = np.empty(self._num_actions, np.int8)
        _write_mask(self.records, mask)
        return mask

    def legal_actions(self) -> np.ndarray:
        """Ids of the legal actions of the seat to move, ascending."""
        return np.flatnonzero(self.action_mask())

    def play(self, action: int) -> Event:
        """Make an action of the seat to move; a finished round is followed by the next deal.

        Raises:
            IllegalAction: if the action is not legal now; nothing has changed.
        """
        self.advance(self.check_action(action))
        return self._event()

    def advance(self, action: int) -> int:
        """``play`` where a microsecond counts: no ``Event`` is made before somebody asks.

        Args:
            action: from ``check_action``.

        Returns:
            The seat to move next (``outcome & SEAT``) and, as bits, whether points may have been
            made (``PAID``), whether a round (``ROUND_OVER``) and whether the match (``MATCH_OVER``)
            has ended.

        Raises:
            IllegalAction: if the action is not legal now; nothing has changed.
        """
        ply = self._num_plies
        if ply == self._plies.size:
            self._plies = np.concatenate([self._plies, np.zeros_like(self._plies)])
        outcome: int = _play_compiled()(self.records, action, self._plies, ply)
        if outcome < 0:
            raise IllegalAction(self._why_not(action))
        self._num_plies = ply + 1
        if (outcome & (ROUND_OVER | MATCH_OVER)) == ROUND_OVER:
            outcome += self._deal_on()
        return outcome

    @property
    def events(self) -> list[Event]:
        """What every ply since the match began has done."""
        for ply in range(len(self._events), self._num_plies):
            self._events.append(Table(self._plies[ply : ply + 1], self.rules)._event())
        return self._events.copy()

    def check_action(self, action: Any) -> int:
        """The action as an int, if it is a whole number in the range of actions.

        Raises:
            IllegalAction: if it is not.
        """
        index = int(action) if type(action) in _WHOLE_NUMBERS else whole_number(action)
        if index is None:
            raise IllegalAction(f"action {action!r} given; allowed: a whole number, one of {self._allowed()}")
        if not 0 <= index < self._num_actions:
            raise IllegalAction(
                f"action {index} is outside 0 to {self._num_actions - 1}; allowed now: {self._allowed()}"
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
        twin._num_actions = self._num_actions
        twin._decks = self._decks.copy()
        twin._plies, twin._deals = self._plies.copy(), self._deals.copy()
        twin._num_plies, twin._num_deals = self._num_plies, self._num_deals
        twin._events = self._events.copy()
        return twin

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Numba knows a dtype by its identity much faster than an equal one that was unpickled.
        self.__dict__.update(state)
        # Shared memory may come read-only, and compiled code would not ask.
        self.records = np.require(self.records.view(MATCH), requirements="W")
        self._plies = np.require(self._plies.view(_PLIED), requirements="W")
        self._deals = np.require(self._deals.view(_DEALT), requirements="W")

    def view(self, seat: int) -> np.ndarray:
        """What a seat knows: a batch of one view, (1,) of dtype ``MATCH``; the viewer is seat 0."""
        return redact(self.records, seat)

    @property
    def boneyard(self) -> tuple[Tile, ...]:
        """The undealt tiles: in the order in which they will be drawn, or asleep."""
        return self._undealt(self.records[0])

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
            opener: the seat that leads; where the highest double decides round 1 and this seat
                holds it, it must be led.
            scores: points per side, below the target; default all 0.
            boneyard: undealt tiles in drawing order, where the game draws, no more than full hands
                leave; default: so many of the others, shuffled.

        Raises:
            DealError: if that cannot be; nothing has changed.
        """
        dealt = self._check_hands(hands)
        undealt = self._check_boneyard(dealt, boneyard)
        points = self._check_scores(scores)
        if not (_is_int(opener) and 0 <= opener < self.num_players):
            raise DealError(f"opener: {opener!r} given; allowed: 0 to {self.num_players - 1}")
        self._set_up(dealt, int(opener), points, undealt)
        self._events = []
        self._num_plies, self._num_deals = 0, 1
        _note_first_deal(self.records, self._deals)

    def _set_up(
        self, hands: list[list[int]], opener: int, scores: list[int], undealt: list[int] | None
    ) -> None:
        records, dealt = self.records, [tile for hand in hands for tile in hand]
        _restart(records)
        deck = records["deck"][0, : self.rules.num_tiles]
        if undealt is None:
            undealt = [tile for tile in deck.tolist() if tile not in dealt]
            undealt = undealt[: self._longest_boneyard] if self.rules.draw else undealt
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

    def _check_boneyard(self, hands: list[list[int]], boneyard: Sequence[Tile] | None) -> list[int] | None:
        if boneyard is None:
            return None
        if not self.rules.draw:
            raise DealError("boneyard: given, but nothing is drawn in this game; allowed: None")
        undealt = self._check_tiles(boneyard, "boneyard")
        if len(undealt) > self._longest_boneyard:
            raise DealError(f"boneyard: {len(undealt)} tiles given; allowed: up to {self._longest_boneyard}")
        self._check_once([tile for hand in hands for tile in hand] + undealt)
        return undealt

    @property
    def _longest_boneyard(self) -> int:
        """What full hands leave: an observation has no bits for more."""
        return self.rules.num_tiles - self.rules.hand_size * self.num_players

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
            if self.rules.overshoot == "reject" and score % self.rules.score_unit:
                raise DealError(
                    f"scores: {score!r} given; allowed: multiples of {self.rules.score_unit}, "
                    f"as all points are, or the target cannot be met"
                )
        return [int(score) for score in scores]

    # ---------------------------------------------------------------- records

    def record(self) -> dict[str, Any]:
        """The match so far as JSON types: rules, seed, each round's deal, plies and events."""
        events = [_as_json(event) for event in self.events]
        rounds = [self._round(index, events) for index in range(self._num_deals)]
        record = {
            "format": RECORD_FORMAT,
            "rules": self.rules.to_dict(),
            "fingerprint": self.rules.fingerprint,
            "seed": self.seed,
            "rounds": rounds,
            "scores": list(self.scores),
            "winner": self.winner,
        }
        return {**record, "digest": digest(record)}

    @classmethod
    def replay(cls, record: Mapping[str, Any]) -> Match:
        """Play a record through the kernel again.

        Raises:
            RecordError: if the record is damaged, or if the rules give another event than it tells:
                the message names the round and the ply that differ.
        """
        from fivesthrees_env.records import replay

        return replay(cls, record)

    def _round(self, index: int, events: list[dict[str, Any]]) -> dict[str, Any]:
        """One round of the record; `events` are those of the whole match."""
        dealt = self._deals[index]
        last = index + 1 == self._num_deals
        plies = slice(
            int(dealt["first_ply"]),
            self._num_plies if last else int(self._deals[index + 1]["first_ply"]),
        )
        hands = [mask_to_tiles(mask) for mask in dealt["hands"][: self.num_players]]
        return {
            "opener": int(dealt["opener"]),
            "hands": [[list(tile) for tile in hand] for hand in hands],
            "boneyard": [list(tile) for tile in self._undealt(dealt)] if self.rules.draw else None,
            "scores": dealt["scores"][: self.num_sides].tolist(),
            "plies": self._plies["action"][plies].tolist(),
            "events": events[plies],
        }

    def _undealt(self, dealt: np.void) -> tuple[Tile, ...]:
        start = self.rules.num_tiles - int(dealt["undealt"])
        deck = dealt["deck"][start : self.rules.num_tiles]
        return tuple((int(LOW[tile]), int(HIGH[tile])) for tile in deck)

    def _deal_on(self) -> int:
        """Deal the round after a finished one; returns who leads."""
        index = self._num_deals
        if index == self._deals.size:
            self._deals = np.concatenate([self._deals, np.zeros_like(self._deals)])
        deck = self._decks.pop(0) if self._decks else _AS_SHUFFLED
        self._num_deals = index + 1
        return int(_next_round(self.records, deck, self._deals, index, self._num_plies))

    # ------------------------------------------------------------------ words

    def __repr__(self) -> str:
        now = f"won by side {self.winner}" if self.over else f"seat {self.seat} to move"
        return f"<Match {self.rules}, round {self.round_index + 1}, scores {self.scores}, {now}>"

    def _allowed(self) -> str:
        actions = self.legal_actions()
        if not actions.size:
            return "none, the match is over"
        return ", ".join(f"{action} ({self.action_name(action)})" for action in actions)

    def _why_not(self, action: int) -> str:
        what = f"action {action} ({self.action_name(action)})"
        if self.over:
            return f"{what}: the match is over, nothing is legal"
        return f"{what} is not legal for seat {self.seat}; allowed now: {self._allowed()}"


def whole_number(value: Any) -> int | None:
    """The int that a Python or NumPy integer, or an array of one, stands for; None for all else."""
    if isinstance(value, np.ndarray) and value.size == 1:
        value = value.reshape(())[()]
    if isinstance(value, (bool, np.bool_)):
        return None
    try:
        return operator.index(value)
    except TypeError:
        return None


def _as_json(event: Event) -> dict[str, Any]:
    """An event as it stands in a record."""
    return {**event._asdict(), "tile": event.tile and list(event.tile)}


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


def digest(record: Mapping[str, Any]) -> str:
    """Sixteen hex digits that change with anything else in a record."""
    text = json.dumps({key: record[key] for key in record if key != "digest"}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _is_int(value: object) -> bool:
    return isinstance(value, (int, np.integer)) and not isinstance(value, bool)


def _is_list(value: object) -> bool:
    return isinstance(value, (list, tuple, np.ndarray))


def compiled_for(function: Any, *arguments: Any) -> Callable[..., Any]:
    """The machine code of a compiled function for the types of these arguments.

    Calling it skips Numba's look at the types of the arguments, which takes longer than a ply. They
    must be of exactly the types given here.
    """
    types = tuple(map(numba.typeof, arguments))
    function.compile(types)
    return function.overloads[types].entry_point


@jit
def _write_mask(matches, mask):
    write_mask(matches[0], mask)


@jit
def _begin(matches, seed, deals):
    begin(matches[0], seed)
    _note_deal(matches[0], deals[0], 0)


@jit
def _play(matches, action, plies, index):
    """Make an action, if it is legal, and note it: the outcome as ``Match.advance`` tells it."""
    match, event, plied = matches[0], matches[0].event, plies[index]
    if not is_legal(match, action):
        return np.int64(_ILLEGAL)
    play(match, action)
    plied.event = event
    plied.action = action
    outcome = np.int64(0)
    if event.accepted != 0 or event.settlement != 0:
        outcome |= PAID
    if event.round_end != 0:
        outcome |= ROUND_OVER
    if match.over:
        outcome |= MATCH_OVER
    if event.round_end == 0 or match.over:
        outcome |= match.seat
    return outcome


@cache
def _play_compiled() -> Callable[..., int]:
    return compiled_for(_play, np.zeros(1, MATCH), 0, np.zeros(1, _PLIED), 0)


@jit
def _next_round(matches, deck, deals, index, first_ply):
    match = matches[0]
    match.round_index += 1
    shuffle(match)
    for i in range(deck.size):
        match.deck[i] = deck[i]
    deal_next(match)
    _note_deal(match, deals[index], first_ply)
    return match.seat


@jit
def _note_deal(match, dealt, first_ply):
    """Keep what a record tells of a deal."""
    dealt.first_ply = first_ply
    dealt.opener, dealt.undealt = match.opener, match.undealt
    for seat in range(MAX_SEATS):
        dealt.hands[seat] = match.hands[seat]
        dealt.scores[seat] = match.scores[seat]
    for i in range(match.rules.num_tiles):
        dealt.deck[i] = match.deck[i]


@jit
def _note_first_deal(matches, deals):
    _note_deal(matches[0], deals[0], 0)


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
