"""Two teams on a deal set, block by block: what is played, and what each deal says about them.

A **team** fills the seats of a side: one agent, or in partnerships a pair of unlike agents (``a+b``), who
then also exchange their seats. There are three figures, each one number per deal:

- ``rounds``: the margin in points per round, from 0 points; over all exchanges of sides and leads.
- ``swing``: what a round adds to the probability of winning the match, from the start scores of the deal
  set; over all exchanges of sides and leads.
- ``matches``: the share of matches won, over all exchanges of sides; with the luck of their deals, where
  there is an equity table of the game (see ``luck.py``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import product
from pathlib import Path

import numpy as np

import agents
from agents.equity import Equity, EquityError
from fivesthrees_env.opponents import Agent
from fivesthrees_env.rules import Rules
from train.arena import deal_next_rounds, deal_rounds, new_matches, play_out
from train.deals import BLOCK, DealSet
from train.estimates import Estimate, looks, without_luck
from train.luck import luck_of_deals

__all__ = [
    "FIGURES",
    "Contest",
    "Team",
    "equity_of",
    "estimate",
    "exchanges",
    "less_luck",
    "measure",
    "member_names",
    "narrow_enough",
    "rules_for",
    "seatings",
    "seeds_for",
]


@dataclass(frozen=True)
class Team:
    """Who fills the seats of a side: one agent for all of them, or one for each."""

    name: str
    members: tuple[Agent, ...]

    @classmethod
    def of(cls, who: Agent | str | Team, rules: Rules) -> Team:
        """A team from an agent, from what ``agents.load`` takes, or from two such joined by "+".

        Raises:
            ValueError: if there is no such agent, or nobody has a partner in the game.
        """
        if isinstance(who, Team):
            return who
        if not isinstance(who, str):
            return cls(who.name, (who,))
        names = member_names(who)
        if len(names) > 2 or (len(names) == 2 and rules.num_sides == rules.num_players):
            raise ValueError(f"team: {who!r} given; allowed: one agent, or a+b in a game with partners")
        loaded = tuple(agents.load(name, rules) for name in names)
        return cls("+".join(agent.name for agent in loaded), loaded)


def member_names(team: str) -> list[str]:
    """The agents of a team by name."""
    return [team] if Path(team).exists() else team.split("+")


def rules_for(name: str | None, teams: Sequence[str]) -> Rules:
    """The preset of that name; without one what the first trained agent was trained for, else four in pairs.

    Raises:
        ValueError: if there is no such preset or agent.
    """
    if name is not None:
        return Rules.preset(name)
    loaded = (agents.load(member) for team in teams for member in member_names(team))
    return next((agent.rules for agent in loaded if hasattr(agent, "rules")), Rules())


def exchanges(rules: Rules) -> np.ndarray:
    """All ways to give the sides to team 0 and team 1, each with at least one: (ways, players) int."""
    ways = [w for w in product((0, 1), repeat=rules.num_sides) if 0 < sum(w) < len(w)]
    return np.array([[w[rules.side_of(s)] for s in range(rules.num_players)] for w in ways])


def seatings(first: Team, second: Team, rules: Rules) -> np.ndarray:
    """All exchanges of sides, and of the seats of unlike partners.

    Returns:
        (ways, players) int: who sits where, as the index into ``first.members + second.members``.
    """
    firsts, seconds = (_orders(len(team.members), rules) for team in (first, second))
    place = np.arange(rules.num_players) // rules.num_sides  # 0 or 1 within the side
    return np.array(
        [
            np.where(way == 0, np.take(one, place), len(first.members) + np.take(two, place))
            for way, one, two in product(exchanges(rules), firsts, seconds)
        ]
    )


def seeds_for(matches: int, first: Team, second: Team, rules: Rules) -> int:
    """Seeds that make at least so many matches, with all exchanges of each."""
    return -(-matches // len(seatings(first, second, rules)))


def _orders(members: int, rules: Rules) -> list[list[int]]:
    seats = rules.num_players // rules.num_sides
    return [[0] * seats] if members == 1 else [[0, 1], [1, 0]]


@lru_cache(maxsize=16)
def equity_of(rules: Rules) -> Equity | None:
    """The equity table of a game, or None if there is none."""
    try:
        return Equity.load(rules)
    except EquityError:
        return None


@dataclass(frozen=True)
class Contest:
    """Two teams, and the deals that they meet on."""

    first: Team
    second: Team
    deals: DealSet

    @property
    def rules(self) -> Rules:
        """What is played."""
        return self.deals.rules

    def games(self, figure: str) -> int:
        """Rounds or matches played on each deal."""
        ways = len(seatings(self.first, self.second, self.rules))
        return ways if figure == "matches" else ways * len(self._leads)

    def play(self, figure: str, start: int, stop: int) -> np.ndarray:
        """Play a block of the deal set: (stop - start, 2) float64, per deal the result and the luck in it.

        The luck is 0 where it is not known, or where the exchanges leave none.

        Raises:
            EquityError: for the swing, if there is no equity table of the game.
        """
        play, purpose = FIGURES[figure]
        return play(self, np.arange(start, stop), self.deals.stream(start, purpose))

    @property
    def _leads(self) -> Sequence[int]:
        return range(self.rules.num_players) if self.rules.lead_first == "lot" else range(1)

    @property
    def _players(self) -> list[Agent]:
        return [*self.first.members, *self.second.members]

    def _mine(self, seats: np.ndarray) -> np.ndarray:
        """Which sides are the first team's: (N, sides) bool."""
        return seats[:, : self.rules.num_sides] < len(self.first.members)

    def _played_rounds(
        self, deals: np.ndarray, rng: np.random.Generator, starts: np.ndarray | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Rounds of deals with all seatings and leads, played: the matches, and which sides are mine."""
        ways = list(product(seatings(self.first, self.second, self.rules), self._leads))
        seats = np.tile(np.array([way for way, _ in ways]), (len(deals), 1))
        leads = np.tile(np.array([lead for _, lead in ways]), len(deals))
        matches = deal_rounds(self.rules, np.repeat(self.deals.seeds[deals], len(ways)), leads)
        if starts is not None:
            matches["scores"][:, : self.rules.num_sides] = np.repeat(starts[deals], len(ways), axis=0)
        play_out(matches, self._players, seats, rng, one_round=True)
        return matches, self._mine(seats)

    def play_rounds(self, deals: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Margin in points: a side of the first team minus a side of the second."""
        matches, mine = self._played_rounds(deals, rng)
        points = matches["scores"][:, : self.rules.num_sides].astype(np.float64)
        return _per_deal(_mean_of(points, mine) - _mean_of(points, ~mine), len(deals))

    def play_swing(self, deals: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """What a round adds to the equity of a side of the first team.

        Over the exchanges every side is as often its own, so that before the round it has its fair share.
        """
        equity = equity_of(self.rules) or Equity.load(self.rules)
        matches, mine = self._played_rounds(deals, rng, self.deals.starts)
        after = equity.after_round(matches).astype(np.float64)
        after /= after.sum(1, keepdims=True)  # the table's own precision is single
        return _per_deal(_mean_of(after, mine) - 1 / self.rules.num_sides, len(deals))

    def play_matches(self, deals: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """Share of whole matches that are won by a side of the first team, and the luck in it."""
        ways = seatings(self.first, self.second, self.rules)
        seats = np.tile(ways, (len(deals), 1))
        matches = new_matches(self.rules, np.repeat(self.deals.seeds[deals], len(ways)))
        mine, luck = self._mine(seats), np.zeros(len(matches))
        equity, running = equity_of(self.rules), np.arange(len(matches))
        while running.size:
            rounds = matches[running]
            if equity is not None:
                luck[running] += _mean_of(luck_of_deals(rounds, equity), mine[running])
            play_out(rounds, self._players, seats[running], rng, one_round=True)
            matches[running] = rounds
            running = running[rounds["over"] == 0]
            dealt = matches[running]
            deal_next_rounds(dealt)
            matches[running] = dealt
        won = mine[np.arange(len(matches)), matches["winner"]].astype(np.float64)
        return _per_deal(won, len(deals), luck)


#: How each figure is played, and the number that sets its random streams apart.
FIGURES: dict[str, tuple[Callable[[Contest, np.ndarray, np.random.Generator], np.ndarray], int]] = {
    "rounds": (Contest.play_rounds, 0),
    "swing": (Contest.play_swing, 1),
    "matches": (Contest.play_matches, 2),
}


def measure(contest: Contest, figure: str, width: float | None = None) -> np.ndarray:
    """Play a figure on all deals of the set, or on the first ones until its interval is narrow enough.

    Args:
        contest: who, on which deals.
        figure: one of ``FIGURES``.
        width: of the 95 % interval, from low to high; None plays all deals.

    Returns:
        (deals played, 2) float64; see ``Contest.play``.
    """
    blocks, played = iter(contest.deals.blocks()), [np.empty((0, 2))]
    for look in looks(contest.deals.size, BLOCK) if width else [contest.deals.size]:
        while sum(map(len, played)) < look:
            played.append(contest.play(figure, *next(blocks)))
        values = np.concatenate(played)
        if width and narrow_enough(figure, values, width):
            break
    return values


def narrow_enough(figure: str, values: np.ndarray, width: float) -> bool:
    """Whether what was played (deals, 2) has an interval at most that wide, from low to high.

    The normal interval decides, which is quick to make; the bootstrap's is about as wide.
    """
    clean = without_luck(values[:, 0], values[:, 1])
    alike = figure == "matches" and np.ptp(clean) == 0  # a share of which nothing is known but that
    best = Estimate.of_share(clean, len(clean)) if alike else Estimate.of_mean(clean, len(clean))
    return best.width <= width


def estimate(contest: Contest, figure: str, values: np.ndarray) -> Estimate:
    """The figure and its interval, from what was played (deals, 2)."""
    games = len(values) * contest.games(figure)
    if figure == "matches":
        return Estimate.of_share(values[:, 0], games)
    return Estimate.by_bootstrap(values[:, 0], games)


def less_luck(contest: Contest, values: np.ndarray) -> Estimate:
    """The share of matches won without the luck of the deals, from what was played (deals, 2).

    Where all deals came out alike there is nothing to resample: that is the share as it is.
    """
    games = len(values) * contest.games("matches")
    if np.ptp(values[:, 0]) == 0:
        return Estimate.of_share(values[:, 0], games)
    share = Estimate.by_bootstrap(without_luck(values[:, 0], values[:, 1]), games)
    mean, low, high = np.clip(
        (share.mean, share.low, share.high), 0.0, 1.0
    )  # few matches may leave the range
    return replace(share, mean=float(mean), low=float(low), high=float(high))


def _mean_of(values: np.ndarray, mine: np.ndarray) -> np.ndarray:
    """The mean over those sides: (N,) from (N, sides) and which ones."""
    return np.where(mine, values, 0.0).sum(1) / mine.sum(1)


def _per_deal(results: np.ndarray, deals: int, luck: np.ndarray | None = None) -> np.ndarray:
    luck = np.zeros_like(results) if luck is None else luck
    return np.stack([results.reshape(deals, -1).mean(1), luck.reshape(deals, -1).mean(1)], axis=1)
