"""Play agents against each other: batches of matches or rounds, each seat with its own agent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeGuard

import numpy as np

from agents.oracle import OracleAgent
from fivesthrees_env.kernel.deal import deal, lead_with_highest, start_round
from fivesthrees_env.kernel.episode import advance, begin
from fivesthrees_env.kernel.jit import jit
from fivesthrees_env.kernel.play import is_legal, only_action
from fivesthrees_env.kernel.record import MATCH
from fivesthrees_env.match import IllegalAction
from fivesthrees_env.opponents import Agent
from fivesthrees_env.rules import Rules
from fivesthrees_env.views import redact_many

__all__ = ["deal_next_rounds", "deal_rounds", "new_matches", "play_out"]


def new_matches(rules: Rules, seeds: np.ndarray) -> np.ndarray:
    """Fresh matches, one per seed, dealt like ``Match(rules, seed)``: (N,) of dtype ``MATCH``."""
    matches = np.zeros(len(seeds), MATCH)
    matches["rules"] = rules.record
    _begin(matches, np.asarray(seeds, np.int64))
    return matches


def deal_rounds(rules: Rules, seeds: np.ndarray, openers: np.ndarray) -> np.ndarray:
    """Rounds from 0 points with the deal of a seed and a chosen opener: (N,) of dtype ``MATCH``.

    Where the highest double leads the first round, the deal decides, and `openers` is without effect.
    """
    matches = new_matches(rules, seeds)
    _redeal(matches, np.asarray(openers, np.int64), rules.lead_first == "highest_double")
    return matches


def deal_next_rounds(matches: np.ndarray) -> None:
    """Deal the next round of matches (N,) that ``play_out(…, one_round=True)`` left at the end of one.

    Matches that are over stay as they are. Rounds played one by one like this make the same match.
    """
    _start_rounds(matches)


def play_out(
    matches: np.ndarray,
    agents: Sequence[Agent],
    seating: np.ndarray,
    rng: np.random.Generator,
    one_round: bool = False,
) -> None:
    """Play matches to their end, or only the running round, in place.

    Agents are asked only where there is a choice, all waiting matches of one agent in one call.

    Args:
        matches: (N,) of dtype ``MATCH``.
        agents: who plays.
        seating: (N, players) int; the index into `agents` of who sits where.
        rng: the agents' source of chance.
        one_round: stop each match at the end of its round.

    Raises:
        IllegalAction: if an agent chooses what it may not; it names the agent.
        TypeError: if an agent other than the oracle asks for matches; nothing has been played.
    """
    open_hands = [sees_all_hands(agent) for agent in agents]  # asked once: what an agent becomes is no matter
    running = np.arange(len(matches))
    while True:
        running = running[~_play_forced(matches, running, one_round)]
        if not running.size:
            return
        to_move = seating[running, matches["seat"][running]]
        for index, agent in enumerate(agents):
            asked = running[to_move == index]
            if asked.size:
                _make_moves(matches, asked, agent, open_hands[index], rng, one_round)


def _make_moves(
    matches: np.ndarray,
    asked: np.ndarray,
    agent: Agent,
    open_hands: bool,
    rng: np.random.Generator,
    one_round: bool,
) -> None:
    actions = np.asarray(_ask(agent, open_hands, matches[asked], rng))
    if actions.shape != asked.shape or actions.dtype.kind not in "iu":
        raise IllegalAction(
            f"agent {agent.name!r} chose {actions.dtype} of shape {actions.shape}; "
            f"allowed: whole numbers of shape {asked.shape}"
        )
    bad = _play_chosen(matches, asked, actions.astype(np.int64), one_round)
    if bad >= 0:
        raise IllegalAction(f"agent {agent.name!r} chose action {actions[bad]}, which is not legal")


def sees_all_hands(agent: Agent) -> TypeGuard[OracleAgent]:
    """Whether an agent is given matches instead of views: the oracle, and no other class.

    Raises:
        TypeError: if another agent has the oracle's method, ``act_on_matches``.
    """
    if type(agent) is OracleAgent:
        return True
    if hasattr(agent, "act_on_matches"):
        raise TypeError(
            f"agent {agent.name!r} has act_on_matches; allowed: act(views, rng), since only the oracle sees "
            "all hands"
        )
    return False


def _ask(agent: Agent, open_hands: bool, batch: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """What an agent chooses in each match of a batch: by views, but for the oracle."""
    if open_hands:
        assert isinstance(agent, OracleAgent)
        return agent.act_on_matches(batch, rng)
    views = np.zeros(len(batch), MATCH)
    redact_many(views, batch, batch["seat"])
    return agent.act(views, rng)


@jit
def _begin(matches, seeds):
    for i in range(matches.size):
        begin(matches[i], seeds[i])


@jit
def _redeal(matches, openers, by_highest):
    for i in range(matches.size):
        deal(matches[i], openers[i])
        if by_highest:
            lead_with_highest(matches[i])


@jit
def _start_rounds(matches):
    for i in range(matches.size):
        if not matches[i].over:
            start_round(matches[i])


@jit
def _play_forced(matches, running, one_round):
    """Play on where there is no choice: which of the running matches are over."""
    over = np.zeros(running.size, np.bool_)
    for k in range(running.size):
        match = matches[running[k]]
        # An event that ended a round stays to be read when the next round is dealt, without plies yet.
        over[k] = match.over or (one_round and match.event.round_end and match.num_plies > 0)
        while not over[k]:
            action = only_action(match)
            if action < 0:
                break
            over[k] = advance(match, action, one_round)
    return over


@jit
def _play_chosen(matches, asked, actions, one_round):
    """Make the chosen actions; the position of the first illegal one, or -1."""
    for k in range(asked.size):
        if not is_legal(matches[asked[k]], actions[k]):
            return k
        advance(matches[asked[k]], actions[k], one_round)
    return -1
