"""The model that a word of the command line means.

A name of the catalogue, a file, or ``gym:ID`` for a Gymnasium environment with a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tightrope import envs
from tightrope.cli.progress import working
from tightrope.errors import ModelError
from tightrope.model import CMDP
from tightrope.model.budgets import constraint_at, with_named_budgets

__all__ = ["DRN", "GYM", "Source", "bounds_of", "with_budgets"]

DRN = ".drn"  # files of Storm
GYM = "gym:"


@dataclass(frozen=True)
class Source:
    """What was named, and the parameters that came with it."""

    name: str
    path: Path | None
    settings: tuple[str, ...]

    @classmethod
    def of(cls, word: str, settings: Sequence[str] = ()) -> Source:
        """What the word means.

        A name of the catalogue, unless it begins with ``gym:``, looks like a path or only a file
        has it.

        Parameters
        ----------
        word : str
            What the user wrote.
        settings : sequence of str
            ``parameter=value`` each, for an environment.
        """
        if word.startswith(GYM):
            return cls(word, None, tuple(settings))
        path = Path(word)
        looks_like_path = bool(path.suffix) or path.name != word
        is_file = looks_like_path or (word not in envs.names() and path.is_file())
        if is_file and settings and path.suffix.lower() != DRN:
            raise ModelError(
                f"--set {settings[0]}: {word} is a file; "
                "only environments of the catalogue have parameters"
            )
        return cls(path.name if is_file else word, path if is_file else None, tuple(settings))

    @property
    def is_gym(self) -> bool:
        """Whether it is an environment of Gymnasium."""
        return self.name.startswith(GYM) and self.path is None

    @property
    def is_model_file(self) -> bool:
        """Whether it is a file of this library's own kinds, which has everything in it."""
        return self.path is not None and self.path.suffix.lower() != DRN

    def load(self, budgets: Sequence[str] = ()) -> CMDP:
        """The model, under other budgets where some were given.

        Parameters
        ----------
        budgets : sequence of str
            ``constraint=value`` each, in the constraint's own units.
        """
        if self.is_gym:
            from tightrope.cli.gym_source import imported as from_gym

            return from_gym(self.name, self.settings, budgets)
        if self.path is not None and self.path.suffix.lower() == DRN:
            from tightrope.cli.drn_source import imported as from_drn

            return from_drn(self.path, self.settings, budgets)
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
    return with_named_budgets(cmdp, bounds_of(words, cmdp))


def bounds_of(words: Sequence[str], cmdp: CMDP) -> dict[str, float]:
    """Budgets by the names of their constraints; a lone number will do for a lone constraint."""
    bounds: dict[str, float] = {}
    for word in words:
        name, equals, text = word.rpartition("=")
        if not equals and cmdp.n_constraints != 1:
            raise ModelError(f"--budget {word}: expected CONSTRAINT=VALUE, as in energy=12")
        label = cmdp.constraint_names[constraint_at(cmdp, name) if equals else 0]
        if label in bounds:
            raise ModelError(f"--budget {word}: a budget for {label!r} twice")
        try:
            bounds[label] = float(text)
        except ValueError:
            raise ModelError(f"--budget {word}: {text!r}, expected a number") from None
    return bounds
