"""The benchmarks of engine, training and scale: that they measure what they say, and tell all of it."""

from __future__ import annotations

import importlib
import io
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from rich.console import Console

from benchmarks import scale, search
from benchmarks.agents import decision_views
from benchmarks.clock import timed
from benchmarks.engine import RandomPlay, ones_of, write_ones, write_zeros, yardsticks
from benchmarks.scale import Learning, Report, Speed
from benchmarks.train import Iteration
from fivesthrees_env.batch import MatchBatch
from train.ppo import Args as Training
from train.ppo import minibatches, samples_of

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(autouse=True)
def torch_threads() -> Iterator[None]:
    """Whatever a benchmark does to PyTorch's number of threads."""
    before = torch.get_num_threads()
    yield
    torch.set_num_threads(before)


# -------------------------------------------------------------------------------------- clock


def test_parts_take_turns_and_the_first_round_does_not_count() -> None:
    now, calls = [0.0], []

    def part(name: str, seconds: list[float]) -> None:
        now[0] += seconds[calls.count(name)]
        calls.append(name)

    one, two = [100.0, 1.0, 2.0, 9.0], [100.0, 5.0, 5.0, 6.0]
    medians = timed(3, lambda: part("one", one), lambda: part("two", two), clock=lambda: now[0])
    assert medians == [2.0, 5.0]
    assert calls == ["one", "two"] * 4


# ------------------------------------------------------------------------------------- engine


@pytest.mark.parametrize("preset", ["fives_and_threes-4p", "all_fives-2p"])
def test_the_yardsticks_write_the_rows_of_a_batch(preset: str) -> None:
    loop = RandomPlay(preset, 50, steps=30)
    loop.play()
    batch = loop.batch
    wanted = batch.observations.copy(), batch.action_masks.copy()
    rows = np.full_like(wanted[0], 9), np.full_like(wanted[1], 9)
    write_ones(*rows, *map(ones_of, wanted))
    assert all((a == b).all() for a, b in zip(rows, wanted, strict=True))
    write_zeros(*rows)
    assert not any(array.any() for array in rows)
    for yardstick in yardsticks(batch, steps=2):
        yardstick()
    assert (batch.observations == wanted[0]).all()  # they have rows of their own


def test_choices_alone_leave_the_matches_where_they_are() -> None:
    loop = RandomPlay("mini-3", 20, steps=5, num_threads=2)
    assert (loop.plies, loop.batch.num_threads) == (100, 2)
    before = loop.batch.observations.copy()
    loop.choose()
    assert (loop.batch.observations == before).all()
    loop.play()
    assert (loop.batch.observations != before).any()


# ----------------------------------------------------------------------------------- training


@pytest.mark.parametrize("minibatch", [100, 10_000])
def test_the_roofline_is_the_network_on_the_rows_of_the_rollout(minibatch: int) -> None:
    """As int8, one forward pass for every decision, and a backward pass for every minibatch of an update."""
    args = Training(rules="mini-3", num_matches=20, steps=24, width=8, minibatch=minibatch, threads=1)
    iteration = Iteration(args)
    network, seen = iteration.trainer.network, []
    network.register_forward_hook(lambda _, inputs, __: seen.append(inputs[0].clone()))
    rows = torch.from_numpy(iteration.rollout.observations[:24]).flatten(0, 1)

    iteration.forward()
    assert torch.equal(torch.cat(seen), rows)
    assert {bits.dtype for bits in seen} == {torch.int8}

    seen.clear()
    iteration.backward()
    usable = samples_of(iteration.rollout, args)[1]
    batches = list(minibatches(usable, args, np.random.default_rng(0)))
    assert len(seen) == len(batches)
    assert torch.equal(seen[0], rows[: min(minibatch, len(rows))])
    assert {bits.dtype for bits in seen} == {torch.int8}
    assert all(parameter.grad is None for parameter in network.parameters())

    count = len(seen)
    seen.clear()
    iteration.dense()
    assert {bits.dtype for bits in seen} == {torch.float32}
    assert len(seen) == 24 + count


# -------------------------------------------------------------------------------------- scale


@pytest.fixture
def made() -> Report:
    """Three sizes on one, two and four threads; two widths."""
    speeds = tuple(Speed(n, t, 1e5 * n**0.5 * t**0.9) for n in (1, 1024, 65_536) for t in (1, 2, 4))
    learning = (Learning(64, 150_000.0, 200_000.0), Learning(1024, 9_000.0, 10_000.0, "bfloat16"))
    machine = {"cpu": "Zilog Z80", "cores": 4, "system": "CP/M", "python": "3.11"}
    memory = {"match": 2464, "observation": 366}
    return Report(machine, "2026-01-02", "fives_and_threes-4p", memory, speeds, learning)


def test_the_page_tells_all_that_was_measured(made: Report) -> None:
    lines = scale.page(made).splitlines()
    assert "| matches | 1 thread | 2 threads | 1 → 2 | 4 threads | 1 → 4 |" in lines
    assert "| 1,024 | 3.2 M | 5.97 M | 1.87× | 11.1 M | 3.48× |" in lines
    assert "| 64 × 2 | 150,000 | 200,000 | 75% | float32 |" in lines
    assert "| 1,024 × 2 | 9,000 | 10,000 | 90% | bfloat16 |" in lines
    assert "| together | 2,830 |" in lines
    assert any(line.startswith("65,536 matches take 185 MB.") for line in lines)
    assert any(line.startswith("On Zilog Z80 (4 cores), CP/M, Python 3.11, 2026-01-02.") for line in lines)


def test_a_report_on_one_thread_needs_no_more_columns(made: Report) -> None:
    alone = replace(made, speeds=tuple(speed for speed in made.speeds if speed.num_threads == 1))
    assert "| matches | 1 thread |" in scale.page(alone).splitlines()


def test_a_report_survives_its_json(made: Report) -> None:
    assert Report.from_json(made.to_json()) == made


def test_page_data_and_picture_are_written_alike_each_time(made: Report, tmp_path: Path) -> None:
    first = [path.read_bytes() for path in scale.write(made, tmp_path / "a")]
    second = [path.read_bytes() for path in scale.write(made, tmp_path / "b")]
    assert first == second
    assert all(first)


def test_the_page_of_the_documentation_is_written_from_its_data() -> None:
    docs = ROOT / "docs"
    report = Report.from_json((docs / scale.DATA).read_text(encoding="utf-8"))
    assert (docs / scale.PAGE).read_text(encoding="utf-8") == scale.page(report)


@pytest.mark.parametrize(
    ("most", "counts"),
    [(1, [1]), (2, [1, 2]), (3, [1, 2, 3]), (8, [1, 2, 4, 8]), (12, [1, 2, 4, 8, 12])],
)
def test_threads_double_up_to_all_cores(most: int, counts: list[int]) -> None:
    assert scale.thread_counts(most) == counts


@pytest.mark.parametrize("rules", ["fives_and_threes-4p", "all_fives-2p"])
def test_memory_is_that_of_all_arrays_of_a_batch(rules: str) -> None:
    batch = MatchBatch(100, rules, seed=0)
    arrays = [value for value in vars(batch).values() if isinstance(value, np.ndarray) and len(value) == 100]
    assert 100 * sum(scale.memory_of(rules).values()) == sum(array.nbytes for array in arrays)


def test_a_measurement_covers_all_sizes_threads_and_widths() -> None:
    args = scale.Args(rules="mini-3", sizes=[1, 300], threads=2, widths=[4, 8], seconds=1e-3, repeats=1)
    report = scale.measure(replace(args, train_steps=16, train_repeats=1), Console(file=io.StringIO()))
    assert (report.sizes, report.threads) == ([1, 300], [1, 2])
    assert len(report.speeds) == 4
    assert all(speed.steps_per_second > 0 for speed in report.speeds)
    assert [row.width for row in report.learning] == [4, 8]
    assert all(row.decisions_per_second > 0 and row.roofline > 0 for row in report.learning)
    assert scale.page(report)


# ------------------------------------------------------------------------------------- commands


@pytest.mark.parametrize("name", sorted(path.stem for path in (ROOT / "benchmarks").glob("[a-z]*.py")))
def test_every_benchmark_can_be_started(name: str) -> None:
    """What another benchmark provides has not been renamed under it."""
    importlib.import_module(f"benchmarks.{name}")


def test_beliefs_and_searching_agents_are_measured() -> None:
    args = search.Args(deals=5, repeats=1)
    figures = search.measure(decision_views("mini-3", 2), args)
    assert len(figures) == 4
    assert all(float(figure.replace(",", "")) >= 0 for figure in figures)
