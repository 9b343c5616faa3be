"""Golden playthroughs: what every seat saw and what every ply did stays as it is stored."""

import pytest
from playthroughs import COMMAND, FOLDER, path_of, playthrough

from fivesthrees_env.rules import Rules


@pytest.mark.parametrize("preset", Rules.presets())
def test_playthrough_is_as_stored(preset: str) -> None:
    path = path_of(preset)
    assert path.exists(), f"no playthrough of {preset}: write it with `{COMMAND}`"
    stored = path.read_text(encoding="utf-8").splitlines()
    for number, (line, was) in enumerate(zip(playthrough(preset), stored, strict=False), 1):
        assert line == was, f"{path.name}:{number} differs; if that is meant: `{COMMAND}`"
    assert len(list(playthrough(preset))) == len(stored), f"{path.name}: length; `{COMMAND}`"


def test_every_stored_playthrough_has_its_preset() -> None:
    assert {path.stem for path in FOLDER.glob("*.txt")} == set(Rules.presets())
