"""The generated tables of the documentation: ``python -m fivesthrees_env.docs`` writes them anew.

A table stands between ``<!-- layout PRESET -->`` and ``<!-- /layout -->``, or between
``<!-- sizes GAME -->`` and ``<!-- /sizes -->``: in the pages of the environments and in Markdown
files.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path

from fivesthrees_env.observations import Layout
from fivesthrees_env.rules import Rules

__all__ = ["pages", "refresh"]


def layout_table(preset: str) -> str:
    """What each bit of an observation means."""
    return Layout.of(Rules.preset(preset)).table()


def sizes_table(game: str) -> str:
    """Sizes of observation, action space and state, by number of agents."""
    rows = ["| agents | bits | actions | `state()` |", "|---|---|---|---|"]
    for num_players in (2, 3, 4):
        rules = Rules.preset(f"{game}-{num_players}p")
        bits = Layout.of(rules).size
        state = num_players * rules.num_tiles + bits
        rows.append(f"| {num_players} | {bits} | {rules.num_actions} | {state} |")
    return "\n".join(rows)


TABLES: dict[str, Callable[[str], str]] = {"layout": layout_table, "sizes": sizes_table}
_KINDS = "|".join(TABLES)
_MARKED = re.compile(rf"(<!-- ({_KINDS}) (\S+) -->\n).*?(\n<!-- /\2 -->)", re.DOTALL)


def refresh(text: str) -> str:
    """A page with all of its tables as they should be."""

    def write(match: re.Match[str]) -> str:
        return f"{match[1]}{TABLES[match[2]](match[3])}{match[4]}"

    return _MARKED.sub(write, text)


def pages() -> Iterator[Path]:
    """The files that may hold tables."""
    package = Path(__file__).parent
    yield from sorted(package.glob("*_v[0-9]*.py"))
    yield from sorted(package.parent.glob("*.md"))
    yield from sorted((package.parent / "docs").glob("**/*.md"))


def main() -> None:
    """Write the tables of all pages anew and name the pages that changed."""
    for page in pages():
        old = page.read_text(encoding="utf-8")
        new = refresh(old)
        if new != old:
            page.write_text(new, encoding="utf-8")
            print(page)


if __name__ == "__main__":
    main()
