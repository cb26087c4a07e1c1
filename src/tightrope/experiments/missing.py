"""MissingLearner: the learner of a stored run whose class can no longer be loaded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from tightrope.belief.confidence import Confidence
from tightrope.belief.none import NoBelief
from tightrope.belief.sets import SetBelief
from tightrope.learners import Learner, learner_key


@dataclass(frozen=True, kw_only=True)
class MissingLearner(Learner):
    """Placeholder for a learner that cannot be loaded, so that its runs can be read.

    Parameters
    ----------
    name : str
        Name by which its class was found, ``package.module:Class`` or that of an entry point.
    belief : type
        `NoBelief`, or `SetBelief` for any learner that had beliefs.
    stored : dict
        Its options, unchecked.
    run : str
        Id of the run. It cannot be computed: it depends on the defaults of the options.
    steps : tuple of str
        Changed steps in words.
    """

    name: str = ""  # type: ignore[misc]
    belief: Any = NoBelief  # type: ignore[misc]
    stored: dict[str, Any] = field(default_factory=dict)
    run: str = ""
    steps: tuple[str, ...] = ()

    @classmethod
    def option_fields(cls) -> list[Any]:
        """Return no fields: its options are unknown."""
        return []

    @property
    def options(self) -> dict[str, Any]:
        """The stored options by name."""
        return self.stored

    @property
    def changed_steps(self) -> list[str]:
        """Changed steps in words."""
        return list(self.steps)

    def as_run(
        self, options: Mapping[str, Any], confidence: Confidence, words: str
    ) -> MissingLearner:
        """Return the learner of a finished run.

        Parameters
        ----------
        options : mapping
            Options that the run began with.
        confidence : Confidence
            Of the run.
        words : str
            Its confidence and changed steps as its record has them; empty without beliefs.
        """
        belief = SetBelief if words else NoBelief
        steps = words.removeprefix(confidence.words).removeprefix(", ")
        found = tuple(steps.split(", ")) if steps else ()
        return replace(self, stored=dict(options), belief=belief, steps=found)


def key_of(learner: Learner) -> str:
    """Return the name by which the class of a learner is, or was, found."""
    return learner.name if isinstance(learner, MissingLearner) else learner_key(learner)
