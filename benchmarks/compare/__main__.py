"""Compare our environments with those of other libraries on one core, and write ``docs/benchmarks.md``.

    python -m benchmarks.compare

The first run makes a virtual environment for the peers (some 2 GB, from the package index alone); it is kept
until the list of peers changes. What cannot be installed is listed. Leave the machine alone meanwhile.
"""

from __future__ import annotations

import datetime
from dataclasses import dataclass, field
from pathlib import Path

import tyro
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from benchmarks.compare import environment, measure, report
from benchmarks.compare.peers import CONTENDERS, OURS, PEERS, Contender


@dataclass
class Args:
    """Arguments of the comparison."""

    peers: list[str] = field(default_factory=lambda: [peer.name for peer in PEERS])
    """Libraries to measure beside ours."""
    rounds: int = 5
    """Times that all are measured in turn; the median counts."""
    seconds: float = 0.5
    """Time of one measurement, besides starting and warming up."""
    core: int | None = None
    """Core to run on; default: the last one that this process may use."""
    folder: Path = Path("build/peers")
    """Virtual environment of the peers."""
    fresh: bool = False
    """Make that environment anew."""
    docs: Path = Path("docs")
    """Folder of the page, the chart and the JSON file."""
    redraw: bool = False
    """Measure nothing: write page and chart again from the JSON file."""


def chosen(peers: list[str]) -> list[Contender]:
    """Ours, and the contenders of these peers.

    Raises:
        ValueError: for an unknown name.
    """
    names = [peer.name for peer in PEERS]
    for name in peers:
        if name not in names:
            raise ValueError(f"peers: {name!r} given; allowed: {', '.join(names)}")
    return [contender for contender in CONTENDERS if contender.library in (OURS, *peers)]


def compare(args: Args, console: Console) -> report.Report:
    """Install, measure, and put together what came out."""
    contenders = chosen(args.peers)
    if args.rounds < 1 or args.seconds <= 0:
        raise ValueError(f"rounds, seconds: {args.rounds}, {args.seconds} given; allowed: 1 or more, above 0")
    outcomes = environment.prepare(args.folder, PEERS, args.fresh, tell=console.print)
    outcomes = {name: outcome for name, outcome in outcomes.items() if name in args.peers}
    contenders = [c for c in contenders if c.library == OURS or outcomes[c.library].version]
    core = measure.pin(args.core)
    columns = TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()
    # Without a thread that redraws: it would run on the core that is measured.
    with Progress(*columns, console=console, auto_refresh=False) as progress:
        task = progress.add_task("measuring", total=args.rounds * len(contenders))

        def tell(number: int, contender: Contender) -> None:
            text = f"round {number + 1} of {args.rounds}: {contender.library}, {contender.environment}"
            progress.update(task, description=text.ljust(60), refresh=True)

        def once(contender: Contender) -> dict:
            try:
                return measure.measure_once(contender, args.folder, args.seconds)
            finally:
                progress.advance(task)

        results = measure.measure_all(contenders, args.rounds, once, tell)
    return report.Report(
        machine=report.describe_machine(),
        date=datetime.datetime.now(datetime.UTC).date().isoformat(),
        rounds=args.rounds,
        seconds=args.seconds,
        core=core,
        versions=report.describe_versions(PEERS, outcomes),
        rows=tuple(report.rows_of(contenders, results)),
        missing=tuple(report.missing_of(outcomes, contenders, results)),
    )


def main(args: Args) -> None:
    console = Console()
    if args.redraw:
        made = report.Report.from_json((args.docs / report.DATA).read_text(encoding="utf-8"))
    else:
        made = compare(args, console)
    console.print(report.terminal_table(made))
    for item in made.missing:
        console.print(f"not measured: {item.library}, {item.environment}: {item.reason}", markup=False)
    for path in report.write(made, args.docs):
        console.print(f"wrote {path}", highlight=False)


if __name__ == "__main__":
    main(tyro.cli(Args, description=__doc__))
