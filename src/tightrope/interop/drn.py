"""DRN, the explicit text format of the Storm model checker: parsed and written line by line.

::

    @type: MDP
    @parameters

    @reward_models
    time energy
    @nr_states
    2
    @nr_choices
    3
    @model
    state 0 [0, 1] init
        action go [1, 0.5]
            0 : 1/2
            1 : 1/2

State rewards are paid in every step from the state, action rewards on top of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tightrope.arrays import Floats
from tightrope.errors import ModelError
from tightrope.model import Model

KINDS = ("mdp", "dtmc")
ROUNDING = 1e-6  # of a sum of probabilities
LABEL = re.compile(r'"([^"]*)"|(\S+)')
REWARDS = re.compile(r"^\[([^\]]*)\]\s*(.*)$")
MOST_DIGITS = 12  # most digits of the number of a state
RESERVED = ("init", "deadlock")  # labels that are not names of states


@dataclass
class Choice:
    """An action of a state: its line in the file, its name, its rewards, and where it leads."""

    line: int
    name: str
    rewards: list[float]
    successors: list[int] = field(default_factory=list)
    shares: list[float] = field(default_factory=list)


@dataclass
class DrnState:
    """A state: its line in the file, its rewards, its labels and its actions."""

    line: int
    rewards: list[float]
    labels: list[str]
    choices: list[Choice] = field(default_factory=list)


@dataclass
class DrnText:
    """The content of a file: names of reward structures, and states."""

    rewards: list[str]
    states: list[DrnState]


class _Fault(ModelError):
    """A fault of the current line."""


def parse(text: str) -> DrnText:
    """Parse a DRN text; a `ModelError` gives the first invalid line."""
    lines = [
        (number, line.split("//")[0].strip())
        for number, line in enumerate(text.removesuffix("\n").split("\n"), 1)
    ]
    number = 0
    try:
        header: dict[str, str] = {}
        at = 0
        while at < len(lines) and lines[at][1] != "@model":
            number, line = lines[at]
            at = _read_header(lines, at, line, header)
        if at == len(lines):
            raise _Fault.about(
                "@model", shown="missing", more=": not a DRN file, or a truncated one"
            )
        if "@type" not in header:
            raise _Fault.about("@type", shown="missing", expected="MDP")
        found = DrnText(header.get("@reward_models", "").split(), [])
        for number, line in lines[at + 1 :]:
            if line:
                _read_line(found, number, line)
        number = lines[-1][0]
        _require_whole(found, header)
        for s, state in enumerate(found.states):
            number = state.line
            if not state.choices:
                raise _Fault.about(f"state {s}", shown="no action", expected="one")
            for choice in state.choices:
                number = choice.line
                _require_row(s, choice, len(found.states))
    except _Fault as fault:
        place = f"line {number}"
        error = ModelError(f"{place}: {fault}").with_fields_of(fault)
        error.entry = place
        raise error from fault
    return found


def _read_header(lines: list[tuple[int, str]], at: int, line: str, header: dict[str, str]) -> int:
    """Read one entry of the header; return the position after it."""
    if not line:
        return at + 1
    key, colon, value = line.partition(":")
    if not key.startswith("@"):
        raise _Fault.about("header", found=line, expected="an entry that begins with @")
    if not colon:  # the value is the next line, which may be empty, unless that is an entry
        at += 1
        value = lines[at][1] if at < len(lines) else ""
        if value.startswith("@"):
            value, at = "", at - 1
    key, value = key.strip(), value.strip()
    if key == "@type" and value.lower() not in KINDS:
        raise _Fault.about(key, found=value, expected="MDP")
    if key in ("@parameters", "@placeholders") and value:
        raise _Fault.about(key, found=value, expected="a model without parameters")
    header[key] = value
    return at + 1


def _read_line(found: DrnText, number: int, line: str) -> None:
    word, _, rest = line.partition(" ")
    if word == "state":
        _read_state(found, number, rest.strip())
    elif word == "action":
        if not found.states:
            raise _Fault.about("action", found=line, expected="a state before it")
        name, rewards = _split_name(rest.strip())
        choice = Choice(number, name, _rewards(rewards, found.rewards))
        found.states[-1].choices.append(choice)
    else:
        if not found.states or not found.states[-1].choices:
            raise _Fault.about("model", found=line, expected="a state or an action")
        successor, colon, share = map(str.strip, line.partition(":"))
        if not colon or not successor.isdecimal() or len(successor) > MOST_DIGITS:
            raise _Fault.about("action", found=line, expected="SUCCESSOR : PROBABILITY")
        choice = found.states[-1].choices[-1]
        choice.successors.append(int(successor))
        choice.shares.append(_number("probability", share))


def _read_state(found: DrnText, number: int, rest: str) -> None:
    name, _, rest = rest.partition(" ")
    if name != str(len(found.states)):
        raise _Fault.about("state", shown=name, expected=len(found.states))
    rest = rest.strip()
    if rest.startswith(("!", "{")):
        raise _Fault.about("state", found=rest, expected="no exit rate and no observation")
    rewards, labels = _in_brackets(rest) if rest.startswith("[") else ("", rest)
    words = [quoted or plain for quoted, plain in LABEL.findall(labels)]
    found.states.append(DrnState(number, _rewards(rewards, found.rewards), words))


def _split_name(rest: str) -> tuple[str, str]:
    """Return the name of an action, which may be quoted, and the text of its rewards."""
    match = LABEL.match(rest)
    if match is None:
        raise _Fault.about("action", found=rest, expected="a name")
    rewards = rest[match.end() :].strip()
    return match[1] or match[2], _in_brackets(rewards)[0] if rewards else ""


def _in_brackets(text: str) -> tuple[str, str]:
    """Return the text in brackets, and the text after them."""
    match = REWARDS.match(text)
    if match is None:
        raise _Fault.about("rewards", found=text, expected="numbers in brackets")
    return match[1], match[2]


def _rewards(text: str, names: list[str]) -> list[float]:
    values = [_number("reward", value.strip()) for value in text.split(",")] if text.strip() else []
    if values and len(values) != len(names):
        raise _Fault.about("rewards", shown=f"{len(values)} given", expected=len(names))
    return values or [0.0] * len(names)


def _number(what: str, text: str) -> float:
    top, slash, bottom = text.partition("/")
    try:
        value = float(top) / (float(bottom) if slash else 1.0)
    except (ValueError, ZeroDivisionError):
        raise _Fault.about(what, found=text, expected="a number or a fraction") from None
    if not abs(value) < float("inf"):
        raise _Fault.about(what, found=text, expected="a finite number")
    return value


def _require_whole(found: DrnText, header: dict[str, str]) -> None:
    size, choices = len(found.states), sum(len(state.choices) for state in found.states)
    for key, n in (("@nr_states", size), ("@nr_choices", choices)):
        if header.get(key, str(n)) != str(n):
            raise _Fault.about(
                key, shown=header[key], more=f", but {n} are in the file, which may be truncated"
            )
    if not size:
        raise _Fault.about("states", shown="none", expected="at least one")


def _require_row(s: int, choice: Choice, size: int) -> None:
    """Raise for an action with bad probabilities or successors."""
    what = f"action {choice.name!r} of state {s}"
    for successor, share in zip(choice.successors, choice.shares, strict=True):
        if successor >= size:
            expected = f"a state from 0 to {size - 1}"
            raise _Fault.about(what, verb="leads to", found=successor, expected=expected)
        if share < 0:
            what = f"probability of state {successor} after {what}"
            raise _Fault.about(what, found=share, expected="at least 0")
    total = sum(choice.shares)
    if abs(total - 1.0) > ROUNDING:
        what, shown = f"probabilities of {what}", f"{total:.6g}"
        raise _Fault.about(what, verb="sum to", found=total, shown=shown, expected=1)


def write_lines(cmdp: Model, unroll: bool) -> list[str]:
    """Return the lines of the file of a model; unrolled, every stage has its own states."""
    rewards = [cmdp.cost, *cmdp.constraint_cost]
    body = list(_write_stages(cmdp, rewards) if unroll else _write_plain(cmdp, rewards))
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


def structure_names(cmdp: Model) -> list[str]:
    """Return the names of cost and constraints in the file, valid in Storm properties."""
    names: list[str] = []
    for name in (cmdp.cost_unit.name, *cmdp.constraint_names):
        word = free = _identifier(name)
        number = len(names)
        while free in names:
            free, number = f"{word}_{number}", number + 1
        names.append(free)
    return names


def _write_plain(cmdp: Model, rewards: Sequence[Floats]) -> Iterator[str]:
    """Yield the states, after one that leads to them by the start distribution if that is random.

    It belongs to long-run averages alone, which do not change by a step more.
    """
    is_random = bool(cmdp.initial.max() < 1.0)
    if is_random:
        yield from _start(cmdp, len(rewards))
    start = None if is_random else int(cmdp.initial.argmax())
    for s in range(cmdp.n_states):
        labels = [*_label(cmdp.names["s"], s), *(["init"] if s == start else [])]
        yield _state(s + is_random, len(rewards), labels)
        yield from _choices(cmdp, rewards, 0, s, int(is_random))


def _start(cmdp: Model, n_rewards: int) -> Iterator[str]:
    """Yield state 0, which leads to the next ones by the start distribution."""
    yield _state(0, n_rewards, ["init"])
    yield _action("start", [0.0] * n_rewards)
    for s, share in enumerate(cmdp.initial):
        if share > 0:
            yield f"\t\t{1 + s} : {float(share)!r}"


def _write_stages(cmdp: Model, rewards: Sequence[Floats]) -> Iterator[str]:
    """Yield a start state that leads to stage 0 by its distribution, the stages, and the end."""
    H, S, n = cmdp.n_stages, cmdp.n_states, len(rewards)
    yield from _start(cmdp, n)
    for h in range(H):
        for s in range(S):
            own = [f"stage{h}", *_label(cmdp.names["s"], s)]
            yield _state(1 + h * S + s, n, own)
            yield from _choices(cmdp, rewards, h, s, 1 + (h + 1) * S, h == H - 1)
    yield _state(1 + H * S, n, ["done"])
    yield _action("stay", [0.0] * n)
    yield f"\t\t{1 + H * S} : 1.0"


def _choices(
    cmdp: Model, rewards: Sequence[Floats], h: int, s: int, offset: int, is_last: bool = False
) -> Iterator[str]:
    """Yield the actions of a state; those of the last stage all lead to the end."""
    p = cmdp.transitions
    g = min(h, p.indptr.shape[0] - 1)
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
    """Return the name of a state, if it has one, quoted if it has blanks."""
    if names is None or names[s] in (*RESERVED, "done"):
        return []
    clean = _clean(names[s])
    return [clean if re.fullmatch(r"\S+", clean) and clean[0] not in "!{" else f'"{clean}"']


def _clean(name: str) -> str:
    """Return a name without control characters and characters that the format uses."""
    shown = "".join(c if c.isprintable() else "_" for c in name)
    return re.sub(r'["/\[\]]', "_", shown) or "_"


def _identifier(name: str) -> str:
    """Return a name that is valid in Storm properties."""
    clean = re.sub(r"\W", "_", name)
    return clean if re.match(r"[A-Za-z_]", clean) else f"_{clean}"
