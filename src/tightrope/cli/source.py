"""The model that a word of the command line means, with the words that came with it.

A name of the catalogue, a file, or ``gym:ID`` for a Gymnasium environment with a table.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tightrope import envs
from tightrope.cli.pairs import named_value
from tightrope.cli.paths import exists
from tightrope.errors import ModelError
from tightrope.model import CMDP
from tightrope.model.budgets import constraint_at, with_named_budgets
from tightrope.progress import working

DRN = ".drn"  # files of Storm
GYM = "gym:"
ONLY_GYM = "only for gym:ID"


@dataclass(frozen=True)
class Source:
    """What was named, and what was said of it.

    Parameters
    ----------
    word : str
        What the user wrote.
    name : str
        What it is called in tables and pictures.
    path : Path or None
        Where it is, if it is a file.
    settings : tuple of str
        ``parameter=value`` each.
    budgets : tuple of str
        ``constraint=value`` each, in the constraint's own units.
    ranges : tuple of str
        ``name=low:high`` each, for an environment of Gymnasium.
    """

    word: str
    name: str
    path: Path | None
    settings: tuple[str, ...] = ()
    budgets: tuple[str, ...] = ()
    ranges: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        word: str,
        settings: Sequence[str] | None = None,
        budgets: Sequence[str] | None = None,
        horizon: int | None = None,
        cost: str | None = None,
        reward: str | None = None,
        ranges: Sequence[str] | None = None,
    ) -> Source:
        """What the words mean.

        A name of the catalogue, unless it begins with ``gym:``, looks like a path or only a file
        has it. ``horizon``, ``cost`` and ``reward`` are short for settings of that name.
        """
        is_gym, path = word.startswith(GYM), Path(word)
        looks_like_path = bool(path.suffix) or path.name != word
        is_file = not is_gym and (looks_like_path or (word not in envs.names() and exists(path)))
        short = {"horizon": horizon, "cost": cost, "reward": reward}
        given = {key: str(value) for key, value in short.items() if value is not None}
        source = cls(
            word,
            path.name if is_file else word,
            path if is_file else None,
            (*(settings or ()), *map("=".join, given.items())),
            tuple(budgets or ()),
            tuple(ranges or ()),
        )
        source._require_fitting(list(given))
        return source

    def _require_fitting(self, short: Sequence[str]) -> None:
        """Refuse words that such a model has no use for; ``short`` were given by their own name."""
        if self.is_model_file and self.settings:
            is_set = len(self.settings) > len(short)
            first = f"--set {self.settings[0]}" if is_set else f"--{short[0]}"
            raise ModelError(
                f"{first}: {self.word} is a file; "
                "only environments of the catalogue have parameters"
            )
        for key in short:
            if key != "horizon" and not self.is_drn:
                raise ModelError(f"--{key}: only for {DRN} files; {self.word} knows this of itself")
        if self.ranges and not self.is_gym:
            raise ModelError(f"--range: {ONLY_GYM}; {self.word} knows this of itself")

    @property
    def is_gym(self) -> bool:
        """Whether it is an environment of Gymnasium."""
        return self.path is None and self.name.startswith(GYM)

    @property
    def is_drn(self) -> bool:
        """Whether it is a file of Storm."""
        return self.path is not None and self.path.suffix.lower() == DRN

    @property
    def is_model_file(self) -> bool:
        """Whether it is a file of this library's own kinds, which has everything in it."""
        return self.path is not None and not self.is_drn

    def load(self) -> CMDP:
        """The model, under other budgets where some were given."""
        if self.is_gym:
            from tightrope.cli.gym_source import imported as from_gym

            return from_gym(self.name, self.settings, self.budgets, self.ranges)
        if self.path is not None and self.is_drn:
            from tightrope.cli.drn_source import imported as from_drn

            return from_drn(self.path, self.settings, self.budgets)
        cmdp = self._own()
        return with_named_budgets(cmdp, self._bounds(cmdp))

    def bounds(self) -> dict[str, float]:
        """The budgets that were given, by the names of their constraints."""
        return self._bounds(self._own())

    def _own(self) -> CMDP:
        """The model of the catalogue or of a file of ours, as it is."""
        if self.path is not None:
            with working(f"reading {self.name}"):
                return CMDP.load(self.path)
        parameters = envs.parse(self.name, self.settings)
        with working(f"building {self.name}"):
            return envs.build(self.name, **parameters)

    def _bounds(self, cmdp: CMDP) -> dict[str, float]:
        """A lone number will do for a lone constraint; floors are set likewise."""
        bounds: dict[str, float] = {}
        for word in self.budgets:
            if "=" not in word and cmdp.n_constraints != 1:
                raise ModelError(f"--budget {word}: expected CONSTRAINT=VALUE, as in energy=12")
            name, value = named_value("--budget", word)
            label = cmdp.constraint_names[constraint_at(cmdp, name) if "=" in word else 0]
            if label in bounds:
                raise ModelError(f"--budget {word}: {label!r} is given twice")
            bounds[label] = value
        return bounds


def whole_model(option: str, word: str, budgets: Sequence[str] = ()) -> CMDP:
    """The model that an option names, which must need no further words.

    Parameters
    ----------
    option : str
        For the error.
    word : str
        Of the catalogue, or a file of ours.
    budgets : sequence of str
        As for `Source`.
    """
    source = Source.of(word, budgets=budgets)
    if source.is_gym or source.is_drn:
        raise ModelError(
            f"{option} {word}: does not say its horizon; tightrope convert makes a model file of it"
        )
    return source.load()
