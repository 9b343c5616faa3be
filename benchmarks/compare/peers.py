"""Who is compared: how each peer is installed, and every loop that is measured, ours among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

PLAY = Path(__file__).parent / "play"
OURS = "ours"


@dataclass(frozen=True)
class Peer:
    """A library beside ours."""

    name: str
    package: str
    """Its name in the package index; what is installed of it is asked for its version."""
    installs: tuple[tuple[str, ...], ...]
    """Arguments of ``pip install``, one call after the other."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Set while it is installed."""


PEERS = (
    Peer("OpenSpiel", "open-spiel", (("open-spiel",),)),
    Peer("RLCard", "rlcard", (("rlcard",),)),
    Peer("PettingZoo", "pettingzoo", (("pettingzoo[classic]",),)),
    Peer("EnvPool", "envpool", (("envpool",),)),
    Peer("Pgx", "pgx", (("jax",), ("pgx",))),
    Peer("JaxMARL", "jaxmarl", (("jaxmarl",),)),
    # From source, and without what its trainer and other environments need (see play/pufferlib_build).
    # Nothing of it may come from or go to pip's cache, which would take it for the whole PufferLib.
    Peer(
        "PufferLib",
        "pufferlib",
        (
            ("setuptools", "wheel", "cython", "numpy", "gymnasium", "gym==0.26.2"),
            (
                "--no-cache-dir",
                "--no-deps",
                "--no-build-isolation",
                "--no-binary=pufferlib",
                "pufferlib==3.0.0",
            ),
        ),
        {"NO_TRAIN": "1", "PYTHONPATH": str(PLAY / "pufferlib_build")},
    ),
)

# What is alike enough to be set side by side. Each kind has one yardstick of ours.
ONE = "One match at a time"
MANY = "Matches side by side, choice included"
GIVEN = "Matches side by side, actions given"
LEARNER = "One learner among greedy players"


@dataclass(frozen=True)
class Contender:
    """A loop that is measured."""

    kind: str
    library: str
    environment: str
    interface: str
    step: str
    """What one step is, in words."""
    script: str
    """In ``play/``."""
    game: str
    """The script's argument."""
    yardstick: bool = False
    """Whether the others of its kind are divided by it."""


def _ours(kind: str, environment: str, interface: str, step: str, game: str, yardstick: bool = False):
    return Contender(kind, OURS, environment, interface, step, "ours.py", game, yardstick)


_AEC = "`last`, choice from the mask, `step`"
_BATCH = "choice and `step` in each of 4,096 matches"
_GIVEN = "`step` in each of 4,096 matches"
_SPIEL = "observation, mask, choice, `apply_action`"
_CARDS = "choice from ids, `step`"
_ALL_SEE = "choice and `step` in each of {:,} games; all players get an observation"
_DRAWN = "`step` in each of {:,} environments, actions drawn beforehand; no mask"


def _spiel(environment: str, game: str) -> Contender:
    interface = "Python state, tensor observer"
    return Contender(ONE, "OpenSpiel", environment, interface, _SPIEL, "openspiel_games.py", game)


def _zoo(environment: str, game: str) -> Contender:
    return Contender(ONE, "PettingZoo", environment, "AEC `env()`", _AEC, "pettingzoo_classic.py", game)


def _rlcard(environment: str, game: str) -> Contender:
    return Contender(ONE, "RLCard", environment, "`rlcard.make`", _CARDS, "rlcard_games.py", game)


# EnvPool and PufferLib run with the number of environments at which they are fastest.
def _envpool(kind: str, environment: str, step: str, game: str, number: int) -> Contender:
    step, game = step.format(number), f"{game} {number}"
    return Contender(kind, "EnvPool", environment, "Gymnasium, 1 thread", step, "envpool_envs.py", game)


def _pgx(environment: str, game: str) -> Contender:
    step = "choice and `step` in each of 4,096 games"
    return Contender(MANY, "Pgx", environment, "`jit` of `vmap`, CPU", step, "pgx_games.py", game)


def _jaxmarl(environment: str, game: str) -> Contender:
    step = _ALL_SEE.format(4096)
    return Contender(MANY, "JaxMARL", environment, "`jit` of `vmap`, CPU", step, "jaxmarl_games.py", game)


def _puffer(environment: str, game: str) -> Contender:
    step, game = _DRAWN.format(1024), f"{game} 1024"
    return Contender(GIVEN, "PufferLib", environment, "Python class, C", step, "pufferlib_ocean.py", game)


CONTENDERS = (
    _ours(ONE, "Fives and Threes, 4 players", "AEC `env()`", _AEC, "aec fives_and_threes env", True),
    _ours(ONE, "Fives and Threes, 4 players", "AEC `raw_env()`", _AEC, "aec fives_and_threes raw_env"),
    _ours(ONE, "All Fives, 4 players", "AEC `env()`", _AEC, "aec all_fives env"),
    _spiel("block dominoes", "python_block_dominoes"),
    _spiel("team dominoes", "python_team_dominoes"),
    _spiel("Skat", "skat"),
    _spiel("crazy eights", "crazy_eights"),
    _spiel("spades", "spades"),
    _spiel("hearts", "hearts"),
    _zoo("tic-tac-toe", "tictactoe_v3"),
    _zoo("Connect Four", "connect_four_v3"),
    _zoo("Leduc hold'em", "leduc_holdem_v4"),
    _zoo("Hanabi", "hanabi_v5"),
    _rlcard("Leduc hold'em", "leduc-holdem"),
    _rlcard("bridge", "bridge"),
    _rlcard("DouDizhu", "doudizhu"),
    _ours(MANY, "Fives and Threes, 4 players", "`MatchBatch`", _BATCH, "batch fives_and_threes-4p", True),
    _ours(MANY, "Fives and Threes, 2 players", "`MatchBatch`", _BATCH, "batch fives_and_threes-2p"),
    _ours(MANY, "All Fives, 4 players", "`MatchBatch`", _BATCH, "batch all_fives-4p"),
    _ours(MANY, "All Fives, 2 players", "`MatchBatch`", _BATCH, "batch all_fives-2p"),
    _envpool(MANY, "Leduc hold'em", _ALL_SEE, "LeducHoldem-v1", 256),
    _envpool(MANY, "Sparrow Mahjong", _ALL_SEE, "SparrowMahjong-v1", 4096),
    _pgx("Leduc hold'em", "leduc_holdem"),
    _pgx("bridge bidding", "bridge_bidding"),
    _pgx("Sparrow Mahjong", "sparrow_mahjong"),
    _jaxmarl("Hanabi", "hanabi"),
    _ours(GIVEN, "Fives and Threes, 4 players", "`MatchBatch`", _GIVEN, "given fives_and_threes-4p", True),
    _ours(GIVEN, "All Fives, 4 players", "`MatchBatch`", _GIVEN, "given all_fives-4p"),
    _puffer("Triple Triad", "triple_triad"),
    _puffer("Breakout", "breakout"),
    _puffer("Tetris", "tetris"),
    _envpool(GIVEN, "CartPole", _DRAWN, "CartPole-v1", 1024),
    _ours(
        LEARNER,
        "Fives and Threes, 4 players",
        "Gymnasium `VectorEnv`",
        "`step` of 4,096 learners, with all that partner and opponents do until their next turn",
        "gym vector",
        True,
    ),
    _ours(
        LEARNER,
        "Fives and Threes, 4 players",
        "Gymnasium `Env`",
        "choice and `step` of one learner, likewise",
        "gym single",
    ),
)
