"""Random legal choice for many rows at once, where NumPy has to make it."""

from __future__ import annotations

import numpy as np


def legal(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A uniformly random legal action of each row of masks: (N, actions) of 0 and 1 in, (N,) int32 out."""
    keys = 1.0 - rng.random(masks.shape, np.float32)  # above 0, so that a legal action always wins
    return (keys * masks).argmax(1).astype(np.int32)
