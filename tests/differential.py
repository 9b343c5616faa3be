"""The kernel against the plain reference, over random matches of every preset and of random rules.

The tests play a few thousand matches. For a million rounds:

    python -m tests.differential --rounds 1000000 --workers 2 --seed 0
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import count

import numpy as np

from fivesthrees_env.match import Match
from fivesthrees_env.rewards import SCHEMES, write_rewards
from fivesthrees_env.rules import CHOICES, Rules

try:
    from reference import Reference  # under pytest, which puts tests/ on the path
except ModuleNotFoundError:
    from tests.reference import Reference

MAX_ROUNDS = 40
"""A match is left after so many rounds: some random rules take for ever to hit the target."""


class Mismatch(AssertionError):
    """Kernel and reference differ; says where, and how to play it again."""


def random_rules(rng: random.Random) -> Rules:
    """Any rules that can be played: all combinations of settings that contradict nothing."""
    players, highest = rng.randint(2, 4), rng.randint(2, 9)
    tiles = (highest + 1) * (highest + 2) // 2
    hand = rng.randint(1, min(tiles // players, 9))
    values = {key: rng.choice(allowed) for key, allowed in CHOICES.items()}
    values |= {key: rng.random() < 0.5 for key in ("knock_points", "spinner", "draw")}
    values |= {"num_players": players, "highest": highest, "hand_size": hand}
    values["target"] = 5 * rng.randint(1, 30)
    if values["draw"]:
        values["boneyard_floor"] = rng.randint(0, min(tiles - players * hand, 3))
    if values["overshoot"] == "reject":
        values["win_on_lead"] = values["hand_size"] == 1 or rng.random() < 0.5
    if players < 4 or values["partnership"] == "singles":
        values["pair_round_end"] = "both_out"
    return Rules(**values)


def play_match(rules: Rules, seed: int, max_rounds: int = MAX_ROUNDS) -> tuple[int, int]:
    """Play one random match in both, comparing all there is after every ply.

    Returns:
        The rounds and the plies that were played.

    Raises:
        Mismatch: at the first difference.
    """
    rng = random.Random(seed)
    match, reference = Match(rules, seed=seed), Reference(rules.to_dict())
    plies = 0
    try:
        _start_round(match, reference)
        while not match.over and match.round_index < max_rounds:
            _compare_positions(match, reference)
            action = rng.choice(reference.legal_actions())
            before = list(reference.scores)
            event, wanted = match.play(action), reference.play(action)
            plies += 1
            _compare_events(match, event, wanted)
            _compare_rewards(match, reference, before)
            if reference.round_over and not reference.over:
                _start_round(match, reference)
        _same("over", match.over, reference.over)
        _same("scores", match.scores, tuple(reference.scores))
        _same("winner", match.winner, reference.winner)
    except (AssertionError, ValueError, IndexError) as error:
        where = f"round {match.round_index}, ply {plies} of the match with seed {seed}"
        raise Mismatch(f"{where}: {error}\n{rules}: {rules.to_dict()}") from error
    return match.round_index + 1, plies


def _start_round(match: Match, reference: Reference) -> None:
    """Deal the kernel's tiles to the reference, which names the opener unless a lot decides."""
    boneyard = match.boneyard if match.rules.draw else ()
    try:
        reference.start_round(match.hands, boneyard)
    except ValueError as error:
        if "lot" not in str(error):
            raise
        reference.start_round(match.hands, boneyard, opener=match.opener)
    _same("opener", match.opener, reference.opener)
    _same("round", match.round_index, reference.round_index)


def _compare_positions(match: Match, reference: Reference) -> None:
    _same("seat", match.seat, reference.seat)
    mask = match.action_mask()
    _same("size of the mask", mask.shape, (reference.num_actions,))
    _same("mask", np.flatnonzero(mask).tolist(), reference.legal_actions())
    _same("scores", match.scores, tuple(reference.scores))
    _same("ends", match.ends, tuple(reference.ends))
    _same("count", match.count, reference.count)
    _same("line", match.line, tuple(reference.line))
    _same("hands", match.hands, tuple(tuple(sorted(hand)) for hand in reference.hands))
    if match.rules.spinner:
        _same("arms", match.arms, tuple(map(tuple, reference.arms)))
    if match.rules.draw:
        _same("boneyard", match.boneyard, tuple(reference.boneyard))
    _compare_voids(match, reference)


def _compare_voids(match: Match, reference: Reference) -> None:
    """Without drawing the shown voids are the same; with it the kernel may conclude more, rightly."""
    shown = list(map(set, match.lacks))
    if not match.rules.draw:
        _same("lacks", shown, reference.lacks)
    for seat, values in enumerate(shown):
        _same(f"voids of seat {seat} are kept", reference.lacks[seat] - values, set())
        held = {half for tile in reference.hands[seat] for half in tile}
        _same(f"voids of seat {seat} are true", held & values, set())


def _compare_events(match: Match, event, wanted: dict) -> None:
    for name, value in wanted.items():
        _same(name, getattr(event, name), value)
    _same("rejected", event.reason is not None, event.offered > 0 and event.accepted == 0)
    if event.round_end == "out" and match.rules.going_out == "pips":
        _same("settled_side", event.settled_side, None if event.reason else match.side_of(event.seat))


def _compare_rewards(match: Match, reference: Reference, before: list[int]) -> None:
    gains = np.subtract(reference.scores, before).astype(float)
    sides = len(gains)
    wanted = {"points": gains, "margin": gains - (gains.sum() - gains) / (sides - 1)}
    wanted["win"] = np.zeros(sides)
    if reference.over:
        wanted["win"][:] = -1 / (sides - 1)
        wanted["win"][reference.winner] = 1
    rewards = np.empty((1, sides), np.float32)
    for index, scheme in enumerate(SCHEMES):
        write_rewards(match.records, index, rewards)
        if not np.allclose(rewards[0], wanted[scheme], atol=1e-5):
            raise Mismatch(f"{scheme} rewards: {rewards[0]} in the kernel, {wanted[scheme]} wanted")


def _same(what: str, got: object, wanted: object) -> None:
    if got != wanted:
        raise Mismatch(f"{what}: {got} in the kernel, {wanted} in the reference")


# --------------------------------------------------------------------------------- the command


def _rules_of(index: int, seed: int) -> Rules:
    """Presets and random rules in turn."""
    presets = list(Rules.presets().values())
    if index % 2:
        return random_rules(random.Random(f"{seed}, {index}"))
    return presets[index // 2 % len(presets)]


def _play_chunk(chunk: tuple[range, int]) -> tuple[int, int]:
    indices, seed = chunk
    played = [play_match(_rules_of(index, seed), seed + index) for index in indices]
    return sum(rounds for rounds, _ in played), sum(plies for _, plies in played)


def _results(seed: int, workers: int) -> Iterator[tuple[int, int]]:
    """What chunk after chunk of matches yields, without end."""
    chunks = ((range(start, start + 40), seed) for start in count(0, 40))
    if workers == 1:
        yield from map(_play_chunk, chunks)
    with ProcessPoolExecutor(workers) as pool:
        waiting = [pool.submit(_play_chunk, next(chunks)) for _ in range(2 * workers)]
        try:
            while True:
                yield waiting.pop(0).result()
                waiting.append(pool.submit(_play_chunk, next(chunks)))
        finally:
            pool.shutdown(cancel_futures=True)


def run(rounds: int, workers: int, seed: int) -> int:
    """Play at least so many rounds, with a progress line; returns the number of plies.

    Raises:
        Mismatch: at the first difference.
    """
    start = time.monotonic()
    done = plies = 0
    for more_rounds, more_plies in _results(seed, workers):
        done += more_rounds
        plies += more_plies
        rate = done / max(time.monotonic() - start, 1e-9)
        left = max(rounds - done, 0) / rate
        print(
            f"\r{done:,} of {rounds:,} rounds, {plies:,} plies, {rate:,.0f} rounds/s, "
            f"{left / 60:.1f} min left ",
            end="",
            flush=True,
        )
        if done >= rounds:
            break
    print("\nno difference")
    return plies


def main() -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="Play the kernel against the plain reference.")
    parser.add_argument("--rounds", type=int, default=1_000_000, help="rounds to play at least")
    parser.add_argument("--workers", type=int, default=2, help="processes")
    parser.add_argument("--seed", type=int, default=0, help="of the deals, the play and the rules")
    args = parser.parse_args()
    try:
        run(args.rounds, args.workers, args.seed)
    except Mismatch as mismatch:
        print(f"\n{mismatch}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
