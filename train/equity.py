"""Make match-equity tables: play rounds from every score, then solve the chain of scores exactly.

    python -m train.equity --rules fives_and_threes-4p
    python -m train.equity --rules fives_and_threes-4p --picture equity.png

One policy plays all seats. What it does and what the target refuses (FT-21) depend on the scores, so rounds
are played **from each of them**, with every side leading, and where the highest double leads, also with the
lead left to the deal. The same deals are used at all scores (common random numbers), and each is played
with every seat leading: what is solved is thus the game in which these deals are all there are, each equally
likely. Its equity is smooth, since neighbouring scores share their luck, and its error is that of the
sample of deals.

A match is then a Markov chain over (scores, who leads next). Scores never fall: taking the scores by falling
sums, all that a round can lead to is known already, but for rounds that change no score. Those lead back to
the same scores with another lead, which leaves S + 1 linear equations for S sides (one for each side in the
lead, and one for a lead that the deal decides). They are solved as they stand; nothing is iterated.

With three or more sides not every score is played from: scores are stored at **levels** that are dense near
the target and spread out below (see ``score_levels``), with linear interpolation between them, in the chain
as well as in the lookup.

The standard error comes from groups of deals: each group's own chain is solved in the same pass.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import numpy as np
import tyro
from rich.console import Console
from rich.progress import Progress

import agents
from agents.equity import MADE_HERE, Equity, file_name, score_places
from fivesthrees_env import __version__
from fivesthrees_env.kernel.deal import deal, next_opener
from fivesthrees_env.kernel.episode import begin
from fivesthrees_env.kernel.jit import jit
from fivesthrees_env.kernel.play import play
from fivesthrees_env.kernel.record import MATCH, NONE
from fivesthrees_env.opponents import Agent, GreedyAgent, greedy_action
from fivesthrees_env.rules import Rules
from train.arena import play_out

__all__ = ["Chain", "Rounds", "make", "picture", "score_levels"]

_SUMMARY = "Make match-equity tables: play rounds from every score, then solve the chain of scores exactly."

#: Deals of equity tables start here: apart from those of training (below) and evaluation (2**40 and up).
DEAL_SEED = 2**39
#: Groups of deals whose chains are solved on their own, for the standard error.
GROUPS = 8
#: By default about so many rounds are played in all, but from no score more than from this many deals.
ROUNDS = 2**24
MOST_DEALS = 2**13
#: Levels below the target: each is further from it than the one before by 1/FINENESS, or by one unit.
FINENESS = {3: 6, 4: 3}


def score_levels(rules: Rules) -> np.ndarray:
    """The scores that are played from and stored: (K,) int64 points, rising from 0.

    With two sides these are all scores that occur below the target. With more, the distances from the target
    are 1, 2, 3, … units and then grow by a sixth (three sides) or a third (four sides) of themselves.
    """
    units = -(-rules.target // rules.score_unit)
    fineness = FINENESS.get(rules.num_sides, units)
    distances = [1]
    while distances[-1] < units:
        distances.append(min(units, distances[-1] + max(1, distances[-1] // fineness)))
    return (units - np.array(distances[::-1])) * rules.score_unit


class Rounds:
    """Rounds of one policy, played from any scores with the same deals each time.

    Scores are given and told **turned**: side 0 is the first one, who leads where `by_deal` is False.

    Args:
        rules: the game.
        agent: who plays all seats.
        deals: number of deals.
        seed: other numbers take other deals, and another stream of chance for the agent.
        by_deal: the lead is decided as in round 1, instead of each seat leading in turn.

    Attributes:
        scores: (R, sides) int16, after the latest rounds.
        leads: (R,) int8, the side that leads next, or `sides` where the deal decides (or the match is over).
        groups: (R,) int64, the group of deals that a round belongs to.
    """

    def __init__(self, rules: Rules, agent: Agent, deals: int, seed: int, by_deal: bool = False) -> None:
        self.rules, self.agent, self.seed = rules, agent, seed
        sides, players = rules.num_sides, rules.num_players
        turns = sides if by_deal else players
        seeds = np.repeat(DEAL_SEED + seed * 2**32 + np.arange(deals), turns)
        turn = np.tile(np.arange(turns), deals)
        self._first = turn % sides
        self._dealt = np.zeros(len(seeds), MATCH)
        self._dealt["rules"] = rules.record
        _deal_all(self._dealt, seeds, np.full_like(turn, NONE) if by_deal else turn)
        self.groups = np.repeat(np.arange(deals) * GROUPS // deals, turns)
        self.scores = np.empty((len(seeds), sides), np.int16)
        self.leads = np.empty(len(seeds), np.int8)

    def play(self, scores: np.ndarray) -> None:
        """Play all rounds from these turned scores (sides,)."""
        if type(self.agent) is GreedyAgent:  # the same choices, without views
            _play_greedily(self._dealt, scores, self._first, self.scores, self.leads)
            return
        matches = self._dealt.copy()
        _set_all(matches, scores, self._first)
        seating = np.zeros((len(matches), self.rules.num_players), np.int64)
        play_out(matches, [self.agent], seating, np.random.default_rng(self.seed), one_round=True)
        _tell_all(matches, self._first, self.scores, self.leads)


class Chain:
    """The chain of scores of one game, solved from the highest scores down.

    Args:
        rules: the game.
        levels: the scores that are solved for: (K,) int.

    Attributes:
        values: (GROUPS + 1, 2, K**S, S) float64, as in ``EquityTable``: each group of deals, then all.
    """

    def __init__(self, rules: Rules, levels: np.ndarray) -> None:
        self.rules, self.levels = rules, levels
        self.sides = rules.num_sides
        self.values = np.full((GROUPS + 1, 2, len(levels) ** self.sides, self.sides), np.nan)
        self._places = score_places(rules, levels).astype(np.float64)

    def solve(self, at: tuple[int, ...], free: Rounds, by_deal: Rounds | None) -> None:
        """Solve for the scores at these levels and all their turnings, whoever leads.

        Args:
            at: a level per side; all larger scores are solved already.
            free: rounds that a given seat leads.
            by_deal: rounds whose deal decides, or None where that is by lot.

        Raises:
            ValueError: if a group of deals never changes these scores.
        """
        sides = self.sides
        here = np.array(at, np.int64)
        stay = np.zeros((GROUPS + 1, sides + 1, sides + 1))  # P(same scores, lead j next | lead i)
        move = np.zeros((GROUPS + 1, sides + 1, sides))  # what leaving is worth, per side
        for lead in range(sides + 1):
            first = lead % sides
            rounds = free if lead < sides else by_deal
            if rounds is None:
                stay[:, lead, :sides] = 1 / sides
                continue
            turned = np.roll(here, -first)
            rounds.play(self.levels[turned])
            _tally(
                turned, rounds.scores, rounds.leads, rounds.groups, self._places, self.values,
                first, lead, stay, move,
            )  # fmt: skip
            counts = np.append(np.bincount(rounds.groups, minlength=GROUPS), len(rounds.groups))
            stay[:, lead] /= counts[:, None]
            move[:, lead] /= counts[:, None]
        try:
            worth = np.linalg.solve(np.eye(sides + 1) - stay, move)
        except np.linalg.LinAlgError:
            worth = np.zeros_like(move)
        if not np.allclose(worth.sum(-1), 1.0):
            raise ValueError(
                f"deals: too few to change the scores {self.levels[here].tolist()}; allowed: more"
            )
        for first in range(sides):
            row = np.ravel_multi_index(np.roll(here, -first), [len(self.levels)] * sides)
            self.values[:, 0, row] = np.roll(worth[:, first], -first, axis=-1)
            self.values[:, 1, row] = np.roll(worth[:, sides], -first, axis=-1)

    def standard_errors(self) -> np.ndarray:
        """Of every value, from how the groups differ: (2, K**S, S)."""
        return self.values[:GROUPS].std(0, ddof=1) / np.sqrt(GROUPS)


def states(levels: int, sides: int) -> Iterator[tuple[int, ...]]:
    """One of every set of scores that are turnings of each other, the highest sums first."""
    everything = sorted(product(range(levels), repeat=sides), key=lambda at: (-sum(at), at))
    return (at for at in everything if at == max(at[k:] + at[:k] for k in range(sides)))


def make(
    rules: Rules | str,
    agent: Agent | str = "greedy",
    deals: int | None = None,
    seed: int = 0,
    levels: np.ndarray | None = None,
    progress: Progress | None = None,
) -> Equity:
    """The equity of a game in which one policy plays all seats.

    Args:
        rules: a ``Rules`` or a preset's name.
        agent: the policy, an ``Agent`` or what ``agents.load`` takes.
        deals: deals per score, a multiple of 8; each is played with every seat leading. By default so many
            that about 2**24 rounds are played.
        seed: another number takes other deals.
        levels: the scores that are played from, (K,) rising from 0; default: ``score_levels(rules)``.
        progress: where to show how far it is.

    Raises:
        ValueError: if the number of deals or the seed is impossible, or too few deals change some scores.
    """
    rules = Rules.coerce(rules)
    levels = score_levels(rules) if levels is None else np.asarray(levels, np.int64)
    deals = _usual_deals(rules, len(levels)) if deals is None else deals
    if not (0 < deals <= 2**32 and deals % GROUPS == 0):
        raise ValueError(f"deals: {deals} given; allowed: a multiple of {GROUPS}")
    if not 0 <= seed < 2**7:
        raise ValueError(f"seed: {seed} given; allowed: 0 to {2**7 - 1}")
    agent = agents.load(agent, rules) if isinstance(agent, str) else agent
    free = Rounds(rules, agent, deals, seed)
    by_deal = None if rules.lead_first == "lot" else Rounds(rules, agent, deals, seed, by_deal=True)
    chain = Chain(rules, levels)
    todo = list(states(len(levels), rules.num_sides))
    for at in progress.track(todo, description=str(rules)) if progress else todo:
        chain.solve(at, free, by_deal)
    errors = chain.standard_errors()[: 1 if by_deal is None else 2]
    about = {
        "policy": agent.name,
        "deals": deals,
        "rounds_per_state": len(free.groups),
        "seed": seed,
        "version": __version__,
        "levels": len(levels),
        "standard_error_mean": round(float(errors.mean()), 6),
        "standard_error_max": round(float(errors.max()), 6),
    }
    return Equity(rules, levels, chain.values[-1], about)


def _usual_deals(rules: Rules, levels: int) -> int:
    """A power of two, so that tables of about the same size have the same."""
    most = min(MOST_DEALS, ROUNDS // (levels**rules.num_sides * rules.num_players))
    return max(GROUPS, 1 << most.bit_length() - 1)


def picture(equity: Equity, path: str | Path) -> Path:
    """Draw the opener's equity of a game of two sides over both scores; returns where the picture is.

    Raises:
        ValueError: if there are more sides.
    """
    from matplotlib.figure import Figure  # not pyplot: no display, no global state

    rules, levels = equity.rules, equity.levels
    if rules.num_sides != 2:
        raise ValueError(f"picture: {rules} has {rules.num_sides} sides; allowed: games of two sides")
    grid = 100 * equity.table.values[0, :, 0].reshape(len(levels), len(levels))
    figure = Figure(figsize=(7, 6), layout="constrained")
    axes = figure.subplots()
    axis = np.append(levels, levels[-1] + rules.score_unit) - rules.score_unit / 2
    mesh = axes.pcolormesh(axis, axis, grid, cmap="RdBu", vmin=0, vmax=100, rasterized=True)
    lines = axes.contour(levels, levels, grid, levels=range(10, 100, 10), colors="black", linewidths=0.7)
    axes.clabel(lines, fmt="%d %%", fontsize=8)
    axes.set_xlabel("points of the other side")
    axes.set_ylabel("points of the side that leads the round")
    axes.set_title(f"{rules}: matches won by the side that leads")
    axes.set_aspect("equal")
    figure.colorbar(mesh, label="percent")
    figure.savefig(path, dpi=120, metadata={"Software": None})
    return Path(path)


@jit
def _deal_all(matches, seeds, openers):
    """First rounds of these seeds; NONE leaves the lead to the deal."""
    for i in range(matches.size):
        begin(matches[i], seeds[i])
        if openers[i] != NONE:
            deal(matches[i], openers[i])


@jit
def _set(match, scores, first):
    """Give a match the turned scores."""
    sides = np.int64(match.rules.num_sides)
    for k in range(sides):
        match.scores[(first + k) % sides] = scores[k]


@jit
def _tell(match, first, scores, leads, i):
    """Write the turned scores and the next lead of a finished round."""
    sides = np.int64(match.rules.num_sides)
    for k in range(sides):
        scores[i, k] = match.scores[(first + k) % sides]
    opener = np.int64(NONE) if match.over else next_opener(match)
    leads[i] = sides if opener == NONE else (opener + sides - first) % sides


@jit
def _set_all(matches, scores, first):
    for i in range(matches.size):
        _set(matches[i], scores, first[i])


@jit
def _tell_all(matches, first, scores, leads):
    for i in range(matches.size):
        _tell(matches[i], first[i], scores, leads, i)


@jit
def _play_greedily(dealt, start, first, scores, leads):
    """Play every round by greedy; it reads nothing of a match but what its seat may know."""
    scratch = np.empty(1, MATCH)
    for i in range(dealt.size):
        scratch[0] = dealt[i]
        match = scratch[0]
        _set(match, start, first[i])
        while not (match.over or match.event.round_end):
            play(match, greedy_action(match))
        _tell(match, first[i], scores, leads, i)


@jit
def _tally(here, scores, leads, groups, places, values, first, lead, stay, move):
    """Add up where rounds have led to, all of them turned by `first`, led by `lead`.

    Each result is a mixture of levels. The levels that the rounds started from go to `stay`, all others are
    larger and known, and their worth goes to `move`; a finished match is worth 1 to its winner.
    """
    sides = here.size
    levels = np.int64(places[places.size - 1]) + 1
    total = values.shape[0] - 1
    for i in range(groups.size):
        group, next_lead = groups[i], np.int64(leads[i])
        winner = -1
        for k in range(sides):
            if scores[i, k] >= places.size:
                winner = k
        if winner >= 0:
            side = (winner + first) % sides
            move[group, lead, side] += 1.0
            move[total, lead, side] += 1.0
            continue
        turn = next_lead % sides  # of the result, so that the next lead comes first
        for corner in range(1 << sides):
            weight, row, same = 1.0, np.int64(0), True
            for k in range(sides):
                j = (turn + k) % sides
                place = places[scores[i, j]]
                level = np.int64(place)
                part = place - level
                upper = corner >> k & 1
                weight *= part if upper else 1.0 - part
                same &= level + upper == here[j]
                row = row * levels + level + upper
            if weight == 0.0:
                continue
            if same:
                to = sides if next_lead == sides else (next_lead + first) % sides
                stay[group, lead, to] += weight
                stay[total, lead, to] += weight
                continue
            plane = 1 if next_lead == sides else 0
            for k in range(sides):
                side = (turn + first + k) % sides
                move[group, lead, side] += weight * values[group, plane, row, k]
                move[total, lead, side] += weight * values[total, plane, row, k]


@dataclass
class Args:
    """Arguments of the tool."""

    rules: tuple[str, ...] = ("fives_and_threes-4p",)
    """Names of presets."""
    all: bool = False
    """All presets."""
    policy: str = "greedy"
    """Who plays all seats: an agent's name or checkpoint."""
    deals: int | None = None
    """Deals per score, a multiple of 8; by default so many that about 2**24 rounds are played."""
    seed: int = 0
    """Another number takes other deals."""
    out: Path | None = None
    """Folder to write to; default: runs/equity, where agents find it."""
    picture: Path | None = None
    """Draw the table of the (first) preset into this file, and make none that is there already."""


def main(args: Args) -> None:
    """Make the tables, or draw one."""
    names = tuple(Rules.presets()) if args.all else args.rules
    if args.picture:
        print(picture(Equity.load(names[0]), args.picture))
        return
    console = Console()
    for name in names:
        rules = Rules.preset(name)
        with Progress(console=console, transient=True, disable=not console.is_terminal) as progress:
            equity = make(rules, args.policy, args.deals, args.seed, progress=progress)
        path = (args.out or MADE_HERE) / file_name(rules)
        equity.save(path)
        mean, most = (equity.about[f"standard_error_{which}"] for which in ("mean", "max"))
        errors = f"standard error {mean:.4f} (at most {most:.4f})"
        console.print(
            f"{path}  {equity.about['rounds_per_state']} rounds per state, {errors}", soft_wrap=True
        )


if __name__ == "__main__":
    try:
        main(tyro.cli(Args, prog="python -m train.equity", description=_SUMMARY))
    except (ValueError, OSError) as error:  # no such preset or agent, nowhere to write, ...
        sys.exit(f"train.equity: {error}")
