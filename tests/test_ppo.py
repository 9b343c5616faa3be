"""Training: what a run leaves, reproducibility, stopping and going on, and that it learns."""

from __future__ import annotations

import json
import os
import re
import runpy
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

import agents
from agents import checkpoints
from agents.checkpoints import AGENT_FILE, CheckpointError
from agents.neural import NeuralAgent
from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.match import Match
from fivesthrees_env.opponents import RandomAgent
from fivesthrees_env.records import read_records
from train import ppo
from train import report as report_module
from train.evaluate import duplicate_rounds, whole_matches
from train.monitor import StopRequest
from train.ppo import (
    TRAINER_FILE,
    Args,
    ArgumentError,
    DivergenceError,
    Rollout,
    Trainer,
    check,
    collect,
    main,
    train,
)

ROOT = Path(ppo.__file__).resolve().parents[1]
ITERATION = 32 * 16


def tiny(run: Path, **changes: Any) -> Args:
    """A run of four iterations of 512 decisions, in a fraction of a second."""
    args = Args(rules="mini-3", run=run, decisions=4 * ITERATION, threads=1, report=False)
    small = replace(args, width=16, depth=1, num_matches=32, steps=16, minibatch=128)
    return replace(small, **{"epochs": 2, "learning_rate": 2e-3, **changes})


def metrics_of(run: Path) -> list[dict[str, float]]:
    """The rows of ``metrics.jsonl``, but for the first: the curve's point before any training."""
    first, *rows = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert set(first) == {"decisions", "margin vs greedy"}
    assert first["decisions"] == 0
    return rows


def weights_of(run: Path) -> dict[str, bytes]:
    """The agent's tensors, bit by bit."""
    tensors, _ = checkpoints.read(run)
    return {name: tensor.numpy().tobytes() for name, tensor in tensors.items()}


def plays(run: Path) -> bool:
    """Whether the agent of a run loads, and wins or loses a match by the rules."""
    agent = agents.load(run)
    assert isinstance(agent, NeuralAgent)
    match, rng = Match(agent.rules, seed=0), np.random.default_rng(0)
    while not match.over:
        match.play(agent.act(match.view(match.seat), rng)[0])
    return match.winner is not None


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """``python -m train.ppo``, in this process."""
    monkeypatch.setattr("sys.argv", ["train.ppo", *arguments])
    runpy.run_path(ppo.__file__, run_name="__main__")


def options(args: Args) -> list[str]:
    """The command line of some arguments."""
    words = []
    for field in fields(Args):
        value, name = getattr(args, field.name), field.name.replace("_", "-")
        if value != field.default:
            is_flag = isinstance(value, bool)
            words += [f"--{name}" if value else f"--no-{name}"] if is_flag else [f"--{name}", str(value)]
    return words


# -------------------------------------------------------------------------------- what a run leaves


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A finished run with a small report: its folder, and what it printed."""
    run = tmp_path_factory.mktemp("runs") / "finished"
    arguments = options(tiny(run, report=True, deals=10, matches=10))
    done = subprocess.run(
        [sys.executable, "-m", "train.ppo", *arguments],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "COLUMNS": "120"},
    )
    assert done.returncode == 0, done.stderr
    return run, done.stdout


def test_a_run_leaves_agent_trainer_metrics_curves_replay_and_results(
    finished: tuple[Path, str],
) -> None:
    run, _ = finished
    assert {path.name for path in run.iterdir()} == {
        *("agent.safetensors", "trainer.safetensors", "metrics.jsonl", "tensorboard"),
        *("learning_curve.png", "replay.txt", "replay.jsonl", "results.json"),
    }
    assert plays(run)
    assert [row["decisions"] for row in metrics_of(run)] == [ITERATION * k for k in (1, 2, 3, 4)]
    assert (run / "learning_curve.png").read_bytes().startswith(b"\x89PNG\r\n")


def test_the_replay_is_a_match_that_replays(finished: tuple[Path, str]) -> None:
    run, _ = finished
    (match,) = read_records(run / "replay.jsonl")
    assert match.over
    text = (run / "replay.txt").read_text()
    assert text.startswith("side 0: finished\nside 1: greedy\n")
    assert str(match) in text
    assert text.count("to move") == len(match.events)


def test_the_results_are_those_of_the_printed_table(finished: tuple[Path, str]) -> None:
    run, printed = finished
    results = json.loads((run / "results.json").read_text())
    assert [(row["first"], row["second"]) for row in results] == [
        ("finished", "random"),
        ("finished", "greedy"),
    ]
    for row in results:
        assert row["rounds"]["clusters"] == row["matches"]["games"] == 10
        half = (row["rounds"]["high"] - row["rounds"]["low"]) / 2
        assert f"{row['rounds']['mean']:+.2f} ± {half:.2f}" in printed
        assert f"{row['matches']['mean']:.1%} ({100 * row['matches']['low']:.1f}–" in printed


def test_a_run_says_where_everything_is_and_how_to_go_on(finished: tuple[Path, str]) -> None:
    run, printed = finished
    named = {Path(path) for path in re.findall(rf"{re.escape(str(run))}/\S+", printed)}
    assert named >= {path for path in run.iterdir() if path.name not in (TRAINER_FILE, "results.json")}
    assert all(path.exists() for path in named)
    assert f"python -m train.ppo --resume --run {run} --decisions {12 * ITERATION}" in printed
    assert f"python -m train.evaluate {run} greedy" in printed
    assert f"-m tensorboard.main --logdir {run / 'tensorboard'}" in printed


def test_progress_shows_speed_score_rate_entropy_and_time_left(finished: tuple[Path, str]) -> None:
    _, printed = finished
    line = r"training 100%  [\d,]+ decisions/s  score rate \d\.\d{3}  entropy \d\.\d{3}  0:00 left"
    assert re.search(line, printed)


def test_every_metric_is_documented_and_every_documented_one_is_logged(
    finished: tuple[Path, str],
) -> None:
    run, _ = finished
    rows = re.findall(r"^\| ([^|]+) \| ([^|]+) \|$", ppo.__doc__, flags=re.MULTILINE)
    documented = {name: meaning for name, meaning in rows if name != "metric"}
    logged = {name for row in metrics_of(run) for name in row}
    assert logged == set(documented)
    board = EventAccumulator(str(run / "tensorboard")).Reload()
    names = {name.replace(" ", "_") for name in documented if name != "decisions"}
    assert set(board.Tags()["scalars"]) == names
    speed = [event.step for event in board.Scalars("decisions/s")]
    assert speed == [row["decisions"] for row in metrics_of(run)]


def test_metrics_are_numbers_that_make_sense(finished: tuple[Path, str]) -> None:
    rows = metrics_of(finished[0])
    assert all(np.isfinite(value) for row in rows for value in row.values())
    assert [row["learning rate"] for row in rows] == pytest.approx([2e-3, 1.5e-3, 1e-3, 0.5e-3])
    for row in rows:
        assert 0 < row["entropy"] < np.log(6)
        assert 0 <= row["clip fraction"] <= 1
        assert row["explained variance"] <= 1
        assert row["match decisions"] > 2
        assert 0 < row["score rate"] < 11
    assert "margin vs greedy" in rows[-1]


def test_the_agent_tells_how_it_was_trained(finished: tuple[Path, str]) -> None:
    agent = agents.load(finished[0])
    assert agent.name == "finished"
    assert agent.about["training"]["args"]["width"] == 16
    assert agent.about["training"]["decisions"] == 4 * ITERATION


# ----------------------------------------------------------------------------------- reproducible


def test_the_same_seed_gives_the_same_weights_and_another_others(tmp_path: Path) -> None:
    for name, seed in [("first", 3), ("again", 3), ("other", 4)]:
        main(tiny(tmp_path / name, seed=seed))
    assert weights_of(tmp_path / "first") == weights_of(tmp_path / "again")
    assert weights_of(tmp_path / "first") != weights_of(tmp_path / "other")


@pytest.mark.parametrize("bfloat16", [False, True])
def test_the_number_of_threads_does_not_change_what_is_learned(tmp_path: Path, bfloat16: bool) -> None:
    """Three shares of a step's matches, two and a bit of a minibatch."""
    for threads in (1, 2, 3):
        args = tiny(tmp_path / str(threads), threads=threads, bfloat16=bfloat16, num_matches=600, steps=8)
        main(replace(args, minibatch=1100, decisions=2 * 4800))
    assert weights_of(tmp_path / "1") == weights_of(tmp_path / "2") == weights_of(tmp_path / "3")


def test_checkpoints_and_curve_points_do_not_change_what_is_learned(tmp_path: Path) -> None:
    main(tiny(tmp_path / "rarely", checkpoint_seconds=1e9))
    main(tiny(tmp_path / "always", checkpoint_seconds=0.0))
    assert all("margin vs greedy" in row for row in metrics_of(tmp_path / "always"))
    assert sum("margin vs greedy" in row for row in metrics_of(tmp_path / "rarely")) == 1
    assert weights_of(tmp_path / "rarely") == weights_of(tmp_path / "always")


@pytest.mark.parametrize("rules", ["mini-3", "fives_and_threes-4p"])
def test_a_seed_is_one_run_on_any_number_of_threads(rules: str, tmp_path: Path) -> None:
    """From the first weights on: the width is one at which PyTorch would share their decomposition."""
    runs = []
    for threads in (1, 2):
        run = tmp_path / str(threads)
        main(tiny(run, rules=rules, threads=threads, width=256, depth=2, decisions=2 * ITERATION))
        runs.append(weights_of(run))
    assert runs[0] == runs[1]


# -------------------------------------------------------------------------------- stop and resume


def stop_in_iteration(monkeypatch: pytest.MonkeyPatch, number: int, signum: int = signal.SIGINT) -> None:
    """Ctrl-C in the middle of the iteration of that number."""
    iterate, calls = Trainer.iterate, []

    def iterate_and_stop(self: Trainer, rollout: Rollout) -> dict[str, float]:
        calls.append(None)
        if len(calls) == number:
            signal.raise_signal(signum)
        return iterate(self, rollout)

    monkeypatch.setattr(Trainer, "iterate", iterate_and_stop)


@pytest.mark.parametrize("number", [1, 3])
def test_a_stopped_and_resumed_run_equals_an_uninterrupted_one_bit_by_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int
) -> None:
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    main(tiny(whole))
    with monkeypatch.context() as patch:
        stop_in_iteration(patch, number)
        with pytest.raises(SystemExit) as caught:
            main(tiny(parts))
    assert caught.value.code == 130
    assert len(metrics_of(parts)) == number
    assert weights_of(parts) != weights_of(whole)
    main(Args(run=parts, resume=True, report=False))
    assert weights_of(parts) == weights_of(whole)
    timing = ("seconds", "decisions/s", "margin vs greedy")
    for a, b in zip(metrics_of(whole), metrics_of(parts), strict=True):
        assert {k: v for k, v in a.items() if k not in timing} == {
            k: v for k, v in b.items() if k not in timing
        }
    state, again = (checkpoints.read(run / TRAINER_FILE) for run in (whole, parts))
    assert all(torch.equal(again[0][name], tensor) for name, tensor in state[0].items())
    assert state[1]["rng"] == again[1]["rng"]


def test_a_longer_budget_goes_on_where_the_run_ended(tmp_path: Path) -> None:
    main(tiny(tmp_path))
    main(tiny(tmp_path, resume=True, decisions=6 * ITERATION))
    decisions = [row["decisions"] for row in metrics_of(tmp_path)]
    assert decisions == [ITERATION * k for k in range(1, 7)]


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM])
def test_a_stop_says_what_there_is_and_gives_the_signals_back(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    signum: int,
) -> None:
    before = signal.getsignal(signum)
    stop_in_iteration(monkeypatch, 2, signum)
    with pytest.raises(SystemExit) as caught:
        main(tiny(tmp_path))
    assert caught.value.code == 130
    out = capsys.readouterr().out
    assert f"{tmp_path / AGENT_FILE} plays" in out
    assert f"-m train.ppo --resume --run {tmp_path}\n" in out
    assert signal.getsignal(signum) is before
    assert plays(tmp_path)


def test_ctrl_c_before_the_first_decision_leaves_a_run_that_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reset = MatchBatch.reset

    def reset_and_stop(self: MatchBatch, seed: int | None = None) -> None:
        signal.raise_signal(signal.SIGINT)
        reset(self, seed)

    main(tiny(tmp_path / "whole"))
    with monkeypatch.context() as patch:
        patch.setattr(MatchBatch, "reset", reset_and_stop)
        with pytest.raises(SystemExit) as caught:
            main(tiny(tmp_path / "parts"))
    assert caught.value.code == 130
    assert plays(tmp_path / "parts")
    main(Args(run=tmp_path / "parts", resume=True, report=False))
    assert weights_of(tmp_path / "parts") == weights_of(tmp_path / "whole")


def test_a_second_ctrl_c_stops_at_once_and_the_checkpoint_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop_twice(self: MatchBatch, actions: np.ndarray) -> None:
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)

    with monkeypatch.context() as patch:
        patch.setattr(MatchBatch, "step", stop_twice)
        with pytest.raises(SystemExit) as caught:
            command(patch, *options(tiny(tmp_path)))
    assert caught.value.code == 130
    assert "stopped at once" in capsys.readouterr().err
    assert plays(tmp_path)
    main(Args(run=tmp_path, resume=True, report=False))
    assert len(metrics_of(tmp_path)) == 4


def test_ctrl_c_while_measuring_keeps_the_run_and_resume_measures_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*arguments: Any) -> None:
        raise KeyboardInterrupt

    args = tiny(tmp_path, report=True, deals=2, matches=2)
    with monkeypatch.context() as patch:
        patch.setattr(report_module, "compare", stop)
        with pytest.raises(SystemExit) as caught:
            command(patch, *options(args))
    assert caught.value.code == 130
    assert plays(tmp_path)
    before = weights_of(tmp_path)
    main(replace(args, resume=True))
    assert f"{tmp_path} has had its 2,048 decisions" in capsys.readouterr().out
    assert (tmp_path / "results.json").exists()
    assert weights_of(tmp_path) == before


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[str]) -> None:
    """Until the condition holds; 120 s are for a machine that compiles everything first."""
    deadline = time.monotonic() + 120
    while not condition():
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.01)


@pytest.mark.parametrize("lines", [0, 3], ids=["in the first moment", "later"])
def test_ctrl_c_to_a_real_process_leaves_a_checkpoint_that_goes_on(tmp_path: Path, lines: int) -> None:
    args = tiny(tmp_path, decisions=None, minutes=30.0)
    process = subprocess.Popen(
        [sys.executable, "-m", "train.ppo", *options(args)],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def far_enough() -> bool:
        if lines:
            metrics = tmp_path / "metrics.jsonl"
            return metrics.exists() and metrics.read_text().count("\n") >= lines
        return (tmp_path / TRAINER_FILE).exists()

    try:
        wait_for(far_enough, process)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert f"-m train.ppo --resume --run {tmp_path}\n" in out
    assert plays(tmp_path)
    assert not [path for path in tmp_path.iterdir() if path.name.startswith(".")]
    done = checkpoints.read(tmp_path)[1]["training"]["decisions"]
    assert done >= max(lines - 1, 0) * ITERATION  # the first line is of no decisions
    main(tiny(tmp_path, resume=True, decisions=done + 2 * ITERATION))
    assert metrics_of(tmp_path)[-1]["decisions"] == done + 2 * ITERATION
    assert len(metrics_of(tmp_path)) == done // ITERATION + 2


def test_a_run_that_reached_its_budget_says_so_and_how_to_go_on(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    main(tiny(tmp_path))
    before = weights_of(tmp_path)
    capsys.readouterr()
    main(Args(run=tmp_path, resume=True, report=False))
    assert capsys.readouterr().out.splitlines() == [
        f"{tmp_path} has had its 2,048 decisions; a larger --minutes or --decisions goes on"
    ]
    assert weights_of(tmp_path) == before
    assert len(metrics_of(tmp_path)) == 4


def test_a_resumed_run_keeps_its_own_budget_unless_another_is_given(tmp_path: Path) -> None:
    Trainer(tiny(tmp_path, decisions=None, minutes=20.0)).save()
    again = Args(run=tmp_path, resume=True)
    assert Trainer.resume(again).args.minutes == 20.0
    assert Trainer.resume(replace(again, minutes=40.0)).args.minutes == 40.0
    assert Trainer.resume(replace(again, decisions=5)).args.decisions == 5
    Trainer(tiny(tmp_path, decisions=7)).save()
    assert Trainer.resume(again).args.decisions == 7
    assert Trainer.resume(replace(again, minutes=40.0)).args.decisions is None


# --------------------------------------------------------------------------------- what is refused


def refused(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    """The one line with which the command ends."""
    with pytest.raises(SystemExit) as caught:
        command(monkeypatch, *arguments)
    message = str(caught.value)
    assert message.startswith("train.ppo: ")
    assert "\n" not in message
    return message


def test_resume_without_a_run_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    nowhere = tmp_path / "nowhere"
    message = refused(monkeypatch, "--resume", "--run", str(nowhere))
    assert message == f"train.ppo: {nowhere / TRAINER_FILE}: no such checkpoint"
    assert not nowhere.exists()


def test_starting_over_an_existing_run_is_refused(
    finished: tuple[Path, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = finished[0]
    before = weights_of(run)
    message = refused(monkeypatch, *options(tiny(run)))
    assert (
        "holds a run already; go on with it by --resume, or start another by --seed 2 or --run FOLDER"
        in message
    )
    assert weights_of(run) == before


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 32}, "--width 32 given, but the run was started with 16"),
        ({"depth": 3}, "--depth 3 given, but the run was started with 1"),
        ({"seed": 9}, "--seed 9 given, but the run was started with 1"),
        ({"learning_rate": 0.5}, "--learning-rate 0.5 given, but the run was started with 0.002"),
        ({"rules": "mini-4"}, "--rules mini-4 given, but the run was started with mini-3"),
    ],
)
def test_resuming_with_another_training_is_refused(
    finished: tuple[Path, str],
    monkeypatch: pytest.MonkeyPatch,
    changes: dict[str, Any],
    message: str,
) -> None:
    args = Args(run=finished[0], resume=True, **changes)
    assert message in refused(monkeypatch, *options(args))


@pytest.mark.parametrize("given", ["--rules fives_and_threes-4p", "--seed 1", "--width 256", "--gamma 0.8"])
def test_resuming_with_another_training_is_refused_where_it_is_the_usual_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    Trainer(tiny(tmp_path, seed=2, gamma=0.7)).save()
    message = refused(monkeypatch, "--resume", "--run", str(tmp_path), *given.split())
    assert f"{given} given, but the run was started with " in message


def test_every_number_among_the_arguments_is_checked() -> None:
    for field in fields(Args):
        if field.type in ("float", "int", "float | None", "int | None"):
            with pytest.raises(
                ArgumentError, match=f"--{field.name.replace('_', '-')} -1.* given; allowed: "
            ):
                check(replace(Args(), **{field.name: -1}))
        if "float" in str(field.type):
            with pytest.raises(ArgumentError, match="nan given; allowed: "):
                check(replace(Args(), **{field.name: np.nan}))


def test_a_run_that_diverges_says_so_and_keeps_its_last_good_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    iterate, calls = Trainer.iterate, []

    def iterate_and_diverge(self: Trainer, rollout: Rollout) -> dict[str, float]:
        metrics = iterate(self, rollout)
        calls.append(None)
        if len(calls) == 3:
            with torch.no_grad():
                next(self.network.parameters()).view(-1)[0] = torch.nan
        return metrics

    monkeypatch.setattr(Trainer, "iterate", iterate_and_diverge)
    with pytest.raises(DivergenceError, match=rf"after {3 * ITERATION:,} decisions; .* keeps its last"):
        main(tiny(tmp_path, checkpoint_seconds=0.0))
    assert plays(tmp_path)
    assert Trainer.resume(Args(run=tmp_path, resume=True)).decisions == 2 * ITERATION


def test_what_was_not_given_is_taken_from_the_run(finished: tuple[Path, str]) -> None:
    trainer = Trainer.resume(Args(run=finished[0], resume=True))
    assert trainer.args.width == 16
    assert str(trainer.rules) == "mini-3"
    assert trainer.decisions == 4 * ITERATION
    assert trainer.progress == 1.0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rules", "chess"], "no preset 'chess'; there are: "),
        (["--minutes", "0"], "--minutes 0.0 given; allowed: more than 0"),
        (["--minutes", "nan"], "--minutes nan given; allowed: more than 0"),
        (["--decisions", "0"], "--decisions 0 given; allowed: 1 or more"),
        (["--num-matches", "0"], "--num-matches 0 given; allowed: 1 or more"),
        (["--steps", "-1"], "--steps -1 given; allowed: 1 or more"),
        (["--width", "0"], "--width 0 given; allowed: 1 or more"),
        (["--minibatch", "0"], "--minibatch 0 given; allowed: 1 or more"),
        (["--epochs", "0"], "--epochs 0 given; allowed: 1 or more"),
        (["--deals", "0"], "--deals 0 given; allowed: 1 or more"),
        (["--threads", "-1"], "--threads -1 given; allowed: 0 to 1024"),
        (["--threads", "100000"], "--threads 100000 given; allowed: 0 to 1024"),
        (["--seed", "-1"], "--seed -1 given; allowed: 0 to 9223372036854775807"),
        (["--seed", f"{2**64}"], f"--seed {2**64} given; allowed: 0 to 9223372036854775807"),
        (["--entropy", "nan"], "--entropy nan given; allowed: 0 or more, finite"),
        (["--value-weight", "-1"], "--value-weight -1.0 given; allowed: 0 or more, finite"),
        (["--margin-reward", "inf"], "--margin-reward inf given; allowed: 0 or more, finite"),
        (["--win-reward", "nan"], "--win-reward nan given; allowed: 0 or more, finite"),
        (["--checkpoint-seconds", "nan"], "--checkpoint-seconds nan given; allowed: 0 or more, finite"),
    ],
)
def test_impossible_arguments_are_refused_before_anything_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: list[str], message: str
) -> None:
    run = tmp_path / "run"
    assert message in refused(monkeypatch, "--run", str(run), *arguments)
    assert not run.exists()


def test_a_rollout_too_short_to_learn_from_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = options(tiny(tmp_path, rules="fives_and_threes-4p", steps=1, num_matches=4))
    message = refused(monkeypatch, *arguments)
    assert "--steps 1 is too few for a seat to decide twice" in message
    with pytest.raises(ArgumentError):
        main(tiny(tmp_path / "again", rules="fives_and_threes-4p", steps=1, num_matches=4))


def test_a_folder_that_cannot_be_written_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("in the way")
    for run in (tmp_path / "file", tmp_path / "file" / "below"):
        message = refused(monkeypatch, *options(tiny(run)))
        assert str(tmp_path / "file") in message
    assert (tmp_path / "file").read_text() == "in the way"


def test_a_full_disk_ends_the_run_with_one_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(self: Path, data: bytes) -> int:
        raise OSError(28, "No space left on device", str(self))

    with monkeypatch.context() as patch:
        patch.setattr(Path, "write_bytes", no_space)
        assert "No space left on device" in refused(patch, *options(tiny(tmp_path)))


DAMAGE: dict[str, Callable[[Path], object]] = {
    "truncated": lambda path: path.write_bytes(path.read_bytes()[:-10]),
    "an agent": lambda path: shutil.copy(path.with_name(AGENT_FILE), path),
    "a part missing": lambda path: rewrite(path, lambda tensors, _: tensors.pop("batch.matches")),
    "a part unknown": lambda path: rewrite(path, lambda t, _: t.update(more=torch.zeros(1))),
    "another batch": lambda path: rewrite(
        path, lambda t, _: t.update({"batch.matches": t["batch.matches"][:5]})
    ),
    "no random state": lambda path: rewrite(path, lambda _, about: about.pop("rng")),
    "another random state": lambda path: rewrite(path, lambda _, about: about.update(rng={})),
    "no training": lambda path: rewrite(path, lambda _, about: about.pop("training")),
    "training a number": lambda path: rewrite(path, lambda _, about: about.update(training=3)),
    "rules unknown": lambda path: rewrite(
        path, lambda _, about: about["training"]["args"].update(rules="chess")
    ),
}


def rewrite(path: Path, change: Callable[[dict[str, Any], dict[str, Any]], object]) -> None:
    tensors, about = checkpoints.read(path)
    change(tensors, about)
    checkpoints.write(path, tensors, about)


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_trainer_is_refused_by_name(
    finished: tuple[Path, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    for name in (AGENT_FILE, TRAINER_FILE):
        shutil.copy(finished[0] / name, tmp_path)
    DAMAGE[damage](tmp_path / TRAINER_FILE)
    message = refused(monkeypatch, "--resume", "--run", str(tmp_path))
    assert message.startswith(f"train.ppo: {tmp_path / TRAINER_FILE}: damaged or no s")
    with pytest.raises(CheckpointError):
        Trainer.resume(Args(run=tmp_path, resume=True))


def test_help_tells_every_argument(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    with pytest.raises(SystemExit) as caught:
        command(monkeypatch, "--help")
    assert caught.value.code == 0
    out = capsys.readouterr().out
    assert "Self-play PPO" in out
    for field in fields(Args):
        assert f"--{field.name.replace('_', '-')}" in out


# -------------------------------------------------------------------------------------- it learns


@pytest.mark.parametrize(
    "preset",
    [
        "mini-2",
        "mini-3-pairs",
        "fives_and_threes-2p",
        "fives_and_threes-3p",
        "fives_and_threes-4p",
        "fives_and_threes-4p-singles",
        "league-4p-knocks",
    ],
)
def test_training_works_for_any_number_of_players_and_sides(tmp_path: Path, preset: str) -> None:
    main(tiny(tmp_path, rules=preset, decisions=ITERATION, win_reward=1.0))
    assert plays(tmp_path)
    assert str(agents.load(tmp_path).rules) == preset


def test_a_short_run_beats_random_clearly(tmp_path: Path) -> None:
    """Two players, 300,000 decisions; greedy takes 98 % of the matches, random 50 %."""
    args = Args(
        rules="fives_and_threes-2p",
        run=tmp_path,
        decisions=300_000,
        seed=1,
        threads=1,
        num_matches=128,
        steps=32,
        width=64,
        depth=1,
        learning_rate=3e-3,
        gamma=0.9,
        lam=0.95,
        margin_reward=6.0,
        win_reward=0.0,
        epochs=2,
        minibatch=1024,
        clip=0.2,
        entropy=0.01,
        value_weight=0.5,
        max_grad_norm=1.0,
        checkpoint_seconds=1e9,
    )
    trainer = Trainer(args)
    with StopRequest() as stop:
        assert train(trainer, stop)
    rounds = duplicate_rounds(trainer.agent(), RandomAgent(), trainer.rules, 300)
    matches = whole_matches(trainer.agent(), RandomAgent(), trainer.rules, 600)
    assert rounds.low > 1.0
    assert matches.low > 0.7
    rows = metrics_of(tmp_path)
    assert np.mean([row["explained variance"] for row in rows[-10:]]) > 0.05
    first, last = (np.mean([row["score rate"] for row in part]) for part in (rows[:10], rows[-10:]))
    assert last > first


def test_the_first_gradient_step_sees_the_policy_that_played(tmp_path: Path) -> None:
    """Log-probabilities of the sampler and of the update are the same: all ratios are 1."""
    trainer = Trainer(tiny(tmp_path, rules="fives_and_threes-4p", epochs=1, minibatch=10**6))
    metrics = trainer.iterate(Rollout(trainer.batch, 16))
    assert abs(metrics["approx KL"]) < 1e-6
    assert metrics["clip fraction"] == 0.0
    assert abs(metrics["policy loss"]) < 1e-5


def test_rollouts_follow_on_each_other_without_a_gap(tmp_path: Path) -> None:
    trainer = Trainer(tiny(tmp_path))
    rollout, actions, observations = Rollout(trainer.batch, 16), [], []
    for _ in range(2):
        collect(rollout, trainer.batch, trainer.network, trainer.rng)
        actions.append(rollout.actions.copy())
        observations.append(rollout.observations.copy())
        assert np.take_along_axis(rollout.masks[:-1], rollout.actions[..., None], 2).all()
    np.testing.assert_array_equal(observations[1][0], observations[0][-1])
    batch = MatchBatch(32, trainer.rules, trainer.batch.seed, skip_forced=True)
    for t, row in enumerate(np.concatenate(actions)):
        np.testing.assert_array_equal(batch.observations, observations[t // 16][t % 16])
        batch.step(row)
