"""A match as a sequence of rounds: what `Match`, the environments and the batch step through."""

from __future__ import annotations

from fivesthrees_env.kernel.deal import start_match, start_round
from fivesthrees_env.kernel.jit import jit
from fivesthrees_env.kernel.play import is_legal, play
from fivesthrees_env.kernel.random import seed_stream


@jit
def begin(match, seed):
    """A new match from a seed; `match.rules` is set already."""
    seed_stream(match, seed)
    start_match(match)


@jit
def step(match, action):
    """Make a legal action; a finished round that does not decide the match is followed by the next deal."""
    play(match, action)
    if match.event.round_end and not match.over:
        start_round(match)


@jit
def begin_one(matches, seed):
    """``begin`` for a batch of one."""
    begin(matches[0], seed)


@jit
def play_one(matches, action):
    """``play`` for a batch of one, if the action is legal; returns whether it was."""
    if not is_legal(matches[0], action):
        return False
    play(matches[0], action)
    return True
