"""``Rules``: every parameter of both games, checked, named and storable.

Fives and Threes and All Fives are values of one dataclass:

    >>> Rules.fives_and_threes(num_players=2)          # two players, seven tiles, exactly 61
    >>> Rules.preset("league-2p")                      # a named variant
    >>> Rules.fives_and_threes(num_players=4, target=121, partnership="singles")

The kernel reads ``Rules.record``; records and checkpoints keep ``Rules.to_dict()`` and its fingerprint.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cache, cached_property, lru_cache
from typing import Any

import numpy as np

from fivesthrees_env.kernel.record import RULES
from fivesthrees_env.tiles import MAX_HIGHEST, num_tiles

__all__ = ["Rules", "RulesError"]


class RulesError(ValueError):
    """A parameter that is impossible, or that contradicts another one."""


#: Named values of the fields that are a choice; the kernel reads their positions here.
CHOICES: dict[str, tuple[str, ...]] = {
    "partnership": ("singles", "pairs"),
    "pair_round_end": ("both_out", "first_out"),
    "scoring": ("fives_and_threes", "fives", "fives_over_5"),
    "overshoot": ("reject", "win"),
    "going_out": ("none", "one", "pips"),
    "block": ("none", "others_minus_own", "others_total"),
    "lead_first": ("lot", "highest_double"),
    "lead_later": ("rotate", "winner"),
}

_STANDARD_HAND = {2: 7, 3: 5, 4: 5}


@dataclass(frozen=True, kw_only=True)
class Rules:
    """The parameters of a game; the defaults are Fives and Threes for four, in pairs.

    Raises:
        RulesError: if a field is impossible; the message names the field, the value and what is allowed.
    """

    num_players: int = 4
    """Seats at the table: 2, 3 or 4."""
    highest: int = 6
    """Highest pip of the set: 6 for the double-six set; 2 to 9."""
    hand_size: int = 0
    """Tiles dealt to each seat; 0 stands for the usual number (2 players 7, 3 or 4 players 5)."""
    partnership: str = "pairs"
    """At four players: "pairs" (seats 0+2 against 1+3) or "singles". With two or three always "singles"."""
    pair_round_end: str = "both_out"
    """When a pair ends the round: "both_out" partners, or "first_out"."""
    scoring: str = "fives_and_threes"
    """Points of a count: "fives_and_threes" (FT-13), "fives" (the count), "fives_over_5" (count / 5)."""
    target: int = 61
    """Points that win the match."""
    overshoot: str = "reject"
    """An event that would pass the target: "reject" the whole event, or "win"."""
    going_out: str = "one"
    """Bonus for going out: "one" point, "none", or the other hands' "pips", rounded to fives."""
    block: str = "none"
    """A blocked round pays the lightest side: "none", "others_minus_own" pips, or "others_total"."""
    lead_first: str = "lot"
    """Who leads round 1: by "lot", or the "highest_double", which must then be led."""
    lead_later: str = "rotate"
    """Who leads later rounds: "rotate" to the left, or the last round's "winner"."""
    knock_points: bool = False
    """Whether the next seat able to play scores 1 per knock just before it."""
    win_on_lead: bool = True
    """Whether an event on the lead of a round may reach the target (only where overshoot is "reject")."""
    spinner: bool = False
    """Whether the first double of a round can be played on from four sides."""
    draw: bool = False
    """Whether a seat that cannot play draws from the boneyard."""
    boneyard_floor: int = 0
    """Tiles of the boneyard that are never drawn."""
    name: str = field(default="", compare=False)
    """A label for people; not part of the rules."""

    # ------------------------------------------------------------------ making

    def __post_init__(self) -> None:
        self._check_types()
        self._check_ranges()
        if self.hand_size == 0:
            object.__setattr__(self, "hand_size", _STANDARD_HAND[self.num_players])
        if self.num_players < 4:
            object.__setattr__(self, "partnership", "singles")
        self._check_together()

    @classmethod
    def fives_and_threes(cls, num_players: int = 4, **changes: Any) -> Rules:
        """Fives and Threes (FT-1 to FT-24) for 2, 3 or 4 players, with `changes` to single fields."""
        return cls(num_players=num_players, **changes)

    @classmethod
    def all_fives(cls, num_players: int = 4, **changes: Any) -> Rules:
        """All Fives (AF-1 to AF-10) for 2, 3 or 4 players, with `changes` to single fields."""
        game: dict[str, Any] = {
            "partnership": "singles",
            "scoring": "fives",
            "target": 150,
            "overshoot": "win",
            "going_out": "pips",
            "block": "others_minus_own",
            "lead_first": "highest_double",
            "lead_later": "winner",
            "spinner": True,
            "draw": True,
        }
        return cls(num_players=num_players, **{**game, **changes})

    @classmethod
    def preset(cls, name: str) -> Rules:
        """The preset of that name (see ``presets()``)."""
        presets = cls.presets()
        if name not in presets:
            raise RulesError(f"no preset {name!r}; there are: {', '.join(presets)}")
        return presets[name]

    @classmethod
    def presets(cls) -> dict[str, Rules]:
        """All named presets."""
        return dict(_PRESETS)

    @classmethod
    def coerce(cls, rules: Rules | str | Mapping[str, Any] | None, default: Rules | None = None) -> Rules:
        """Rules from a ``Rules``, a preset's name, a dict or (for the default) None."""
        if rules is None:
            return default if default is not None else cls()
        if isinstance(rules, Rules):
            return rules
        if isinstance(rules, str):
            return cls.preset(rules)
        if isinstance(rules, Mapping):
            return cls.from_dict(rules)
        raise RulesError(f"rules: {rules!r} given; allowed: a Rules, a preset's name or a dict")

    def replace(self, **changes: Any) -> Rules:
        """A copy with some fields changed; the label goes, as the copy is no longer that preset."""
        return replace(self, **{"name": "", **changes})

    # ----------------------------------------------------------------- storing

    def to_dict(self) -> dict[str, Any]:
        """All fields but the label, as JSON types."""
        values = asdict(self)
        del values["name"]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Rules:
        """Rules from ``to_dict()``; missing fields take their default, unknown ones are refused."""
        known = [f.name for f in fields(cls)]
        for key in values:
            if key not in known:
                raise RulesError(f"unknown field {key!r}; allowed: {', '.join(known)}")
        return cls(**values)

    @classmethod
    def from_record(cls, record: np.void) -> Rules:
        """The rules that a match record or view carries."""
        return _from_record(record.tobytes())

    @cached_property
    def fingerprint(self) -> str:
        """Twelve hex digits that are equal exactly for equal rules."""
        text = json.dumps(self.to_dict(), sort_keys=True)
        return hashlib.sha256(text.encode()).hexdigest()[:12]

    def differences(self, other: Rules) -> dict[str, tuple[Any, Any]]:
        """The fields in which two rules differ: name -> (mine, the other's)."""
        mine, theirs = self.to_dict(), other.to_dict()
        return {key: (mine[key], theirs[key]) for key in mine if mine[key] != theirs[key]}

    @cached_property
    def record(self) -> np.ndarray:
        """What the kernel reads: a read-only 0-d array of dtype ``kernel.record.RULES``."""
        record = np.zeros((), RULES)
        for key in RULES.names or ():
            value = getattr(self, key)
            record[key] = CHOICES[key].index(value) if key in CHOICES else value
        record.setflags(write=False)
        return record

    def __str__(self) -> str:
        return self.name or _labels().get(self) or f"rules {self.fingerprint}"

    def summary(self) -> str:
        """The game in one line: the players, the deal, the target, and what is unusual."""
        tiles = f"{self.hand_size} tiles each of double-{self.highest}"
        goal = "exactly" if self.overshoot == "reject" else "at least"
        game = "All Fives" if self.scoring != "fives_and_threes" else "Fives and Threes"
        seats = f"{self.num_players} players" + (" in pairs" if self.partnership == "pairs" else "")
        usual = Rules.all_fives if game == "All Fives" else Rules.fives_and_threes
        told = {"num_players", "highest", "hand_size", "partnership", "target", "overshoot"}
        unusual = [
            f"{key.replace('_', ' ')}: {str(mine).replace('_', ' ')}"
            for key, (mine, _) in self.differences(usual(self.num_players)).items()
            if key not in told
        ]
        return ", ".join([game, seats, tiles, f"{goal} {self.target}", *unusual])

    # ----------------------------------------------------------------- derived

    @property
    def num_tiles(self) -> int:
        """Tiles in the set."""
        return num_tiles(self.highest)

    @property
    def num_sides(self) -> int:
        """Owners of a score: 2 for pairs, else one per seat."""
        return 2 if self.partnership == "pairs" else self.num_players

    @property
    def num_ends(self) -> int:
        """Ends that action ids tell apart: left and right, with a spinner or a boneyard up and down too."""
        return 4 if self.spinner or self.draw else 2

    @property
    def draw_action(self) -> int | None:
        """Id of drawing, or None where there is no boneyard to draw from."""
        return self.num_ends * self.num_tiles if self.draw else None

    @property
    def knock_action(self) -> int:
        """Id of knocking: the last action."""
        return self.num_ends * self.num_tiles + self.draw

    @property
    def num_actions(self) -> int:
        """Size of the action space: placements, (drawing,) knocking."""
        return self.knock_action + 1

    @property
    def score_unit(self) -> int:
        """Greatest number that divides every score: 5 where points are counts divisible by five."""
        all_fives = self.scoring == "fives" and self.going_out != "one" and not self.knock_points
        return 5 if all_fives else 1

    def side_of(self, seat: int) -> int:
        """The side that owns a seat's score."""
        return seat % self.num_sides

    # ---------------------------------------------------------------- checking

    def _check_types(self) -> None:
        for f in fields(self):
            value = getattr(self, f.name)
            wanted = type(f.default)
            if isinstance(value, np.generic):
                value = value.item()
                object.__setattr__(self, f.name, value)
            if type(value) is not wanted:
                raise RulesError(f"{f.name}: {value!r} given; allowed: a value of type {wanted.__name__}")

    def _check_ranges(self) -> None:
        for key, allowed in CHOICES.items():
            _require(getattr(self, key) in allowed, self, key, " or ".join(map(repr, allowed)))
        _require(2 <= self.num_players <= 4, self, "num_players", "2, 3 or 4")
        _require(2 <= self.highest <= MAX_HIGHEST, self, "highest", f"2 to {MAX_HIGHEST}")
        _require(1 <= self.target <= 1000, self, "target", "1 to 1000")
        most = self.num_tiles // self.num_players
        usual = "or 0 for the usual number"
        _require(0 <= self.hand_size <= most, self, "hand_size", f"1 to {most}, {usual}")
        if self.hand_size == 0:
            dealt = _STANDARD_HAND[self.num_players]
            _require(
                dealt <= most,
                self,
                "hand_size",
                f"1 to {most} (the usual {dealt} tiles for {self.num_players} players are more than "
                f"the {self.num_tiles} tiles of the set)",
            )

    def _check_together(self) -> None:
        most = self.num_tiles - self.hand_size * self.num_players
        _require(0 <= self.boneyard_floor <= most, self, "boneyard_floor", f"0 to {most}")
        if self.boneyard_floor:
            _require(self.draw, self, "boneyard_floor", "0 where nothing is drawn (draw=False)")
        if not self.win_on_lead:
            _require(self.overshoot == "reject", self, "win_on_lead", 'True unless overshoot is "reject"')
            _require(self.hand_size > 1, self, "hand_size", "2 or more where no lead may win: all are leads")
        if self.overshoot == "reject" and self.target % self.score_unit:
            _require(False, self, "target", "a multiple of 5: all scores are, and none may pass it")
        if self.num_sides == self.num_players and self.pair_round_end != "both_out":
            _require(False, self, "pair_round_end", '"both_out" where nobody has a partner')


def _require(condition: bool, rules: Rules, key: str, allowed: str) -> None:
    if not condition:
        raise RulesError(f"{key}: {getattr(rules, key)!r} given; allowed: {allowed}")


@cache
def _labels() -> dict[Rules, str]:
    return {rules: name for name, rules in _PRESETS.items()}


@lru_cache
def _from_record(data: bytes) -> Rules:
    record = np.frombuffer(data, RULES)[0]
    values = {f.name: record[f.name].item() for f in fields(Rules) if f.name in (RULES.names or ())}
    for key, choices in CHOICES.items():
        values[key] = choices[values[key]] if key in values else "singles"
    for key in ("knock_points", "win_on_lead", "spinner", "draw"):
        values[key] = bool(values[key])
    values["partnership"] = "pairs" if record["num_sides"] < record["num_players"] else "singles"
    return Rules.from_dict(values)


def _make_presets() -> dict[str, Rules]:
    ft, af = Rules.fives_and_threes, Rules.all_fives
    presets = {f"fives_and_threes-{n}p": ft(n) for n in (2, 3, 4)}
    presets |= {f"all_fives-{n}p": af(n) for n in (2, 3, 4)}
    presets |= {
        "fives_and_threes-4p-singles": ft(4, partnership="singles"),
        "fives_and_threes-4p-first-out": ft(4, pair_round_end="first_out"),
        "league-2p": ft(2, hand_size=9),
        "league-4p": ft(4, hand_size=6),
        "league-4p-knocks": ft(4, hand_size=6, knock_points=True),
        "teesdale-2p": ft(2, hand_size=9, win_on_lead=False),
        "teesdale-4p": ft(4, hand_size=6, win_on_lead=False),
        "long-4p": ft(4, target=121),
        "short-4p": ft(4, target=31),
        "double-nine-4p": ft(4, highest=9, hand_size=7, target=121),
        "mini-2": ft(2, highest=2, hand_size=2, target=5),
        "mini-3": ft(2, highest=3, hand_size=3, target=11),
        "mini-4": ft(2, highest=4, hand_size=4, target=21),
        "mini-3-pairs": ft(4, highest=3, hand_size=2, target=11),
        "all_fives-2p-250": af(2, target=250),
        "all_fives-2p-9-tiles": af(2, hand_size=9),
        "all_fives-2p-floor-2": af(2, boneyard_floor=2),
        "all_fives-3p-7-tiles": af(3, hand_size=7),
        "all_fives-4p-pairs": af(4, partnership="pairs"),
        "all_fives-4p-61": af(4, scoring="fives_over_5", target=61),
        "all_fives-4p-lot": af(4, lead_first="lot"),
        "all_fives-4p-block-total": af(4, block="others_total"),
        "muggins-2p": af(2, spinner=False),
        "muggins-4p": af(4, spinner=False),
        "mini-all-fives-3": af(2, highest=3, hand_size=3, target=30),
    }
    return {name: replace(rules, name=name) for name, rules in presets.items()}


_PRESETS = _make_presets()
