"""Options of learners on the command line, derived from the fields of the learners.

Learners load when a command that needs them is parsed, not for ``tightrope --help``.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import Parameter, Signature
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand

from tightrope.errors import ConfigError
from tightrope.text import guess

if TYPE_CHECKING:
    from tightrope.learners import Learner

GIVEN = "tightrope.learner_options"
OPTIONS = "Options of learners"
UNGIVEN: tuple[Any, ...] = (None, False, [], ())
TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


class LearnerCommand(TyperCommand):
    """A command with an option for every option of the listed learners that it takes."""

    renamed: ClassVar[frozenset[str]] = frozenset()  # options that have other names in the command

    @staticmethod
    def takes(kind: type[Learner]) -> bool:
        """Whether the command takes learners of a class."""
        return True

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters of the command, including those of the learners."""
        if not hasattr(self, "_own"):
            from tightrope.learners import LEARNERS

            kinds = [kind for kind in LEARNERS.values() if self.takes(kind)]
            self._own = _options(kinds, self.renamed)
            for each in self.params:
                if each.name in ("algorithm", "algorithms"):
                    each.help = f"{each.help} {_names(kinds)}"  # type: ignore[attr-defined]
            self.params = [*self.params, *self._own]
        return list(super().get_params(ctx))

    def invoke(self, ctx: Any) -> Any:
        """Call the function of the command; `given_options` returns the options of learners."""
        given = {each.name: ctx.params.pop(each.name) for each in self._own}
        ctx.meta[GIVEN] = {k: value for k, value in given.items() if value not in UNGIVEN}
        return super().invoke(ctx)


class FitCommand(LearnerCommand):
    """A command for logged episodes: its learners learn, and end with one policy."""

    @staticmethod
    def takes(kind: type[Learner]) -> bool:
        """Whether a learner can be fitted to a log."""
        from tightrope.learners.baseline import BaselineLearner

        return kind.can_learn and not issubclass(kind, BaselineLearner)


class StudyCommand(LearnerCommand):
    """A command for real episodes: its learners learn; ``--safe`` and ``--baseline-use`` are its
    names for options of learners with a baseline.
    """

    renamed: ClassVar[frozenset[str]] = frozenset({"baseline", "bound"})

    @staticmethod
    def takes(kind: type[Learner]) -> bool:
        """Whether a learner learns from real episodes."""
        return kind.can_learn


def _options(kinds: Sequence[type[Learner]], renamed: frozenset[str]) -> list[Any]:
    """Return one option per option of the learners, and one for other packages."""
    users: dict[str, list[str]] = {}
    fields = {}
    for learner in kinds:
        for each in learner.option_fields():
            if each.name in renamed:
                continue
            users.setdefault(each.name, []).append(learner.name)
            fields[each.name] = each
    annotations: dict[str, Any] = {}
    for name, each in fields.items():
        is_flag = each.default is False
        default = "" if is_flag else f" Default: {each.default}."
        annotations[name] = Annotated[
            bool if is_flag else str | None,
            typer.Option(
                f"--{name.replace('_', '-')}",
                metavar="" if is_flag else "VALUE",
                rich_help_panel=OPTIONS,
                help=f"{each.metadata.get('help', '')}{default} For {', '.join(users[name])}.",
                show_default=False,
            ),
        ]
    annotations["own_option"] = Annotated[
        list[str] | None,
        typer.Option(
            "--option",
            metavar="NAME=VALUE",
            rich_help_panel=OPTIONS,
            help="An option of a learner of another package; may be repeated.",
        ),
    ]

    def command() -> None:
        """Do nothing: only the parameters are used."""

    command.__annotations__ = annotations
    command.__signature__ = Signature(  # type: ignore[attr-defined]
        [
            Parameter(
                name,
                Parameter.KEYWORD_ONLY,
                default=False if name in fields and fields[name].default is False else None,
                annotation=annotation,
            )
            for name, annotation in annotations.items()
        ]
    )
    made = typer.Typer(add_completion=False)
    made.command()(command)
    found: Any = typer.main.get_command(made)
    return [each for each in found.params if each.name in annotations]


def _names(kinds: Sequence[type[Learner]]) -> str:
    groups: dict[bool, list[str]] = {True: [], False: []}
    for learner in kinds:
        groups[learner.group == "reference"].append(learner.name)
    return f"Learners: {', '.join(groups[False])}. References: {', '.join(groups[True])}."


def given_options(ctx: typer.Context) -> dict[str, Any]:
    """Return the given options of learners, by name."""
    given = dict(ctx.meta.get(GIVEN, {}))
    for word in given.pop("own_option", ()):
        name, equals, text = (part.strip() for part in word.partition("="))
        if not equals or not name:
            raise ConfigError.about("--option", shown=word, expected="NAME=VALUE")
        given[name.replace("-", "_")] = text
    return {name: plain(each) if isinstance(each, str) else each for name, each in given.items()}


def algorithm_names(words: Sequence[str], n_constraints: int = 1) -> list[str]:
    """Return names of learners without duplicates; see `learner_names` for words for several."""
    from tightrope.learners import find_learner, learner_names

    names = [name for word in words for name in learner_names(word, n_constraints)]
    for name in names:
        find_learner(name)
    return list(dict.fromkeys(names))


def learners_of(names: Sequence[str], given: dict[str, Any], method: str) -> list[Learner]:
    """Return learners by name, each with those of the given options that it has.

    ``method`` is ``"lp"`` if they plan by linear programs.
    """
    from tightrope.arrays import check_choice
    from tightrope.learners import find_learner, learner_by_lp

    kinds = [find_learner(name) for name in names]
    if check_choice("method", method, ("columns", "lp")) == "lp":
        kinds = list(dict.fromkeys(map(learner_by_lp, kinds)))
        names = [kind.name for kind in kinds]
    own = [{each.name for each in kind.option_fields()} for kind in kinds]
    known = set().union(*own)
    for name in given:
        if name not in known:
            more = f"none of {', '.join(names)} has this option{guess(name, known)}"
            raise ConfigError.about(f"--{name.replace('_', '-')}", more=more)
    return [
        kind.from_options({name: value for name, value in given.items() if name in mine})
        for kind, mine in zip(kinds, own, strict=True)
    ]


def confidence_of(words: Sequence[str]) -> Any:
    """Return a confidence from a name and options such as ``scale=0.1``."""
    from tightrope.belief.confidence import NAMED, as_confidence

    options: dict[str, Any] = {}
    for word in words:
        key, equals, text = (part.strip() for part in word.partition("="))
        if not equals and key not in NAMED:
            expected = f"{' or '.join(map(repr, NAMED))} or KEY=VALUE, as in scale=0.1"
            more = guess(key, NAMED)
            raise ConfigError.about("--confidence", shown=word, expected=expected, more=more)
        key, value = (key.replace("-", "_"), plain(text)) if equals else ("mode", key)
        if key in options:
            raise ConfigError.about("--confidence", found=key, more=" is given twice")
        options[key] = value
    return as_confidence(options)


def plain(text: str) -> bool | int | float | str:
    """Return a boolean, a number, or the text itself."""
    if text.lower() in TRUTHS:
        return TRUTHS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text
