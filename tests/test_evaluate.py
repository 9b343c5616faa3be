"""Arena and evaluation: who is asked what, duplicate rounds, whole matches, intervals."""

from __future__ import annotations

import json
import math
import runpy
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.table import Table

from agents.checkpoints import AGENT_FILE
from agents.networks import PolicyValueNet
from agents.neural import NeuralAgent
from fivesthrees_env.match import IllegalAction, Match
from fivesthrees_env.observations import Layout
from fivesthrees_env.opponents import Agent, GreedyAgent, RandomAgent, action_masks
from fivesthrees_env.rules import Rules
from fivesthrees_env.views import redact
from train import evaluate
from train.arena import deal_rounds, new_matches, play_out
from train.evaluate import (
    CURVE_SEED,
    EVALUATION_SEED,
    Estimate,
    duplicate_rounds,
    evaluation_seeds,
    exchanges,
    whole_matches,
)
from train.ppo import Args, Trainer

GREEDY, RANDOM = GreedyAgent(), RandomAgent()
TABLES = {
    name: Rules.preset(name)
    for name in (
        "fives_and_threes-2p",
        "fives_and_threes-3p",
        "fives_and_threes-4p",
        "fives_and_threes-4p-singles",
    )
}
RNG = np.random.default_rng
every_table = pytest.mark.parametrize("rules", TABLES.values(), ids=TABLES.keys())


class Careless:
    """Greedy, but for a share of random actions."""

    name = "careless"

    def __init__(self, share: float) -> None:
        self.share = share

    def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        careless = rng.random(len(views)) < self.share
        return np.where(careless, RANDOM.act(views, rng), GREEDY.act(views, rng))


# ------------------------------------------------------------------------------------------- arena


@every_table
def test_new_matches_are_dealt_like_match(rules: Rules) -> None:
    seeds = [0, 7, 2**40]
    for seed, record in zip(seeds, new_matches(rules, np.array(seeds)), strict=True):
        match = Match(rules, seed=seed)
        for name in ("hands", "opener", "seat", "scores", "key", "counter"):
            np.testing.assert_array_equal(record[name], match.records[name][0])


@every_table
def test_the_arena_plays_like_match(rules: Rules) -> None:
    """Forced moves made by the arena, the rest by greedy: as if greedy made every ply."""
    seeds = np.arange(20)
    batch = new_matches(rules, seeds)
    play_out(batch, [GREEDY], np.zeros((20, rules.num_players), int), RNG(0))
    for seed, record in zip(seeds, batch, strict=True):
        match = Match(rules, seed=int(seed))
        while not match.over:
            match.play(GREEDY.act(match.view(match.seat), RNG(0))[0])
        assert record["over"]
        assert record["winner"] == match.winner
        assert tuple(record["scores"][: rules.num_sides]) == match.scores
        assert record["round_index"] == match.round_index


@every_table
def test_a_deal_goes_with_every_lead(rules: Rules) -> None:
    n = rules.num_players
    rounds = deal_rounds(rules, np.repeat([5, 6], n), np.tile(np.arange(n), 2))
    assert rounds["opener"].tolist() == [*range(n), *range(n)]
    assert (rounds["seat"] == rounds["opener"]).all()
    assert not rounds["scores"].any()
    for deal in np.split(rounds["hands"], 2):
        assert (deal == deal[0]).all()
    assert (rounds["hands"][0] != rounds["hands"][-1]).any()


@every_table
def test_one_round_stops_at_its_end(rules: Rules) -> None:
    rounds = deal_rounds(rules, np.arange(50), np.zeros(50, int))
    play_out(rounds, [RANDOM], np.zeros((50, rules.num_players), int), RNG(0), one_round=True)
    assert (rounds["event"]["round_end"] > 0).all()
    assert (rounds["round_index"] == 0).all()
    assert not rounds["over"].any()


class Spy:
    """Plays at random, and checks what it is shown."""

    name = "spy"

    def __init__(self, matches: np.ndarray, seating: np.ndarray, index: int) -> None:
        self.matches, self.seating, self.index = matches, seating, index
        self.asked = 0

    def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        own = [
            redact(self.matches[i : i + 1], seat)
            for i, seat in enumerate(self.matches["seat"].tolist())
            if self.seating[i, seat] == self.index
        ]
        assert len(views)
        assert (action_masks(views).sum(1) > 1).all()
        assert (views["seat"] == 0).all()
        assert not views["over"].any()
        for hidden in ("deck", "key", "counter"):
            assert not views[hidden].any()
        assert not views["hands"][:, 1:].any()
        assert all(any(view == shown[0] for shown in own) for view in views)
        self.asked += len(views)
        return RANDOM.act(views, rng)


@every_table
@pytest.mark.parametrize("one_round", [True, False])
def test_agents_are_asked_only_where_they_choose_and_see_only_their_seat(
    rules: Rules, one_round: bool
) -> None:
    matches = new_matches(rules, np.arange(6))
    seating = RNG(1).integers(3, size=(6, rules.num_players))
    spies = [Spy(matches, seating, index) for index in range(3)]
    play_out(matches, spies, seating, RNG(0), one_round)
    assert all(spy.asked > 5 for spy in spies)


class Cheat:
    """Answers whatever it is told to."""

    name = "the cheat"

    def __init__(self, answer: Callable[[np.ndarray], Any]) -> None:
        self.answer = answer

    def act(self, views: np.ndarray, rng: np.random.Generator) -> Any:
        return self.answer(views)


ILLEGAL: dict[str, Callable[[np.ndarray], Any]] = {
    "a knock where something fits": lambda views: np.full(len(views), 56),
    "a tile that is not held": lambda views: action_masks(views).argmin(1),
    "below the range": lambda views: np.full(len(views), -1),
    "past the range": lambda views: np.full(len(views), 57),
    "far past the range": lambda views: np.full(len(views), 2**63 - 1),
    "unsigned": lambda views: np.full(len(views), 2**64 - 1, np.uint64),
    "fractions": lambda views: GREEDY.act(views, RNG(0)) + 0.5,
    "whole floats": lambda views: GREEDY.act(views, RNG(0)).astype(float),
    "not a number": lambda views: np.full(len(views), np.nan),
    "truth values": lambda views: np.ones(len(views), np.bool_),
    "too few": lambda views: GREEDY.act(views, RNG(0))[:-1],
    "too many": lambda views: np.zeros(len(views) + 1, int),
    "one for all": lambda _: 3,
    "a column": lambda views: GREEDY.act(views, RNG(0))[:, None],
    "none": lambda _: None,
}


@pytest.mark.parametrize("answer", ILLEGAL)
def test_an_agent_that_answers_with_an_illegal_action_is_named(answer: str) -> None:
    rules = Rules.preset("fives_and_threes-4p")
    with pytest.raises(IllegalAction, match=r"agent 'the cheat' chose "):
        duplicate_rounds(GREEDY, Cheat(ILLEGAL[answer]), rules, 5)


# --------------------------------------------------------------------------------------- exchanges


@every_table
def test_exchanges_are_symmetric_and_never_constant(rules: Rules) -> None:
    ways = exchanges(rules)
    rows = {tuple(way) for way in ways.tolist()}
    assert len(rows) == len(ways) == 2**rules.num_sides - 2
    assert {tuple(1 - agent for agent in way) for way in rows} == rows
    for way in rows:
        assert set(way) == {0, 1}
        for seat in range(rules.num_players):
            assert way[seat] == way[rules.side_of(seat)]
    for seat in range(rules.num_players):
        assert ways[:, seat].mean() == 0.5


def test_exchanges_of_pairs_give_whole_sides() -> None:
    pairs = exchanges(TABLES["fives_and_threes-4p"]).tolist()
    assert sorted(pairs) == [[0, 1, 0, 1], [1, 0, 1, 0]]
    assert sorted(exchanges(TABLES["fives_and_threes-2p"]).tolist()) == [[0, 1], [1, 0]]


@every_table
def test_every_deal_is_played_with_all_exchanges_and_leads(rules: Rules) -> None:
    result = duplicate_rounds(GREEDY, RANDOM, rules, 3)
    assert result.games == 3 * len(exchanges(rules)) * rules.num_players
    assert result.clusters == 3


@every_table
def test_whole_matches_are_rounded_up_to_whole_exchanges(rules: Rules) -> None:
    ways = len(exchanges(rules))
    for matches in (ways, ways + 1, 2 * ways):
        result = whole_matches(GREEDY, RANDOM, rules, matches)
        assert result.clusters == math.ceil(matches / ways)
        assert result.games == result.clusters * ways


# ------------------------------------------------------------------------------------ measurements


def small_network(rules: Rules) -> NeuralAgent:
    torch.manual_seed(0)
    return NeuralAgent(PolicyValueNet(Layout.of(rules).size, rules.num_actions, 8, 1), rules)


@every_table
@pytest.mark.parametrize("make", [lambda _: GREEDY, small_network], ids=["greedy", "neural"])
def test_an_agent_against_itself_gets_nothing_and_one_half(
    rules: Rules, make: Callable[[Rules], Agent]
) -> None:
    """Deterministic agents: not about, but exactly (up to the rounding of thirds of points)."""
    agent = make(rules)
    rounds = duplicate_rounds(agent, agent, rules, 20)
    assert rounds.mean == pytest.approx(0.0, abs=1e-12)
    assert rounds.high - rounds.low < 1e-12
    assert whole_matches(agent, agent, rules, 60).mean == 0.5
    if rules.num_sides < 4:
        assert (rounds.mean, rounds.low, rounds.high) == (0.0, 0.0, 0.0)


@every_table
def test_greedy_beats_random_clearly(rules: Rules) -> None:
    rounds = duplicate_rounds(GREEDY, RANDOM, rules, 50)
    matches = whole_matches(GREEDY, RANDOM, rules, 200)
    assert rounds.low > 1.0
    assert matches.low > 0.8
    assert rounds.low < rounds.mean < rounds.high
    assert matches.low < matches.mean < matches.high <= 1.0


@every_table
def test_exchanging_the_agents_turns_the_result_round(rules: Rules) -> None:
    """Exactly, where both decide without chance."""
    network = small_network(rules)
    orders = [(GREEDY, network), (network, GREEDY)]
    there, back = (duplicate_rounds(a, b, rules, 20) for a, b in orders)
    assert there.mean == pytest.approx(-back.mean)
    assert there.low == pytest.approx(-back.high)
    won, lost = (whole_matches(a, b, rules, 60) for a, b in orders)
    assert won.mean == pytest.approx(1 - lost.mean)
    assert won.low == pytest.approx(1 - lost.high)


def single_deals(first: Agent, second: Agent, rules: Rules, rounds: int, seed: int) -> np.ndarray:
    """Margins of rounds that are all dealt anew, with sides and lead drawn: (rounds,)."""
    rng = RNG(seed)
    seats = rng.choice(exchanges(rules), size=rounds)
    seeds = evaluation_seeds(rounds, 1000 + seed)
    matches = deal_rounds(rules, seeds, rng.integers(rules.num_players, size=rounds))
    play_out(matches, [first, second], seats, rng, one_round=True)
    scores = matches["scores"][:, : rules.num_sides].astype(float)
    mine = seats[:, : rules.num_sides] == 0
    share = np.where(mine, 1 / mine.sum(1, keepdims=True), -1 / (~mine).sum(1, keepdims=True))
    return (scores * share).sum(1)


@every_table
def test_duplicate_needs_fewer_rounds_than_single_deals(rules: Rules) -> None:
    """The same number of rounds between two agents of nearly the same strength: the standard error
    is less than two thirds (it is about one half), and both find the same margin.
    """
    careless = Careless(0.1)
    duplicate = duplicate_rounds(GREEDY, careless, rules, 200, seed=3)
    single = Estimate.of_mean(single_deals(GREEDY, careless, rules, duplicate.games, seed=3), duplicate.games)
    assert duplicate.high - duplicate.low < (single.high - single.low) * 2 / 3
    assert duplicate.low < single.high
    assert single.low < duplicate.high


# -------------------------------------------------------------------------------------- intervals


def wilson(share: float, n: float) -> tuple[float, float]:
    """The two solutions p of |share - p| = z * sqrt(p * (1 - p) / n)."""
    z2 = 1.959964**2 / n
    a, b, c = 1 + z2, -(2 * share + z2), share**2
    root = math.sqrt(b * b - 4 * a * c)
    return (-b - root) / (2 * a), (-b + root) / (2 * a)


@pytest.mark.parametrize("clusters", [1, 2, 10, 1000])
def test_a_share_of_none_or_all_has_an_interval_with_one_open_side(clusters: int) -> None:
    none, everything = (Estimate.of_share(np.full(clusters, p), 2 * clusters) for p in (0.0, 1.0))
    assert (none.mean, none.low) == (0.0, pytest.approx(0.0, abs=1e-12))
    assert (everything.mean, everything.high) == (1.0, pytest.approx(1.0))
    assert none.high == pytest.approx(1.959964**2 / (clusters + 1.959964**2))
    assert everything.low == pytest.approx(1 - none.high)


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_one_cluster_gives_a_wide_interval_of_a_share(share: float) -> None:
    estimate = Estimate.of_share(np.array([share]), 2)
    assert (estimate.low, estimate.high) == pytest.approx(wilson(share, 1), abs=1e-9)
    assert estimate.high - estimate.low > 0.7


def test_one_cluster_gives_an_endless_interval_of_a_mean() -> None:
    estimate = Estimate.of_mean(np.array([1.5]), 8)
    assert (estimate.mean, estimate.low, estimate.high) == (1.5, -math.inf, math.inf)


def test_independent_matches_get_the_interval_of_wilson() -> None:
    """Clusters of one match: the sample size they are worth is nearly their number."""
    results = np.repeat([1.0, 0.0], [70, 30])
    estimate = Estimate.of_share(results, 100)
    assert (estimate.low, estimate.high) == pytest.approx(wilson(0.7, 99), abs=1e-9)


def test_a_mean_has_the_normal_interval_of_its_clusters() -> None:
    estimate = Estimate.of_mean(np.array([1.0, 2.0, 3.0, 6.0]), 32)
    half = 1.959964 * math.sqrt((4 + 1 + 0 + 9) / 3 / 4)
    assert (estimate.mean, estimate.games, estimate.clusters) == (3.0, 32, 4)
    assert (estimate.low, estimate.high) == pytest.approx((3 - half, 3 + half))


def coverage(estimates: Sequence[Estimate], truth: float) -> float:
    return sum(estimate.low <= truth <= estimate.high for estimate in estimates) / len(estimates)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.98])
@pytest.mark.parametrize("luck", ["own", "shared"])
def test_the_interval_of_a_share_covers_the_truth_19_times_in_20(share: float, luck: str) -> None:
    """Pairs of matches on 200 deals, whose luck is their own or one and the same.

    Shares of so few deals are coarse, so the coverage is 19 in 20 only roughly.
    """
    rng = RNG(0)
    draws = rng.random((2000, 200, 2 if luck == "own" else 1)) < share
    estimates = [Estimate.of_share(pairs.mean(1), 400) for pairs in draws]
    assert 0.91 < coverage(estimates, share) < 0.98


def test_the_interval_of_a_mean_covers_the_truth_19_times_in_20() -> None:
    """Deals with luck of their own (exponential, far from normal) that eight rounds share."""
    rng = RNG(0)
    luck = rng.exponential(4.0, size=(2000, 200)) + rng.normal(size=(2000, 200)) / math.sqrt(8)
    estimates = [Estimate.of_mean(deals, 1600) for deals in luck]
    assert 0.93 < coverage(estimates, 4.0) < 0.97


# ------------------------------------------------------------------------------------------- seeds


@every_table
def test_the_same_seed_gives_the_same_result_and_others_others(rules: Rules) -> None:
    careless = Careless(0.5)
    for measure in (duplicate_rounds, whole_matches):
        first, again, other = (measure(GREEDY, careless, rules, 40, seed) for seed in (7, 7, 8))
        assert first == again
        assert first != other


def test_evaluation_deals_are_disjoint_from_each_other_and_from_training() -> None:
    """What is measured was never trained on, and the curve's deals are not those of the result."""
    seeds = [0, 1, 2, CURVE_SEED, 2**30 - 1]
    ranges = [(evaluation_seeds(1, s)[0], evaluation_seeds(10_000, s)[-1]) for s in seeds]
    for (_, last), (first, _) in pairwise(ranges):
        assert last < first
    for seed in (0, 1, 2**16 - 1, 2**16, 2**31, 2**62):
        args = Args(rules="mini-2", seed=seed, num_matches=8, width=4, depth=1)
        batch = Trainer(args).batch
        assert 0 <= batch.seed <= batch.seed + 2**20 < EVALUATION_SEED <= ranges[0][0]


def test_neighbouring_training_seeds_train_on_other_deals() -> None:
    batches = [Trainer(Args(rules="mini-2", seed=s, width=4, depth=1)).batch for s in (1, 2)]
    assert batches[0].seed + batches[0].num_matches <= batches[1].seed


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"seed": -1}, "seed: -1 given; allowed: 0 to"),
        ({"seed": 2**40}, f"seed: {2**40} given; allowed: 0 to"),
        ({"deals": 0}, "0 given; allowed: 1 to"),
        ({"deals": -5}, "-5 given; allowed: 1 to"),
    ],
)
def test_impossible_deals_and_seeds_are_refused(arguments: dict[str, int], message: str) -> None:
    arguments = {"deals": 5, **arguments}
    with pytest.raises(ValueError, match=message):
        duplicate_rounds(GREEDY, RANDOM, Rules.preset("mini-3"), **arguments)


# ------------------------------------------------------------------------------------ command line


def command(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    """``python -m train.evaluate``, in this process."""
    monkeypatch.setattr("sys.argv", ["train.evaluate", *arguments])
    runpy.run_path(evaluate.__file__, run_name="__main__")


def test_the_command_prints_json(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--deals", "20", "--matches", "20", "--json"]
    command(monkeypatch, "greedy", "random", *options)
    result = json.loads(capsys.readouterr().out)
    assert (result["first"], result["second"]) == ("greedy", "random")
    assert (result["rules"], result["seed"]) == ("fives_and_threes-4p", 0)
    assert result["rounds"]["games"] == 20 * 8
    assert result["rounds"]["clusters"] == 20
    assert result["matches"]["games"] == 20
    for part in (result["rounds"], result["matches"]):
        assert part["low"] <= part["mean"] <= part["high"]
    same = duplicate_rounds(GREEDY, RANDOM, Rules.preset("fives_and_threes-4p"), 20)
    assert result["rounds"]["mean"] == same.mean


def test_the_command_prints_a_table(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("COLUMNS", "160")
    command(monkeypatch, *("greedy", "random", "--rules", "mini-3", "--deals", "20", "--matches", "20"))
    out = capsys.readouterr().out
    assert "mini-3, 95 % intervals" in out
    for word in ("greedy", "random", "points per round", "matches won", "80 rounds and 20 matches"):
        assert word in out


def test_the_command_takes_the_rules_of_a_trained_agent(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    small_network(Rules.preset("mini-3")).save(tmp_path / "my-run" / AGENT_FILE)
    path = str(tmp_path / "my-run")
    for pair in ([path, "random"], ["random", path]):
        command(monkeypatch, *pair, "--deals", "5", "--matches", "6", "--json")
        result = json.loads(capsys.readouterr().out)
        assert result["rules"] == "mini-3"
        assert "my-run" in (result["first"], result["second"])


def refused(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> str:
    with pytest.raises(SystemExit) as caught:
        command(monkeypatch, *arguments)
    message = str(caught.value)
    assert message.startswith("train.evaluate: ")
    assert "\n" not in message
    return message


def test_an_unknown_agent_gets_one_clear_line(monkeypatch: pytest.MonkeyPatch) -> None:
    message = refused(monkeypatch, "greedy", "runs/nowhere")
    assert message.startswith("train.evaluate: no agent 'runs/nowhere'; allowed: random, greedy, ")
    assert message.endswith(", the path of a checkpoint, or module:Class")


def test_other_impossible_evaluations_get_one_clear_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = str(tmp_path)
    assert "no such checkpoint" in refused(monkeypatch, "greedy", path)
    small_network(Rules.preset("mini-3")).save(tmp_path / AGENT_FILE)
    assert "no preset 'chess'" in refused(monkeypatch, "greedy", "random", "--rules", "chess")
    other_rules = refused(monkeypatch, path, "greedy", "--rules", "mini-4")
    assert "highest: trained with 3, to play 4" in other_rules
    assert "0 given; allowed: 1 to" in refused(monkeypatch, "greedy", "random", "--deals", "0")
    assert "0 given; allowed: 1 to" in refused(
        monkeypatch, "greedy", "random", "--deals", "2", "--matches", "0"
    )
    (tmp_path / AGENT_FILE).write_bytes(b"no checkpoint")
    assert "damaged" in refused(monkeypatch, path, "greedy")


def test_an_evaluation_is_repeated_by_its_hash_and_refused_by_another(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--rules", "mini-3", "--deals", "20", "--matches", "20", "--json"]
    command(monkeypatch, "greedy", "random", *options)
    printed = capsys.readouterr().out
    digest = json.loads(printed)["deals"]["hash"]
    command(monkeypatch, "greedy", "random", *options, "--hash", digest)
    assert capsys.readouterr().out == printed
    message = refused(monkeypatch, "greedy", "random", *options, "--hash", "0" * 12)
    assert f"hash: {'0' * 12} given, but deal set 0 of 20 deals, mini-3 has {digest}" in message


def test_an_evaluation_stops_at_the_wanted_width(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--rules", "mini-3", "--deals", "3000", "--matches", "6000", "--json"]
    widths = ["--width", "0.1", "--rounds-width", "0.3", "--swing-width", "0.04"]
    command(monkeypatch, "greedy", "random", *options, *widths)
    result = json.loads(capsys.readouterr().out)
    for figure, width in (("less_luck", 0.1), ("rounds", 0.3), ("swing", 0.04)):
        assert 128 <= result[figure]["clusters"] < 3000
        assert result[figure]["high"] - result[figure]["low"] < 1.1 * width
    assert "width: -1.0 given; allowed: more than 0" in refused(
        monkeypatch, "greedy", "random", *options, "--width", "-1"
    )


def test_partners_are_measured_as_a_team(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    options = ["--rules", "mini-3-pairs", "--deals", "100", "--matches", "40", "--json"]
    command(monkeypatch, "greedy+random", "random", *options)
    result = json.loads(capsys.readouterr().out)
    assert result["first"] == "greedy+random"
    assert result["rounds"]["games"] == 100 * 4 * 4  # two exchanges of sides, two of the partners' seats
    assert result["rounds"]["low"] > 0


def test_without_an_equity_table_the_swing_is_left_out() -> None:
    rules = Rules.preset("mini-3").replace(target=13)
    result = evaluate.compare(GREEDY, RANDOM, rules, 10, 10)
    assert (result["swing"], result["less_luck"], result["factor"]) == (None, None, 1.0)
    _, table, _ = evaluate.results_table([result], "title").renderables
    assert isinstance(table, Table)
    assert list(table.columns[0].cells) == ["points per round", "matches won"]


def test_the_smallest_evaluation_works(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    command(monkeypatch, "greedy", "random", "--deals", "1", "--matches", "1", "--json")
    result = json.loads(capsys.readouterr().out)
    assert result["rounds"]["clusters"] == result["matches"]["clusters"] == 1


def test_help_tells_what_is_measured(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as caught:
        command(monkeypatch, "--help")
    assert caught.value.code == 0
    out = capsys.readouterr().out
    assert "Duplicate rounds" in out
    for option in ("--rules", "--deals", "--matches", "--seed", "--json"):
        assert option in out


def test_an_interruption_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def stop(*_: Any) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("train.contest.Contest.play", stop)
    with pytest.raises(SystemExit, match="130"):
        command(monkeypatch, "greedy", "random")
    assert "train.evaluate: interrupted, nothing is kept" in capsys.readouterr().err
