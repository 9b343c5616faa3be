"""Everyone against everyone: a ladder of agents, with Bradley–Terry ratings.

    python -m train.ladder --agents random greedy smart-greedy expert
    python -m train.ladder --rules fives_and_threes-2p --agents random greedy runs/my-run --matches 2000
    python -m train.ladder --agents greedy expert expert+greedy          # a pair of unlike partners
    python -m train.ladder --agents random greedy expert --partners      # every such pair

Every pair of teams meets on the same deals, in whole matches and in duplicate rounds (see ``train.evaluate``
for the figures). Ratings come from the whole matches, less the luck of their deals. The output folder gets
``ladder.md`` (tables), ``heatmap.png``, ``ladder.json`` (everything) and ``played.jsonl``, a line for each
finished block of deals. After an interruption the same command goes on from there; agents may join later.
Other settings are refused, or begin anew with ``--restart``.

Games are spread over all cores by joblib; ``--backend ray`` spreads them over the machines of a Ray cluster.
docs/evaluation.md tells more.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from pathlib import Path
from typing import Any, Literal

import numpy as np
import tyro
from rich.console import Console
from rich.markdown import Markdown

from fivesthrees_env.rules import Rules
from train.contest import Team, estimate, less_luck, rules_for
from train.estimates import Estimate, resampled_means, variance_factor, without_luck
from train.ratings import Ratings, cycles, rate
from train.tournament import Played, Tournament, play_all

__all__ = ["Args", "Standings", "ladder"]

PLAYED_FILE = "played.jsonl"
TABLE_FILE, JSON_FILE, HEATMAP_FILE = "ladder.md", "ladder.json", "heatmap.png"

#: Resamples of the deals that ratings are fitted to.
RESAMPLES = 1000

_SUMMARY = "Everyone against everyone: a ladder of agents, with Bradley–Terry ratings."


@dataclass
class Args:
    """Arguments of a ladder."""

    agents: list[str]
    """Who plays: names, paths of checkpoints or runs, module:Class, or pairs a+b in games with partners."""
    rules: str | None = None
    """A preset's name; default: what the first trained agent was trained for, else four in pairs."""
    partners: bool = False
    """Let every pair of unlike agents play as partners too."""
    matches: int = 1000
    """Whole matches of every pair of teams (at most, with --width)."""
    deals: int = 200
    """Deals for the duplicate rounds of every pair of teams; 0 for none."""
    width: float | None = None
    """Stop the matches of a pair when the interval of their share is that wide: 0.04 for ± 2 %."""
    seed: int = 0
    """Number of the deal set; another takes other deals."""
    hash: str | None = None
    """Refuse a deal set with another hash than this one."""
    out: Path | None = None
    """Folder for the results; default: runs/ladder-RULES."""
    workers: int = -1
    """Processes; -1 for all cores (with ray: for the whole cluster)."""
    backend: Literal["loky", "ray"] = "loky"
    """loky: the cores of this machine; ray: a Ray cluster (pip install ray)."""
    restart: bool = False
    """Drop what the folder holds, and begin anew."""


class Standings:
    """What a tournament has brought. Teams are numbered from the best rated one down.

    Attributes:
        names: what tables call the teams.
        contests: team numbers (i, j), i < j -> the contest, from the point of view of i.
        results: (i, j), figure -> the estimate, from the point of view of i; "less_luck" beside "matches".
        shares: (teams, teams) float; matches won by the row's team, less luck.
        ratings: of the teams.
        anchor: the team with the fixed rating: greedy if it plays, else the first one given.
    """

    def __init__(self, tournament: Tournament, played: Played) -> None:
        self.tournament = tournament
        self._played = played
        given = tournament.teams
        anchor = given.index("greedy") if "greedy" in given else 0
        order = np.argsort(-self._rated(given, anchor).rating, kind="stable")
        self.teams = [given[k] for k in order]
        self.anchor = int(np.flatnonzero(order == anchor)[0])
        self.ratings = self._rated(self.teams, self.anchor)
        self.shares, self.errors, self.games, _ = self._matches(self.teams)
        made = [Team.of(name, tournament.rules).name for name in self.teams]
        alone = Counter(made)
        self.names = [name if alone[name] == 1 else team for name, team in zip(made, self.teams, strict=True)]
        self.results = {(i, j): self._results(i, j) for i, j in combinations(range(len(self.teams)), 2)}

    def values(self, figure: str, first: str, second: str) -> np.ndarray:
        """What was played, from the first team's point of view: (deals, 2), see ``Contest.play``."""
        pair = min(first, second), max(first, second)
        size = self.tournament.size(figure, pair, self._played)
        values = self._played.values(figure, pair, size)
        if pair[0] == first:
            return values
        return (np.array([1.0, 0.0]) if figure == "matches" else 0.0) - values

    @cached_property
    def cycles(self) -> list[tuple[str, str, str]]:
        """Who significantly beats whom beats whom in turn."""
        return cycles(self.shares, self.errors, self.names)

    def total(self, team: int, figure: str) -> float:
        """The mean of a figure over all opponents."""
        results = [self.result(team, other, figure).mean for other in self.others(team)]
        return float(np.mean(results))

    def result(self, team: int, other: int, figure: str) -> Estimate:
        """A figure of one team against another."""
        if team < other:
            return self.results[team, other][figure]
        value, whole = self.results[other, team][figure], 1.0 if figure in ("matches", "less_luck") else 0.0
        return Estimate(
            whole - value.mean, whole - value.high, whole - value.low, value.games, value.clusters
        )

    def others(self, team: int) -> list[int]:
        """All other teams."""
        return [k for k in range(len(self.teams)) if k != team]

    def as_json(self) -> dict[str, Any]:
        """Everything, as JSON types; an open end of an interval is null."""
        return {
            **self._played.settings,
            "anchor": self.names[self.anchor],
            "teams": [
                {
                    "name": name,
                    "team": team,
                    "rating": _number(self.ratings.rating[k]),
                    "low": _number(self.ratings.low[k]),
                    "high": _number(self.ratings.high[k]),
                    "matches": self.total(k, "less_luck"),
                }
                for k, (name, team) in enumerate(zip(self.names, self.teams, strict=True))
            ],
            "contests": [
                {
                    "first": self.names[i],
                    "second": self.names[j],
                    **{figure: value.as_json() for figure, value in results.items()},
                    "factor": self.factor(i, j),
                }
                for (i, j), results in self.results.items()
            ],
            "cycles": self.cycles,
        }

    def factor(self, i: int, j: int) -> float:
        """How many matches one match less luck is worth."""
        values = self.values("matches", self.teams[i], self.teams[j])
        return variance_factor(values[:, 0], without_luck(values[:, 0], values[:, 1]))

    def _results(self, i: int, j: int) -> dict[str, Estimate]:
        first, second = self.teams[i], self.teams[j]
        contest, found = self.tournament.contest(first, second), {}
        for figure in self.tournament.figures:
            values = self.values(figure, first, second)
            found[figure] = estimate(contest, figure, values)
            if figure == "matches":
                found["less_luck"] = less_luck(contest, values)
        return found

    def _matches(self, teams: list[str] | tuple[str, ...]) -> tuple[np.ndarray, ...]:
        """Shares less luck, their standard errors, matches played, and (deals, pairs) shares per deal."""
        count = len(teams)
        shares, errors, games = (
            np.full((count, count), 0.5),
            np.zeros((count, count)),
            np.zeros((count, count)),
        )
        pairs = list(combinations(range(count), 2))
        per_deal = np.full((self.tournament.deal_set.size, len(pairs)), np.nan)
        for column, (i, j) in enumerate(pairs):
            values = self.values("matches", teams[i], teams[j])
            clean = without_luck(values[:, 0], values[:, 1])
            per_deal[: len(clean), column] = clean
            shares[i, j], shares[j, i] = clean.mean(), 1 - clean.mean()
            # Where all deals came out alike, the widest error that so many can have.
            errors[i, j] = errors[j, i] = (clean.std() or 0.5) / np.sqrt(len(clean))
            games[i, j] = games[j, i] = len(clean) * self.tournament.contest(teams[i], teams[j]).games(
                "matches"
            )
        return shares, errors, games, per_deal

    def _rated(self, teams: list[str] | tuple[str, ...], anchor: int) -> Ratings:
        """Ratings, with all pairs resampled on the same deals."""
        shares, _, games, per_deal = self._matches(teams)
        drawn = resampled_means(per_deal, RESAMPLES)
        drawn = np.where(np.isnan(drawn), np.nanmean(per_deal, axis=0), drawn)
        rows, columns = np.triu_indices(len(teams), 1)
        resampled = np.full((RESAMPLES, *shares.shape), 0.5)
        resampled[:, rows, columns], resampled[:, columns, rows] = drawn, 1 - drawn
        return rate(shares, games, resampled, anchor)


#: Figures of the table: their names, and how they are written.
_SHOWN = {
    "less_luck": ("matches won", "{:.1%}"),
    "rounds": ("points per round", "{:+.2f}"),
    "swing": ("equity per round", "{:+.2%}"),
}


def table(standings: Standings) -> str:
    """The ladder as Markdown: ratings, who beats whom, cycles, and how to repeat it."""
    return f"{_results(standings)}\n{_how_to_repeat(standings.tournament)}\n"


def _results(standings: Standings) -> str:
    tournament, ratings = standings.tournament, standings.ratings
    figures = [figure for figure in _SHOWN if figure in standings.results[0, 1]]
    columns = ["", "agent", "rating", "95 % interval", "ahead of the next"]
    columns += [_SHOWN[figure][0] for figure in figures]
    rows, grid = [], []
    for k, name in enumerate(standings.names):
        row = [str(k + 1), name, f"{ratings.rating[k]:.0f}", _interval(ratings, k), _ahead(ratings, k)]
        rows.append(row + [_SHOWN[figure][1].format(standings.total(k, figure)) for figure in figures])
        grid.append([name, *(_won(standings, k, other) for other in range(len(standings.names)))])
    found = [f"- {a} beats {b} beats {c} beats {a}" for a, b, c in standings.cycles]
    return "\n".join(
        [
            f"# Ladder of {tournament.rules}",
            "",
            f"{tournament.rules.summary()}. Ratings: {standings.names[standings.anchor]} has 1000; 400 "
            "points are odds of 10 to 1. Figures are means over all opponents, matches less the luck of "
            "their deals.",
            "",
            *_markdown(columns, rows),
            "",
            "Matches that the row's agent wins from the column's, in percent, with half the 95 % interval:",
            "",
            *_markdown(["", *standings.names], grid),
            "",
            "Cycles: " + ("" if found else "none that is significant."),
            *found,
            "",
        ]
    )


def _interval(ratings: Ratings, k: int) -> str:
    low, high = ratings.low[k], ratings.high[k]
    if low == high:
        return "anchor"
    if np.isinf(high):
        return "open" if np.isinf(low) else f"{low:.0f} or more"
    return f"{high:.0f} or less" if np.isinf(low) else f"{low:.0f} to {high:.0f}"


def _ahead(ratings: Ratings, k: int) -> str:
    if k + 1 == len(ratings.rating):
        return ""
    mean, low, high = ratings.ahead(k, k + 1)
    return f"{mean:.0f} ({low:.0f} to {high:.0f})"


def _won(standings: Standings, k: int, other: int) -> str:
    if k == other:
        return "–"
    value = standings.result(k, other, "less_luck")
    return f"{100 * value.mean:.1f} ± {50 * value.width:.1f}"


def _markdown(columns: list[str], rows: list[list[str]]) -> list[str]:
    return [f"| {' | '.join(row)} |" for row in (columns, ["---"] * len(columns), *rows)]


def _how_to_repeat(tournament: Tournament) -> str:
    deals = tournament.deal_set
    width = f" --width {tournament.width:g}" if tournament.width else ""
    return (
        f"Played on {deals}, hash {deals.hash}. To repeat it:\n\n"
        f"    python -m train.ladder --rules {tournament.rules} --agents {' '.join(tournament.teams)} "
        f"--matches {tournament.matches} --deals {tournament.deals} --seed {tournament.seed}{width} "
        f"--hash {deals.hash}"
    )


def heatmap(standings: Standings, path: Path) -> None:
    """Draw who beats whom: matches won by the row's agent, less luck, in percent."""
    from matplotlib.figure import Figure  # not pyplot: no display, no global state

    count = len(standings.names)
    figure = Figure(figsize=(3 + 0.7 * count, 2.5 + 0.6 * count), layout="constrained")
    axes = figure.subplots()
    shares = np.where(np.eye(count, dtype=bool), np.nan, 100 * standings.shares)
    image = axes.imshow(shares, cmap="RdBu", vmin=0, vmax=100)
    axes.set_xticks(range(count), standings.names, rotation=45, ha="right", rotation_mode="anchor")
    labels = [f"{name}  {standings.ratings.rating[k]:.0f}" for k, name in enumerate(standings.names)]
    axes.set_yticks(range(count), labels)
    for i, j in np.argwhere(~np.isnan(shares)):
        strong = abs(shares[i, j] - 50) > 30
        colour = "white" if strong else "black"
        axes.text(j, i, f"{shares[i, j]:.0f}", ha="center", va="center", color=colour, fontsize=9)
    axes.set_title(f"{standings.tournament.rules}\nmatches won by the row, %")
    figure.colorbar(image, ax=axes, shrink=0.8)
    figure.savefig(path, dpi=150)


def ladder(args: Args, quiet: bool = False) -> Standings:
    """Play a ladder, or what is missing of it, and write its table, picture and JSON.

    Raises:
        ValueError: for agents or numbers that are impossible, another hash, or a folder with a ladder of
            other settings.
    """
    teams = list(args.agents)
    if args.partners:
        teams += [f"{a}+{b}" for a, b in combinations(args.agents, 2) if "+" not in a + b]
    rules = rules_for(args.rules, args.agents)
    tournament = Tournament(rules, tuple(teams), args.matches, args.deals, args.seed, args.width)
    tournament.deal_set.check(args.hash)
    folder = _folder(args, rules)
    played = Played.open(folder / PLAYED_FILE, tournament.settings(), args.restart)
    play_all(tournament, played, args.workers, args.backend, quiet)
    standings = Standings(tournament, played)
    (folder / TABLE_FILE).write_text(table(standings), encoding="utf-8")
    (folder / JSON_FILE).write_text(json.dumps(standings.as_json(), indent=1), encoding="utf-8")
    heatmap(standings, folder / HEATMAP_FILE)
    return standings


def _folder(args: Args, rules: Rules) -> Path:
    return args.out or Path("runs") / f"ladder-{rules}"


def _number(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


def main(args: Args) -> None:
    """Play the ladder and print its table."""
    standings = ladder(args)
    tournament = standings.tournament
    folder, console = _folder(args, tournament.rules), Console()
    console.print(Markdown(_results(standings)))
    console.print()
    console.print(_how_to_repeat(tournament), soft_wrap=True, highlight=False, markup=False)
    console.print(f"written: {folder / TABLE_FILE}, {JSON_FILE}, {HEATMAP_FILE}", soft_wrap=True)


if __name__ == "__main__":
    try:
        main(tyro.cli(Args, prog="python -m train.ladder", description=_SUMMARY))
    except KeyboardInterrupt:
        print("\ntrain.ladder: interrupted; the same command goes on from here", file=sys.stderr)
        sys.exit(130)
    except (ValueError, OSError, ImportError) as error:  # no such agent, other settings, no ray, ...
        sys.exit(f"train.ladder: {error}")
