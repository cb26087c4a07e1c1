"""``tightrope convert``: write a model to a file of another format."""

from __future__ import annotations

from pathlib import Path

from tightrope.cli.screen import emit, require_folder, say
from tightrope.cli.source import DRN, Source
from tightrope.errors import ConfigError
from tightrope.interop.drn import structure_names
from tightrope.interop.storm import must_unroll, write_drn
from tightrope.model import CMDP, DiscountedCMDP, Model
from tightrope.progress import working
from tightrope.text import digits

KINDS = (".npz", ".toml", DRN)


def run(source: Source, path: Path, unroll: bool, as_json: bool) -> None:
    """Write a model to a file in the format given by its name."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise ConfigError.about(str(path), expected=f"a name that ends in {', '.join(KINDS)}")
    if unroll and kind != DRN:
        raise ConfigError.about("--unroll", more=f"for {DRN} files only, which have no stages")
    require_folder(path)
    cmdp = source.load_model()
    with working(f"writing {path.name}"):
        if kind == DRN:
            write_drn(cmdp, path, True if unroll else None)
        else:
            cmdp.save(path)
    query = storm_query(cmdp, unroll) if kind == DRN else None
    if as_json:
        emit({"written": str(path), "model": repr(cmdp), "query": query})
        return
    say(f"written: {path}: {cmdp!r}")
    if query is not None:
        say(f"the same problem for Storm: {query}")


def storm_query(cmdp: Model, unroll: bool) -> str | None:
    """Return the Storm property for the file, including budgets and horizon.

    None for discounted sums with budgets, which Storm does not have.
    """
    if isinstance(cmdp, CMDP):
        form = f"C<={cmdp.horizon + (unroll or must_unroll(cmdp))}"
    elif isinstance(cmdp, DiscountedCMDP):
        form = f"Cdiscount={cmdp.discount!r}"
    else:
        form = "LRA"
    if isinstance(cmdp, DiscountedCMDP) and cmdp.n_constraints:
        return None
    bounds = [
        "max=?" if cmdp.cost_unit.is_maximized else "min=?",
        *(
            f"{'>=' if unit.is_maximized else '<='}{digits(budget, 12)}"
            for unit, budget in zip(cmdp.constraint_units, cmdp.budget.tolist(), strict=True)
        ),
    ]
    parts = [
        f'R{{"{name}"}}{bound} [{form}]'
        for name, bound in zip(structure_names(cmdp), bounds, strict=True)
    ]
    return parts[0] if len(parts) == 1 else f"multi({', '.join(parts)})"
