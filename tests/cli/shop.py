"""A model file whose answers are known by hand, and ways to call the command line.

One shop, two days, working slowly for 10 euros or fast for nothing but 4 hours. With 2 hours in
all, half a day is worked fast: 15 euros, and one more hour saves 10/4 = 2.5 of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from tightrope.cli.app import app

SHOP = """\
format = "tightrope-model 1"
horizon = 2
states = ["shop"]
actions = ["slow", "fast"]
initial = "shop"
transition = [
  ["shop", "slow", "shop", 1.0],
  ["shop", "fast", "shop", 1.0],
]

[objective]
name = "euros"
range = [0, 10]
cost = [["shop", "slow", 10.0]]

[[constraint]]
name = "hours"
range = [0, 4]
cost = [["shop", "fast", 4.0]]
budget = 2.0
"""

CALL = [sys.executable, "-c", "from tightrope.cli import main; main()"]


def shop_at(folder: Path, old: str = "", new: str = "") -> str:
    """The path of a model file, after one replacement in its text."""
    path = folder / "shop.toml"
    assert old in SHOP
    path.write_text(SHOP.replace(old, new) if old else SHOP)
    return str(path)


def said(*words: str) -> str:
    """What a command that must succeed prints."""
    done = CliRunner().invoke(app, list(words), catch_exceptions=False)
    assert done.exit_code == 0, done.stderr
    return done.stdout


def data(*words: str) -> Any:
    """The JSON that a command prints."""
    return json.loads(said(*words, "--json"))


def process(*words: str, **options: Any) -> subprocess.CompletedProcess[str]:
    """The command in a process of its own."""
    return subprocess.run([*CALL, *words], capture_output=True, text=True, timeout=300, **options)
