"""Confidence: which radii a learner uses, and by which factors they were changed.

``"faithful"`` is the paper with its errata, ``"tight"`` changes constants that provably keep the
guarantees (docs/theory/confidence), and a table sets anything by name. With a factor below 1 the
guarantees no longer hold, and the confidence is marked as heuristic.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Literal

from tightrope.arrays import check_choice, check_table, factor, flag
from tightrope.errors import ConfigError
from tightrope.text import guess

Transition = Literal["bernstein", "kl", "l1", "bernstein+l1", "kl+l1"]
LARGEST_FACTOR = 1e100  # beyond, radii overflow and forbidden actions look as good as any
TRANSITIONS = ("bernstein", "kl", "l1", "bernstein+l1", "kl+l1")


@dataclass(frozen=True)
class Confidence:
    """Options of the confidence sets; the defaults are the paper's.

    Parameters
    ----------
    transition : {"bernstein", "kl", "l1", "bernstein+l1", "kl+l1"}
        Set of kernels: a box by Bernstein or by Bernoulli-KL, an L1 ball, or a box
        and the ball together. Bonus-based learners have no set; their widths are Bernstein's.
    tight_costs : bool
        Hoeffding's own radius for costs, half the paper's.
    clip : bool
        Cut optimistic costs off at zero; the transition part of a bonus stays.
    tight_bonus : bool
        Bonus from the L1 distance and the remaining stages.
    replan : {"always", "doubling"}
        Plan every episode, or when some pair's visits have doubled.
    pool : bool
        Count over all stages together what does not depend on the stage.
    known_costs : bool
        Costs and constraint costs are known.
    known_support : bool
        Which successors are possible is known.
    any_time : bool
        Radii without the number of episodes in them.
    kl_costs : bool
        Bounds on mean costs by Bernoulli-KL in place of Hoeffding's radius.
    mixture : bool
        Radii that hold for all numbers of visits at once, by a mixture in place of a union bound;
        KL bounds, L1 balls and tight costs only. They do not depend on the number of episodes.
    scale : float
        Factor on the radii of costs and of transitions, unless one of the next two is given.
    scale_cost : float, optional
        Factor on the radii of costs.
    scale_transition : float, optional
        Factor on the radii of transitions.
    scale_bonus : float
        Factor on the whole bonus.

    Examples
    --------
    >>> import tightrope as tr
    >>> options = tr.Confidence(transition="kl", scale=0.1)
    >>> options.is_heuristic
    True
    >>> tr.learn("ring", "OptCMDP", episodes=20, confidence=options).is_heuristic
    True
    """

    transition: Transition = "bernstein"
    tight_costs: bool = False
    clip: bool = False
    tight_bonus: bool = False
    replan: Literal["always", "doubling"] = "always"
    pool: bool = False
    known_costs: bool = False
    known_support: bool = False
    any_time: bool = False
    kl_costs: bool = False
    mixture: bool = False
    scale: float = 1.0
    scale_cost: float | None = None
    scale_transition: float | None = None
    scale_bonus: float = 1.0

    @property
    def cost_factor(self) -> float:
        """Factor on the radii of costs."""
        return self.scale if self.scale_cost is None else self.scale_cost

    @property
    def transition_factor(self) -> float:
        """Factor on the radii of transitions."""
        return self.scale if self.scale_transition is None else self.scale_transition

    def without_radii(self) -> Confidence:
        """The same options with all radii and bonuses zero.

        Examples
        --------
        >>> import tightrope as tr
        >>> tr.Confidence(scale=0.5).without_radii().scale
        0.0
        """
        return replace(self, scale=0.0, scale_cost=None, scale_transition=None, scale_bonus=0.0)

    @property
    def is_heuristic(self) -> bool:
        """Whether some factor is below 1, so that coverage is no longer guaranteed."""
        return min(self.cost_factor, self.transition_factor, self.scale_bonus) < 1

    @property
    def words(self) -> str:
        """The confidence in a few words, for tables and figures."""
        changes = {
            name: [
                f"{field.name}={getattr(self, field.name)}"
                for field in fields(self)
                if getattr(self, field.name) != getattr(base, field.name)
            ]
            for name, base in NAMED.items()
        }
        nearest = min(changes, key=lambda name: len(changes[name]))
        mark = " (heuristic)" if self.is_heuristic else ""
        return ", ".join((nearest, *changes[nearest])) + mark


NAMED = {
    "faithful": Confidence(),
    "tight": Confidence(transition="kl", tight_costs=True, clip=True, tight_bonus=True),
}


def as_confidence(value: Any) -> Confidence:
    """A confidence from its name, a table of options, or itself.

    Parameters
    ----------
    value : str, mapping or Confidence
        A table may start from a named confidence with the key ``mode``.
    """
    if isinstance(value, Confidence):
        return _checked(value)
    if isinstance(value, str):
        return _named(value)
    if not isinstance(value, Mapping):
        raise ConfigError.about("confidence", found=value, expected="a name or a table of options")
    options = check_table("confidence", value)
    base = _named(options.pop("mode", "faithful"))
    known = ["mode", *(field.name for field in fields(Confidence))]
    for key in options:
        if key not in known:
            hint = guess(key, known) or f"; options: {', '.join(known)}"
            raise ConfigError.about(
                "confidence", found=key, shown=f"unknown option {key!r}", more=hint
            )
    return _checked(replace(base, **options))


def _named(name: Any) -> Confidence:
    if not isinstance(name, str) or name not in NAMED:
        raise ConfigError.about(
            "confidence",
            found=name,
            expected=f"{' or '.join(map(repr, NAMED))} or a table of options",
            more=guess(name, NAMED),
        )
    return NAMED[name]


def _checked(value: Confidence) -> Confidence:
    """The same options as plain Python values, or a `ConfigError`."""
    plain: dict[str, Any] = {}
    for name in ("scale", "scale_cost", "scale_transition", "scale_bonus"):
        is_optional = name in ("scale_cost", "scale_transition")
        if not (is_optional and getattr(value, name) is None):
            given = factor(f"confidence: {name}", getattr(value, name))
            if given > LARGEST_FACTOR:
                raise ConfigError.about(
                    "confidence",
                    shown=f"{name} is {given:g}",
                    expected=f"at most {LARGEST_FACTOR:g}",
                )
            plain[name] = given
    for field in fields(value):
        if isinstance(field.default, bool):
            plain[field.name] = flag(f"confidence: {field.name}", getattr(value, field.name))
    for name, choices in (("transition", TRANSITIONS), ("replan", ("always", "doubling"))):
        plain[name] = check_choice(f"confidence: {name}", getattr(value, name), choices)
    return replace(value, **plain)
