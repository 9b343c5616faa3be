"""What a seat can know of the hidden tiles: exact, uniform sampling by dynamic programming.

A *deal* says where every tile lay before the round's first ply: in a hand, in the place of the boneyard from
which it was drawn, or undealt. All deals are equally likely before play; those that contradict what happened
in public drop out, and the others stay equally likely. (How *likely* seats were to play as they did is left
out here; ``Belief.weights`` counts it in.) What happened in public:

- how many tiles each seat was dealt and drew, and which ones it laid, when;
- a seat that knocked or drew held no tile that fitted then. What it has drawn since may fit, so tiles drawn
  between the same failures form a *group*: nobody else can tell them apart. A hand as dealt is a group, too.
  Without drawing that is all there is, and a value that a seat lacks (``lacks``) it lacks for good;
- a seat that lays a tile right after drawing lays the one just drawn;
- where the highest double leads (AF-2), no hand was dealt a tile that ranks above it;
- the round goes on, so somebody can lay a tile, or draw (FT-18, AF-9).

Every hidden tile then has a set of groups that may hold it, every group so many places, and a deal is one way
to fill them. ``ways[j, s]`` counts the ways to place the tiles from the j-th on into the places that state s
leaves free: the table is filled from behind, and then read forwards to count, to sample without rejection,
and to get marginals. A state holds the free places per group, and one bit for what has to happen yet ("some
hand gets a tile that fits"). A table has a few thousand entries. Counts are float64: exact up to 2**53 and
right to about 1 in 10**15 above.

Tiles that other seats have laid are hidden as well, as long as several groups may have held them; groups that
every such tile fits alike are counted as one.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from fivesthrees_env.kernel.deal import clear_event, highest_leads, lead_rank
from fivesthrees_env.kernel.jit import call, count_bits, jit, lowest_bit
from fivesthrees_env.kernel.layout import (
    clear_line,
    fitting_anywhere,
    join,
    shown_values,
    tile_bit,
)
from fivesthrees_env.kernel.play import draw_action, knock_action, may_draw, only_action, play
from fivesthrees_env.kernel.random import below, uniform
from fivesthrees_env.kernel.record import DRAW, KNOCK, MATCH, MAX_PLIES, MAX_SEATS, NONE
from fivesthrees_env.kernel.settle import side_of
from fivesthrees_env.opponents import random_stream
from fivesthrees_env.tiles import HIGH, LOW, MAX_HIGHEST, MAX_TILES
from fivesthrees_env.views import redact, redact_many

__all__ = ["Belief", "Hidden", "Policy", "WeightedDeals", "effective_size"]

#: Probabilities of all actions, (N, actions) float, for views (N,) in which seat 0 is to move.
Policy = Callable[[np.ndarray], np.ndarray]

#: A group for each hand as dealt, and at most one for each tile drawn.
MAX_GROUPS = 64
_ANY_RANK = 1 << 30
_ONE = np.uint64(1)
_BY_RANK = np.array(sorted(range(MAX_TILES), key=lead_rank.py_func, reverse=True), np.int8)

#: What the public record says of the hidden tiles: the question that the table of ways answers.
PLAN = np.dtype(
    [
        # -- groups: places for tiles that nobody else can tell apart
        ("num_groups", "i8"),
        ("seats", "i1", (MAX_GROUPS,)),  # whose places they are
        ("sizes", "i1", (MAX_GROUPS,)),  # places
        ("fixed", "u8", (MAX_GROUPS,)),  # tiles that are known to have lain there, besides
        ("joined", "i1", (MAX_GROUPS,)),  # the group that it is counted with, often itself
        ("free", "i1", (MAX_GROUPS,)),  # places of all groups that are counted with this one
        ("strides", "i8", (MAX_GROUPS,)),  # what one free place more adds to the number of a state
        ("num_states", "i8"),
        # -- tiles that may be in several places, in the order in which they are placed
        ("num_tiles", "i8"),
        ("tiles", "i1", (MAX_TILES,)),
        ("allowed", "u8", (MAX_TILES,)),  # bit g: group g may hold it
        ("unseen", "i1", (MAX_TILES,)),  # 1: may be undealt; 0: was laid, so it was in some group
        ("settles", "i1", (MAX_TILES,)),  # in a hand, it is what has to happen yet
        ("pending", "i8"),  # 1 where something has to happen
        ("lead_open", "i8"),  # the opener, where that is: the highest tile dealt is the opener's; else 0
        # -- while the round is read
        ("since", "i1", (MAX_SEATS, MAX_HIGHEST + 1)),  # the seat's first group after it failed on a value
        ("groups", "u8", (MAX_SEATS,)),  # bit g: group g is the seat's
        ("fresh", "i2", (MAX_SEATS,)),  # the ply that drew a tile which has not failed yet, or NONE
        ("burst", "i1", (MAX_SEATS,)),  # the group of tiles drawn in this turn that have failed, or NONE
        ("led_rank", "i8"),  # AF-2: nothing dealt ranks above
        ("drawn_to", "i1", (MAX_PLIES,)),  # the group of a drawn tile; NONE: it is known, or the viewer's own
    ],
    align=True,
)


class Hidden(NamedTuple):
    """Sampled hidden tiles."""

    hands: np.ndarray
    """(n, seats) uint64: the tiles of each seat as bits, counted from the viewer; the viewer's own, too."""
    undealt: np.ndarray
    """(n, undealt) int8: the sleepers, or the boneyard in the order in which it will be drawn."""


class WeightedDeals(NamedTuple):
    """Sampled deals with the weights that make them a sample of what is likely."""

    matches: np.ndarray
    """(n,) of dtype ``MATCH``."""
    weights: np.ndarray
    """(n,) float64, adding up to 1."""


def effective_size(weights: np.ndarray) -> float:
    """How many equally weighted samples these weights (n,) are worth: (sum w)^2 / sum w^2 (Kish, 1965)."""
    return float(weights.sum() ** 2 / (weights**2).sum())


class Belief:
    """All deals that a view allows, each as likely as the other.

    Args:
        view: a view (1,) of dtype ``MATCH`` of a running round, whoever is to move.

    Attributes:
        count: the number of ways to share out the hidden tiles among hands and draws, float. In Fives and
            Threes this is the number of possible hands of the others.

    Raises:
        ValueError: if `view` is something else.
    """

    def __init__(self, view: np.ndarray) -> None:
        if not isinstance(view, np.ndarray):
            raise ValueError(f"view: {type(view).__name__} given; allowed: a view, such as match.view(seat)")
        self._view = redact(view, 0)
        if view["over"][0] or (view["event"]["round_end"][0] and view["num_plies"][0]):
            raise ValueError("view: of a finished round given; allowed: one of a round that goes on")
        self._plan, self._room, self._ways = prepare(self._view)
        self.count = float(self._ways[0, -1])

    def sample(self, n: int, rng: np.random.Generator) -> Hidden:
        """Hidden tiles, uniformly from all that are possible.

        Args:
            n: how many samples, independent of each other.
            rng: the only source of chance.
        """
        hands = np.empty((n, int(self._view["rules"]["num_players"][0])), np.uint64)
        undealt = np.empty((n, int(self._view["undealt"][0])), np.int8)
        _sample_hidden(self._view, self._plan, self._room, self._ways, random_stream(rng), hands, undealt)
        return Hidden(hands, undealt)

    def deals(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Matches that look to the viewer like this view, and can be played on: (n,) of dtype ``MATCH``.

        Seats stay as the view counts them. Chance in later rounds is drawn from `rng`, too.
        """
        matches = np.empty(n, MATCH)
        _sample_deals(self._view, self._plan, self._room, self._ways, random_stream(rng), matches)
        return matches

    def marginals(self) -> np.ndarray:
        """P(tile is there): (seats + 1, tiles) float64, a row per seat, and the last for undealt ones.

        A tile on the table is nowhere: its column is 0; any other column adds up to 1.
        """
        rules = self._view["rules"][0]
        chances = np.zeros((int(rules["num_players"]) + 1, int(rules["num_tiles"])))
        _marginals(self._view, self._plan, self._room, self._ways, chances)
        return chances

    def weighted(self, n: int, policy: Policy, rng: np.random.Generator) -> WeightedDeals:
        """Uniform deals, weighted by how likely the others were to play as they did.

        The weight of a deal is the product, over all past choices of the other seats in this round, of the
        probability that `policy` gave to what was chosen, looking at what that seat would have seen. The
        viewer's own choices depend on nothing hidden. A weighted mean over these deals is self-normalised
        importance sampling: it tends to the mean over deals given that all others play by `policy`; its bias
        falls like 1/n. ``effective_size(weights)`` tells what the sample is worth: where it is small,
        the play was unlikely in nearly all deals, and more samples, or a policy with more doubt, are called
        for. If no deal of the sample is possible by `policy`, all weigh the same.

        Args:
            n: how many deals.
            policy: action probabilities for views; asked once per ply, for all deals in which that seat had
                a choice.
            rng: the source of chance.
        """
        deals, starts = np.empty(n, MATCH), np.empty(n, MATCH)
        stream = random_stream(rng)
        _sample_with_starts(self._view, self._plan, self._room, self._ways, stream, deals, starts)
        logs = np.zeros(n)
        views = np.zeros(n, MATCH)
        for ply, seat in enumerate(self._view["history"]["seat"][0, : self._view["num_plies"][0]]):
            if seat != 0:
                asked = _with_choice(starts)
                batch = starts[asked]
                redact_many(views[: len(asked)], batch, batch["seat"])
                if len(asked):
                    chances = policy(views[: len(asked)])[:, _action_of(self._view, ply)]
                    with np.errstate(divide="ignore"):
                        logs[asked] += np.log(chances)
            _play_again(self._view, starts, ply)
        return WeightedDeals(deals, _normalised(logs))


def _normalised(logs: np.ndarray) -> np.ndarray:
    if not np.isfinite(logs.max(initial=-np.inf)):
        return np.full(len(logs), 1 / max(len(logs), 1))
    weights = np.exp(logs - logs.max())
    return weights / weights.sum()


# ------------------------------------------------------------------------- what the public record says


@jit
def prepare(views):
    """The plan, the open groups and the table of ways of ``views[0]``."""
    plans = np.zeros(1, PLAN)
    line = np.zeros(1, MATCH)
    by_highest = highest_leads(views[0])
    for attempt in range(2):  # the second: a position set up by hand, led against AF-2
        if make_plan(views[0], plans[0], line[0], by_highest and attempt == 0):
            room, ways = count_ways(plans[0])
            if ways[0, -1] > 0:
                return plans, room, ways
    raise ValueError("view: one that no deal can have led to; allowed: views of matches")


@jit
def make_plan(view, plan, line, by_highest):
    """Read the round: groups, their places, and which of them may hold which tile; False: impossible."""
    plan.num_groups = plan.num_tiles = plan.pending = plan.lead_open = 0
    plan.led_rank = _ANY_RANK
    if by_highest and view.num_plies > 0:
        plan.led_rank = lead_rank(view.history[0].tile)
    elif by_highest and view.must_lead >= 0:
        plan.led_rank = lead_rank(view.must_lead)
    for seat in range(1, view.rules.num_players):
        start_seat(plan, seat, np.int64(view.held[seat]) + np.int64(count_bits(view.laid[seat])))
    line.rules = view.rules
    clear_line(line)
    for ply in range(view.num_plies):
        read_ply(view, plan, line, ply)
    for seat in range(1, view.rules.num_players):
        if plan.fresh[seat] != NONE:  # just drawn: it may fit
            put_drawn(plan, seat, new_group(plan, seat))
    place_unseen(view, plan, by_highest)
    for group in range(plan.num_groups):
        if plan.sizes[group] < 0:
            return False
    join_groups(plan)
    return True


@jit
def start_seat(plan, seat, tiles):
    """Nothing has happened yet: so many tiles lie in the seat's first group, drawn ones among them."""
    plan.groups[seat] = 0
    plan.fresh[seat] = plan.burst[seat] = NONE
    for value in range(MAX_HIGHEST + 1):
        plan.since[seat, value] = 0
    plan.sizes[new_group(plan, seat)] = tiles


@jit
def new_group(plan, seat):
    """One more group of a seat, still without places; groups are numbered as time goes."""
    group = plan.num_groups
    plan.num_groups += 1
    plan.groups[seat] |= tile_bit(group)
    plan.seats[group] = seat
    plan.sizes[group] = plan.fixed[group] = 0
    return group


@jit
def first_group(plan, seat):
    """The seat's hand as it was dealt."""
    return np.int64(lowest_bit(plan.groups[seat]))


@jit
def put_drawn(plan, seat, group):
    """The tile that the seat drew last belongs to this group, not to those dealt."""
    plan.drawn_to[plan.fresh[seat]] = group
    plan.sizes[group] += 1
    plan.sizes[first_group(plan, seat)] -= 1
    plan.fresh[seat] = NONE


@call
def read_ply(view, plan, line, ply):
    """What one ply tells about the hand of its seat."""
    past = view.history[ply]
    seat, kind, tile = np.int64(past.seat), past.kind, np.int64(past.tile)
    plan.drawn_to[ply] = NONE
    if kind in (DRAW, KNOCK):
        if seat != 0:
            note_failed(plan, seat, shown_values(line))
            if kind == DRAW:
                plan.fresh[seat] = ply
            else:
                plan.burst[seat] = NONE
        return
    if seat != 0:
        note_laid(plan, seat, tile)
    join(line, tile, np.int64(past.end))


@jit
def note_failed(plan, seat, values):
    """Nothing in the hand fits these values: only what is drawn from now on can."""
    if plan.fresh[seat] != NONE:
        if plan.burst[seat] == NONE:
            plan.burst[seat] = new_group(plan, seat)
        put_drawn(plan, seat, np.int64(plan.burst[seat]))
    for value in range(MAX_HIGHEST + 1):
        if values >> value & 1:
            plan.since[seat, value] = plan.num_groups


@jit
def note_laid(plan, seat, tile):
    """A tile has left the hand: the one just drawn, or one of any group that may have held it."""
    plan.burst[seat] = NONE
    if plan.fresh[seat] != NONE:
        plan.fresh[seat] = NONE
        plan.sizes[first_group(plan, seat)] -= 1  # it was never dealt, and its place is known
        return
    add_tile(plan, tile, groups_for(plan, seat, tile), 0)


@jit
def groups_for(plan, seat, tile):
    """The seat's groups that may hold a tile, as bits: those since it failed on one of its halves."""
    start = max(plan.since[seat, LOW[tile]], plan.since[seat, HIGH[tile]])
    if lead_rank(tile) > plan.led_rank:
        start = max(start, first_group(plan, seat) + 1)
    if start >= MAX_GROUPS:
        return np.uint64(0)
    return plan.groups[seat] >> np.uint64(start) << np.uint64(start)


@jit
def add_tile(plan, tile, groups, unseen):
    """A tile that lies in one of these groups, or undealt if it is unseen."""
    if not unseen and count_bits(groups) == 1:  # nothing to count
        group = np.int64(lowest_bit(groups))
        plan.fixed[group] |= tile_bit(tile)
        plan.sizes[group] -= 1
        return
    plan.tiles[plan.num_tiles] = tile
    plan.allowed[plan.num_tiles] = groups
    plan.unseen[plan.num_tiles] = unseen
    plan.settles[plan.num_tiles] = 0
    plan.num_tiles += 1


@jit
def unseen_tiles(view):
    """The tiles that the viewer sees nowhere, as bits."""
    tiles = tile_bit(view.rules.num_tiles) - _ONE & ~view.hands[0]
    for seat in range(view.rules.num_players):
        tiles &= ~view.laid[seat]
    return tiles


@call
def place_unseen(view, plan, by_highest):
    """Add the unseen tiles, the highest ranks first, and what has to happen with one of them."""
    plan.lead_open = by_highest and view.placed == 0 and view.opener != 0
    open_line = np.uint64(0)
    if view.placed > 0 and not may_draw(view):
        open_line = fitting_anywhere(view)
    plan.pending = plan.lead_open or (open_line != 0 and (open_line & view.hands[0]) == 0)
    unseen, outranked = unseen_tiles(view), False
    for k in range(MAX_TILES):
        tile = np.int64(_BY_RANK[k])
        outranked |= (view.hands[0] & tile_bit(tile)) != 0
        if tile >= view.rules.num_tiles or (unseen & tile_bit(tile)) == 0:
            continue
        groups = np.uint64(0)
        for seat in range(1, view.rules.num_players):
            groups |= groups_for(plan, seat, tile)
        add_tile(plan, tile, groups, 1)
        last = plan.num_tiles - 1
        if plan.lead_open:
            plan.settles[last] = not outranked
        else:
            plan.settles[last] = (open_line & tile_bit(tile)) != 0
    plan.lead_open = view.opener if plan.lead_open else 0


@jit
def join_groups(plan):
    """Count groups of a seat that may hold the same tiles as one; number the states of free places."""
    plan.num_states = 1
    for group in range(plan.num_groups):
        plan.free[group] = 0
        plan.joined[group] = group
        for earlier in range(group):
            if plan.joined[earlier] == earlier and alike(plan, earlier, group):
                plan.joined[group] = earlier
        plan.free[plan.joined[group]] += plan.sizes[group]
    counted = np.uint64(0)
    for group in range(plan.num_groups):
        if plan.free[group]:
            counted |= tile_bit(group)
            plan.strides[group] = plan.num_states
            plan.num_states *= np.int64(plan.free[group]) + 1
    for j in range(plan.num_tiles):
        plan.allowed[j] &= counted


@jit
def alike(plan, a, b):
    """Whether two groups of one seat may hold the same tiles."""
    if plan.seats[a] != plan.seats[b]:
        return False
    for j in range(plan.num_tiles):
        if (plan.allowed[j] >> np.uint64(a) ^ plan.allowed[j] >> np.uint64(b)) & _ONE:
            return False
    return True


# ------------------------------------------------------------------------------------ the table of ways


@call
def count_ways(plan):
    """The open groups of every state, and the table of ways.

    Returns:
        (states,) uint64: bit g: group g has a free place; (tiles + 1, states or twice as many) float64: how
        many ways there are to place the tiles from the j-th on. The second half of the states is for
        "something has to happen yet". The last state of row 0 is where a deal begins.
    """
    states, last = plan.num_states, plan.num_tiles
    room = np.zeros(states, np.uint64)
    for state in range(states):
        rest = np.int64(state)
        for group in range(plan.num_groups):
            if plan.free[group]:
                places = np.int64(plan.free[group]) + 1
                if rest % places:
                    room[state] |= tile_bit(group)
                rest = rest // places
    ways = np.zeros((last + 1, states * (1 + plan.pending)))
    ways[last, 0] = 1.0
    for j in range(last - 1, -1, -1):
        for pending in range(1 + plan.pending):
            allowed, after = options(plan, j, pending)
            for state in range(states):
                total = ways[j + 1, pending * states + state] if plan.unseen[j] else 0.0
                groups = allowed & room[state]
                while groups:
                    total += ways[j + 1, after * states + state - plan.strides[lowest_bit(groups)]]
                    groups &= groups - _ONE
                ways[j, pending * states + state] = total
    return room, ways


@jit
def options(plan, j, pending):
    """The groups that may take the j-th tile, and whether something has to happen after that."""
    allowed = plan.allowed[j]
    if pending and plan.lead_open:  # nothing is dealt yet, by falling rank
        allowed &= plan.groups[plan.lead_open] if plan.settles[j] else np.uint64(0)
    return allowed, np.int64(0) if plan.settles[j] else np.int64(pending)


@call
def sample_places(plan, room, ways, stream, places):
    """Draw a deal: `places[j]` becomes the group of the j-th tile, or NONE where it is undealt."""
    state, pending, states = plan.num_states - 1, plan.pending, plan.num_states
    for j in range(plan.num_tiles):
        places[j] = NONE
        if state == 0:  # the rest is undealt
            continue
        allowed, after = options(plan, j, pending)
        groups = allowed & room[state]
        here = ways[j, pending * states + state]
        if plan.unseen[j]:
            asleep = ways[j + 1, pending * states + state]
            if asleep == here:
                continue
            left = uniform(stream) * here - asleep
            if left < 0:
                continue
        else:
            left = uniform(stream) * here
        while groups:
            group = np.int64(lowest_bit(groups))
            groups &= groups - _ONE
            step = ways[j + 1, after * states + state - plan.strides[group]]
            if step > 0:
                places[j] = group
                left -= step
                if left < 0:
                    break
        state -= plan.strides[places[j]]
        pending = after


@jit
def _marginals(views, plans, room, ways, chances):
    """Write P(tile is there), by counting the ways from the front, too."""
    view, plan = views[0], plans[0]
    players, states = np.int64(view.rules.num_players), plan.num_states
    for tile in range(view.rules.num_tiles):
        if view.hands[0] & tile_bit(tile):
            chances[0, tile] = 1.0
    width = states * (1 + plan.pending)
    reached, reached_next = np.zeros(width), np.zeros(width)
    reached[width - 1] = 1.0 / ways[0, width - 1]
    for j in range(plan.num_tiles):
        tile = plan.tiles[j]
        reached_next[:] = 0.0
        for pending in range(1 + plan.pending):
            allowed, after = options(plan, j, pending)
            for state in range(states):
                come = reached[pending * states + state]
                if come == 0:
                    continue
                if plan.unseen[j]:
                    reached_next[pending * states + state] += come
                    chances[players, tile] += come * ways[j + 1, pending * states + state]
                groups = allowed & room[state]
                while groups:
                    group = np.int64(lowest_bit(groups))
                    groups &= groups - _ONE
                    there = after * states + state - plan.strides[group]
                    reached_next[there] += come
                    if plan.unseen[j]:
                        chances[plan.seats[group], tile] += come * ways[j + 1, there]
        reached, reached_next = reached_next, reached


# ---------------------------------------------------------------------------------------- matches to play


@jit
def sample_into(view, plan, room, ways, match, places, stream):
    """Make `match` one of the deals that the view allows, to be played on; `places` tells which one."""
    sample_places(plan, room, ways, stream, places)
    fill_present(view, plan, match, places, stream)


@call
def fill_present(view, plan, match, places, stream):
    """The view with its hidden tiles filled in: hands, the boneyard's order, the duty to lead, chance."""
    asleep = unseen_tiles(view)
    for j in range(plan.num_tiles):
        if places[j] != NONE and plan.unseen[j]:
            bit = tile_bit(plan.tiles[j])
            asleep &= ~bit
            match.hands[plan.seats[places[j]]] |= bit
            if plan.lead_open and match.must_lead == NONE:
                match.must_lead = plan.tiles[j]
    fill_undealt(view, match, asleep, stream)
    match.key, match.counter = mixed_key(stream), np.uint64(0)


@jit
def fill_undealt(view, match, asleep, stream):
    """Put the undealt tiles at the end of the deck, in random order where that matters."""
    count, undealt = np.int64(0), np.int64(view.undealt)
    while asleep:
        match.deck[count] = lowest_bit(asleep)
        asleep &= asleep - _ONE
        count += 1
    if view.rules.draw:
        for i in range(undealt):
            other = i + below(stream, count - i)
            match.deck[i], match.deck[other] = match.deck[other], match.deck[i]
    for i in range(undealt - 1, -1, -1):
        match.deck[view.rules.num_tiles - undealt + i] = match.deck[i]


@jit
def mixed_key(stream):
    """The key of a stream of its own."""
    high, low = below(stream, 1 << 31), below(stream, 1 << 31)
    return np.uint64(high) << np.uint64(32) | np.uint64(low)


@jit
def _sample_deals(views, plans, room, ways, stream, deals):
    places = np.empty(MAX_TILES, np.int64)
    for i in range(deals.size):
        deals[i] = views[0]
        sample_into(views[0], plans[0], room, ways, deals[i], places, stream[0])


@jit
def _sample_hidden(views, plans, room, ways, stream, hands, undealt):
    """Only the hidden tiles of deals: (n, seats) and (n, undealt)."""
    places, scratch = np.empty(MAX_TILES, np.int64), views.copy()
    view, end = views[0], np.int64(views[0].rules.num_tiles)
    for i in range(hands.shape[0]):
        match = scratch[0]  # taken anew: a record alone would not keep `scratch` alive
        for seat in range(1, hands.shape[1]):
            match.hands[seat] = 0
        sample_into(view, plans[0], room, ways, match, places, stream[0])
        for seat in range(hands.shape[1]):
            hands[i, seat] = match.hands[seat]
        for k in range(undealt.shape[1]):
            undealt[i, k] = match.deck[end - undealt.shape[1] + k]


@jit
def _sample_with_starts(views, plans, room, ways, stream, deals, starts):
    """Deals to play on, and the same deals before the round's first ply."""
    places = np.empty(MAX_TILES, np.int64)
    for i in range(deals.size):
        deals[i] = starts[i] = views[0]
        sample_into(views[0], plans[0], room, ways, deals[i], places, stream[0])
        fill_start(views[0], plans[0], starts[i], places, stream[0])


# ------------------------------------------------------------------------------- the round once more


@call
def fill_start(view, plan, start, places, stream):
    """Make `start`, a copy of the view, the deal as it was before the first ply.

    The viewer's own draws, which a view does not tell apart, hold its tiles from the first.
    """
    rules = view.rules
    clear_line(start)
    for seat in range(rules.num_players):
        start.hands[seat] = 0
        start.held[seat] += np.int64(count_bits(view.laid[seat]))
        start.laid[seat] = start.lacks[seat] = 0
        for value in range(rules.highest + 1):
            start.newer[seat, value] = 0
    start.hands[0] = view.hands[0] | view.laid[0]
    start.seat, start.num_plies, start.knocks = view.opener, 0, 0
    if view.num_plies > 0:
        clear_event(start)
        start.must_lead = NONE if plan.led_rank == _ANY_RANK else view.history[0].tile
    groups = np.zeros(MAX_GROUPS, np.uint64)
    fill_groups(plan, places, stream, groups)
    for seat in range(1, rules.num_players):
        start.hands[seat] = groups[first_group(plan, seat)]
    take_back(view, plan, start, groups)


@jit
def fill_groups(plan, places, stream, groups):
    """The tiles of every group as bits; those of groups that were counted as one are mixed."""
    tiles = np.empty(MAX_TILES, np.int8)
    for joined in range(plan.num_groups):
        count = np.int64(0)
        for j in range(plan.num_tiles):
            if places[j] == joined:
                tiles[count] = plan.tiles[j]
                count += 1
        for group in range(joined, plan.num_groups):
            if plan.joined[group] != joined:
                continue
            groups[group] = plan.fixed[group]
            for _ in range(plan.sizes[group]):
                k = below(stream, count)
                count -= 1
                groups[group] |= tile_bit(tiles[k])
                tiles[k] = tiles[count]


@jit
def take_back(view, plan, start, groups):
    """Undo draws and points: the boneyard and the scores as they were before the first ply."""
    for ply in range(view.num_plies):
        past = view.history[ply]
        if past.kind == DRAW:
            start.held[past.seat] -= 1
            start.undealt += 1
        elif past.reason == 0:
            start.scores[side_of(view, past.seat)] -= past.offered
    at = np.int64(view.rules.num_tiles) - start.undealt
    for ply in range(view.num_plies):
        if view.history[ply].kind != DRAW:
            continue
        if plan.drawn_to[ply] != NONE:
            tiles = groups[plan.drawn_to[ply]]
            start.deck[at] = lowest_bit(tiles)
            groups[plan.drawn_to[ply]] = tiles & (tiles - _ONE)
        elif view.history[ply].seat != 0:
            start.deck[at] = view.history[ply + 1].tile
        else:
            start.deck[at] = tile_held_later(view)
        at += 1


@jit
def tile_held_later(view):
    """A tile of the viewer that it did not lay before any of its draws."""
    if view.hands[0]:
        return np.int64(lowest_bit(view.hands[0]))
    ply = np.int64(view.num_plies) - 1
    while view.history[ply].seat != 0 or view.history[ply].tile == NONE:
        ply -= 1
    return np.int64(view.history[ply].tile)


@jit
def past_action(view, ply):
    """The action of a ply of the round."""
    past = view.history[ply]
    if past.kind == DRAW:
        return draw_action(view)
    if past.kind == KNOCK:
        return knock_action(view)
    return np.int64(past.end) * np.int64(view.rules.num_tiles) + np.int64(past.tile)


@jit
def _action_of(views, ply):
    return past_action(views[0], ply)


@call
def make_move(match, action):
    """``play``, compiled once for all searches."""
    play(match, action)


@jit
def _play_again(views, matches, ply):
    action = past_action(views[0], ply)
    for i in range(matches.size):
        make_move(matches[i], action)


@jit
def _with_choice(matches):
    """The positions of the matches in which the seat to move has a choice."""
    found = np.empty(matches.size, np.int64)
    count = 0
    for i in range(matches.size):
        if only_action(matches[i]) == NONE:
            found[count] = i
            count += 1
    return found[:count]
