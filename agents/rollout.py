"""``rollout``: flat Monte Carlo. Likely deals, every legal action tried in all, played out quickly."""

from __future__ import annotations

import time

import numpy as np

from agents.belief import make_move, prepare
from agents.equity import value_of_round
from agents.playouts import (
    LIKELY_PLAY,
    expert_tools,
    finish_round_expertly,
    leaf_table,
    likely_deals,
    run_tasks,
    seed,
    softmax_of,
    winning_action,
)
from agents.softmax import SoftmaxGreedy
from fivesthrees_env.kernel.jit import jit
from fivesthrees_env.kernel.play import is_legal, only_action
from fivesthrees_env.kernel.record import MATCH, NONE
from fivesthrees_env.opponents import Agent, rules_of
from fivesthrees_env.rules import Rules
from fivesthrees_env.views import redact_many

__all__ = ["RolloutAgent"]

#: Deals are weighed and taken in lots of this size, each with a random stream of its own.
LOT = 400


class RolloutAgent:
    """Tries every action in the same sampled deals, plays the round out, and takes the best mean.

    It knows what a view shows, the plies of the round included: hidden tiles are drawn from all deals that
    what happened allows, and those in which the others would hardly have played as they did count for less
    (``belief.py``). What an end of the round is worth is the chance to win the match from there
    (``equity.py``), where there is a table for the game. A placement that wins the match is laid unasked.

    It does not know what others know: in a play-out everybody plays by a fixed policy, whatever it may learn
    later. So it neither hides nor signals anything; but it does not fall for strategy fusion either, as no
    choice in a play-out looks at hidden tiles.

    Args:
        samples: deals per move, rounded up to whole lots where they are more than one lot of 400.
        seconds: time per move instead: lots are added until it is over, of 400 deals or of `samples` if that
            is less. Choices then depend on the machine.
        suppose: how the others are supposed to have played; None: all possible deals are alike.
        pool: deals that are weighed for each one that is taken.
        value: what ends are worth: "equity", "margin" or "auto" (see ``playouts.leaf_table``).
        playout: the agent that plays on for all seats; None: ``ExpertAgent``, compiled.
        workers: threads that share the lots; choices do not depend on it.

    Raises:
        ValueError: if a number is below 1, or `value` is unknown.
    """

    name = "rollout"

    def __init__(
        self,
        samples: int = 800,
        seconds: float | None = None,
        suppose: SoftmaxGreedy | None = LIKELY_PLAY,
        pool: int = 4,
        value: str = "auto",
        playout: Agent | None = None,
        workers: int = 1,
    ) -> None:
        for key, number in (("samples", samples), ("pool", pool), ("workers", workers)):
            if number < 1:
                raise ValueError(f"{key}: {number} given; allowed: 1 or more")
        if seconds is not None and not seconds > 0:
            raise ValueError(f"seconds: {seconds} given; allowed: above 0, or None")
        leaf_table(Rules(), value)
        self.samples, self.seconds, self.suppose, self.pool = samples, seconds, suppose, pool
        self.value, self.playout, self.workers = value, playout, workers

    def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See ``Agent.act``; the first of equally good actions."""
        actions = sure_actions(views)
        seeds = rng.integers(2**63, size=len(views))
        open_ = np.flatnonzero(actions == NONE)
        if open_.size:
            values = self._values(views[open_], seeds[open_])
            actions[open_] = values.argmax(1)
        return actions

    def values(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """What each action is worth: (N, actions) float64, -inf for those that are not legal."""
        return self._values(views, rng.integers(2**63, size=len(views)))

    def _values(self, views: np.ndarray, seeds: np.ndarray) -> np.ndarray:
        if not len(views):
            return np.empty((0, 0))
        rules = rules_of(views)
        leaf = leaf_table(rules, self.value)
        beliefs = [prepare(views[i : i + 1]) for i in range(len(views))]
        totals = np.zeros((len(views), rules.num_actions))
        size = min(LOT, self.samples)
        lots, deadline = 0, time.perf_counter() + (self.seconds or 0.0) * len(views)
        while True:
            more = 1 if self.seconds else -(-self.samples // size)
            results = np.zeros((len(views), more, rules.num_actions))

            def task(number: int, first: int = lots, results: np.ndarray = results) -> None:
                i, lot = divmod(number, results.shape[1])
                stream, deals = np.zeros(1, MATCH), np.empty(size, MATCH)
                seed(stream, np.int64(seeds[i] ^ (first + lot)))
                view, suppose = views[i : i + 1], softmax_of(self.suppose)
                fill_deals(view, *beliefs[i], suppose, self.pool, stream, deals)
                if self.playout is None:
                    _try_actions(view, deals, leaf, expert_tools(rules), results[i, lot])
                else:
                    self._try_slowly(view, deals, leaf, stream, results[i, lot])

            run_tasks(task, range(len(views) * more), self.workers)
            totals += results.sum(1)
            lots += more
            if self.seconds is None or time.perf_counter() >= deadline:
                return totals / (lots * size)

    def _try_slowly(
        self, view: np.ndarray, deals: np.ndarray, leaf: object, stream: np.ndarray, values: np.ndarray
    ) -> None:
        """``_try_actions`` with the agent that was given: all deals and actions side by side."""
        assert self.playout is not None
        rng = np.random.default_rng(int(stream["key"][0]))
        legal = np.flatnonzero([is_legal(view[0], a) for a in range(len(values))])
        matches = np.tile(deals, len(legal))
        _play_each(matches, np.arange(len(matches)), np.repeat(legal, len(deals)))
        while True:
            running = _running(matches)
            if not running.size:
                break
            batch, views = matches[running], np.zeros(len(running), MATCH)
            redact_many(views, batch, batch["seat"])
            _play_each(matches, running, np.asarray(self.playout.act(views, rng), np.int64))
        values[:] = -np.inf
        values[legal] = _worth_of_each(matches, leaf).reshape(len(legal), -1).sum(1)


@jit
def sure_actions(views):
    """The only action, or one that wins the match at once; else NONE."""
    actions = np.empty(views.size, np.int64)
    scratch = np.empty(1, MATCH)
    for i in range(views.size):
        scratch[0] = views[i]  # looking ahead lays tiles for a moment
        actions[i] = only_action(scratch[0])
        if actions[i] == NONE:
            actions[i] = winning_action(scratch[0])
    return actions


@jit
def fill_deals(views, plans, room, ways, suppose, pool, stream, deals):
    """``likely_deals`` of ``views[0]``."""
    likely_deals(views[0], plans[0], room, ways, suppose, pool, stream[0], deals)


@jit
def _try_actions(views, deals, leaf, tools, values):
    """Add up what every legal action is worth in all deals; -inf for the others."""
    scratch = np.empty(1, MATCH)
    match = scratch[0]
    for action in range(values.size):
        if not is_legal(views[0], action):
            values[action] = -np.inf
            continue
        for k in range(deals.size):
            scratch[0] = deals[k]
            make_move(match, action)
            finish_round_expertly(match, tools)
            values[action] += value_of_round(leaf, match, 0)


@jit
def _play_each(matches, places, actions):
    for k in range(places.size):
        make_move(matches[places[k]], actions[k])


@jit
def _running(matches):
    """The positions of the matches whose round goes on; what leaves no choice is played."""
    found = np.empty(matches.size, np.int64)
    count = 0
    for i in range(matches.size):
        match = matches[i]
        while not (match.over or match.event.round_end):
            action = only_action(match)
            if action == NONE:
                found[count] = i
                count += 1
                break
            make_move(match, action)
    return found[:count]


@jit
def _worth_of_each(matches, leaf):
    worth = np.empty(matches.size)
    for i in range(matches.size):
        worth[i] = value_of_round(leaf, matches[i], 0)
    return worth
