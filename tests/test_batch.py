"""``MatchBatch``: the same matches as ``Match``, many at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from conftest import PRESETS, chi_square, chi_square_limit, valid_rules
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.kernel.record import MATCH
from fivesthrees_env.match import IllegalAction, Match
from fivesthrees_env.observations import encode_many
from fivesthrees_env.rewards import SCHEMES, write_rewards
from fivesthrees_env.rules import Rules, RulesError
from fivesthrees_env.table import Table
from fivesthrees_env.views import redact

NUMBER = 5

#: Rules under which many plies, and even whole rounds, are forced.
FORCED = {
    "all_fives-2p, two tiles each": Rules.all_fives(2, highest=2, hand_size=2, target=20),
    "all_fives-4p, one tile each": Rules.all_fives(4, highest=3, hand_size=1, target=20, partnership="pairs"),
    "fives_and_threes-4p, one tile each": Rules(highest=2, hand_size=1, target=4),
}
ANY = PRESETS | FORCED


def choose(masks: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A random legal action for each row of masks."""
    return np.array([rng.choice(np.flatnonzero(mask)) for mask in masks])


def written(batch: MatchBatch) -> tuple[bytes, ...]:
    """All that a batch has written."""
    arrays = (batch.observations, batch.action_masks, batch.seats, batch.rewards, batch.dones)
    return tuple(array.tobytes() for array in (*arrays, batch.winners, batch.views))


def everything(batch: MatchBatch) -> tuple[bytes, ...]:
    """All that a batch has written, and the matches themselves."""
    records = [batch.matches[name].tobytes() for name in batch.matches.dtype.names]
    return (*written(batch), batch.state_dict()["carried"].tobytes(), *records)


def check_outputs(batch: MatchBatch, i: int, match: Match) -> None:
    """What the batch shows of its match i is what this match is."""
    seat = match.seat
    assert batch.seats[i] == seat
    assert batch.action_masks[i].tolist() == match.action_mask().tolist()
    view = match.view(seat)
    assert batch.views[i].tobytes() == view[0].tobytes()
    row = np.empty((1, batch.layout.size), np.int8)
    encode_many(view, batch.layout, row)
    assert batch.observations[i].tolist() == row[0].tolist()
    scores = batch.matches["scores"][i, : match.num_sides]
    assert tuple(scores.tolist()) == match.scores


# --------------------------------------------------------------------------- batch and match agree


@pytest.mark.parametrize("reward", SCHEMES)
@pytest.mark.parametrize("name", PRESETS)
def test_a_batch_plays_the_same_matches_as_match(name: str, reward: str) -> None:
    """From the same seed, over the whole first match: every array after every step."""
    rules, rng = PRESETS[name], np.random.default_rng(1)
    number = NUMBER if reward == "points" else 1
    batch = MatchBatch(number, rules, seed=40, reward=reward)
    matches = [Match(rules, seed=40 + i) for i in range(number)]
    for i, match in enumerate(matches):
        check_outputs(batch, i, match)
    wanted = np.zeros((1, rules.num_sides), np.float32)
    while not all(match.over for match in matches):
        actions = choose(batch.action_masks, rng)
        batch.step(actions)
        for i, match in enumerate(matches):
            if match.over:
                continue
            match.play(actions[i])
            write_rewards(match.records, SCHEMES.index(reward), wanted)
            assert batch.rewards[i].tolist() == wanted[0].tolist()
            assert batch.dones[i] == match.over
            assert batch.winners[i] == (match.winner if match.over else -1)
            if not match.over:
                check_outputs(batch, i, match)


@pytest.mark.parametrize("name", ["fives_and_threes-2p", "mini-3-pairs", "all_fives-3p"])
def test_an_episode_may_be_one_round(name: str) -> None:
    rules, rng = PRESETS[name], np.random.default_rng(2)
    batch = MatchBatch(20, rules, seed=3, episode="round")
    matches = [Match(rules, seed=3 + i) for i in range(20)]
    running = set(range(20))
    while running:
        actions = choose(batch.action_masks, rng)
        batch.step(actions)
        for i in sorted(running):
            event = matches[i].play(actions[i])
            ended = event.round_end is not None or event.match_over
            assert batch.dones[i] == ended
            assert batch.winners[i] == (matches[i].winner if event.match_over else -1)
            if ended:
                running.remove(i)
            else:
                check_outputs(batch, i, matches[i])
    assert not batch.matches["round_index"].any()


def test_match_i_is_dealt_like_seed_plus_i_and_reset_starts_anew() -> None:
    batch = MatchBatch(100, "league-2p", seed=7)
    for i in (0, 1, 99):
        assert Table(batch.matches[i : i + 1]).hands == Match("league-2p", seed=7 + i).hands
    rng = np.random.default_rng(0)
    for _ in range(30):
        batch.step(batch.random_actions(rng))
    batch.reset(seed=500)
    assert written(batch) == written(MatchBatch(100, "league-2p", seed=500))


def test_without_a_seed_one_is_drawn_and_told() -> None:
    batch = MatchBatch(2, "mini-3")
    assert batch.seed != MatchBatch(2, "mini-3").seed
    assert everything(MatchBatch(2, "mini-3", seed=batch.seed)) == everything(batch)


@pytest.mark.parametrize("name", PRESETS)
def test_views_are_what_redact_makes_also_after_other_seats_used_them(name: str) -> None:
    batch = MatchBatch(8, name, seed=2)
    rng = np.random.default_rng(2)
    for _ in range(60):
        for i in range(8):
            own = redact(batch.matches[i : i + 1], int(batch.seats[i]))
            assert batch.views[i].tobytes() == own[0].tobytes()
        batch.step(batch.random_actions(rng))


# ---------------------------------------------------------------------------------- autoreset


@pytest.mark.parametrize("name", ANY)
def test_a_finished_match_starts_anew_in_the_same_step(name: str) -> None:
    """The new match is a fresh deal from nil; its first round is played along in a ``Match``."""
    rules, rng = ANY[name], np.random.default_rng(3)
    batch = MatchBatch(4, rules, seed=11)
    first_hands = [Table(batch.matches[i : i + 1]).hands for i in range(4)]
    restarts, fresh = 0, 0
    followed: dict[int, Match] = {}
    while restarts < 20:
        actions = choose(batch.action_masks, rng)
        batch.step(actions)
        assert batch.action_masks.any(1).all()
        for i, match in list(followed.items()):
            event = match.play(actions[i])
            if event.round_end or match.over:
                del followed[i]
            else:
                check_mask_and_seat(batch, i, match)
        for i in np.flatnonzero(batch.dones):
            restarts += 1
            table = Table(batch.matches[i : i + 1])
            assert (table.scores, table.round_index) == ((0,) * rules.num_sides, 0)
            assert (table.line, table.over, table.last) == ((), False, None)
            fresh += table.hands != first_hands[i]
            followed[int(i)] = dealt_alike(table)
            check_mask_and_seat(batch, int(i), followed[int(i)])
    assert fresh > 0


def dealt_alike(table: Table) -> Match:
    """A match set up by hand with the deal of another."""
    match = Match(table.rules, seed=0)
    deck = table.records["deck"][0, : table.rules.num_tiles].tolist()
    tiles = [(a, b) for b in range(10) for a in range(b + 1)]
    boneyard = [tiles[index] for index in deck[len(deck) - table.sleeping :]]
    match.deal(table.hands, table.opener, boneyard=boneyard if table.rules.draw else None)
    return match


def check_mask_and_seat(batch: MatchBatch, i: int, match: Match) -> None:
    assert batch.seats[i] == match.seat
    assert batch.action_masks[i].tolist() == match.action_mask().tolist()
    assert batch.matches["scores"][i, : match.num_sides].tolist() == list(match.scores)


def test_later_matches_of_one_batch_differ() -> None:
    batch = MatchBatch(1, "mini-4", seed=1)
    rng = np.random.default_rng(1)
    deals = []
    while len(deals) < 50:
        batch.step(batch.random_actions(rng))
        if batch.dones[0]:
            deals.append(batch.matches["hands"][0].tobytes())
    assert len(set(deals)) > 45


# -------------------------------------------------------------------------------- skip_forced


class Unskipped:
    """One match of a batch that skips nothing, with the forced moves filled in here."""

    def __init__(self, rules: Rules, seed: int, episode: str, reward: str) -> None:
        self.batch = MatchBatch(1, rules, seed=seed, episode=episode, reward=reward)
        self.carried = np.zeros(rules.num_sides)
        self.open_episode()

    def forced(self) -> bool:
        return self.batch.action_masks[0].sum() == 1

    def play_forced(self) -> np.ndarray:
        self.batch.step(self.batch.action_masks.argmax(1))
        return self.batch.rewards[0].astype(float)

    def open_episode(self) -> None:
        """Forced moves before the first decision; an episode without one is passed over."""
        while self.forced():
            self.carried += self.play_forced()
            if self.batch.dones[0]:
                self.carried[:] = 0

    def step(self, action: int) -> tuple[np.ndarray, bool, int]:
        rewards, self.carried = self.carried, np.zeros_like(self.carried)
        self.batch.step(np.array([action]))
        rewards += self.batch.rewards[0]
        while not self.batch.dones[0] and self.forced():
            rewards += self.play_forced()
        done, winner = bool(self.batch.dones[0]), int(self.batch.winners[0])
        if done:
            self.open_episode()
        return rewards, done, winner


def check_skipping(rules: Rules, seed: int, episode: str, reward: str, steps: int) -> None:
    batch = MatchBatch(3, rules, seed=seed, episode=episode, reward=reward, skip_forced=True)
    slow = [Unskipped(rules, seed + i, episode, reward) for i in range(3)]
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        for i, single in enumerate(slow):
            assert batch.seats[i] == single.batch.seats[0]
            assert batch.action_masks[i].tolist() == single.batch.action_masks[0].tolist()
            assert batch.observations[i].tobytes() == single.batch.observations[0].tobytes()
            assert batch.views[i].tobytes() == single.batch.views[0].tobytes()
        assert (batch.action_masks.sum(1) > 1).all()
        actions = choose(batch.action_masks, rng)
        batch.step(actions)
        for i, single in enumerate(slow):
            rewards, done, winner = single.step(actions[i])
            np.testing.assert_allclose(batch.rewards[i], rewards, atol=1e-4)
            assert (batch.dones[i], batch.winners[i]) == (done, winner)


@pytest.mark.parametrize("episode", ["match", "round"])
@pytest.mark.parametrize("name", ANY)
def test_skipping_forced_moves_changes_nothing_else(name: str, episode: str) -> None:
    check_skipping(ANY[name], 5, episode, "points", steps=60)


@pytest.mark.parametrize("reward", ["margin", "win"])
@pytest.mark.parametrize("name", ["mini-2", "mini-3-pairs", "all_fives-2p", *FORCED])
def test_skipping_forced_moves_keeps_every_reward_scheme(name: str, reward: str) -> None:
    check_skipping(ANY[name], 6, "match", reward, steps=60)


@given(valid_rules(), st.integers(0, 2**32), st.sampled_from(["match", "round"]))
@settings(max_examples=20)
def test_skipping_forced_moves_works_whatever_the_rules(rules, seed, episode) -> None:
    assume(rules.hand_size > 1)  # else the lead may end every round: nobody ever has a choice
    check_skipping(rules, seed, episode, "points", steps=12)


# ------------------------------------------------------------------------------------- rewards


@pytest.mark.parametrize("skip_forced", [False, True])
@pytest.mark.parametrize("name", PRESETS)
def test_rewards_are_conserved(name: str, skip_forced: bool) -> None:
    """Points are what the scores take, margins sum to zero, wins too."""
    batches = {
        reward: MatchBatch(30, name, seed=9, reward=reward, skip_forced=skip_forced) for reward in SCHEMES
    }
    points, margin, win = (batches[reward] for reward in SCHEMES)
    sides = points.rules.num_sides
    rng, total = np.random.default_rng(9), np.zeros((30, sides))
    for _ in range(200):
        actions = points.random_actions(rng)
        for batch in batches.values():
            batch.step(actions)
        total += points.rewards
        others = points.rewards.sum(1, keepdims=True) - points.rewards
        np.testing.assert_allclose(margin.rewards, points.rewards - others / (sides - 1), atol=1e-4)
        np.testing.assert_allclose(margin.rewards.sum(1), 0, atol=1e-4)
        np.testing.assert_allclose(win.rewards.sum(1), 0, atol=1e-6)
        won = win.winners >= 0
        assert (won == win.dones).all()
        assert not win.rewards[~won].any()
        assert (win.rewards[won, win.winners[won]] == 1).all()
        for i in np.flatnonzero(points.dones):
            best = total[i].max()
            assert total[i].argmax() == points.winners[i]
            assert best >= points.rules.target
            assert points.rules.overshoot == "win" or best == points.rules.target
        carried = points.state_dict()["carried"]
        total[points.dones] = 0
        scores = points.matches["scores"][:, :sides]
        np.testing.assert_allclose(total + carried, scores, atol=1e-4)


# ---------------------------------------------------------------------------- arrays of others


def test_bind_writes_into_the_given_arrays_from_the_next_step_on() -> None:
    batch, twin = (MatchBatch(6, "short-4p", seed=1) for _ in range(2))
    old = batch.observations, batch.action_masks
    before = old[0].copy(), old[1].copy()
    rollout = np.full((4, 6, batch.layout.size), 55, np.int8)
    masks = np.full((4, 6, batch.rules.num_actions), 55, np.int8)
    rng = np.random.default_rng(1)
    for t in range(4):
        actions = twin.random_actions(rng)
        batch.bind(rollout[t], masks[t])
        assert (rollout[t] == 55).all()
        batch.step(actions)
        twin.step(actions)
        assert np.shares_memory(batch.observations, rollout[t])
        assert (rollout[t] == twin.observations).all()
        assert (masks[t] == twin.action_masks).all()
    assert (old[0] == before[0]).all()
    assert (old[1] == before[1]).all()


def test_the_constructor_takes_arrays_too() -> None:
    wanted = MatchBatch(3, "mini-4", seed=1)
    observations = np.full_like(wanted.observations, 9)
    masks = np.full_like(wanted.action_masks, 9)
    batch = MatchBatch(3, "mini-4", seed=1, observations=observations, action_masks=masks)
    assert batch.observations is observations
    assert (observations == wanted.observations).all()
    assert (masks == wanted.action_masks).all()


def read_only(array: np.ndarray) -> np.ndarray:
    array.setflags(write=False)
    return array


BAD_ARRAYS = {
    "too few rows": lambda n, d: np.zeros((n - 1, d), np.int8),
    "too many rows": lambda n, d: np.zeros((n + 1, d), np.int8),
    "too narrow": lambda n, d: np.zeros((n, d - 1), np.int8),
    "flat": lambda n, d: np.zeros(n * d, np.int8),
    "uint8": lambda n, d: np.zeros((n, d), np.uint8),
    "bool": lambda n, d: np.zeros((n, d), np.bool_),
    "float": lambda n, d: np.zeros((n, d), np.float32),
    "Fortran order": lambda n, d: np.zeros((n, d), np.int8, order="F"),
    "every second column": lambda n, d: np.zeros((n, 2 * d), np.int8)[:, ::2],
    "read-only": lambda n, d: read_only(np.zeros((n, d), np.int8)),
}


@pytest.mark.parametrize("what", BAD_ARRAYS)
@pytest.mark.parametrize("name", ["observations", "action_masks"])
def test_bind_refuses_other_arrays_and_keeps_its_own(name: str, what: str) -> None:
    batch = MatchBatch(4, "mini-3", seed=1)
    own = batch.observations, batch.action_masks
    good = {"observations": np.zeros_like(own[0]), "action_masks": np.zeros_like(own[1])}
    bad = BAD_ARRAYS[what](*good[name].shape)
    with pytest.raises(ValueError, match=f"{name}: .* given; allowed: .*C-contiguous int8"):
        batch.bind(**good | {name: bad})
    assert batch.observations is own[0]
    assert batch.action_masks is own[1]
    batch.step(choose(batch.action_masks, np.random.default_rng(0)))


# ------------------------------------------------------------------------------ hostile actions


def hostile_actions(batch: MatchBatch) -> dict[str, Any]:
    good = batch.action_masks.argmax(1)
    illegal = [int(np.flatnonzero(mask == 0)[0]) for mask in batch.action_masks]

    def with_last(value: Any) -> np.ndarray:
        actions = good.copy()
        actions[-1] = value
        return actions

    huge = good.astype(np.uint64)
    huge[-1] = 2**64 - 1
    return {
        "floats": good.astype(float),
        "NaN": np.full(len(good), np.nan),
        "bools": good.astype(bool),
        "strings": good.astype(str),
        "objects": good.astype(object),
        "complex": good.astype(complex),
        "None": None,
        "a number": 3,
        "too few": good[:-1],
        "too many": np.append(good, 0),
        "a column": good[:, None],
        "an illegal one": with_last(illegal[-1]),
        "a negative one": with_last(-1),
        "very negative": with_last(-(2**63)),
        "one past the end": with_last(batch.rules.num_actions),
        "very large": with_last(2**62),
        "too large for int64": huge,
        "all illegal": np.array(illegal),
    }


@pytest.mark.parametrize("skip_forced", [False, True])
@pytest.mark.parametrize("what", hostile_actions(MatchBatch(3, "mini-2", seed=0)))
def test_hostile_actions_are_refused_and_change_nothing(what: str, skip_forced: bool) -> None:
    for name in ("fives_and_threes-4p", "all_fives-2p"):
        batch = MatchBatch(6, name, seed=4, skip_forced=skip_forced)
        rng = np.random.default_rng(4)
        for _ in range(5):
            batch.step(batch.random_actions(rng))
        before = everything(batch)
        with pytest.raises(IllegalAction, match="allowed"):
            batch.step(hostile_actions(batch)[what])
        assert everything(batch) == before


def test_the_first_illegal_action_is_named() -> None:
    batch = MatchBatch(6, "mini-4", seed=4)
    actions = batch.action_masks.argmax(1)
    actions[[3, 5]] = batch.rules.knock_action
    legal = np.flatnonzero(batch.action_masks[3]).tolist()
    with pytest.raises(IllegalAction) as caught:
        batch.step(actions)
    assert f"actions[3]: {batch.rules.knock_action} given" in str(caught.value)
    assert f"allowed in match 3: {legal}" in str(caught.value)


@pytest.mark.parametrize("code", "bhilqBHILQ")
def test_whole_numbers_of_any_type_are_actions(code: str) -> None:
    one, two = (MatchBatch(6, "league-4p", seed=4) for _ in range(2))
    actions = one.action_masks.argmax(1)
    one.step(actions)
    two.step(actions.astype(code))
    assert everything(one) == everything(two)
    two.reset(4)
    two.step(actions.tolist())
    assert written(one) == written(two)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"num_matches": 0}, ValueError, "num_matches: 0 given; allowed: 1 or more"),
        ({"num_matches": -3}, ValueError, "num_matches: -3 given"),
        ({"rules": "chess"}, RulesError, "no preset 'chess'"),
        ({"seed": -1}, ValueError, "seed: -1 given"),
        ({"seed": 0.5}, ValueError, "seed: 0.5 given"),
        ({"episode": "game"}, ValueError, "episode: 'game' given; allowed: 'match', 'round'"),
        ({"reward": "coins"}, ValueError, "reward: 'coins' given; allowed: 'points', 'margin', 'win'"),
    ],
)
def test_impossible_arguments_are_refused(changes: dict, error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        MatchBatch(**{"num_matches": 2, "rules": "mini-2"} | changes)


# ------------------------------------------------------------------------------ random actions


@pytest.mark.parametrize("name", ["fives_and_threes-4p", "all_fives-2p", "league-2p"])
def test_random_actions_are_uniform_over_the_legal_ones(name: str) -> None:
    """The rank of the choice among k legal actions, for every k: chi-square, fixed seed."""
    batch = MatchBatch(2000, name, seed=1, specialise=False)
    rng = np.random.default_rng(1)
    ranks: dict[int, list[np.ndarray]] = {}
    for _ in range(60):
        actions = batch.random_actions(rng)
        assert (batch.action_masks[np.arange(2000), actions] == 1).all()
        order = batch.action_masks.cumsum(1)[np.arange(2000), actions] - 1
        number = batch.action_masks.sum(1)
        for k in np.unique(number):
            ranks.setdefault(int(k), []).append(order[number == k])
        batch.step(actions)
    tested = 0
    for k, orders in ranks.items():
        counts = np.bincount(np.concatenate(orders), minlength=k)
        if k > 1 and counts.sum() > 20 * k:
            tested += 1
            assert chi_square(counts, counts.sum() / k) < chi_square_limit(k - 1)
    assert tested >= 5


def test_random_actions_depend_on_the_generator_alone() -> None:
    batch = MatchBatch(500, "league-4p", seed=1)
    one, two, other = (batch.random_actions(np.random.default_rng(s)) for s in (5, 5, 6))
    assert (one == two).all()
    assert (one != other).any()
    rng = np.random.default_rng(5)
    assert (batch.random_actions(rng) != batch.random_actions(rng)).any()


# -------------------------------------------------------------------------------------- states


@pytest.mark.parametrize("skip_forced", [False, True])
@pytest.mark.parametrize("name", ["mini-3-pairs", "all_fives-2p"])
def test_a_stored_state_continues_identically(name: str, skip_forced: bool) -> None:
    batch = MatchBatch(10, name, seed=1, skip_forced=skip_forced)
    rng = np.random.default_rng(1)
    for _ in range(50):
        batch.step(batch.random_actions(rng))
    twin = MatchBatch(10, name, seed=99, skip_forced=skip_forced)
    twin.load_state_dict(batch.state_dict())
    for _ in range(50):
        actions = batch.random_actions(rng)
        batch.step(actions)
        twin.step(actions)
        assert everything(batch) == everything(twin)


def test_a_state_of_other_rules_or_size_is_refused() -> None:
    batch = MatchBatch(3, "mini-3", seed=1)
    before = everything(batch)
    for other in (MatchBatch(4, "mini-3", seed=1), MatchBatch(3, "mini-4", seed=1)):
        with pytest.raises(ValueError, match="matches"):
            batch.load_state_dict(other.state_dict())
    assert everything(batch) == before


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("seat", 100), ("seat", -1), ("num_plies", 9999), ("held", 77), ("laid", 2**60), ("ends", 9)),
        *(("must_lead", 28), ("undealt", 99), ("deck", 100), ("scores", 61), ("spinner", 7), ("over", 1)),
    ],
)
def test_a_damaged_state_is_refused_and_changes_nothing(field: str, value: int) -> None:
    batch = MatchBatch(4, "fives_and_threes-2p", seed=0)
    state, before = batch.state_dict(), batch.state_dict()
    state["matches"].reshape(-1).view(MATCH)[field][2] = value
    with pytest.raises(ValueError, match=rf"matches\[2\]: {field} is"):
        batch.load_state_dict(state)
    assert all((batch.state_dict()[name] == array).all() for name, array in before.items())


def test_a_state_of_another_kind_is_refused_and_changes_nothing() -> None:
    batch, other = MatchBatch(4, "mini-3", seed=0), MatchBatch(4, "mini-3", seed=9).state_dict()
    before = batch.state_dict()
    for name, wrong in (
        ("matches", other["matches"].astype(float)),
        ("matches", other["matches"][:3]),
        ("carried", other["carried"][:, :1]),
        ("carried", other["carried"].astype(int)),
    ):
        with pytest.raises(ValueError, match=f"{name}: .* given; allowed: "):
            batch.load_state_dict({**other, name: wrong})
    with pytest.raises(ValueError, match=r"matches\[0\]: rules is"):
        batch.load_state_dict(MatchBatch(4, "mini-2", seed=9).state_dict() | {"carried": other["carried"]})
    assert all((batch.state_dict()[name] == array).all() for name, array in before.items())


def test_a_state_goes_on_identically() -> None:
    batch, rng = MatchBatch(16, "all_fives-4p", seed=0, skip_forced=True), np.random.default_rng(0)
    for _ in range(60):
        batch.step(batch.random_actions(rng))
        twin = MatchBatch(16, "all_fives-4p", seed=5, skip_forced=True)
        twin.load_state_dict(batch.state_dict())
        assert (twin.observations == batch.observations).all()


def test_forced_play_ends_even_where_no_point_can_be_made() -> None:
    rules = Rules(num_players=2, highest=2, hand_size=1, scoring="fives", going_out="none", target=5)
    batch = MatchBatch(2, rules, seed=0, skip_forced=True)
    assert batch.action_masks.sum(1).tolist() == [1, 1]
