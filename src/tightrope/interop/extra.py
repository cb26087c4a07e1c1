"""The door to Gymnasium, an optional part: present, or an error that says how to get it."""

from __future__ import annotations

from typing import Any

from tightrope.errors import ModelError


def require_gymnasium() -> Any:
    """The `gymnasium` package, or a `ModelError` that says how to install it."""
    try:
        import gymnasium
    except ImportError as error:
        raise ModelError("Gymnasium is not installed; pip install 'tightrope[gym]'") from error
    return gymnasium


def made(env: Any, **parameters: Any) -> Any:
    """The environment itself, or the one that an id stands for.

    Parameters
    ----------
    env : str or gymnasium.Env
        An id for `gymnasium.make`, or an environment.
    **parameters
        For `gymnasium.make`; an environment takes none.

    Raises
    ------
    ModelError
        When there is no such environment, or it refuses the parameters.
    """
    gym = require_gymnasium()
    if isinstance(env, gym.Env):
        if parameters:
            raise ModelError(
                f"{next(iter(parameters))}: given, but the environment is made already"
            )
        return env
    if not isinstance(env, str):
        raise ModelError(f"env: {type(env).__name__}, expected a Gymnasium environment or its id")
    if env.startswith("tightrope/"):
        from tightrope.interop.registry import register

        register()
    try:
        return gym.make(env, **parameters)
    except Exception as error:  # whatever an environment of somebody else raises
        why = f"unknown {error}" if isinstance(error, KeyError) else error
        raise ModelError(f"{env}: Gymnasium cannot make it: {why}") from error
