"""``oracle``: plays with all hands open. It cheats, and is there to show ceilings only.

Views do not hold what it needs, so it comes in by a door of its own: ``train.arena`` hands it matches, and
hands them to no other class.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from agents.solver import Objective, Solver, best_actions, usual_objective
from fivesthrees_env.opponents import rules_of
from fivesthrees_env.rules import Rules

__all__ = ["OracleAgent"]


class OracleAgent:
    """Perfect play with open hands and a known boneyard, as if all others saw and did the same.

    With more than two sides that is maxⁿ play. It is no perfect answer to weak opponents: it does not know
    how they play, and expects the best of them.

    Args:
        objective: as in ``Solver``; None: the match where the game has an equity table, else the margin.
        most_plies: limit of the search for one move; beyond it, everybody is taken to be greedy. None: none.
    """

    name = "oracle"
    #: No other attributes: its name stays what it is, and no other agent can turn into one.
    __slots__ = ("_rules", "_solver", "most_plies", "objective")

    def __init__(self, objective: Objective | None = None, most_plies: int | None = 100_000) -> None:
        self.objective = objective
        self.most_plies = most_plies
        self._solver: Solver | None = None
        self._rules: Rules | None = None

    def __init_subclass__(cls, **_: Any) -> None:
        raise TypeError(f"{cls.__name__} given; allowed: OracleAgent itself, as it is given matches")

    def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Views are not enough.

        Raises:
            TypeError: always.
        """
        raise TypeError("the oracle needs open hands; allowed: train.arena, which gives it matches")

    def act_on_matches(self, matches: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Choose for a batch of matches (N,), hands open: (N,) int64. Ties go to the points scored now."""
        if not len(matches):
            return np.empty(0, np.int64)
        rules = rules_of(matches)
        if self._solver is None or rules != self._rules:
            objective = usual_objective(rules) if self.objective is None else self.objective
            self._solver, self._rules = Solver(objective, self.most_plies), rules
        return best_actions(matches, self._solver.action_values(matches).values)
