"""Players that follow fixed rules: ``smart-greedy`` looks one reply ahead, ``expert`` knows the lore.

Both are compiled, and serve twice: as agents over batches of views, and as play-out policies on matches.
A play-out looks at a match from the seat to move, and sees no more than that seat does:

    desk, book, odds, lore = new_desk()[0], gain_book(rules), odds(rules), Lore()
    look(desk, match, True)
    action = expert_action(desk, book, odds, lore)
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from agents.desk import (
    Book,
    bonus_of,
    chance_of_none,
    expected_gain,
    first_accepted,
    gain_book,
    lay_again,
    most_gained,
    new_desk,
    next_opponent,
    note_gains,
    note_hand,
    unseen_tiles,
    without_voids,
)
from agents.race import PAST, Odds, odds
from fivesthrees_env.kernel.jit import call, count_bits, jit, lowest_bit, prefetch
from fivesthrees_env.kernel.known import KnownGame, borrowed, known, numbers_of, scratch
from fivesthrees_env.kernel.layout import joined, look_ahead, playable, tile_bit
from fivesthrees_env.kernel.play import accepted_points, only_action
from fivesthrees_env.kernel.settle import BLOCK_NONE, BONUS_PIPS, points_of, side_of
from fivesthrees_env.opponents import rules_of, settlement_points
from fivesthrees_env.rules import Rules
from fivesthrees_env.tiles import DOUBLE, FITS, LOW, PIPS, tile_index

__all__ = ["WHEN_ON", "ExpertAgent", "Lore", "SmartGreedyAgent", "expert_action", "smart_greedy_action"]

_FIVE_FOUR = tile_index(4, 5)
#: A point is worth at least so much of a match; just before the target the race's slope may be below 0.
_LEAST_POINT = 1e-4

#: A need below this one, in units of ``score_unit``, may be met by one placement: by 8 points and a bonus.
_ONE_PLACEMENT = 10

# Views from which on it pays to compile for their game.
_MANY = 1024

# Views between the one that is thought about and the one whose memory is asked for.
_AHEAD = 4


class SmartGreedyAgent:
    """Own points minus the reply of the next opponent; ties go to the heavier tile.

    It knows its hand, the line, the scores, and which tiles it has not seen. Of these the next opponent (the
    next seat of another side that holds tiles) may hold any that it has not shown to lack by knocking or
    drawing. The opponent's points are those that its score would take, the bonus for its last tile included.

    Args:
        reply: "best" takes the best reply that any of those tiles allows, as in the public two-player
            ladder; "expected" weighs replies by the chance that the opponent holds the tiles for them.
        take_win: lay a tile that reaches the target, since there is no reply to it. The player of the public
            ladder does not think of that.
    """

    name = "smart-greedy"

    def __init__(self, reply: str = "best", take_win: bool = True) -> None:
        if reply not in ("best", "expected"):
            raise ValueError(f'reply: {reply!r} given; allowed: "best" or "expected"')
        self.reply, self.take_win = reply, take_win

    def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See ``Agent.act``; `rng` is not used."""
        actions = np.empty(len(views), np.int64)
        if len(views):
            rules = rules_of(views)
            _act_smart_greedily(
                views,
                _game_of(views, rules),
                new_desk(),
                gain_book(rules),
                self.reply == "expected",
                self.take_win,
                actions,
            )
        return actions


class Lore(NamedTuple):
    """The rules of the expert: a switch, or a weight in points where a rule weighs against others.

    The defaults are what plays best; a rule that was found to be of no use or to do harm is off. Weights are
    in points of Fives and Threes, in the other games in units of ``Rules.score_unit``.
    """

    take_win: bool = True
    """Lay a tile that reaches the target, whatever else speaks against it."""
    aim: bool = True
    """Value scores by the race to the target (``race.py``): rather 59 than 60. Off: all points alike."""
    weigh_replies: bool = True
    """Weigh the next opponent's replies by chance. Off: expect the best one, as ``smart-greedy`` does."""
    read_knocks: bool = True
    """Nobody holds a value that they have shown to lack."""
    read_points: bool = True
    """Nobody holds a tile that would have earned more than what they laid, as far as that leaves enough."""
    lead_54: float = 1.0
    """Lead the 5-4, where it scores."""
    follow_partner: float = 0.4
    """Count what partner may follow with: this share of the expected gain."""
    follow_self: float = 0.2
    """Count what one may follow with oneself: this share of the best gain of a tile kept."""
    cover_doubles: float = 0.0
    """Lay no double that neither partner nor one's own next tile can cover: times the chance of that."""
    hold_stitch: float = 0.0
    """When ahead, hold the tiles that make all ends alike."""
    spare_partner: float = 0.15
    """Do not play on partner's end when there is a play on an opponent's."""
    block_behind: float = 0.0
    """Block when behind and the next opponent may win by one placement: times the chance of a block."""
    block_busts: float = 0.0
    """Block for a new deal when every play busts: times the chance of a block."""
    shed: float = 0.04
    """Where pips left in hands are paid, lay heavy tiles first: per pip."""


#: Weights of the rules that are off by default, for those who want them on.
WHEN_ON = Lore(cover_doubles=0.5, hold_stitch=0.5, block_behind=1.0, block_busts=1.0)


class ExpertAgent:
    """The lore of the game: one reply ahead, with the score, the hands and the partner in mind.

    It values a placement by the chance to win the race from the scores that it and the expected reply of the
    next opponent leave, in points; on top come the rules of ``Lore``. It knows what a view shows, the plies
    of the round included. Rules without a meaning in a game are off there: those of partners without
    partners, blocks where a block is paid, the 5-4 where it does not score.

    Args:
        rules: each a field of ``Lore``: False for off, True for on at its usual weight, or a weight.

    Raises:
        ValueError: if there is no such rule.
    """

    name = "expert"

    def __init__(self, **rules: float) -> None:
        for rule, value in rules.items():
            if rule not in Lore._fields:
                raise ValueError(f"rule {rule!r} given; allowed: {', '.join(Lore._fields)}")
            if not np.isfinite(value):
                raise ValueError(f"{rule}: {value} given; allowed: True, False or a finite weight")
        weights = {k: getattr(WHEN_ON, k) if v is True else v for k, v in rules.items()}
        self.lore = Lore()._replace(**{k: type(getattr(WHEN_ON, k))(v) for k, v in weights.items()})

    def act(self, views: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """See ``Agent.act``; `rng` is not used."""
        actions = np.empty(len(views), np.int64)
        if len(views):
            rules = rules_of(views)
            game, book, chances = _game_of(views, rules), gain_book(rules), odds(rules, self.lore.aim)
            _act_expertly(views, game, new_desk(), book, chances, self.lore, actions)
        return actions


def _game_of(views: np.ndarray, rules: Rules) -> KnownGame | np.ndarray:
    """What is compiled in: rules and gains, where there are many views and no gaps between them."""
    return _known_game(rules) if len(views) >= _MANY and views.flags.c_contiguous else _gains(rules)


@lru_cache(maxsize=64)
def _known_game(rules: Rules) -> KnownGame:
    return KnownGame(rules.record, _gains(rules))


def _gains(rules: Rules) -> np.ndarray:
    book = gain_book(rules)
    return np.stack([book.gains, book.steps])


@jit
def _act_smart_greedily(views, game, desks, book, expected, take_win, actions):
    views, desk = known(views, game), scratch(desks)
    rows = numbers_of(game)
    book = _uncounted(book, rows[0], rows[1])
    for i in range(views.size):
        prefetch(views, min(i + _AHEAD, views.size - 1))
        actions[i] = _smart_greedy_action(views[i], desk, book, expected, take_win)


@jit
def _act_expertly(views, game, desks, book, odds, lore, actions):
    views, desk = known(views, game), scratch(desks)
    rows = numbers_of(game)
    book = _uncounted(book, rows[0], rows[1])
    odds = Odds(borrowed(odds.by_own), borrowed(odds.by_other))
    for i in range(views.size):
        prefetch(views, min(i + _AHEAD, views.size - 1))
        actions[i] = _expert_action(views[i], desk, book, odds, lore)


@jit
def _uncounted(book, gains, steps):
    """A book without reference counts, its gains those that the compiler may know."""
    tiles, better = borrowed(book.tiles), borrowed(book.better)
    return Book(gains, steps, tiles, better, borrowed(book.none_of), borrowed(book.surely_none_of))


# ------------------------------------------------------------------------------------ smart-greedy


@call
def smart_greedy_action(desk, book, expected, take_win):
    """What ``SmartGreedyAgent`` does at a desk that ``look`` has laid out.

    Args:
        desk: of dtype ``DESK``.
        book: ``gain_book(rules)``.
        expected: weigh the replies by chance.
        take_win: fear no reply to a win.
    """
    book = _uncounted(book, borrowed(book.gains), borrowed(book.steps))
    return _smart_greedy_action(desk.table, desk, book, expected, take_win)


@jit
def _smart_greedy_action(table, desk, book, expected, take_win):
    best, best_rank = only_action(table), -np.inf
    if best >= 0:
        return best
    opponent = next_opponent(table, 0)
    note_hand(table, desk, opponent, without_voids(table, opponent, unseen_tiles(table)))
    for end in range(table.rules.num_ends):
        tiles = playable(table, 0, end)
        while tiles:
            tile = np.int64(lowest_bit(tiles))
            tiles &= tiles - np.uint64(1)
            points = accepted_points(table, tile, end) + settlement_points(table, tile, end)
            if take_win and table.scores[0] + points >= table.rules.target:
                return end * np.int64(table.rules.num_tiles) + tile  # there is no reply
            note_gains(table, desk, book, tile, end)
            if expected:
                reply = expected_gain(table, desk, book, opponent)
            else:
                reply = float(most_gained(table, desk, book, opponent, desk.tiles[opponent]))
            rank = points - reply + PIPS[tile] / 1000
            if rank > best_rank:
                best, best_rank = end * np.int64(table.rules.num_tiles) + tile, rank
    return best


# ------------------------------------------------------------------------------------ expert


@call
def expert_action(desk, book, odds, lore):
    """What ``ExpertAgent`` does at a desk that ``look`` has laid out with the plies of the round.

    Args:
        desk: of dtype ``DESK``.
        book: ``gain_book(rules)``.
        odds: ``odds(rules)``, or ``odds(rules, aim=False)`` for an expert without an aim.
        lore: a ``Lore``.
    """
    book = _uncounted(book, borrowed(book.gains), borrowed(book.steps))
    return _expert_action(desk.table, desk, book, odds, lore)


@jit
def _expert_action(table, desk, book, odds, lore):
    best, best_rank = only_action(table), -np.inf
    if best >= 0:
        return best
    _read_hands(table, desk, book, lore)
    _take_stock(table, desk, odds, lore)
    for end in range(table.rules.num_ends):
        tiles = playable(table, 0, end)
        while tiles:
            tile = np.int64(lowest_bit(tiles))
            tiles &= tiles - np.uint64(1)
            points = accepted_points(table, tile, end) + settlement_points(table, tile, end)
            if lore.take_win and table.scores[0] + points >= table.rules.target:
                return end * np.int64(table.rules.num_tiles) + tile
            note_gains(table, desk, book, tile, end)
            rank = _prospects(table, desk, book, odds, lore, points)
            rank += _worth_of_tile(table, desk, book, lore, tile, end, points)
            rank += _worth_of_line(table, desk, book, lore, tile, end)
            if rank > best_rank:
                best, best_rank = end * np.int64(table.rules.num_tiles) + tile, rank
    return best


@jit
def _read_hands(table, desk, book, lore):
    """What each other seat may hold, by its knocks and by the points that it did not take."""
    unseen = unseen_tiles(table)
    lay_again(table, desk, book.better)
    for seat in range(1, table.rules.num_players):
        tiles = without_voids(table, seat, unseen) if lore.read_knocks else unseen
        likely = tiles & ~desk.unlikely[seat]
        if lore.read_points and np.int64(count_bits(likely)) >= table.held[seat]:
            tiles = likely
        note_hand(table, desk, seat, tiles)


@jit
def _take_stock(table, desk, odds, lore):
    """Note on the desk what does not depend on the placement: needs, worth of a point, ends, blocks."""
    rules = table.rules
    desk.rival = next_opponent(table, 0)
    unit = np.int64(rules.score_unit)
    desk.own_need = own = _need(table.scores[0], rules.target, unit)
    desk.other_need = other = _need(table.scores[side_of(table, desk.rival)], rules.target, unit)
    step = min(3, own, other)
    gain = odds.by_own[own - step, PAST + other] - odds.by_own[own, PAST + other - step]
    desk.point = max(gain / (2 * step), _LEAST_POINT)
    desk.ahead = odds.by_own[own, PAST + other] > 0.5
    desk.partner = rules.num_sides < rules.num_players
    desk.opponents_end = False
    if desk.partner and lore.spare_partner != 0.0:
        for end in range(rules.num_ends):
            desk.opponents_end |= desk.owner[end] & 1 and playable(table, 0, end) != 0
    desk.block = 0.0
    if rules.block == BLOCK_NONE:
        if not desk.ahead and other < _ONE_PLACEMENT:
            desk.block += lore.block_behind
        if own < _ONE_PLACEMENT and lore.block_busts != 0.0 and _every_play_busts(table):
            desk.block += lore.block_busts


@jit
def _need(score, target, unit):
    """From a score to the target in units, rounded up."""
    return -((np.int64(score) - np.int64(target)) // unit)


@jit
def _every_play_busts(table):
    """Whether there are points to be had, but none that the score would take."""
    offered = False
    for end in range(table.rules.num_ends):
        tiles = playable(table, 0, end)
        while tiles:
            tile = np.int64(lowest_bit(tiles))
            tiles &= tiles - np.uint64(1)
            if accepted_points(table, tile, end):
                return False
            offered |= points_of(table, look_ahead(table, tile, end)[0]) > 0
    return offered


@jit
def _prospects(table, desk, book, odds, lore, points):
    """The race after a placement, the expected reply and partner's expected follow-up, in points."""
    own, other = max(desk.own_need - points // table.rules.score_unit, 0), desk.other_need
    replies = book.none_of if lore.weigh_replies else book.surely_none_of
    mean = _after_best(table, desk, book, replies, desk.rival, odds.by_own[own], other, 0)
    if desk.partner and lore.follow_partner != 0.0 and table.held[2] and own > 0:
        worth = odds.by_other[other]
        follow = _after_best(table, desk, book, book.none_of, 2, worth, own, points)
        mean += lore.follow_partner * (follow - worth[PAST + own])
    return mean / desk.point


@jit
def _after_best(table, desk, book, none_of, seat, worth, need, before):
    """Chance to win the race after a seat's best tile, expected.

    Its side has made some points `before`, which has left it a need; `worth` tells the chance by its need.
    """
    bonus, may_hold = bonus_of(table, seat), desk.tiles[seat]
    chances = none_of[np.uint64(table.held[seat]), count_bits(may_hold)]
    first = first_accepted(table, book, seat, bonus, before)
    if first == 0:  # nearly always: a loop over all gains, however many, has no branches once unrolled
        return _mean_worth(desk, book, chances, may_hold, worth, need, bonus, 0)
    return _mean_worth(desk, book, chances, may_hold, worth, need, bonus, first)


@jit
def _mean_worth(desk, book, chances, may_hold, worth, need, bonus, first):
    """The worth of the best gain from the first one on, expected; `chances`: of none, by number of tiles."""
    mean, tiles, none = 0.0, np.uint64(0), 1.0
    for g in range(first, len(book.gains)):  # as in ``expected_gain``
        tiles |= desk.gaining[g]
        none_better, none = none, chances[count_bits(tiles & may_hold)]
        mean += (none_better - none) * worth[np.uint64(PAST + need - book.steps[g] - bonus)]
    return mean + none * worth[np.uint64(PAST + need)]


@jit
def _worth_of_tile(table, desk, book, lore, tile, end, points):
    """What the rules say of laying this tile at this end."""
    worth = 0.0
    if tile == _FIVE_FOUR and table.placed == 0 and points > 0:
        worth += lore.lead_54
    if lore.cover_doubles != 0.0 and DOUBLE[tile]:
        worth -= lore.cover_doubles * _chance_that_bare(table, desk, book, tile)
    if desk.opponents_end and desk.owner[end] == 2:
        worth -= lore.spare_partner
    if table.rules.going_out == BONUS_PIPS:
        worth += lore.shed * PIPS[tile]
    return worth


@jit
def _chance_that_bare(table, desk, book, tile):
    """Chance that neither partner nor the own hand covers a double, if the hand goes on at all."""
    covers = FITS[LOW[tile]] & ~tile_bit(tile)
    if table.hands[0] & covers or table.held[0] == 1:
        return 0.0
    return chance_of_none(table, desk, book, 2, covers) if desk.partner else 1.0


@jit
def _worth_of_line(table, desk, book, lore, tile, end):
    """What the rules say of the line that a placement leaves."""
    worth = 0.0
    kept = table.hands[0] & ~tile_bit(tile)
    if lore.hold_stitch != 0.0 or desk.block != 0.0:
        fits = look_ahead(table, tile, end)[1]
        stitched = fits & ~FITS[joined(table, tile, end)[0][end]] == 0
        if desk.ahead and table.placed > 0 and stitched:
            worth -= lore.hold_stitch
        if desk.block != 0.0 and fits & kept == 0:
            blocked = 1.0
            for seat in range(1, table.rules.num_players):
                blocked *= chance_of_none(table, desk, book, seat, fits)
            worth += desk.block * blocked
    if lore.follow_self != 0.0:
        worth += lore.follow_self * most_gained(table, desk, book, 0, kept) / table.rules.score_unit
    return worth
