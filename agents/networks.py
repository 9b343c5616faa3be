"""The network that plays: observation bits in, action logits and a value out."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from agents.bits import BitLinear

__all__ = ["PolicyValueNet", "multiplies_bfloat16"]


def multiplies_bfloat16() -> bool:
    """Whether the processor has instructions for products of bfloat16; not known of all that have."""
    known = getattr(torch.cpu, "_is_avx512_bf16_supported", None)  # since PyTorch 2.5
    return known is not None and bool(known())


class PolicyValueNet(nn.Module):
    """A multilayer perceptron with a policy head and a value head.

    Args:
        observation_size: bits of the observation.
        num_actions: size of the action space.
        width: units per hidden layer.
        depth: hidden layers.

    Attributes:
        in_bfloat16: multiply the hidden layers in bfloat16, which some processors do twice as fast; the first
            layer, both heads and all weights stay in float32.
    """

    in_bfloat16: bool = False

    def __init__(self, observation_size: int, num_actions: int, width: int = 256, depth: int = 2):
        super().__init__()
        self.shape = {
            "observation_size": observation_size,
            "num_actions": num_actions,
            "width": width,
            "depth": depth,
        }
        layers: list[nn.Module] = []
        for i in range(depth):
            layer = BitLinear(observation_size, width) if i == 0 else nn.Linear(width, width)
            layers += [_orthogonal(layer, 2**0.5), nn.ReLU(inplace=True)]
        self.body = nn.Sequential(*layers)
        self.policy = _orthogonal(nn.Linear(width, num_actions), 0.01)
        self.value = _orthogonal(nn.Linear(width, 1), 1.0)

    def forward(self, observations: Tensor) -> tuple[Tensor, Tensor]:
        """Logits and values.

        Args:
            observations: (N, observation_size), int8 bits or floats.

        Returns:
            Unmasked logits (N, num_actions) and values (N,), float32.
        """
        with torch.autocast(observations.device.type, torch.bfloat16, enabled=self.in_bfloat16):
            hidden = self.body(observations).to(self.policy.weight.dtype)
        return self.policy(hidden), self.value(hidden).squeeze(-1)


def _orthogonal(layer: nn.Linear | BitLinear, gain: float) -> nn.Linear | BitLinear:
    """The layer with orthogonal weights, as PPO implementations start (Huang et al., 2022)."""
    nn.init.orthogonal_(layer.weight, gain)
    nn.init.zeros_(layer.bias)
    return layer
