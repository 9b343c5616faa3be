"""Advantages per seat, across the turns of the other seats.

A rollout holds one decision per match and step, each by whichever seat was to move. For a seat the next state
is its *own next decision*; the rewards of all steps between the two belong to the first one. So each seat has
its own chain of decisions, and generalised advantage estimation (Schulman et al., 2016) runs along each:

    delta = r + gamma * V(next own decision) - V(this one)
    A     = delta + gamma * lambda * A(next own decision)

A finished episode ends the chains of all seats: no value follows. Where the rollout ends first, a seat's last
decision in it only serves as the value that follows; it is left out of the update (``usable`` is False).
"""

from __future__ import annotations

import numpy as np

from fivesthrees_env.kernel.jit import jit

__all__ = ["seat_advantages"]


def seat_advantages(
    rewards: np.ndarray,
    values: np.ndarray,
    seats: np.ndarray,
    dones: np.ndarray,
    num_players: int,
    gamma: float,
    lam: float,
) -> tuple[np.ndarray, np.ndarray]:
    """Advantages along each seat's own chain of decisions.

    Args:
        rewards: (T, N, sides) float32; what step t was worth to each side.
        values: (T, N) float32; the value of decision t to the seat that made it.
        seats: (T, N) int8; that seat. Seat s belongs to side s modulo the number of sides.
        dones: (T, N) bool; whether step t ended the episode.
        num_players: seats at the table.
        gamma: discount per own decision.
        lam: the lambda of generalised advantage estimation.

    Returns:
        Advantages (T, N) float32, and usable (T, N) bool. Returns are advantages + values.
    """
    advantages = np.zeros_like(values)
    usable = np.zeros(values.shape, np.bool_)
    _seat_advantages(rewards, values, seats, dones, num_players, gamma, lam, advantages, usable)
    return advantages, usable


@jit
def _seat_advantages(rewards, values, seats, dones, num_players, gamma, lam, advantages, usable):
    steps, matches, sides = rewards.shape
    for i in range(matches):
        earned = np.zeros(num_players)  # since the seat's next decision, going backwards
        next_value = np.zeros(num_players)
        next_advantage = np.zeros(num_players)
        known = np.zeros(num_players, np.bool_)  # whether what follows is known
        for t in range(steps - 1, -1, -1):
            if dones[t, i]:
                earned[:] = 0.0
                next_value[:] = 0.0
                next_advantage[:] = 0.0
                known[:] = True
            for seat in range(num_players):
                earned[seat] += rewards[t, i, seat % sides]
            seat = seats[t, i]
            if known[seat]:
                delta = earned[seat] + gamma * next_value[seat] - values[t, i]
                next_advantage[seat] = delta + gamma * lam * next_advantage[seat]
                advantages[t, i] = next_advantage[seat]
                usable[t, i] = True
            known[seat] = True
            earned[seat] = 0.0
            next_value[seat] = values[t, i]
