"""A batch compiled for its rules plays as one that is not: in every preset, whatever is written.

The tests look at two presets, since each is compiled for some ten seconds the first time. All of them:

    python -m tests.specialised
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.rules import Rules

OPTIONS: list[dict[str, Any]] = [
    {},
    {"skip_forced": True, "reward": "win"},
    {"episode": "round", "reward": "margin", "num_threads": 2},
]


class Difference(AssertionError):
    """The two batches differ; says in what, and when."""


def written(batch: MatchBatch) -> Iterator[tuple[str, np.ndarray]]:
    """Everything that a batch shows and keeps, by name."""
    for name in ("observations", "action_masks", "seats", "rewards", "dones", "winners", "views"):
        yield name, getattr(batch, name)
    yield from batch.state_dict().items()


def check(rules: Rules, steps: int = 300, num_matches: int = 20, seed: int = 0, **options: Any) -> None:
    """Step both through the same random plies.

    Raises:
        Difference: if one of them writes anything that the other does not.
    """
    plain, compiled = (
        MatchBatch(num_matches, rules, seed, specialise=specialise, **options) for specialise in (False, True)
    )
    for step in range(steps):
        for (name, ours), (_, theirs) in zip(written(plain), written(compiled), strict=True):
            if ours.tobytes() != theirs.tobytes():
                raise Difference(f"{name} differs after {step} steps of {rules}, {options}")
        actions, others = (batch.random_actions(np.random.default_rng(step)) for batch in (plain, compiled))
        if (actions != others).any():
            raise Difference(f"random actions differ after {step} steps of {rules}, {options}")
        plain.step(actions)
        compiled.step(actions)


def main() -> int:
    for name, rules in Rules.presets().items():
        for options in OPTIONS:
            check(rules, **options)
        print(f"{name}: alike", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
