"""The model that a word of the command line means: a name of the catalogue, or a file."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tightrope import envs
from tightrope.cli.progress import working
from tightrope.errors import ModelError
from tightrope.model import CMDP
from tightrope.model.guess import guess
from tightrope.model.ranges import onto_budget

__all__ = ["Source", "constraint_at", "with_budgets"]


@dataclass(frozen=True)
class Source:
    """What was named, and the parameters that came with it."""

    name: str
    path: Path | None
    settings: tuple[str, ...]

    @classmethod
    def of(cls, word: str, settings: Sequence[str] = ()) -> Source:
        """A name of the catalogue, unless the word looks like a path or only a file has it.

        Parameters
        ----------
        word : str
            What the user wrote.
        settings : sequence of str
            ``parameter=value`` each, for an environment.
        """
        path = Path(word)
        looks_like_path = bool(path.suffix) or path.name != word
        is_file = looks_like_path or (word not in envs.names() and path.is_file())
        if is_file and settings:
            raise ModelError(
                f"--set {settings[0]}: {word} is a file; "
                "only environments of the catalogue have parameters"
            )
        return cls(path.name if is_file else word, path if is_file else None, tuple(settings))

    def load(self, budgets: Sequence[str] = ()) -> CMDP:
        """The model, under other budgets where some were given.

        Parameters
        ----------
        budgets : sequence of str
            ``constraint=value`` each, in the constraint's own units.
        """
        if self.path is not None:
            with working(f"reading {self.name}"):
                cmdp = CMDP.load(self.path)
        else:
            parameters = envs.parse(self.name, self.settings)
            with working(f"building {self.name}"):
                cmdp = envs.build(self.name, **parameters)
        return with_budgets(cmdp, budgets)


def with_budgets(cmdp: CMDP, words: Sequence[str]) -> CMDP:
    """The model under budgets such as ``energy=12``, in shown units; floors are set likewise."""
    if not words:
        return cmdp
    budget, seen = cmdp.budget, set()
    for word in words:
        name, equals, text = word.rpartition("=")
        if not equals and cmdp.n_constraints != 1:
            raise ModelError(f"--budget {word}: expected CONSTRAINT=VALUE, as in energy=12")
        i = constraint_at(cmdp, name) if equals else 0
        if i in seen:
            raise ModelError(f"--budget {word}: a budget for {cmdp.constraint_names[i]!r} twice")
        seen.add(i)
        try:
            bound = float(text)
        except ValueError:
            raise ModelError(f"--budget {word}: {text!r}, expected a number") from None
        budget[i] = onto_budget(bound, cmdp.constraint_units[i], cmdp.horizon)
    return cmdp.with_budget(budget)


def constraint_at(cmdp: CMDP, word: str) -> int:
    """The number of a constraint given by name or number."""
    word, names = word.strip(), cmdp.constraint_names
    if word in names:
        return names.index(word)
    if word.isdecimal() and int(word) < len(names):
        return int(word)
    if not names:
        raise ModelError(f"constraint {word!r} is unknown; the model has none")
    known = ", ".join(map(repr, names))
    raise ModelError(f"constraint {word!r} is unknown{guess(word, names)}; constraints: {known}")
