"""What every test of a command takes for granted."""

from __future__ import annotations

import pytest

from tightrope import progress


@pytest.fixture(autouse=True)
def patient(monkeypatch):
    """No lines of progress, however long a first compile takes or however slow the machine."""
    monkeypatch.setattr(progress, "PATIENCE", 3600.0)
