"""The one virtual environment of all peers: made by pip, and kept until what is asked for changes."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from benchmarks.compare.peers import Peer

STAMP = "installed.json"
NOT_THE_REASON = ("warning:", "note:", "hint:", "[notice]", "[end of output]", "╰─>", "×")

Run = Callable[[Sequence[str], Mapping[str, str]], "subprocess.CompletedProcess[str]"]


@dataclass(frozen=True)
class Outcome:
    """How the installation of a peer went: its version, or why it has none."""

    version: str | None
    reason: str | None = None


def python_of(folder: Path) -> Path:
    return folder / "bin" / "python"


def clean_variables() -> dict[str, str]:
    """Our variables, less those that would let the environment see anything but itself."""
    kept = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PYTHONHOME")}
    return kept | {"PYTHONNOUSERSITE": "1"}


def run_command(command: Sequence[str], variables: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command, env=clean_variables() | dict(variables), capture_output=True, text=True, check=False
    )


def last_error(output: str) -> str:
    """The line of a failed command's output that says why, in at most 160 characters."""
    lines = [line.strip() for line in output.splitlines()]
    telling = [line for line in lines if line and not line.lower().startswith(NOT_THE_REASON)]
    reason = telling[-1] if telling else "it said nothing"
    return reason if len(reason) <= 160 else reason[:157] + "..."


def wanted(peers: Sequence[Peer]) -> dict[str, object]:
    """What an environment has to have been made from; as JSON gives it back."""
    return json.loads(json.dumps({"python": sys.version, "peers": [asdict(peer) for peer in peers]}))


def recorded(folder: Path, peers: Sequence[Peer]) -> dict[str, Outcome] | None:
    """The outcomes of an environment that was made from the same; None where there is none."""
    try:
        stamp = json.loads((folder / STAMP).read_text(encoding="utf-8"))
        if stamp["wanted"] == wanted(peers):
            return {name: Outcome(**outcome) for name, outcome in stamp["outcomes"].items()}
    except (OSError, ValueError, KeyError, TypeError):  # no stamp, or not one of ours
        pass
    return None


def install(folder: Path, peer: Peer, run: Run) -> Outcome:
    """Install one peer, and say how it went."""
    python = str(python_of(folder))
    for arguments in peer.installs:
        command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *arguments]
        done = run(command, peer.variables)
        if done.returncode:
            return Outcome(None, last_error(done.stderr or done.stdout))
    asked = f"from importlib.metadata import version; print(version({peer.package!r}))"
    done = run([python, "-c", asked], {})
    return Outcome(None, last_error(done.stderr)) if done.returncode else Outcome(done.stdout.strip())


def prepare(
    folder: Path,
    peers: Sequence[Peer],
    fresh: bool = False,
    run: Run = run_command,
    tell: Callable[[str], None] = print,
) -> dict[str, Outcome]:
    """Make the environment unless it is there already; a peer that cannot be installed stops no other.

    Args:
        folder: where; whatever is there and was made from something else goes.
        peers: who is installed, in this order.
        fresh: make it anew in any case.
        run: runs a command with additional variables.
        tell: gets a line before each part.

    Returns:
        How it went, by the names of the peers.

    Raises:
        RuntimeError: if no virtual environment can be made, or the folder holds something else.
    """
    if not fresh and (outcomes := recorded(folder, peers)) is not None:
        return outcomes
    if folder.exists() and any(folder.iterdir()) and not (folder / "pyvenv.cfg").exists():
        raise RuntimeError(f"folder: {folder} given, which is no virtual environment; allowed: a new one")
    shutil.rmtree(folder, ignore_errors=True)
    tell(f"making {folder}")
    made = run([sys.executable, "-m", "venv", str(folder)], {})
    if made.returncode:
        raise RuntimeError(f"no virtual environment can be made: {last_error(made.stderr or made.stdout)}")
    outcomes = {}
    for peer in peers:
        tell(f"installing {peer.name}")
        outcomes[peer.name] = install(folder, peer, run)
    stamp = {"wanted": wanted(peers), "outcomes": {name: asdict(o) for name, o in outcomes.items()}}
    (folder / STAMP).write_text(
        json.dumps(stamp, indent=1), encoding="utf-8"
    )  # last: a torn one is made anew
    return outcomes
