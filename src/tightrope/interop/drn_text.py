"""DRN, the explicit text format of the Storm model checker, taken apart line by line.

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
from dataclasses import dataclass, field
from typing import Any

from tightrope.errors import ModelError

KINDS = ("mdp", "dtmc")
ROUNDING = 1e-6  # of a sum of probabilities
LABEL = re.compile(r'"([^"]*)"|(\S+)')
REWARDS = re.compile(r"^\[([^\]]*)\]\s*(.*)$")


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
    """What a file says."""

    rewards: list[str]
    states: list[DrnState]


MOST_DIGITS = 12  # of the number of a state


class _Fault(ModelError):
    """A fault of the current line, or of the line it names."""

    def __init__(self, words: str, line: int | None = None) -> None:
        super().__init__(words)
        self.line = line


def parsed(text: str) -> DrnText:
    """What a DRN text says, or a `ModelError` with the line at which it stops making sense."""
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
            raise _Fault("no line '@model': not a DRN file, or one cut short")
        if "@type" not in header:
            raise _Fault("@type is missing, expected MDP")
        found = DrnText(header.get("@reward_models", "").split(), [])
        for number, line in lines[at + 1 :]:
            if line:
                _read_line(found, number, line)
        number = lines[-1][0]
        _require_whole(found, header)
    except _Fault as fault:
        raise ModelError(f"line {fault.line or number}: {fault}") from fault
    return found


def _read_header(lines: list[tuple[int, str]], at: int, line: str, header: dict[str, str]) -> int:
    """Take in one entry of the header; the place after it."""
    if not line:
        return at + 1
    key, colon, value = line.partition(":")
    if not key.startswith("@"):
        raise _Fault(f"{line!r}, expected an entry that begins with @")
    if colon:
        _enter(header, key.strip(), value.strip())
        return at + 1
    # the value stands on the next line, which may be empty
    value = lines[at + 1][1] if at + 1 < len(lines) else ""
    if value.startswith("@"):
        _enter(header, key.strip(), "")
        return at + 1
    _enter(header, key.strip(), value)
    return at + 2


def _enter(header: dict[str, str], key: str, value: str) -> None:
    if key == "@type" and value.lower() not in KINDS:
        raise _Fault(f"@type is {value!r}, expected MDP")
    if key in ("@parameters", "@placeholders") and value:
        raise _Fault(f"{key}: {value!r}, expected a model whose numbers are all given")
    header[key] = value


def _read_line(found: DrnText, number: int, line: str) -> None:
    word, _, rest = line.partition(" ")
    if word == "state":
        _read_state(found, number, rest.strip())
    elif word == "action":
        if not found.states:
            raise _Fault("an action before the first state")
        name, rewards = _named(rest.strip())
        choice = Choice(number, name, _rewards(rewards, found.rewards))
        found.states[-1].choices.append(choice)
    else:
        if not found.states or not found.states[-1].choices:
            raise _Fault(f"{line!r}, expected a state or an action")
        successor, colon, share = line.partition(":")
        is_number = successor.strip().isdecimal() and len(successor.strip()) <= MOST_DIGITS
        if not colon or not is_number:
            raise _Fault(f"{line!r}, expected SUCCESSOR : PROBABILITY")
        found.states[-1].choices[-1].successors.append(int(successor))
        found.states[-1].choices[-1].shares.append(_number(share.strip()))


def _read_state(found: DrnText, number: int, rest: str) -> None:
    name, _, rest = rest.partition(" ")
    if name != str(len(found.states)):
        raise _Fault(f"state {name}, expected state {len(found.states)}")
    rest = rest.strip()
    if rest.startswith(("!", "{")):
        raise _Fault("exit rates and observations belong to other kinds of models than an MDP")
    rewards, labels = _in_brackets(rest) if rest.startswith("[") else ("", rest)
    words = [quoted or plain for quoted, plain in LABEL.findall(labels)]
    found.states.append(DrnState(number, _rewards(rewards, found.rewards), words))


def _named(rest: str) -> tuple[str, str]:
    """Name of an action, which may be quoted, and the text of its rewards."""
    match = LABEL.match(rest)
    if match is None:
        raise _Fault("an action without a name")
    rewards = rest[match.end() :].strip()
    return match[1] or match[2], _in_brackets(rewards)[0] if rewards else ""


def _in_brackets(text: str) -> tuple[str, str]:
    """What stands in brackets, and what comes after them."""
    match = REWARDS.match(text)
    if match is None:
        raise _Fault(f"{text!r}, expected rewards in brackets")
    return match[1], match[2]


def _rewards(text: str, names: list[str]) -> list[float]:
    values = [_number(value.strip()) for value in text.split(",")] if text.strip() else []
    if values and len(values) != len(names):
        raise _Fault(f"{len(values)} rewards, expected {len(names)}")
    return values or [0.0] * len(names)


def _number(text: str) -> float:
    top, slash, bottom = text.partition("/")
    try:
        value = float(top) / (float(bottom) if slash else 1.0)
    except (ValueError, ZeroDivisionError):
        raise _Fault(f"{text!r}, expected a number or a fraction") from None
    if not abs(value) < float("inf"):
        raise _Fault(f"{text!r}, expected a finite number")
    return value


def _require_whole(found: DrnText, header: dict[str, Any]) -> None:
    size = len(found.states)
    if header.get("@nr_states", str(size)) != str(size):
        raise _Fault(f"{size} states, but @nr_states says {header['@nr_states']}; cut short?")
    choices = sum(len(state.choices) for state in found.states)
    if header.get("@nr_choices", str(choices)) != str(choices):
        raise _Fault(f"{choices} choices, but @nr_choices says {header['@nr_choices']}; cut short?")
    if not size:
        raise _Fault("no states")
    for s, state in enumerate(found.states):
        if not state.choices:
            raise _Fault(f"state {s} has no action", state.line)
        for choice in state.choices:
            _require_row(s, choice, size)


def _require_row(s: int, choice: Choice, size: int) -> None:
    """Refuse an action whose probabilities are none, or lead nowhere."""
    what = f"action {choice.name!r} of state {s}"
    for successor, share in zip(choice.successors, choice.shares, strict=True):
        if successor >= size:
            raise _Fault(f"{what} leads to state {successor}, of {size}", choice.line)
        if share < 0:
            raise _Fault(f"{what} leads to state {successor} with {share:g}", choice.line)
    total = sum(choice.shares)
    if abs(total - 1.0) > ROUNDING:
        raise _Fault(f"probabilities of {what} sum to {total:.6g}, expected 1", choice.line)
