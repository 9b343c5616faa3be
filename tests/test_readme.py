"""The README's Python: every block runs by itself, as it is pasted."""

from __future__ import annotations

import re
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
BLOCKS = re.findall(r"^```python\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M | re.S)


def test_the_readme_has_python_to_paste() -> None:
    assert len(BLOCKS) >= 5


@pytest.mark.parametrize("block", BLOCKS, ids=range(len(BLOCKS)))
def test_a_block_of_the_readme_runs_by_itself(block: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    if "sb3_contrib" in block and find_spec("sb3_contrib") is None:
        block = re.sub(r"^.*(?:sb3_contrib|PPO).*$", "", block, flags=re.M)
    exec(compile(block, "README.md", "exec"), {"__name__": "pasted"})
