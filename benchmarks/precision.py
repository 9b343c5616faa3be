"""Whether training learns as well in bfloat16 as in float32: learning curves, and who plays better.

    python -m benchmarks.precision

Trains with several seeds either way, measures the agents against greedy, and writes ``docs/precision.md`` and
``docs/images/precision.svg``. Runs that are there already are gone on with, or only measured.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import tyro

from agents.neural import NeuralAgent
from benchmarks.compare.report import markdown_table
from fivesthrees_env.opponents import GreedyAgent
from fivesthrees_env.rules import Rules
from train.estimates import Estimate
from train.evaluate import duplicate_rounds
from train.monitor import METRICS_FILE
from train.ppo import Args as Training
from train.ppo import main as train

PAGE, CHART = "precision.md", "images/precision.svg"
KINDS = {"float32": "#2d6fa8", "bfloat16": "#c8502d"}


@dataclass
class Args:
    """Arguments of the benchmark."""

    rules: str = "fives_and_threes-4p"
    seeds: list[int] = field(default_factory=lambda: [1, 2, 3, 4, 5])
    decisions: int = 2_000_000
    """Of each run."""
    deals: int = 3000
    """Each agent is measured on so many."""
    runs: Path = Path("runs/precision")
    docs: Path = Path("docs")


def trained(kind: str, seed: int, args: Args) -> Path:
    """The folder of a run, trained to its end."""
    run = args.runs / f"{kind}-{seed}"
    training = Training(args.rules, decisions=args.decisions, seed=seed, run=run, report=False)
    training.bfloat16, training.checkpoint_seconds = kind == "bfloat16", 5.0
    training.resume = (run / "trainer.safetensors").exists()
    train(training)
    return run


def curve(run: Path) -> tuple[np.ndarray, np.ndarray]:
    """Decisions, and the margin against greedy after them."""
    rows = [json.loads(line) for line in (run / METRICS_FILE).read_text().splitlines()]
    points = [(row["decisions"], row["margin vs greedy"]) for row in rows if "margin vs greedy" in row]
    decisions, margins = np.array(points).T
    return decisions, margins


def with_interval(mean: float, half: float) -> str:
    return f"{mean:+.3f} ± {half:.3f}"


def page(margins: dict[str, list[Estimate]], args: Args) -> str:
    rows = []
    for seed, one, other in zip(args.seeds, *margins.values(), strict=True):
        cells = [with_interval(margin.mean, margin.width / 2) for margin in (one, other)]
        rows.append((str(seed), *cells, f"{other.mean - one.mean:+.3f}"))
    one, other = (np.array([margin.mean for margin in margins[kind]]) for kind in KINDS)
    differences = other - one
    error = differences.std(ddof=1) / len(differences) ** 0.5
    means = (f"{one.mean():+.3f}", f"{other.mean():+.3f}", with_interval(differences.mean(), error))
    table = markdown_table(("seed", *KINDS, "difference"), [*rows, ("mean", *means)], range(4))
    return PAGE_TEXT.format(table=table, chart=CHART, **vars(args))


PAGE_TEXT = """\
# Training in bfloat16

Points per duplicate round against greedy after {decisions:,} decisions of `train.ppo` (`{rules}`, default
settings), {deals:,} deals each. Behind an agent's margin stands its 95 % interval over the deals, behind the
mean difference its standard error over the seeds. Written by `python -m benchmarks.precision`.

{table}

![Margin against greedy over decisions: a thin line for each run, a thick one for their mean]({chart})

With bfloat16 the hidden layers are multiplied in it. The first layer, both heads, all weights and the
optimiser stay in float32, and so do checkpoints. It is the default where the processor multiplies bfloat16
(`avx512_bf16`); `--no-bfloat16` trains in float32.
"""


def chart(runs: dict[str, list[Path]], path: Path) -> None:
    """The learning curves, thin, and the mean over the seeds of either kind."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with plt.rc_context({"svg.hashsalt": "fivesthrees", "font.size": 9}):
        figure, panel = plt.subplots(figsize=(6, 3.4), layout="constrained")
        for kind, colour in KINDS.items():
            curves = [curve(run) for run in runs[kind]]
            for decisions, margins in curves:
                panel.plot(decisions / 1e6, margins, color=colour, linewidth=0.6, alpha=0.5)
            common = np.linspace(0, min(decisions[-1] for decisions, _ in curves), 20)
            mean = np.mean([np.interp(common, *points) for points in curves], 0)
            panel.plot(common / 1e6, mean, color=colour, linewidth=2, label=kind)
        panel.set_xlabel("million decisions")
        panel.set_ylabel("points per round against greedy")
        panel.legend(frameon=False)
        panel.spines[["top", "right"]].set_visible(False)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def main(args: Args) -> None:
    rules, greedy = Rules.preset(args.rules), GreedyAgent()
    runs = {kind: [trained(kind, seed, args) for seed in args.seeds] for kind in KINDS}
    margins = {
        kind: [duplicate_rounds(NeuralAgent.load(run), greedy, rules, args.deals) for run in runs[kind]]
        for kind in KINDS
    }
    chart(runs, args.docs / CHART)
    (args.docs / PAGE).write_text(page(margins, args))


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
