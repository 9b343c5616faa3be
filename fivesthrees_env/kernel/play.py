"""One ply: what is legal, and what it does."""

from __future__ import annotations

import numpy as np

from fivesthrees_env.kernel.deal import clear_event
from fivesthrees_env.kernel.jit import jit, lowest_bit, unpack
from fivesthrees_env.kernel.layout import (
    at_end,
    end_count,
    join,
    look_ahead,
    playable,
    shown_values,
    tile_bit,
)
from fivesthrees_env.kernel.record import DOWN, DRAW, KNOCK, LEAD, LEFT, MAX_ENDS, NONE, PLAY, RIGHT, UP
from fivesthrees_env.kernel.settle import (
    BONUS_ONE,
    credit,
    end_round_blocked,
    end_round_out,
    goes_out,
    going_out_bonus,
    is_blocked,
    placement_points,
    refusal,
    side_of,
)
from fivesthrees_env.tiles import HIGH, LOW

_NOTHING = np.uint64(0)


@jit
def draw_action(match):
    """The id of drawing, where the game has it: right after the placements."""
    return np.int64(match.rules.num_ends) * match.rules.num_tiles


@jit
def knock_action(match):
    """The id of knocking: the last one."""
    return draw_action(match) + match.rules.draw


@jit
def placement(match, action):
    """The end and the tile of a placement's id, without a division, the slowest of instructions."""
    tiles = np.int64(match.rules.num_tiles)
    end = np.int64(action >= tiles) + np.int64(action >= 2 * tiles) + np.int64(action >= 3 * tiles)
    return end, action - end * tiles


@jit
def may_draw(match):
    """Whether the boneyard can be drawn from at all (AF-7)."""
    return match.rules.draw and match.undealt > match.rules.boneyard_floor


@jit
def placements_of(match):
    """The tiles that the seat to move can lay at each of ``MAX_ENDS`` ends, as masks (FT-5 to FT-8, AF-4)."""
    return (
        _placements(match, LEFT),
        _placements(match, RIGHT),
        _placements(match, UP),
        _placements(match, DOWN),
    )


@jit
def _placements(match, end):
    return playable(match, match.seat, end) if end < match.rules.num_ends and not match.over else _NOTHING


@jit
def nowhere(placements):
    """Whether nothing can be laid at any end."""
    return (placements[LEFT] | placements[RIGHT] | placements[UP] | placements[DOWN]) == 0


@jit
def is_legal(match, action):
    """Whether the seat to move may take an action (FT-5 to FT-8, FT-14, AF-7)."""
    return not match.over and allows(match, placements_of(match), action)


@jit
def allows(match, placements, action):
    """``is_legal`` in a running match whose placements are known."""
    if 0 <= action < draw_action(match):
        end, tile = placement(match, action)
        return (at_end(placements, end) & tile_bit(tile)) != 0
    return action == without_placement(match) and nowhere(placements)


@jit
def without_placement(match):
    """What the seat to move has to do if it can lay nothing: draw while it may, else knock (FT-14, AF-7)."""
    return draw_action(match) if may_draw(match) else knock_action(match)


@jit
def only_action(match):
    """The legal action of the seat to move where it has just one, NONE where it has a choice."""
    action = np.int64(NONE)
    for end in range(match.rules.num_ends):
        tiles = playable(match, match.seat, end)
        if tiles:
            if action >= 0 or (tiles & (tiles - np.uint64(1))) != 0:
                return np.int64(NONE)
            action = end * np.int64(match.rules.num_tiles) + np.int64(lowest_bit(tiles))
    if action >= 0:
        return action
    return without_placement(match)


@jit
def write_mask(match, mask):
    """Set mask[action] to 1 for every legal action, to 0 for the others; all 0 once the match is over."""
    write_mask_of(match, placements_of(match), mask)


@jit
def write_mask_of(match, placements, mask):
    """``write_mask`` of a match whose placements are known."""
    count, num_ends = np.int64(match.rules.num_tiles), match.rules.num_ends
    for end in range(MAX_ENDS):
        if end < num_ends:
            unpack(mask, end * count, at_end(placements, end), count)
    stuck = nowhere(placements) and not match.over
    if match.rules.draw:
        mask[draw_action(match)] = stuck and may_draw(match)
    mask[knock_action(match)] = stuck and not may_draw(match)


@jit
def play(match, action):
    """Make a legal action: `match.event` tells what it did; a finished round is not yet dealt anew."""
    make_ply(match, action)
    match.history[match.num_plies] = match.event.ply
    match.num_plies += 1


@jit
def make_ply(match, action):
    """Make a legal action without noting it in the history: all that a search needs."""
    clear_event(match)
    match.event.ply.seat = match.seat
    if action < draw_action(match):
        end, tile = placement(match, action)
        lay(match, tile, end)
    elif action == knock_action(match):
        knock(match)
    else:
        draw(match)


@jit
def lay(match, tile, end):
    """Lay a tile, count the ends, score the event, see whether the round is over."""
    seat, ply = match.seat, match.event.ply
    side = side_of(match, seat)
    ply.kind = LEAD if match.placed == 0 else PLAY
    ply.tile, ply.end = tile, end
    note_laid_tile(match, tile)
    match.hands[seat] &= ~tile_bit(tile)
    match.laid[seat] |= tile_bit(tile)
    match.held[seat] -= 1
    match.must_lead = NONE
    join(match, tile, end)
    ply.count = end_count(match)
    points = placement_points(match, np.int64(ply.count))  # FT-9
    out = match.held[seat] == 0 and goes_out(match, seat)
    if out:
        points += going_out_bonus(match, side)  # FT-22: one event
    ply.offered = points
    ply.reason = refusal(match, side, points, ply.kind == LEAD)
    if ply.reason:
        match.event.settled_side = NONE  # the settlement was part of what is refused
    else:
        match.event.accepted = points
        credit(match, side, points)
    match.knocks = 0
    if out:
        end_round_out(match, seat)  # FT-19: before the block is looked at
    elif not match.over:
        pass_turn(match)


@jit
def accepted_points(match, tile, end):
    """Points that the score would take for a legal placement of the seat to move.

    Only what that seat can know: pips of other hands (AF-8) are left out, so a view may be asked, too.
    """
    seat = match.seat
    count, _ = look_ahead(match, tile, end)
    points = placement_points(match, count)
    if match.rules.going_out == BONUS_ONE and match.held[seat] == 1 and goes_out(match, seat):
        points += 1
    if refusal(match, side_of(match, seat), points, match.placed == 0):
        return 0
    return points


@jit
def knock(match):
    """Pass because nothing fits (FT-14)."""
    match.event.ply.kind = KNOCK
    note_failure(match)
    match.knocks += 1
    pass_turn(match)


@jit
def draw(match):
    """Take the next tile of the boneyard; the turn goes on (AF-7)."""
    seat = match.seat
    match.event.ply.kind = DRAW
    note_failure(match)
    tile = match.deck[match.rules.num_tiles - match.undealt]
    match.undealt -= 1
    match.hands[seat] |= tile_bit(tile)
    match.held[seat] += 1
    for value in range(match.rules.highest + 1):
        match.newer[seat, value] += 1
    if is_blocked(match):
        end_round_blocked(match)  # AF-9: the last draw may block


@jit
def pass_turn(match):
    """The next seat that holds tiles is to move (FT-15), unless nobody can (FT-18)."""
    if is_blocked(match):
        end_round_blocked(match)
        return
    seat = next_seat(match, match.seat)
    while match.held[seat] == 0:
        seat = next_seat(match, seat)
    match.seat = seat


@jit
def next_seat(match, seat):
    """The seat to the left."""
    return seat + 1 if seat + 1 < match.rules.num_players else 0


@jit
def note_failure(match):
    """Everybody sees that the seat holds none of the values that the ends show."""
    seat, values = match.seat, shown_values(match)
    match.lacks[seat] |= values
    if match.rules.draw:
        for value in range(match.rules.highest + 1):
            if values >> value & 1:
                match.newer[seat, value] = 0


@jit
def note_laid_tile(match, tile):
    """A laid tile was one of those drawn since a failure, if nothing else can have been laid."""
    if not match.rules.draw:
        return
    seat = match.seat
    just_drawn = match.num_plies > 0 and match.history[match.num_plies - 1].kind == DRAW
    for value in range(match.rules.highest + 1):
        newer = match.newer[seat, value]
        if newer > 0 and (just_drawn or value == LOW[tile] or value == HIGH[tile]):
            newer -= 1
        match.newer[seat, value] = min(newer, match.held[seat] - 1)
