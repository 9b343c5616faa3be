"""Checkpoints, the neural agent, and how actions are chosen from logits."""

from __future__ import annotations

import json
import os
import pickletools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from conftest import FT_PRESETS, PRESETS, chi_square, chi_square_limit, random_plies
from hypothesis import given
from hypothesis import strategies as st
from safetensors.torch import save_file
from torch import Tensor

import agents
from agents import checkpoints
from agents.checkpoints import AGENT_FILE, CheckpointError
from agents.networks import PolicyValueNet
from agents.neural import NeuralAgent
from agents.sampling import best_actions, sample_actions
from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.match import Match
from fivesthrees_env.observations import Layout, encode_many
from fivesthrees_env.opponents import Agent, action_masks
from fivesthrees_env.rules import Rules

RNG = np.random.default_rng


def new_agent(rules: str | Rules = "mini-3", seed: int = 0, **changes: Any) -> NeuralAgent:
    """A small network with weights that make a difference."""
    rules = Rules.coerce(rules)
    torch.manual_seed(seed)
    network = PolicyValueNet(Layout.of(rules).size, rules.num_actions, width=8, depth=1)
    torch.nn.init.normal_(network.policy.weight)
    return NeuralAgent(network, rules, **changes)


def views_of(rules: Rules, steps: int = 40, matches: int = 16, seed: int = 0) -> np.ndarray:
    """Views of many states: every step of a few matches played at random."""
    batch, rng, found = MatchBatch(matches, rules, seed=seed), RNG(seed), []
    for _ in range(steps):
        found.append(batch.views.copy())
        batch.step(batch.random_actions(rng))
    return np.concatenate(found)


def policy_of(agent: NeuralAgent, views: np.ndarray) -> np.ndarray:
    """The masked softmax, the long way: (N, actions)."""
    observations = np.empty((len(views), Layout.of(agent.rules).size), np.int8)
    encode_many(views, Layout.of(agent.rules), observations)
    with torch.inference_mode():
        logits = agent.network(torch.from_numpy(observations))[0].double().numpy()
    weights = np.exp(logits - logits.max(1, keepdims=True)) * action_masks(views)
    return weights / weights.sum(1, keepdims=True)


# ------------------------------------------------------------------------------------- round trip


def test_a_saved_agent_comes_back_and_plays_the_same(tmp_path: Path) -> None:
    agent = new_agent("fives_and_threes-4p", about={"training": {"args": {"seed": 5}}})
    agent.save(tmp_path / "a run" / AGENT_FILE)
    again = agents.load(tmp_path / "a run")
    assert isinstance(again, NeuralAgent)
    assert again.rules == agent.rules
    assert str(again.rules) == "fives_and_threes-4p"
    assert again.name == "a run"
    assert again.greedy
    for name, tensor in agent.network.state_dict().items():
        assert torch.equal(again.network.state_dict()[name], tensor)
    views = views_of(agent.rules)
    np.testing.assert_array_equal(again.act(views, RNG(0)), agent.act(views, RNG(0)))


def test_a_checkpoint_tells_rules_layout_network_and_training(tmp_path: Path) -> None:
    agent = new_agent("league-2p", about={"training": {"args": {"seed": 5}, "decisions": 7}})
    agent.save(tmp_path / AGENT_FILE)
    tensors, about = checkpoints.read(tmp_path / AGENT_FILE)
    assert Rules.from_dict(about["rules"]) == PRESETS["league-2p"]
    assert about["layout"] == Layout.of(agent.rules).fingerprint
    assert about["network"] == agent.network.shape
    assert about["training"] == {"args": {"seed": 5}, "decisions": 7}
    assert set(tensors) == set(agent.network.state_dict())


def test_saving_what_was_loaded_gives_the_same_again(tmp_path: Path) -> None:
    new_agent(about={"training": {"args": {}}}).save(tmp_path / AGENT_FILE)
    agents.load(tmp_path).save(tmp_path / "again.safetensors")
    (tensors, about), (again, about_again) = (
        checkpoints.read(tmp_path / name) for name in (AGENT_FILE, "again.safetensors")
    )
    assert about_again == about
    assert again.keys() == tensors.keys()
    assert all(torch.equal(again[name], tensor) for name, tensor in tensors.items())


def test_a_checkpoint_is_data_and_no_pickle(tmp_path: Path) -> None:
    """Eight bytes of length, a JSON header, raw numbers: nothing that could be run."""
    path = tmp_path / AGENT_FILE
    new_agent().save(path)
    data = path.read_bytes()
    size = int.from_bytes(data[:8], "little")
    header = json.loads(data[8 : 8 + size])
    tensors = {name: part for name, part in header.items() if name != "__metadata__"}
    assert {part["dtype"] for part in tensors.values()} == {"F32"}
    assert max(part["data_offsets"][1] for part in tensors.values()) == len(data) - 8 - size
    with pytest.raises(ValueError):  # noqa: PT011 - whatever the first bytes look like
        list(pickletools.genops(data))
    assert not data.startswith(b"PK")  # torch.save's archive


def test_others_may_read_a_checkpoint_as_far_as_the_umask_allows(tmp_path: Path) -> None:
    before = os.umask(0o022)
    try:
        new_agent().save(tmp_path / AGENT_FILE)
    finally:
        os.umask(before)
    assert (tmp_path / AGENT_FILE).stat().st_mode & 0o777 == 0o644


# ------------------------------------------------------------------------------------------ atomic


def test_a_crash_while_writing_leaves_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / AGENT_FILE
    new_agent(seed=1).save(path)
    old = path.read_bytes()

    def write_half(self: Path, data: bytes) -> int:
        with self.open("wb") as file:
            file.write(data[: len(data) // 2])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", write_half)
    with pytest.raises(OSError, match="No space left"):
        new_agent(seed=2).save(path)
    assert path.read_bytes() == old
    assert list(tmp_path.iterdir()) == [path]


def test_a_stop_between_writing_and_renaming_leaves_the_old_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / AGENT_FILE
    new_agent(seed=1).save(path)
    old = path.read_bytes()

    def stop(self: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(Path, "replace", stop)
    with pytest.raises(KeyboardInterrupt):
        new_agent(seed=2).save(path)
    assert path.read_bytes() == old
    assert agents.load(path).name == tmp_path.name


# ----------------------------------------------------------------------------------- damaged files


def header_of(data: bytes) -> tuple[dict[str, Any], bytes]:
    """The JSON header of a safetensors file, and the numbers."""
    size = int.from_bytes(data[:8], "little")
    return json.loads(data[8 : 8 + size]), data[8 + size :]


def with_header(header: dict[str, Any], numbers: bytes) -> bytes:
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    return len(text).to_bytes(8, "little") + text + numbers


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A sound checkpoint."""
    path = tmp_path / AGENT_FILE
    new_agent("fives_and_threes-2p", about={"training": {"args": {}}}).save(path)
    return path


def edit_about(path: Path, change: Callable[[dict[str, Any]], Any]) -> None:
    """Change the description of a checkpoint in place."""
    header, numbers = header_of(path.read_bytes())
    about = json.loads(header["__metadata__"]["about"])
    changed = change(about)
    header["__metadata__"]["about"] = json.dumps(about if changed is None else changed)
    path.write_bytes(with_header(header, numbers))


DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda _: b"",
    "one byte": lambda _: b"\0",
    "cut in the header": lambda data: data[:100],
    "cut in half": lambda data: data[: len(data) // 2],
    "last byte missing": lambda data: data[:-1],
    "one byte too many": lambda data: data + b"\0",
    "random bytes": lambda data: RNG(0).bytes(len(data)),
    "header length changed": lambda data: (10**15).to_bytes(8, "little") + data[8:],
    "header no JSON": lambda data: data[:8] + b"x" * 20 + data[28:],
    "text": lambda _: b"this is no checkpoint\n" * 50,
    "a pickle": lambda _: b"\x80\x04\x95\x0e\0\0\0\0\0\0\0\x8c\x08builtins\x94.",
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_file_is_refused_by_name(stored: Path, damage: str) -> None:
    stored.write_bytes(DAMAGE[damage](stored.read_bytes()))
    with pytest.raises(CheckpointError, match="damaged or no safetensors file") as caught:
        agents.load(stored)
    assert str(stored) in str(caught.value)


@pytest.mark.parametrize("seed", range(40))
def test_a_flipped_byte_in_the_header_loads_as_it_was_or_is_refused(stored: Path, seed: int) -> None:
    """No other error comes out, whichever byte it is."""
    data, rng = bytearray(stored.read_bytes()), RNG(seed)
    size = int.from_bytes(data[:8], "little")
    for _ in range(20):
        changed = bytearray(data)
        changed[rng.integers(8 + size)] ^= 1 << rng.integers(8)
        stored.write_bytes(changed)
        try:
            agent = agents.load(stored)
        except CheckpointError:
            continue
        assert isinstance(agent, NeuralAgent)
        views = views_of(agent.rules, steps=2, matches=2)
        assert action_masks(views)[np.arange(len(views)), agent.act(views, RNG(0))].all()


def test_another_safetensors_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / AGENT_FILE
    save_file({"a": torch.zeros(3)}, path)
    with pytest.raises(CheckpointError, match=r"format None found; allowed: 'fivesthrees-check"):
        agents.load(path)


def test_another_format_is_refused(stored: Path) -> None:
    header, numbers = header_of(stored.read_bytes())
    header["__metadata__"]["format"] = "fivesthrees-checkpoint-999"
    stored.write_bytes(with_header(header, numbers))
    with pytest.raises(CheckpointError, match=r"'fivesthrees-checkpoint-999' found; allowed: "):
        agents.load(stored)


@pytest.mark.parametrize("text", ["", "{", "[]", "5", "null", '"rules"', "{}", "[" * 100_000])
def test_a_description_that_is_none_is_refused(stored: Path, text: str) -> None:
    header, numbers = header_of(stored.read_bytes())
    header["__metadata__"]["about"] = text
    stored.write_bytes(with_header(header, numbers))
    with pytest.raises(CheckpointError, match="damaged description"):
        agents.load(stored)


EDITS: dict[str, tuple[Callable[[dict[str, Any]], Any], str]] = {
    "no rules": (lambda about: {"layout": about["layout"]}, "damaged description"),
    "rules a list": (lambda about: about.update(rules=[]), "damaged description"),
    "rules a number": (lambda about: about.update(rules=5), "damaged description"),
    "rules impossible": (
        lambda about: about["rules"].update(num_players=9),
        "rules: num_players: 9 given; allowed: 2, 3 or 4",
    ),
    "rules unknown": (
        lambda about: about["rules"].update(colour="red"),
        "rules: unknown field 'colour'",
    ),
    "rules of another layout": (
        lambda about: about["rules"].update(target=31),
        "layout: trained on observation layout .*, this version has",
    ),
    "layout changed": (
        lambda about: about.update(layout="0123456789ab"),
        "layout: trained on observation layout 0123456789ab, this version has",
    ),
    "no layout": (lambda about: {"rules": about["rules"]}, "damaged description"),
    "no network": (lambda about: about.update(network=None), "network: None described"),
    "network a number": (lambda about: about.update(network=3), "network: 3 described"),
    "network wider": (lambda about: about["network"].update(width=10**12), "network: .* described"),
    "network deeper": (lambda about: about["network"].update(depth=10**9), "network: .* described"),
    "network of text": (lambda about: about["network"].update(width="8"), "network: .* described"),
    "network unknown": (lambda about: about["network"].update(heads=2), "network: .* described"),
    "other actions": (lambda about: about["network"].update(num_actions=5), "network: .* desc"),
}


@pytest.mark.parametrize("edit", EDITS)
def test_an_edited_description_is_refused_with_the_reason(stored: Path, edit: str) -> None:
    change, message = EDITS[edit]
    edit_about(stored, change)
    with pytest.raises(CheckpointError, match=message):
        agents.load(stored)


def without(name: str) -> Callable[[dict[str, Tensor]], Any]:
    return lambda tensors: tensors.pop(name)


def reshaped(name: str, *shape: int) -> Callable[[dict[str, Tensor]], Any]:
    return lambda tensors: tensors.update({name: torch.zeros(shape)})


@pytest.mark.parametrize(
    "change",
    [
        without("body.0.weight"),
        without("body.0.bias"),
        without("policy.weight"),
        without("value.weight"),
        reshaped("body.0.weight", 8, 3),
        reshaped("policy.weight", 56, 8),
        reshaped("policy.bias", 57, 1),
        reshaped("value.weight", 1, 9),
        reshaped("value.weight"),
        reshaped("more.weight", 4),
        reshaped("body.2.weight", 8, 8),
    ],
)
def test_missing_unknown_and_misshapen_tensors_are_refused(
    stored: Path, change: Callable[[dict[str, Tensor]], Any]
) -> None:
    tensors, about = checkpoints.read(stored)
    change(tensors)
    checkpoints.write(stored, tensors, about)
    with pytest.raises(CheckpointError, match=r"^(network|weights do not fit the network): .+$"):
        agents.load(stored)


def test_a_network_of_other_rules_is_refused(tmp_path: Path) -> None:
    """Weights for two players under a description for four."""
    small, large = new_agent("fives_and_threes-2p"), new_agent("fives_and_threes-4p")
    about = checkpoints.describe(large.rules, small.network.shape)
    checkpoints.write(tmp_path / AGENT_FILE, small.network.state_dict(), about)
    with pytest.raises(CheckpointError, match=r"network: .* described, but rules and tensors make"):
        agents.load(tmp_path)


# ------------------------------------------------------------------------------- rules that differ


def test_a_checkpoint_of_other_rules_names_every_field_that_differs(stored: Path) -> None:
    other = Rules.preset("fives_and_threes-4p").replace(target=121, win_on_lead=False)
    with pytest.raises(CheckpointError) as caught:
        agents.load(stored, other)
    assert str(caught.value) == (
        "the checkpoint does not fit the rules: "
        "num_players: trained with 2, to play 4; hand_size: trained with 7, to play 5; "
        "partnership: trained with 'singles', to play 'pairs'; "
        "target: trained with 61, to play 121; win_on_lead: trained with True, to play False"
    )


def test_a_checkpoint_of_the_same_rules_under_another_label_fits(stored: Path) -> None:
    assert agents.load(stored, PRESETS["fives_and_threes-2p"].replace(target=61)).name


# ------------------------------------------------------------------------------------ agents.load


def test_agents_are_loaded_by_name() -> None:
    assert agents.names()[:2] == ("random", "greedy")
    for name in agents.names():
        agent = agents.load(name)
        assert isinstance(agent, Agent)
        assert agent.name == name


def test_agents_are_loaded_by_file_and_by_folder(stored: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(stored.parent)
    for where in (stored, str(stored), stored.parent, str(stored.parent), AGENT_FILE, "."):
        agent = agents.load(where)
        assert isinstance(agent, NeuralAgent)
        assert agent.name == stored.parent.name


def test_an_unknown_agent_is_refused_with_what_there_is(tmp_path: Path) -> None:
    for name in ("chess", str(tmp_path / "nowhere"), "a\0b"):
        with pytest.raises(ValueError, match=r"no agent .*; allowed: random, greedy, .*, the path"):
            agents.load(name)


def test_a_folder_without_an_agent_is_refused(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"agent\.safetensors: no such checkpoint"):
        agents.load(tmp_path)


# -------------------------------------------------------------------------------- the neural agent


@pytest.mark.parametrize("preset", FT_PRESETS)
@pytest.mark.parametrize("greedy", [True, False])
def test_the_neural_agent_plays_legally_in_every_state(preset: str, greedy: bool) -> None:
    rules = PRESETS[preset]
    agent, views = new_agent(rules, greedy=greedy), views_of(rules)
    before = views.copy()
    actions = agent.act(views, RNG(0))
    assert actions.shape == (len(views),)
    assert actions.dtype == np.int64
    assert action_masks(views)[np.arange(len(views)), actions].all()
    assert (views == before).all()


def test_the_neural_agent_plays_a_match_to_the_end() -> None:
    match, rng = Match("fives_and_threes-3p", seed=4), RNG(0)
    agent = new_agent("fives_and_threes-3p")
    while not match.over:
        match.play(agent.act(match.view(match.seat), rng)[0])
    assert match.scores[match.winner] == 61


@pytest.mark.parametrize("other", ["fives_and_threes-4p", "league-2p", "all_fives-2p", "mini-3"])
def test_the_neural_agent_refuses_views_of_other_rules(other: str) -> None:
    agent = new_agent("fives_and_threes-2p")
    with pytest.raises(CheckpointError, match=r"does not fit the rules: .*trained with"):
        agent.act(Match(other, seed=0).view(0), RNG(0))


def test_no_views_get_no_actions() -> None:
    nothing = views_of(PRESETS["mini-3"], steps=1)[:0]
    for agent in (new_agent(), agents.load("random"), agents.load("greedy")):
        assert agent.act(nothing, RNG(0)).shape == (0,)


def test_a_greedy_agent_takes_the_likeliest_action_and_draws_nothing() -> None:
    agent = new_agent("fives_and_threes-4p", greedy=True)
    views, rng = views_of(agent.rules), RNG(0)
    actions = agent.act(views, rng)
    np.testing.assert_array_equal(actions, policy_of(agent, views).argmax(1))
    assert rng.random() == RNG(0).random()


def test_a_sampling_agent_follows_its_rng() -> None:
    agent = new_agent("fives_and_threes-4p", greedy=False)
    views = views_of(agent.rules)
    first, again, other = (agent.act(views, RNG(seed)) for seed in (0, 0, 1))
    np.testing.assert_array_equal(first, again)
    assert (first != other).any()


def test_a_sampling_agent_draws_from_the_masked_softmax() -> None:
    """Three states, 40,000 draws each."""
    agent = new_agent("fives_and_threes-2p", greedy=False)
    views = views_of(agent.rules, steps=6, matches=8)
    views = views[action_masks(views).sum(1) > 3][:3]
    draws, rng = 40_000, RNG(5)
    for view, policy in zip(np.split(views, 3), policy_of(agent, views), strict=True):
        actions = agent.act(np.repeat(view, draws), rng)
        counts = np.bincount(actions, minlength=len(policy))
        possible = policy > 0
        assert not counts[~possible].any()
        statistic = chi_square(counts[possible], draws * policy[possible])
        assert statistic < chi_square_limit(int(possible.sum()) - 1)


# ------------------------------------------------------------------------------------- choosing


@st.composite
def choices(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """Logits as extreme as finite numbers get, and masks with at least one legal action."""
    shape = draw(st.integers(1, 5)), draw(st.integers(1, 12))
    extreme = st.floats(width=32, allow_nan=False, allow_infinity=False)
    cells = draw(st.lists(extreme, min_size=shape[0] * shape[1], max_size=shape[0] * shape[1]))
    logits = np.array(cells, np.float32).reshape(shape)
    rng = RNG(draw(st.integers(0, 2**32 - 1)))
    masks = (rng.random(shape) < 0.4).astype(np.int8)
    masks[np.arange(shape[0]), rng.integers(shape[1], size=shape[0])] = 1
    return logits, masks


@given(choices(), st.integers(0, 1000))
def test_extreme_logits_never_give_an_illegal_action(
    choice: tuple[np.ndarray, np.ndarray], seed: int
) -> None:
    logits, masks = choice
    rows = np.arange(len(logits))
    best = best_actions(logits, masks)
    assert masks[rows, best].all()
    assert (logits[rows, best] == np.where(masks == 1, logits, -np.inf).max(1)).all()
    drawn, log_probs = sample_actions(logits, masks, RNG(seed).random(len(logits)))
    assert masks[rows, drawn].all()
    assert (log_probs <= 0).all()
    assert np.isfinite(log_probs).all()


def test_log_probabilities_are_those_of_the_masked_softmax() -> None:
    rng = RNG(0)
    logits = (3 * rng.normal(size=(200, 57))).astype(np.float32)
    masks = (rng.random((200, 57)) < 0.2).astype(np.int8)
    masks[:, 3] = 1
    actions, log_probs = sample_actions(logits, masks, rng.random(200))
    masked = torch.from_numpy(np.where(masks == 1, logits, -np.inf))
    wanted = torch.log_softmax(masked, 1).numpy()[np.arange(200), actions]
    np.testing.assert_allclose(log_probs, wanted, atol=1e-5)


def test_impossible_actions_may_be_anything() -> None:
    """What the mask hides is never looked at."""
    logits = np.array([[np.nan, 1.0, np.inf, 2.0, -np.inf]], np.float32)
    masks = np.array([[0, 1, 0, 1, 0]], np.int8)
    assert best_actions(logits, masks).tolist() == [3]
    assert sample_actions(logits, masks, np.zeros(1))[0][0] in (1, 3)


def test_minus_infinity_is_never_drawn_beside_a_finite_logit() -> None:
    logits = np.tile(np.array([-np.inf, 0.0, -np.inf], np.float32), (500, 1))
    actions, log_probs = sample_actions(logits, np.ones((500, 3), np.int8), RNG(0).random(500))
    assert (actions == 1).all()
    assert (log_probs == 0).all()


@pytest.mark.parametrize("greedy", [True, False])
@pytest.mark.parametrize("place", [0, 1, 2])
def test_a_logit_that_is_no_number_raises_and_names_the_row(greedy: bool, place: int) -> None:
    logits, masks = np.zeros((4, 3), np.float32), np.ones((4, 3), np.int8)
    logits[2, place] = np.nan
    with pytest.raises(ValueError, match="row 2 gives no choice"):
        best_actions(logits, masks) if greedy else sample_actions(logits, masks, np.zeros(len(logits)))


@pytest.mark.parametrize("row", [[np.inf, 0.0], [np.inf, np.inf], [-np.inf, -np.inf]])
def test_logits_that_make_no_distribution_raise(row: list[float]) -> None:
    with pytest.raises(ValueError, match="row 0 gives no choice"):
        sample_actions(np.array([row], np.float32), np.ones((1, 2), np.int8), np.zeros(1))


@pytest.mark.parametrize("greedy", [True, False])
def test_a_row_without_a_legal_action_raises(greedy: bool) -> None:
    logits, masks = np.zeros((2, 3), np.float32), np.array([[0, 1, 0], [0, 0, 0]], np.int8)
    with pytest.raises(ValueError, match="row 1 gives no choice"):
        best_actions(logits, masks) if greedy else sample_actions(logits, masks, np.zeros(len(logits)))


@pytest.mark.parametrize("greedy", [True, False])
def test_a_diverged_network_raises_instead_of_playing(greedy: bool) -> None:
    agent = new_agent("mini-3", greedy=greedy)
    with torch.no_grad():
        agent.network.policy.weight.fill_(float("nan"))
    with pytest.raises(ValueError, match="diverged"):
        agent.act(Match("mini-3", seed=0).view(0), RNG(0))


def test_equal_logits_give_the_first_legal_action_when_greedy() -> None:
    masks = np.array([[0, 0, 1, 1], [1, 0, 1, 0]], np.int8)
    assert best_actions(np.zeros((2, 4), np.float32), masks).tolist() == [2, 0]


def test_random_play_reaches_states_of_every_kind() -> None:
    """The states that the tests above ask the agent about: choices, single moves and knocks."""
    rules = PRESETS["fives_and_threes-4p"]
    masks = action_masks(views_of(rules))
    assert (masks.sum(1) > 1).any()
    assert (masks.sum(1) == 1).any()
    assert masks[:, rules.knock_action].any()
    match = Match(rules, seed=0)
    assert sum(1 for _ in random_plies(match, RNG(0))) > 20


@pytest.mark.parametrize("where", [0.1, 0.5, 0.999])
def test_a_flipped_bit_among_the_tensors_is_noticed(tmp_path: Path, where: float) -> None:
    path = tmp_path / AGENT_FILE
    new_agent().save(path)
    data = bytearray(path.read_bytes())
    begin = 8 + int.from_bytes(data[:8], "little")
    data[begin + int(where * (len(data) - begin))] ^= 1
    path.write_bytes(data)
    with pytest.raises(CheckpointError, match="damaged: the tensors are not those that were written"):
        NeuralAgent.load(path)


def test_a_class_of_ones_own_is_loaded_by_module_and_name() -> None:
    assert agents.load("fivesthrees_env.opponents:GreedyAgent").name == "greedy"
    for name in ("no_such_module:Agent", "fivesthrees_env.opponents:NoAgent"):
        with pytest.raises(ValueError, match=f"no agent {name} "):
            agents.load(name)
    for name in ("collections:Counter", "os:path", "fivesthrees_env.rules:__all__"):
        with pytest.raises(ValueError, match=f"no agent {name}; allowed: what makes an Agent"):
            agents.load(name)
