"""Double-dummy solver: the exact value of the rest of a round with open hands, and of every legal action.

    >>> solve(Match("fives_and_threes-4p", seed=3))              # (sides,) point margins of the round
    >>> action_values(match, "match")                            # (actions,) P(win the match), NaN if illegal
    >>> Solver("margin", most_plies=100_000).action_values(records)  # a batch, with a limit

The objective is ``"margin"``, the points of a side from now to the end of the round minus the mean of the
others'; or the match: ``"match"`` (the stored equity table of the game) or any ``Equity``, the probability
that the side wins it. With two sides the value is that of best play by both; with more it is that of maxⁿ,
where every side is out for itself (see ``double_dummy.py``, which says how ties fall and names the sources).

A whole deal of Fives and Threes takes a fraction of a millisecond for two sides, and milliseconds for four
singles. All Fives with its boneyard in a known order may take seconds: ``most_plies`` limits the search, and
values that are then not exact are marked so.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from agents.double_dummy import FOREVER, MARGIN, Tree, new_tree, solve_moves, solve_position
from agents.equity import Equity, EquityError, EquityTable
from fivesthrees_env.kernel.jit import count_bits, jit
from fivesthrees_env.kernel.layout import tile_bit
from fivesthrees_env.kernel.play import accepted_points, draw_action
from fivesthrees_env.kernel.record import MATCH
from fivesthrees_env.kernel.settle import side_of
from fivesthrees_env.match import Match
from fivesthrees_env.rules import Rules

__all__ = ["ActionValues", "Solution", "Solver", "SolverError", "action_values", "best_actions", "solve"]

#: "margin", "match" (the game's stored equity table), or a table that is given.
Objective = str | Equity


_SAME = 1e-9  # values that differ by less are equal but for rounding


class SolverError(ValueError):
    """A record that cannot be solved, or an objective that does not fit it."""


class Solution(NamedTuple):
    """What rounds are worth."""

    values: np.ndarray
    """(N, sides) float64: points of margin, or probability of winning the match."""
    exact: np.ndarray
    """(N,) bool."""
    plies: np.ndarray
    """(N,) int64: plies that the search made."""


class ActionValues(NamedTuple):
    """What actions are worth to the seat to move."""

    values: np.ndarray
    """(N, actions) float64, NaN where illegal: points of margin, or probability of winning the match."""
    exact: np.ndarray
    """(N,) bool."""
    plies: np.ndarray
    """(N,) int64: plies that the search made."""


class Solver:
    """Solves records one after another, with working memory of its own (one thread at a time).

    Args:
        objective: "margin", "match" (the game's stored equity table) or an ``Equity``.
        most_plies: at most about so many plies for each record; None: no limit, always exact. Where they
            do not suffice, the values are those of the deepest search that fits, with greedy play by
            everybody beyond its horizon, and ``exact`` is False.
        table_bits: 2**table_bits slots of 32 bytes in the transposition table; None: as the game needs.
    """

    def __init__(
        self, objective: Objective = "margin", most_plies: int | None = None, table_bits: int | None = None
    ) -> None:
        if isinstance(objective, str) and objective not in ("margin", "match"):
            raise SolverError(f"objective: {objective!r} given; allowed: 'margin', 'match' or an Equity")
        if most_plies is not None and most_plies < 1:
            raise SolverError(f"most_plies: {most_plies} given; allowed: 1 or more, or None")
        if table_bits is not None and not 1 <= table_bits <= 28:
            raise SolverError(f"table_bits: {table_bits} given; allowed: 1 to 28, or None")
        self.objective = objective
        self.most_plies = most_plies
        self.table_bits = table_bits
        self._tree: Tree | None = None
        self._tables: dict[Rules, EquityTable] = {}  # read from disk once

    def solve(self, records: np.ndarray) -> Solution:
        """The value of the rest of each round, for every side.

        Args:
            records: (N,) of dtype ``MATCH``, all of the same rules, with open hands and a running round.

        Raises:
            SolverError: if a record is something else.
        """
        rules = check_solvable(records)
        values = np.empty((len(records), rules.num_sides))
        return Solution(values, *self._run(rules, _solve_all, records, values))

    def action_values(self, records: np.ndarray) -> ActionValues:
        """The value of each legal action for the seat to move.

        Args:
            records: as in ``solve``.

        Raises:
            SolverError: if a record is something else.
        """
        rules = check_solvable(records)
        values = np.full((len(records), rules.num_actions), np.nan)
        return ActionValues(values, *self._run(rules, _solve_actions, records, values))

    def _run(
        self, rules: Rules, function: Any, records: np.ndarray, values: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        exact, plies = np.zeros(len(records), np.bool_), np.zeros(len(records), np.int64)
        if rules not in self._tables:
            self._tables[rules] = objective_table(self.objective, rules)
        function(records, self.tree(rules), self._tables[rules], values, exact, plies)
        return exact, plies

    def tree(self, rules: Rules) -> Tree:
        """The working memory, made for the first rules that are solved."""
        if self._tree is None:
            bits = self.table_bits or (14 if rules.num_sides == 2 and not rules.draw else 18)
            self._tree = new_tree(bits, self.most_plies or FOREVER)
        return self._tree


def solve(match: Match | np.ndarray, objective: Objective = "margin") -> np.ndarray:
    """The exact value of the rest of a round, for each side: (sides,) float64.

    Args:
        match: a ``Match``, or a batch of one record, (1,) of dtype ``MATCH``.
        objective: "margin" (points), "match" or an ``Equity`` (probability of winning the match).

    Raises:
        SolverError: if the match is over or a view, or if the objective does not fit.
    """
    return Solver(objective).solve(_record(match)).values[0]


def action_values(match: Match | np.ndarray, objective: Objective = "margin") -> np.ndarray:
    """The exact value of each action for the seat to move: (actions,) float64, NaN where illegal.

    Args, errors: as in ``solve``.
    """
    return Solver(objective).action_values(_record(match)).values[0]


def objective_table(objective: Objective, rules: Rules) -> EquityTable:
    """What compiled code takes for an objective.

    Raises:
        SolverError: if an ``Equity`` belongs to other rules.
        EquityError: if the game has no stored table.
    """
    if objective == "margin":
        return MARGIN
    equity = Equity.load(rules) if isinstance(objective, str) else objective
    if equity.rules != rules:
        raise SolverError(f"objective: an equity of {equity.rules} given; allowed: one of {rules}")
    return equity.table


def usual_objective(rules: Rules) -> Objective:
    """The match where the game has a stored equity table, else the margin of the round."""
    try:
        return Equity.load(rules)
    except EquityError:
        return "margin"


def best_actions(records: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The best legal action by its value; of equal ones that which scores most now, then the first.

    Args:
        records: (N,) of dtype ``MATCH``, matches or views; they are not changed.
        values: (N, actions) float64, NaN where illegal.

    Returns:
        (N,) int64.
    """
    actions = np.empty(len(records), np.int64)
    _choose_best(records, values, actions)
    return actions


def check_solvable(records: np.ndarray) -> Rules:
    """The rules of some records.

    Raises:
        SolverError: if they are no records, of several rules, over, or views.
    """
    if not isinstance(records, np.ndarray) or records.dtype != MATCH or records.ndim != 1 or not len(records):
        given = f"{records.dtype} {records.shape}" if isinstance(records, np.ndarray) else repr(records)
        raise SolverError(f"records: {given} given; allowed: (N,) of dtype MATCH, N at least 1")
    if (records["rules"] != records["rules"][0]).any():
        raise SolverError("records: several rules given; allowed: records of one game")
    over = (records["over"] != 0) | ((records["event"]["round_end"] != 0) & (records["num_plies"] > 0))
    if over.any():
        raise SolverError(f"records[{np.flatnonzero(over)[0]}]: the round is over; allowed: a running round")
    hidden = _first_hidden(records)
    if hidden >= 0:
        raise SolverError(
            f"records[{hidden}]: hands or the boneyard are hidden, as in a view; allowed: open hands "
            "(sample the hidden tiles first)"
        )
    return Rules.from_record(records["rules"][0])


def _record(match: Match | np.ndarray) -> np.ndarray:
    return match.records if isinstance(match, Match) else match


@jit
def _first_hidden(records):
    """The first record in which tiles are missing, or -1."""
    for i in range(records.size):
        record, known, count = records[i], np.uint64(0), 0
        for seat in range(record.rules.num_players):
            known |= record.hands[seat]
            count += record.held[seat]
        if record.rules.draw:
            for k in range(record.rules.num_tiles - record.undealt, record.rules.num_tiles):
                known |= tile_bit(record.deck[k])
            count += record.undealt
        if np.int64(count_bits(known)) != count:
            return i
    return -1


@jit
def _solve_all(records, tree, equity, values, exact, plies):
    for i in range(records.size):
        exact[i] = solve_position(records[i], tree, equity)
        plies[i] = tree.task[0].plies
        for side in range(values.shape[1]):
            values[i, side] = tree.results[0, side]


@jit
def _solve_actions(records, tree, equity, values, exact, plies):
    for i in range(records.size):
        exact[i] = solve_moves(records[i], tree, equity)
        plies[i] = tree.task[0].plies
        root, side = tree.frames[tree.frames.size - 1], side_of(records[i], records[i].seat)
        for k in range(root.count):
            values[i, root.actions[k]] = tree.results[k, side]


@jit
def _choose_best(records, values, actions):
    scratch = np.empty(1, MATCH)
    for i in range(records.size):
        scratch[0] = records[i]  # looking ahead lays tiles for a moment; the caller's stay untouched
        record = scratch[0]
        best, best_value, best_points = np.int64(-1), 0.0, -1
        for action in range(values.shape[1]):
            value, points = values[i, action], 0
            if np.isnan(value) or (best >= 0 and value < best_value - _SAME):
                continue
            if action < draw_action(record):
                end, tile = divmod(np.int64(action), np.int64(record.rules.num_tiles))
                points = accepted_points(record, tile, end)
            if best < 0 or value > best_value + _SAME or points > best_points:
                best, best_value, best_points = np.int64(action), value, points
        actions[i] = best
