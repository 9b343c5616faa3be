"""Everything that plays. ``load`` finds an agent by name or by checkpoint.

>>> import agents
>>> agents.names()
('random', 'greedy', 'smart-greedy', 'expert', 'rollout', 'ismcts', 'pimc', 'oracle')
>>> agents.load("runs/my-run/agent.safetensors")
"""

from __future__ import annotations

import importlib
import re
from pathlib import Path

from fivesthrees_env.opponents import Agent, GreedyAgent, RandomAgent
from fivesthrees_env.rules import Rules

__all__ = ["Agent", "GreedyAgent", "RandomAgent", "load", "names"]

#: Where the agents are, by name; a module is imported when one of its agents is asked for.
_BY_NAME = {
    "random": "fivesthrees_env.opponents:RandomAgent",
    "greedy": "fivesthrees_env.opponents:GreedyAgent",
    "smart-greedy": "agents.scripted:SmartGreedyAgent",
    "expert": "agents.scripted:ExpertAgent",
    "rollout": "agents.rollout:RolloutAgent",
    "ismcts": "agents.ismcts:IsmctsAgent",
    "pimc": "agents.pimc:PimcAgent",
    "oracle": "agents.oracle:OracleAgent",
}


def names() -> tuple[str, ...]:
    """The agents that are loaded by name."""
    return tuple(_BY_NAME)


def load(name_or_path: str | Path, rules: Rules | None = None) -> Agent:
    """An agent by its name, or a trained one by its checkpoint (a ``.safetensors`` file or its folder).

    Args:
        name_or_path: one of ``names()``, a path, or ``module:Class`` for a class of one's own, which is
            called without arguments.
        rules: what it is going to play; a checkpoint that was trained for something else is refused.

    Raises:
        ValueError: if there is no such name, path or class.
        CheckpointError: if the checkpoint is damaged or does not fit the rules; it says what differs.
    """
    name = str(name_or_path)
    name = _BY_NAME.get(name, name)
    if re.fullmatch(r"[\w.]+:\w+", name):
        return _load_class(*name.split(":"))
    if not Path(name_or_path).exists():
        raise ValueError(
            f"no agent {name!r}; allowed: {', '.join(names())}, the path of a checkpoint, or module:Class"
        )
    try:
        from agents.neural import NeuralAgent
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(
            f"trained agents need {error.name}: pip install -e '.[train]'", name=error.name
        ) from error
    return NeuralAgent.load(name_or_path, rules)


def _load_class(module: str, name: str) -> Agent:
    try:
        made = getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ValueError(f"no agent {module}:{name} ({error})") from error
    agent = made() if callable(made) else made
    if not isinstance(agent, Agent):
        raise ValueError(f"no agent {module}:{name}; allowed: what makes an Agent (name, act), or one")
    return agent
