"""The loss of PPO over legal actions: its gradients and metrics, in one compiled pass over the rows.

For a row with logits l, legal actions L, action a, advantage A, return R and value V (Schulman et al., 2017,
in the form of Huang et al., 2022), where p is what the policy that played gave to a:

    log pi(j) = l[j] - log(sum of exp(l[k]) over k in L)           for j in L
    ratio     = pi(a) / p
    policy    = -min(ratio * A, clip(ratio, 1 - c, 1 + c) * A)
    value     = (V - R)^2 / 2
    entropy   = -sum of pi(j) * log pi(j) over j in L
    loss      = mean(policy + value weight * value - entropy weight * entropy)

and its derivatives, with [j = a] for 1 if they are equal and 0 otherwise:

    d loss / d l[j] = (slope * ([j = a] - pi(j)) + entropy weight * pi(j) * (log pi(j) + entropy)) / N
    d loss / d V    = value weight * (V - R) / N

where slope = -ratio * A, or 0 where clipping holds the ratio. Actions that are not legal have no part in it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from fivesthrees_env.kernel.jit import jit

__all__ = ["METRICS", "Coefficients", "Samples", "loss_gradients", "metrics_of"]

#: What ``metrics_of`` tells.
METRICS = ("policy loss", "value loss", "entropy", "approx KL", "clip fraction", "explained variance")

_SUMS = 9  # the first five metrics; returns and their squares; what the values leave of them, and its squares


class Samples(NamedTuple):
    """What is learned from, a row for each decision."""

    observations: np.ndarray
    """(M, bits) int8."""
    masks: np.ndarray
    """(M, actions) int8, the legal ones."""
    actions: np.ndarray
    """(M,) int64."""
    log_probs: np.ndarray
    """(M,) float32, of the policy that played."""
    advantages: np.ndarray
    """(M,) float32."""
    returns: np.ndarray
    """(M,) float32."""

    def take(self, rows: np.ndarray) -> Samples:
        """Some of them, as a copy: memory is far faster at that than at giving one row after the other."""
        return Samples(*(column.take(rows, 0) for column in self))


class Coefficients(NamedTuple):
    """The numbers in the loss."""

    clip: float
    value_weight: float
    entropy_weight: float


def loss_gradients(
    outputs: tuple[Tensor, Tensor],
    samples: Samples,
    size: int,
    coefficients: Coefficients,
) -> tuple[tuple[Tensor, Tensor], np.ndarray]:
    """Derivatives of the loss by what the network says about some samples of a minibatch.

    Args:
        outputs: logits (N, actions) and values (N,), float32.
        samples: those N.
        size: samples of the whole minibatch, over which the loss is a mean.
        coefficients: of the loss.

    Returns:
        Derivatives by logits and values, like them, and (9,) float64, of which ``metrics_of`` makes metrics.
    """
    logits, values = (output.detach().numpy() for output in outputs)
    of_logits, of_values, sums = np.empty_like(logits), np.empty_like(values), np.zeros(_SUMS)
    _, *columns = samples
    _loss_gradients(logits, values, *columns, size, *coefficients, of_logits, of_values, sums)
    return (torch.from_numpy(of_logits), torch.from_numpy(of_values)), sums


def metrics_of(sums: np.ndarray, size: int) -> np.ndarray:
    """``METRICS`` of a minibatch of that size, from the sums over all its rows."""
    *means, of_returns, of_squares, left, left_squares = sums / size
    varying = max(of_squares - of_returns**2, 1e-8)
    return np.array([*means, 1 - (left_squares - left**2) / varying])


@jit
def _loss_gradients(
    logits, values, masks, actions, old_log_probs, advantages, returns, size,
    clip, value_weight, entropy_weight, of_logits, of_values, sums,
):  # fmt: skip
    num_actions = logits.shape[1]
    legal, probs = np.empty(num_actions, np.int64), np.empty(num_actions)
    for i in range(len(logits)):
        count = 0
        for j in range(num_actions):  # written always and kept if it is legal: nothing to predict
            legal[count] = j
            count += masks[i, j] != 0
            of_logits[i, j] = 0.0
        largest = -np.inf
        for k in range(count):
            largest = max(largest, logits[i, legal[k]])
        total = 0.0
        for k in range(count):
            probs[k] = np.exp(logits[i, legal[k]] - largest)
            total += probs[k]
        log_total = largest + np.log(total)
        entropy = 0.0
        for k in range(count):
            probs[k] /= total
            entropy -= probs[k] * (logits[i, legal[k]] - log_total)

        log_ratio = logits[i, actions[i]] - log_total - old_log_probs[i]
        ratio = np.exp(log_ratio)
        advantage = advantages[i]
        unclipped, clipped = ratio * advantage, min(max(ratio, 1 - clip), 1 + clip) * advantage
        slope = -unclipped if unclipped <= clipped else 0.0
        for k in range(count):
            j = legal[k]
            of_policy = slope * ((j == actions[i]) - probs[k])
            of_entropy = probs[k] * (logits[i, j] - log_total + entropy)
            of_logits[i, j] = (of_policy + entropy_weight * of_entropy) / size
        wanted = np.float64(returns[i])
        left = wanted - values[i]
        of_values[i] = -value_weight * left / size

        sums[0] -= min(unclipped, clipped)
        sums[1] += 0.5 * left**2
        sums[2] += entropy
        sums[3] += ratio - 1 - log_ratio
        sums[4] += abs(ratio - 1) > clip
        sums[5] += wanted
        sums[6] += wanted**2
        sums[7] += left
        sums[8] += left**2
