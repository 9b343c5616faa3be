"""The compiled loss of PPO, against the plain formula and PyTorch's derivatives of it."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from train.losses import METRICS, Coefficients, Samples, loss_gradients, metrics_of

RNG = np.random.default_rng


def samples_of(count: int, actions: int, seed: int, spread: float = 1.0) -> Samples:
    """Random samples; `spread` is how far the policy that played is from a uniform one."""
    rng = RNG(seed)
    masks = (rng.random((count, actions)) < 0.3).astype(np.int8)
    chosen = rng.integers(actions, size=count)
    masks[np.arange(count), chosen] = 1
    log_probs = -np.log(masks.sum(1)) + spread * rng.normal(size=count)
    advantages, returns = rng.normal(size=(2, count))
    columns = (log_probs, advantages, returns)
    return Samples(np.zeros((count, 1), np.int8), masks, chosen, *(c.astype(np.float32) for c in columns))


def outputs_of(rows: int, actions: int, seed: int) -> tuple[Tensor, Tensor]:
    """Random logits and values that gradients are asked for."""
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn(rows, actions, generator=generator)
    return logits.requires_grad_(), torch.randn(rows, generator=generator).requires_grad_()


def plain_loss(
    outputs: tuple[Tensor, Tensor], samples: Samples, numbers: Coefficients
) -> tuple[Tensor, list[float]]:
    """The loss of a whole minibatch as one writes it in PyTorch, and its metrics."""
    logits, values = (output.double() for output in outputs)
    _, masks, actions, old, advantages, returns = (torch.from_numpy(column) for column in samples)
    log_probs = torch.log_softmax(logits.masked_fill(masks == 0, -torch.inf), -1)
    legal_log_probs = log_probs.masked_fill(masks == 0, 0.0)
    entropy = -(log_probs.exp() * legal_log_probs).sum(-1).mean()
    log_ratio = log_probs.gather(1, actions[:, None]).squeeze(1) - old.double()
    ratio = log_ratio.exp()
    clipped = ratio.clamp(1 - numbers.clip, 1 + numbers.clip)
    policy_loss = -torch.min(ratio * advantages, clipped * advantages).mean()
    value_loss = 0.5 * (values - returns).square().mean()
    loss = policy_loss + numbers.value_weight * value_loss - numbers.entropy_weight * entropy
    kl, outside = (ratio - 1 - log_ratio).mean(), ((ratio - 1).abs() > numbers.clip).double().mean()
    unexplained = (returns - values).var(correction=0) / returns.double().var(correction=0).clamp(min=1e-8)
    metrics = [policy_loss, value_loss, entropy, kl, outside, 1 - unexplained]
    return loss, [metric.item() for metric in metrics]


def assert_agrees_with_plain(
    count: int, actions: int, seed: int, numbers: Coefficients, spread: float
) -> None:
    samples = samples_of(count, actions, seed, spread)
    outputs = outputs_of(count, actions, seed % 2**31)
    loss, metrics = plain_loss(outputs, samples, numbers)
    wanted = torch.autograd.grad(loss, outputs)
    gradients, sums = loss_gradients(outputs, samples, count, numbers)
    for ours, theirs in zip(gradients, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(metrics_of(sums, count), metrics, rtol=1e-4, atol=1e-5)


@given(
    count=st.integers(1, 30), actions=st.integers(1, 60), seed=st.integers(0, 2**40),
    clip=st.floats(0.01, 1.0), value_weight=st.floats(0, 2), entropy_weight=st.floats(0, 1),
    spread=st.sampled_from([0.01, 0.3, 2.0]),
)  # fmt: skip
def test_gradients_and_metrics_are_those_of_the_plain_formula(
    count: int,
    actions: int,
    seed: int,
    clip: float,
    value_weight: float,
    entropy_weight: float,
    spread: float,
) -> None:
    numbers = Coefficients(clip, value_weight, entropy_weight)
    assert_agrees_with_plain(count, actions, seed, numbers, spread)


@pytest.mark.parametrize(("ratio", "advantage", "held"), [
    (2.0, 1.0, True), (2.0, -1.0, False), (0.5, 1.0, False), (0.5, -1.0, True), (1.1, 1.0, False),
])  # fmt: skip
def test_clipping_holds_a_ratio_that_has_gone_far_enough(ratio: float, advantage: float, held: bool) -> None:
    """Up where the advantage is positive, down where it is negative; never on the way back."""
    one = np.ones(1, np.float32)
    old = np.log(0.5 / ratio) * one
    samples = Samples(
        np.zeros((1, 1), np.int8), np.ones((1, 2), np.int8), np.array([1]), old, advantage * one, one
    )
    outputs = torch.zeros(1, 2), torch.ones(1)
    (of_logits, of_values), sums = loss_gradients(outputs, samples, 1, Coefficients(0.2, 1.0, 0.0))
    slope = 0.0 if held else -ratio * advantage
    np.testing.assert_allclose(of_logits.numpy(), [[-slope / 2, slope / 2]], rtol=1e-5)
    assert of_values.item() == 0.0
    metrics = dict(zip(METRICS, metrics_of(sums, 1), strict=True))
    assert metrics["clip fraction"] == (abs(ratio - 1) > 0.2)


def test_shares_add_up_to_the_minibatch() -> None:
    samples, numbers = samples_of(40, 9, seed=3), Coefficients(0.2, 0.5, 0.01)
    outputs, rows = outputs_of(40, 9, seed=1), np.arange(40)
    whole, sums = loss_gradients(outputs, samples, 40, numbers)
    parts = [
        loss_gradients((outputs[0][k], outputs[1][k]), samples.take(rows[k]), 40, numbers)
        for k in (slice(0, 15), slice(15, 40))
    ]
    for i in range(2):
        assert torch.equal(torch.cat([gradients[i] for gradients, _ in parts]), whole[i])
    np.testing.assert_allclose(parts[0][1] + parts[1][1], sums)


def test_what_is_not_legal_is_never_looked_at() -> None:
    samples = samples_of(20, 9, seed=5)
    logits, values = outputs_of(20, 9, seed=2)
    hidden = torch.from_numpy(samples.masks == 0)
    numbers = Coefficients(0.2, 0.5, 0.01)
    wanted, sums = loss_gradients((logits, values), samples, 20, numbers)
    odd = logits.masked_fill(hidden, torch.nan)
    gradients, same = loss_gradients((odd, values), samples, 20, numbers)
    assert torch.equal(gradients[0], wanted[0])
    assert not gradients[0][hidden].any()
    np.testing.assert_array_equal(sums, same)
