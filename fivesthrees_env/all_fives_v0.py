"""# All Fives.

The American game of scoring dominoes, also called Muggins, for two, three or four players, each for
itself. After every placement the open ends of the line are added up, and a sum divisible by five
scores itself. The first double is the *spinner*, which can be played on from all four sides. Who
cannot play draws from the boneyard. Going out earns the pips of all other hands. The first to reach
150 wins; going over counts.

|   |   |
|---|---|
| Make | `pettingzoo.make("aec", "fivesthrees/all_fives-v0")` |
| Import | `from fivesthrees_env import all_fives_v0` |
| Agents | `player_0` … `player_3` (2, 3 or 4 agents), one move at a time |
| Sides | each agent its own |
| Actions | `Discrete(actions)`, with a mask |
| Observation | `{"observation": (bits,) int8, "action_mask": (actions,) int8}` |
| State | `state()`: all hands, 28 bits each, then the observation of `player_0` |
| Rewards | points of the agent; or margin, or win and loss |
| Render modes | `ansi`, `rgb_array`, `human` |
| Parallel API | no |

<!-- sizes all_fives -->
| agents | bits | actions | `state()` |
|---|---|---|---|
| 2 | 321 | 114 | 377 |
| 3 | 407 | 114 | 491 |
| 4 | 475 | 114 | 587 |
<!-- /sizes -->

## Usage

>>> import numpy as np
>>> from fivesthrees_env import all_fives_v0
>>> env = all_fives_v0.env(num_players=2)
>>> env.reset(seed=0)
>>> for agent in env.agent_iter():
...     observation, reward, terminated, truncated, info = env.last()
...     if terminated or truncated:
...         action = None
...     else:
...         action = np.flatnonzero(observation["action_mask"])[0]  # your policy here
...     env.step(action)
>>> env.close()

`env.unwrapped.match` is the `Match`: hands, scores, line, arms, boneyard, record and replay.

## Rules in short

Two players are dealt 7 tiles of the double-six set each, three or four 5; the rest is the boneyard.
The highest double dealt leads round 1 (without one the heaviest tile), the last round's winner
leads any tile later. The spinner's two long sides are played on first; when both are covered, its
up and down sides open. An end double counts both halves, a covered side of the spinner nothing. Who
cannot play draws, one tile per move, until something fits; with the boneyard empty, the seat
knocks. Who lays the last tile scores the pips of all other hands, rounded to the nearest five. When
nobody can play and nothing can be drawn, the single lightest hand scores the others' pips minus its
own, rounded; a tie scores nothing.

## Actions

| id | action |
|---|---|
| 0–27 | lay tile `id` at the left end; on the empty line: lead it |
| 28–55 | lay tile `id − 28` at the right end |
| 56–83 | lay tile `id − 56` up of the spinner |
| 84–111 | lay tile `id − 84` down of the spinner |
| 112 | draw a tile: legal when no tile fits and the boneyard has one |
| 113 | knock: legal when no tile fits and none can be drawn |

The tile [a|b] with a ≤ b has the index b·(b + 1)/2 + a: [0|0] 0, [0|1] 1, [1|1] 2, … [6|6] 27.

## Observation

Bits, from the view of the agent that observes. Seats and sides are counted from it, clockwise
(itself 0, the left neighbour 1). How many tiles a seat has drawn is seen, which ones is not. For
four players:

<!-- layout all_fives-4p -->
| bits | slice | shape | a bit is set where |
|---|---|---|---|
| 0–27 | `hand` | 28 | the viewer holds the tile |
| 28–139 | `laid` | 4 × 28 | the seat has laid the tile in this round |
| 140–160 | `lacks` | 3 × 7 | the seat (1 …) has shown that it lacks the value |
| 161–188 | `ends` | 4 × 7 | the end is open and shows the value |
| 189–216 | `double_ends` | 4 × 7 | a double of the value lies there, uncovered |
| 217–253 | `count` | 37 | the ends add up to this many pips |
| 254–309 | `held` | 4 × 14 | the seat holds this many tiles |
| 310–313 | `to_move` | 4 | it is the seat's turn |
| 314–317 | `opener` | 4 | the seat led the round |
| 318–437 | `needed` | 4 × 30 | the side needs 5 × (1 …) points to reach the target |
| 438–444 | `spinner` | 7 | the spinner has this value |
| 445–465 | `newer` | 3 × 7 | the seat has drawn tiles since it showed that it lacked the value |
| 466–474 | `undealt` | 9 | the boneyard has this many tiles |
<!-- /layout -->

`Layout.of(rules)` gives it for any rules, `env.unwrapped.layout.named(observation)` by name. The
mask is 1 for every legal action of the agent to move and all 0 for every other. Any agent can be
observed at any time; `observe` changes nothing. After a round the next one is dealt at once, so the
last observation of an episode that ends with a round shows the new deal.

## Rewards

| `reward` | each agent gets, for each event |
|---|---|
| `"points"` | the points that its score takes, those for other hands included |
| `"margin"` | the same, minus the mean of the others' (the sum over agents is zero) |
| `"win"` | at the end of a won match +1, the others −1/(agents − 1); else nothing |

## End of an episode

Terminated for all agents: when one reaches the target (`episode="match"`), or with the first round
(`episode="round"`). Truncated for all: after `max_rounds` rounds, which is never a win. With
`illegal="terminate"` an illegal action terminates, too: −1 to the offender, 0 to the others.

## Arguments

| argument | default | meaning |
|---|---|---|
| `num_players` | 4 | 2, 3 or 4; may be left out where `rules` are given |
| `rules` | standard | a `Rules`, a preset's name (`Rules.presets()`) or a dict |
| `episode` | `"match"` | `"match"` to the target, or one `"round"` |
| `reward` | `"points"` | `"points"`, `"margin"` or `"win"` |
| `max_rounds` | none | truncate after this many rounds |
| `illegal` | `"raise"` | `IllegalAction`, nothing changed; or `"terminate"` |
| `render_mode` | none | `"ansi"`, `"rgb_array"` or `"human"` |

`reset(seed, options)`: a seed deals like `Match(rules, seed)`; without one the episodes go on from
the latest seed. Options set up a position: `hands` (per seat, tiles (a, b)), `opener`, `scores` and
`boneyard` (in drawing order); what is left out stays as the seed deals it, but
with `hands` seat 0 leads unless `opener` is given, and the boneyard is shuffled anew.

## Version history

* v0: first version (0.1.0)
"""

from __future__ import annotations

from typing import Any, ClassVar

from fivesthrees_env import aec
from fivesthrees_env.interface import RulesLike
from fivesthrees_env.rules import Rules

__all__ = ["env", "raw_env"]


class raw_env(aec.raw_env):  # noqa: N801 - PettingZoo's name for it
    """A match of All Fives: ``aec.raw_env`` with other standard rules."""

    metadata: ClassVar[dict[str, Any]] = {**aec.raw_env.metadata, "name": "all_fives_v0"}
    game = Rules.all_fives


def env(
    num_players: int | None = None,
    rules: RulesLike = None,
    episode: str = "match",
    reward: str = "points",
    max_rounds: int | None = None,
    illegal: str = "raise",
    render_mode: str | None = None,
) -> aec.OrderEnforcing:
    """``raw_env`` with PettingZoo's order enforcing around it; the arguments are the same."""
    return aec.OrderEnforcing(raw_env(num_players, rules, episode, reward, max_rounds, illegal, render_mode))
