"""What was measured as a page, a chart, a JSON file and a table in the terminal; all from one ``Report``."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from rich.box import SIMPLE
from rich.table import Table

from benchmarks.compare.environment import Outcome
from benchmarks.compare.measure import Measured
from benchmarks.compare.peers import OURS, Contender, Peer

PAGE, DATA, CHART = "benchmarks.md", "benchmarks.json", "images/benchmarks.svg"
OUR_COLOUR, THEIR_COLOUR = "#c8502d", "#8a97a6"


@dataclass(frozen=True)
class Row:
    """A contender and what it reached; ``ratio`` is how many times as fast the yardstick of its kind is."""

    kind: str
    library: str
    environment: str
    interface: str
    step: str
    yardstick: bool
    speeds: tuple[float, ...]
    steps_per_second: float
    observation_bytes: int
    mask_bytes: int
    ratio: float | None

    @property
    def bytes_per_step(self) -> int:
        return self.observation_bytes + self.mask_bytes

    @property
    def ours(self) -> bool:
        return self.library == OURS


@dataclass(frozen=True)
class Missing:
    """What could not be measured, and why."""

    library: str
    environment: str
    reason: str


@dataclass(frozen=True)
class Report:
    """Everything that the page tells."""

    machine: Mapping[str, Any]
    date: str
    rounds: int
    seconds: float
    core: int | None
    versions: Mapping[str, str]
    rows: tuple[Row, ...]
    missing: tuple[Missing, ...]

    def to_json(self) -> str:
        return json.dumps(asdict(self), indent=1) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Report:
        fields = json.loads(text)
        rows = tuple(Row(**{**row, "speeds": tuple(row["speeds"])}) for row in fields.pop("rows"))
        return cls(**{**fields, "rows": rows, "missing": tuple(Missing(**m) for m in fields["missing"])})


# --------------------------------------------------------------------------------- gathering


def cpu_model() -> str:
    """The processor's name as the system gives it."""
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.exists():
        for line in cpuinfo.read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    if sys.platform == "darwin":
        asked = ["sysctl", "-n", "machdep.cpu.brand_string"]
        return subprocess.run(asked, capture_output=True, text=True, check=True).stdout.strip()
    return platform.processor() or platform.machine()


def describe_machine() -> dict[str, Any]:
    return {
        "cpu": cpu_model(),
        "cores": os.cpu_count(),
        "system": f"{platform.system()} {platform.machine()}",
        "python": platform.python_version(),
    }


def describe_versions(peers: Sequence[Peer], outcomes: Mapping[str, Outcome]) -> dict[str, str]:
    """Ours and what it rests on, and all peers that could be installed."""
    from fivesthrees_env import __version__

    theirs = {peer.name: found for peer in peers if (found := outcomes[peer.name].version)}
    below = {name: version(name.lower()) for name in ("Numba", "NumPy", "PettingZoo", "Gymnasium")}
    return {OURS: f"{__version__} ({', '.join(f'{n} {v}' for n, v in below.items())})"} | theirs


def ratios(contenders: Sequence[Contender], results: Sequence[Measured]) -> list[float | None]:
    """How many times as fast as each peer the yardstick of its kind is; None for ours, or without one."""
    pairs = list(zip(contenders, results, strict=True))
    marks = {c.kind: r.median for c, r in pairs if c.yardstick and r.speeds and not r.failure}
    return [
        marks[c.kind] / r.median if c.library != OURS and r.speeds and c.kind in marks else None
        for c, r in pairs
    ]


def rows_of(contenders: Sequence[Contender], results: Sequence[Measured]) -> Iterator[Row]:
    """All that were measured in every round; ours first and the others by their speed in each kind."""
    rows = [
        Row(
            *(c.kind, c.library, c.environment, c.interface, c.step, c.yardstick),
            *(tuple(r.speeds), r.median, r.observation_bytes, r.mask_bytes, ratio),
        )
        for c, r, ratio in zip(contenders, results, ratios(contenders, results), strict=True)
        if r.speeds and not r.failure
    ]
    for kind in dict.fromkeys(row.kind for row in rows):
        alike = [row for row in rows if row.kind == kind]
        yield from (row for row in alike if row.ours)
        yield from sorted((row for row in alike if not row.ours), key=lambda row: -row.steps_per_second)


def missing_of(
    outcomes: Mapping[str, Outcome], contenders: Sequence[Contender], results: Sequence[Measured]
) -> Iterator[Missing]:
    """Peers that could not be installed, and contenders that failed."""
    for name, outcome in outcomes.items():
        if outcome.reason:
            yield Missing(name, "all", f"not installed: {outcome.reason}")
    for contender, result in zip(contenders, results, strict=True):
        if result.failure:
            yield Missing(contender.library, contender.environment, result.failure)


# ------------------------------------------------------------------------------------ telling


def three_digits(value: float, unit: str = "") -> str:
    """A number as people write it, to three digits: 812, 27,400, 9.51 M, 121 kB."""
    prefixes = ((1e9, "G"), (1e6, "M"), *([(1e3, "k")] if unit else []))
    size, prefix = next((pair for pair in prefixes if value >= pair[0]), (1.0, ""))
    rounded = float(f"{value / size:.3g}")
    return f"{rounded:,.10g} {prefix}{unit}".rstrip()


def label(row: Row) -> str:
    """A row's name in few words."""
    return f"{row.environment}, {row.interface if row.ours else row.library}".replace("`", "")


def speed(row: Row) -> str:
    low, high = min(row.speeds), max(row.speeds)
    return f"{three_digits(row.steps_per_second)} ({three_digits(low)} to {three_digits(high)})"


def against(row: Row) -> str:
    """The last column: what ours is measured by, or how many times as fast it is."""
    if row.ratio is None:
        return "yardstick" if row.yardstick else ""
    return f"{three_digits(row.ratio)}×"


def figures(row: Row) -> tuple[str, ...]:
    """The columns of numbers: steps/s, bytes a step, bytes/s, ratio."""
    rate = three_digits(row.bytes_per_step * row.steps_per_second, "B")
    return speed(row), f"{row.observation_bytes:,} + {row.mask_bytes:,}", rate, against(row)


def terminal_table(report: Report) -> Table:
    """The figures without the words of the page; fits 80 columns."""
    table = Table(
        title=f"One core of {report.machine['cpu']}, {report.date}", title_justify="left", box=SIMPLE
    )
    table.add_column()
    for column in ("steps/s", "spread", "bytes/s", "ours is"):
        table.add_column(column, justify="right", no_wrap=True)
    for kind, rows in by_kind(report.rows).items():
        table.add_section()
        table.add_row(f"[bold]{kind}")
        for row in rows:
            spread = (max(row.speeds) - min(row.speeds)) / row.steps_per_second
            _, _, rate, ratio = figures(row)
            style = "green" if row.ours else None
            table.add_row(
                label(row), three_digits(row.steps_per_second), f"{spread:.0%}", rate, ratio, style=style
            )
    return table


def by_kind(rows: Sequence[Row]) -> dict[str, list[Row]]:
    return {kind: [row for row in rows if row.kind == kind] for kind in dict.fromkeys(r.kind for r in rows)}


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[int] = ()) -> str:
    """A table of Markdown; ``right`` are the columns of numbers."""
    rule = ["---:" if column in right else "---" for column in range(len(header))]
    cells = [[cell.replace("|", "\\|") for cell in row] for row in (header, rule, *rows)]
    return "\n".join(f"| {' | '.join(row)} |" for row in cells)


def kind_section(kind: str, rows: Sequence[Row]) -> str:
    header = (
        "environment",
        "library",
        "interface",
        "a step is",
        "steps/s",
        "bytes a step",
        "bytes/s",
        "ours is",
    )
    lines = []
    for row in rows:
        names = (f"**{row.environment}**", f"**{OURS}**") if row.ours else (row.environment, row.library)
        lines.append((*names, row.interface, row.step, *figures(row)))
    return f"## {kind}\n\n{markdown_table(header, lines, range(4, 8))}\n"


METHOD = """\
Written by `python -m benchmarks.compare`; all figures are in [benchmarks.json](benchmarks.json).

On one core of {cpu} ({cores} cores), {system}, Python {python}, {date}.

- **Play** is random and legal, except where there is no mask and the actions were drawn beforehand. Every
  step produces the observation and the mask as each library's own interface gives them. Games differ: longer
  rules and larger observations cost more, which the bytes tell only in part.
- **steps/s**: the median of the rounds ({rounds}), with the lowest and the highest. In a round all take turns
  on the same core. Each measurement is a fresh process that plays for {seconds:g} s after a warm-up that
  compiles and does not count. Resets count as time and not as steps.
- **bytes a step**: observation + mask that a step writes, for all players that are shown something. A mask
  that is a list of Python numbers counts a byte each, legal actions as ids count nothing.
- **ours is**: how many times as fast as this the yardstick of the same section is.
"""


def page(report: Report) -> str:
    """The page of the documentation."""
    facts = {**report.machine, "rounds": report.rounds, "seconds": report.seconds, "date": report.date}
    parts = ["# Speed beside other libraries\n", METHOD.format(**facts)]
    if report.core is None:
        parts.append(
            "This system cannot keep a process on one core; one thread was asked of every library.\n"
        )
    parts.append(f"![Steps per second of all that was measured, on a logarithmic scale]({CHART})\n")
    parts += [kind_section(kind, rows) for kind, rows in by_kind(report.rows).items()]
    if report.missing:
        lines = [(item.library, item.environment, item.reason) for item in report.missing]
        parts.append(
            "## Not measured\n\n" + markdown_table(("library", "environment", "reason"), lines) + "\n"
        )
    parts.append("## Versions\n\n" + markdown_table(("library", "version"), report.versions.items()) + "\n")
    return "\n".join(parts)


def chart(report: Report, path: Path) -> None:
    """Bars of steps per second on a logarithmic scale, a panel a kind, ours in another colour."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot as plt

    kinds = by_kind(report.rows)
    heights = [len(rows) + 1 for rows in kinds.values()]
    with plt.rc_context({"svg.hashsalt": "fivesthrees", "font.size": 9}):
        figure, panels = plt.subplots(
            len(kinds),
            sharex=True,
            squeeze=False,
            figsize=(8.5, 0.24 * sum(heights) + 0.6),
            height_ratios=heights,
            layout="constrained",
        )
        for panel, (kind, rows) in zip(panels[:, 0], kinds.items(), strict=True):
            _bars(panel, kind, rows)
        speeds = [row.steps_per_second for row in report.rows]
        panels[-1, 0].set_xscale("log")
        panels[-1, 0].set_xlim(min(speeds) / 2, max(speeds) * 6)  # leaves room for the longest bar's number
        panels[-1, 0].set_xlabel("steps per second, one core (logarithmic)")
        path.parent.mkdir(parents=True, exist_ok=True)
        figure.savefig(path, metadata={"Date": None})
        plt.close(figure)


def _bars(panel: Any, kind: str, rows: Sequence[Row]) -> None:
    rows = sorted(rows, key=lambda row: row.steps_per_second)
    names, speeds = [label(row) for row in rows], [row.steps_per_second for row in rows]
    bars = panel.barh(
        names, speeds, color=[OUR_COLOUR if row.ours else THEIR_COLOUR for row in rows], height=0.72
    )
    panel.bar_label(bars, [three_digits(value) for value in speeds], padding=3, fontsize=8)
    panel.margins(y=0.02)
    panel.set_title(kind, loc="left", fontsize=9, fontweight="bold")
    panel.spines[["top", "right"]].set_visible(False)
    panel.tick_params(axis="y", length=0)


def write(report: Report, docs: Path) -> list[Path]:
    """Write page, data and chart under the folder; returns what was written."""
    paths = [docs / name for name in (PAGE, DATA, CHART)]
    docs.mkdir(parents=True, exist_ok=True)
    paths[0].write_text(page(report), encoding="utf-8")
    paths[1].write_text(report.to_json(), encoding="utf-8")
    chart(report, paths[2])
    return paths
