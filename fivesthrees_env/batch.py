"""``MatchBatch``: N matches stepped in place into preallocated arrays.

    >>> batch = MatchBatch(4096, "fives_and_threes-4p", seed=0)
    >>> for _ in range(1000):
    ...     batch.step(policy(batch.observations, batch.action_masks))

Match i of a batch seeded s is dealt exactly like ``Match(rules, seed=s + i)``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fivesthrees_env.kernel.deal import start_match
from fivesthrees_env.kernel.episode import advance, begin
from fivesthrees_env.kernel.jit import call, jit, prefetch, prefetch_hot
from fivesthrees_env.kernel.known import KnownGame, known, numbers_of, scratch
from fivesthrees_env.kernel.play import allows, only_action, placements_of, write_mask_of
from fivesthrees_env.kernel.record import MATCH, MAX_ENDS, MAX_PLIES, NONE
from fivesthrees_env.match import IllegalAction, check_seed
from fivesthrees_env.observations import Layout, encode
from fivesthrees_env.opponents import random_choice, random_stream
from fivesthrees_env.rewards import add_rewards, check_scheme
from fivesthrees_env.rules import Rules
from fivesthrees_env.threads import check_threads, next_block, run
from fivesthrees_env.views import redact_many, redact_table

__all__ = ["EPISODES", "MatchBatch", "check_episode"]

EPISODES = ("match", "round")

# In a game that never offers a choice one has to stop somewhere.
_MOST_PASSED_OVER = 1000
_MOST_FORCED = 10_000

# Matches that a thread takes at a time: some microseconds of work.
_BLOCK = 128

# Matches from which on it pays to compile for their rules.
_MANY = 1024

# Matches between the one that is stepped and the one whose memory is asked for.
_AHEAD = 8


def check_episode(episode: str) -> bool:
    """Whether an episode is one round ("round") rather than a whole match ("match").

    Raises:
        ValueError: for any other name.
    """
    if episode not in EPISODES:
        raise ValueError(f"episode: {episode!r} given; allowed: {', '.join(map(repr, EPISODES))}")
    return episode == "round"


class MatchBatch:
    """N matches side by side; a finished one starts anew in the same step.

    Attributes:
        rules, layout: what is played, and where everything is in an observation.
        observations: (N, layout.size) int8, of the seat to move in each match.
        action_masks: (N, rules.num_actions) int8, never all zero.
        seats: (N,) int8, the seat to move.
        rewards: (N, sides) float32, what the plies of the latest step were worth to each side; a seat's
            is ``rules.side_of(seats)``.
        dones: (N,) bool, whether the latest step ended the episode (a new one has begun since).
        winners: (N,) int8, the side that won the match in the latest step, or -1.
        matches: (N,) of dtype ``MATCH``, the whole truth, to be read: ``step``, ``reset`` and
            ``load_state_dict`` alone change it. Agents get ``views``.

    Args:
        num_matches: N.
        rules: a ``Rules``, a preset's name or a dict; default: Fives and Threes for four, in pairs.
        seed: match i begins like ``Match(rules, seed=seed + i)``; None draws one (see ``batch.seed``).
        episode: "match" (to the target) or "round" (one round from 0 points).
        skip_forced: knocks, draws and single choices are played by the batch itself, so that a learner
            sees decisions only; the rewards of the skipped plies are part of the step.
        reward: "points", "margin" or "win" (see ``rewards.py``).
        observations, action_masks: arrays to write into instead of own ones, C-contiguous int8.
        num_threads: threads that share a step, at most one for every 128 matches; results do not depend on
            it. More than one pays from about 1,000 matches on.
        specialise: whether to compile for exactly these rules, which takes some ten seconds when they are
            used for the first time, and makes steps half as fast again; results do not depend on it. None:
            from 1,024 matches on.
    """

    def __init__(
        self,
        num_matches: int,
        rules: Rules | str | Mapping[str, Any] | None = None,
        seed: int | None = None,
        episode: str = "match",
        skip_forced: bool = False,
        reward: str = "points",
        observations: np.ndarray | None = None,
        action_masks: np.ndarray | None = None,
        num_threads: int = 1,
        specialise: bool | None = None,
    ) -> None:
        if num_matches < 1:
            raise ValueError(f"num_matches: {num_matches} given; allowed: 1 or more")
        self.rules = Rules.coerce(rules)
        self.layout = Layout.of(self.rules)
        self.num_matches = num_matches
        self.num_threads = check_threads(num_threads)
        self._num_blocks = -(-num_matches // _BLOCK)
        self._busy_threads = min(self.num_threads, self._num_blocks)
        self.specialise = num_matches >= _MANY if specialise is None else specialise
        places = self.layout.places
        self._game = KnownGame(self.rules.record, places) if self.specialise else places
        self.skip_forced = skip_forced
        self._stop_after_round = check_episode(episode)
        self._scheme = check_scheme(reward)
        self.matches = np.zeros(num_matches, MATCH)
        self.matches["rules"] = self.rules.record
        self.seats = np.zeros(num_matches, np.int8)
        self.rewards = np.zeros((num_matches, self.rules.num_sides), np.float32)
        self.dones = np.zeros(num_matches, np.bool_)
        self.winners = np.full(num_matches, NONE, np.int8)
        self._actions = np.zeros(num_matches, np.int64)
        self._placements = np.zeros((num_matches, MAX_ENDS), np.uint64)  # of the seats to move
        self._views_are_old = True
        self._carried = np.zeros_like(self.rewards)  # of forced plies since the latest step
        self._views = np.zeros(num_matches, MATCH)
        self.observations = np.zeros((num_matches, self.layout.size), np.int8)
        self.action_masks = np.zeros((num_matches, self.rules.num_actions), np.int8)
        if observations is not None or action_masks is not None:
            self.bind(observations, action_masks)
        self.reset(seed)
        self._compile()

    def reset(self, seed: int | None = None) -> None:
        """Start all matches anew; match i is dealt like ``Match(rules, seed=seed + i)``."""
        self.seed = check_seed(seed)
        self.dones[:] = False
        self.winners[:] = NONE
        self.rewards[:] = 0.0
        self._carried[:] = 0.0
        _begin_all(self.matches, self.seed)
        if self.skip_forced:
            _skip_all(self.matches, self._stop_after_round, self._scheme, self._carried)
        self._observe()

    def state_dict(self) -> dict[str, np.ndarray]:
        """All that a continuation needs, as plain arrays; with ``load_state_dict`` it goes on identically."""
        return {
            "matches": self.matches.view(np.uint8).reshape(self.num_matches, -1).copy(),
            "carried": self._carried.copy(),
        }

    def load_state_dict(self, state: Mapping[str, np.ndarray]) -> None:
        """Take on a state from ``state_dict()``.

        Raises:
            ValueError: if it belongs to another number of matches, other rules or another version.
        """
        raw, carried = np.asarray(state["matches"]), np.asarray(state["carried"])
        for name, array, dtype, shape in (
            ("matches", raw, np.dtype(np.uint8), (self.num_matches, MATCH.itemsize)),
            ("carried", carried, np.dtype(np.float32), self._carried.shape),
        ):
            if array.dtype != dtype or array.shape != shape:
                raise ValueError(f"{name}: {array.dtype} {array.shape} given; allowed: {dtype} {shape}")
        matches = np.ascontiguousarray(raw).reshape(-1).view(MATCH)
        _check_sound(matches, self.rules)
        self.matches[:] = matches
        self._carried[:] = carried
        self.dones[:] = False
        self.winners[:] = NONE
        self.rewards[:] = 0.0
        self._observe()

    def bind(self, observations: np.ndarray | None = None, action_masks: np.ndarray | None = None) -> None:
        """Write into these arrays from now on (a row of a rollout buffer, say) instead of the ones before.

        Raises:
            ValueError: if an array has another shape, another dtype or gaps, or cannot be written.
        """
        arrays = {"observations": observations, "action_masks": action_masks}
        given = {name: array for name, array in arrays.items() if array is not None}
        for name, array in given.items():
            own = getattr(self, name)
            fits = array.shape == own.shape and array.dtype == np.int8
            if not (fits and array.flags.c_contiguous and array.flags.writeable):
                raise ValueError(
                    f"{name}: {array.dtype} {array.shape} given; "
                    f"allowed: writable, C-contiguous int8 {own.shape}"
                )
        for name, array in given.items():
            setattr(self, name, array)

    def step(self, actions: np.ndarray) -> None:
        """Make one action in each match and write all arrays.

        Args:
            actions: (N,) whole numbers.

        Raises:
            IllegalAction: if one is not legal; it names the first such match, and nothing has changed.
        """
        actions = self._check_actions(actions)
        self._actions[:] = actions  # one type alone reaches the kernel, so that a step never compiles
        bad = _first_illegal(self.matches, self._game, self._placements, self._actions)
        if bad >= 0:
            legal = np.flatnonzero(self.action_masks[bad]).tolist()
            raise IllegalAction(f"actions[{bad}]: {actions[bad]} given; allowed in match {bad}: {legal}")
        self._views_are_old = True  # first: a signal may be raised as soon as the kernel is done
        self._run_step(self.matches)

    @property
    def views(self) -> np.ndarray:
        """What the seat to move knows in each match: (N,) of dtype ``MATCH``, made when asked for."""
        if self._views_are_old:
            redact_many(self._views, self.matches, self.seats)
            self._views_are_old = False
        return self._views

    def random_actions(self, rng: np.random.Generator) -> np.ndarray:
        """A uniformly random legal action for each match: (N,) int64."""
        actions = np.empty(self.num_matches, np.int64)
        _choose(self.matches, self._game, self._placements, random_stream(rng), actions)
        return actions

    def _run_step(self, matches: np.ndarray) -> None:
        run(
            _step_blocks,
            self._busy_threads,
            self._num_blocks,
            matches,
            self._game,
            self._actions,
            self._stop_after_round,
            self.skip_forced,
            self._scheme,
            self.rewards,
            self._carried,
            self.dones,
            self.winners,
            self.observations,
            self.action_masks,
            self._placements,
            self.seats,
        )

    def _compile(self) -> None:
        """Have all that a step needs compiled or loaded now, not in the first, perhaps timed, step.

        An empty part of the matches will do: kernels read the rules of the one where it begins.
        """
        nothing, no_actions = self.matches[:0], np.zeros(0, np.int64)
        _first_illegal(nothing, self._game, self._placements, no_actions)
        self._run_step(nothing)
        _choose(nothing, self._game, self._placements, random_stream(np.random.default_rng(0)), no_actions)

    def _observe(self) -> None:
        self._views_are_old = True
        rows = self.observations, self.action_masks, self._placements, self.seats
        run(_observe_blocks, self._busy_threads, self._num_blocks, self.matches, self._game, *rows)

    def _check_actions(self, actions: np.ndarray) -> np.ndarray:
        array = np.asarray(actions)
        if array.shape != (self.num_matches,) or array.dtype.kind not in "iu":
            raise IllegalAction(
                f"actions: {array.dtype} {array.shape} given; "
                f"allowed: whole numbers of shape ({self.num_matches},)"
            )
        return array


def _check_sound(matches: np.ndarray, rules: Rules) -> None:
    """Refuse matches that the kernel, which checks no bounds, could not go on with.

    Raises:
        ValueError: naming the field and the first match that is wrong.
    """
    players, tiles, pips = rules.num_players, rules.num_tiles, rules.highest
    ends = NONE if rules.num_ends == 2 else pips
    ranges = {
        "seat": (0, players - 1),
        "opener": (0, players - 1),
        "must_lead": (NONE, tiles - 1),
        "placed": (0, tiles),
        "num_plies": (0, MAX_PLIES - 1),
        "knocks": (0, MAX_PLIES),
        "spinner": (NONE, pips),
        "undealt": (0, tiles - rules.hand_size * players),
        "round_winner": (NONE, players - 1),
        "ends": (NONE, np.array([pips, pips, ends, ends])),
        "weights": (0, 2),
        "deck": (0, tiles - 1),
        "held": (0, tiles),
        "scores": (0, rules.target - 1),
        "over": (0, 0),
    }
    wrong = {name: (matches[name] < a) | (matches[name] > b) for name, (a, b) in ranges.items()}
    wrong["rules"] = matches["rules"] != rules.record
    hands = np.ascontiguousarray(matches["hands"]).view(np.uint8).reshape(len(matches), -1, 8)
    wrong["held"] |= np.unpackbits(hands, axis=-1).sum(-1) != matches["held"]
    for name in ("hands", "laid"):
        wrong[name] = matches[name] >> np.uint64(tiles) > 0
    for name, bad in wrong.items():
        if bad.any():
            row = np.flatnonzero(bad.reshape(len(matches), -1).any(1))[0]
            raise ValueError(f"matches[{row}]: {name} is {matches[name][row]}, which no match here can have")


@jit
def _begin_all(matches, seed):
    for i in range(matches.size):
        begin(matches[i], seed + i)


@jit
def _first_illegal(matches, game, placements, actions):
    """The first match in which the action is not legal, or -1."""
    matches = known(matches, game)
    for i in range(matches.size):
        if not allows(matches[i], _placements_in(placements, i), actions[i]):
            return i
    return -1


@jit
def _choose(matches, game, placements, stream, actions):
    """A uniformly random legal action for each match."""
    matches = known(matches, game)
    for i in range(matches.size):
        actions[i] = random_choice(matches[i], _placements_in(placements, i), stream[0])


@jit
def _placements_in(rows, i):
    """What ``placements_of`` said when row i was written."""
    return rows[i, 0], rows[i, 1], rows[i, 2], rows[i, 3]


@jit
def _ply(match, action, stop_after_round, scheme, rewards, i):
    """One action and its rewards; returns whether the episode ended."""
    over = advance(match, action, stop_after_round)
    add_rewards(match, scheme, rewards, i)
    return over


@call
def _skip_forced(match, stop_after_round, scheme, rewards, i):
    """Play on while there is no choice; returns whether the episode ended."""
    for _ in range(_MOST_FORCED):
        action = only_action(match)
        if action < 0:
            return False
        if _ply(match, action, stop_after_round, scheme, rewards, i):
            return True
    return False


@call
def _open_episode(match, stop_after_round, scheme, carried, i):
    """Forced plies at the start of an episode. Those without any decision are passed over."""
    for _ in range(_MOST_PASSED_OVER):
        if not _skip_forced(match, stop_after_round, scheme, carried, i):
            return
        carried[i] = 0.0
        start_match(match)


@jit
def _skip_all(matches, stop_after_round, scheme, carried):
    for i in range(matches.size):
        _open_episode(matches[i], stop_after_round, scheme, carried, i)


@jit
def _step_blocks(
    blocks, matches, game, actions, stop_after_round, skip_forced, scheme, rewards, carried, dones, winners,
    observations, masks, placements, seats,
):  # fmt: skip
    """Step and observe the matches of every block that this thread gets."""
    matches, places = known(matches, game), numbers_of(game)
    view = scratch(matches)
    view.rules = matches[0].rules
    block = next_block(blocks)
    while block >= 0:
        for i in range(block * _BLOCK, min((block + 1) * _BLOCK, matches.size)):
            _prefetch(matches, i)
            match = matches[i]
            for side in range(rewards.shape[1]):
                rewards[i, side] = carried[i, side]
                carried[i, side] = 0.0
            done = _ply(match, actions[i], stop_after_round, scheme, rewards, i)
            if skip_forced and not done:
                done = _skip_forced(match, stop_after_round, scheme, rewards, i)
            dones[i] = done
            winners[i] = match.winner if done else NONE
            if done:
                start_match(match)
                if skip_forced:
                    _open_episode(match, stop_after_round, scheme, carried, i)
            _observe(match, view, places, observations[i], masks[i], placements[i])
            seats[i] = match.seat
        block = next_block(blocks)


@jit
def _prefetch(matches, i):
    """Ask for the memory of the matches after this one: first for their tables, then for their next plies."""
    last = matches.size - 1
    prefetch_hot(matches, min(i + _AHEAD, last))
    next_but_one = matches[min(i + _AHEAD // 2, last)]
    prefetch(next_but_one.history, np.int64(next_but_one.num_plies))


@jit
def _observe_blocks(blocks, matches, game, observations, masks, placements, seats):
    """What the seat to move sees and may do, in the matches of every block that this thread gets."""
    matches, places = known(matches, game), numbers_of(game)
    view = scratch(matches)
    view.rules = matches[0].rules
    block = next_block(blocks)
    while block >= 0:
        for i in range(block * _BLOCK, min((block + 1) * _BLOCK, matches.size)):
            _observe(matches[i], view, places, observations[i], masks[i], placements[i])
            seats[i] = matches[i].seat
        block = next_block(blocks)


@jit
def _observe(match, view, places, observation, mask, placements):
    redact_table(view, match, np.int64(match.seat))
    encode(view, places, observation)
    found = placements_of(view)
    write_mask_of(view, found, mask)
    placements[0], placements[1], placements[2], placements[3] = found
