"""Choosing among legal actions by logits: one pass over the legal ones only, compiled."""

from __future__ import annotations

import numpy as np

from fivesthrees_env.kernel.jit import jit

__all__ = ["best_actions", "sample_actions"]


def best_actions(logits: np.ndarray, masks: np.ndarray) -> np.ndarray:
    """The legal action with the largest logit, the first of equal ones.

    Args:
        logits: (N, actions) float32.
        masks: (N, actions) int8, at least one 1 in every row.

    Returns:
        (N,) int64.

    Raises:
        ValueError: if a legal action's logit is not a number, as in a network that has diverged.
    """
    actions = np.empty(len(logits), np.int64)
    _check(_best(logits, masks, actions))
    return actions


def sample_actions(
    logits: np.ndarray, masks: np.ndarray, uniforms: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Draw from the softmax over the legal actions.

    Args:
        logits: (N, actions) float32.
        masks: (N, actions) int8, at least one 1 in every row.
        uniforms: (N,) float64, the chance: uniform in [0, 1).

    Returns:
        Actions (N,) int64 and their log-probabilities (N,) float32.

    Raises:
        ValueError: if the legal logits of a row make no distribution: one is not a number or +inf,
            or all are -inf.
    """
    actions = np.empty(len(logits), np.int64)
    log_probs = np.empty(len(logits), np.float32)
    _check(_sample(logits, masks, uniforms, actions, log_probs))
    return actions, log_probs


def _check(bad_row: int) -> None:
    if bad_row >= 0:
        raise ValueError(
            f"logits: row {bad_row} gives no choice among its legal actions; allowed: at least one "
            "legal action, and finite logits (a network that has diverged gives others)"
        )


@jit
def _best(logits, masks, actions):
    for i in range(len(logits)):
        best = -1
        for a in range(logits.shape[1]):
            if masks[i, a]:
                if np.isnan(logits[i, a]):
                    return i
                if best < 0 or logits[i, a] > logits[i, best]:
                    best = a
        if best < 0:
            return i
        actions[i] = best
    return -1


@jit
def _sample(logits, masks, uniforms, actions, log_probs):
    for i in range(len(logits)):
        largest = -np.inf
        for a in range(logits.shape[1]):
            if masks[i, a] and logits[i, a] > largest:
                largest = logits[i, a]
        total = 0.0
        for a in range(logits.shape[1]):
            if masks[i, a]:
                total += np.exp(logits[i, a] - largest)
        if not total > 0.0:  # not a number, or nothing legal
            return i
        left = uniforms[i] * total
        for a in range(logits.shape[1]):
            if masks[i, a]:
                actions[i] = a  # the last legal one, should rounding leave a rest
                left -= np.exp(logits[i, a] - largest)
                if left < 0.0:
                    break
        log_probs[i] = logits[i, actions[i]] - largest - np.log(total)
    return -1
