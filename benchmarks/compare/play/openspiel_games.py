"""OpenSpiel: states of its own Python interface, the observation written into a tensor that is kept.

``set_from`` of an observer is the fastest way to an observation that its documentation has; games without an
observation tensor are observed by their information state. Chance events are drawn between the steps.
"""

from __future__ import annotations

import random
from itertools import compress

import clock
import open_spiel.python.games  # noqa: F401 - registers those written in Python
import pyspiel
from open_spiel.python.observation import make_observation


def observer_of(game: pyspiel.Game):
    return make_observation(game) or make_observation(game, pyspiel.IIGObservationType(perfect_recall=True))


def prepare(name: str) -> clock.Loop:
    game = pyspiel.load_game(name)
    observer, actions, chance = observer_of(game), range(game.num_distinct_actions()), random.Random(0)

    def play(calls: int) -> None:
        state = game.new_initial_state()
        for _ in range(calls):
            while state.is_terminal() or state.is_chance_node():
                if state.is_terminal():
                    state = game.new_initial_state()
                else:
                    outcomes, weights = zip(*state.chance_outcomes(), strict=True)
                    state.apply_action(chance.choices(outcomes, weights)[0])
            observer.set_from(state, state.current_player())
            legal = list(compress(actions, state.legal_actions_mask()))
            state.apply_action(legal[int(chance.random() * len(legal))])

    return clock.Loop(play, observer.tensor.nbytes, len(actions))


if __name__ == "__main__":
    clock.run(prepare)
