"""Batches compiled for their rules: they do what the others do."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.match import IllegalAction
from fivesthrees_env.rules import Rules
from tests.specialised import OPTIONS, check

ROOT = Path(__file__).resolve().parents[1]
GAMES = ["fives_and_threes-4p", "all_fives-4p"]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
@pytest.mark.parametrize("name", GAMES)
def test_a_batch_compiled_for_its_rules_plays_like_any_other(name: str, options: dict[str, Any]) -> None:
    check(Rules.preset(name), num_matches=300, steps=100, **options)


def test_two_games_compiled_one_after_the_other_keep_their_own_rules() -> None:
    one, other = (MatchBatch(50, name, seed=3, specialise=True) for name in GAMES)
    plain = MatchBatch(50, GAMES[0], seed=3, specialise=False)
    for _ in range(30):
        other.step(other.random_actions(np.random.default_rng(0)))
        actions = plain.random_actions(np.random.default_rng(0))
        plain.step(actions)
        one.step(actions)
        assert one.observations.tobytes() == plain.observations.tobytes()


@pytest.mark.parametrize("name", GAMES)
def test_a_batch_compiled_for_its_rules_refuses_what_is_not_legal(name: str) -> None:
    """Every action of every match that its mask forbids, and ids that no action has."""
    batch = MatchBatch(12, name, seed=8, specialise=True)
    for _ in range(25):
        batch.step(batch.random_actions(np.random.default_rng(1)))
    actions = batch.random_actions(np.random.default_rng(2))
    before = batch.matches.tobytes(), batch.observations.tobytes()
    strange = {-(2**63), -1, batch.rules.num_actions, 2**31, 2**63 - 1}
    for match in range(12):
        for action in strange | set(np.flatnonzero(batch.action_masks[match] == 0).tolist()):
            wrong = actions.copy()
            wrong[match] = action
            with pytest.raises(IllegalAction, match=rf"^actions\[{match}\]: {action} given"):
                batch.step(wrong)
    assert (batch.matches.tobytes(), batch.observations.tobytes()) == before


@pytest.mark.parametrize(("num_matches", "compiled"), [(1023, False), (1024, True)])
def test_many_matches_are_compiled_for(num_matches: int, compiled: bool) -> None:
    assert MatchBatch(num_matches, GAMES[0], seed=0).specialise is compiled
    assert MatchBatch(num_matches, GAMES[0], seed=0, specialise=not compiled).specialise is not compiled


KERNEL = """
    import numpy as np

    from fivesthrees_env.kernel.deal import start_match
    from fivesthrees_env.kernel.jit import jit
    from fivesthrees_env.kernel.known import KnownGame, known
    from fivesthrees_env.kernel.record import MATCH
    from fivesthrees_env.observations import Layout
    from fivesthrees_env.rules import Rules


    @jit
    def deal(matches, game):
        start_match(known(matches, game)[0])  # a call: not inlined


    def seats(name):
        rules, matches = Rules.preset(name), np.zeros(1, MATCH)
        deal(matches, KnownGame(rules.record, Layout.of(rules).places))
        return np.count_nonzero(matches["hands"])
"""


def test_games_compiled_in_different_processes_are_not_mistaken_for_each_other(tmp_path: Path) -> None:
    """Names of compiled functions are made alike in every process; what is loaded together must differ."""
    (tmp_path / "kernel.py").write_text(textwrap.dedent(KERNEL))
    environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path), "PYTHONPATH": f"{ROOT}:{tmp_path}"}
    two, four = "fives_and_threes-2p", "fives_and_threes-4p"
    for names in ([two], [four], [two, four]):
        command = [sys.executable, "-c", f"import kernel; print(*map(kernel.seats, {names}))"]
        finished = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        assert finished.stdout.split() == [name[-2] for name in names]
