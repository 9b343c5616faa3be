"""Everything that plays. ``load`` finds an agent by name or by checkpoint.

>>> import agents
>>> agents.names()
('random', 'greedy')
>>> agents.load("runs/my-run/agent.safetensors")
"""

from __future__ import annotations

from pathlib import Path

from fivesthrees_env.opponents import Agent, GreedyAgent, RandomAgent
from fivesthrees_env.rules import Rules

__all__ = ["Agent", "GreedyAgent", "RandomAgent", "load", "names"]

_BY_NAME = {cls.name: cls for cls in (RandomAgent, GreedyAgent)}


def names() -> tuple[str, ...]:
    """The agents that are loaded by name."""
    return tuple(_BY_NAME)


def load(name_or_path: str | Path, rules: Rules | None = None) -> Agent:
    """An agent by its name, or a trained one by its checkpoint (a ``.safetensors`` file or its folder).

    Args:
        name_or_path: one of ``names()``, or a path.
        rules: what it is going to play; a checkpoint that was trained for something else is refused.

    Raises:
        ValueError: if there is no such name or path.
        CheckpointError: if the checkpoint is damaged or does not fit the rules; it says what differs.
    """
    if str(name_or_path) in _BY_NAME:
        return _BY_NAME[str(name_or_path)]()
    if not Path(name_or_path).exists():
        raise ValueError(
            f"no agent {str(name_or_path)!r}; allowed: {', '.join(names())}, or the path of a checkpoint"
        )
    from agents.neural import NeuralAgent

    return NeuralAgent.load(name_or_path, rules)
