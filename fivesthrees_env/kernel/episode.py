"""A match as a sequence of rounds: what the batch, the environments and the arena step through."""

from __future__ import annotations

from fivesthrees_env.kernel.deal import start_match, start_round
from fivesthrees_env.kernel.jit import jit
from fivesthrees_env.kernel.play import play
from fivesthrees_env.kernel.random import seed_stream


@jit
def begin(match, seed):
    """A new match from a seed; `match.rules` is set already."""
    seed_stream(match, seed)
    start_match(match)


@jit
def advance(match, action, one_round):
    """Make a legal action, then deal the next round if one is due; returns whether the episode is over.

    An episode is the match, or with `one_round` its running round, after which nothing is dealt. The event
    of the action stays to be read.
    """
    play(match, action)
    if match.over or (one_round and match.event.round_end):
        return True
    if match.event.round_end:
        start_round(match)
    return False
