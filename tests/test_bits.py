"""``BitLinear``: the dense layer's map, whichever way it is computed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor, nn

import agents
from agents.bits import BitLinear
from agents.networks import PolicyValueNet
from agents.neural import NeuralAgent
from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.rules import Rules

#: Bits by density: how they are drawn, and what none and all of them look like.
DENSITIES = {"none set": 0.0, "few set": 0.08, "half set": 0.5, "all set": 1.0}


@pytest.fixture(params=[1, 2], ids=["one thread", "two threads"])
def threads(request: pytest.FixtureRequest) -> Iterator[int]:
    """The number of PyTorch's threads during the test."""
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def layer_of(inputs: int, outputs: int, seed: int = 0, dtype: torch.dtype = torch.float32) -> BitLinear:
    """A layer with random weights."""
    generator = torch.Generator().manual_seed(seed)
    layer = BitLinear(inputs, outputs).to(dtype)
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.copy_(torch.randn(parameter.shape, generator=generator, dtype=dtype))
    return layer


def bits_of(rows: int, inputs: int, density: float = 0.08, seed: int = 0) -> Tensor:
    """Random bits (rows, inputs) of int8."""
    return torch.from_numpy((np.random.default_rng(seed).random((rows, inputs)) < density).astype(np.int8))


def dense_of(layer: BitLinear) -> nn.Linear:
    """PyTorch's layer with the same weights."""
    inputs, outputs = layer.weight.shape
    dense = nn.Linear(inputs, outputs, dtype=layer.weight.dtype)
    with torch.no_grad():
        dense.weight.copy_(layer.weight.T)
        dense.bias.copy_(layer.bias)
    return dense


def assert_alike(layer: BitLinear, bits: Tensor) -> None:
    """Outputs and gradients are the dense layer's on the same bits, to rounding."""
    dense = dense_of(layer)
    layer.zero_grad()
    ours, theirs = layer(bits), dense(bits.to(layer.weight.dtype))
    torch.testing.assert_close(ours, theirs, rtol=1e-4, atol=1e-4)
    wanted = torch.randn(ours.shape, generator=torch.Generator().manual_seed(1)).to(ours)
    (ours * wanted).sum().backward()
    (theirs * wanted).sum().backward()
    assert dense.weight.grad is not None
    torch.testing.assert_close(layer.weight.grad, dense.weight.grad.T, rtol=1e-4, atol=1e-4)
    torch.testing.assert_close(layer.bias.grad, dense.bias.grad, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("density", DENSITIES.values(), ids=DENSITIES.keys())
@pytest.mark.parametrize("width", [1, 31, 128, 200, 256, 300])
def test_outputs_and_gradients_are_the_dense_layers(width: int, density: float, threads: int) -> None:
    assert_alike(layer_of(90, width), bits_of(60, 90, density))


@given(
    rows=st.integers(0, 40), inputs=st.integers(1, 70), width=st.integers(1, 270),
    density=st.floats(0, 1), seed=st.integers(0, 2**32),
)  # fmt: skip
@settings(max_examples=40)
def test_any_shape_gives_what_the_dense_layer_gives(
    rows: int, inputs: int, width: int, density: float, seed: int
) -> None:
    """One row and none among them."""
    assert_alike(layer_of(inputs, width, seed), bits_of(rows, inputs, density, seed))


def test_rows_without_bits_give_the_bias_between_rows_that_have_some(threads: int) -> None:
    bits = bits_of(9, 40, 0.5)
    bits[[0, 4, 5, 8]] = 0
    layer = layer_of(40, 130)
    assert (layer(bits)[[0, 4, 5, 8]] == layer.bias).all()
    assert_alike(layer, bits)


def test_real_observations_give_what_the_dense_layer_gives(threads: int) -> None:
    batch, rng = MatchBatch(300, "fives_and_threes-4p", seed=0, skip_forced=True), np.random.default_rng(0)
    for _ in range(20):
        batch.step(batch.random_actions(rng))
    assert_alike(layer_of(batch.layout.size, 256), torch.from_numpy(batch.observations))


def test_gradients_hold_numerically_and_in_double_precision(threads: int) -> None:
    layer = layer_of(7, 5, dtype=torch.float64)
    bits = bits_of(6, 7, 0.4)

    def outputs(weight: Tensor, bias: Tensor) -> Tensor:
        return torch.func.functional_call(layer, {"weight": weight, "bias": bias}, (bits,))

    assert torch.autograd.gradcheck(outputs, (layer.weight, layer.bias))


def test_gradients_add_up_over_several_calls() -> None:
    layer, bits = layer_of(30, 140), bits_of(50, 30)
    (layer(bits[:20]).sum() + layer(bits[20:]).sum()).backward()
    twice = [parameter.grad.clone() for parameter in layer.parameters()]
    assert_alike(layer, bits)
    layer.zero_grad()
    layer(bits).sum().backward()
    for parameter, grad in zip(layer.parameters(), twice, strict=True):
        torch.testing.assert_close(parameter.grad, grad, rtol=1e-4, atol=1e-4)


def test_a_frozen_layer_lets_the_others_learn() -> None:
    layer, head = layer_of(30, 20).requires_grad_(False), nn.Linear(20, 1)
    head(layer(bits_of(5, 30))).sum().backward()
    assert layer.weight.grad is None
    assert head.weight.grad is not None


@pytest.mark.parametrize("mode", [torch.inference_mode, torch.no_grad])
def test_without_gradients_the_outputs_are_the_same(mode: type, threads: int) -> None:
    layer, bits = layer_of(90, 200), bits_of(40, 90)
    wanted = layer(bits).detach()
    with mode():
        outputs = layer(bits)
    assert not outputs.requires_grad
    assert torch.equal(outputs, wanted)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64, torch.bool, torch.uint8])
def test_inputs_of_other_types_are_multiplied(dtype: torch.dtype) -> None:
    layer, bits = layer_of(90, 50), bits_of(40, 90)
    outputs = layer(bits.to(dtype))
    assert outputs.dtype == torch.float32
    torch.testing.assert_close(outputs, layer(bits), rtol=1e-4, atol=1e-4)


def test_float_inputs_need_not_be_bits_and_get_gradients() -> None:
    layer = layer_of(12, 9)
    inputs = torch.randn(5, 12, requires_grad=True)
    outputs = layer(inputs)
    torch.testing.assert_close(outputs, dense_of(layer)(inputs))
    outputs.sum().backward()
    torch.testing.assert_close(inputs.grad, layer.weight.sum(1).expand(5, -1))


def test_bits_need_not_be_contiguous() -> None:
    layer, wide = layer_of(90, 70), bits_of(80, 180, 0.2)
    for bits in (wide[::2, ::2], wide[:80, 90:], bits_of(90, 40, 0.2).T, wide[:1, :90].expand(6, -1)):
        assert bits.shape[1] == 90
        assert_alike(layer, bits)


def test_forward_and_backward_leave_the_bits_alone() -> None:
    layer, bits = layer_of(40, 30), bits_of(20, 40, 0.3)
    before = bits.clone()
    layer(bits).sum().backward()
    assert torch.equal(bits, before)


@pytest.mark.parametrize("num_threads", [1, 2])
def test_the_same_call_gives_the_same_gradients_to_the_bit(num_threads: int) -> None:
    """On any number of threads: each gradient is summed by one of them, row after row."""
    before, grads = torch.get_num_threads(), []
    for count in (1, num_threads):
        torch.set_num_threads(count)
        layer = layer_of(90, 300)
        layer(bits_of(200, 90)).square().sum().backward()
        grads.append(layer.weight.grad)
    torch.set_num_threads(before)
    assert torch.equal(*grads)


# ------------------------------------------------------------------------------ in the network


def steps(network: PolicyValueNet, inputs: Tensor, count: int) -> list[float]:
    """Gradient steps towards fixed targets; returns the losses."""
    actions, targets = torch.arange(len(inputs)) % network.shape["num_actions"], inputs.float().mean(1)
    optimizer, losses = torch.optim.Adam(network.parameters(), 3e-3), []
    for _ in range(count):
        logits, values = network(inputs)
        loss = nn.functional.cross_entropy(logits, actions) + (values - targets).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def test_a_network_learns_from_bits_as_from_floats(threads: int) -> None:
    bits = bits_of(64, 90, 0.2)
    torch.manual_seed(0)
    one = PolicyValueNet(90, 6, width=48)
    other = PolicyValueNet(90, 6, width=48)
    other.load_state_dict(one.state_dict())
    ours, theirs = steps(one, bits, 60), steps(other, bits.float(), 60)
    np.testing.assert_allclose(ours, theirs, rtol=0.02, atol=0.01)
    assert ours[-1] < 0.3 * ours[0]


def test_a_trained_network_plays_alike_after_it_was_saved(tmp_path: Path) -> None:
    rules = Rules.preset("mini-3")
    batch, rng = MatchBatch(200, rules, seed=0, skip_forced=True), np.random.default_rng(0)
    batch.step(batch.random_actions(rng))
    network = PolicyValueNet(batch.layout.size, rules.num_actions, width=20)
    steps(network, torch.from_numpy(batch.observations), 5)
    agent = NeuralAgent(network, rules)
    agent.save(tmp_path / "agent.safetensors")
    loaded = agents.load(str(tmp_path / "agent.safetensors"))
    assert isinstance(loaded, NeuralAgent)
    for name, tensor in network.state_dict().items():
        assert torch.equal(loaded.network.state_dict()[name], tensor)
    assert (loaded.act(batch.views, rng) == agent.act(batch.views, rng)).all()


@pytest.mark.parametrize("dtype", [torch.int8, torch.float32])
def test_bits_of_another_width_are_refused(dtype: torch.dtype) -> None:
    with pytest.raises(ValueError, match="inputs: 4 columns given; allowed: 5"):
        BitLinear(5, 3)(torch.ones(2, 4, dtype=dtype))
