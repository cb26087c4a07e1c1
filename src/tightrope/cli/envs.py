"""``tightrope envs``: the catalog, or the details of one entry."""

from __future__ import annotations

import inspect
import textwrap
from typing import Any

from tightrope import envs
from tightrope.cli.screen import emit, say, table


def run(name: str | None, as_json: bool) -> None:
    """Show the catalog, or one entry when a name is given."""
    if name is not None:
        _one(name, as_json)
    elif as_json:
        emit([_data(entry) for entry in (*envs.names(), *envs.lasting_names())])
    else:
        _all()


def _all() -> None:
    columns = ("name", "S", "A", "H", "I", "what is decided", "constraint", "source")
    rows = []
    for name in (*envs.names(), *envs.lasting_names()):
        entry, cmdp = envs.entry(name), envs.build(name)
        H = cmdp.n_stages if cmdp.criterion == "episodes" else cmdp.criterion
        sizes = (cmdp.n_states, cmdp.n_actions, H, cmdp.n_constraints)
        rows.append([name, *map(str, sizes), entry.summary, entry.constraint, entry.source])
    table(columns, rows, numbers=("S", "A", "H", "I"))
    say("S states, A actions, H stages, I constraints; tightrope envs NAME shows details")


def _one(name: str, as_json: bool) -> None:
    # imported here, because only this part of the catalog needs a planner
    from tightrope.cli.solve import plan_data, show_plan, solve_with_progress

    entry, cmdp = envs.entry(name), envs.build(name)
    plan = solve_with_progress(name, cmdp, "columns", 1e-10)
    if as_json:
        emit({**_data(name), "optimum": plan_data(name, cmdp, plan)})
        return
    say(f"{name}: {entry.summary}", style="bold")
    say(f"source: {entry.source}\nunits: {entry.units}\n{cmdp!r}\n")
    say(_story(entry))
    meanings = _meanings(entry)
    rows = [
        [key, _format_default(value), meanings.get(key, "")]
        for key, value in entry.defaults.items()
    ]
    table(("parameter", "default", "meaning"), rows)
    show_plan(name, cmdp, plan)


def _data(name: str) -> dict[str, Any]:
    entry, cmdp = envs.entry(name), envs.build(name)
    return {
        "name": name,
        "states": cmdp.n_states,
        "actions": cmdp.n_actions,
        "criterion": cmdp.criterion,
        "horizon": cmdp.n_stages if cmdp.criterion == "episodes" else None,
        "constraints": list(cmdp.constraint_names),
        "summary": entry.summary,
        "constraint": entry.constraint,
        "source": entry.source,
        "units": entry.units,
        "parameters": dict(entry.defaults),
    }


def _story(entry: envs.Entry) -> str:
    """Return the docstring of the builder's module."""
    told = inspect.getdoc(inspect.getmodule(entry.builder)) or ""
    return told.replace("\n::\n\n", "\n").replace("::\n", ":\n").replace("``", "")


def _meanings(entry: envs.Entry) -> dict[str, str]:
    """Return the description of each parameter from the builder's docstring."""
    _, _, section = (inspect.getdoc(entry.builder) or "").partition("Parameters\n----------\n")
    meanings: dict[str, str] = {}
    keys: list[str] = []
    for line in section.splitlines():
        if line and not line.startswith(" "):
            keys = [key.strip() for key in line.partition(":")[0].split(",")]
        elif line.strip():
            for key in keys:
                meanings[key] = f"{meanings.get(key, '')} {line.strip()}".strip().replace("``", "")
    return meanings


def _format_default(value: object) -> str:
    """Return a default as text; a map on several lines."""
    return textwrap.dedent(value).strip("\n") if isinstance(value, str) else str(value)
