"""Points, the target, and the end of a round."""

from __future__ import annotations

import numpy as np

from fivesthrees_env.kernel.jit import call, jit, lowest_bit
from fivesthrees_env.kernel.layout import fitting_anywhere
from fivesthrees_env.kernel.record import BLOCKED, MAX_ENDS, NONE, OUT, OVER_TARGET, WIN_ON_LEAD
from fivesthrees_env.tiles import MAX_HIGHEST, PIPS

THREES_AND_FIVES, FIVES, FIVES_OVER_5 = range(3)  # Rules.scoring
BONUS_NONE, BONUS_ONE, BONUS_PIPS = range(3)  # Rules.going_out
BLOCK_NONE, BLOCK_OTHERS_MINUS_OWN, BLOCK_OTHERS = range(3)  # Rules.block
BOTH_OUT, FIRST_OUT = range(2)  # Rules.pair_round_end
REJECT, WIN = range(2)  # Rules.overshoot


def _points(count: int) -> tuple[int, int, int]:
    """Points for an end count in each kind of scoring (FT-13, AF-6)."""
    threes = count // 3 if count % 3 == 0 else 0
    fives = count // 5 if count % 5 == 0 else 0
    return threes + fives, 5 * fives, fives


#: By scoring and count. Divisions take long, and which count is worth something cannot be predicted.
_POINTS = np.array([_points(count) for count in range(2 * MAX_ENDS * MAX_HIGHEST + 1)]).T.copy()


@jit
def side_of(match, seat):
    """The side that owns a seat's score (FT-2): with pairs, seats 0 and 2 against 1 and 3."""
    sides = match.rules.num_sides
    return seat - sides if seat >= sides else np.int64(seat)


@jit
def points_of(match, count):
    """Points for an end count (FT-13, AF-6)."""
    return _POINTS[match.rules.scoring, np.uint64(count)]


@jit
def placement_points(match, count):
    """Points for a placement that makes this count, the knocks before it included where they pay."""
    return points_of(match, count) + (match.knocks if match.rules.knock_points else 0)


@jit
def goes_out(match, seat):
    """Whether a seat that has laid its last tile ends the round by it (FT-16, FT-17)."""
    rules = match.rules
    if rules.num_sides == rules.num_players or rules.pair_round_end == FIRST_OUT:
        return True
    return match.held[(seat + 2) % 4] == 0


@jit
def is_blocked(match):
    """No seat that still has tiles can lay one, and none can be drawn (FT-18, AF-9)."""
    if match.rules.draw and match.undealt > match.rules.boneyard_floor:
        return False
    in_hands = np.uint64(0)
    for seat in range(match.rules.num_players):
        in_hands |= match.hands[seat]
    return (in_hands & fitting_anywhere(match)) == 0


@jit
def mask_pips(tiles):
    """Pips of some tiles, given as a mask."""
    pips = 0
    while tiles:
        pips += PIPS[lowest_bit(tiles)]
        tiles &= tiles - np.uint64(1)
    return pips


@jit
def hand_pips(match, seat):
    """Pips of the tiles in one hand."""
    return mask_pips(match.hands[seat])


@jit
def side_pips(match, side):
    """Pips left in the hands of a side."""
    pips = 0
    for seat in range(side, match.rules.num_players, match.rules.num_sides):
        pips += hand_pips(match, seat)
    return pips


@jit
def rounded(match, pips):
    """AF-8: pips rounded to the nearest five, in the unit in which this game counts points."""
    fives = (pips + 2) // 5
    return fives if match.rules.scoring == FIVES_OVER_5 else 5 * fives


@jit
def pips_against(match, side):
    """Pips left in the hands of all other sides."""
    pips = 0
    for other in range(match.rules.num_sides):
        if other != side:
            pips += side_pips(match, other)
    return pips


@jit
def going_out_bonus(match, side):
    """What the side that has gone out earns besides the placement (FT-16, FT-17, AF-8)."""
    if match.rules.going_out == BONUS_ONE:
        return 1
    if match.rules.going_out == BONUS_PIPS:
        match.event.settlement = rounded(match, pips_against(match, side))
        match.event.settled_side = side
        return match.event.settlement
    return 0


@jit
def refusal(match, side, points, leads):
    """Why an event's points are not accepted, as an index into REASONS; 0: they are (FT-21, FT-22)."""
    rules = match.rules
    total = match.scores[side] + points
    if total < rules.target or points == 0 or rules.overshoot != REJECT:  # nearly always the first
        return 0
    if total > rules.target:
        return OVER_TARGET
    if leads and not rules.win_on_lead:
        return WIN_ON_LEAD
    return 0


@jit
def credit(match, side, points):
    """Add accepted points to a score; the target wins at once (FT-24, AF-10)."""
    match.scores[side] += points
    if match.scores[side] >= match.rules.target:
        match.over = match.event.match_over = 1
        match.winner = side


@jit
def end_round_out(match, seat):
    """The round is over because a side has gone out; the bonus was part of the last tile's event."""
    match.event.round_end = OUT
    match.round_winner = seat


@call
def end_round_blocked(match):
    """The round is blocked: FT pays nothing (FT-18), AF pays the single lightest side (AF-9)."""
    event, rules = match.event, match.rules
    event.round_end = BLOCKED
    match.round_winner = NONE
    side = lightest_side(match)
    if rules.block == BLOCK_NONE or side == NONE:
        return
    match.round_winner = lightest_seat(match, side)
    pips = pips_against(match, side)
    if rules.block == BLOCK_OTHERS_MINUS_OWN:
        pips -= side_pips(match, side)
    points = rounded(match, pips)
    event.settlement = points
    if refusal(match, side, points, False) == 0:
        event.settled_side = side
        credit(match, side, points)


@jit
def lightest_side(match):
    """The side with the fewest pips in hand, or NONE when several tie (AF-9)."""
    best, best_pips = NONE, 1 << 30
    for side in range(match.rules.num_sides):
        pips = side_pips(match, side)
        if pips == best_pips:
            best = NONE
        elif pips < best_pips:
            best, best_pips = side, pips
    return best


@jit
def lightest_seat(match, side):
    """The seat of a side with the fewest pips: it leads after a settled block."""
    best = side
    for seat in range(side, match.rules.num_players, match.rules.num_sides):
        if hand_pips(match, seat) < hand_pips(match, best):
            best = seat
    return best
