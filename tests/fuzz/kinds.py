"""All kinds of inputs by name."""

from __future__ import annotations

from fuzz import kinds_arguments, kinds_commands, kinds_files, kinds_models, kinds_studies
from fuzz.driver import Kind

__all__ = ["KINDS"]

MODULES = (kinds_models, kinds_arguments, kinds_files, kinds_studies, kinds_commands)

KINDS: dict[str, Kind] = {kind.name: kind for module in MODULES for kind in module.KINDS}
