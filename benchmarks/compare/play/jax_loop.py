"""Random legal play over a JAX environment: one compiled call makes many steps of many games."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp

NUM_GAMES = 4096
STEPS_PER_CALL = 8


def legal(masks: jax.Array, key: jax.Array) -> jax.Array:
    """A uniformly random legal action of each row: (N, actions) bool in, (N,) int32 out."""
    counts = masks.sum(-1)
    chosen = (jax.random.uniform(key, counts.shape) * counts).astype(jnp.int32)
    return (masks.cumsum(-1) > chosen[:, None]).argmax(-1).astype(jnp.int32)


def player(advance: Callable[[Any, jax.Array], Any], games: Any) -> Callable[[int], None]:
    """Play on from these games by calls of ``advance(games, key)``, which makes one step of each."""

    @partial(jax.jit, donate_argnums=0)
    def advance_all(games: Any, key: jax.Array) -> tuple[Any, jax.Array]:
        key, *keys = jax.random.split(key, STEPS_PER_CALL + 1)
        games, _ = jax.lax.scan(lambda now, key: (advance(now, key), None), games, jnp.stack(keys))
        return games, key

    key = jax.random.key(0)

    def play(calls: int) -> None:
        nonlocal games, key
        for _ in range(calls):
            games, key = advance_all(games, key)
        jax.block_until_ready(games)

    return play
