"""The notebooks, run from top to bottom: ``make notebooks`` writes their outputs."""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import nbformat
from nbclient import NotebookClient

__all__ = ["NOTEBOOKS", "execute", "outputs"]

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))


def execute(path: Path) -> nbformat.NotebookNode:
    """Run a notebook in a folder of its own; it raises if a cell does.

    Progress, which depends on the machine, is not kept.
    """
    notebook = nbformat.read(path, as_version=4)
    for cell in notebook.cells:
        cell.metadata.pop("execution", None)
    with tempfile.TemporaryDirectory() as folder:
        resources = {"metadata": {"path": folder}}
        client = NotebookClient(
            notebook, timeout=None, kernel_name="python3", resources=resources, record_timing=False
        )
        client.execute()
    for cell in notebook.cells:
        if cell.cell_type == "code":
            cell.outputs = [shown for shown in cell.outputs if not _is_progress(shown)]
    return notebook


def _is_progress(shown: nbformat.NotebookNode) -> bool:
    """Whether an output is a line of progress, or a bar that has been removed."""
    return shown.get("name") == "stderr" or not shown.get("data", {}).get("text/html", "-")


def outputs(notebook: nbformat.NotebookNode) -> list[str]:
    """Media types of what the cells show."""
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return [
        kind for cell in cells for shown in cell.outputs for kind in sorted(shown.get("data", {}))
    ]


if __name__ == "__main__":
    for word in sys.argv[1:] or NOTEBOOKS:
        nbformat.write(execute(Path(word)), word)
