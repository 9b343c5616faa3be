"""What a run shows and keeps while it trains: a progress line, TensorBoard, a file of metrics."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType, TracebackType

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn
from torch.utils.tensorboard import SummaryWriter

__all__ = ["METRICS_FILE", "Monitor", "StopRequest", "every"]

METRICS_FILE = "metrics.jsonl"


def every(seconds: float) -> Callable[[], bool]:
    """A function that is True once in that many seconds, counted from now."""
    last = time.monotonic()

    def due() -> bool:
        nonlocal last
        if time.monotonic() - last < seconds:
            return False
        last = time.monotonic()
        return True

    return due


class Monitor:
    """Shows metrics as they come, on a terminal as one live line, elsewhere a line every ten seconds.

    Args:
        folder: of the run; it gets ``metrics.jsonl`` and ``tensorboard/``.
        decisions: where the run begins or goes on; metrics of a lost part beyond that are dropped.
    """

    def __init__(self, folder: Path, decisions: int = 0) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        _keep_rows(folder / METRICS_FILE, decisions)
        self._file = (folder / METRICS_FILE).open("a", encoding="utf-8")
        self._board = SummaryWriter(str(folder / "tensorboard"), purge_step=decisions + 1)
        self._console = Console()
        self._line_due = every(10.0)
        self._started = time.monotonic()
        self._start_progress: float | None = None
        self._bar = Progress(
            TextColumn("training"),
            BarColumn(bar_width=24),
            TaskProgressColumn(),
            TextColumn("{task.fields[text]}"),
            console=self._console,
            disable=not self._console.is_terminal,
        )
        self._task = self._bar.add_task("", total=1.0, text="starting …")

    def __enter__(self) -> Monitor:
        self._bar.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._bar.stop()
        self._file.close()
        self._board.close()

    def note(self, metrics: dict[str, float]) -> None:
        """Keep metrics, with the number of decisions that they belong to."""
        self._file.write(json.dumps(metrics) + "\n")
        self._file.flush()
        for name, value in metrics.items():
            if name != "decisions":
                self._board.add_scalar(name.replace(" ", "_"), value, int(metrics["decisions"]))

    def show(self, metrics: dict[str, float], progress: float) -> None:
        """Keep the metrics of one iteration and show them; `progress` runs from 0 to 1."""
        self.note(metrics)
        text = (
            f"{metrics['decisions/s']:,.0f} decisions/s  score rate {metrics['score rate']:.3f}  "
            f"entropy {metrics['entropy']:.3f}  {self._time_left(progress)} left"
        )
        self._bar.update(self._task, completed=progress, text=text)
        if not self._console.is_terminal and (self._line_due() or progress >= 1):
            self._console.print(f"training {progress:4.0%}  {text}", highlight=False)

    def _time_left(self, progress: float) -> str:
        """Minutes and seconds, from the pace since this monitor's first metrics."""
        if self._start_progress is None:
            self._start_progress, self._started = progress, time.monotonic()
        done = progress - self._start_progress
        if done <= 0:
            return "-:--"
        seconds = (time.monotonic() - self._started) / done * (1 - progress)
        return f"{seconds // 60:.0f}:{seconds % 60:02.0f}"


def _keep_rows(path: Path, decisions: int) -> None:
    """Drop the rows of a metrics file that lie beyond so many decisions."""
    if not path.exists():
        return
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = [line for line in lines if line.endswith("\n") and json.loads(line)["decisions"] <= decisions]
    if len(kept) < len(lines):
        draft = path.with_suffix(".draft")
        draft.write_text("".join(kept), encoding="utf-8")
        draft.replace(path)


class StopRequest:
    """Turns the first Ctrl-C (or SIGTERM) into a wish to stop soon; a second one stops at once.

    True once the wish was made.
    """

    def __init__(self) -> None:
        self._asked = False
        self._before: dict[int, object] = {}

    def __bool__(self) -> bool:
        return self._asked

    def __enter__(self) -> StopRequest:
        for number in (signal.SIGINT, signal.SIGTERM):
            self._before[number] = signal.signal(number, self._ask)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)  # type: ignore[arg-type]

    def _ask(self, number: int, frame: FrameType | None) -> None:
        if self._asked:
            raise KeyboardInterrupt
        self._asked = True
