"""What words say of learners: who they are, which radii they use, which bound on multipliers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tightrope.belief.confidence import NAMED, Confidence, as_confidence
from tightrope.errors import ModelError
from tightrope.learners.algorithms import LEARNERS, Learner, learner_named
from tightrope.run.setting import RHO_RULES
from tightrope.text import guess


def learners_of(words: Sequence[str]) -> list[Learner]:
    """The learners that words mean, each once; ``all`` means the four of the paper."""
    chosen = {
        name: learner_named(name)
        for word in words
        for name in (LEARNERS if word == "all" else [word])
    }
    return list(chosen.values())


def confidence_of(words: Sequence[str]) -> Confidence:
    """A confidence from words: a name, and options such as ``scale=0.1`` that change it."""
    options: dict[str, Any] = {}
    for word in words:
        key, equals, text = (part.strip() for part in word.partition("="))
        if not equals and key not in NAMED:
            known = " or ".join(map(repr, NAMED))
            raise ModelError(
                f"--confidence {word}: expected {known} or KEY=VALUE, as in scale=0.1"
                f"{guess(key, NAMED)}"
            )
        key, value = (key.replace("-", "_"), _plain(text)) if equals else ("mode", key)
        if key in options:
            raise ModelError(f"--confidence {word}: {key!r} is given twice")
        options[key] = value
    return as_confidence(options)


def _plain(text: str) -> bool | float | str:
    """A truth value, a number, or the text itself."""
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    try:
        return float(text)
    except ValueError:
        return text


def rho_of(word: str) -> float | str:
    """A bound on the multipliers: the name of a rule, or a positive number."""
    if word in RHO_RULES:
        return word
    rules = ", ".join(RHO_RULES)
    try:
        value = float(word)
    except ValueError:
        raise ModelError(
            f"--rho {word}: expected a number or a rule: {rules}{guess(word, RHO_RULES)}"
        ) from None
    if not (np.isfinite(value) and value > 0):
        raise ModelError(f"--rho {word}: expected a positive number, or a rule: {rules}")
    return value
