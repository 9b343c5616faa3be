"""The Gymnasium environments: Gymnasium's checker, and what the documentation promises."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env, data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

from fivesthrees_env import fives_and_threes_v0, interface
from fivesthrees_env.gym import (
    AllFivesEnv,
    AllFivesVectorEnv,
    FivesAndThreesEnv,
    FivesAndThreesVectorEnv,
)
from fivesthrees_env.match import DealError, IllegalAction, Match
from fivesthrees_env.opponents import GreedyAgent, RandomAgent
from fivesthrees_env.rules import Rules, RulesError

IDS = ("fivesthrees/FivesAndThrees-v0", "fivesthrees/AllFives-v0")
STANDARD = [(name, n) for name in IDS for n in (2, 3, 4)]
PRESETS = ["fives_and_threes-2p", "fives_and_threes-4p", "all_fives-3p", "mini-3-pairs"]

#: Arguments that between them reach every branch.
VARIED: list[dict[str, Any]] = [
    {"rules": "fives_and_threes-4p"},
    {"rules": "fives_and_threes-2p", "opponents": "random", "seat": "random"},
    {"rules": "all_fives-3p", "opponents": ["random", "greedy"], "reward": "margin", "seat": 2},
    {"rules": "mini-3-pairs", "partner": "random", "episode": "round", "seat": "random"},
    {"rules": "mini-3-pairs", "max_rounds": 2, "reward": "win", "skip_forced": True},
    {"rules": "mini-2", "episode": "round", "skip_forced": True, "opponents": "random"},
]


class Outside(GreedyAgent):
    """Plays like greedy, but compiled code does not know it: it has to be asked."""

    name = "outside"

    def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        assert (views["seat"] == 0).all()
        assert not views["hands"][:, 1:].any()
        assert not views["key"].any()
        return super().act(views, rng)


class Answers:
    """An agent that answers whatever it was made with."""

    name = "answers"

    def __init__(self, answer: Callable[[int], Any]) -> None:
        self.answer = answer

    def act(self, views: np.ndarray, rng: np.random.Generator) -> Any:
        return self.answer(len(views))


def choose(info: dict[str, Any], rng: np.random.Generator) -> int:
    """A random legal action."""
    return int(rng.choice(np.flatnonzero(info["action_mask"])))


def choose_all(info: dict[str, Any], rng: np.random.Generator) -> np.ndarray:
    """A random legal action for each match."""
    masks = info["action_mask"]
    return (rng.random(masks.shape) * masks).argmax(1)


def snapshot(env: Any) -> list[bytes]:
    """All that the games of an environment are, comparable."""
    games = env.unwrapped._games
    return [array[name].tobytes() for array in (games.matches, games.games) for name in array.dtype.names]


# ----------------------------------------------------------------- Gymnasium's own tests


@pytest.mark.parametrize(("name", "num_players"), STANDARD)
def test_gymnasium_checker_passes(name: str, num_players: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(interface, "RENDER_FPS", 1000)
    check_env(gymnasium.make(name, num_players=num_players).unwrapped)


@pytest.mark.parametrize("arguments", VARIED)
def test_gymnasium_checker_passes_for_other_arguments(arguments: dict[str, Any]) -> None:
    env = gymnasium.make(IDS[0], **{**arguments, "max_rounds": None})
    check_env(env.unwrapped, skip_render_check=True)


# ---------------------------------------------------------------------------- registration


@pytest.mark.parametrize(
    ("name", "single", "vector"),
    [
        (IDS[0], FivesAndThreesEnv, FivesAndThreesVectorEnv),
        (IDS[1], AllFivesEnv, AllFivesVectorEnv),
    ],
)
def test_gymnasium_makes_both_games_by_id(name: str, single: type, vector: type) -> None:
    assert type(gymnasium.make(name, num_players=3).unwrapped) is single
    envs = gymnasium.make_vec(name, num_envs=5, vectorization_mode="vector_entry_point")
    assert type(envs) is type(gymnasium.make_vec(name, num_envs=5)) is vector
    assert envs.metadata["autoreset_mode"] is AutoresetMode.SAME_STEP
    assert envs.observation_space.shape == (5, *envs.single_observation_space.shape)
    assert envs.action_space.nvec.tolist() == [envs.single_action_space.n] * 5


def test_standard_rules_are_those_of_the_game() -> None:
    assert FivesAndThreesEnv().rules == Rules.fives_and_threes(4)
    assert AllFivesEnv(num_players=2).rules == Rules.all_fives(2)
    assert AllFivesVectorEnv(3).rules == Rules.all_fives(4)


# ---------------------------------------------------------------- against plain play by hand


@pytest.mark.parametrize("scheme", ["points", "margin", "win"])
@pytest.mark.parametrize("preset", PRESETS)
def test_an_episode_is_what_the_aec_environment_plays_with_greedy_agents(preset: str, scheme: str) -> None:
    rules, greedy, rng = Rules.preset(preset), GreedyAgent(), np.random.default_rng(1)
    for seat in range(rules.num_players):
        learner = f"player_{seat}"
        env = FivesAndThreesEnv(rules=rules, seat=seat, reward=scheme)
        table = fives_and_threes_v0.env(rules=rules, reward=scheme)
        table.reset(seed=seat)

        def others_play(table: Any = table, learner: str = learner) -> float:
            gained = 0.0
            while table.agent_selection != learner and not any(table.terminations.values()):
                match = table.unwrapped.match
                table.step(greedy.act(match.view(match.seat), rng)[0])
                gained += table.rewards[learner]
            return gained

        observation, info = env.reset(seed=seat)
        due, terminated = others_play(), False
        while not terminated:
            seen = table.observe(learner)
            assert (observation == seen["observation"]).all()
            assert (info["action_mask"] == seen["action_mask"]).all()
            action = choose(info, rng)
            observation, reward, terminated, truncated, info = env.step(action)
            table.step(action)
            due += table.rewards[learner] + others_play()
            assert reward == pytest.approx(due, abs=1e-12)
            assert terminated == table.terminations[learner]
            assert not truncated
            due = 0.0
        seen = table.observe(learner)
        assert (observation == seen["observation"]).all()
        assert not info["action_mask"].any()
        assert info["won"] == (table.unwrapped.match.winner == rules.side_of(seat))


@pytest.mark.parametrize("preset", PRESETS)
def test_points_of_an_episode_are_the_final_score(preset: str) -> None:
    env, rng = FivesAndThreesEnv(rules=preset, seat="random"), np.random.default_rng(2)
    for seed in range(8):
        _, info = env.reset(seed=seed)
        total, over = 0.0, False
        while not over:
            _, reward, over, _, info = env.step(choose(info, rng))
            total += reward
        assert total == env.table.scores[env.rules.side_of(env.seat)]


@pytest.mark.parametrize("preset", PRESETS)
def test_agents_from_outside_play_like_built_in_ones(preset: str) -> None:
    rng = np.random.default_rng(3)
    others = Rules.preset(preset).num_players - 1
    outside = Outside()
    made = ["greedy", [outside] * others, [Outside() for _ in range(others)]]
    envs = [
        FivesAndThreesVectorEnv(16, rules=preset, opponents=agents, seat="random", max_rounds=3)
        for agents in made
    ]
    seen = [env.reset(seed=3) for env in envs]
    for _ in range(60):
        assert data_equivalence(seen[0], seen[1], exact=True)
        assert data_equivalence(seen[0], seen[2], exact=True)
        actions = choose_all(seen[0][-1], rng)
        seen = [env.step(actions) for env in envs]


# ------------------------------------------------------------------------- the vector of them


@pytest.mark.parametrize("arguments", VARIED)
def test_a_vector_plays_like_single_environments_side_by_side(arguments: dict[str, Any]) -> None:
    count, rng = 12, np.random.default_rng(4)
    ours = FivesAndThreesVectorEnv(count, **arguments)
    plain = SyncVectorEnv(
        [lambda: FivesAndThreesEnv(**arguments)] * count, autoreset_mode=AutoresetMode.SAME_STEP
    )
    assert ours.observation_space == plain.observation_space
    assert ours.action_space == plain.action_space
    mine, theirs = ours.reset(seed=4), plain.reset(seed=4)
    ended = 0
    for step in range(150):
        assert data_equivalence(mine, theirs, exact=True)
        actions = choose_all(mine[-1], rng)
        if step % 7 == 6:
            actions[rng.integers(count)] = ours.single_action_space.n - 1  # most often illegal
        mine, theirs = ours.step(actions), plain.step(actions)
        ended += int((mine[2] | mine[3]).sum())
    assert ended > count


@pytest.mark.parametrize("name", IDS)
def test_a_vector_gives_fresh_arrays(name: str) -> None:
    envs, rng = gymnasium.make_vec(name, num_envs=3, episode="round"), np.random.default_rng(5)
    twins = gymnasium.make_vec(name, num_envs=3, episode="round")
    seen, theirs = envs.reset(seed=5), twins.reset(seed=5)
    for _ in range(25):
        assert data_equivalence(seen, theirs, exact=True)
        actions = choose_all(seen[-1], rng)
        for array in (*seen[:-1], seen[-1]["action_mask"]):
            array[:] = 0
        seen, theirs = envs.step(actions), twins.step(actions)


def test_match_i_of_a_vector_is_dealt_like_the_match_of_seed_plus_i() -> None:
    games = FivesAndThreesVectorEnv(4, num_players=2)._games
    games.begin(6, None)
    for row in range(4):
        assert games.table(row).hands == Match("fives_and_threes-2p", seed=6 + row).hands


def test_final_observations_come_with_the_step_that_ends_an_episode() -> None:
    envs = FivesAndThreesVectorEnv(32, rules="mini-3", reward="win")
    rng = np.random.default_rng(7)
    _, info = envs.reset(seed=7)
    won = lost = 0
    for _ in range(60):
        observations, rewards, terminated, truncated, info = envs.step(choose_all(info, rng))
        assert not truncated.any()
        assert (info["action_mask"].any(1)).all()
        assert ("final_obs" in info) == bool(terminated.any())
        if terminated.any():
            assert (info["_final_obs"] == terminated).all()
            assert (info["final_info"]["_won"] == terminated).all()
            assert (info["final_info"]["won"] == (rewards == 1)).all()
            for row in np.flatnonzero(terminated):
                assert (info["final_obs"][row] != observations[row]).any()
            won += int((rewards == 1).sum())
            lost += int((rewards == -1).sum())
    assert won > 0
    assert lost > 0


def test_renderings_of_a_vector_are_one_per_match() -> None:
    envs = FivesAndThreesVectorEnv(2, rules="mini-3", render_mode="ansi")
    envs.reset(seed=0)
    assert [type(frame) for frame in envs.render()] == [str, str]
    with pytest.raises(ValueError, match="render_mode"):
        FivesAndThreesVectorEnv(2, render_mode="human")
    envs.close()


# -------------------------------------------------------------------------- whose turn it is


@pytest.mark.parametrize("arguments", VARIED)
def test_the_learner_always_has_an_action_and_a_choice_if_forced_ones_are_skipped(
    arguments: dict[str, Any],
) -> None:
    envs = FivesAndThreesVectorEnv(32, **arguments)
    rng = np.random.default_rng(8)
    _, info = envs.reset(seed=8)
    for _ in range(80):
        choices = info["action_mask"].sum(1)
        assert (choices >= (2 if arguments.get("skip_forced") else 1)).all()
        assert (envs.action_masks() == info["action_mask"]).all()
        *_, info = envs.step(choose_all(info, rng))


def test_skipping_forced_actions_changes_no_episode() -> None:
    for seed in range(10):
        results = []
        for skip_forced in (False, True):
            env = FivesAndThreesEnv(num_players=4, skip_forced=skip_forced)
            _, info = env.reset(seed=seed)
            total, over = 0.0, False
            while not over:
                action = int(np.flatnonzero(info["action_mask"])[-1])
                _, reward, over, _, info = env.step(action)
                total += reward
            results.append((total, env.table.scores, env.table.line))
        assert results[0] == results[1]


def test_episodes_without_any_choice_are_an_error_and_no_endless_loop() -> None:
    env = FivesAndThreesEnv(rules=Rules(num_players=2, hand_size=1), skip_forced=True)
    with pytest.raises(ValueError, match="never"):
        env.reset(seed=0)


def test_a_random_seat_is_drawn_in_each_episode_and_follows_from_the_seed() -> None:
    def seats() -> list[int]:
        env = FivesAndThreesEnv(rules="mini-3-pairs", seat="random")
        env.reset(seed=9)
        drawn = [env.seat]
        for _ in range(40):
            env.reset()
            drawn.append(env.seat)
        return drawn

    assert seats() == seats()
    assert set(seats()) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("preset", "opponents", "partner", "names"),
    [
        ("fives_and_threes-4p", "random", None, ["random", "greedy", "random"]),
        ("fives_and_threes-4p", "random", "random", ["random", "random", "random"]),
        ("fives_and_threes-4p", ["random", "greedy"], "random", ["random", "random", "greedy"]),
        (
            "fives_and_threes-4p",
            ["random", "random", "greedy"],
            None,
            ["random", "random", "greedy"],
        ),
        ("fives_and_threes-3p", ["random", Outside()], None, ["random", "outside"]),
        ("all_fives-4p", Outside(), None, ["outside"] * 3),
    ],
)
def test_agents_sit_in_the_order_from_the_learners_left(
    preset: str, opponents: Any, partner: Any, names: list[str]
) -> None:
    rules = Rules.preset(preset)
    env = FivesAndThreesEnv(rules=rules, opponents=opponents, partner=partner)
    codes = env._games._settings["agents"][0, 1 : rules.num_players].tolist()
    known = ["random", "greedy", *(agent.name for agent in env._games._outside)]

    assert [known[code] for code in codes] == names


# -------------------------------------------------------------------------- illegal actions

HOSTILE = [
    -1,
    57,
    10**30,
    1.0,
    float("nan"),
    True,
    None,
    "0",
    [0, 1],
    np.float64(0),
    np.bool_(True),
]


@pytest.mark.parametrize("action", HOSTILE)
def test_an_illegal_action_loses_the_match(action: Any) -> None:
    env, rng = FivesAndThreesEnv(reward="margin"), np.random.default_rng(10)
    _, info = env.reset(seed=10)
    for _ in range(4):
        *_, info = env.step(choose(info, rng))
    before = snapshot(env)[:-4]
    _, reward, terminated, truncated, info = env.step(action)

    assert (reward, terminated, truncated) == (-61.0, True, False)
    assert not info["action_mask"].any()
    assert info["won"] is False
    assert snapshot(env)[:-4] == before
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(0)


@pytest.mark.parametrize("action", HOSTILE)
def test_an_illegal_action_can_raise_and_change_nothing(action: Any) -> None:
    env = FivesAndThreesEnv(illegal="raise")
    _, info = env.reset(seed=11)
    before = snapshot(env)
    illegal = int(np.flatnonzero(info["action_mask"] == 0)[0])
    for wrong in (action, illegal, np.int8(illegal)):
        with pytest.raises(IllegalAction, match="allowed"):
            env.step(wrong)
    assert snapshot(env) == before
    env.step(np.array(choose(info, np.random.default_rng(11)), np.uint8))


@pytest.mark.parametrize(
    "actions",
    [
        [0, 0],
        [0, 0, 0, 0],
        np.zeros((3, 1), int),
        np.zeros(3),
        [float("nan")] * 3,
        [True] * 3,
        None,
        "000",
        [None] * 3,
    ],
)
@pytest.mark.parametrize("illegal", ["raise", "terminate"])
def test_a_vector_refuses_what_are_no_actions_and_changes_nothing(actions: Any, illegal: str) -> None:
    envs = FivesAndThreesVectorEnv(3, illegal=illegal)
    envs.reset(seed=12)
    before = snapshot(envs)
    with pytest.raises(IllegalAction, match="whole numbers"):
        envs.step(actions)
    assert snapshot(envs) == before


def test_a_vector_names_the_match_with_an_illegal_action() -> None:
    envs, rng = FivesAndThreesVectorEnv(3, illegal="raise"), np.random.default_rng(13)
    _, info = envs.reset(seed=13)
    actions = choose_all(info, rng)
    actions[1] = int(np.flatnonzero(info["action_mask"][1] == 0)[0])
    before = snapshot(envs)
    with pytest.raises(IllegalAction, match=r"actions\[1\]"):
        envs.step(actions)
    assert snapshot(envs) == before


@pytest.mark.parametrize(
    "answer",
    [
        lambda n: np.full(n, -1),
        np.zeros,
        lambda n: np.zeros(n + 1, int),
        lambda n: [None] * n,
    ],
)
def test_wrong_answers_of_an_agent_are_named(answer: Callable[[int], Any]) -> None:
    env = FivesAndThreesEnv(num_players=2, opponents=Answers(answer))
    with pytest.raises(IllegalAction, match="'answers'"):
        env.reset(options={"hands": [[(0, 0)], [(1, 1)]], "opener": 1})


# --------------------------------------------------------------------- seeds, positions, copies


@pytest.mark.parametrize("count", [None, 4])
def test_resets_without_a_seed_follow_from_the_last_seed(count: int | None) -> None:
    def openings() -> list[bytes]:
        env: Any = FivesAndThreesVectorEnv(count) if count else FivesAndThreesEnv()
        first, _ = env.reset(seed=14)
        return [first.tobytes(), *(env.reset()[0].tobytes() for _ in range(5))]

    assert openings() == openings()
    assert len(set(openings())) == 6


def test_the_first_reset_without_a_seed_is_left_to_chance() -> None:
    assert (FivesAndThreesEnv().reset()[0] != FivesAndThreesEnv().reset()[0]).any()


def test_options_set_up_a_position() -> None:
    options = {"hands": [[(1, 4), (2, 2)], [(0, 3)]], "opener": 0, "scores": [20, 60]}
    env, envs = FivesAndThreesEnv(num_players=2), FivesAndThreesVectorEnv(3, num_players=2)
    observation, _ = env.reset(seed=0, options=options)
    observations, _ = envs.reset(seed=0, options=options)

    assert env.table.hands == (((1, 4), (2, 2)), ((0, 3),))
    assert env.table.scores == (20, 60)
    assert (observations == observation).all()


@pytest.mark.parametrize("options", [{"hand": []}, {"scores": [61, 0]}, {"opener": 9}, ["hands"]])
def test_impossible_options_are_refused_and_change_nothing(options: Any) -> None:
    for make in (FivesAndThreesEnv, lambda **a: FivesAndThreesVectorEnv(2, **a)):
        env = make(num_players=2)
        env.reset(seed=15)
        before, chance = snapshot(env), env.np_random.bit_generator.state
        for seed in (None, 1):
            with pytest.raises(DealError):
                env.reset(seed=seed, options=options)
        assert snapshot(env) == before
        assert env.np_random.bit_generator.state == chance


@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("arguments", VARIED[:4])
def test_copies_continue_identically(twin_of: Callable[[Any], Any], arguments: dict[str, Any]) -> None:
    rng = np.random.default_rng(16)
    for env in (FivesAndThreesEnv(**arguments), FivesAndThreesVectorEnv(1, **arguments)):
        _, info = env.reset(seed=16)
        act = choose if isinstance(env, FivesAndThreesEnv) else choose_all
        twin: Any = None
        for step in range(60):
            if step == 7:
                twin = twin_of(env)
            action = act(info, rng)
            seen = env.step(action)
            if twin is not None:
                assert data_equivalence(seen, twin.step(action), exact=True)
            info = seen[-1]
            if seen[2] and isinstance(env, FivesAndThreesEnv):
                _, info = env.reset()
                if twin is not None:
                    assert data_equivalence(info, twin.reset()[1], exact=True)


# ---------------------------------------------------------------------------------- arguments


@pytest.mark.parametrize("make", [FivesAndThreesEnv, FivesAndThreesVectorEnv])
@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"num_players": 5}, "num_players"),
        ({"num_players": 3, "rules": "mini-3"}, "num_players: 3 given; allowed: None or 2"),
        ({"rules": "chess"}, "chess"),
        ({"opponents": "kasparov"}, "kasparov"),
        ({"opponents": ["greedy"]}, "opponents: 1 given"),
        ({"opponents": ["greedy"] * 4}, "opponents: 4 given"),
        ({"opponents": ["greedy"] * 3, "partner": "random"}, "partner"),
        ({"num_players": 2, "partner": "greedy"}, "partner"),
        ({"partner": "kasparov"}, "kasparov"),
        ({"seat": 4}, "seat"),
        ({"seat": "left"}, "seat"),
        ({"seat": True}, "seat"),
        ({"episode": "game"}, "episode"),
        ({"reward": "score"}, "reward"),
        ({"max_rounds": 0}, "max_rounds"),
        ({"illegal": "ignore"}, "illegal"),
        ({"render_mode": "text"}, "render_mode"),
    ],
)
def test_impossible_arguments_are_refused_by_name(
    make: Callable[..., Any], arguments: dict[str, Any], named: str
) -> None:
    with pytest.raises(ValueError, match=named):
        make(**arguments)


def test_what_is_no_agent_is_refused() -> None:
    with pytest.raises(TypeError, match="opponent"):
        FivesAndThreesEnv(opponents=7)
    with pytest.raises(RulesError):
        FivesAndThreesEnv(rules=7)
    with pytest.raises(ValueError, match="num_envs"):
        FivesAndThreesVectorEnv(0)


class Failing:
    """Plays randomly, but not always."""

    name = "failing"

    def __init__(self) -> None:
        self.fails, self.rng = False, None

    def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        self.rng = rng
        if self.fails:
            raise RuntimeError("out of ideas")
        return RandomAgent().act(views, rng)


def test_a_vector_environment_wants_a_reset_first() -> None:
    envs = FivesAndThreesVectorEnv(2)
    with pytest.raises(gymnasium.error.ResetNeeded):
        envs.step(np.zeros(2, np.int64))


def test_after_an_opponent_has_failed_only_a_reset_goes_on() -> None:
    agent = Failing()
    env, envs = (
        FivesAndThreesEnv(2, opponents=agent),
        FivesAndThreesVectorEnv(3, num_players=2, opponents=agent),
    )
    for one, first in (
        (env, lambda info: int(np.flatnonzero(info["action_mask"])[0])),
        (envs, lambda info: info["action_mask"].argmax(1)),
    ):
        agent.fails = False
        _, info = one.reset(seed=1)
        agent.fails = True
        with pytest.raises(RuntimeError, match="out of ideas"):
            one.step(first(info))
        agent.fails = False
        with pytest.raises(gymnasium.error.ResetNeeded):
            one.step(first(info))
        _, info = one.reset(seed=1)
        one.step(first(info))


def test_an_agent_cannot_read_the_deal_from_its_source_of_chance() -> None:
    agent = Failing()
    env = FivesAndThreesEnv(2, opponents=agent)
    _, info = env.reset(seed=77)
    env.step(int(np.flatnonzero(info["action_mask"])[0]))
    assert agent.rng.bit_generator.seed_seq.entropy != 77


@pytest.mark.parametrize(("reward", "price"), [("points", -61.0), ("margin", -61.0), ("win", -1.0)])
def test_giving_up_costs_as_much_as_losing(reward: str, price: float) -> None:
    env = FivesAndThreesEnv(2, reward=reward)
    for seed in range(20):
        _, info = env.reset(seed=seed)
        if info["action_mask"].sum() == env.rules.hand_size:  # it leads: nothing was gained before
            assert env.step(int(info["action_mask"].argmin()))[1] == price
            return
    raise AssertionError("the learner never led")


def test_before_the_first_reset_nothing_is_dealt_and_nothing_legal() -> None:
    single = gymnasium.make("fivesthrees/FivesAndThrees-v0", render_mode="ansi").unwrapped
    many = gymnasium.make_vec("fivesthrees/FivesAndThrees-v0", num_envs=3, render_mode="ansi").unwrapped
    assert not single.action_masks().any()
    assert not many.action_masks().any()
    for ask in (lambda: single.table, single.render, many.render):
        with pytest.raises(gymnasium.error.ResetNeeded, match=r"nothing is dealt yet; reset\(\) begins"):
            ask()
    single.reset(seed=0)
    many.reset(seed=0)
    assert single.action_masks().any()
    assert many.action_masks().any(1).all()
