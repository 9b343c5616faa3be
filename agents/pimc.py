"""``pimc``: perfect-information Monte Carlo, sampled deals and the double-dummy solver.

For each move it samples deals that the view allows, all equally likely (``belief.py``), solves every one with
open hands (``solver.py``), and takes the action of the highest average value (Levy, "The million pound bridge
program", 1989; Ginsberg, "GIB: imperfect information in a computationally challenging game", 2001).

Its known flaw is *strategy fusion* (Frank and Basin, "Search in games with incomplete information", 1998): in
every sampled deal it counts on choosing, later on, what is right for just that deal, as if it were going to
see the hands, and it takes partners and opponents to see them too. So it never plays to find something out,
or to hide it.
"""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from agents.belief import Belief
from agents.solver import Objective, Solver, best_actions, usual_objective
from fivesthrees_env.opponents import action_masks, rules_of
from fivesthrees_env.rules import Rules

__all__ = ["PimcAgent"]

_CHUNK = 20  # samples between two looks at the clock


class PimcAgent:
    """The action with the highest mean value over sampled deals, each solved with open hands.

    Args:
        samples: deals for one move.
        seconds: time for one move instead of a number of samples; choices then depend on the machine.
        objective: as in ``Solver``; None: the match where the game has an equity table, else the margin.
        most_plies: limit of the search in one deal; beyond it, everybody is taken to be greedy. None: none.
        workers: threads that share the views of a call. With `samples` they do not change any choice.
    """

    name = "pimc"

    def __init__(
        self,
        samples: int = 100,
        seconds: float | None = None,
        objective: Objective | None = None,
        most_plies: int | None = 20_000,
        workers: int = 1,
    ) -> None:
        for what, given, allowed in (("samples", samples, samples >= 1), ("workers", workers, workers >= 1)):
            if not allowed:
                raise ValueError(f"{what}: {given} given; allowed: 1 or more")
        if seconds is not None and not seconds > 0:
            raise ValueError(f"seconds: {seconds} given; allowed: more than 0, or None")
        self.samples = samples
        self.seconds = seconds
        self.objective = objective
        self.most_plies = most_plies
        self.workers = workers
        self._solvers: list[Solver] = []
        self._rules: Rules | None = None

    def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See ``Agent.act``; ties go to the points scored now."""
        if not len(views):
            return np.empty(0, np.int64)
        self._prepare(rules_of(views))
        values = np.where(action_masks(views) == 1, 0.0, np.nan)
        seeds = rng.integers(2**63, size=len(views))
        choices = np.flatnonzero((~np.isnan(values)).sum(1) > 1)

        def work(worker: int) -> None:
            for i in choices[worker :: self.workers]:
                stream = np.random.default_rng(seeds[i])
                values[i] = self._mean_values(views[i : i + 1], self._solvers[worker], stream)

        if self.workers == 1:
            work(0)
        else:
            with ThreadPoolExecutor(self.workers) as pool:
                list(pool.map(work, range(self.workers)))
        return best_actions(views, values)

    def _prepare(self, rules: Rules) -> None:
        if rules != self._rules:
            objective = usual_objective(rules) if self.objective is None else self.objective
            self._solvers = [Solver(objective, self.most_plies) for _ in range(self.workers)]
            self._rules = rules

    def _mean_values(self, view: np.ndarray, solver: Solver, rng: np.random.Generator) -> np.ndarray:
        """The mean value of each action over sampled deals: (actions,) float64, NaN where illegal."""
        belief, done = Belief(view), 0
        total = np.zeros(Rules.from_record(view["rules"][0]).num_actions)
        started = time.perf_counter()
        while done < self.samples if self.seconds is None else not done or self._has_time(started):
            count = _CHUNK if self.seconds is not None else min(_CHUNK, self.samples - done)
            total += solver.action_values(belief.deals(count, rng)).values.sum(0)
            done += count
        mean: np.ndarray = total / done
        return mean

    def _has_time(self, started: float) -> bool:
        return self.seconds is not None and time.perf_counter() - started < self.seconds
