"""The plain reference against the kernel: see ``differential.py``, also for the million rounds."""

from __future__ import annotations

import random
import subprocess
import sys
from collections import deque
from pathlib import Path

import differential
import pytest
from conftest import PRESETS
from differential import Mismatch, play_match, random_rules

from fivesthrees_env.rules import Rules

ROOT = Path(__file__).resolve().parents[1]

#: A match of these takes longest.
LONG = ("long-4p", "double-nine-4p")
SHORT = ("mini-2", "mini-3", "mini-4", "mini-3-pairs", "short-4p")


def number_of_matches(name: str) -> int:
    """Many of the short matches, some of the long ones: more than 2,000 of Fives and Threes in all."""
    if PRESETS[name].draw:
        return 25
    if name in LONG:
        return 40
    return 270 if name in SHORT else 75


def test_more_than_two_thousand_matches_of_fives_and_threes_are_played() -> None:
    assert sum(number_of_matches(name) for name in PRESETS if not PRESETS[name].draw) > 2000


@pytest.mark.parametrize("name", PRESETS)
def test_kernel_equals_reference(name: str) -> None:
    for seed in range(number_of_matches(name)):
        play_match(PRESETS[name], seed, max_rounds=1000)


@pytest.mark.parametrize("part", range(4))
def test_kernel_equals_reference_for_random_rules(part: int) -> None:
    """Combinations of settings that no preset has."""
    for seed in range(50 * part, 50 * part + 50):
        play_match(random_rules(random.Random(seed)), seed, max_rounds=8)


@pytest.mark.parametrize(
    ("mine", "theirs"),
    [
        (Rules.preset("teesdale-2p"), Rules.preset("league-2p")),
        (Rules.preset("league-4p-knocks"), Rules.preset("league-4p")),
        (Rules.fives_and_threes(4, pair_round_end="first_out"), Rules.fives_and_threes(4)),
        (Rules.all_fives(2, spinner=False), Rules.all_fives(2)),
        (Rules.all_fives(3, block="others_total"), Rules.all_fives(3)),
    ],
)
def test_a_reference_with_other_rules_is_noticed(mine, theirs, monkeypatch) -> None:
    reference = differential.Reference
    monkeypatch.setattr(differential, "Reference", lambda _: reference(theirs.to_dict()))
    with pytest.raises(Mismatch, match=r"round \d+, ply \d+ of the match with seed"):
        deque((play_match(mine, seed) for seed in range(100)), maxlen=0)


def test_the_command_reports_progress_and_success() -> None:
    command = [sys.executable, "-m", "tests.differential", "--rounds", "200", "--workers", "1"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    assert "rounds/s" in done.stdout
    assert done.stdout.endswith("no difference\n")
