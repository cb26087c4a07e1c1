"""The runs that measure the paper's claims: one file, in parts, each part a study."""

from __future__ import annotations

import tomllib
from importlib.resources import files
from typing import Any

from tightrope.experiments.sweep import specs_of
from tightrope.run.spec import RunSpec

FILE = "claims.toml"
QUICK = "quick"


def claims(is_quick: bool = False) -> dict[str, list[RunSpec]]:
    """Runs by part.

    Parameters
    ----------
    is_quick : bool
        Whether to take the short versions, which show that everything works and prove nothing.
    """
    table: dict[str, Any] = tomllib.loads(files(__package__).joinpath(FILE).read_text("utf-8"))
    shorter = table.pop(QUICK)
    found = {}
    for part, sweeps in table.items():
        changes = shorter.get(part, {}) if is_quick else {}
        specs = [spec for sweep in sweeps for spec in specs_of({**sweep, **changes}, FILE)]
        found[part] = list({spec.id: spec for spec in specs}.values())
    return found
