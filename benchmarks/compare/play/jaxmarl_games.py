"""JaxMARL: ``env.step``, which resets by itself, under ``jax.vmap``; all players get an observation."""

from __future__ import annotations

from typing import Any

import clock
import jax
import jax_loop
import jaxmarl


def prepare(name: str) -> clock.Loop:
    env = jaxmarl.make(name)
    step, masks_of = jax.vmap(env.step), jax.vmap(env.get_legal_moves)

    def advance(game: tuple[Any, Any, Any], key: jax.Array) -> tuple[Any, Any, Any]:
        _, state, masks = game
        chance, resets = jax.random.split(key)
        actions = {agent: jax_loop.legal(mask > 0, chance) for agent, mask in masks.items()}
        observations, state, *_ = step(jax.random.split(resets, jax_loop.NUM_GAMES), state, actions)
        return observations, state, masks_of(state)

    observations, state = jax.vmap(env.reset)(jax.random.split(jax.random.key(1), jax_loop.NUM_GAMES))
    game = observations, state, jax.jit(masks_of)(state)
    sizes = [sum(rows[0].nbytes for rows in shown.values()) for shown in (game[0], game[2])]
    return clock.Loop(jax_loop.player(advance, game), *sizes, jax_loop.NUM_GAMES * jax_loop.STEPS_PER_CALL)


if __name__ == "__main__":
    clock.run(prepare)
