"""The neural agent: a trained network that plays views."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import torch

from agents import checkpoints
from agents.networks import PolicyValueNet
from agents.sampling import best_actions, sample_actions
from fivesthrees_env.observations import Layout, encode_many
from fivesthrees_env.opponents import action_masks, rules_of
from fivesthrees_env.rules import Rules

__all__ = ["NeuralAgent"]


class NeuralAgent:
    """Plays with a network.

    Args:
        network: the network.
        rules: what it was trained to play.
        greedy: take the likeliest action instead of drawing one.
        name: how tables call it.
        about: the checkpoint's description, for those who want to know.
    """

    def __init__(
        self,
        network: PolicyValueNet,
        rules: Rules,
        greedy: bool = True,
        name: str = "neural",
        about: dict[str, Any] | None = None,
    ) -> None:
        self.network = network
        self.rules = rules
        self.greedy = greedy
        self.name = name
        self.about = about or {}
        self._layout = Layout.of(rules)

    @classmethod
    def load(cls, path: str | Path, rules: Rules | None = None, greedy: bool = True) -> NeuralAgent:
        """The agent of a checkpoint.

        Raises:
            CheckpointError: if it is damaged, or does not fit `rules`.
        """
        tensors, about = checkpoints.read(path)
        if rules is not None:
            checkpoints.check_fit(about, rules)
        trained_for = checkpoints.check_rules(about)
        network = PolicyValueNet(**_shape(trained_for, tensors, about))
        checkpoints.tensors_to_state(network, tensors)
        path = Path(path).resolve()
        name = path.name if path.is_dir() else path.parent.name
        return cls(network.eval(), trained_for, greedy, name, about)

    def save(self, path: str | Path) -> None:
        """Write the agent as a checkpoint."""
        about = {**self.about, **checkpoints.describe(self.rules, self.network.shape)}
        checkpoints.write(path, self.network.state_dict(), about)

    def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See ``Agent.act``.

        Raises:
            CheckpointError: if the views are of other rules than the network was trained for.
        """
        if not len(views):
            return np.empty(0, np.int64)
        rules = rules_of(views)
        if rules != self.rules:
            checkpoints.check_fit(checkpoints.describe(self.rules, {}), rules)
        observations = np.empty((len(views), self._layout.size), np.int8)
        encode_many(views, self._layout, observations)
        with torch.inference_mode():
            logits = self.network(torch.from_numpy(observations))[0].numpy()
        masks = action_masks(views)
        return (
            best_actions(logits, masks)
            if self.greedy
            else sample_actions(logits, masks, rng.random(len(views)))[0]
        )


def _shape(rules: Rules, tensors: Mapping[str, torch.Tensor], about: Mapping[str, Any]) -> dict[str, int]:
    """The shape of a stored network, on which rules, tensors and description must agree.

    Raises:
        CheckpointError: if they do not.
    """
    shape = {"observation_size": Layout.of(rules).size, "num_actions": rules.num_actions}
    shape["width"] = tensors["value.weight"].numel() if "value.weight" in tensors else 0
    shape["depth"] = sum(key.startswith("body.") and key.endswith(".weight") for key in tensors)
    if about.get("network") != shape:
        raise checkpoints.CheckpointError(
            f"network: {about.get('network')} described, but rules and tensors make {shape}"
        )
    return shape
