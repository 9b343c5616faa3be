"""The optimiser that threads share: PyTorch's Adam, to rounding."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from train.adam import SharedAdam

SHAPES = [(37, 20), (20,), (20, 5), (5,), (1, 1), (300,)]


def weights(seed: int) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [torch.nn.Parameter(torch.randn(shape, generator=generator)) for shape in SHAPES]


def gradients(seed: int, size: float) -> list[Tensor]:
    generator = torch.Generator().manual_seed(seed)
    return [size * torch.randn(shape, generator=generator) for shape in SHAPES]


@pytest.mark.parametrize("num_shares", [1, 2, 3])
@pytest.mark.parametrize("size", [1e-4, 1.0], ids=["short gradients", "clipped ones"])
def test_steps_are_those_of_pytorchs_adam_after_clipping(num_shares: int, size: float) -> None:
    ours, theirs = weights(0), weights(0)
    shared, plain = SharedAdam(ours, lr=0.01, eps=1e-5), torch.optim.Adam(theirs, lr=0.01, eps=1e-5)
    for step in range(50):
        for optimizer in (shared, plain):
            optimizer.param_groups[0]["lr"] = 0.01 / (1 + step)
        shares = [gradients(10 * step + k, size) for k in range(num_shares)]
        for parameter, *terms in zip(theirs, *shares, strict=True):
            parameter.grad = torch.stack(terms).sum(0)
        norm = torch.nn.utils.clip_grad_norm_(theirs, 0.5)
        plain.step()
        assert shared.step_by(shares, 0.5) == pytest.approx(norm.item(), rel=1e-5)
        for parameter, wanted in zip(ours, theirs, strict=True):
            torch.testing.assert_close(parameter, wanted, rtol=1e-5, atol=1e-6)


def test_results_do_not_depend_on_the_number_of_threads() -> None:
    several = [weights(1) for _ in range(3)]
    optimizers = [SharedAdam(parameters, lr=0.01, eps=1e-5) for parameters in several]
    for step in range(20):
        for threads, optimizer in enumerate(optimizers, 1):
            optimizer.step_by([gradients(step, 1.0), gradients(-step - 1, 1.0)], 0.5, threads)
    for others in several[1:]:
        assert all(torch.equal(one, other) for one, other in zip(several[0], others, strict=True))


def test_a_stored_state_goes_on_alike_here_and_in_pytorchs_adam() -> None:
    first = weights(2)
    optimizer = SharedAdam(first, lr=0.01, eps=1e-5)
    for step in range(5):
        optimizer.step_by([gradients(step, 1.0)], 0.5)
    twin, plain = ([torch.nn.Parameter(weight.detach().clone()) for weight in first] for _ in range(2))
    shared, adam = SharedAdam(twin, lr=0.5, eps=1e-5), torch.optim.Adam(plain, lr=0.5, eps=1e-5)
    shared.step_by([gradients(77, 1.0)], 0.5)  # it has a state of its own already
    with torch.no_grad():
        for weight, wanted in zip(twin, first, strict=True):
            weight.copy_(wanted)
    for other in (shared, adam):
        other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for step in range(5):
        optimizer.step_by([gradients(step, 1e-4)], 0.5)
        shared.step_by([gradients(step, 1e-4)], 0.5)
        for parameter, gradient in zip(plain, gradients(step, 1e-4), strict=True):
            parameter.grad = gradient
        adam.step()
    for one, other, last in zip(first, twin, plain, strict=True):
        assert torch.equal(one, other)
        torch.testing.assert_close(one, last, rtol=1e-5, atol=1e-6)


def test_the_norm_is_that_of_all_gradients_together() -> None:
    parameters = weights(3)
    given = gradients(4, 2.0)
    wanted = np.sqrt(sum(float(gradient.double().square().sum()) for gradient in given))
    assert SharedAdam(parameters, lr=0.01, eps=1e-5).step_by([given], 0.5) == pytest.approx(wanted)


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda pair: pickle.loads(pickle.dumps(pair))])
def test_a_copy_steps_its_own_weights(copied: Callable[[Any], Any]) -> None:
    parameters = weights(5)
    optimizer = SharedAdam(parameters, lr=0.01, eps=1e-5)
    optimizer.step_by([gradients(6, 1.0)], 0.5)
    others, twin = copied((parameters, optimizer))
    before = [parameter.detach().clone() for parameter in parameters]
    twin.step_by([gradients(7, 1.0)], 0.5)
    assert all(map(torch.equal, parameters, before))
    optimizer.step_by([gradients(7, 1.0)], 0.5)
    assert all(map(torch.equal, parameters, others))


def test_weights_that_have_moved_in_memory_are_found() -> None:
    one, other = weights(8), weights(8)
    optimizers = [SharedAdam(parameters, lr=0.01, eps=1e-5) for parameters in (one, other)]
    for step in range(3):
        for parameter in one:
            parameter.data = parameter.data.clone()
        for optimizer in optimizers:
            optimizer.step_by([gradients(step, 1.0)], 0.5)
    assert all(map(torch.equal, one, other))
