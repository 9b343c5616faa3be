"""The PettingZoo AEC environment: an adapter over one ``Match``.

``env()`` adds PettingZoo's order enforcing and nothing else: legality is checked by the environment
itself, with a message that names what is allowed. The pages of the two games are
``fives_and_threes_v0`` and ``all_fives_v0``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, ClassVar

import numpy as np
from gymnasium import logger, spaces
from pettingzoo import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from fivesthrees_env.batch import check_episode
from fivesthrees_env.interface import (
    RENDER_FPS,
    RENDER_MODES,
    RulesLike,
    Screen,
    check_illegal,
    check_max_rounds,
    make_rules,
    observe_seat,
    set_up,
)
from fivesthrees_env.kernel.jit import jit, unpack
from fivesthrees_env.kernel.random import mix
from fivesthrees_env.kernel.record import MATCH
from fivesthrees_env.match import (
    MATCH_OVER,
    PAID,
    ROUND_OVER,
    SEAT,
    IllegalAction,
    check_seed,
    compiled_for,
)
from fivesthrees_env.observations import Layout, encode
from fivesthrees_env.rewards import check_scheme, write_rewards
from fivesthrees_env.rules import Rules
from fivesthrees_env.views import redact_table

__all__ = ["env", "raw_env"]


def env(
    num_players: int | None = None,
    rules: RulesLike = None,
    episode: str = "match",
    reward: str = "points",
    max_rounds: int | None = None,
    illegal: str = "raise",
    render_mode: str | None = None,
) -> OrderEnforcing:
    """``raw_env`` with PettingZoo's order enforcing around it; the arguments are the same."""
    return OrderEnforcing(raw_env(num_players, rules, episode, reward, max_rounds, illegal, render_mode))


class OrderEnforcing(OrderEnforcingWrapper):  # type: ignore[misc]
    """PettingZoo's wrapper with a faster ``last``.

    The original looks up five attributes through itself, which takes longer than a ply; this one
    asks the environment once.
    """

    def last(self, observe: bool = True) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """See ``AECEnv.last``."""
        return self.env.last(observe) if self._has_reset else super().last(observe)

    def __str__(self) -> str:
        return str(self.env)


_MADE_BY_RESET = frozenset(
    ("match", "rewards", "terminations", "truncations", "infos", "agent_selection", "_cumulative_rewards")
)


class raw_env(AECEnv[str, dict[str, np.ndarray], int]):  # type: ignore[misc]  # noqa: N801
    """A match of Fives and Threes in which ``player_0`` ... move one after the other.

    Attributes:
        rules, layout: what is played, and where everything is in an observation.
        match: the ``Match`` itself, from the first reset on.
        state_space: of ``state()``.

    Args:
        num_players: 2, 3 or 4; default 4, or what `rules` say.
        rules: a ``Rules``, a preset's name or a dict; default: the standard game for `num_players`.
        episode: "match" (to the target) or "round" (one round).
        reward: "points", "margin" or "win" (see ``rewards.py``); each seat gets what its side does.
        max_rounds: truncate all agents when this many rounds have been played.
        illegal: "raise" an ``IllegalAction`` and change nothing, or "terminate": the offender's
            side loses.
        render_mode: None, "ansi", "rgb_array" or "human".

    Raises:
        RulesError: if the rules are impossible or contradict `num_players`.
        ValueError: if another argument is not one of those.
    """

    metadata: ClassVar[dict[str, Any]] = {
        "name": "fives_and_threes_v0",
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
        "is_parallelizable": False,
    }
    game: ClassVar[Callable[..., Rules]] = Rules.fives_and_threes

    def __init__(
        self,
        num_players: int | None = None,
        rules: RulesLike = None,
        episode: str = "match",
        reward: str = "points",
        max_rounds: int | None = None,
        illegal: str = "raise",
        render_mode: str | None = None,
    ) -> None:
        super().__init__()
        self.rules = make_rules(num_players, rules, type(self).game)
        self.layout = Layout.of(self.rules)
        self.render_mode = render_mode
        self._screen = Screen(render_mode)
        self._one_round = check_episode(episode)
        self._scheme = check_scheme(reward)
        self._max_rounds = check_max_rounds(max_rounds)
        self._illegal_loses = check_illegal(illegal)
        self._root, self._episode = -1, 0

        seats = range(self.rules.num_players)
        self.possible_agents = [f"player_{seat}" for seat in seats]
        self._seats = {agent: seat for seat, agent in enumerate(self.possible_agents)}
        self._sides = {agent: self.rules.side_of(seat) for agent, seat in self._seats.items()}
        self.agents: list[str] = []
        self._make_spaces()
        self._num_bits, self._num_actions = self.layout.size, self.rules.num_actions
        self._places = self.layout.places
        self._by_side = np.zeros((1, self.rules.num_sides))
        self._view = np.zeros(1, MATCH)

    def _make_spaces(self) -> None:
        bits, actions = self.layout.size, self.rules.num_actions
        self.observation_spaces = {
            agent: spaces.Dict(
                {
                    "observation": spaces.Box(0, 1, (bits,), np.int8),
                    "action_mask": spaces.Box(0, 1, (actions,), np.int8),
                }
            )
            for agent in self.possible_agents
        }
        self.action_spaces = {agent: spaces.Discrete(actions) for agent in self.possible_agents}
        hands = self.rules.num_players * self.rules.num_tiles
        self.state_space = spaces.Box(0, 1, (hands + bits,), np.int8)

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """``{"observation": (bits,) int8, "action_mask": (actions,) int8}``; one per agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """``Discrete(actions)``; one per agent."""
        return self.action_spaces[agent]

    # --------------------------------------------------------------- playing

    def reset(self, seed: int | None = None, options: Mapping[str, Any] | None = None) -> None:
        """Begin an episode, dealt like ``Match(rules, seed)``.

        Args:
            seed: 0 to 2**63 - 1. None goes on from the latest seed: the n-th such reset after a
                seeded one is always the same. Without any seed so far, one is drawn.
            options: a position: any of "hands", "opener", "scores", "boneyard", as ``Match.deal``
                takes them. What is left out stays as the seed deals it, but with
                "hands" seat 0 leads unless "opener" is given.

        Raises:
            ValueError: if the seed or the position is impossible; nothing has changed.
        """
        if seed is None and self._root >= 0:
            root, episode = self._root, self._episode + 1
        else:
            root, episode = check_seed(seed), 0
        self.match = set_up(self.rules, _seed_of(root, episode), options)
        self._root, self._episode = root, episode
        self._live, self._rewarded = True, False
        self.agents = self.possible_agents.copy()
        self.rewards = dict.fromkeys(self.agents, 0.0)
        self._cumulative_rewards = dict.fromkeys(self.agents, 0.0)
        self.terminations = dict.fromkeys(self.agents, False)
        self.truncations = dict.fromkeys(self.agents, False)
        self.infos: dict[str, dict[str, Any]] = {agent: {} for agent in self.agents}
        self.agent_selection = self.agents[self.match.seat]
        self._skip_agent_selection = None
        if self.render_mode == "human":
            self.render()

    def step(self, action: int | None) -> None:
        """Make an action for ``agent_selection``; None once its episode is over.

        Raises:
            IllegalAction: if the action is not legal and `illegal` is "raise"; nothing has changed.
        """
        agent, match = self.agent_selection, self.match
        if not self._live:
            self._was_dead_step(action)
            return
        try:
            outcome = match.advance(match.check_action(action))
        except IllegalAction:
            if not self._illegal_loses:
                raise
            self._lose(agent)
            return
        self._cumulative_rewards[agent] = 0.0
        if outcome & PAID:
            _rewards_compiled()(match.records, self._scheme, self._by_side)
            self._reward(self._by_side[0].tolist())
        elif self._rewarded:
            self._rewarded = False
            self._clear_rewards()
        self.agent_selection = self.possible_agents[outcome & SEAT]
        if outcome & (ROUND_OVER | MATCH_OVER):
            self._end_round(bool(outcome & MATCH_OVER))
        if self.render_mode == "human":
            self.render()

    def observe(self, agent: str) -> dict[str, np.ndarray]:
        """What an agent sees and may do now: fresh arrays, and nothing changes.

        Args:
            agent: any of ``possible_agents``, at any time.

        Returns:
            ``{"observation": (bits,) int8, "action_mask": (actions,) int8}``; the mask is all 0
            unless the agent is to move.
        """
        observation = np.empty(self._num_bits, np.int8)
        mask = np.empty(self._num_actions, np.int8)
        seat, records = self._seats[agent], self.match.records
        _observe_compiled()(records, seat, self._live, self._view, self._places, observation, mask)
        return {"observation": observation, "action_mask": mask}

    def state(self) -> np.ndarray:
        """The whole truth as bits, for central critics.

        Returns:
            (num_players · tiles + bits,) int8: the hands, seat by seat, then the observation of
            ``player_0``. Tiles in no hand and not laid are the sleepers or the boneyard, whose
            order is left out.
        """
        state = np.empty(self.state_space.shape, np.int8)
        _write_state(self.match.records, self._view, self._places, state)
        return state

    def render(self) -> str | np.ndarray | None:
        """The table with open hands: text, pixels (height, width, 3) uint8; a window gives None."""
        if self.render_mode is None:
            logger.warn("render() without a render mode; make the environment with render_mode=...")
        return self._screen.show(self.match)

    def close(self) -> None:
        """Close the window, if there is one; closing again does nothing."""
        self._screen.close()

    # ------------------------------------------------------------- what follows

    def __getattr__(self, name: str) -> Any:
        """What only ``reset`` makes, asked for too early."""
        if name in _MADE_BY_RESET:
            raise AttributeError(f"{name}: nothing is dealt yet; reset() begins an episode", name=name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)

    def _end_round(self, match_over: bool) -> None:
        """The episode may end with a round; a match that is won is never a truncation."""
        if match_over or self._one_round:
            self._live = False
            self.terminations = dict.fromkeys(self.agents, True)
        elif self._max_rounds is not None and self.match.round_index >= self._max_rounds:
            self._live = False
            self.truncations = dict.fromkeys(self.agents, True)

    def _lose(self, offender: str) -> None:
        """An illegal action ends the episode: -1 for the offender's side, 0 for the others."""
        self._cumulative_rewards[offender] = 0.0
        side = self._sides[offender]
        self._reward([-1.0 if other == side else 0.0 for other in range(self.rules.num_sides)])
        self._live = False
        self.terminations = dict.fromkeys(self.agents, True)

    def _reward(self, by_side: list[float]) -> None:
        """Give each agent what its side gets."""
        self._rewarded = True
        rewards, cumulative = self.rewards, self._cumulative_rewards
        for agent, side in self._sides.items():
            reward = by_side[side]
            rewards[agent] = reward
            cumulative[agent] += reward

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Numba knows a dtype by its identity much faster than an equal one that was unpickled.
        self.__dict__.update(state)
        self._view = np.zeros(1, MATCH)


def _seed_of(root: int, episode: int) -> int:
    """The seed of an episode: the root itself, then others that depend on it alone."""
    return root if episode == 0 else int(mix(mix(np.uint64(root)) + np.uint64(episode))) >> 1


@jit
def _observe(matches, seat, live, views, places, observation, mask):
    observe_seat(matches[0], seat, live, views, places, observation, mask)


@cache
def _observe_compiled() -> Callable[..., None]:
    record, bits = np.zeros(1, MATCH), np.zeros(1, np.int8)
    return compiled_for(_observe, record, 0, True, record, np.zeros((1, 2), np.int64), bits, bits)


@cache
def _rewards_compiled() -> Callable[..., None]:
    return compiled_for(write_rewards, np.zeros(1, MATCH), 0, np.zeros((1, 1)))


@jit
def _write_state(matches, views, places, state):
    rules, start = matches[0].rules, 0
    for seat in range(rules.num_players):
        unpack(state, start, matches[0].hands[seat], np.int64(rules.num_tiles))
        start += rules.num_tiles
    views[0].rules = rules
    redact_table(views[0], matches[0], 0)
    encode(views[0], places, state[start:])
