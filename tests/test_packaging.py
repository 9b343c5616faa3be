"""What a user gets who installs the package, and not this checkout."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import sysconfig
import venv
import zipfile
from pathlib import Path

import pytest

import fivesthrees_env

ROOT = Path(__file__).resolve().parents[1]
VERSION = fivesthrees_env.__version__

PLAY_A_MATCH = """
import importlib.metadata, sys
import numpy as np
import fivesthrees_env
from fivesthrees_env import fives_and_threes_v0

env = fives_and_threes_v0.env()
env.reset(seed=1)
rng = np.random.default_rng(1)
turns = 0
for agent in env.agent_iter():
    obs, reward, termination, truncation, info = env.last()
    done = termination or truncation
    action = None if done else rng.choice(np.flatnonzero(obs["action_mask"]))
    env.step(action)
    turns += not done

assert turns > 20, f"a match to 61 took {turns} turns only"
assert env.unwrapped.match.over
assert not {"agents", "train", "tests", "torch"} & set(sys.modules)
print(fivesthrees_env.__file__)
print(importlib.metadata.version("fivesthrees-env"))
"""


def run(*command: str | Path, cwd: Path) -> str:
    """Run a command as a user would elsewhere: no PYTHONPATH, and its whole output in a failure."""
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    arguments = [str(part) for part in command]
    done = subprocess.run(arguments, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{command}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def empty_environment(folder: Path) -> Path:
    """An environment that sees our dependencies, but not the editable install; returns its Python.

    A path named in a .pth file is searched for modules, while the .pth files in it are not read:
    the editable install, which is one of those, stays out.
    """
    venv.create(folder, with_pip=False)
    python = folder / "bin" / "python"
    purelib = "import sysconfig; print(sysconfig.get_path('purelib'))"
    own = Path(run(python, "-I", "-c", purelib, cwd=folder).strip())
    paths = dict.fromkeys([sysconfig.get_path("purelib"), sysconfig.get_path("platlib")])
    (own / "dependencies.pth").write_text("".join(f"{path}\n" for path in paths))
    return python


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built by the build tools of this environment without a network."""
    folder = tmp_path_factory.mktemp("dist")
    build = (sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", folder, ROOT)
    run(*build, cwd=folder)
    (built,) = folder.iterdir()
    return built


def test_the_wheel_holds_the_environment_only(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    folders = {name.split("/")[0] for name in names}

    assert folders == {"fivesthrees_env", f"fivesthrees_env-{VERSION}.dist-info"}
    assert "fivesthrees_env/py.typed" in names
    ours = {name for name in names if name.startswith("fivesthrees_env/")}
    sources = (ROOT / "fivesthrees_env").rglob("*.py")
    assert {str(path.relative_to(ROOT)) for path in sources} <= ours
    assert not [name for name in ours if "__pycache__" in name or name.endswith(".ipynb")]


def test_the_installed_wheel_plays_a_match_outside_the_checkout(wheel: Path, tmp_path: Path) -> None:
    python = empty_environment(tmp_path / "environment")
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    absent = "import importlib.util as u; assert u.find_spec('fivesthrees_env') is None"
    run(python, "-I", "-c", absent, cwd=elsewhere)

    install = ("install", "--no-deps", "--no-index", "--no-compile", "--quiet", wheel)
    run(sys.executable, "-m", "pip", "--python", python, *install, cwd=elsewhere)
    module, version = run(python, "-I", "-c", PLAY_A_MATCH, cwd=elsewhere).splitlines()

    assert Path(module).is_relative_to(tmp_path / "environment")
    assert version == VERSION


@pytest.mark.parametrize(
    "module",
    [
        "fivesthrees_env",
        "fivesthrees_env.fives_and_threes_v0",
    ],
)
def test_importing_the_environment_imports_nothing_heavy(module: str) -> None:
    heavy = "{'matplotlib', 'pygame', 'tensorboard', 'torch', 'agents', 'train'}"
    script = f"import sys, {module}; print(sorted({heavy} & set(sys.modules)))"
    assert run(sys.executable, "-c", script, cwd=ROOT).strip() == "[]"


def test_every_file_names_the_same_version() -> None:
    citation = re.search(r"^version: (\S+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)
    newest = re.search(r"^## \[(\d\S*)\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)

    assert citation is not None
    assert citation[1].strip("\"'") == VERSION
    assert newest is not None
    assert newest[1] == VERSION


def test_the_lock_pins_every_requirement_to_one_version() -> None:
    lines = (ROOT / "requirements.lock").read_text().splitlines()
    pins = [line for line in lines if line and not line.startswith("#")]
    exact = re.compile(r"[a-z0-9-]+==[0-9][0-9a-z.]*( ; sys_platform == '[a-z]+')?")

    assert [line for line in pins if not exact.fullmatch(line)] == []
    names = [line.split("==")[0] for line in pins]
    assert len(names) == len(set(names))
    assert not [name for name in names if name.startswith(("nvidia-", "triton"))]
