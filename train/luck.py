"""How lucky the deals of a match were: a covariate of known mean 0, to take out of its result.

A deal is worth to a side what the match equity is after greedy has played the round out in all seats. Its
**luck** is that, minus the mean over the same hands dealt to the seats in all turned orders. A shuffled deck
makes every turned order equally likely, whatever was played before; so the luck of a deal has mean 0 exactly,
given everything before it, and so has the sum over the deals of a match. It matters neither how good greedy
or the equity is: better ones only take more variance away.

This is the correction for chance events of AIVAT (Burch, Schmid, Moravčík, Morrill and Bowling, "AIVAT: a new
variance reduction technique for agent evaluation in imperfect information games", AAAI 2018). AIVAT's
correction for the agents' own choices needs their probabilities, which an ``Agent`` does not tell.

Duplicate rounds have no use for it: the luck of a deal, added up over the exchanges of sides, is 0.
"""

from __future__ import annotations

import numpy as np

from agents.equity import Equity
from fivesthrees_env.kernel.deal import lead_with_highest
from fivesthrees_env.kernel.episode import advance
from fivesthrees_env.kernel.jit import jit
from fivesthrees_env.kernel.play import only_action
from fivesthrees_env.kernel.record import NONE
from fivesthrees_env.opponents import greedy_action

__all__ = ["luck_of_deals"]


def luck_of_deals(matches: np.ndarray, equity: Equity) -> np.ndarray:
    """The luck that each side has with a deal, in probability of winning the match.

    Args:
        matches: (N,) of dtype ``MATCH``; freshly dealt rounds, at any scores.
        equity: of their rules.

    Returns:
        (N, sides) float64; rows sum to 0.
    """
    orders = equity.rules.num_players
    turned = np.repeat(matches, orders)
    _play_turned(turned, orders)
    worth = equity.after_round(turned).astype(np.float64).reshape(len(matches), orders, -1)
    return worth[:, 0] - worth.mean(1)


@jit
def _play_turned(rounds, orders):
    """Turn the hands of the i-th round by i seats, and let greedy play it out."""
    for i in range(rounds.size):
        match = rounds[i]
        _turn_hands(match, i % orders)
        over = False
        while not over:
            action = only_action(match)
            if action < 0:
                action = greedy_action(match)  # reads nothing but what its seat may know
            over = advance(match, action, True)


@jit
def _turn_hands(match, seats):
    """Give every hand to the seat that many places to the left."""
    hands = (match.hands[0], match.hands[1], match.hands[2], match.hands[3])
    n = np.int64(match.rules.num_players)
    for seat in range(n):
        match.hands[(seat + seats) % n] = hands[seat]
    if match.must_lead != NONE:
        lead_with_highest(match)  # AF-2: the lead goes with the hand
