"""Match equity: how likely each side is to win the match, from the scores at the start of a round.

    >>> equity = Equity.load("fives_and_threes-4p")
    >>> equity(scores=[[59, 40], [60, 40]], openers=[0, 0])     # (N, sides) float32, rows sum to 1
    >>> equity.after_round(matches)                             # what finished rounds are worth

Compiled code asks the table itself: ``win_probability(equity.table, match.scores, opener, side)`` at the
start of a round, ``value_of_round(equity.table, match, side)`` at its end.

The tables are made by ``python -m train.equity``, which says how; each holds its provenance (``about``).
"""

from __future__ import annotations

import hashlib
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from fivesthrees_env.kernel.deal import next_opener
from fivesthrees_env.kernel.jit import jit
from fivesthrees_env.kernel.record import MATCH, NONE
from fivesthrees_env.rules import Rules

__all__ = ["Equity", "EquityError", "EquityTable", "value_of_round", "win_probability"]

FORMAT = "fivesthrees-equity-1"

#: Tables that come with the project, and those that were made here.
SHIPPED = Path(__file__).resolve().parent / "tables"
MADE_HERE = Path(__file__).resolve().parents[1] / "runs" / "equity"

#: Stored probabilities are whole multiples of 1 / _ONE.
_ONE = 65535


class EquityError(ValueError):
    """A table that is missing, damaged or of other rules, or a question that it cannot answer."""


class EquityTable(NamedTuple):
    """What compiled code reads.

    The scores are turned so that the opener's side comes first, then the sides to its left in turn. With K
    stored levels of a score and S sides, the turned scores at levels (i, j, …) have the row
    ``(i * K + j) * K + …``, and ``values[lead, row, k]`` is the probability that the side k places to the
    left of the first one wins the match. ``lead`` is 0 where the opener is known; 1 where it is not known
    before the deal (by lot, or the highest double leads), and then side 0 comes first.
    """

    values: np.ndarray
    """(2, K**S, S) float32."""
    places: np.ndarray
    """(target,) float32: where each score lies among the levels; 2.5 is midway between levels 2 and 3.
    Between levels, probabilities are interpolated linearly in every score. With two sides every score
    that occurs is a level of its own."""


@jit
def win_probability(table, scores, opener, side):
    """Probability that a side wins the match, at the start of a round or once the match is over.

    Args:
        table: an ``EquityTable``.
        scores: points per side, such as ``match.scores``; what follows the last side is not read.
        opener: the seat that leads the round; NONE (-1) where that is not known before the deal.
        side: whose probability.
    """
    places, sides = table.places, table.values.shape[2]
    for k in range(sides):
        if scores[k] >= places.size:
            return 1.0 if k == side else 0.0
    lead = 1 if opener == NONE else 0
    first = 0 if opener == NONE else np.int64(opener) % sides
    levels = np.int64(places[places.size - 1]) + 1
    row, between = np.int64(0), False
    for k in range(first, first + sides):
        place = places[scores[k if k < sides else k - sides]]
        row = row * levels + np.int64(place)
        between |= place != np.int64(place)
    column = side - first if side >= first else side - first + sides
    if not between:
        return np.float64(table.values[lead, row, column])
    return _interpolated(table, scores, lead, first, levels, column)


@jit
def _interpolated(table, scores, lead, first, levels, column):
    """Multilinear interpolation between the 2**sides rows around the turned scores."""
    places, sides = table.places, table.values.shape[2]
    total = 0.0
    for corner in range(1 << sides):
        weight, row = 1.0, np.int64(0)
        for k in range(sides):
            place = places[scores[first + k if first + k < sides else first + k - sides]]
            level = np.int64(place)
            part = place - level
            upper = corner >> k & 1
            weight *= part if upper else 1.0 - part
            row = row * levels + level + upper
        if weight > 0.0:
            total += weight * table.values[lead, row, column]
    return total


@jit
def value_of_round(table, match, side):
    """Probability that a side wins the match, once its round has ended and before the next is dealt.

    Args:
        table: an ``EquityTable``.
        match: a match whose round has ended, or which is over.
        side: whose probability.
    """
    return win_probability(table, match.scores, next_opener(match), side)


class Equity:
    """Match equity of one game.

    Attributes:
        rules: the game.
        table: the numbers, for compiled code.
        levels: the scores that are stored, in points: (K,) int.
        about: where the numbers come from: policy, rounds per state, seed, version, standard errors.
    """

    def __init__(
        self, rules: Rules, levels: np.ndarray, values: np.ndarray, about: Mapping[str, Any]
    ) -> None:
        self.rules = rules
        self.levels = levels
        self.about = dict(about)
        values = np.ascontiguousarray(values, np.float32)
        values.setflags(write=False)
        self.table = EquityTable(values, score_places(rules, levels))

    @classmethod
    def load(cls, rules: Rules | str, path: str | Path | None = None) -> Equity:
        """The table of a game: the given file, else the one that comes with the project or was made here.

        Args:
            rules: a ``Rules`` or a preset's name.
            path: another file.

        Raises:
            EquityError: if there is none (it says which there are, and how to make one), or if it is
                damaged or of other rules.
        """
        rules = Rules.coerce(rules)
        if path is not None:
            return _read(Path(path), rules)
        for folder in (SHIPPED, MADE_HERE):
            place = folder / file_name(rules)
            if place.exists():
                return _read(place, rules)
        raise EquityError(
            f"no equity table for {rules}; there are: {', '.join(available())}. "
            f"To make one: {how_to_make(rules)}"
        )

    def save(self, path: str | Path) -> None:
        """Write the table, whole or not at all; equal tables make equal files.

        Raises:
            OSError: if it cannot be written there.
        """
        stored = _in_units(self.table.values[: self._stored_leads])
        levels = self.levels.astype(np.int16)
        about = {
            **self.about,
            "format": FORMAT,
            "rules": self.rules.to_dict(),
            "fingerprint": self.rules.fingerprint,
            "digest": _digest(levels, stored),
        }
        path = Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        draft = path.with_name(f".{path.name}.{os.getpid()}.npz")
        try:
            np.savez_compressed(
                draft, about=np.array(json.dumps(about, sort_keys=True)), levels=levels, values=stored
            )
            draft.replace(path)
        finally:
            draft.unlink(missing_ok=True)

    def __call__(self, scores: npt.ArrayLike, openers: npt.ArrayLike) -> np.ndarray:
        """Probability of winning for each side, at the start of rounds or after the end of matches.

        Args:
            scores: (N, sides) whole points.
            openers: (N,) seats that lead the round; -1 where that is not known before the deal: in round 1,
                and after a tied block where the winner leads.

        Returns:
            (N, sides) float32; rows sum to 1. A side that has reached the target has 1.

        Raises:
            EquityError: if shapes, scores or seats are impossible.
        """
        points, leaders = np.asarray(scores), np.asarray(openers)
        sides, players = self.rules.num_sides, self.rules.num_players
        if points.ndim != 2 or points.shape[1] != sides or leaders.shape != points.shape[:1]:
            raise EquityError(
                f"scores, openers: {points.shape}, {leaders.shape} given; allowed: (N, {sides}), (N,)"
            )
        for name, array, low, high in (
            ("scores", points, 0, np.iinfo(np.int16).max),
            ("openers", leaders, NONE, players - 1),
        ):
            if array.size and (array.dtype.kind not in "iu" or array.min() < low or array.max() > high):
                raise EquityError(f"{name}: {array.tolist()} given; allowed: whole numbers, {low} to {high}")
        if ((points >= self.rules.target).sum(1) > 1).any():
            raise EquityError(f"scores: two sides have {self.rules.target}; allowed: one, which has won")
        result = np.empty(points.shape, np.float32)
        _ask_all(self.table, points.astype(np.int16), leaders.astype(np.int64), result)
        return result

    def after_round(self, matches: np.ndarray) -> np.ndarray:
        """What the end of a round is worth to each side: its probability of winning the match.

        Where the next deal decides who leads, the value is the mean over deals.

        Args:
            matches: (N,) of dtype ``MATCH``; their round has ended and the next is not yet dealt, or the
                match is over (``train.arena.play_out(…, one_round=True)`` leaves them so).

        Returns:
            (N, sides) float32; rows sum to 1.

        Raises:
            EquityError: if a round has not ended, or belongs to other rules.
        """
        if matches.dtype != MATCH or matches.ndim != 1:
            raise EquityError(f"matches: {matches.dtype} {matches.shape} given; allowed: (N,) of dtype MATCH")
        if (matches["rules"] != self.rules.record).any():
            raise EquityError(f"matches: other rules than {self.rules}; allowed: the rules of the table")
        running = np.flatnonzero((matches["event"]["round_end"] == 0) & (matches["over"] == 0))
        if running.size:
            raise EquityError(f"matches[{running[0]}]: its round has not ended; allowed: finished rounds")
        result = np.empty((len(matches), self.rules.num_sides), np.float32)
        _value_all(self.table, matches, result)
        return result

    @property
    def _stored_leads(self) -> int:
        """By lot any opener is as likely: what an unknown one is worth follows from the others."""
        return 1 if self.rules.lead_first == "lot" else 2


def file_name(rules: Rules) -> str:
    """The file of a game's table: by its preset, or by its fingerprint."""
    return f"{_preset_name(rules) or rules.fingerprint}.npz"


def available() -> list[str]:
    """The presets that have a table."""
    files = {path.stem for folder in (SHIPPED, MADE_HERE) for path in folder.glob("*.npz")}
    return [name for name in Rules.presets() if name in files]


def how_to_make(rules: Rules) -> str:
    """What to run for a table."""
    name = _preset_name(rules)
    return f"python -m train.equity --rules {name}" if name else "train.equity.make(rules).save(path)"


def score_places(rules: Rules, levels: np.ndarray) -> np.ndarray:
    """Where every score below the target lies among the stored levels (K,): (target,) float32."""
    places = np.interp(np.arange(rules.target), levels, np.arange(len(levels))).astype(np.float32)
    places.setflags(write=False)
    return places


def _preset_name(rules: Rules) -> str | None:
    return next((name for name, preset in Rules.presets().items() if preset == rules), None)


def _digest(*arrays: np.ndarray) -> str:
    total = hashlib.sha256()
    for array in arrays:
        total.update(f"{array.dtype.str} {array.shape}".encode())
        total.update(np.ascontiguousarray(array).tobytes())
    return total.hexdigest()


def _read(path: Path, rules: Rules) -> Equity:
    """Read a file that ``Equity.save`` wrote."""
    if not path.exists():
        raise EquityError(f"{path}: no such equity table; to make one: {how_to_make(rules)}")
    try:
        made_for, levels, values, about = _parse(path.read_bytes())
    except Exception as error:  # a damaged archive can fail in any way
        raise EquityError(f"{path}: damaged or no equity table ({error})") from error
    differing = made_for.differences(rules)
    if differing:
        fields = "; ".join(f"{key}: made for {a!r}, asked for {b!r}" for key, (a, b) in differing.items())
        raise EquityError(f"{path}: the table does not fit the rules: {fields}")
    return Equity(rules, levels, values, about)


def _parse(data: bytes) -> tuple[Rules, np.ndarray, np.ndarray, dict[str, Any]]:
    """Rules, levels, values and provenance of a file that is sound."""
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        about = json.loads(file["about"].item())
        levels, stored = file["levels"], file["values"]
    rules = Rules.from_dict(about.pop("rules"))
    for name, found, expected in (
        ("format", about.pop("format"), FORMAT),
        ("digest", about.pop("digest"), _digest(levels, stored)),
        ("fingerprint", about["fingerprint"], rules.fingerprint),
    ):
        if found != expected:
            raise ValueError(f"{name} {found!r} found; allowed: {expected!r}")
    return rules, levels.astype(np.int64), _with_derived(rules, levels, stored), about


def _in_units(values: np.ndarray) -> np.ndarray:
    """Whole multiples of 1 / _ONE, all sides but the last, which has the rest: (…, S - 1) uint16."""
    units = np.rint(values[..., :-1].astype(np.float64) * _ONE).astype(np.int64)
    too_much = np.maximum(units.sum(-1) - _ONE, 0)  # rounded up too often: the largest gives it back
    largest = units.argmax(-1)[..., None]
    np.put_along_axis(units, largest, np.take_along_axis(units, largest, -1) - too_much[..., None], -1)
    return units.astype(np.uint16)


def _with_derived(rules: Rules, levels: np.ndarray, stored: np.ndarray) -> np.ndarray:
    """Add what is not stored: the last side of each row, and openers by lot. (2, K**S, S) float64."""
    sides, count = rules.num_sides, len(levels)
    leads = 1 if rules.lead_first == "lot" else 2
    if stored.shape != (leads, count**sides, sides - 1) or stored.dtype != np.uint16:
        raise ValueError(f"values: {stored.dtype} {stored.shape} found, {count} levels")
    values = np.empty((2, count**sides, sides))
    values[:leads, :, :-1] = stored / _ONE
    values[:leads, :, -1] = 1.0 - values[:leads, :, :-1].sum(-1)
    if leads == 1:
        values[1] = mean_over_openers(values[0], count)
    return values


def mean_over_openers(known: np.ndarray, levels: int) -> np.ndarray:
    """What each row is worth, side 0 first, when any side may lead: (K**S, S) from (K**S, S)."""
    sides = known.shape[-1]
    grid = known.reshape(*[levels] * sides, sides)
    total = np.zeros_like(grid)
    for first in range(sides):
        # Side k of the row is side k - first of the turned row.
        axes: Sequence[int] = [(axis - first) % sides for axis in range(sides)]
        total += np.roll(grid.transpose(*axes, sides), first, axis=-1)
    return (total / sides).reshape(known.shape)


@jit
def _ask_all(table, scores, openers, result):
    for i in range(len(scores)):
        for side in range(scores.shape[1]):
            result[i, side] = win_probability(table, scores[i], openers[i], side)


@jit
def _value_all(table, matches, result):
    for i in range(matches.size):
        for side in range(result.shape[1]):
            result[i, side] = value_of_round(table, matches[i], side)
