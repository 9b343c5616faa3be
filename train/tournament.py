"""Everyone against everyone, block by block: what has to be played, on which cores, and what is kept of it.

Results depend on the deals and the agents alone: every block of deals has a random stream of its own (see
``deals.py``), so neither the number of workers nor an interruption changes anything. Workers are told names
and load the agents themselves.
"""

from __future__ import annotations

import hashlib
import inspect
import json
import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs, parallel_config
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

import agents
from fivesthrees_env import __version__
from fivesthrees_env.rules import Rules
from train.contest import Contest, Team, equity_of, exchanges, member_names, narrow_enough, seeds_for
from train.deals import BLOCK, DealSet
from train.estimates import looks

__all__ = ["Job", "Played", "Tournament", "play_all"]

FORMAT = "fivesthrees-ladder-1"

Pair = tuple[str, str]


class Job(NamedTuple):
    """A block of deals that two teams play: what a worker is told."""

    figure: str
    first: str
    second: str
    start: int
    stop: int


@dataclass(frozen=True)
class Tournament:
    """Who meets whom on which deals.

    Args:
        rules: the game.
        teams: by name, as ``Team.of`` takes them.
        matches: whole matches of every pair, at most.
        deals: deals for the duplicate rounds of every pair; 0 for none.
        seed: number of the deal set.
        width: stop the matches of a pair when the interval of their share (less luck) is that wide.

    Raises:
        ValueError: if an agent does not exist or does not fit the rules, or a number is impossible.
    """

    rules: Rules
    teams: tuple[str, ...]
    matches: int = 1000
    deals: int = 200
    seed: int = 0
    width: float | None = None

    def __post_init__(self) -> None:
        if len(set(self.teams)) < len(self.teams) or len(self.teams) < 2:
            raise ValueError(f"agents: {' '.join(self.teams)} given; allowed: two or more, each once")
        for name, least in (("matches", 1), ("deals", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name}: {getattr(self, name)} given; allowed: {least} or more")
        if self.width is not None and not self.width > 0:
            raise ValueError(f"width: {self.width} given; allowed: more than 0")
        for name in self.teams:
            _team(name, self.rules)
        _ = self.deal_set

    @property
    def deal_set(self) -> DealSet:
        """The deals, of which every figure of every pair takes the first so many."""
        seeds = -(-self.matches // len(exchanges(self.rules)))
        return _deals(self.rules, self.seed, max(seeds, self.deals))

    @property
    def figures(self) -> list[str]:
        """What is measured; the swing only where there is an equity table of the game."""
        swing = ["swing"] if equity_of(self.rules) is not None else []
        return ["matches", *(["rounds", *swing] if self.deals else [])]

    @property
    def pairs(self) -> list[Pair]:
        """Who meets whom, each pair in the order of the alphabet, so that the order of teams is no matter."""
        return [(min(a, b), max(a, b)) for a, b in combinations(self.teams, 2)]

    def contest(self, first: str, second: str) -> Contest:
        """Two of the teams on the deals."""
        return Contest(_team(first, self.rules), _team(second, self.rules), self.deal_set)

    def settings(self) -> dict[str, Any]:
        """All that results depend on, as JSON types."""
        equity = equity_of(self.rules)
        members = sorted({name for team in self.teams for name in member_names(team)})
        return {
            "format": FORMAT,
            "version": __version__,
            "deals": self.deal_set.about,
            "matches per pair": self.matches,
            "deals per pair": self.deals,
            "width": self.width,
            "equity": None if equity is None else _digest(equity.table.values.tobytes()),
            "agents": {name: _identity(name) for name in members},
        }

    def size(self, figure: str, pair: Pair, played: Played) -> int:
        """How many deals a pair has to play: all, or as many as make the interval narrow enough.

        With a width it grows look by look; what decides is only what was played up to the look.
        """
        if figure != "matches":
            return self.deals
        contest = self.contest(*pair)
        size = seeds_for(self.matches, contest.first, contest.second, self.rules)
        if self.width is None:
            return size
        for look in looks(size, BLOCK):
            values = played.values(figure, pair, look)
            if len(values) < look or narrow_enough(figure, values, self.width):
                return look
        return size

    def jobs(self, played: Played) -> list[Job]:
        """What is to be played next; none where all is done."""
        todo = []
        for figure in self.figures:
            for pair in self.pairs:
                size = self.size(figure, pair, played)
                todo += [
                    Job(figure, *pair, start, min(start + BLOCK, size))
                    for start in range(0, size, BLOCK)
                    if (figure, *pair, start) not in played.blocks
                ]
        return todo


@dataclass
class Played:
    """The blocks played so far, kept in a file: a line for the settings, then one for each block.

    A line is written as soon as its block is finished. One that an interruption has left unfinished is
    dropped when the file is opened again, so that a block is kept whole or not at all.
    """

    path: Path
    settings: dict[str, Any]
    blocks: dict[tuple[str, str, str, int], np.ndarray] = field(default_factory=dict)

    @classmethod
    def open(cls, path: Path, settings: dict[str, Any], restart: bool = False) -> Played:
        """Go on with the file, or begin it.

        Args:
            path: the file.
            settings: those of the tournament; other *agents* than before may join or leave.
            restart: drop what is there.

        Raises:
            ValueError: if it was begun with other settings; it names them.
        """
        lines = path.read_bytes().split(b"\n") if path.exists() and not restart else []
        before = _parsed(lines[0]) if len(lines) > 1 else None
        if before is None:
            played, kept = cls(path, settings), []
        else:
            differing = _differences(before, settings)
            if differing:
                raise ValueError(
                    f"{path.parent}: holds a ladder with other settings ({'; '.join(differing)}); "
                    "allowed: the same settings, another --out, or --restart, which drops what is there"
                )
            played = cls(path, {**settings, "agents": {**before["agents"], **settings["agents"]}})
            kept = [line for line in lines[1:-1] if played._read(line)]
        played._rewrite(kept)
        return played

    def add(self, job: Job, values: np.ndarray) -> None:
        """Keep a finished block."""
        line = {"block": [job.figure, job.first, job.second, job.start], "values": values.tolist()}
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")
        self.blocks[job[:4]] = values

    def values(self, figure: str, pair: Pair, size: int) -> np.ndarray:
        """What the first deals have brought, as far as they are played without a gap: (<= size, 2)."""
        found = [np.empty((0, 2))]
        for start in range(0, size, BLOCK):
            if (figure, *pair, start) not in self.blocks:
                break
            found.append(self.blocks[(figure, *pair, start)])
        return np.concatenate(found)[:size]

    def _read(self, line: bytes) -> bool:
        """Take over a line; False if it is damaged."""
        block = _parsed(line)
        if block is None:
            return False
        figure, first, second, start = block["block"]
        self.blocks[figure, first, second, start] = np.array(block["values"])
        return True

    def _rewrite(self, lines: list[bytes]) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".draft")
        draft.write_bytes(b"\n".join([json.dumps(self.settings).encode(), *lines, b""]))
        draft.replace(self.path)


def play_all(
    tournament: Tournament, played: Played, workers: int = -1, backend: str = "loky", quiet: bool = False
) -> None:
    """Play what is missing, and keep every block as soon as it is there.

    Args:
        tournament: who meets whom.
        played: what is there already; it is added to.
        workers: processes; -1 for all cores, or for all of the cluster; 1 plays in this process.
        backend: joblib's: "loky" for this machine, "ray" for a Ray cluster.
        quiet: without a progress bar.
    """
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn()
    with Progress(*columns, console=Console(stderr=True), disable=quiet) as progress:
        bar = progress.add_task("blocks of deals", completed=len(played.blocks))
        while jobs := tournament.jobs(played):
            progress.update(bar, total=len(played.blocks) + len(jobs))
            for job, values in _results(tournament, jobs, workers, backend):
                played.add(job, values)
                progress.advance(bar)


def _results(
    tournament: Tournament, jobs: list[Job], workers: int, backend: str
) -> Iterator[tuple[Job, np.ndarray]]:
    """The finished jobs, as they are finished."""
    if workers == 1:
        yield from (_play(tournament, job) for job in jobs)
    elif backend == "ray":
        import ray
        from ray.util.joblib import register_ray

        if not ray.is_initialized():
            ray.init()  # the cluster at RAY_ADDRESS, else one of this machine alone
        register_ray()
        with parallel_config(backend="ray", n_jobs=workers):
            # Ray's backend hands results over only when all are there: so a part of the jobs at a time.
            at_once = 16 * effective_n_jobs(workers)
            for first in range(0, len(jobs), at_once):
                part = jobs[first : first + at_once]
                yield from Parallel()(delayed(_play)(tournament, job) for job in part)
    else:
        with parallel_config(backend=backend, n_jobs=workers, inner_max_num_threads=1):
            spread = Parallel(return_as="generator_unordered")
            yield from spread(delayed(_play)(tournament, job) for job in jobs)


def _play(tournament: Tournament, job: Job) -> tuple[Job, np.ndarray]:
    """In a worker: play a block, on one thread, since there is a worker for every core."""
    contest = tournament.contest(job.first, job.second)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(1)
    return job, contest.play(job.figure, job.start, job.stop)


@lru_cache(maxsize=256)
def _team(name: str, rules: Rules) -> Team:
    return Team.of(name, rules)


@lru_cache(maxsize=16)
def _deals(rules: Rules, seed: int, size: int) -> DealSet:
    return DealSet(rules, seed, size)


def _identity(name: str) -> str:
    """What tells whether an agent is still the same: a digest of its checkpoint or source, else its class."""
    path = Path(name)
    if path.exists():
        from agents.checkpoints import AGENT_FILE  # loads PyTorch, which others do without

        data = (path / AGENT_FILE if path.is_dir() else path).read_bytes()
    else:
        kind = type(agents.load(name))
        if ":" not in name:
            return f"{kind.__module__}.{kind.__qualname__}"
        data = inspect.getsource(sys.modules[kind.__module__]).encode()
    return _digest(data)


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:12]


def _differences(before: dict[str, Any], now: dict[str, Any]) -> list[str]:
    """In what the settings differ; agents that only one of them has do not count."""
    pairs = {key: (before.get(key), now[key]) for key in now if key != "agents"}
    known = before.get("agents", {})
    pairs |= {name: (known[name], now["agents"][name]) for name in now["agents"] if name in known}
    return [
        f"{key}: {then} there, {asked} asked for" for key, (then, asked) in pairs.items() if then != asked
    ]


def _parsed(line: bytes) -> Any:
    """A line of JSON, or None if it is damaged."""
    try:
        return json.loads(line)
    except ValueError:
        return None
