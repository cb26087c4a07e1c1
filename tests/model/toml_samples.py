"""The shop of `model_samples` as a person would write it down, and what is said of bad texts."""

from __future__ import annotations

import pytest

from tightrope.errors import ModelError
from tightrope.model import CMDP

TEXT = """
format = "tightrope-model 1"
horizon = 3
states = ["idle", "busy"]
actions = ["wait", "serve"]
transition = [
  ["idle", "wait", "idle", 0.5],
  ["idle", "wait", "busy", 0.5],
  ["busy", "wait", "busy", 1],
  ["busy", "serve", "idle", 1.0],
]

[objective]
cost = [["idle", "wait", 0.2], ["busy", "wait", 1.0], ["busy", "serve", 0.4]]

[[constraint]]
name = "energy"
cost = [["*", "serve", 1]]
budget = 0.5
"""


def load(tmp_path, text):
    """The model of a text in a file."""
    path = tmp_path / "m.toml"
    path.write_text(text, encoding="utf-8")
    return CMDP.load(path)


def refused(tmp_path, old, new):
    """The message for the text with some words changed, without the name of the file."""
    assert old in TEXT
    with pytest.raises(ModelError) as caught:
        load(tmp_path, TEXT.replace(old, new, 1))
    message = str(caught.value)
    assert "\n" not in message
    prefix = f"{tmp_path / 'm.toml'}: "
    assert message.startswith(prefix)
    return message.removeprefix(prefix)
