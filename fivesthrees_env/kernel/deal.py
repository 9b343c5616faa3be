"""Dealing: who gets what, and who leads."""

from __future__ import annotations

import numpy as np

from fivesthrees_env.kernel.jit import call, jit
from fivesthrees_env.kernel.layout import clear_line, tile_bit
from fivesthrees_env.kernel.random import below
from fivesthrees_env.kernel.record import NONE
from fivesthrees_env.tiles import DOUBLE, PIPS

BY_LOT, BY_HIGHEST_DOUBLE = range(2)  # Rules.lead_first
ROTATE, BY_WINNER = range(2)  # Rules.lead_later


@call
def start_match(match):
    """Set the scores to nothing, shuffle, and deal the first round (FT-4, AF-2)."""
    for side in range(4):
        match.scores[side] = 0
    match.over = 0
    match.winner = NONE
    match.round_index = 0
    match.round_winner = NONE
    clear_event(match)
    shuffle(match)
    deal_first(match)


@call
def start_round(match):
    """Shuffle and deal the round after a finished one."""
    match.round_index += 1
    shuffle(match)
    deal_next(match)


@jit
def deal_first(match):
    """Deal the deck as it lies; a lot or the highest double decides who leads (FT-4, AF-2)."""
    if match.rules.lead_first == BY_LOT:
        deal(match, below(match, match.rules.num_players))
    else:
        deal(match, 0)
        lead_with_highest(match)


@jit
def deal_next(match):
    """Deal the deck as it lies; who leads follows from the last round (FT-4, AF-3)."""
    opener = next_opener(match)
    if opener != NONE:
        deal(match, opener)
    else:
        deal_first(match)


@jit
def next_opener(match):
    """Who leads after a finished round: a seat, or NONE where it is decided as in round 1 (FT-4, AF-3)."""
    if match.rules.lead_later == ROTATE:
        return np.int64((match.opener + 1) % match.rules.num_players)
    return np.int64(match.round_winner)


@jit
def shuffle(match):
    """Put the deck into uniformly random order: Fisher and Yates, as far as tiles are used."""
    rules = match.rules
    for tile in range(rules.num_tiles):
        match.deck[tile] = tile
    used = rules.num_tiles if rules.draw else rules.hand_size * rules.num_players
    for i in range(used):
        j = i + below(match, rules.num_tiles - i)
        match.deck[i], match.deck[j] = match.deck[j], match.deck[i]


@jit
def deal(match, opener):
    """Give the deck out in blocks, seat 0 first (FT-3, AF-1), and let `opener` lead any tile."""
    rules = match.rules
    clear_line(match)
    position = 0
    for seat in range(rules.num_players):
        hand = np.uint64(0)
        for _ in range(rules.hand_size):
            hand |= tile_bit(match.deck[position])
            position += 1
        match.hands[seat] = hand
        match.held[seat] = rules.hand_size
        match.laid[seat] = 0
        match.lacks[seat] = 0
        for value in range(rules.highest + 1):
            match.newer[seat, value] = 0
    match.undealt = rules.num_tiles - position
    match.opener = match.seat = opener
    match.must_lead = NONE
    match.num_plies = 0
    match.knocks = 0


@jit
def lead_with_highest(match):
    """AF-2: the highest dealt double must be led; without one, the heaviest tile."""
    best = best_rank = -1
    for seat in range(match.rules.num_players):
        for tile in range(match.rules.num_tiles):
            if match.hands[seat] & tile_bit(tile) and lead_rank(tile) > best_rank:
                best, best_rank = tile, lead_rank(tile)
                match.opener = match.seat = seat
    match.must_lead = best


@jit
def lead_rank(tile):
    """AF-2: of all dealt tiles, the one with the highest rank must be led."""
    # Among equally heavy tiles the one with the larger half has the larger index.
    return np.int64(tile) + 64 * np.int64(PIPS[tile]) + 4096 * np.int64(DOUBLE[tile])


@jit
def highest_leads(match):
    """Whether AF-2 decided who leads the running round, and with what."""
    rules = match.rules
    if rules.lead_first == BY_LOT:
        return False
    return match.round_index == 0 or (rules.lead_later == BY_WINNER and match.round_winner == NONE)


@jit
def clear_event(match):
    """Forget the latest ply."""
    event, ply = match.event, match.event.ply
    ply.seat = ply.kind = ply.count = ply.reason = ply.offered = 0
    ply.tile = ply.end = event.settled_side = NONE
    event.accepted = event.settlement = event.round_end = event.match_over = 0
