"""Notebooks: stored without outputs, and every one runs from top to bottom."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import nbformat
import pytest
from ipykernel.kernelspec import write_kernel_spec
from nbclient import NotebookClient

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
every_notebook = pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)

SECONDS_TO_TRAIN = 2


def test_there_is_a_quickstart() -> None:
    assert "01_quickstart" in [path.stem for path in NOTEBOOKS]


@every_notebook
def test_a_notebook_is_valid_and_stored_without_outputs(path: Path) -> None:
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    assert notebook.metadata.kernelspec.name == "python3"
    for cell in notebook.cells:
        assert not cell.get("outputs"), cell.id
        assert cell.get("execution_count") is None, cell.id


@pytest.fixture
def this_python(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The kernel "python3" is the Python that runs the tests, with this checkout importable."""
    spec = Path(write_kernel_spec(tmp_path / "jupyter" / "kernels" / "python3"))
    assert json.loads((spec / "kernel.json").read_text())["argv"][0] == sys.executable
    monkeypatch.setenv("JUPYTER_PATH", str(tmp_path / "jupyter"))
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")  # the kernel's debugger says so


@every_notebook
def test_a_notebook_runs_from_top_to_bottom(
    path: Path, tmp_path: Path, this_python: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In a folder that is neither the checkout nor its notebooks: it must not matter where."""
    monkeypatch.setenv("QUICKSTART_MINUTES", str(SECONDS_TO_TRAIN / 60))
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(folder)}})
    client.execute()  # an error in a cell is raised here, with the cell
    outputs = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    shown = [data for output in outputs for data in output.get("data", {}).items()]
    said = [output.text for output in outputs if output.output_type == "stream"]
    text = "".join([*said, *(value for kind, value in shown if kind == "text/plain")])
    assert "Warning" not in text
    if path.stem == "01_quickstart":
        kinds = [kind for kind, _ in shown]
        assert kinds.count("image/svg+xml") == 3
        assert kinds.count("image/png") == 1
        assert "decisions/s" in text
        assert "matches won" in text
        (run,) = (folder / "runs").iterdir()
        assert (run / "agent.safetensors").exists()
