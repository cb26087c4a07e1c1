"""Gymnasium (optional): CMDPs as environments, models from environments, learning in them.

All names here load without Gymnasium and raise a `DependencyError` that says how to install it when
they are used. `tightrope.interop.gymnasium` needs it, and registers the catalog when it is
imported.
"""

from __future__ import annotations

from typing import Any

from tightrope.errors import ConfigError, DependencyError, ModelError
from tightrope.model import CMDP
from tightrope.model.cmdp import as_cmdp


def require_gymnasium() -> Any:
    """Return the `gymnasium` package, or raise a `DependencyError` if it is not installed."""
    try:
        import gymnasium
    except ImportError as error:
        raise DependencyError("Gymnasium is not installed; pip install 'tightrope[gym]'") from error
    return gymnasium


def make_env(env: Any, **parameters: Any) -> Any:
    """Return the environment itself, or the one that `gymnasium.make` makes from an id.

    Raises
    ------
    ModelError
        If there is no such environment, or it rejects the parameters.
    """
    gym = require_gymnasium()
    if isinstance(env, gym.Env):
        if parameters:
            name = next(iter(parameters))
            raise ConfigError.about(name, more="given, but the environment is made already")
        return env
    if not isinstance(env, str):
        raise ConfigError.about(
            "env", shown=type(env).__name__, expected="a Gymnasium environment or its id"
        )
    if env.startswith("tightrope/"):
        from tightrope.interop.gymnasium import register

        register()
    try:
        return gym.make(env, **parameters)
    except Exception as error:  # an environment may raise anything
        why = f"unknown {error}" if isinstance(error, KeyError) else error
        raise ModelError(f"{env}: Gymnasium cannot make it: {why}") from error


def to_gymnasium(
    cmdp: CMDP | str, render_mode: str | None = None, num_envs: int | None = None
) -> Any:
    """Return a Gymnasium environment that simulates a model.

    A step gives the reward ``1 - cost`` and ``info["cost"]``, drawn with the model's noise and
    scaled to [0, 1] whatever the units of the model; an episode is truncated after the horizon. The
    ids ``tightrope/NAME-v0`` are the catalog's.

    Parameters
    ----------
    cmdp : CMDP or str
        The model, or its name in the catalog.
    render_mode : {"ansi", "rgb_array"}, optional
        Result of ``render``: text, or for a grid world an image.
    num_envs : int, optional
        Number of copies of a vector environment.

    Returns
    -------
    gymnasium.Env or gymnasium.vector.VectorEnv

    Examples
    --------
    >>> import tightrope as tr
    >>> env = tr.to_gymnasium("ring")
    >>> state, info = env.reset(seed=0)
    >>> state, reward, terminated, truncated, info = env.step(0)
    >>> int(state), terminated, truncated
    (0, False, False)
    """
    require_gymnasium()
    cmdp = as_cmdp(cmdp)
    from tightrope.interop.gym.environment import CMDPEnv, CMDPVectorEnv

    if num_envs is None:
        return CMDPEnv(cmdp, render_mode)
    return CMDPVectorEnv(cmdp, num_envs, render_mode)
