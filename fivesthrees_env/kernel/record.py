"""The match record: everything a match is, in one flat NumPy structure.

``MATCH`` is the only state of the game. Fields that every ply touches come first, so that they share two
or three cache lines; the deck and the history of the round come last. A *view* is a record of the same
dtype (see ``views.py``).
"""

from __future__ import annotations

import numpy as np

from fivesthrees_env.tiles import MAX_HIGHEST, MAX_TILES

MAX_SEATS = 4
MAX_ENDS = 4
#: Longest history of one round: no tile is drawn or laid twice, nobody knocks while tiles can be drawn, and
#: a placement is followed by fewer than ``MAX_SEATS`` knocks, since a block is found at once.
MAX_PLIES = MAX_TILES + MAX_SEATS * MAX_TILES

#: Ends of the line, in the order of the action ids.
LEFT, RIGHT, UP, DOWN = range(4)
#: "No tile", "no end", "no winner", "nothing there".
NONE = -1

# Kinds of ply, ways a round ends, reasons for which an event is rejected: indices into these names.
KINDS = ("lead", "play", "knock", "draw")
LEAD, PLAY, KNOCK, DRAW = range(4)
ROUND_ENDS = (None, "out", "blocked")
OUT, BLOCKED = 1, 2
REASONS = (None, "over the target", "no winning on a lead")
OVER_TARGET, WIN_ON_LEAD = 1, 2

# The parts below have no gaps: they are copied whole, and gaps would carry whatever lay in memory.

#: The parameters of a game as the kernel reads them; made by ``Rules.record``, explained there.
RULES = np.dtype(
    [
        ("target", "i2"),
        ("score_unit", "i2"),
        ("num_players", "i1"),
        ("num_sides", "i1"),
        ("num_tiles", "i1"),
        ("highest", "i1"),
        ("hand_size", "i1"),
        ("num_ends", "i1"),
        ("scoring", "i1"),
        ("going_out", "i1"),
        ("block", "i1"),
        ("lead_first", "i1"),
        ("lead_later", "i1"),
        ("pair_round_end", "i1"),
        ("overshoot", "i1"),
        ("knock_points", "i1"),
        ("win_on_lead", "i1"),
        ("spinner", "i1"),
        ("draw", "i1"),
        ("boneyard_floor", "i1"),
    ],
    align=True,
)

#: One ply of the current round, as it stays in the history.
PLY = np.dtype(
    [
        ("seat", "i1"),
        ("kind", "i1"),  # index into KINDS
        ("tile", "i1"),  # NONE for a knock and, because it is hidden, for a draw
        ("end", "i1"),  # NONE for a knock or a draw
        ("count", "i1"),  # end count after the ply, pips
        ("reason", "i1"),  # index into REASONS: why the offered points were rejected
        ("offered", "i2"),  # points of the event
    ],
    align=True,
)

#: What the latest ply did: the ply itself and what followed from it.
EVENT = np.dtype(
    [
        ("ply", PLY),
        ("accepted", "i2"),  # points that the score took
        ("settlement", "i2"),  # pips of the other hands, rounded: part of what an ended round paid
        ("settled_side", "i1"),  # who received the settlement, or NONE
        ("round_end", "i1"),  # index into ROUND_ENDS
        ("match_over", "i2"),
    ],
    align=True,
)

MATCH = np.dtype(
    [
        # -- the table
        ("hands", "u8", (MAX_SEATS,)),  # bit i: the seat holds tile i
        ("laid", "u8", (MAX_SEATS,)),  # bit i: the seat laid tile i in this round
        ("scores", "i2", (MAX_SEATS,)),  # points per side
        ("lacks", "i2", (MAX_SEATS,)),  # bit v: the seat has shown that it holds no value v
        ("held", "i1", (MAX_SEATS,)),  # number of tiles in the hand
        ("ends", "i1", (MAX_ENDS,)),  # pip that each end shows, NONE where the end is closed
        ("weights", "i1", (MAX_ENDS,)),  # how often that pip counts: 2 for a terminal double
        ("seat", "i1"),  # to move
        ("opener", "i1"),
        ("must_lead", "i1"),  # the tile that has to be led, or NONE for any
        ("placed", "i1"),  # tiles on the table
        ("num_plies", "i2"),  # length of the history
        ("knocks", "i1"),  # knocks since the last placement
        ("spinner", "i1"),  # value of the spinner, or NONE
        ("spinner_free", "i1"),  # bit e: end e (left, right) is the spinner's own open side
        ("undealt", "i1"),  # sleepers, or tiles left in the boneyard
        ("round_winner", "i1"),  # seat that won the last round, or NONE
        ("over", "i1"),
        ("winner", "i1"),  # side that won the match, or NONE
        ("round_index", "i4"),  # rounds started before this one
        ("event", EVENT),
        ("key", "u8"),  # random stream, see random.py
        ("counter", "u8"),
        ("rules", RULES),
        # -- cold
        ("deck", "i1", (MAX_TILES,)),  # the shuffled tiles; the last `undealt` of them are undealt
        (
            "newer",
            "i1",
            (MAX_SEATS, MAX_HIGHEST + 1),
        ),  # tiles drawn since the seat failed on value v
        ("history", PLY, (MAX_PLIES,)),
    ],
    align=True,
)
