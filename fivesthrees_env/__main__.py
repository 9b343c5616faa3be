"""Commands: ``python -m fivesthrees_env rules`` lists the presets, ``replay FILE`` shows stored matches."""

from __future__ import annotations

import argparse
import sys

from fivesthrees_env.match import RecordError
from fivesthrees_env.records import frames, read_records
from fivesthrees_env.rendering import ansi
from fivesthrees_env.rules import Rules


def main(argv: list[str] | None = None) -> None:
    """Run a command."""
    parser = argparse.ArgumentParser(prog="python -m fivesthrees_env", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("rules", help="list the presets")
    replay = commands.add_parser("replay", help="show the matches of a record file, ply by ply")
    replay.add_argument("file", help="JSON Lines, one match per line")
    args = parser.parse_args(argv)
    if args.command == "rules":
        show_rules()
    else:
        show_records(args.file)


def show_rules() -> None:
    """Print every preset with its one-line description."""
    presets = Rules.presets()
    width = max(map(len, presets))
    for name, rules in presets.items():
        print(f"{name:{width}}  {rules.summary()}")


def show_records(path: str) -> None:
    """Print every table of every match in a file."""
    try:
        for match in read_records(path):
            for table in frames(match.record()):
                print(ansi(table), end="\n\n")
    except (OSError, RecordError) as error:
        sys.exit(f"replay: {error}")


if __name__ == "__main__":
    main()
