"""The two games in plain Python, written from the rule page alone.

This is the reference that the compiled kernel is played against. It shares no code with the kernel,
prefers lists, tuples and small functions to speed, and names the rule (``FT-7``, ``AF-4``, ...)
wherever one is implemented, so that it can be read next to the rule page.

Where the rule page leaves a point open, the reading that was chosen is marked ``Reading:``.
"""

from __future__ import annotations

from collections.abc import Sequence

Tile = tuple[int, int]

LEFT, RIGHT, UP, DOWN = 0, 1, 2, 3
"""The ends of the layout, as action ids count them."""

CHOICES: dict[str, tuple] = {
    "num_players": (2, 3, 4),
    "partnership": ("pairs", "singles"),
    "pair_round_end": ("both_out", "first_out"),
    "overshoot": ("reject", "win"),
    "scoring": ("fives_and_threes", "fives", "fives_over_5"),
    "going_out": ("one", "none", "pips"),
    "block": ("none", "others_minus_own", "others_total"),
    "lead_first": ("lot", "highest_double"),
    "lead_later": ("rotate", "winner"),
    "knock_points": (False, True),
    "win_on_lead": (False, True),
    "spinner": (False, True),
    "draw": (False, True),
}
"""The settings that have a fixed list of values."""

NUMBERS = ("highest", "hand_size", "target", "boneyard_floor")
"""The settings that are whole numbers."""


# ----------------------------------------------------------------------------------------- tiles


def tile_index(tile: Tile) -> int:
    """Returns the number of a tile; smaller sets are prefixes of larger ones."""
    low, high = tile
    return high * (high + 1) // 2 + low


def tile_set(highest: int) -> list[Tile]:
    """FT-1, AF-1: each pair (low, high) once, listed in the order of `tile_index`."""
    return [(low, high) for high in range(highest + 1) for low in range(high + 1)]


def is_double(tile: Tile) -> bool:
    """Tells whether both halves of a tile are equal."""
    return tile[0] == tile[1]


def turned(tile: Tile) -> Tile:
    """Returns the tile with its halves swapped."""
    return (tile[1], tile[0])


def pips(hand: Sequence[Tile]) -> int:
    """Returns the number of spots on all tiles of a hand."""
    return sum(low + high for low, high in hand)


# --------------------------------------------------------------------------------- count, points


def end_value(tile: Tile, outer_half: int) -> int:
    """FT-10, AF-5: what a tile at an end counts: a double both halves, another its outer half."""
    if is_double(tile):
        return tile[0] + tile[1]
    return outer_half


def end_count(line: Sequence[Tile], arms: Sequence[Sequence[Tile]]) -> int:
    """Adds up the open ends of a layout (FT-9, AF-5).

    The spinner needs no line of its own here. Alone it is a lone double, with one long side covered
    it is a terminal double, and with both covered it is not terminal and counts nothing (AF-5).

    Args:
        line: The tiles from left to right, each with its left half first.
        arms: The tiles that lie up and down of the spinner, each arm from the spinner outward.

    Returns:
        The count in pips; 0 for an empty layout.
    """
    if not line:
        return 0
    if len(line) == 1:
        return line[0][0] + line[0][1]  # FT-11: once, both halves, double or not
    count = end_value(line[0], line[0][0]) + end_value(line[-1], line[-1][1])  # FT-10, FT-12
    for arm in arms:
        if arm:  # AF-5: up and down count only what lies there
            count += end_value(arm[-1], arm[-1][1])
    return count


def points_for_count(count: int, scoring: str) -> int:
    """Turns a count into points (FT-13, AF-6 and the variant that scores count/5)."""
    points = 0
    if scoring == "fives_and_threes":  # FT-13
        if count % 3 == 0:
            points += count // 3
        if count % 5 == 0:
            points += count // 5
    elif count % 5 == 0:  # AF-6
        points = count if scoring == "fives" else count // 5
    return points  # a count of 0 makes 0 points by every formula


def points_for_pips(number: int, scoring: str) -> int:
    """AF-8, AF-9: pips rounded once to the nearest five; divided by 5 where points are count/5."""
    rounded = 5 * ((number + 2) // 5)
    return rounded // 5 if scoring == "fives_over_5" else rounded


# -------------------------------------------------------------------------------------- the game


class Reference:
    """One match, played round after round.

    Attributes:
        settings: The parameters of the game, as given.
        seat: The seat to move; once a round is over, the seat that moved last.
        over: Whether the match is won.
        winner: The side that won the match, or None.
        scores: The points of each side.
        opener: The seat that led this round.
        round_index: 0 in the first round (-1 before it).
        hands: For each seat its tiles as (low, high); drawn tiles come last.
        boneyard: The undealt tiles in drawing order. Without drawing they only lie there (FT-3).
        line: The layout from left to right, each tile with its left half first.
        arms: The tiles up and down of the spinner, from the spinner outward, inner half first.
        round_over: Whether no ply is left in this round (True before the first).
        plies: What `play` returned, ply by ply, in this round.
        drawn_since_failure: For each seat, the values that it had no tile of when it last drew or
            knocked at them, with the number of tiles that it has drawn since.
    """

    def __init__(self, settings: dict) -> None:
        """Prepares a match.

        Args:
            settings: Every parameter by name; names that are not in `CHOICES` or `NUMBERS` are
                ignored. `hand_size` only describes the game here: the caller deals.

        Raises:
            ValueError: If a parameter is missing or has no such value.
        """
        for name, allowed in CHOICES.items():
            if name not in settings or settings[name] not in allowed:
                raise ValueError(f"{name} must be one of {allowed}")
        wrong = [name for name in NUMBERS if not isinstance(settings.get(name), int)]
        if wrong:
            raise ValueError(f"{wrong[0]} must be a whole number")
        self.settings = dict(settings)
        self.tiles = tile_set(settings["highest"])
        self.seat = 0
        self.over = False
        self.winner: int | None = None
        self.scores = [0] * self.num_sides
        self.opener: int | None = None
        self.round_index = -1
        self.hands: list[list[Tile]] = [[] for _ in range(self.num_players)]
        self.boneyard: list[Tile] = []
        self.line: list[Tile] = []
        self.arms: tuple[list[Tile], list[Tile]] = ([], [])
        self.round_over = True
        self.plies: list[dict] = []
        self.drawn_since_failure: list[dict[int, int]] = [{} for _ in range(self.num_players)]
        self._spinner: Tile | None = None
        self._knocks = 0  # knocks since the last placement
        self._must_lead: Tile | None = None
        self._round_winner: int | None = None  # the seat that won the last round

    # ------------------------------------------------------------------------ seats and sides

    @property
    def num_players(self) -> int:
        """FT-2, AF-1: two to four seats, numbered clockwise."""
        return self.settings["num_players"]

    @property
    def pairs(self) -> bool:
        """FT-2: whether partners sit opposite each other, which takes four players."""
        return self.num_players == 4 and self.settings["partnership"] == "pairs"

    @property
    def num_sides(self) -> int:
        """FT-2: the number of scores."""
        return 2 if self.pairs else self.num_players

    def side(self, seat: int) -> int:
        """FT-2: seats 0 and 2 are pair 0, seats 1 and 3 pair 1; otherwise a seat is its side."""
        return seat % 2 if self.pairs else seat

    def seats_of(self, side: int) -> list[int]:
        """Returns the seats that share a score."""
        return [seat for seat in range(self.num_players) if self.side(seat) == side]

    def left_of(self, seat: int) -> int:
        """FT-4: play runs clockwise."""
        return (seat + 1) % self.num_players

    def side_pips(self, side: int) -> int:
        """Returns the pips in all hands of a side."""
        return sum(pips(self.hands[seat]) for seat in self.seats_of(side))

    # ------------------------------------------------------------------------------- the start

    def start_round(
        self,
        hands: Sequence[Sequence[Sequence[int]]],
        boneyard: Sequence[Sequence[int]] = (),
        opener: int | None = None,
        scores: Sequence[int] | None = None,
    ) -> None:
        """Deals a round.

        Args:
            hands: The tiles of each seat.
            boneyard: The undealt tiles in drawing order.
            opener: The seat that leads; None for the seat that the rules name.
            scores: The points of each side; None to carry on.

        Raises:
            ValueError: If a round is being played, the match is over, the tiles or scores are
                impossible, or the opener is to be drawn by lot. Nothing is changed then.
        """
        if self.over or not self.round_over:
            raise ValueError("a round is being played, or the match is over")
        new_hands = [[self._as_tile(tile) for tile in hand] for hand in hands]
        new_boneyard = [self._as_tile(tile) for tile in boneyard]
        self._check_deal(new_hands, new_boneyard)
        new_scores = list(self.scores if scores is None else scores)
        if len(new_scores) != self.num_sides or max(new_scores) >= self.settings["target"]:
            raise ValueError("scores must be one per side, each below the target")
        new_opener = self._opener_by_the_rules(new_hands) if opener is None else opener
        if new_opener not in range(self.num_players):
            raise ValueError("no such seat")

        self._must_lead = self._tile_to_lead(new_hands, new_opener)
        self.hands = new_hands
        self.boneyard = new_boneyard
        self.scores = new_scores
        self.opener = new_opener
        self.seat = new_opener
        self.round_index += 1
        self.round_over = False
        self.line = []
        self.arms = ([], [])
        self.plies = []
        self.drawn_since_failure = [{} for _ in range(self.num_players)]
        self._spinner = None
        self._knocks = 0
        self._round_winner = None

    def _as_tile(self, halves: Sequence[int]) -> Tile:
        """Returns a tile as (low, high)."""
        low, high = sorted(int(half) for half in halves)
        return (low, high)

    def _check_deal(self, hands: list[list[Tile]], boneyard: list[Tile]) -> None:
        """FT-1: every tile exists once."""
        dealt = [tile for hand in [*hands, boneyard] for tile in hand]
        if len(hands) != self.num_players or not all(hands):
            raise ValueError("there must be one hand per seat, none of them empty")
        if len(set(dealt)) != len(dealt) or not set(dealt) <= set(self.tiles):
            raise ValueError("a tile is dealt twice or not in the set")

    def _leads_as_in_first_round(self) -> bool:
        """AF-3: round 1, and where winners lead, a round after one that nobody won."""
        if self.round_index < 0:
            return True
        return self.settings["lead_later"] == "winner" and self._round_winner is None

    def _opener_by_the_rules(self, hands: list[list[Tile]]) -> int:
        """Returns the seat that leads the round about to start."""
        if self._leads_as_in_first_round():
            if self.settings["lead_first"] == "lot":
                raise ValueError("the opener is drawn by lot: name one")  # FT-4
            starter = self._starting_tile(hands)
            return next(seat for seat, hand in enumerate(hands) if starter in hand)  # AF-2
        if self.settings["lead_later"] == "winner":
            return self._round_winner  # AF-3
        return self.left_of(self.opener)  # FT-4: whatever ended the last round

    def _starting_tile(self, hands: list[list[Tile]]) -> Tile:
        """AF-2: the highest dealt double; without one the heaviest, then the larger half."""
        dealt = [tile for hand in hands for tile in hand]
        doubles = [tile for tile in dealt if is_double(tile)]
        if doubles:
            return max(doubles)
        return max(dealt, key=lambda tile: (tile[0] + tile[1], tile[1]))

    def _tile_to_lead(self, hands: list[list[Tile]], opener: int) -> Tile | None:
        """AF-2: the tile that the opener must lead; None where any may be led (FT-5, AF-3).

        Reading: the duty lies on the seat that holds the starting tile. Another opener, whom only
        the caller of `start_round` can name, may lead any tile.
        """
        if self._leads_as_in_first_round() and self.settings["lead_first"] == "highest_double":
            starter = self._starting_tile(hands)
            if starter in hands[opener]:
                return starter
        return None

    # ------------------------------------------------------------------------------ the layout

    @property
    def arms_open(self) -> bool:
        """AF-4: up and down open when both long sides of the spinner are covered."""
        if self._spinner is None:
            return False
        return 0 < self.line.index(self._spinner) < len(self.line) - 1

    @property
    def ends(self) -> list[int]:
        """The value that each open end asks for: left, right and, once open, up and down."""
        if not self.line:
            return []
        values = [self.line[0][0], self.line[-1][1]]
        if self.arms_open:
            values += [arm[-1][1] if arm else self._spinner[0] for arm in self.arms]
        return values

    @property
    def count(self) -> int:
        """FT-9, AF-5: the end count of the layout; 0 on the empty line."""
        return end_count(self.line, self.arms)

    def _lay(self, tile: Tile, end: int) -> None:
        """Joins a tile to an end with the matching half inward (FT-6, AF-4)."""
        if not self.line:
            self.line.append(tile)  # the lead lies low half left
        else:
            value = self.ends[end]
            inner_first = tile if tile[0] == value else turned(tile)
            if end == LEFT:
                self.line.insert(0, turned(inner_first))
            elif end == RIGHT:
                self.line.append(inner_first)
            else:
                self.arms[end - UP].append(inner_first)
        # AF-4: the first double laid in a round spins, later ones never; FT-6: none ever does.
        if self.settings["spinner"] and self._spinner is None and is_double(tile):
            self._spinner = tile

    # ----------------------------------------------------------------------------- what is legal

    @property
    def num_ends(self) -> int:
        """The number of ends that action ids have room for."""
        return 4 if self.settings["spinner"] or self.settings["draw"] else 2

    @property
    def draw_action(self) -> int | None:
        """The id of drawing, which follows the placements; None in a game without."""
        return self.num_ends * len(self.tiles) if self.settings["draw"] else None

    @property
    def knock_action(self) -> int:
        """The id of knocking, the last one."""
        return self.num_ends * len(self.tiles) + (1 if self.settings["draw"] else 0)

    @property
    def num_actions(self) -> int:
        """The number of action ids."""
        return self.knock_action + 1

    @property
    def drawable(self) -> int:
        """FT-3, AF-7: how many tiles may still be drawn; the floor stays in the boneyard."""
        if not self.settings["draw"]:
            return 0
        return max(0, len(self.boneyard) - self.settings["boneyard_floor"])

    def placements(self, seat: int) -> list[tuple[Tile, int]]:
        """Returns every (tile, end) pair that a seat could lay (FT-7).

        A tile that fits two ends makes two pairs, also where the ends are equal (FT-8).
        """
        hand = self.hands[seat]
        if not self.line:  # FT-5, FT-8: one placement per tile
            return [(t, LEFT) for t in hand if self._must_lead is None or t == self._must_lead]
        return [(t, end) for t in hand for end, value in enumerate(self.ends) if value in t]

    def legal_actions(self) -> list[int]:
        """Returns the legal action ids in ascending order; none when the round is over."""
        if self.round_over:
            return []
        placements = self.placements(self.seat)
        if placements:  # FT-14, AF-7: a seat that can lay must; it neither knocks nor draws
            return sorted(end * len(self.tiles) + tile_index(t) for t, end in placements)
        if self.drawable:
            return [self.draw_action]  # AF-7
        return [self.knock_action]  # FT-14, AF-7

    def action_mask(self) -> list[int]:
        """Returns a 1 for every legal action id and a 0 for every other."""
        legal = self.legal_actions()
        return [1 if action in legal else 0 for action in range(self.num_actions)]

    # --------------------------------------------------------------------------------- one ply

    def play(self, action: int) -> dict:
        """Makes one ply.

        Args:
            action: A legal action id.

        Returns:
            What happened: `seat`, `kind` ("lead", "play", "knock" or "draw"), `tile` and `end`
            (None for a knock and a draw), `count` (None likewise), `offered` and `accepted` (the
            points of the event, and what of them the score took), `round_end` (None, "out" or
            "blocked"), `settlement` (the points that the pips in the hands were worth) and
            `match_over`.

        Raises:
            ValueError: If the action is not legal. Nothing is changed then.
        """
        if action not in self.legal_actions():
            raise ValueError(f"action {action} is not legal")
        event = {
            "seat": self.seat,
            "kind": "knock",
            "tile": None,
            "end": None,
            "count": None,
            "offered": 0,
            "accepted": 0,
            "round_end": None,
            "settlement": 0,
            "match_over": False,
        }
        if action == self.knock_action:
            self._knock()
        elif action == self.draw_action:
            self._draw(event)
        else:
            end, index = divmod(action, len(self.tiles))
            self._place(self.tiles[index], end, event)
        event["match_over"] = self.over
        self.plies.append(event)
        return dict(event)

    def _knock(self) -> None:
        """FT-14: passes. The turn goes on, the layout stays, so a knock ends nothing (FT-18)."""
        self._show_failure()
        self._knocks += 1
        self._pass_the_turn()

    def _draw(self, event: dict) -> None:
        """AF-7: takes the next tile of the boneyard; the same seat stays to move."""
        event["kind"] = "draw"
        self._show_failure()
        self.hands[self.seat].append(self.boneyard.pop(0))
        for value in self.drawn_since_failure[self.seat]:
            self.drawn_since_failure[self.seat][value] += 1
        if self._blocked():  # AF-9: tested after the last draw too
            self._end_blocked(event)

    def _place(self, tile: Tile, end: int, event: dict) -> None:
        """Lays a tile and scores it (FT-6, FT-9)."""
        seat = self.seat
        leads = not self.line
        self.hands[seat].remove(tile)
        self._lay(tile, end)
        out = self._takes_side_out(seat)

        # FT-22, AF-8: the placement's points and what going out brings are one event. Knock points
        # (variant) go to the seat that can play after the knocks and belong to its event as well.
        offered = points_for_count(self.count, self.settings["scoring"])
        if self.settings["knock_points"]:
            offered += self._knocks
        self._knocks = 0
        if out:
            event["settlement"] = self._pips_for_going_out(seat)
            offered += event["settlement"]
            offered += 1 if self.settings["going_out"] == "one" else 0  # FT-16, FT-17

        event["kind"] = "lead" if leads else "play"
        event["tile"] = tile
        event["end"] = end
        event["count"] = self.count
        event["offered"] = offered
        event["accepted"] = self._score(self.side(seat), offered, leads)

        if out:  # FT-19: a going-out, also if all others are stuck; FT-23: also if rejected
            self._end_out(event)
        elif self.over:  # FT-24, AF-10: won at once, in the middle of the round
            # Reading: at once means before the test for a block, so `round_end` stays None and a
            # block that the winning tile makes is not settled.
            self.round_over = True
        elif self._blocked():  # FT-18, AF-9: a state, found right after the placement or the lead
            self._end_blocked(event)
        else:
            self._pass_the_turn()

    def _pass_the_turn(self) -> None:
        """FT-4, FT-15: clockwise to the next seat that has tiles; the others are skipped."""
        self.seat = self.left_of(self.seat)
        while not self.hands[self.seat]:
            self.seat = self.left_of(self.seat)

    # ------------------------------------------------------------------------------- the score

    def _score(self, side: int, offered: int, on_lead: bool) -> int:
        """Adds an event to a score as a whole or not at all, and sees whether it wins.

        Args:
            side: The side that scores.
            offered: The points of the event.
            on_lead: Whether the event is that of the round's lead.

        Returns:
            The points that the score took.
        """
        after = self.scores[side] + offered
        target = self.settings["target"]
        if offered == 0:
            return 0  # no event (FT-13)
        if self.settings["overshoot"] == "reject" and after > target:
            return 0  # FT-21: never in part, never a bounce back
        if on_lead and not self.settings["win_on_lead"] and after >= target:
            # The league's 'no winning on a lead'. Reading: it is the same wherever it is played,
            # also where going over the target would win.
            return 0
        self.scores[side] = after
        if after >= target:  # FT-24: exactly the target, by FT-21; AF-10: going over counts
            self.over = True
            self.winner = side
        return offered

    def _takes_side_out(self, seat: int) -> bool:
        """Tells whether the last tile of a seat ends the round (FT-16, FT-17)."""
        if self.hands[seat]:
            return False
        if self.pairs and self.settings["pair_round_end"] == "first_out":
            return True  # variant: the first player out ends the round
        return not any(self.hands[other] for other in self.seats_of(self.side(seat)))

    def _pips_for_going_out(self, seat: int) -> int:
        """AF-8: the pips of all other hands together, rounded once (FT-20: never in FT).

        Reading: in pairs the other hands are those of the opposing pair. What a partner still holds
        counts neither for nor against the own pair.
        """
        if self.settings["going_out"] != "pips":
            return 0
        others = [side for side in range(self.num_sides) if side != self.side(seat)]
        left = sum(self.side_pips(side) for side in others)
        return points_for_pips(left, self.settings["scoring"])

    def _end_out(self, event: dict) -> None:
        """FT-16, FT-17, AF-8: ends the round for the seat that has just laid its last tile."""
        event["round_end"] = "out"
        self.round_over = True
        self._round_winner = self.seat

    # ------------------------------------------------------------------------------- the block

    def _blocked(self) -> bool:
        """FT-18, AF-9: no seat that still has tiles can lay one, and nothing can be drawn."""
        if self.drawable:
            return False
        return not any(self.placements(seat) for seat in range(self.num_players))

    def _end_blocked(self, event: dict) -> None:
        """FT-18, AF-9: ends a blocked round."""
        event["round_end"] = "blocked"
        self.round_over = True
        side = self._lightest_side()
        if self.settings["block"] == "none" or side is None:
            return  # FT-18: a block has no winner; AF-9: nor has a tie for lightest
        event["settlement"] = self._pips_for_block(side)
        self._round_winner = self._lightest_seat(side)
        # Reading: the settlement is an event of its own, to which FT-21 applies where it is played;
        # it belongs to no placement, hence never to a lead.
        self._score(side, event["settlement"], on_lead=False)

    def _lightest_side(self) -> int | None:
        """AF-9: the side with the fewest pips in hand, None for a tie.

        Reading: in pairs a side's hand is what both partners hold.
        """
        totals = [self.side_pips(side) for side in range(self.num_sides)]
        lightest = min(totals)
        return totals.index(lightest) if totals.count(lightest) == 1 else None

    def _lightest_seat(self, side: int) -> int:
        """Returns the seat that leads next after its side won a block (AF-3).

        Reading: in pairs the partner with fewer pips, of equal ones the lower seat.
        """
        return min(self.seats_of(side), key=lambda seat: pips(self.hands[seat]))

    def _pips_for_block(self, side: int) -> int:
        """AF-9: the others' pips together, minus the side's own unless varied, rounded once."""
        own = self.side_pips(side)
        others = sum(pips(hand) for hand in self.hands) - own
        left = others - own if self.settings["block"] == "others_minus_own" else others
        return points_for_pips(left, self.settings["scoring"])

    # --------------------------------------------------------------------- what the table knows

    def _show_failure(self) -> None:
        """FT-14, AF-7: who knocks or draws shows to have no tile for any open end."""
        for value in self.ends:
            self.drawn_since_failure[self.seat][value] = 0

    @property
    def lacks(self) -> list[set[int]]:
        """For each seat, the values that it has shown to lack and drawn no tile since."""
        return [
            {value for value, drawn in failures.items() if drawn == 0}
            for failures in self.drawn_since_failure
        ]
