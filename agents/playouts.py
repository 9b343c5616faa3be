"""What the searching agents share: likely deals, quick play-outs of a round, and what its end is worth."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from agents.belief import fill_present, fill_start, make_move, past_action, sample_places
from agents.desk import Book, gain_book, look, new_desk
from agents.equity import Equity, EquityError, EquityTable, win_probability
from agents.race import Odds, odds
from agents.scripted import Lore, expert_action
from agents.softmax import SoftmaxGreedy, softmax_chance
from fivesthrees_env.kernel.deal import next_opener
from fivesthrees_env.kernel.jit import call, jit, lowest_bit
from fivesthrees_env.kernel.layout import playable
from fivesthrees_env.kernel.play import (
    accepted_points,
    without_placement,
)
from fivesthrees_env.kernel.random import seed_stream
from fivesthrees_env.kernel.record import MATCH, NONE
from fivesthrees_env.kernel.settle import side_of
from fivesthrees_env.opponents import settlement_points
from fivesthrees_env.rules import Rules
from fivesthrees_env.tiles import MAX_TILES, PIPS

__all__ = ["LIKELY_PLAY", "ExpertTools", "expert_tools", "leaf_table", "run_tasks"]

#: How others are supposed to have played, for the weights of deals.
LIKELY_PLAY = SoftmaxGreedy(temperature=1.0, pips=0.1, doubt=0.2)

#: What a pip is worth to a play-out, in chances to win: it decides between equal placements only.
_PIP = 1e-4


# ------------------------------------------------------------------------------- what a round is worth


@lru_cache(maxsize=64)
def leaf_table(rules: Rules, value: str) -> EquityTable:
    """What scores are worth to a search.

    Args:
        rules: the game.
        value: "equity": the chance to win the match (``agents/equity.py``); "margin": in proportion to the
            own score minus the mean of the others; "auto": equity where there is a table, else margin. A
            won match is worth 1 and a lost one 0 in any case.

    Raises:
        ValueError: for another value.
        EquityError: if there is no table, and equity is asked for.
    """
    if value not in ("auto", "equity", "margin"):
        raise ValueError(f'value: {value!r} given; allowed: "auto", "equity" or "margin"')
    if value == "margin":
        return _margin_table(rules)
    try:
        return Equity.load(rules).table
    except EquityError:
        if value == "equity":
            raise
        return _margin_table(rules)


def _margin_table(rules: Rules) -> EquityTable:
    """A table of two levels, nothing and one point less than the target; between them lies a plane."""
    sides = rules.num_sides
    corners = np.array(list(product((0.0, 1.0), repeat=sides)))
    others = (corners.sum(1, keepdims=True) - corners) / (sides - 1)
    values = 1 / sides + (corners - others) * (1 - 1 / sides)
    places = np.arange(rules.target) / max(rules.target - 1, 1)
    return EquityTable(np.stack([values, values]).astype(np.float32), places.astype(np.float32))


@jit
def winning_action(match):
    """A placement that wins the match at once, or NONE."""
    for end in range(match.rules.num_ends):
        tiles = playable(match, match.seat, end)
        while tiles:
            tile = np.int64(lowest_bit(tiles))
            tiles &= tiles - np.uint64(1)
            points = accepted_points(match, tile, end)
            if points > 0 and match.scores[side_of(match, match.seat)] + points >= match.rules.target:
                return end * np.int64(match.rules.num_tiles) + tile
    return np.int64(NONE)


@call
def racing_action(match, leaf):
    """Greedy in chances instead of points: the placement after which the score is worth most, then by pips.

    Near the target it rather makes 59 than 60. It looks at nothing that the seat to move does not see.
    """
    best = without_placement(match)
    side, opener, best_worth = side_of(match, match.seat), next_opener(match), -np.inf
    score = match.scores[side]
    for end in range(match.rules.num_ends):
        tiles = playable(match, match.seat, end)
        while tiles:
            tile = np.int64(lowest_bit(tiles))
            tiles &= tiles - np.uint64(1)
            points = accepted_points(match, tile, end) + settlement_points(match, tile, end)
            match.scores[side] = score + points
            worth = win_probability(leaf, match.scores, opener, side) + _PIP * PIPS[tile]
            match.scores[side] = score
            if worth > best_worth:
                best, best_worth = end * np.int64(match.rules.num_tiles) + tile, worth
    return best


@call
def finish_round(match, leaf):
    """Play the round to its end, everybody by ``racing_action``."""
    while not (match.over or match.event.round_end):
        make_move(match, racing_action(match, leaf))


class ExpertTools(NamedTuple):
    """What compiled code needs to play as ``ExpertAgent`` does. The desk is written: one for each thread."""

    desk: np.ndarray
    """(1,) of dtype ``DESK``."""
    book: Book
    odds: Odds
    lore: Lore


def expert_tools(rules: Rules) -> ExpertTools:
    """The tools for a game, with a desk of their own."""
    return ExpertTools(new_desk(), gain_book(rules), odds(rules), Lore())


@call
def finish_round_expertly(match, tools):
    """Play the round to its end, everybody as ``ExpertAgent`` does, from what they see (``look``)."""
    desk = tools.desk[0]
    while not (match.over or match.event.round_end):
        look(desk, match, True)
        make_move(match, expert_action(desk, tools.book, tools.odds, tools.lore))


# ----------------------------------------------------------------------------------------- likely deals


@jit
def likely_deals(view, plan, room, ways, suppose, pool, stream, deals):
    """Fill `deals` with deals that the view allows and the play makes likely, in random order.

    ``deals.size * pool`` uniform deals are weighted by the probabilities that softmax-greedy gives to what
    the others have chosen (``Belief.weighted``), and as many as wanted are taken by systematic resampling.

    Args:
        view: whose hidden tiles are sampled.
        plan: with `room` and `ways` the view's belief, as ``belief.prepare`` makes it.
        room: see `plan`.
        ways: see `plan`.
        suppose: temperature, worth of a pip and doubt of softmax-greedy; a temperature of 0: all deals alike.
        pool: how many uniform deals to weigh for each one that is taken.
        stream: to draw from.
        deals: (n,) of dtype ``MATCH``, written.
    """
    count = deals.size * pool if suppose[0] > 0 else deals.size
    places = np.empty((count, MAX_TILES), np.int64)
    total, sums = 0.0, np.empty(count)
    start = np.empty(1, MATCH)
    for i in range(count):
        sample_places(plan, room, ways, stream, places[i])
        weight = 1.0
        if suppose[0] > 0:
            start[0] = view
            fill_start(view, plan, start[0], places[i], stream)
            weight = chance_of_play(view, start[0], suppose)
        total += weight
        sums[i] = total
    if total == 0:  # none is possible by what is supposed: all alike
        total = np.float64(count)
        sums[:] = np.arange(1, count + 1)
    i = 0
    for k in range(deals.size):
        while i + 1 < count and sums[i] < (k + 0.5) * total / deals.size:
            i += 1
        deals[k] = view
        deals[k].event.round_end = 0  # of the round before: this one goes on
        fill_present(view, plan, deals[k], places[i], stream)


@call
def chance_of_play(view, start, suppose):
    """The probability of all that the others have chosen in this round, by softmax-greedy; plays `start`."""
    chance = 1.0
    for ply in range(view.num_plies):
        action = past_action(view, ply)
        if view.history[ply].seat != 0:
            chance *= softmax_chance(start, action, suppose[0], suppose[1], suppose[2])
        make_move(start, action)
    return chance


@jit
def seed(stream, number):
    """Start a stream from a number."""
    seed_stream(stream[0], number)


def softmax_of(suppose: SoftmaxGreedy | None) -> tuple[float, float, float]:
    """The parameters that ``likely_deals`` takes."""
    return (suppose.temperature, suppose.pips, suppose.doubt) if suppose else (0.0, 0.0, 0.0)


def run_tasks(task: Callable[[int], None], numbers: Iterable[int], workers: int) -> None:
    """Run a task for every number, in threads if there is more than one worker."""
    if workers == 1:
        for number in numbers:
            task(number)
        return
    with ThreadPoolExecutor(workers) as pool:
        list(pool.map(task, numbers))
