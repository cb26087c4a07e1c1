"""The lines of a DRN file: a model as it is, or with its stages unrolled."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from tightrope.arrays import Floats
from tightrope.interop.rewards import step_rewards
from tightrope.model import CMDP

RESERVED = ("init", "deadlock", "done")


def drn_lines(cmdp: CMDP, unroll: bool) -> list[str]:
    """All lines of the file.

    Parameters
    ----------
    cmdp : CMDP
        The model.
    unroll : bool
        Whether every stage has states of its own.
    """
    rewards = step_rewards(cmdp)
    body = list(_unrolled(cmdp, rewards) if unroll else _plain(cmdp, rewards))
    return [
        "@type: MDP",
        "@value_type: double",
        "@parameters",
        "",
        "@reward_models",
        " ".join(structure_names(cmdp)),
        "@nr_states",
        str(sum(line.startswith("state") for line in body)),
        "@nr_choices",
        str(sum(line.startswith("\taction") for line in body)),
        "@model",
        *body,
    ]


def structure_names(cmdp: CMDP) -> list[str]:
    """What cost and constraints are called in the file: names that properties can ask for."""
    names: list[str] = []
    for name in (cmdp.cost_unit.name, *cmdp.constraint_names):
        word = free = _identifier(name)
        number = len(names)
        while free in names:
            free, number = f"{word}_{number}", number + 1
        names.append(free)
    return names


def _plain(cmdp: CMDP, rewards: Sequence[Floats]) -> Iterator[str]:
    start = int(cmdp.initial.argmax())
    for s in range(cmdp.n_states):
        labels = [*_label(cmdp.names["s"], s), *(["init"] if s == start else [])]
        yield _state(s, len(rewards), labels)
        yield from _choices(cmdp, rewards, 0, s, 0)


def _unrolled(cmdp: CMDP, rewards: Sequence[Floats]) -> Iterator[str]:
    """A start that leads to stage 0 by its distribution, the stages, and the end."""
    H, S, n = cmdp.horizon, cmdp.n_states, len(rewards)
    yield _state(0, n, ["init"])
    yield _action("start", [0.0] * n)
    for s, share in enumerate(cmdp.initial):
        if share > 0:
            yield f"\t\t{1 + s} : {float(share)!r}"
    for h in range(H):
        for s in range(S):
            own = [f"stage{h}", *_label(cmdp.names["s"], s)]
            yield _state(1 + h * S + s, n, own)
            yield from _choices(cmdp, rewards, h, s, 1 + (h + 1) * S)
    yield _state(1 + H * S, n, ["done"])
    yield _action("stay", [0.0] * n)
    yield f"\t\t{1 + H * S} : 1.0"


def _choices(cmdp: CMDP, rewards: Sequence[Floats], h: int, s: int, offset: int) -> Iterator[str]:
    """The actions of a state; past the last stage all lead to the one end."""
    p = cmdp.transitions
    g = min(h, p.indptr.shape[0] - 1)
    is_last = offset > cmdp.horizon * cmdp.n_states
    for a in range(cmdp.n_actions):
        if not cmdp.allowed[h, s, a]:
            continue
        name = cmdp.names["a"][a] if cmdp.names["a"] else str(a)
        yield _action(name, [float(reward[h, s, a]) for reward in rewards])
        if is_last:
            yield f"\t\t{offset} : 1.0"
            continue
        row = s * cmdp.n_actions + a
        for e in range(p.indptr[g, row], p.indptr[g, row + 1]):
            yield f"\t\t{offset + int(p.indices[g, e])} : {float(p.data[g, e])!r}"


def _state(number: int, n_rewards: int, labels: Sequence[str]) -> str:
    rewards = f" [{', '.join(['0'] * n_rewards)}]"
    return f"state {number}{rewards}{''.join(f' {label}' for label in labels)}"


def _action(name: str, rewards: Sequence[float]) -> str:
    word = re.sub(r"\s", "_", _clean(name))  # quotes are for labels only
    return f"\taction {word} [{', '.join(map(repr, rewards))}]"


def _label(names: Sequence[str] | None, s: int) -> list[str]:
    if names is None or names[s] in RESERVED:
        return []
    return [_quoted(names[s])]


def _quoted(name: str) -> str:
    """A name as the format takes it: in quotes when it has blanks."""
    clean = _clean(name)
    return clean if re.fullmatch(r"\S+", clean) and clean[0] not in "!{" else f'"{clean}"'


def _clean(name: str) -> str:
    """A name without what means something to the format, and without control characters."""
    shown = "".join(c if c.isprintable() else "_" for c in name)
    return re.sub(r'["/\[\]]', "_", shown) or "_"


def _identifier(name: str) -> str:
    """A name as properties of Storm can ask for it."""
    clean = re.sub(r"\W", "_", name)
    return clean if re.match(r"[A-Za-z_]", clean) else f"_{clean}"
