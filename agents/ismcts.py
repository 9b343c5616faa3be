"""``ismcts``: one tree over what everybody sees, searched through ever new likely deals."""

from __future__ import annotations

import time

import numpy as np

from agents.belief import make_move, prepare
from agents.equity import value_of_round
from agents.playouts import (
    LIKELY_PLAY,
    finish_round,
    leaf_table,
    run_tasks,
    seed,
    softmax_of,
)
from agents.rollout import fill_deals, sure_actions
from agents.softmax import SoftmaxGreedy
from fivesthrees_env.kernel.jit import jit, lowest_bit
from fivesthrees_env.kernel.layout import playable
from fivesthrees_env.kernel.play import only_action
from fivesthrees_env.kernel.random import below
from fivesthrees_env.kernel.record import MATCH, MAX_PLIES, NONE
from fivesthrees_env.kernel.settle import side_of
from fivesthrees_env.opponents import rules_of
from fivesthrees_env.rules import Rules

__all__ = ["IsmctsAgent"]

#: A node of the tree: what has been done in public since the search began.
NODE = np.dtype(
    [
        ("action", "i4"),  # that led here
        ("side", "i4"),  # that took it
        ("child", "i4"),  # the latest child, or 0
        ("sibling", "i4"),  # the parent's child before, or 0
        ("visits", "i4"),
        ("available", "i4"),  # how often the action could have been chosen
        ("value", "f8"),  # sum over the visits, to the side that took the action
    ],
    align=True,
)


class IsmctsAgent:
    """Information set Monte Carlo tree search (Cowling, Powley and Whitehouse, 2012; single observer).

    Every iteration walks down one tree with another likely deal: a node is a sequence of public plies,
    whatever the hidden tiles, so the viewer's later choices do not depend on what it will not see then: no
    strategy fusion. Choices in the tree are by UCB over the actions that the deal allows; a new choice ends
    the walk, and the round is played out by ``playouts.racing_action``. The most visited action is taken. In
    the tree the others weigh their actions over all hands that they may hold, not by the one that they know.

    What it knows is what ``RolloutAgent`` knows: the view, likely deals, the chance to win the match.

    Args:
        iterations: walks per move.
        seconds: time per move instead: trees of that many walks are grown until it is over, and their visits
            added up (root parallelisation, Chaslot et al., 2008). Choices then depend on the machine.
        explore: weight of UCB's exploration, in chances to win.
        suppose: how the others are supposed to have played; None: all possible deals are alike.
        pool: deals that are weighed for each one that is taken.
        value: what ends are worth: "equity", "margin" or "auto" (see ``playouts.leaf_table``).
        workers: threads that share the views of a batch; choices do not depend on it.

    Raises:
        ValueError: if a number is out of range, or `value` is unknown.
    """

    name = "ismcts"

    def __init__(
        self,
        iterations: int = 2000,
        seconds: float | None = None,
        explore: float = 0.2,
        suppose: SoftmaxGreedy | None = LIKELY_PLAY,
        pool: int = 4,
        value: str = "auto",
        workers: int = 1,
    ) -> None:
        for key, number in (("iterations", iterations), ("pool", pool), ("workers", workers)):
            if number < 1:
                raise ValueError(f"{key}: {number} given; allowed: 1 or more")
        if seconds is not None and not seconds > 0:
            raise ValueError(f"seconds: {seconds} given; allowed: above 0, or None")
        if not explore >= 0:
            raise ValueError(f"explore: {explore} given; allowed: 0 or more")
        leaf_table(Rules(), value)
        self.iterations, self.seconds, self.explore, self.suppose = (
            iterations,
            seconds,
            float(explore),
            suppose,
        )
        self.pool, self.value, self.workers = pool, value, workers

    def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See ``Agent.act``."""
        actions = sure_actions(views)
        seeds = rng.integers(2**63, size=len(views))
        if not len(views):
            return actions
        rules = rules_of(views)
        leaf = leaf_table(rules, self.value)

        def task(i: int) -> None:
            stream = np.zeros(1, MATCH)
            seed(stream, np.int64(seeds[i]))
            deals = np.empty(max(self.iterations // 2, 1), MATCH)
            view = views[i : i + 1]
            plan, visits = prepare(view), np.zeros(rules.num_actions, np.int64)
            deadline = time.perf_counter() + (self.seconds or 0.0)
            while True:
                fill_deals(view, *plan, softmax_of(self.suppose), self.pool, stream, deals)
                actions[i] = _search(deals, leaf, self.iterations, self.explore, stream, visits)
                if self.seconds is None:
                    return
                if time.perf_counter() >= deadline:
                    actions[i] = visits.argmax()
                    return

        run_tasks(task, np.flatnonzero(actions == NONE).tolist(), self.workers)
        return actions


@jit
def _search(deals, leaf, iterations, explore, streams, visits):
    """The action at the root that was visited most; all visits there are added to `visits` (actions,)."""
    scratch, nodes = np.empty(1, MATCH), np.zeros(8 * iterations + 2, NODE)
    path, won = np.empty(MAX_PLIES, np.int64), np.empty(4)
    match, stream, used = scratch[0], streams[0], np.int64(1)
    order = np.arange(deals.size)
    for i in range(iterations):
        at = i % deals.size  # all deals in a new random order, again and again
        other = at + below(stream, deals.size - at)
        order[at], order[other] = order[other], order[at]
        scratch[0] = deals[order[at]]
        length, used = walk_down(nodes, used, match, path, explore, stream)
        finish_round(match, leaf)
        for side in range(match.rules.num_sides):
            won[side] = value_of_round(leaf, match, side)
        for k in range(length):
            nodes[path[k]].visits += 1
            nodes[path[k]].value += won[nodes[path[k]].side]
    best = child = np.int64(nodes[0].child)
    while child != 0:
        visits[nodes["action"][child]] += nodes["visits"][child]
        if nodes[child].visits > nodes[best].visits:
            best = child
        child = np.int64(nodes[child].sibling)
    return np.int64(nodes["action"][best])  # not a field of a record: that would not keep `nodes` alive


@jit
def walk_down(nodes, used, match, path, explore, stream):
    """Play along the tree until a choice is new; returns the length of the path and the nodes in use."""
    node, length, known = np.int64(0), 0, True
    while known and used < nodes.size and not (match.over or match.event.round_end):
        action = only_action(match)
        if action == NONE:
            action, known = choose(nodes, node, match, explore, stream)
        child = child_of(nodes, node, action)
        if child == 0:
            child = used
            used += 1
            nodes[child].action, nodes[child].side = action, side_of(match, match.seat)
            nodes[child].sibling = nodes[node].child
            nodes[node].child = child
        make_move(match, action)
        path[length] = node = child
        length += 1
    return length, used


@jit
def child_of(nodes, node, action):
    """The node that an action leads to, or 0."""
    child = np.int64(nodes[node].child)
    while child != 0 and nodes[child].action != action:
        child = np.int64(nodes[child].sibling)
    return child


@jit
def choose(nodes, node, match, explore, stream):
    """An action that was never tried here, drawn by lot, or the one with the highest bound (UCB).

    Returns:
        The action, and whether it was tried before.
    """
    new, count = np.int64(NONE), 0
    best, highest = np.int64(NONE), -np.inf
    for end in range(match.rules.num_ends):
        tiles = playable(match, match.seat, end)
        while tiles:
            action = end * np.int64(match.rules.num_tiles) + np.int64(lowest_bit(tiles))
            tiles &= tiles - np.uint64(1)
            child = child_of(nodes, node, action)
            if child == 0:
                count += 1
                if below(stream, count) == 0:
                    new = action
                continue
            nodes[child].available += 1
            visits = max(nodes[child].visits, 1)
            bound = nodes[child].value / visits
            bound += explore * np.sqrt(np.log(1.0 + nodes[child].available) / visits)
            if bound > highest:
                best, highest = action, bound
    if count > 0:
        return new, False
    return best, True
