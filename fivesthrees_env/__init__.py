"""Fives and Threes, and All Fives: scoring dominoes as reinforcement-learning environments.

>>> env = pettingzoo.make("aec", "fivesthrees/fives_and_threes-v0", num_players=4)
>>> env = gymnasium.make("fivesthrees/FivesAndThrees-v0", opponents="greedy")
>>> batch = MatchBatch(4096, "fives_and_threes-4p", seed=0)

Importing the package registers the environments and loads nothing else; the names below are loaded
when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import gymnasium

if TYPE_CHECKING:
    from fivesthrees_env.batch import MatchBatch
    from fivesthrees_env.match import DealError, IllegalAction, Match, RecordError
    from fivesthrees_env.observations import Layout, encode_history
    from fivesthrees_env.opponents import Agent, GreedyAgent, RandomAgent
    from fivesthrees_env.records import read_records, write_records
    from fivesthrees_env.rules import Rules, RulesError
    from fivesthrees_env.table import Event, Table
    from fivesthrees_env.views import redact

__version__ = "0.1.0"

__all__ = [
    "Agent",
    "DealError",
    "Event",
    "GreedyAgent",
    "IllegalAction",
    "Layout",
    "Match",
    "MatchBatch",
    "RandomAgent",
    "RecordError",
    "Rules",
    "RulesError",
    "Table",
    "encode_history",
    "read_records",
    "redact",
    "write_records",
]

_HOMES = {
    "batch": ("MatchBatch",),
    "match": ("DealError", "IllegalAction", "Match", "RecordError"),
    "observations": ("Layout", "encode_history"),
    "opponents": ("Agent", "GreedyAgent", "RandomAgent"),
    "records": ("read_records", "write_records"),
    "rules": ("Rules", "RulesError"),
    "table": ("Event", "Table"),
    "views": ("redact",),
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names}
_MODULES = ("all_fives_v0", "fives_and_threes_v0")


def __getattr__(name: str) -> Any:
    if name in _HOME_OF:
        value = getattr(importlib.import_module(f"{__name__}.{_HOME_OF[name]}"), name)
        globals()[name] = value
        return value
    if name in _MODULES:
        return importlib.import_module(f"{__name__}.{name}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__, *_MODULES})


def _register() -> None:
    """Make both games known to Gymnasium and, where it keeps a registry, to PettingZoo."""
    for name in ("FivesAndThrees", "AllFives"):
        if f"fivesthrees/{name}-v0" not in gymnasium.registry:
            gymnasium.register(
                id=f"fivesthrees/{name}-v0",
                entry_point=f"fivesthrees_env.gym:{name}Env",
                vector_entry_point=f"fivesthrees_env.gym:{name}VectorEnv",
            )
    try:
        from pettingzoo import aec_registry, register
    except ImportError:  # an older PettingZoo, without a registry
        return
    for name in ("fives_and_threes", "all_fives"):
        if f"fivesthrees/{name}-v0" not in aec_registry:
            register("aec", f"fivesthrees/{name}-v0", f"fivesthrees_env.{name}_v0:env")


_register()
