"""The PettingZoo environments: PettingZoo's own tests, and what the documentation promises."""

from __future__ import annotations

import copy
import doctest
import importlib
import pickle
import re
from collections.abc import Callable, Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pettingzoo
import pytest
from pettingzoo.test import api_test, render_test, seed_test
from pettingzoo.utils.env import AECEnv
from pettingzoo.utils.wrappers import OrderEnforcingWrapper

from fivesthrees_env import all_fives_v0, docs, fives_and_threes_v0, interface
from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.match import DealError, IllegalAction, Match
from fivesthrees_env.observations import Layout, encode_many
from fivesthrees_env.rules import Rules, RulesError

GAMES = {"fives_and_threes": fives_and_threes_v0, "all_fives": all_fives_v0}
STANDARD = [(game, n) for game in GAMES for n in (2, 3, 4)]
PRESETS = ["fives_and_threes-2p", "fives_and_threes-3p", "fives_and_threes-4p"]
PRESETS += ["all_fives-2p", "all_fives-4p", "league-4p-knocks", "mini-3-pairs"]
SCHEMES = ("points", "margin", "win")


def make(preset: str, **arguments: Any) -> Any:
    """An environment for a preset."""
    return fives_and_threes_v0.env(rules=preset, **arguments)


def choose(env: Any, rng: np.random.Generator) -> int:
    """A random legal action of the agent to move."""
    mask = env.observe(env.agent_selection)["action_mask"]
    return int(rng.choice(np.flatnonzero(mask)))


def play(env: Any, rng: np.random.Generator, most: int = 10**9) -> Iterator[int]:
    """Play at random, action by action, until the episode is over or `most` are made."""
    for _ in range(most):
        if any(env.terminations.values()) or any(env.truncations.values()):
            return
        action = choose(env, rng)
        env.step(action)
        yield action


def snapshot(env: Any) -> list[Any]:
    """All that an environment is, comparable."""
    raw, match = env.unwrapped, env.unwrapped.match
    seats = [env.observe(agent) for agent in raw.possible_agents]
    arrays = [array.tobytes() for seen in seats for array in seen.values()]
    books = [raw.rewards, raw._cumulative_rewards, raw.terminations, raw.truncations, raw.agents]
    fields = [match.records[name].tobytes() for name in match.records.dtype.names]
    record = match.record()
    return [*arrays, *fields, *map(repr, books), raw.agent_selection, repr(record)]


# ------------------------------------------------------------------------- PettingZoo's tests


@pytest.mark.parametrize(("game", "num_players"), STANDARD)
def test_pettingzoo_api_test_passes(game: str, num_players: int) -> None:
    api_test(GAMES[game].env(num_players=num_players), num_cycles=300)


@pytest.mark.parametrize(("game", "num_players"), STANDARD)
def test_pettingzoo_seed_test_passes(game: str, num_players: int) -> None:
    seed_test(lambda: GAMES[game].env(num_players=num_players), num_cycles=100)


@pytest.mark.parametrize("game", GAMES)
def test_pettingzoo_render_test_passes(game: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(interface, "RENDER_FPS", 1000)
    render_test(GAMES[game].env)


@pytest.mark.parametrize("episode", ["match", "round"])
def test_pettingzoo_api_test_passes_for_other_arguments(episode: str) -> None:
    api_test(make("mini-3-pairs", episode=episode, reward="margin", max_rounds=3), num_cycles=50)


# ------------------------------------------------------------------------------ registration


@pytest.mark.skipif(not hasattr(pettingzoo, "make"), reason="an older PettingZoo has no registry")
@pytest.mark.parametrize(("game", "module"), GAMES.items())
def test_pettingzoo_makes_the_environment_by_its_id(game: str, module: Any) -> None:
    env = pettingzoo.make("aec", f"fivesthrees/{game}-v0", num_players=2, reward="win")

    assert type(env.unwrapped) is module.raw_env
    assert env.unwrapped.num_agents == 0
    assert env.possible_agents == ["player_0", "player_1"]
    assert str(env) == env.metadata["name"] == f"{game}_v0"


def test_importing_twice_registers_once() -> None:
    importlib.reload(importlib.import_module("fivesthrees_env"))


def test_public_names_are_loaded_when_used() -> None:
    package = importlib.import_module("fivesthrees_env")

    for name in package.__all__:
        assert getattr(package, name).__name__ == name
        assert name in dir(package)
    assert package.fives_and_threes_v0 is fives_and_threes_v0
    with pytest.raises(AttributeError, match="no attribute 'Chess'"):
        _ = package.Chess


def test_metadata_says_what_pettingzoo_asks_for() -> None:
    metadata = fives_and_threes_v0.raw_env.metadata

    assert metadata["render_modes"] == ["ansi", "rgb_array", "human"]
    assert metadata["is_parallelizable"] is False
    assert metadata["render_fps"] > 0
    assert all_fives_v0.raw_env.metadata["name"] == "all_fives_v0"


# --------------------------------------------------------------------------- documentation


@pytest.mark.parametrize("module", GAMES.values())
def test_the_page_shows_the_layout_as_it_is(module: Any) -> None:
    ((name, table),) = re.findall(r"<!-- layout (\S+) -->\n(.*?)\n<!-- /", module.__doc__, re.DOTALL)

    assert table == Layout.of(Rules.preset(name)).table()


@pytest.mark.parametrize(("game", "module"), GAMES.items())
@pytest.mark.parametrize("num_players", [2, 3, 4])
def test_the_page_tells_sizes_as_they_are(game: str, module: Any, num_players: int) -> None:
    env = module.raw_env(num_players=num_players)
    agent = env.possible_agents[0]
    bits = env.observation_space(agent)["observation"].shape[0]
    row = f"| {num_players} | {bits} | {env.action_space(agent).n} | {env.state_space.shape[0]} |"

    assert row in module.__doc__


@pytest.mark.parametrize("page", list(docs.pages()), ids=lambda page: page.name)
def test_generated_tables_are_up_to_date(page: Path) -> None:
    text = page.read_text(encoding="utf-8")

    assert docs.refresh(text) == text, "write the tables with: python -m fivesthrees_env.docs"


@pytest.mark.parametrize("module", GAMES.values())
def test_the_page_example_runs(module: Any) -> None:
    (example,) = doctest.DocTestFinder(recurse=False).find(module, module.__name__)

    assert doctest.DocTestRunner().run(example).failed == 0


# ------------------------------------------------------------------------------- agreement


@pytest.mark.parametrize("preset", PRESETS)
def test_match_batch_and_environment_agree_for_a_seed(preset: str) -> None:
    rules, rng = Rules.preset(preset), np.random.default_rng(1)
    envs = [make(preset) for _ in range(3)]
    matches = [Match(rules, seed=7 + i) for i in range(3)]
    batch = MatchBatch(3, rules, seed=7)
    for i, env in enumerate(envs):
        env.reset(seed=7 + i)
    live = {0, 1, 2}
    while live:
        actions = batch.random_actions(rng)
        observations, masks = batch.observations.copy(), batch.action_masks.copy()
        seats = batch.seats.copy()
        batch.step(actions)
        for i in sorted(live):
            env, match = envs[i], matches[i]
            seen = env.observe(env.agent_selection)
            assert env.agent_selection == f"player_{match.seat}" == f"player_{seats[i]}"
            assert (seen["observation"] == observations[i]).all()
            assert (seen["action_mask"] == masks[i]).all()
            assert (seen["action_mask"] == match.action_mask()).all()
            env.step(actions[i])
            match.play(actions[i])
            rewards = [env.rewards[agent] for agent in env.possible_agents]
            sides = [rules.side_of(seat) for seat in range(rules.num_players)]
            assert rewards == batch.rewards[i, sides].tolist()
            assert all(over == match.over for over in env.terminations.values())
            assert match.over == batch.dones[i]
            if match.over:
                live.discard(i)
                assert env.unwrapped.match.record() == match.record()


@pytest.mark.parametrize("preset", PRESETS)
def test_an_agent_observes_what_redact_leaves(preset: str) -> None:
    env, rng = make(preset), np.random.default_rng(2)
    env.reset(seed=3)
    layout = env.unwrapped.layout
    row = np.zeros((1, layout.size), np.int8)
    for _ in play(env, rng, most=60):
        match = env.unwrapped.match
        for seat, agent in enumerate(env.possible_agents):
            encode_many(match.view(seat), layout, row)
            assert (env.observe(agent)["observation"] == row[0]).all()


# ------------------------------------------------------------------------------- observing


@pytest.mark.parametrize("preset", PRESETS)
def test_observing_changes_nothing_and_gives_fresh_arrays(preset: str) -> None:
    env = make(preset)
    env.reset(seed=4)
    for _ in play(env, np.random.default_rng(4), most=40):
        before = snapshot(env)
        for agent in env.possible_agents:
            for array in env.observe(agent).values():
                array[:] = 7
        env.state()[:] = 7
        assert snapshot(env) == before


@pytest.mark.parametrize("preset", PRESETS)
def test_only_the_agent_to_move_has_a_mask(preset: str) -> None:
    env = make(preset)
    env.reset(seed=5)
    for _ in play(env, np.random.default_rng(5)):
        live = not any(env.terminations.values())
        for agent in env.possible_agents:
            seen = env.observe(agent)
            assert seen["action_mask"].any() == (live and agent == env.agent_selection)
            assert seen["observation"].any()
            assert env.observation_space(agent).contains(seen)


def test_every_agent_can_be_observed_after_the_end() -> None:
    env = make("mini-3")
    env.reset(seed=0)
    for _ in play(env, np.random.default_rng(0)):
        pass
    while env.agents:
        env.step(None)
        for agent in env.possible_agents:
            assert not env.observe(agent)["action_mask"].any()


@pytest.mark.parametrize("preset", PRESETS)
def test_state_is_all_hands_and_the_view_of_player_0(preset: str) -> None:
    env = make(preset)
    env.reset(seed=6)
    rules = env.unwrapped.rules
    for _ in play(env, np.random.default_rng(6), most=50):
        state = env.state()
        hands = state[: rules.num_players * rules.num_tiles].reshape(rules.num_players, -1)
        held = env.unwrapped.match.records["hands"][0, : rules.num_players].tolist()
        assert [sum(1 << int(i) for i in np.flatnonzero(hand)) for hand in hands] == held
        assert (state[hands.size :] == env.observe("player_0")["observation"]).all()
        assert env.state_space.contains(state)


# --------------------------------------------------------------------------------- rewards


def worth(match: Match, scheme: str) -> list[float]:
    """What the latest event is worth to each side, by the documentation."""
    event, sides = match.events[-1], match.num_sides
    gains = [0.0] * sides
    if scheme == "win":
        if event.match_over:
            gains = [1.0 if side == match.winner else -1 / (sides - 1) for side in range(sides)]
        return gains
    gains[match.side_of(event.seat)] += event.accepted
    if event.round_end == "blocked" and event.settled_side is not None:
        gains[event.settled_side] += event.settlement
    if scheme == "margin":
        total = sum(gains)
        return [gain - (total - gain) / (sides - 1) for gain in gains]
    return gains


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("preset", PRESETS)
def test_rewards_are_what_events_are_worth(preset: str, scheme: str) -> None:
    env = make(preset, reward=scheme)
    env.reset(seed=8)
    match = env.unwrapped.match
    totals = [0.0] * match.num_sides
    for _ in play(env, np.random.default_rng(8)):
        by_side = worth(match, scheme)
        totals = [a + b for a, b in zip(totals, by_side, strict=True)]
        for seat, agent in enumerate(env.possible_agents):
            assert env.rewards[agent] == pytest.approx(by_side[match.side_of(seat)], abs=1e-12)
    if scheme == "points":
        assert totals == list(match.scores)
    else:
        assert sum(totals) == pytest.approx(0, abs=1e-9)


def test_last_gives_the_rewards_since_the_agents_own_turn() -> None:
    env = make("fives_and_threes-4p")
    env.reset(seed=9)
    due = dict.fromkeys(env.possible_agents, 0.0)
    for agent in env.agent_iter():
        _, reward, terminated, _, _ = env.last()
        assert reward == due[agent]
        due[agent] = 0.0
        env.step(None if terminated else choose(env, np.random.default_rng(int(sum(due.values())))))
        for other, gained in env.rewards.items():
            due[other] += gained


# ------------------------------------------------------------------------- illegal actions

HOSTILE = [
    *(-1, 57, 10**30, -(10**30), 1.0, 3.5, float("nan"), float("inf"), True, False, None),
    *("0", "knock", b"0", [0], (0,), {}, object, Decimal(3), 1 + 0j),
    *(np.float64(0), np.float32("nan"), np.bool_(True), np.array(2.0), np.array([0, 1])),
    *(np.array(True), np.array([], np.int64), np.uint64(2**64 - 1), np.int64(-1), np.str_("0")),
]


def illegal_actions(env: Any) -> list[Any]:
    """What nobody may do now."""
    mask = env.observe(env.agent_selection)["action_mask"]
    return [*HOSTILE, *np.flatnonzero(mask == 0).tolist()]


@pytest.mark.parametrize("preset", ["fives_and_threes-4p", "all_fives-2p"])
def test_an_illegal_action_raises_and_changes_nothing(preset: str) -> None:
    env, rng = make(preset), np.random.default_rng(10)
    env.reset(seed=10)
    for _ in play(env, rng, most=9):
        before = snapshot(env)
        for action in illegal_actions(env):
            with pytest.raises(IllegalAction, match="allowed"):
                env.step(action)
        assert snapshot(env) == before


@pytest.mark.parametrize(
    "kind",
    [int, *(np.dtype(code).type for code in "bhilqBHILQ"), np.array, lambda a: np.array([a])],
)
def test_every_kind_of_whole_number_is_an_action(kind: Callable[[int], Any]) -> None:
    env, twin = make("fives_and_threes-2p"), make("fives_and_threes-2p")
    env.reset(seed=11)
    twin.reset(seed=11)
    for action in play(twin, np.random.default_rng(11), most=8):
        env.step(kind(action))
    assert snapshot(env) == snapshot(twin)


@pytest.mark.parametrize("preset", ["fives_and_threes-4p", "fives_and_threes-3p", "all_fives-2p"])
@pytest.mark.parametrize("action", [-1, None, 0.5, "knock", "legal for nobody"])
def test_an_illegal_action_can_lose_the_match(preset: str, action: Any) -> None:
    env = make(preset, illegal="terminate")
    env.reset(seed=12)
    for _ in play(env, np.random.default_rng(12), most=10):
        pass
    match, offender = env.unwrapped.match, env.agent_selection
    due = dict(env.unwrapped._cumulative_rewards)
    record = match.records.tobytes()
    if action == "legal for nobody":
        action = int(np.flatnonzero(env.observe(offender)["action_mask"] == 0)[0])

    env.step(action)

    assert match.records.tobytes() == record
    assert all(env.terminations.values())
    assert not any(env.truncations.values())
    for seat, agent in enumerate(env.possible_agents):
        loses = match.side_of(seat) == match.side_of(match.seat)
        assert env.rewards[agent] == (-1.0 if loses else 0.0)
        assert not env.observe(agent)["action_mask"].any()
        already = 0.0 if agent == offender else due[agent]
        assert env.unwrapped._cumulative_rewards[agent] == already + env.rewards[agent]


# --------------------------------------------------------------------------------- the end


def test_dead_agents_step_with_none_and_leave() -> None:
    env = make("mini-3-pairs")
    env.reset(seed=13)
    for _ in play(env, np.random.default_rng(13)):
        pass
    gone = []
    while env.agents:
        with pytest.raises(ValueError, match="None"):
            env.step(0)
        gone.append(env.agent_selection)
        env.step(None)
        assert set(env.rewards) == set(env.infos) == set(env.terminations) == set(env.agents)
    assert sorted(gone) == env.possible_agents
    env.reset(seed=13)
    assert env.agents == env.possible_agents
    assert not any(env.terminations.values())


@pytest.mark.parametrize("preset", PRESETS)
def test_a_match_is_terminated_when_it_is_won(preset: str) -> None:
    env = make(preset)
    env.reset(seed=14)
    for _ in play(env, np.random.default_rng(14)):
        assert all(over == env.unwrapped.match.over for over in env.terminations.values())
        assert not any(env.truncations.values())
    assert env.unwrapped.match.over


@pytest.mark.parametrize("preset", ["fives_and_threes-4p", "all_fives-3p"])
def test_an_episode_can_be_one_round(preset: str) -> None:
    env = make(preset, episode="round")
    env.reset(seed=15)
    for _ in play(env, np.random.default_rng(15)):
        ended = env.unwrapped.match.events[-1].round_end is not None
        assert all(over == ended for over in env.terminations.values())
    assert not any(env.truncations.values())


@pytest.mark.parametrize("max_rounds", [1, 3])
def test_max_rounds_truncates(max_rounds: int) -> None:
    env = make("fives_and_threes-4p", max_rounds=max_rounds, reward="win")
    env.reset(seed=16)
    for _ in play(env, np.random.default_rng(16)):
        assert not any(env.terminations.values())
        assert set(env.rewards.values()) == {0.0}
    ends = [event for event in env.unwrapped.match.events if event.round_end]
    assert all(env.truncations.values())
    assert len(ends) == max_rounds


def test_a_win_with_the_last_allowed_round_is_a_termination() -> None:
    env = make("fives_and_threes-2p", max_rounds=1)
    env.reset(seed=0, options={"hands": [[(1, 4)], [(6, 6)]], "opener": 0, "scores": [59, 0]})
    env.step(int(np.flatnonzero(env.observe("player_0")["action_mask"])[0]))

    assert env.unwrapped.match.winner == 0
    assert all(env.terminations.values())
    assert not any(env.truncations.values())


# ------------------------------------------------------------------------ seeds and positions


def opening(env: Any) -> str:
    """How the match was dealt."""
    match = env.unwrapped.match
    return f"{match.hands} {match.boneyard} {match.opener}"


def test_resets_without_a_seed_follow_from_the_last_seed() -> None:
    def openings() -> list[str]:
        env = make("fives_and_threes-4p")
        env.reset(seed=17)
        dealt = [opening(env)]
        for _ in range(4):
            for _ in play(env, np.random.default_rng(0), most=len(dealt)):
                pass  # how far a match was played does not matter
            env.reset()
            dealt.append(opening(env))
        return dealt

    dealt = openings()
    assert dealt == openings()
    assert len(set(dealt)) == 5


def test_the_first_reset_without_a_seed_is_left_to_chance() -> None:
    envs = [make("fives_and_threes-4p") for _ in range(2)]
    for env in envs:
        env.reset()
    assert opening(envs[0]) != opening(envs[1])


@pytest.mark.parametrize("seed", [-1, 2**63, 0.5, "1", True])
def test_impossible_seeds_are_refused_and_change_nothing(seed: Any) -> None:
    env = make("mini-3")
    env.reset(seed=1)
    before = snapshot(env)
    with pytest.raises(ValueError, match="seed"):
        env.reset(seed=seed)
    assert snapshot(env) == before


def test_options_set_up_a_position() -> None:
    hands = [[(1, 4), (2, 2)], [(0, 3)]]
    env = make("fives_and_threes-2p")
    env.reset(seed=0, options={"hands": hands, "opener": 1, "scores": (20, 60)})
    match = env.unwrapped.match

    assert match.hands == (((1, 4), (2, 2)), ((0, 3),))
    assert match.opener == match.seat == 1
    assert match.scores == (20, 60)
    assert env.agent_selection == "player_1"


def test_options_set_up_a_boneyard() -> None:
    hands, boneyard = [[(5, 5), (0, 0)], [(1, 2), (1, 3)]], [(6, 6), (4, 5), (2, 3)]
    env = make("all_fives-2p")
    env.reset(seed=0, options={"hands": hands, "boneyard": boneyard})

    assert env.unwrapped.match.boneyard == tuple(boneyard)
    assert env.unwrapped.match.opener == 0


@pytest.mark.parametrize("preset", ["fives_and_threes-4p", "all_fives-3p"])
def test_what_options_leave_out_stays_as_the_seed_deals_it(preset: str) -> None:
    rules = Rules.preset(preset)
    dealt = Match(rules, seed=18)
    scores = [rules.score_unit] * rules.num_sides
    env = make(preset)
    env.reset(seed=18, options={"scores": scores})
    match = env.unwrapped.match

    assert (match.hands, match.opener) == (dealt.hands, dealt.opener)
    assert match.boneyard == dealt.boneyard or not rules.draw
    assert match.scores == tuple(scores)
    assert (match.action_mask() == dealt.action_mask()).all()


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"hand": [[(0, 0)], [(1, 1)]]}, "'hand'"),
        ({"hands": [[(0, 0)], [(0, 0)]]}, r"\[0\|0\]"),
        ({"hands": [[(0, 0)]]}, "hands"),
        ({"hands": [[(0, 7)], [(1, 1)]]}, "no tile"),
        ({"hands": "all of them"}, "hands"),
        ({"opener": 2}, "opener"),
        ({"opener": True}, "opener"),
        ({"scores": [61, 0]}, "scores"),
        ({"scores": [0.5, 0]}, "scores"),
        ({"boneyard": [(0, 0)]}, "boneyard"),
        (["hands"], "options"),
    ],
)
def test_impossible_options_are_refused_by_name_and_change_nothing(options: Any, named: str) -> None:
    env, twin = make("fives_and_threes-2p"), make("fives_and_threes-2p")
    env.reset(seed=19)
    twin.reset(seed=19)
    before = snapshot(env)
    with pytest.raises(DealError, match=named):
        env.reset(options=options)
    assert snapshot(env) == before
    env.reset()
    twin.reset()
    assert snapshot(env) == snapshot(twin)


# ------------------------------------------------------------------------------ arguments


def test_the_default_is_four_players_in_pairs() -> None:
    assert fives_and_threes_v0.raw_env().rules == Rules.fives_and_threes(4)
    assert all_fives_v0.raw_env().rules == Rules.all_fives(4)


@pytest.mark.parametrize("rules", ["mini-3", Rules.preset("mini-3"), Rules.preset("mini-3").to_dict()])
def test_rules_may_be_rules_a_name_or_a_dict(rules: Any) -> None:
    assert fives_and_threes_v0.raw_env(rules=rules).rules == Rules.preset("mini-3")
    assert fives_and_threes_v0.raw_env(2, rules).rules == Rules.preset("mini-3")


@pytest.mark.parametrize("num_players", [3, 4])
def test_players_and_rules_must_not_contradict_each_other(num_players: int) -> None:
    with pytest.raises(RulesError, match=f"num_players: {num_players} given; allowed: None or 2"):
        fives_and_threes_v0.env(num_players=num_players, rules="mini-3")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("num_players", value) for value in (1, 5, "4", 2.0, True)),
        *(("rules", value) for value in ("chess", 4, ["mini-3"])),
        *(("episode", value) for value in ("game", None, 1)),
        *(("reward", value) for value in ("score", None)),
        *(("max_rounds", value) for value in (0, -1, 1.5, True, "3", 2**31)),
        *(("illegal", value) for value in ("ignore", None)),
        *(("render_mode", value) for value in ("text", 1)),
    ],
)
def test_impossible_arguments_are_refused_by_name(name: str, value: Any) -> None:
    with pytest.raises(ValueError, match=name if name != "rules" else "preset|rules"):
        fives_and_threes_v0.env(**{name: value})


# ------------------------------------------------------------------------ order, copies, close


@pytest.mark.parametrize("name", ["last", "step", "observe", "state", "render", "agent_iter"])
def test_nothing_works_before_the_first_reset(name: str) -> None:
    env = make("mini-3")
    arguments = {"step": (0,), "observe": ("player_0",)}.get(name, ())
    with pytest.raises((AttributeError, AssertionError, Exception), match="reset"):
        getattr(env, name)(*arguments)


def test_env_adds_pettingzoos_order_enforcing_alone() -> None:
    env = make("mini-3")
    assert isinstance(env, OrderEnforcingWrapper)
    assert isinstance(env.env, fives_and_threes_v0.raw_env)


@pytest.mark.parametrize("observe", [True, False])
def test_last_is_pettingzoos_last(observe: bool) -> None:
    env = make("mini-3-pairs")
    env.reset(seed=20)
    for _ in play(env, np.random.default_rng(20)):
        ours, theirs = env.last(observe), AECEnv.last(env, observe)
        assert ours[1:] == theirs[1:]
        assert (ours[0] is None) == (not observe)
        if observe:
            assert all((ours[0][key] == theirs[0][key]).all() for key in ours[0])


@pytest.mark.parametrize("twin_of", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
@pytest.mark.parametrize("preset", ["fives_and_threes-4p", "all_fives-3p"])
@pytest.mark.parametrize("plies", [0, 25])
def test_copies_continue_identically(twin_of: Callable[[Any], Any], preset: str, plies: int) -> None:
    env = make(preset, reward="margin")
    env.reset(seed=21)
    for _ in play(env, np.random.default_rng(21), most=plies):
        pass
    twin = twin_of(env)
    assert snapshot(twin) == snapshot(env)
    for action in play(env, np.random.default_rng(22)):
        twin.step(action)
        assert twin.rewards == env.rewards
    assert snapshot(twin) == snapshot(env)
    env.reset()
    twin.reset()
    assert snapshot(twin) == snapshot(env)


def test_a_copy_is_independent() -> None:
    env = make("fives_and_threes-2p")
    env.reset(seed=23)
    twin, before = copy.deepcopy(env), snapshot(env)
    for _ in play(twin, np.random.default_rng(23)):
        pass
    assert snapshot(env) == before


def test_closing_again_does_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SDL_VIDEODRIVER", "dummy")
    monkeypatch.setattr(interface, "RENDER_FPS", 1000)
    env = make("mini-3", render_mode="human")
    env.close()
    env.reset(seed=0)
    twin = copy.deepcopy(env)
    env.close()
    env.close()
    twin.close()
    assert env.render() is None
    env.close()


def test_rendering_without_a_mode_warns() -> None:
    env = make("mini-3")
    env.reset(seed=0)
    with pytest.warns(UserWarning, match="render mode"):
        assert env.render() is None


def test_ansi_shows_the_match() -> None:
    env = make("mini-3", render_mode="ansi")
    env.reset(seed=0)
    assert env.render() == str(env.unwrapped.match)


@pytest.mark.parametrize("name", ["match", "agent_selection", "rewards", "infos", "terminations"])
def test_what_a_reset_makes_says_so_before_it(name: str) -> None:
    env = fives_and_threes_v0.raw_env(render_mode="ansi")
    with pytest.raises(AttributeError, match=rf"^{name}: nothing is dealt yet; reset\(\) begins an episode$"):
        getattr(env, name)
    for call in (env.render, env.last, env.state, lambda: env.step(0), lambda: env.observe("player_0")):
        with pytest.raises(AttributeError, match=r"nothing is dealt yet; reset\(\) begins an episode"):
            call()
    assert not hasattr(env, "chess")
    env.reset(seed=0)
    assert hasattr(env, name)
