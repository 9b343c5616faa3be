"""Deal sets, teams, the three figures, and the luck of deals."""

from __future__ import annotations

import numpy as np
import pytest

from agents.equity import Equity
from fivesthrees_env.opponents import GreedyAgent, RandomAgent, action_masks
from fivesthrees_env.rules import Rules
from train.arena import deal_next_rounds, deal_rounds, new_matches, play_out
from train.contest import Contest, Team, equity_of, exchanges, less_luck, measure, seatings
from train.deals import BLOCK, EVALUATION_SEED, DealSet
from train.estimates import Estimate, variance_factor, without_luck
from train.luck import luck_of_deals

RNG = np.random.default_rng
MINI, PAIRS = Rules.preset("mini-3"), Rules.preset("mini-3-pairs")
FOUR = Rules.preset("fives_and_threes-4p")
GREEDY, RANDOM = GreedyAgent(), RandomAgent()


class Last:
    """The legal action with the highest number: weak, without chance."""

    name = "last"

    def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        masks = action_masks(views)
        return masks.shape[1] - 1 - masks[:, ::-1].argmax(1)


class Careless:
    """Greedy, but for one in twenty actions, which is random."""

    name = "careless"

    def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        careless = rng.random(len(views)) < 0.05
        return np.where(careless, RANDOM.act(views, rng), GREEDY.act(views, rng))


GREEDY_AND_LAST = Team("greedy+last", (GREEDY, Last()))


def contest(first: object, second: object, rules: Rules, size: int, number: int = 0) -> Contest:
    return Contest(Team.of(first, rules), Team.of(second, rules), DealSet(rules, number, size))  # type: ignore[arg-type]


# --------------------------------------------------------------------------------------- deal sets


def test_the_hash_changes_with_every_change_of_the_deals() -> None:
    first = DealSet(MINI, 0, 40)
    assert first.hash == DealSet(MINI, 0, 40).hash
    others = [DealSet(MINI, 1, 40), DealSet(MINI, 0, 41), DealSet(MINI.replace(target=12), 0, 40)]
    others += [DealSet(Rules.preset("mini-2"), 0, 40)]
    other_deal, other_start = DealSet(MINI, 0, 40), DealSet(MINI, 0, 40)
    other_deal.__dict__["seeds"] = first.seeds + (np.arange(40) == 39)
    other_start.__dict__["starts"] = first.starts + (np.arange(40) == 17)[:, None].astype(np.int16)
    hashes = [first.hash, *(deals.hash for deals in [*others, other_deal, other_start])]
    assert len(set(hashes)) == len(hashes)


def test_the_hash_is_that_of_the_tiles_on_every_machine() -> None:
    """When this fails, old figures cannot be repeated: tell it in the changelog."""
    assert DealSet(MINI, 0, 10).hash == "883c94a5dfe3"


def test_a_larger_set_begins_with_the_smaller_one() -> None:
    small, large = DealSet(FOUR, 3, 10), DealSet(FOUR, 3, 500)
    np.testing.assert_array_equal(small.seeds, large.seeds[:10])
    np.testing.assert_array_equal(small.starts, large.starts[:10])
    assert small.seeds[0] >= EVALUATION_SEED


def test_start_scores_are_those_of_running_matches() -> None:
    starts = DealSet(FOUR, 0, 2000).starts
    assert starts.shape == (2000, 2)
    assert starts.min() == 0
    assert 50 < starts.max() < FOUR.target
    assert 0.1 < (starts == 0).all(1).mean() < 0.4  # one round in four or five is the first


def test_another_hash_is_refused() -> None:
    deals = DealSet(MINI, 0, 10)
    deals.check(None)
    deals.check(deals.hash)
    with pytest.raises(ValueError, match=f"hash: abc given, but deal set 0 of 10 deals.* has {deals.hash}"):
        deals.check("abc")


# ------------------------------------------------------------------------------------------- teams


def test_unlike_partners_exchange_their_seats_too() -> None:
    one, two = Team.of(GREEDY, PAIRS), GREEDY_AND_LAST
    ways = seatings(one, two, PAIRS)
    assert sorted(ways.tolist()) == [[0, 1, 0, 2], [0, 2, 0, 1], [1, 0, 2, 0], [2, 0, 1, 0]]
    both = seatings(two, two, PAIRS)
    assert len({tuple(way) for way in both.tolist()}) == 8
    for seat in range(4):
        assert np.bincount(both[:, seat]).tolist() == [2, 2, 2, 2]


@pytest.mark.parametrize("name", ["fives_and_threes-2p", "fives_and_threes-3p", "fives_and_threes-4p"])
def test_teams_of_one_agent_exchange_sides_alone(name: str) -> None:
    rules = Rules.preset(name)
    one, two = Team.of("greedy", rules), Team.of("random", rules)
    np.testing.assert_array_equal(seatings(one, two, rules), exchanges(rules))


def test_a_pair_of_names_is_a_team() -> None:
    team = Team.of("greedy+random", PAIRS)
    assert (team.name, [agent.name for agent in team.members]) == ("greedy+random", ["greedy", "random"])


@pytest.mark.parametrize(("name", "rules"), [("greedy+random", MINI), ("greedy+random+greedy", PAIRS)])
def test_partners_where_there_are_none_are_refused(name: str, rules: Rules) -> None:
    with pytest.raises(ValueError, match=r"team: 'greedy\+.* given; allowed: one agent, or a\+b"):
        Team.of(name, rules)


def test_a_strong_partner_helps() -> None:
    values = measure(contest(GREEDY_AND_LAST, Last(), PAIRS, 200), "rounds")
    assert Estimate.by_bootstrap(values[:, 0], 1).low > 0


# ----------------------------------------------------------------------------------------- figures


@pytest.mark.parametrize("team", [GREEDY, Last(), GREEDY_AND_LAST], ids=lambda team: team.name)
def test_a_team_against_itself_gets_nothing_and_one_half_exactly(team: object) -> None:
    meeting = contest(team, team, PAIRS, 40)
    for figure, fair in (("rounds", 0.0), ("swing", 0.0), ("matches", 0.5)):
        values = measure(meeting, figure)
        np.testing.assert_allclose(values[:, 0], fair, atol=1e-12)
        np.testing.assert_allclose(values[:, 1], 0.0, atol=1e-6)
    assert less_luck(meeting, values).mean == 0.5


@pytest.mark.parametrize("figure", ["rounds", "swing", "matches"])
def test_a_known_difference_lies_in_the_interval_19_times_in_20(figure: str) -> None:
    """Greedy against random: what 3,000 deals say, and the intervals of 100 times 30 of them."""
    values = measure(contest(GREEDY, RANDOM, MINI, 3000), figure)
    clean = without_luck(values[:, 0], values[:, 1])
    assert Estimate.of_mean(clean, 1).low > (0.5 if figure == "matches" else 0.0)
    intervals = [Estimate.by_bootstrap(part, 1) for part in clean.reshape(100, 30)]
    inside = np.mean([part.low <= clean.mean() <= part.high for part in intervals])
    assert 0.87 <= inside < 1.0


@pytest.mark.parametrize("figure", ["rounds", "swing", "matches"])
def test_a_block_is_played_the_same_whatever_was_played_before(figure: str) -> None:
    """With agents that use chance; alone, after others, and in a larger set."""
    whole = measure(contest(RANDOM, Careless(), MINI, 3 * BLOCK), figure)
    again = contest(RANDOM, Careless(), MINI, 5 * BLOCK)
    for block in (2, 0, 1):
        start = block * BLOCK
        played = again.play(figure, start, start + BLOCK)
        np.testing.assert_array_equal(played, whole[start : start + BLOCK])


@pytest.mark.parametrize("name", ["mini-3", "mini-3-pairs", "mini-all-fives-3", "fives_and_threes-3p"])
def test_matches_played_round_by_round_are_the_same_matches(name: str) -> None:
    rules = Rules.preset(name)
    seats = np.tile(exchanges(rules), (20, 1))
    seeds = np.repeat(np.arange(20), len(exchanges(rules)))
    at_once, by_rounds = new_matches(rules, seeds), new_matches(rules, seeds)
    play_out(at_once, [GREEDY, Last()], seats, RNG(0))
    while not by_rounds["over"].all():
        play_out(by_rounds, [GREEDY, Last()], seats, RNG(0), one_round=True)
        deal_next_rounds(by_rounds)
    np.testing.assert_array_equal(at_once, by_rounds)


def test_the_swing_adds_up_to_what_the_matches_say() -> None:
    """Both say who is better, and the shares of a match add up over its rounds (about: the start scores of
    the swing are those of greedy's matches, not of these).
    """
    meeting = contest(GREEDY, RANDOM, FOUR, 150)
    swing, matches = (measure(meeting, figure)[:, 0].mean() for figure in ("swing", "matches"))
    assert 2.0 < (matches - 0.5) / swing < 8.0


def test_the_swing_needs_an_equity_table() -> None:
    rules = MINI.replace(target=13)
    assert equity_of(rules) is None
    meeting = contest(GREEDY, RANDOM, rules, 4)
    with pytest.raises(ValueError, match="no equity table for"):
        measure(meeting, "swing")
    assert not measure(meeting, "matches")[:, 1].any()


def test_play_stops_when_the_interval_is_narrow_enough() -> None:
    meeting = contest(GREEDY, RANDOM, MINI, 2000)
    stopped, whole = measure(meeting, "rounds", width=0.3), measure(meeting, "rounds")
    assert 128 <= len(stopped) < 2000
    np.testing.assert_array_equal(stopped, whole[: len(stopped)])
    assert Estimate.of_mean(stopped[:, 0], 1).width <= 0.3
    assert len(measure(meeting, "rounds", width=0.15)) > len(stopped)


# -------------------------------------------------------------------------------------------- luck


@pytest.mark.parametrize("rules", [MINI, PAIRS, FOUR], ids=str)
def test_the_luck_of_a_deal_is_0_over_all_turned_orders_of_its_hands(rules: Rules) -> None:
    """Each as likely as the others: so the mean luck is 0 exactly, at any scores and with any opener."""
    equity, n = Equity.load(rules), rules.num_players
    rounds = deal_rounds(rules, np.arange(60), np.arange(60) % n)
    rounds["scores"][:, : rules.num_sides] = RNG(0).integers(rules.target, size=(60, rules.num_sides))
    total = np.zeros((60, rules.num_sides))
    largest = 0.0
    for turn in range(n):
        turned = rounds.copy()
        turned["hands"][:, :n] = np.roll(rounds["hands"][:, :n], turn, axis=1)
        luck = luck_of_deals(turned, equity)
        np.testing.assert_allclose(luck.sum(1), 0.0, atol=1e-6)
        total += luck
        largest = max(largest, np.abs(luck).max())
    np.testing.assert_allclose(total, 0.0, atol=1e-6)
    assert largest > 0.05


@pytest.mark.parametrize("name", ["all_fives-2p", "mini-all-fives-3"])
def test_where_the_highest_double_leads_the_mean_luck_is_0(name: str) -> None:
    rules = Rules.preset(name)
    luck = luck_of_deals(new_matches(rules, np.arange(2000)), Equity.load(rules))[:, 0]
    assert luck.std() > 0.02
    assert abs(luck.mean()) < 4 * luck.std() / np.sqrt(2000)


def test_luck_looks_at_a_deal_without_changing_it() -> None:
    rounds = new_matches(PAIRS, np.arange(5))
    before = rounds.copy()
    luck_of_deals(rounds, Equity.load(PAIRS))
    np.testing.assert_array_equal(rounds, before)


def test_matches_less_luck_say_the_same_with_fewer_matches() -> None:
    meeting = contest(GREEDY, Careless(), FOUR, 256)
    values = measure(meeting, "matches")
    clean = without_luck(values[:, 0], values[:, 1])
    assert variance_factor(values[:, 0], clean) > 1.4
    assert abs(values[:, 1].mean()) < 4 * values[:, 1].std() / 16
    raw, better = Estimate.of_share(values[:, 0], 1), less_luck(meeting, values)
    assert better.width < raw.width / 1.15
    assert better.low < raw.high
    assert raw.low < better.high


def test_where_every_match_is_won_the_interval_is_that_of_a_share() -> None:
    meeting = contest(GREEDY, RANDOM, MINI, 40)
    values = np.stack([np.ones(40), RNG(0).normal(size=40)], 1)
    assert less_luck(meeting, values) == Estimate.of_share(np.ones(40), 80)
