"""# Fives and Threes.

The English pub game of dominoes for two, three or four players. After every placement the open ends
of the line are added up, and a sum divisible by three or by five scores: the quotient by three, the
quotient by five, or both (15 is 5 + 3 = 8 points). The side that reaches **exactly** 61 wins; an
event that would go past it is refused whole. With four players, seats 0 and 2 play as partners
against 1 and 3, without seeing each other's tiles: a game of cooperation under hidden information.

|   |   |
|---|---|
| Make | `pettingzoo.make("aec", "fivesthrees/fives_and_threes-v0")` |
| Import | `from fivesthrees_env import fives_and_threes_v0` |
| Agents | `player_0` … `player_3` (2, 3 or 4 agents), one move at a time |
| Sides | pairs 0+2 and 1+3 with four agents, else each agent its own |
| Actions | `Discrete(actions)`, with a mask |
| Observation | `{"observation": (bits,) int8, "action_mask": (actions,) int8}` |
| State | `state()`: all hands, 28 bits each, then the observation of `player_0` |
| Rewards | points of the side; or margin, or win and loss |
| Render modes | `ansi`, `rgb_array`, `human` |
| Parallel API | no |

<!-- sizes fives_and_threes -->
| agents | bits | actions | `state()` |
|---|---|---|---|
| 2 | 284 | 57 | 340 |
| 3 | 384 | 57 | 468 |
| 4 | 366 | 57 | 478 |
<!-- /sizes -->

## Usage

>>> import numpy as np
>>> from fivesthrees_env import fives_and_threes_v0
>>> env = fives_and_threes_v0.env(num_players=4)
>>> env.reset(seed=0)
>>> for agent in env.agent_iter():
...     observation, reward, terminated, truncated, info = env.last()
...     if terminated or truncated:
...         action = None
...     else:
...         action = np.flatnonzero(observation["action_mask"])[0]  # your policy here
...     env.step(action)
>>> env.close()

`env.unwrapped.match` is the `Match`: hands, scores, line, record and replay.

## Rules in short

Two players are dealt 7 tiles of the double-six set each, three or four 5; the rest sleeps. The
opener leads any tile. A tile is joined to an open end by a half of the same value; no double
branches. An end double counts both halves. Whoever can lay a tile must; otherwise the seat knocks.
A seat without tiles is passed over. A round ends when a player (of a pair: both) has laid the last
tile, which earns one point more, or as soon as nobody can lay one, which earns nothing. The next
round is led by the seat to the left of the last opener.

## Actions

| id | action |
|---|---|
| 0–27 | lay tile `id` at the left end; on the empty line: lead it |
| 28–55 | lay tile `id − 28` at the right end |
| 56 | knock: legal when no tile fits, and then the only legal action |

The tile [a|b] with a ≤ b has the index b·(b + 1)/2 + a: [0|0] 0, [0|1] 1, [1|1] 2, … [6|6] 27.

## Observation

Bits, from the view of the agent that observes. Seats are counted from it, clockwise (itself 0, the
left neighbour 1, with four players the partner 2), sides from its own. For four players:

<!-- layout fives_and_threes-4p -->
| bits | slice | shape | a bit is set where |
|---|---|---|---|
| 0–27 | `hand` | 28 | the viewer holds the tile |
| 28–139 | `laid` | 4 × 28 | the seat has laid the tile in this round |
| 140–160 | `lacks` | 3 × 7 | the seat (1 …) has shown that it lacks the value |
| 161–174 | `ends` | 2 × 7 | the end is open and shows the value |
| 175–188 | `double_ends` | 2 × 7 | a double of the value lies there, uncovered |
| 189–211 | `count` | 23 | the ends add up to this many pips |
| 212–235 | `held` | 4 × 6 | the seat holds this many tiles |
| 236–239 | `to_move` | 4 | it is the seat's turn |
| 240–243 | `opener` | 4 | the seat led the round |
| 244–365 | `needed` | 2 × 61 | the side needs 1 × (1 …) points to reach the target |
<!-- /layout -->

`Layout.of(rules)` gives it for any rules, `env.unwrapped.layout.named(observation)` by name. The
mask is 1 for every legal action of the agent to move and all 0 for every other. Any agent can be
observed at any time; `observe` changes nothing. After a round the next one is dealt at once, so the
last observation of an episode that ends with a round shows the new deal.

## Rewards

| `reward` | each agent of a side gets, for each event |
|---|---|
| `"points"` | the points that the side's score takes; a refused event gives 0 |
| `"margin"` | the same, minus the mean of the other sides' (the sum over sides is zero) |
| `"win"` | at the end of a won match +1, the other sides −1/(sides − 1); else nothing |

## End of an episode

Terminated for all agents: when a side reaches the target (`episode="match"`), or with the first
round (`episode="round"`). Truncated for all: after `max_rounds` rounds, which is never a win. With
`illegal="terminate"` an illegal action terminates, too: −1 to the offender's side, 0 to the others.

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
the latest seed. Options set up a position: `hands` (per seat, tiles (a, b)), `opener`, `scores`
(per side) and, where tiles are drawn, `boneyard`; what is left out stays as the seed
deals it, but with `hands` seat 0 leads unless `opener` is given.

## Version history

* v0: first version (0.1.0)
"""

from __future__ import annotations

from fivesthrees_env.aec import env, raw_env

__all__ = ["env", "raw_env"]
