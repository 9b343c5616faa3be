"""Stored matches: JSON Lines files, and the replay that proves them.

One JSON object per match: rules, seed, and per round the opener, the hands, the boneyard, the plies (action
ids) and the events. A record that the rules do not reproduce is refused with the ply that differs; the digest
at its end guards what no ply shows, such as a tile that was never laid. One written by hand may go without.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fivesthrees_env.kernel.record import NONE
from fivesthrees_env.match import RECORD_FORMAT, IllegalAction, Match, RecordError, digest
from fivesthrees_env.rules import Rules, RulesError
from fivesthrees_env.tiles import tile_index

__all__ = ["frames", "read_records", "replay", "write_records"]


def write_records(path: str | Path, matches: Iterable[Match], append: bool = False) -> None:
    """Write matches as JSON Lines, one object per line."""
    with Path(path).open("a" if append else "w", encoding="utf-8") as file:
        for match in matches:
            file.write(json.dumps(match.record(), separators=(",", ":")) + "\n")


def read_records(path: str | Path) -> Iterator[Match]:
    """Replay the matches of a JSON Lines file, one after the other.

    Raises:
        RecordError: at the first line that is no record or that does not replay; it names the line.
    """
    with Path(path).open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                yield Match.replay(json.loads(line))
            except (ValueError, RecursionError) as error:  # no text, no JSON, no record
                raise RecordError(f"{path}, line {number}: {error}") from error


def frames(record: Mapping[str, Any], make: type[Match] = Match) -> Iterator[Match]:
    """Replay a record step by step: the match after the first deal, then after each ply.

    It is one and the same match each time; ``copy()`` keeps a frame.

    Raises:
        RecordError: as ``Match.replay``, when it comes to what is wrong.
    """
    try:
        yield from _replay(make, record)
    except RulesError as error:
        raise RecordError(f"rules: {error}") from error
    except (KeyError, TypeError, AttributeError, IndexError, OverflowError, RecursionError) as error:
        raise RecordError(f"damaged record: {type(error).__name__}: {error}") from error
    except ValueError as error:
        raise error if isinstance(error, RecordError) else RecordError(str(error)) from error


def replay(make: type[Match], record: Mapping[str, Any]) -> Match:
    """The match of a record, played through the kernel again: see ``Match.replay``."""
    *_, match = frames(record, make)
    return match


def _replay(make: type[Match], record: Mapping[str, Any]) -> Iterator[Match]:
    rules, rounds = _check_head(record)
    match = make(rules, record["seed"])
    _deal_first(match, rounds[0])
    match._decks = [_deck(rules, stored) for stored in rounds[1:]]
    yield match
    for index, stored in enumerate(rounds):
        _check_deal(match, stored, index)
        for _ in _play(match, stored, index):
            yield match
    if list(match.scores) != list(record["scores"]) or match.winner != record["winner"]:
        raise RecordError(
            f"scores {record['scores']} and winner {record['winner']} are stored, but the plies give "
            f"{list(match.scores)} and {match.winner}"
        )
    if record.get("digest", digest(record)) != digest(record):
        raise RecordError("digest: the record was changed after it was written; all its plies fit")


def _check_head(record: Mapping[str, Any]) -> tuple[Rules, list[Mapping[str, Any]]]:
    if record["format"] != RECORD_FORMAT:
        raise RecordError(f"format: {record['format']!r} given; allowed: {RECORD_FORMAT!r}")
    rules = Rules.from_dict(record["rules"])
    if record["fingerprint"] != rules.fingerprint:
        raise RecordError(
            f"fingerprint: {record['fingerprint']!r} given, but these rules have {rules.fingerprint!r}"
        )
    if record["seed"] is None:
        raise RecordError("seed: None given; allowed: a whole number")
    if not record["rounds"]:
        raise RecordError("rounds: none given; allowed: at least one")
    return rules, record["rounds"]


def _deal_first(match: Match, stored: Mapping[str, Any]) -> None:
    """Round 0: as the seed deals it, or set up by hand."""
    if _deal_of(match) != _deal_of_record(stored):
        match.deal(stored["hands"], stored["opener"], stored["scores"], stored["boneyard"])


def _deck(rules: Rules, stored: Mapping[str, Any]) -> np.ndarray:
    """The deck that deals a stored round: the hands in blocks, the sleepers, the boneyard."""
    hands, boneyard = stored["hands"], stored["boneyard"] or []
    if [len(hand) for hand in hands] != [rules.hand_size] * rules.num_players:
        raise RecordError(f"hands: {hands} stored; allowed: {rules.num_players} of {rules.hand_size} tiles")
    given = [tile_index(*tile) for tiles in [*hands, boneyard] for tile in tiles]
    first, last = given[: len(given) - len(boneyard)], given[len(given) - len(boneyard) :]
    deck = first + [tile for tile in range(rules.num_tiles) if tile not in given] + last
    if sorted(deck) != list(range(rules.num_tiles)):
        raise RecordError(f"hands {hands} and boneyard {boneyard} are no deal of this set")
    return np.array(deck, np.int8)


def _check_deal(match: Match, stored: Mapping[str, Any], index: int) -> None:
    """A later round is led by whom the rules say, and exists only if the one before is over."""
    if match.over or match.round_index != index:
        raise RecordError(f"round {index}: stored, but the match stands in round {match.round_index}")
    if stored["opener"] not in range(match.num_players):
        raise RecordError(f"round {index}: opener {stored['opener']!r} stored, which is no seat")
    lot = match.rules.lead_first == "lot" and match.records["round_winner"][0] == NONE
    if index and match.rules.lead_later == "winner" and lot:
        match.records["opener"] = match.records["seat"] = stored["opener"]
        match._deals["opener"][index] = stored["opener"]
    if _deal_of(match) != _deal_of_record(stored):
        raise RecordError(
            f"round {index}: {_deal_of_record(stored)} stored, but the rules give {_deal_of(match)}"
        )


def _deal_of(match: Match) -> dict[str, Any]:
    return {
        "opener": match.opener,
        "hands": [sorted(hand) for hand in match.hands],
        "boneyard": list(match.boneyard) if match.rules.draw else None,
        "scores": list(match.scores),
    }


def _deal_of_record(stored: Mapping[str, Any]) -> dict[str, Any]:
    boneyard = stored["boneyard"]
    return {
        "opener": stored["opener"],
        "hands": [sorted(tuple(tile) for tile in hand) for hand in stored["hands"]],
        "boneyard": None if boneyard is None else [tuple(tile) for tile in boneyard],
        "scores": list(stored["scores"]),
    }


def _play(match: Match, stored: Mapping[str, Any], index: int) -> Iterator[None]:
    plies, events = stored["plies"], stored["events"]
    if len(plies) != len(events):
        raise RecordError(f"round {index}: {len(plies)} plies but {len(events)} events")
    for number, (action, wanted) in enumerate(zip(plies, events, strict=True)):
        where = f"round {index}, ply {number}"
        if match.over or match.round_index != index:
            raise RecordError(f"{where}: the round was over before it")
        try:
            event = match.play(action)
        except IllegalAction as error:
            raise RecordError(f"{where}: {error}") from error
        wanted = {**wanted, "tile": wanted["tile"] and tuple(wanted["tile"])}
        if event._asdict() != wanted:
            raise RecordError(f"{where}: {wanted} stored, but the rules give {event._asdict()}")
        yield
