"""Pgx: ``jax.vmap`` over many games, finished ones reset in the same step, compiled by ``jax.jit``."""

from __future__ import annotations

import tempfile
from pathlib import Path

import clock
import jax
import jax_loop
import numpy as np
import pgx
from pgx.bridge_bidding import BridgeBidding
from pgx.experimental import auto_reset

NUM_DEALS = 100_000


def bridge_bidding() -> BridgeBidding:
    """Bridge on random deals whose double-dummy results are made up: they touch the reward and no step."""
    rng = np.random.default_rng(0)
    owners = rng.permuted(np.tile(np.repeat(np.arange(4), 13), (NUM_DEALS, 1)), axis=1)
    keys = owners.reshape(NUM_DEALS, 4, 13) @ 4 ** np.arange(13)[::-1]  # a base-4 digit says who holds a card
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "deals.npy"
        np.save(path, np.stack([keys, np.zeros_like(keys)]).astype(np.int32))
        return BridgeBidding(str(path))


def prepare(name: str) -> clock.Loop:
    env = bridge_bidding() if name == "bridge_bidding" else pgx.make(name)
    step = jax.vmap(auto_reset(env.step, env.init))

    def advance(state: pgx.State, key: jax.Array) -> pgx.State:
        chance, resets = jax.random.split(key)
        actions = jax_loop.legal(state.legal_action_mask, chance)
        return step(state, actions, jax.random.split(resets, jax_loop.NUM_GAMES))

    state = jax.jit(jax.vmap(env.init))(jax.random.split(jax.random.key(1), jax_loop.NUM_GAMES))
    sizes = state.observation[0].nbytes, state.legal_action_mask[0].nbytes
    play = jax_loop.player(advance, state)
    return clock.Loop(play, *sizes, jax_loop.NUM_GAMES * jax_loop.STEPS_PER_CALL)


if __name__ == "__main__":
    clock.run(prepare)
