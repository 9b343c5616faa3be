"""Compiled code uses no memory that has been given back: freed blocks are overwritten, and nothing changes.

A record taken from an array does not keep the array alive in Numba, so a function that holds on to the record
alone reads and writes freed memory, which looks right until something else is stored there.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import numpy as np
import agents
from agents.belief import Belief
from agents.ismcts import IsmctsAgent
from agents.pimc import PimcAgent
from agents.rollout import RolloutAgent
from fivesthrees_env.batch import MatchBatch

for preset in ("mini-3-pairs", "mini-all-fives-3"):
    batch = MatchBatch(6, preset, seed=1, skip_forced=True)
    for step in range(3):
        batch.step(batch.random_actions(np.random.default_rng(step)))
    searching = [RolloutAgent(50), IsmctsAgent(50), PimcAgent(4)]
    for agent in [agents.load(name) for name in ("random", "greedy", "smart-greedy", "expert")] + searching:
        print(agent.name, agent.act(batch.views, np.random.default_rng(0)).tolist())
    belief = Belief(batch.views[:1])
    hidden = belief.sample(3, np.random.default_rng(0))
    print(hidden.hands.tolist(), hidden.undealt.tolist(), belief.marginals().sum(1).tolist())
    print(belief.deals(2, np.random.default_rng(0))["hands"].tolist())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="MALLOC_PERTURB_ is glibc's")
def test_nothing_changes_when_freed_memory_is_overwritten() -> None:
    first, second = (
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env={**os.environ, **perturbed},
            cwd=Path(__file__).parents[1],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for perturbed in ({}, {"MALLOC_PERTURB_": "165"})
    )
    assert first.count("\n") == 2 * 9
    assert first == second
