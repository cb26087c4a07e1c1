"""Models: constrained MDPs, a plan for one, its units and its map."""

from tightrope.model.base import Model
from tightrope.model.cmdp import CMDP
from tightrope.model.lasting import AverageCMDP, DiscountedCMDP
from tightrope.model.layout import Layout
from tightrope.model.lint import Finding
from tightrope.model.plan import Plan
from tightrope.model.units import Unit

__all__ = [
    "CMDP",
    "AverageCMDP",
    "DiscountedCMDP",
    "Finding",
    "Layout",
    "Model",
    "Plan",
    "Unit",
]
