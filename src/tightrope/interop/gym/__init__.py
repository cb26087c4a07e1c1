"""Gymnasium (optional): CMDPs as environments, models from environments, learning in them.

All names here load without Gymnasium and raise a `DependencyError` that says how to install it when
they are used. `tightrope.interop.gymnasium` needs it, and registers the catalog when it is
imported.
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

from tightrope.envs import catalog
from tightrope.errors import ConfigError, DependencyError, ModelError
from tightrope.model import CMDP
from tightrope.model.cmdp import as_cmdp


def require_gymnasium() -> Any:
    """Return the `gymnasium` package, or raise a `DependencyError` if it is not installed."""
    try:
        import gymnasium
    except ImportError as error:
        raise DependencyError(
            "Gymnasium is not installed; pip install 'tightrope[gym]'", argument="gymnasium"
        ) from error
    return gymnasium


def make_env(env: Any, steps: int | None = None, /, **parameters: Any) -> Any:
    """Return an environment: itself, or the one that a function or `gymnasium.make` makes.

    Parameters
    ----------
    env : gymnasium.Env, callable or str
        The environment; a function that makes it; or text: an id, ``"module:id"`` for one that is
        registered when the module is imported, or ``"module:function"``.
    steps : int, optional
        Length of an episode, which time limits of ids are set to.
    **parameters
        Of the environment, unless it is made already.

    Returns
    -------
    gymnasium.Env
        The environment.

    Raises
    ------
    ModelError
        If there is no such environment, or it rejects the parameters.
    """
    gym = require_gymnasium()
    if isinstance(env, gym.Env):
        if parameters:
            name = next(iter(parameters))
            raise ConfigError.about(
                name, found=parameters[name], shown="given, but the environment is made already"
            )
        return env
    word, make = str(env), env if callable(env) else None
    if make is None and not isinstance(env, str):
        raise ConfigError.about(
            "env",
            shown=type(env).__name__,
            expected="a Gymnasium environment, its id, or a function that makes it",
        )
    if word.startswith("tightrope/"):
        from tightrope.interop.gymnasium import register

        register()
    try:
        make = make or _find_function(word)
        if make is not None:
            made = make(**parameters)
        else:
            made = gym.make(word, **_time_limit(word, steps, parameters), **parameters)
    except Exception as error:  # an environment may raise anything
        why = f"unknown {error}" if isinstance(error, KeyError) else error
        name = getattr(make, "__name__", word)
        made_by = "it" if make is not None else "Gymnasium"
        raise ModelError(f"{name}: {made_by} cannot make it: {why}", argument=name) from error
    if not isinstance(made, gym.Env):
        shown = f"{getattr(make, '__name__', word)} gives a {type(made).__name__}"
        raise ModelError.about("env", shown=shown, expected="a Gymnasium environment")
    return made


def _find_function(word: str) -> Any:
    """Return the function that ``"module:function"`` names; None for any other id."""
    module, _, name = word.partition(":")
    if not (name.isidentifier() and all(part.isidentifier() for part in module.split("."))):
        return None
    found = getattr(import_module(module), name, None)
    return found if callable(found) else None


def _time_limit(word: str, steps: int | None, parameters: dict[str, Any]) -> dict[str, int]:
    """Return the parameter that makes episodes so long: of our own environments their horizon."""
    if steps is None or "max_episode_steps" in parameters:
        return {}
    space, _, its_id = word.partition("/")
    name = its_id.rpartition("-v")[0] or its_id
    own = catalog.entry(name) if space == "tightrope" and name in catalog.names() else None
    if own is not None and "horizon" in own.defaults:
        return {} if "horizon" in parameters else {"horizon": steps}
    return {"max_episode_steps": steps}


def to_gymnasium(
    cmdp: CMDP | str, render_mode: str | None = None, num_envs: int | None = None
) -> Any:
    """Return a Gymnasium environment that simulates a model.

    A step gives a reward and ``info["cost"]``, drawn with the model's noise, in the units of the
    model. The reward is that of a model with rewards, and minus the cost of one with costs;
    ``1 - cost`` where costs were given in [0, 1] without a unit. An episode is truncated after the
    horizon. The ids ``tightrope/NAME-v0`` are the catalog's.

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

    A step of at most 60 euros and 8 hours:

    >>> hours = tr.CMDP.from_costs(
    ...     [[[1.0]]], [[15.0]], [[[2.0]]], budget=[6.0], horizon=3, noise="none",
    ...     cost_range=(0, 60), constraint_range=[(0, 8)],
    ... )
    >>> env = tr.to_gymnasium(hours)
    >>> state, info = env.reset(seed=0)
    >>> state, reward, terminated, truncated, info = env.step(0)
    >>> reward, info["cost"]
    (-15.0, 2.0)
    """
    require_gymnasium()
    cmdp = as_cmdp(cmdp)
    from tightrope.interop.gym.environment import CMDPEnv, CMDPVectorEnv

    if num_envs is None:
        return CMDPEnv(cmdp, render_mode)
    return CMDPVectorEnv(cmdp, num_envs, render_mode)
