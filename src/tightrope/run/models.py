"""From a spec to its model: built by name, or read from the content of a file."""

from __future__ import annotations

import hashlib
from pathlib import Path

from tightrope import envs
from tightrope.errors import ModelError
from tightrope.experiments.spec import RunSpec
from tightrope.model import CMDP
from tightrope.model.files import contents_of
from tightrope.model.units import with_named_budgets


def content_hash(content: bytes) -> str:
    """What a spec calls the content of a model file."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def model_of(spec: RunSpec, content: bytes = b"") -> CMDP:
    """The model that a spec means, under its budgets.

    Parameters
    ----------
    spec : RunSpec
    content : bytes
        Of the model file, where the spec has one.
    """
    if not spec.model:
        return with_named_budgets(envs.build(spec.environment, **spec.parameters), spec.budget)
    if content_hash(content) != spec.model:
        raise ModelError(f"{spec.environment}: its content is not the one that the spec names")
    cmdp = CMDP.from_draft(*contents_of(Path(spec.environment), content))
    return with_named_budgets(cmdp, spec.budget)
