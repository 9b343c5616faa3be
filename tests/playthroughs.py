"""Golden playthroughs: a whole match of every preset as text, to be compared line by line.

    python -m tests.playthroughs          # write them anew; read the diff before you commit it

Each ply shows what every seat sees: a digest of its view, and the observation slices that changed since it
looked last, as hexadecimal digits (bit 0 first); then the legal actions, the choice, the event, the rewards.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from fivesthrees_env.batch import MatchBatch
from fivesthrees_env.match import Match
from fivesthrees_env.observations import Layout, encode_history, encode_many
from fivesthrees_env.rules import Rules

FOLDER = Path(__file__).parent / "playthroughs"
COMMAND = "python -m tests.playthroughs"


def path_of(preset: str) -> Path:
    """Where the playthrough of a preset is stored."""
    return FOLDER / f"{preset}.txt"


def playthrough(preset: str, seed: int = 0) -> Iterator[str]:
    """The lines of a playthrough: random legal play, by the `Match` and a batch of one side by side."""
    rules = Rules.preset(preset)
    match, batch = Match(rules, seed), MatchBatch(1, rules, seed)
    rng = np.random.default_rng(seed)
    yield f"{preset}: {rules.summary()}"
    yield f"rules {rules.fingerprint}, layout {Layout.of(rules).fingerprint}, seed {seed}"
    seen: list[dict[str, str]] = [{} for _ in range(rules.num_players)]
    while not match.over:
        if match.records["num_plies"][0] == 0:
            yield from _deal(match)
        yield ""
        for seat in range(rules.num_players):
            yield _sight(match, seat, seen[seat])
        actions = match.legal_actions()
        yield f"seat {match.seat} may {' '.join(map(str, actions))}"
        action = int(rng.choice(actions))
        name, event = match.action_name(action), match.play(action)
        yield f"{action} {name}: {_words(event._asdict())}"
        batch.step(np.array([action]))
        yield f"scores {match.scores}, rewards {batch.rewards[0].tolist()}"
    yield f"won by side {match.winner}"


def _deal(match: Match) -> Iterator[str]:
    yield ""
    yield f"round {match.round_index}, seat {match.opener} leads, scores {match.scores}"
    for seat, hand in enumerate(match.hands):
        yield f"  seat {seat} {_tiles(hand)}"
    yield f"  undealt {_tiles(match.boneyard)}"


def _tiles(tiles: tuple[tuple[int, int], ...]) -> str:
    return "".join(f"[{a}|{b}]" for a, b in tiles)


def _sight(match: Match, seat: int, seen: dict[str, str]) -> str:
    """What a seat sees now, as far as it is new; `seen` is brought up to date."""
    view, layout = match.view(seat), Layout.of(match.rules)
    row = np.zeros((1, layout.size), np.int8)
    encode_many(view, layout, row)
    now = {name: _hex(bits) for name, bits in layout.named(row[0]).items()}
    now["history"] = hashlib.sha256(encode_history(view).tobytes()).hexdigest()[:8]
    now["view"] = hashlib.sha256(view.tobytes()).hexdigest()[:8]
    new = {name: value for name, value in now.items() if seen.get(name) != value}
    seen.update(now)
    return f"  {seat} sees " + " ".join(f"{name}={value}" for name, value in new.items())


def _hex(bits: np.ndarray) -> str:
    return np.packbits(bits.reshape(-1).astype(bool), bitorder="little").tobytes().hex()


def _words(event: dict[str, object]) -> str:
    told = {k: v for k, v in event.items() if v is not None and v is not False}
    return ", ".join(f"{name} {value}" for name, value in told.items())


def main() -> None:
    """Write the playthroughs of all presets, and remove those of presets that are no more."""
    FOLDER.mkdir(exist_ok=True)
    for preset in Rules.presets():
        path_of(preset).write_text("\n".join(playthrough(preset)) + "\n", encoding="utf-8")
    for path in FOLDER.glob("*.txt"):
        if path.stem not in Rules.presets():
            path.unlink()


if __name__ == "__main__":
    main()
