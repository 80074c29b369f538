"""The notebooks of the examples run from their first cell to their last, in a real kernel."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest

NOTEBOOKS = Path(__file__).parents[1] / "examples/notebooks"


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("*.ipynb")), ids=lambda path: path.stem)
def test_a_notebook_runs(path: Path) -> None:
    """As it is in the checkout, in its folder; every cell that shows something still does."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # those of the tools
        import nbformat
        from nbclient import NotebookClient

        stored = nbformat.read(path, as_version=4)
        shown = [bool(cell.outputs) for cell in stored.cells if cell.cell_type == "code"]
        client = NotebookClient(stored, timeout=300, resources={"metadata": {"path": str(NOTEBOOKS)}})
        client.execute()
    assert [bool(cell.outputs) for cell in stored.cells if cell.cell_type == "code"] == shown


def test_every_mission_has_one() -> None:
    """Each mission that comes with lycosa."""
    assert {path.stem for path in NOTEBOOKS.glob("*.ipynb")} >= {"mirror", "geo", "xml", "documents", "records"}
