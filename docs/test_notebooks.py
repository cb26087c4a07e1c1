"""The notebooks run, and show pictures and cards."""

from __future__ import annotations

import nbformat
import pytest

from pages.notebooks import NOTEBOOKS, execute, outputs


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_runs_and_its_outputs_are_of_the_kinds_that_are_kept(path):
    shown = outputs(execute(path))
    assert "image/png" in shown
    assert "text/html" in shown
    assert shown == outputs(nbformat.read(path, as_version=4)), "make notebooks renews them"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_a_notebook_is_kept_with_its_outputs(path):
    notebook = nbformat.read(path, as_version=4)
    counts = [cell.execution_count for cell in notebook.cells if cell.cell_type == "code"]
    assert counts == list(range(1, len(counts) + 1))
    assert "image/png" in outputs(notebook)


def test_there_is_a_notebook_for_each_use():
    assert [path.stem for path in NOTEBOOKS] == ["apply", "learn", "plan"]
