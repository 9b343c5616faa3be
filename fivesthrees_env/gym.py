"""Gymnasium environments: one learner at the table, given agents on all other seats.

>>> env = gymnasium.make("fivesthrees/FivesAndThrees-v0", num_players=4, opponents="greedy")
>>> observation, info = env.reset(seed=0)
>>> action = int(np.flatnonzero(info["action_mask"])[0])
>>> observation, reward, terminated, truncated, info = env.step(action)
>>> envs = gymnasium.make_vec("fivesthrees/FivesAndThrees-v0", num_envs=4096, seat="random")

**Observation**: a flat ``Box`` of bits, (bits,) int8, the learner's view; ``Layout.of(rules)``
names each bit. **Mask**: ``info["action_mask"]``, (actions,) int8, and ``action_masks()``.
**Actions**: ``Discrete(actions)``, the ids of the PettingZoo environments.

**Turns.** Between two of the learner's turns all others play; what its side gains or loses in all
these plies is the reward of its action. What happens before its first turn is part of its first
reward. An episode that ends before the learner has had a turn is passed over.

**Illegal actions** lose the match at once, since a ``Discrete`` space samples them: minus the
target (-1 with ``reward="win"``) comes on top of what was gained before, so that giving up never
pays. With ``illegal="raise"`` they raise ``IllegalAction`` and change nothing.

**Vector environment.** All matches are stepped in compiled code; an agent from outside is asked
once for all matches in which it is to move. Autoreset is ``SAME_STEP``: the observation and mask of
a step that ends an episode are the first of the next one; the last of the old one are in
``info["final_obs"]`` and ``info["final_info"]``. Match i of a batch seeded s plays exactly like the
single environment seeded s + i, episode after episode, unless agents from outside use chance.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import gymnasium
import numpy as np
from gymnasium import spaces
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

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
from fivesthrees_env.kernel.deal import start_match
from fivesthrees_env.kernel.episode import advance, begin
from fivesthrees_env.kernel.jit import call, jit
from fivesthrees_env.kernel.play import is_legal, only_action
from fivesthrees_env.kernel.random import below, seed_stream
from fivesthrees_env.kernel.record import MATCH, MAX_SEATS, NONE
from fivesthrees_env.kernel.settle import side_of
from fivesthrees_env.match import DealError, IllegalAction, check_seed, whole_number
from fivesthrees_env.observations import Layout
from fivesthrees_env.opponents import (
    Agent,
    GreedyAgent,
    RandomAgent,
    greedy_action,
    opponent,
    random_action,
)
from fivesthrees_env.rewards import WIN, add_rewards, check_scheme
from fivesthrees_env.rules import Rules
from fivesthrees_env.table import Table
from fivesthrees_env.views import redact_many, turned

__all__ = ["AllFivesEnv", "AllFivesVectorEnv", "FivesAndThreesEnv", "FivesAndThreesVectorEnv"]

#: Where a game stands: the learner is to choose, an agent from outside is to move, the episode is
#: over, or no episode ever lets the learner choose.
CHOICE, WAITING, TERMINATED, TRUNCATED, POINTLESS = range(5)
GOES_ON = -1

#: Who sits on a seat: the built-in agents play in compiled code, others are asked.
RANDOM, GREEDY, OUTSIDE = range(3)

#: Episodes in a row without a choice for the learner after which the search for one is given up.
MOST_PASSED_OVER = 1000

#: What a game has besides its match.
GAME = np.dtype(
    [
        ("key", "u8"),  # random stream of seats and random agents, apart from the stream that deals
        ("counter", "u8"),
        ("gained", "f8"),  # reward of the learner since its latest turn
        ("passed_over", "i2"),  # episodes begun since the learner's latest turn
        ("learner", "i1"),  # its seat
        ("status", "i1"),
    ],
    align=True,
)

SETTINGS = np.dtype(
    [
        ("max_rounds", "i4"),  # 0: none
        ("scheme", "i1"),
        ("one_round", "i1"),
        ("skip_forced", "i1"),
        ("seat", "i1"),  # of the learner; NONE: any, anew in each episode
        ("agents", "i1", (MAX_SEATS,)),  # by seats to the left of the learner
    ],
    align=True,
)


# ------------------------------------------------------------------------------ many games


class Games:
    """N matches with one learner each, and agents on all other seats.

    Attributes:
        rules, layout: what is played, and where everything is in an observation.
        matches: (N,) of dtype ``MATCH``.
        games: (N,) of dtype ``GAME``.

    Args:
        num_games: N.
        rules: what is played.
        opponents, partner, seat: see ``FivesAndThreesEnv``.
        episode, reward, max_rounds, skip_forced: see ``FivesAndThreesEnv``.
    """

    def __init__(
        self,
        num_games: int,
        rules: Rules,
        opponents: Agent | str | Sequence[Agent | str],
        partner: Agent | str | None,
        seat: int | str,
        episode: str,
        reward: str,
        max_rounds: int | None,
        skip_forced: bool,
    ) -> None:
        if num_games < 1:
            raise ValueError(f"num_envs: {num_games} given; allowed: 1 or more")
        self.rules, self.layout = rules, Layout.of(rules)
        self.matches, self.games = np.zeros(num_games, MATCH), np.zeros(num_games, GAME)
        self.matches["rules"] = rules.record
        self._all = np.arange(num_games)
        self._settings = np.zeros(1, SETTINGS)
        self._settings["scheme"] = check_scheme(reward)
        self._settings["one_round"] = check_episode(episode)
        self._settings["max_rounds"] = check_max_rounds(max_rounds) or 0
        self._settings["skip_forced"] = bool(skip_forced)
        self._settings["seat"] = _check_seat(rules, seat)
        self._outside: list[Agent] = []
        for place, agent in enumerate(_seat_agents(rules, opponents, partner), 1):
            self._settings["agents"][0, place] = self._code_of(agent)

    def _code_of(self, agent: Agent) -> int:
        """How compiled code knows an agent."""
        if type(agent) is RandomAgent:
            return RANDOM
        if type(agent) is GreedyAgent:
            return GREEDY
        if not any(agent is known for known in self._outside):
            self._outside.append(agent)
        return OUTSIDE + next(i for i, known in enumerate(self._outside) if agent is known)

    def begin(self, seed: int, options: Mapping[str, Any] | None) -> None:
        """Deal game i like ``Match(rules, seed + i)``, but for what the options of a reset say.

        Raises:
            DealError: if no round can start so; nothing has changed.
        """
        if options:
            rows = range(self.matches.size)
            for row, match in enumerate([set_up(self.rules, seed + i, options) for i in rows]):
                self.matches[row] = match.records[0]
        else:
            _begin_all(self.matches, seed)
        _seed_all(self.games, seed)

    def open(self, rng: np.random.Generator, rows: np.ndarray | None = None) -> None:
        """Play dealt games up to the learner's first choice.

        Args:
            rng: chance for agents from outside.
            rows: which games; default: all.
        """
        _open_all(self.matches, self.games, self._settings, self._all if rows is None else rows)
        self._ask(rng)

    def restart(self, rng: np.random.Generator, rows: np.ndarray | None = None) -> None:
        """Begin the next match of games, and play up to the learner's first choice."""
        rows = self._all if rows is None else rows
        _deal_all(self.matches, rows)
        self.open(rng, rows)

    def step(self, actions: np.ndarray, rng: np.random.Generator) -> None:
        """Make the learners' actions, an illegal one of which loses, and let the others play."""
        _play_all(self.matches, self.games, self._settings, self._all, actions)
        self._ask(rng)

    def first_illegal(self, actions: np.ndarray) -> int:
        """The first game in which the learner's action is not legal, or -1."""
        return int(_first_illegal(self.matches, self._all, actions))

    def observe(self, rows: np.ndarray | None = None, live: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Observations (n, bits) and masks (n, actions) of the learners; masks 0 if not live."""
        rows = self._all if rows is None else rows
        observations = np.empty((rows.size, self.layout.size), np.int8)
        masks = np.empty((rows.size, self.rules.num_actions), np.int8)
        places = self.layout.places
        _observe_all(self.matches, self.games, rows, live, places, observations, masks)
        return observations, masks

    def won(self, rows: np.ndarray) -> np.ndarray:
        """Whether the learner's side has won the match: (n,) bool."""
        sides = self.games["learner"][rows] % self.rules.num_sides
        return (self.matches["over"][rows] == 1) & (self.matches["winner"][rows] == sides)

    def table(self, row: int) -> Table:
        """A game as people read it, with all hands open."""
        return Table(self.matches[row : row + 1], self.rules)

    def _ask(self, rng: np.random.Generator) -> None:
        """Ask agents from outside until each game waits for its learner or its episode is over."""
        if self._outside:  # not `rng` itself: its seed, which an agent could read, also deals the tiles
            rng = np.random.default_rng(int(rng.integers(2**62)))
        while self._outside:
            waiting = np.flatnonzero(self.games["status"] == WAITING)
            if not waiting.size:
                break
            codes = np.empty(waiting.size, np.int64)
            _find_agents(self.matches, self.games, self._settings, waiting, codes)
            for code, agent in enumerate(self._outside, OUTSIDE):
                rows = waiting[codes == code]
                if rows.size:
                    _play_all(self.matches, self.games, self._settings, rows, self._act(agent, rows, rng))
        if (self.games["status"] == POINTLESS).any():
            raise ValueError(f"{self.rules}: the learner never has a choice in these episodes")

    def _act(self, agent: Agent, rows: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """What an agent from outside does in some games; it sees views, its answer is checked."""
        views, matches = np.zeros(rows.size, MATCH), self.matches[rows]
        redact_many(views, matches, np.ascontiguousarray(matches["seat"]))
        actions = np.asarray(agent.act(views, rng))
        if actions.shape != rows.shape or actions.dtype.kind not in "iu":
            raise IllegalAction(
                f"agent {agent.name!r} answers {actions.dtype} {actions.shape}; "
                f"allowed: whole numbers {rows.shape}"
            )
        actions = actions.astype(np.int64)
        bad = _first_illegal(self.matches, rows, actions)
        if bad >= 0:
            raise IllegalAction(f"agent {agent.name!r}: action {actions[bad]} is not legal")
        return actions

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Numba knows a dtype by its identity much faster than an equal one that was unpickled.
        self.__dict__.update(state)
        self.matches, self.games = self.matches.view(MATCH), self.games.view(GAME)
        self._settings = self._settings.view(SETTINGS)


def _begin(
    games: Games, seed: int | None, options: Mapping[str, Any] | None, rng: np.random.Generator
) -> None:
    """Deal games from a seed, or from chance: which is as before if the options are impossible."""
    chance = rng.bit_generator.state
    try:
        games.begin(int(rng.integers(2**62)) if seed is None else seed, options)
    except DealError:
        rng.bit_generator.state = chance
        raise


def _check_seat(rules: Rules, seat: int | str) -> int:
    if isinstance(seat, str) and seat == "random":
        return NONE
    index = whole_number(seat)
    if index is None or not 0 <= index < rules.num_players:
        raise ValueError(f"seat: {seat!r} given; allowed: 'random' or 0 to {rules.num_players - 1}")
    return index


def _seat_agents(
    rules: Rules, opponents: Agent | str | Sequence[Agent | str], partner: Agent | str | None
) -> list[Agent]:
    """The agents of the other seats, in the order from the learner's left."""
    others, pairs = rules.num_players - 1, rules.num_sides < rules.num_players
    several = not isinstance(opponents, str) and isinstance(opponents, Sequence)
    given: list[Any] = list(opponents) if several else [opponents] * (others - pairs)  # type: ignore[arg-type]
    if not pairs and partner is not None:
        raise ValueError(f"partner: {partner!r} given; allowed: None where nobody has a partner")
    if pairs and len(given) == others - 1:
        given.insert(1, "greedy" if partner is None else partner)
    elif pairs and len(given) == others and partner is not None:
        raise ValueError(
            f"partner: {partner!r} given; allowed: None where opponents has one for each other seat"
        )
    if len(given) != others:
        lengths = f"{others - 1} or {others}" if pairs else f"{others}"
        raise ValueError(f"opponents: {len(given)} given; allowed: one for all, or a list of {lengths}")
    return [opponent(agent) for agent in given]


# ---------------------------------------------------------------------------- environments


class FivesAndThreesEnv(gymnasium.Env[np.ndarray, int]):
    """Fives and Threes for one learner (see the module).

    Args:
        num_players: 2, 3 or 4; default 4, or what `rules` say.
        rules: a ``Rules``, a preset's name or a dict; default: the standard game for `num_players`.
        opponents: an agent or a name ("random", "greedy") for all opponents; or a list in the order
            from the learner's left: one for each opponent, or one for each other seat (then the
            partner's, too).
        partner: an agent or a name for the learner's partner where there are pairs; default
            "greedy".
        seat: the learner's seat, or "random": any, anew in each episode.
        episode: "match" (to the target) or "round" (one round).
        reward: "points", "margin" or "win" (see ``rewards.py``), of the learner's side.
        max_rounds: truncate when this many rounds have been played.
        illegal: "terminate" (the learner loses: minus the target, or -1 with "win") or "raise" an
            ``IllegalAction``, which changes nothing.
        skip_forced: play knocks, draws and single choices of the learner for it.
        render_mode: None, "ansi", "rgb_array" or "human".

    Raises:
        RulesError: if the rules are impossible or contradict `num_players`.
        ValueError: if another argument is not one of those.
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": list(RENDER_MODES),
        "render_fps": RENDER_FPS,
    }
    game: ClassVar[Callable[..., Rules]] = Rules.fives_and_threes

    def __init__(
        self,
        num_players: int | None = None,
        rules: RulesLike = None,
        opponents: Agent | str | Sequence[Agent | str] = "greedy",
        partner: Agent | str | None = None,
        seat: int | str = 0,
        episode: str = "match",
        reward: str = "points",
        max_rounds: int | None = None,
        illegal: str = "terminate",
        skip_forced: bool = False,
        render_mode: str | None = None,
    ) -> None:
        self.rules = make_rules(num_players, rules, type(self).game)
        self.layout = Layout.of(self.rules)
        self.render_mode = render_mode
        self._screen = Screen(render_mode)
        self._illegal_loses = check_illegal(illegal)
        self._games = Games(1, self.rules, opponents, partner, seat, episode, reward, max_rounds, skip_forced)
        self._ended = True
        self._begun = False
        self.observation_space = spaces.Box(0, 1, (self.layout.size,), np.int8)
        self.action_space = spaces.Discrete(self.rules.num_actions)  # type: ignore[assignment]

    @property
    def seat(self) -> int:
        """The learner's seat in this episode."""
        return int(self._games.games["learner"][0])

    @property
    def table(self) -> Table:
        """The table with all hands open.

        Raises:
            gymnasium.error.ResetNeeded: before the first ``reset``.
        """
        if not self._begun:
            raise gymnasium.error.ResetNeeded("nothing is dealt yet; reset() begins an episode")
        return self._games.table(0)

    def action_masks(self) -> np.ndarray:
        """1 for every legal action: (actions,) int8, fresh; the name is sb3-contrib's."""
        return self._games.observe(live=not self._ended)[1][0]

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin an episode, up to the learner's first turn.

        Args:
            seed: 0 to 2**63 - 1: dealt like ``Match(rules, seed)``. None goes on with the running
                chance.
            options: a position: any of "hands", "opener", "scores", "boneyard", as ``Match.deal``
                takes them. What is left out stays as the seed deals it, but with
                "hands" seat 0 leads unless "opener" is given.

        Returns:
            The observation (bits,) int8 and ``{"action_mask": (actions,) int8}``.

        Raises:
            ValueError: if the seed or the position is impossible; nothing has changed.
        """
        if seed is not None:
            seed = check_seed(seed)
        games = self._games
        if seed is None and not options and self._begun:
            games.restart(self.np_random)
        else:
            _begin(games, seed, options, self.np_random)
            super().reset(seed=seed)
            games.open(self.np_random)
        self._begun, self._ended = True, False
        if self.render_mode == "human":
            self.render()
        return self._look()

    def step(self, action: int) -> tuple[np.ndarray, float, bool, bool, dict[str, Any]]:
        """Make the learner's action and let the others play up to its next turn.

        Raises:
            IllegalAction: if the action is not legal and `illegal` is "raise"; nothing has changed.
            gymnasium.error.ResetNeeded: if the episode is over.
        """
        if self._ended or self._games.games["status"].item() != CHOICE:
            raise gymnasium.error.ResetNeeded("no episode is running; reset() begins the next")
        games, index = self._games, whole_number(action)
        if index is None or not 0 <= index < self.rules.num_actions:
            index = NONE
        actions = np.array([index])
        if not self._illegal_loses and games.first_illegal(actions) >= 0:
            legal = np.flatnonzero(self.action_masks()).tolist()
            raise IllegalAction(f"action {action!r} given; allowed now: {legal}")
        games.step(actions, self.np_random)
        status, reward = games.games["status"].item(), games.games["gained"].item()
        games.games["gained"] = 0.0
        self._ended = status != CHOICE
        observation, info = self._look()
        if self._ended:
            info["won"] = bool(games.won(np.zeros(1, np.int64))[0])
        if self.render_mode == "human":
            self.render()
        return observation, reward, status == TERMINATED, status == TRUNCATED, info

    def render(self) -> Any:
        """The table with open hands: text, pixels (height, width, 3) uint8; a window gives None."""
        if self.render_mode is None:
            gymnasium.logger.warn("render() without a render mode; make it with render_mode=...")
        return self._screen.show(self.table)

    def close(self) -> None:
        """Close the window, if there is one; closing again does nothing."""
        self._screen.close()

    def _look(self) -> tuple[np.ndarray, dict[str, Any]]:
        observations, masks = self._games.observe(live=not self._ended)
        return observations[0], {"action_mask": masks[0]}


class AllFivesEnv(FivesAndThreesEnv):
    """All Fives for one learner: ``FivesAndThreesEnv`` with other standard rules."""

    game = Rules.all_fives


class FivesAndThreesVectorEnv(gymnasium.vector.VectorEnv[np.ndarray, np.ndarray, np.ndarray]):
    """N matches of Fives and Threes, each with one learner (see the module).

    Args:
        num_envs: N.
        num_players, rules, opponents, partner, seat: see ``FivesAndThreesEnv``.
        episode, reward, max_rounds, illegal, skip_forced: see ``FivesAndThreesEnv``.
        render_mode: None, "ansi" or "rgb_array".
    """

    metadata: ClassVar[dict[str, Any]] = {  # type: ignore[misc]
        "render_modes": ["ansi", "rgb_array"],
        "render_fps": RENDER_FPS,
        "autoreset_mode": AutoresetMode.SAME_STEP,
    }
    game: ClassVar[Callable[..., Rules]] = Rules.fives_and_threes

    def __init__(
        self,
        num_envs: int = 1,
        num_players: int | None = None,
        rules: RulesLike = None,
        opponents: Agent | str | Sequence[Agent | str] = "greedy",
        partner: Agent | str | None = None,
        seat: int | str = 0,
        episode: str = "match",
        reward: str = "points",
        max_rounds: int | None = None,
        illegal: str = "terminate",
        skip_forced: bool = False,
        render_mode: str | None = None,
    ) -> None:
        if render_mode == "human":
            raise ValueError("render_mode: 'human' given; allowed: None, 'ansi', 'rgb_array'")
        self.rules = make_rules(num_players, rules, type(self).game)
        self.layout = Layout.of(self.rules)
        self.num_envs = num_envs
        self.render_mode = render_mode
        self._screen = Screen(render_mode)
        self._illegal_loses = check_illegal(illegal)
        self._games = Games(
            num_envs, self.rules, opponents, partner, seat, episode, reward, max_rounds, skip_forced
        )
        self._begun = False
        self.single_observation_space = spaces.Box(0, 1, (self.layout.size,), np.int8)
        self.single_action_space = spaces.Discrete(self.rules.num_actions)
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)

    def action_masks(self) -> np.ndarray:
        """1 for every legal action: (N, actions) int8, fresh, and all 0 before the first ``reset``.

        The name is sb3-contrib's.
        """
        return self._games.observe(live=self._begun)[1]

    def reset(
        self, *, seed: int | None = None, options: Mapping[str, Any] | None = None
    ) -> tuple[np.ndarray, dict[str, Any]]:
        """Begin all episodes anew.

        Args:
            seed: match i is dealt like ``Match(rules, seed + i)``. None goes on with the running
                chance.
            options: a position for all matches (see ``FivesAndThreesEnv.reset``).

        Returns:
            Observations (N, bits) int8 and ``{"action_mask": (N, actions) int8, ...}``.
        """
        if seed is not None:
            seed = check_seed(seed)
            check_seed(seed + self.num_envs - 1)
        games = self._games
        if seed is None and not options and self._begun:
            games.restart(self.np_random)
        else:
            _begin(games, seed, options, self.np_random)
            super().reset(seed=seed)
            games.open(self.np_random)
        self._begun = True
        observations, masks = games.observe()
        return observations, self._info(masks)

    def step(
        self, actions: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, dict[str, Any]]:
        """Make the learners' actions; matches that end begin anew in the same step.

        Args:
            actions: (N,) whole numbers.

        Returns:
            Observations (N, bits) int8, rewards (N,) float64, terminations (N,) bool, truncations
            (N,) bool, all fresh, and the info: "action_mask" (N, actions) int8, and where episodes
            ended "final_obs" (N,) of objects and "final_info" with "action_mask" (N, actions) int8
            and "won" (N,) bool, each with its underscored mask of rows.

        Raises:
            IllegalAction: if `actions` is no (N,) array of whole numbers, or if one is not legal
                and `illegal` is "raise". Nothing has changed.
        """
        if not self._begun or (self._games.games["status"] != CHOICE).any():
            raise gymnasium.error.ResetNeeded(
                "reset() first: nothing has begun, or an agent failed in mid-step"
            )
        games, actions = self._games, self._check_actions(actions)
        games.step(actions, self.np_random)
        status, rewards = games.games["status"].copy(), games.games["gained"].copy()
        games.games["gained"] = 0.0
        final: dict[str, Any] = {}
        ended = np.flatnonzero(status != CHOICE)
        if ended.size:
            final = self._final_info(ended)
            games.restart(self.np_random, ended)
        observations, masks = games.observe()
        info = {**final, **self._info(masks)}
        return observations, rewards, status == TERMINATED, status == TRUNCATED, info

    def render(self) -> tuple[Any, ...] | None:
        """One frame per match: text or pixels."""
        if self.render_mode is None:
            return None
        if not self._begun:
            raise gymnasium.error.ResetNeeded("nothing is dealt yet; reset() begins the episodes")
        return tuple(self._screen.show(self._games.table(row)) for row in range(self.num_envs))

    def _check_actions(self, actions: np.ndarray) -> np.ndarray:
        array = np.asarray(actions)
        if array.shape != (self.num_envs,) or array.dtype.kind not in "iu":
            raise IllegalAction(
                f"actions: {array.dtype} {array.shape} given; allowed: whole numbers ({self.num_envs},)"
            )
        array = array.astype(np.int64)
        bad = -1 if self._illegal_loses else self._games.first_illegal(array)
        if bad >= 0:
            legal = np.flatnonzero(self.action_masks()[bad]).tolist()
            raise IllegalAction(f"actions[{bad}]: {array[bad]} given; allowed there: {legal}")
        return array

    def _info(self, masks: np.ndarray) -> dict[str, Any]:
        return {"action_mask": masks, "_action_mask": np.ones(self.num_envs, np.bool_)}

    def _final_info(self, ended: np.ndarray) -> dict[str, Any]:
        """The last observation and info of episodes that ended, as Gymnasium packs them."""
        there = np.zeros(self.num_envs, np.bool_)
        there[ended] = True
        observations, _ = self._games.observe(ended, live=False)
        final = np.full(self.num_envs, None, object)
        for row, observation in zip(ended, observations, strict=True):
            final[row] = observation
        won = np.zeros(self.num_envs, np.bool_)
        won[ended] = self._games.won(ended)
        info = {
            "action_mask": np.zeros((self.num_envs, self.rules.num_actions), np.int8),
            "_action_mask": there.copy(),
            "won": won,
            "_won": there.copy(),
        }
        return {
            "final_obs": final,
            "_final_obs": there,
            "final_info": info,
            "_final_info": there.copy(),
        }


class AllFivesVectorEnv(FivesAndThreesVectorEnv):
    """N matches of All Fives: ``FivesAndThreesVectorEnv`` with other standard rules."""

    game = Rules.all_fives


# ---------------------------------------------------------------------------- compiled code


@jit
def _begin_all(matches, seed):
    for i in range(matches.size):
        begin(matches[i], seed + i)


@jit
def _seed_all(games, seed):
    for i in range(games.size):
        seed_stream(games[i], np.uint64(seed + i) ^ np.uint64(1 << 63))  # as no match is seeded


@jit
def _deal_all(matches, rows):
    for row in rows:
        start_match(matches[row])


@jit
def _open_all(matches, games, settings, rows):
    rewards = np.zeros((1, MAX_SEATS))
    for row in rows:
        match, game = matches[row], games[row]
        game.passed_over = 0
        status = _open(match, game, settings[0], rewards)
        _settle(match, game, settings[0], status, rewards)


@jit
def _price_of_illegal(match, settings):
    """A lost match: never cheaper than playing it to the end and losing."""
    return 1.0 if settings.scheme == WIN else float(match.rules.target)


@jit
def _play_all(matches, games, settings, rows, actions):
    """Make an action in each game, the learner's or an agent's; an illegal one loses."""
    rewards = np.zeros((1, MAX_SEATS))
    for i in range(rows.size):
        match, game = matches[rows[i]], games[rows[i]]
        if is_legal(match, actions[i]):
            status = _ply(match, game, settings[0], actions[i], rewards)
            if status == GOES_ON:
                status = _others_play(match, game, settings[0], rewards)
            _settle(match, game, settings[0], status, rewards)
        else:
            game.gained -= _price_of_illegal(match, settings[0])
            game.status = TERMINATED


@jit
def _first_illegal(matches, rows, actions):
    for i in range(rows.size):
        if not is_legal(matches[rows[i]], actions[i]):
            return i
    return -1


@jit
def _find_agents(matches, games, settings, rows, codes):
    for i in range(rows.size):
        codes[i] = _agent_to_move(matches[rows[i]], games[rows[i]], settings[0])


@jit
def _observe_all(matches, games, rows, live, places, observations, masks):
    view = np.zeros(1, MATCH)
    for i in range(rows.size):
        match, learner = matches[rows[i]], np.int64(games[rows[i]].learner)
        observe_seat(match, learner, live, view, places, observations[i], masks[i])


@call
def _open(match, game, settings, rewards):
    """Begin an episode of a match just dealt."""
    game.passed_over += 1
    game.gained = 0.0
    game.learner = settings.seat
    if settings.seat == NONE:
        game.learner = below(game, match.rules.num_players)
    return _others_play(match, game, settings, rewards)


@call
def _settle(match, game, settings, status, rewards):
    """Note where a game stands; an episode without a turn for the learner is passed over."""
    while game.passed_over > 0 and status >= TERMINATED:
        if game.passed_over > MOST_PASSED_OVER:
            status = POINTLESS
            break
        start_match(match)
        status = _open(match, game, settings, rewards)
    if status == CHOICE:
        game.passed_over = 0
    game.status = status


@jit
def _others_play(match, game, settings, rewards):
    """Play up to the learner's turn, the turn of an agent from outside, or the episode's end."""
    while True:
        if match.seat == game.learner:
            action = only_action(match) if settings.skip_forced else np.int64(NONE)
            if action == NONE:
                return CHOICE
        else:
            agent = _agent_to_move(match, game, settings)
            if agent >= OUTSIDE:
                return WAITING
            action = greedy_action(match) if agent == GREEDY else random_action(match, game)
        status = _ply(match, game, settings, action, rewards)
        if status != GOES_ON:
            return status


@jit
def _agent_to_move(match, game, settings):
    return settings.agents[turned(match, np.int64(game.learner), match.seat)]


@jit
def _ply(match, game, settings, action, rewards):
    """One action of any seat, its reward to the learner, the next deal; GOES_ON or how it ended."""
    advance(match, action, False)
    rewards[:] = 0.0
    add_rewards(match, settings.scheme, rewards, 0)
    game.gained += rewards[0, side_of(match, game.learner)]
    round_over = match.event.round_end != 0
    if match.over or (round_over and settings.one_round):
        return TERMINATED
    if round_over and settings.max_rounds > 0 and match.round_index >= settings.max_rounds:
        return TRUNCATED
    return GOES_ON
