"""What the PettingZoo and the Gymnasium environments share."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from fivesthrees_env.kernel.jit import jit
from fivesthrees_env.kernel.play import write_mask
from fivesthrees_env.match import DealError, Match
from fivesthrees_env.observations import encode
from fivesthrees_env.rules import Rules, RulesError
from fivesthrees_env.table import Table
from fivesthrees_env.views import redact_table

__all__ = [
    "OPTIONS",
    "RENDER_FPS",
    "RENDER_MODES",
    "Screen",
    "check_illegal",
    "check_max_rounds",
    "check_render_mode",
    "make_rules",
    "observe_seat",
    "set_up",
]

RENDER_MODES = ("ansi", "rgb_array", "human")
RENDER_FPS = 4  # plies per second in a window: as fast as one can follow
OPTIONS = ("hands", "opener", "scores", "boneyard")

RulesLike = Rules | str | Mapping[str, Any] | None


def make_rules(num_players: int | None, rules: RulesLike, game: Callable[..., Rules]) -> Rules:
    """The rules that an environment's arguments mean.

    Args:
        num_players: seats; None for 4, or for what `rules` say.
        rules: a ``Rules``, a preset's name or a dict; None for the standard game.
        game: the standard game for a number of players.

    Raises:
        RulesError: if a value is impossible, or if the two contradict each other.
    """
    if rules is None:
        return game(4 if num_players is None else num_players)
    rules = Rules.coerce(rules)
    if num_players is not None and num_players != rules.num_players:
        raise RulesError(
            f"num_players: {num_players!r} given; allowed: None or {rules.num_players}, as the "
            f"given rules ({rules}) say"
        )
    return rules


def check_illegal(illegal: str) -> bool:
    """Whether an illegal action loses ("terminate") rather than raises ("raise").

    Raises:
        ValueError: for any other name.
    """
    if illegal not in ("raise", "terminate"):
        raise ValueError(f"illegal: {illegal!r} given; allowed: 'raise', 'terminate'")
    return illegal == "terminate"


def check_max_rounds(max_rounds: int | None) -> int | None:
    """The number of rounds after which an episode is truncated, or None.

    Raises:
        ValueError: if it is neither None nor a whole number from 1.
    """
    whole = isinstance(max_rounds, (int, np.integer)) and not isinstance(max_rounds, bool)
    if max_rounds is None or (whole and 1 <= max_rounds < 2**31):
        return None if max_rounds is None else int(max_rounds)
    raise ValueError(f"max_rounds: {max_rounds!r} given; allowed: None or a whole number from 1")


def check_render_mode(render_mode: str | None) -> str | None:
    """The render mode, if it is one.

    Raises:
        ValueError: if it is not.
    """
    if render_mode is not None and render_mode not in RENDER_MODES:
        allowed = ", ".join(map(repr, RENDER_MODES))
        raise ValueError(f"render_mode: {render_mode!r} given; allowed: None, {allowed}")
    return render_mode


def set_up(rules: Rules, seed: int, options: Mapping[str, Any] | None) -> Match:
    """A new match: dealt like ``Match(rules, seed)``, but for what the options of a reset say.

    Args:
        rules: what is played.
        seed: of the match.
        options: any of "hands", "opener", "scores", "boneyard", as ``Match.deal`` takes them. What
            is left out stays as the seed deals it; with "hands" given, the opener is seat 0 and the
            boneyard all other tiles, shuffled.

    Raises:
        DealError: if no round can start so, or if there is another option.
    """
    match = Match(rules, seed)
    if not options:
        return match
    if not isinstance(options, Mapping):
        raise DealError(f"options: {options!r} given; allowed: None or a dict")
    for name in options:
        # "options" itself is what PettingZoo's api_test hands to every environment.
        if name not in (*OPTIONS, "options"):
            raise DealError(f"options: {name!r} given; allowed: {', '.join(map(repr, OPTIONS))}")
    given = {name: options[name] for name in OPTIONS if options.get(name) is not None}
    if given:
        dealt: dict[str, Any] = {"hands": match.hands, "opener": match.opener}
        if rules.draw:
            dealt["boneyard"] = match.boneyard
        match.deal(**given if "hands" in given else {**dealt, **given})
    return match


@jit
def observe_seat(match, seat, live, views, places, observation, mask):
    """Write what a seat sees and may do.

    Args:
        match: one ``MATCH`` record.
        seat: the viewer; the mask of a seat that is not to move is all 0.
        live: whether the episode goes on; if not, every mask is all 0.
        views: (1,) of dtype ``MATCH``, working memory.
        places: ``Layout.places``.
        observation: (layout.size,) int8.
        mask: (num_actions,) int8.
    """
    views[0].rules = match.rules
    redact_table(views[0], match, seat)
    encode(views[0], places, observation)
    if live and seat == match.seat:
        write_mask(match, mask)
    else:
        mask[:] = 0


class Screen:
    """Shows tables in one render mode.

    Args:
        mode: "ansi", "rgb_array", "human" or None.
    """

    def __init__(self, mode: str | None) -> None:
        self.mode = check_render_mode(mode)
        self._window: Any = None
        self._shown_at = 0.0

    def show(self, table: Table) -> str | np.ndarray | None:
        """The table as text or as pixels (height, width, 3) uint8; a window returns nothing."""
        if self.mode is None:
            return None
        from fivesthrees_env import rendering

        if self.mode == "ansi":
            return rendering.ansi(table)
        if self.mode == "rgb_array":
            return rendering.rgb_array(table)
        if self._window is None:
            self._window = rendering.Window()
        time.sleep(max(0.0, self._shown_at + 1 / RENDER_FPS - time.monotonic()))
        self._window.show(table)
        self._shown_at = time.monotonic()
        return None

    def close(self) -> None:
        """Close the window, if there is one; closing it again does nothing."""
        if self._window is not None:
            self._window.close()
            self._window = None

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_window": None}  # a copy opens a window of its own
