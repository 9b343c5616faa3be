"""Rounds of measurements, each in a process of its own, all on one core."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.compare.environment import clean_variables, last_error, python_of
from benchmarks.compare.peers import OURS, PLAY, Contender

ROOT = Path(__file__).parents[2]
TIMEOUT_S = 900.0  # the first time compiles
FIELDS = {"steps", "seconds", "observation_bytes", "mask_bytes"}


class MeasurementError(Exception):
    """A script failed, or said something else than it should."""


@dataclass
class Measured:
    """What the rounds of a contender gave."""

    speeds: list[float] = field(default_factory=list)
    """Steps per second, one a round."""
    observation_bytes: int = 0
    mask_bytes: int = 0
    failure: str | None = None
    """Why there are no more rounds."""

    @property
    def median(self) -> float:
        return statistics.median(self.speeds)


def pin(core: int | None) -> int | None:
    """Keep this process and all that it starts on one core, the last it may use unless another is named.

    Returns:
        The core, or None where the system has no such call (macOS).

    Raises:
        ValueError: for a core that may not be used.
    """
    if not hasattr(os, "sched_setaffinity"):
        return None
    usable = sorted(os.sched_getaffinity(0))
    core = usable[-1] if core is None else core
    if core not in usable:
        raise ValueError(f"core: {core} given; allowed: {', '.join(map(str, usable))}")
    os.sched_setaffinity(0, {core})
    return core


def variables(contender: Contender, folder: Path) -> dict[str, str]:
    """One thread everywhere, also where a process cannot be kept on one core; compiled code is kept."""
    threads = ("OMP", "OPENBLAS", "MKL", "NUMBA", "VECLIB_MAXIMUM")
    made = clean_variables() | {f"{name}_NUM_THREADS": "1" for name in threads}
    if contender.library == OURS:
        return made | {"PYTHONPATH": str(ROOT)}
    return made | {
        "JAX_PLATFORMS": "cpu",
        "JAX_COMPILATION_CACHE_DIR": str(folder / "compiled"),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
        "XLA_FLAGS": "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1",
    }


def command(contender: Contender, folder: Path, seconds: float) -> list[str]:
    python = sys.executable if contender.library == OURS else str(python_of(folder).absolute())
    return [python, str(PLAY / contender.script), contender.game, str(seconds)]


def parse(output: str) -> dict[str, Any]:
    """The measurement that a script printed in its last line.

    Raises:
        MeasurementError: if that line is something else.
    """
    lines = output.strip().splitlines() or [""]
    try:
        result = json.loads(lines[-1])
    except ValueError:
        raise MeasurementError(f"no measurement: {lines[-1][:100]!r}") from None
    if not isinstance(result, dict) or set(result) != FIELDS or not (result["steps"] and result["seconds"]):
        raise MeasurementError(f"no measurement: {lines[-1][:100]!r}")
    return result


def measure_once(contender: Contender, folder: Path, seconds: float) -> dict[str, Any]:
    """Run the contender's script.

    Raises:
        MeasurementError: if it fails or takes too long.
    """
    try:
        done = subprocess.run(
            command(contender, folder, seconds),
            env=variables(contender, folder),
            cwd=folder,  # some libraries leave files where they run
            capture_output=True,
            text=True,
            timeout=TIMEOUT_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise MeasurementError(f"not done after {TIMEOUT_S:.0f} s") from None
    if done.returncode:
        raise MeasurementError(last_error(done.stderr or done.stdout))
    return parse(done.stdout)


def measure_all(
    contenders: Sequence[Contender],
    rounds: int,
    once: Callable[[Contender], dict[str, Any]],
    tell: Callable[[int, Contender], None],
) -> list[Measured]:
    """Measure all in turn, round by round, so that the machine's moods hit all alike.

    A contender that fails once is left out from then on.
    """
    results = [Measured() for _ in contenders]
    for number in range(rounds):
        for contender, result in zip(contenders, results, strict=True):
            tell(number, contender)
            if result.failure:
                continue
            try:
                got = once(contender)
            except MeasurementError as error:
                result.failure = str(error)
                continue
            result.speeds.append(got["steps"] / got["seconds"])
            result.observation_bytes, result.mask_bytes = got["observation_bytes"], got["mask_bytes"]
    return results
