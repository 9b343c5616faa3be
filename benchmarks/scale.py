"""How speed grows: steps/s with matches and threads, memory per match, training with the network's width.

    python -m benchmarks.scale

Writes ``docs/scale.md``, ``docs/scale.json`` and ``docs/images/scale.svg`` in some two minutes. Leave the
machine alone meanwhile.
"""

from __future__ import annotations

import datetime
import json
import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import tyro
from rich.console import Console

from benchmarks.clock import timed
from benchmarks.compare.report import describe_machine, markdown_table, three_digits
from benchmarks.engine import RandomPlay
from benchmarks.train import Iteration
from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.kernel.record import MATCH
from train.ppo import Args as Training

PAGE, DATA, CHART = "scale.md", "scale.json", "images/scale.svg"
COLOURS = ("#8a97a6", "#c8502d", "#2d6fa8", "#5b8c3a", "#7a4fa3")


@dataclass
class Args:
    """Arguments of the benchmark."""

    rules: str = "fives_and_threes-4p"
    """Rules to measure with."""
    sizes: list[int] = field(default_factory=lambda: [4**k for k in range(9)])
    """Matches side by side."""
    threads: int = os.cpu_count() or 1
    """Threads to go up to; default: all cores."""
    widths: list[int] = field(default_factory=lambda: [64, 128, 256, 512, 1024])
    """Units per hidden layer, with two of them."""
    seconds: float = 0.05
    """Time of one measurement of steps."""
    repeats: int = 7
    """Repetitions of it; the median counts."""
    train_steps: int = 64
    """Decisions per match in an iteration of training."""
    train_repeats: int = 3
    """Iterations of training; the median counts."""
    docs: Path = Path("docs")
    """Folder of the page, the picture and the JSON file."""
    redraw: bool = False
    """Measure nothing: write page and picture again from the JSON file."""


@dataclass(frozen=True)
class Speed:
    """Steps/s of ``MatchBatch.step`` alone, with all that it writes."""

    num_matches: int
    num_threads: int
    steps_per_second: float


@dataclass(frozen=True)
class Learning:
    """Decisions/s of ``train/ppo.py``, and of the network alone on the same rows."""

    width: int
    decisions_per_second: float
    roofline: float
    precision: str = "float32"


@dataclass(frozen=True)
class Report:
    """Everything that the page tells; ``memory`` is bytes per match by what they hold."""

    machine: Mapping[str, Any]
    date: str
    rules: str
    memory: Mapping[str, int]
    speeds: tuple[Speed, ...]
    learning: tuple[Learning, ...]

    @property
    def sizes(self) -> list[int]:
        return sorted({speed.num_matches for speed in self.speeds})

    @property
    def threads(self) -> list[int]:
        return sorted({speed.num_threads for speed in self.speeds})

    def rate(self, num_matches: int, num_threads: int) -> float:
        """Steps/s of one measurement."""
        rates = {(speed.num_matches, speed.num_threads): speed.steps_per_second for speed in self.speeds}
        return rates[num_matches, num_threads]

    def gain(self, num_matches: int, num_threads: int) -> float:
        """How many times as fast as one thread."""
        return self.rate(num_matches, num_threads) / self.rate(num_matches, 1)

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Report:
        fields = json.loads(text)
        speeds = tuple(Speed(**speed) for speed in fields.pop("speeds"))
        learning = tuple(Learning(**row) for row in fields.pop("learning"))
        return cls(**fields, speeds=speeds, learning=learning)


# --------------------------------------------------------------------------------- measuring


def thread_counts(most: int) -> list[int]:
    """1, 2, 4 … and the most."""
    return sorted({*(2**k for k in range(most.bit_length())), most})


def steps_for(loop: RandomPlay, seconds: float) -> int:
    """Steps that take about this long."""
    loop.steps = 1
    while True:
        started = time.perf_counter()
        loop.play()
        taken = time.perf_counter() - started
        if taken > seconds / 4:
            return max(round(loop.steps * seconds / taken), 1)
        loop.steps *= 2


def speeds_of(num_matches: int, args: Args) -> Iterator[Speed]:
    """A batch of this size on all numbers of threads."""
    counts = thread_counts(args.threads)
    loops = [RandomPlay(args.rules, num_matches, 1, threads) for threads in counts]
    steps = steps_for(loops[0], args.seconds)
    for loop in loops:
        loop.steps = steps
    *playing, choosing = timed(args.repeats, *(loop.play for loop in loops), loops[0].choose)
    for threads, seconds in zip(counts, playing, strict=True):
        yield Speed(num_matches, threads, loops[0].plies / (seconds - choosing))


def learning_of(width: int, args: Args) -> Learning:
    """A network of this width, two hidden layers, all threads."""
    training = Training(rules=args.rules, width=width, steps=args.train_steps, threads=args.threads)
    it = Iteration(training)
    collect, update, forward, backward = timed(
        args.train_repeats, it.collect, it.update, it.forward, it.backward
    )
    precision = "bfloat16" if training.bfloat16 else "float32"
    return Learning(width, it.decisions / (collect + update), it.decisions / (forward + backward), precision)


def memory_of(rules: str) -> dict[str, int]:
    """Bytes per match of a batch, by what they hold."""
    batch = MatchBatch(1, rules, seed=0)
    history = MATCH["history"].itemsize
    memory = {
        "the match, but for its history": MATCH.itemsize - history,
        "its history, the plies of the round": history,
        "the view, once it is asked for": batch.views.nbytes,
        "observation": batch.observations.nbytes,
        "mask": batch.action_masks.nbytes,
    }
    arrays = {id(array): array for array in vars(batch).values() if isinstance(array, np.ndarray)}
    del arrays[id(batch.layout.places)]  # where the rules are not compiled in
    all_arrays = sum(array.nbytes for array in arrays.values())
    return memory | {"rewards, seats, dones, winners, what is legal": all_arrays - sum(memory.values())}


def measure(args: Args, console: Console) -> Report:
    speeds: list[Speed] = []
    for num_matches in args.sizes:
        speeds += speeds_of(num_matches, args)
        console.print(f"{num_matches:,} matches: {three_digits(speeds[-1].steps_per_second)} steps/s")
    learning: list[Learning] = []
    for width in args.widths:
        learning.append(learning_of(width, args))
        console.print(f"width {width}: {three_digits(learning[-1].decisions_per_second)} decisions/s")
    date = datetime.datetime.now(datetime.UTC).date().isoformat()
    memory = memory_of(args.rules)
    return Report(describe_machine(), date, args.rules, memory, tuple(speeds), tuple(learning))


# ------------------------------------------------------------------------------------ telling

METHOD = """\
Written by `python -m benchmarks.scale`; all figures are in [scale.json](scale.json).

On {cpu} ({cores} cores), {system}, Python {python}, {date}. Rules: `{rules}`. Figures are medians.
"""


def speed_table(report: Report) -> str:
    """A row per number of matches."""
    more = [threads for threads in report.threads if threads > 1]
    header = ["matches", "1 thread", *(name for t in more for name in (f"{t} threads", f"1 → {t}"))]
    rows = []
    for size in report.sizes:
        row = [f"{size:,}", three_digits(report.rate(size, 1))]
        for t in more:
            row += [three_digits(report.rate(size, t)), f"{report.gain(size, t):.2f}×"]
        rows.append(row)
    return markdown_table(header, rows, range(len(header)))


def memory_table(report: Report) -> str:
    rows = [(what, f"{size:,}") for what, size in report.memory.items()]
    return markdown_table(("what", "bytes"), [*rows, ("together", f"{sum(report.memory.values()):,}")], [1])


def learning_table(report: Report) -> str:
    rows = [
        (
            f"{row.width:,} × 2",
            three_digits(row.decisions_per_second),
            three_digits(row.roofline),
            f"{row.decisions_per_second / row.roofline:.0%}",
            row.precision,
        )
        for row in report.learning
    ]
    return markdown_table(("width", "decisions/s", "roofline", "reached", "precision"), rows, range(4))


def page(report: Report) -> str:
    """The page of the documentation."""
    most = max(report.sizes)
    together = sum(report.memory.values())
    parts = [
        "# How speed grows\n",
        METHOD.format(**report.machine, date=report.date, rules=report.rules),
        f"![Steps per second over matches, gain by threads, decisions per second over width]({CHART})\n",
        "## Matches and threads\n",
        "Steps per second of `MatchBatch.step`: observation, mask and rewards of every match, "
        "actions given. `num_threads` shares a step's matches between threads. From 1,024 matches on a batch "
        "is compiled for its rules (`specialise`).\n",
        speed_table(report) + "\n",
        "## Memory per match\n",
        f"{most:,} matches take {three_digits(most * together, 'B')}. A step touches the match but for its "
        "history, of which it writes one ply; views are made for agents alone.\n",
        memory_table(report) + "\n",
        "## Training and width\n",
        f"Decisions per second of `train/ppo.py` on {max(report.threads)} threads, collection and learning "
        "together. The roofline is the network alone on the same rows: forward for the collection, "
        "forward and backward for the learning.\n",
        learning_table(report) + "\n",
    ]
    return "\n".join(parts)


def chart(report: Report, path: Path) -> None:
    """Three panels: steps/s over matches, gain by threads over matches, decisions/s over width."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    with plt.rc_context({"svg.hashsalt": "fivesthrees", "font.size": 9}):
        figure, (steps, gains, learning) = plt.subplots(1, 3, figsize=(10.5, 3.4), layout="constrained")
        for threads, colour in zip(report.threads, COLOURS * len(report.threads), strict=False):
            name = f"{threads} thread{'s' * (threads > 1)}"
            style: dict[str, Any] = {"color": colour, "marker": "o", "markersize": 3.5, "label": name}
            steps.plot(report.sizes, [report.rate(size, threads) for size in report.sizes], **style)
            gains.plot(report.sizes, [report.gain(size, threads) for size in report.sizes], **style)
        _over_matches(steps, report.sizes, "steps per second")
        _over_matches(gains, report.sizes, "times as fast as one thread")
        steps.set_yscale("log")
        gains.set_ylim(0, max(report.threads) + 0.1)
        _learning(learning, report.learning)
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def _over_matches(panel: Any, sizes: list[int], title: str) -> None:
    panel.set_xscale("log", base=4)
    panel.set_xticks(sizes, [f"{size:,}" for size in sizes], rotation=45, ha="right", fontsize=8)
    panel.set_xlabel("matches side by side")
    _finish(panel, title)


def _learning(panel: Any, rows: tuple[Learning, ...]) -> None:
    widths = [row.width for row in rows]
    rates = [row.decisions_per_second for row in rows]
    panel.plot(widths, [row.roofline for row in rows], "--", color=COLOURS[0], label="the network alone")
    panel.plot(widths, rates, "o-", color=COLOURS[1], markersize=3.5, label="training")
    for width, rate in zip(widths, rates, strict=True):
        panel.annotate(
            three_digits(rate), (width, rate), (0, -12), textcoords="offset points", ha="center", fontsize=8
        )
    panel.set_xscale("log", base=2)
    panel.set_yscale("log")
    panel.margins(y=0.15, x=0.1)
    panel.set_xticks(widths, [f"{width:,}" for width in widths])
    panel.set_xlabel("units in each of two hidden layers")
    _finish(panel, "training, decisions per second")


def _finish(panel: Any, title: str) -> None:
    panel.set_title(title, loc="left", fontsize=9, fontweight="bold")
    panel.spines[["top", "right"]].set_visible(False)
    panel.minorticks_off()
    panel.grid(alpha=0.25)
    panel.legend(frameon=False, fontsize=8)


def write(report: Report, docs: Path) -> list[Path]:
    """Write page, data and picture under the folder; returns what was written."""
    paths = [docs / name for name in (PAGE, DATA, CHART)]
    docs.mkdir(parents=True, exist_ok=True)
    paths[0].write_text(page(report), encoding="utf-8")
    paths[1].write_text(report.to_json(), encoding="utf-8")
    chart(report, paths[2])
    return paths


def main(args: Args) -> None:
    console = Console(highlight=False)
    if args.redraw:
        report = Report.from_json((args.docs / DATA).read_text(encoding="utf-8"))
    else:
        report = measure(args, console)
    for path in write(report, args.docs):
        console.print(f"wrote {path}")


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
