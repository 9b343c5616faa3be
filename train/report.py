"""What a finished run leaves for its owner: a table, a learning curve, a match to read, how to go on."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from rich.console import Console

import agents
from agents.checkpoints import AGENT_FILE
from agents.neural import NeuralAgent
from fivesthrees_env.match import Match
from fivesthrees_env.opponents import Agent
from fivesthrees_env.records import frames, write_records
from fivesthrees_env.rendering import ansi
from train.evaluate import EVALUATION_SEED, Estimate, compare, results_table
from train.monitor import METRICS_FILE

__all__ = ["learning_curve", "replay_text", "report"]

CURVE_FILE = "learning_curve.png"
REPLAY_FILE = "replay.txt"
RECORD_FILE = "replay.jsonl"
RESULTS_FILE = "results.json"


def report(agent: NeuralAgent, folder: Path, deals: int, matches: int) -> None:
    """Measure an agent against random and greedy, and write everything into the folder of its run."""
    console = Console()
    console.print("measuring against random and greedy …")
    opponents = [agents.load("random"), agents.load("greedy")]
    results = [compare(agent, other, agent.rules, deals, matches) for other in opponents]
    console.print(results_table(results, f"{agent.rules}, 95 % intervals"))
    (folder / RESULTS_FILE).write_text(json.dumps(results, default=Estimate.as_json, indent=1))
    learning_curve(folder)
    match = play_one(agent, opponents[-1])
    names = [agent.name] + [opponents[-1].name] * (agent.rules.num_sides - 1)
    (folder / REPLAY_FILE).write_text(replay_text(match, names))
    write_records(folder / RECORD_FILE, [match])
    for what, where in (
        ("agent", AGENT_FILE),
        ("learning curve", CURVE_FILE),
        ("metrics", METRICS_FILE),
        ("TensorBoard log", "tensorboard"),
        ("a match against greedy", REPLAY_FILE),
        ("the same as a record", RECORD_FILE),
    ):
        console.print(f"{what:>23}  {folder / where}", highlight=False, soft_wrap=True)
    console.print(_how_to_go_on(agent, folder), highlight=False, soft_wrap=True)


def python() -> str:
    """How the running Python is called from here: "python" where its environment is activated."""
    if os.environ.get("VIRTUAL_ENV") == sys.prefix:
        return "python"
    path = os.path.relpath(sys.executable)
    return sys.executable if path.startswith("..") else path


def _how_to_go_on(agent: NeuralAgent, folder: Path) -> str:
    trained = agent.about["training"]["args"]
    minutes, decisions = trained["minutes"] or 3.0, trained["decisions"]
    longer = f"--decisions {3 * decisions}" if decisions else f"--minutes {3 * minutes:g}"
    return f"""how to go on:
  train longer            {python()} -m train.ppo --resume --run {folder} {longer}
  measure more closely    {python()} -m train.evaluate {folder} greedy --deals 10000 --matches 10000
  look at the curves      {python()} -m tensorboard.main --logdir {folder / "tensorboard"}
  play it in your code    agents.load("{folder}").act(match.view(match.seat), rng)"""


def learning_curve(folder: Path) -> Path:
    """Draw the learning curve of a run from its metrics; returns where the picture is."""
    from matplotlib.figure import Figure  # not pyplot: no display, no global state

    lines = (folder / METRICS_FILE).read_text(encoding="utf-8").splitlines()
    rows = [json.loads(line) for line in lines]
    figure = Figure(figsize=(9, 6), layout="constrained")
    panels = figure.subplots(2, 2)
    names = ("margin vs greedy", "entropy", "score rate", "explained variance")
    units = ("points per duplicate round", "nats", "points per decision", "")
    for axes, name, unit in zip(panels.flat, names, units, strict=True):
        points = [(row["decisions"] / 1e6, row[name]) for row in rows if name in row]
        x, y = np.array(points).T if points else (np.zeros(0), np.zeros(0))
        axes.plot(x, y, marker="o" if name == names[0] else None, markersize=4)
        axes.set_title(name)
        axes.set_xlabel("million decisions")
        axes.set_ylabel(unit)
        axes.grid(alpha=0.3)
    panels[0, 0].axhline(0, color="black", linewidth=0.8)
    figure.suptitle(folder.name)
    path = folder / CURVE_FILE
    figure.savefig(path, dpi=120)
    return path


def play_one(agent: NeuralAgent, other: Agent) -> Match:
    """One whole match: the agent on side 0 against another on the other sides."""
    match, rng = Match(agent.rules, EVALUATION_SEED), np.random.default_rng(0)
    while not match.over:
        player = agent if agent.rules.side_of(match.seat) == 0 else other
        match.play(int(player.act(match.view(match.seat), rng)[0]))
    return match


def replay_text(match: Match, names: Sequence[str]) -> str:
    """A match as text: the table before the first ply and after each one.

    Args:
        match: finished or not.
        names: who played, per side.
    """
    players = "\n".join(f"side {side}: {name}" for side, name in enumerate(names))
    return "\n\n".join([players, *map(ansi, frames(match.record()))]) + "\n"
