"""``tightrope check``: likely mistakes in a model, and remedies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tightrope.cli.screen import emit, say, table
from tightrope.cli.source import Source
from tightrope.errors import InfeasibleError, ModelError
from tightrope.model import Finding, Model
from tightrope.model.files import read_model
from tightrope.model.lint import lint_draft
from tightrope.plan.explain import kind_of
from tightrope.progress import working
from tightrope.text import digits

CLOSE = 1e-7  # a budget within this of its least attainable value has no slack


def run(source: Source, as_json: bool) -> bool:
    """Check a model; return whether it can be used."""
    found = findings(source)
    is_usable = all(finding.level != "error" for finding in found)
    if as_json:
        listing = [vars(finding) for finding in found]
        emit({"model": source.name, "usable": is_usable, "findings": listing})
    else:
        _show(source.name, found)
    return is_usable


def findings(source: Source) -> tuple[Finding, ...]:
    """Return all findings on a model, worst first, including jointly infeasible budgets."""
    cmdp: Model | None
    if source.path is not None and source.is_model_file and not source.budgets:
        with working(f"reading {source.name}"):
            found, cmdp = _in_file(source.path)
    else:
        cmdp = source.load_model()
        found = cmdp.check()
    if cmdp is None or any(finding.level == "error" for finding in found):
        return found
    with working(f"checking {source.name}"):
        return (*_clashes(cmdp), *found)


def _in_file(path: Path) -> tuple[tuple[Finding, ...], Model | None]:
    """Return the findings on a file, and its model unless that cannot be built."""
    try:
        contents = read_model(path)
    except ModelError as error:
        # a missing file is an error, not a finding
        if not path.is_file() or isinstance(error.__cause__, OSError):
            raise
        return (Finding("error", "file", str(error)),), None
    draft, cost_unit, constraint_units, _ = contents
    found = lint_draft(draft, cost_unit, constraint_units)
    try:
        return found, Model.from_draft(*contents)
    except ModelError as error:
        if any(finding.level == "error" for finding in found):
            return found, None
        return (Finding("error", "file", str(error)), *found), None


def _clashes(cmdp: Model) -> Iterator[Finding]:
    """Return findings on budgets that are feasible alone but not jointly, or only without slack."""
    if cmdp.n_constraints < 2:
        return
    from tightrope.plan.feasibility import feasibility, unmet

    found = feasibility(cmdp)
    if not found.is_feasible:
        alone, excess = tuple(found.alone.tolist()), tuple(found.excess.tolist())
        relaxation = tuple(found.relaxation.tolist())
        error = InfeasibleError("", found.clash, relaxation, alone, excess)
        message, _, remedy = unmet(cmdp, error).rpartition("; ")
        yield Finding("error", "budget", message, remedy)
        return
    for i, unit in enumerate(cmdp.constraint_units):
        bound = float(cmdp.budget[i])
        budget, alone, jointly = map(unit.read, (bound, found.alone[i], found.jointly[i]))
        if jointly >= budget * (1 - CLOSE) > alone:
            word = kind_of(unit)
            yield Finding(
                "warning",
                "budget",
                f"with the other budgets kept, the {word} of {cmdp.constraint_names[i]!r}, "
                f"{digits(bound)}, leaves no slack",
                "learners with multipliers need slack",
            )


def _show(name: str, found: Sequence[Finding]) -> None:
    if not found:
        say(f"{name}: no problems found")
        return
    counts = Counter(finding.level for finding in found)
    words = [
        f"{count} {level}{'s' if count > 1 else ''}"
        for level in ("error", "warning", "note")
        if (count := counts[level])
    ]
    say(f"{name}: {', '.join(words)}", style="bold")
    rows = [[finding.level, finding.subject, finding.message, finding.remedy] for finding in found]
    marked = np.flatnonzero([finding.level == "error" for finding in found]).tolist()
    table(("level", "about", "what was found", "what to do"), rows, marked=marked)
