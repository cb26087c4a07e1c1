"""The learners. A learner is one class in one file; this list is where it is registered.

Name lookup, compiled dispatch, specs, the command line, documentation tables and the contract tests
derive from `LEARNERS`. Other packages register learners through the entry-point group
``tightrope.learners``; a class can also be named as ``package.module:Class``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from importlib.metadata import entry_points
from operator import attrgetter
from typing import Any

from tightrope.errors import ConfigError, describe
from tightrope.learners.base import Learner
from tightrope.learners.dope import DOPE
from tightrope.learners.opt_cmdp import OptCMDP
from tightrope.learners.opt_cmdp_bonus import OptCMDPBonus
from tightrope.learners.opt_cmdp_lp import OptCMDPBonusLP, OptCMDPLP
from tightrope.learners.opt_dual import OptDual
from tightrope.learners.opt_dual_bonus import OptDualBonus
from tightrope.learners.opt_pess_lp import OptPessLP
from tightrope.learners.opt_primal_dual import OptPrimalDual
from tightrope.learners.psrl import PSRL
from tightrope.learners.python_learner import PythonLearner
from tightrope.learners.references import CertaintyEquivalence, Optimal, Unconstrained, Uniform
from tightrope.learners.safe import Safe, SafeOptCMDP, SafeOptCMDPBonus, SafeOptDual
from tightrope.learners.triple_q import TripleQ
from tightrope.learners.uopt_rpgpd import UOptRPGPD
from tightrope.text import guess, listed

__all__ = [
    "DOPE",
    "LEARNERS",
    "PAPER",
    "PSRL",
    "CertaintyEquivalence",
    "Learner",
    "OptCMDP",
    "OptCMDPBonus",
    "OptCMDPBonusLP",
    "OptCMDPLP",
    "OptDual",
    "OptDualBonus",
    "OptPessLP",
    "OptPrimalDual",
    "Optimal",
    "PythonLearner",
    "Safe",
    "SafeOptCMDP",
    "SafeOptCMDPBonus",
    "SafeOptDual",
    "TripleQ",
    "UOptRPGPD",
    "Unconstrained",
    "Uniform",
    "as_learner",
    "find_learner",
    "learner_by_lp",
    "learner_key",
    "learner_names",
]


def __dir__() -> list[str]:
    return sorted(__all__)


#: Classes of all learners by name.
LEARNERS: dict[str, type[Learner]] = {
    learner.name: learner
    for learner in (
        OptCMDP,
        OptCMDPBonus,
        OptDual,
        OptPrimalDual,
        OptCMDPLP,
        OptCMDPBonusLP,
        OptDualBonus,
        UOptRPGPD,
        PSRL,
        TripleQ,
        SafeOptCMDP,
        SafeOptCMDPBonus,
        SafeOptDual,
        DOPE,
        OptPessLP,
        Uniform,
        Optimal,
        Unconstrained,
        CertaintyEquivalence,
    )
}
#: Names of the algorithms of the paper.
PAPER = [name for name, learner in LEARNERS.items() if learner.group == "paper"]
GROUP = "tightrope.learners"


def find_learner(name: str, may_import: bool = True) -> type[Learner]:
    """The class of a learner by its name or as ``package.module:Class``, or a `ConfigError`.

    Parameters
    ----------
    name : str
        Name or ``package.module:Class``.
    may_import : bool
        Whether a module may be imported for it; else it must have been.

    Returns
    -------
    type
        The class.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learners.find_learner("OptCMDP")
    <class 'tightrope.learners.opt_cmdp.OptCMDP'>
    """
    if isinstance(name, str) and name in LEARNERS:
        return LEARNERS[name]
    if isinstance(name, str) and ":" in name:
        return _import_learner(name, may_import)
    found = {each.name: each for each in entry_points(group=GROUP)}
    if isinstance(name, str) and name in found:
        return _load_learner(name, found[name].load)
    known = [*LEARNERS, *found]
    raise ConfigError.about(
        "algorithm", found=name, more=f" is none of {', '.join(known)}{guess(name, known)}"
    )


def as_learner(given: str | Learner, options: dict[str, Any] | None = None) -> Learner:
    """A learner from its name and options, or itself.

    Parameters
    ----------
    given : str or Learner
        The name, or the learner itself.
    options : dict of str to value, optional
        Options by name; only with a name.

    Returns
    -------
    Learner
        The learner.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learners.as_learner("OptCMDP", {"tolerance": 1e-6})
    OptCMDP(tolerance=1e-06)
    """
    if isinstance(given, Learner):
        if options:
            more = f"give options to {type(given).__name__}(...)"
            raise ConfigError.about(next(iter(options)), more=more)
        return given
    refuse_class("algorithm", given)
    return find_learner(given).from_options(options or {})


def learner_names(word: str, n_constraints: int | None = None) -> list[str]:
    """Names of the learners that a word stands for.

    Parameters
    ----------
    word : str
        ``"all"`` for the learners of the paper; ``"every"`` for all except those that only repeat
        the plans of another by linear programs; any other word stands for itself.
    n_constraints : int, optional
        Number of constraints that ``"every"`` learner must take; any by default.

    Returns
    -------
    list of str
        The names.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learners.learner_names("all")
    ['OptCMDP', 'OptCMDP-bonus', 'OptDual', 'OptPrimalDual']
    """
    if word == "all":
        return list(PAPER)
    if word != "every":
        return [word]
    return [
        name
        for name, kind in LEARNERS.items()
        if not kind.plans_as
        and (n_constraints is None or kind.n_constraints in (None, n_constraints))
    ]


def learner_by_lp(kind: type[Learner]) -> type[Learner]:
    """The learner that makes the same plans by linear programs, or a `ConfigError`.

    Parameters
    ----------
    kind : type
        A class of learners; one that plans by linear programs stands for itself.

    Returns
    -------
    type
        The class.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learners.learner_by_lp(tr.learners.OptCMDPBonus).name
    'OptCMDP-bonus-lp'
    """
    found = {each.plans_as: each for each in LEARNERS.values() if each.plans_as}
    if kind in found.values():
        return kind
    if kind.name not in found or LEARNERS[kind.name] is not kind:
        shown = f"'lp' is for {listed(list(found))}, not for {kind.name}"
        raise ConfigError.about("method", found="lp", shown=shown)
    return found[kind.name]


def refuse_class(argument: str, given: Any) -> None:
    """Raise where a class was given in place of a learner.

    Parameters
    ----------
    argument : str
        Name of the argument, for the error.
    given : object
    """
    if isinstance(given, type) and issubclass(given, Learner):
        name = given.__name__
        raise ConfigError.about(
            argument, shown=f"{name} is a class", expected=f"a learner such as {name}()"
        )


def learner_key(learner: Learner) -> str:
    """The name by which `find_learner` finds the class of a learner.

    Parameters
    ----------
    learner : Learner
        The learner.

    Returns
    -------
    str
        The name.

    Examples
    --------
    >>> import tightrope as tr
    >>> tr.learners.learner_key(tr.learners.OptDual(rho=2.0))
    'OptDual'
    """
    kind = type(learner)
    if LEARNERS.get(kind.name) is kind:
        return kind.name
    return f"{kind.__module__}:{kind.__qualname__}"


def _import_learner(name: str, may_import: bool) -> type[Learner]:
    module, _, attribute = name.partition(":")
    if not may_import and module not in sys.modules:
        raise ConfigError.about(
            "algorithm",
            found=name,
            shown=f"{name!r} is not loaded",
            more=f"; import {module} first",
        )
    return _load_learner(name, lambda: attrgetter(attribute)(import_module(module)))


def _load_learner(name: str, load: Callable[[], Any]) -> type[Learner]:
    try:
        found = load()
    except (ImportError, AttributeError, ValueError) as error:
        raise ConfigError.about(
            "algorithm", more=f"{name!r} cannot be imported: {error}"
        ) from error
    if not isinstance(found, type) or not issubclass(found, Learner):
        raise ConfigError.about(
            "algorithm", shown=f"{name!r} is {describe(found)}", expected="a subclass of Learner"
        )
    return found
