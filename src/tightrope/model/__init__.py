"""Models: a constrained MDP, a plan for it, its units and its map."""

from tightrope.model.cmdp import CMDP
from tightrope.model.layout import Layout
from tightrope.model.lint import Finding
from tightrope.model.plan import Plan
from tightrope.model.units import Unit

__all__ = ["CMDP", "Finding", "Layout", "Plan", "Unit"]
