"""The environments of the catalogue: what each is called, decides, and comes from."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from tightrope.envs.cliff import cliff
from tightrope.envs.dosing import dosing
from tightrope.envs.grid import grid
from tightrope.envs.inventory import inventory
from tightrope.envs.maintenance import maintenance
from tightrope.envs.marsrover import marsrover
from tightrope.envs.perishable import perishable
from tightrope.envs.queue import queue
from tightrope.envs.random import random_cmdp
from tightrope.envs.ring import ring, ring_uniform
from tightrope.envs.riverswim import riverswim
from tightrope.envs.streaming import media, streaming
from tightrope.envs.upac_random import upac_random
from tightrope.model import CMDP


@dataclass(frozen=True)
class Entry:
    """An environment of the catalogue.

    Parameters
    ----------
    name : str
        What it is called.
    builder : callable
        Function that makes the `CMDP`; every parameter has a default.
    summary : str
        What one decides, in a line.
    constraint : str
        What the constraints mean, in words.
    source : str
        Where it comes from: a reference, or ``"tightrope"``.
    units : str
        What cost (or reward) and constraints are counted in.
    """

    name: str
    builder: Callable[..., CMDP]
    summary: str
    constraint: str
    source: str
    units: str

    @property
    def defaults(self) -> Mapping[str, Any]:
        """The builder's parameters and their default values."""
        return {
            name: parameter.default
            for name, parameter in inspect.signature(self.builder).parameters.items()
        }


OURS = "tightrope"
DOPE = "Bura et al. 2022 (DOPE)"
ALWAYS_SAFE = "Simao et al. 2021 (AlwaysSafe)"

ENTRIES = (
    Entry(
        "grid",
        grid,
        "which way to walk on a slippery map with hazards",
        "few steps on hazardous ground",
        OURS,
        "steps; steps on each kind of hazard",
    ),
    Entry(
        "riverswim",
        riverswim,
        "when to swim against the current for the far bank",
        "few strokes",
        "Strehl and Littman 2008; Osband et al. 2013; the budget is ours",
        "reward; strokes",
    ),
    Entry(
        "queue",
        queue,
        "whom to admit to a queue and how fast to serve",
        "few refusals, and little energy for fast service",
        "after Altman 1999",
        "job-slots of waiting; refused jobs, energy",
    ),
    Entry(
        "perishable",
        perishable,
        "how much to order of goods that go off",
        "few units thrown away",
        OURS,
        "money; units wasted",
    ),
    Entry(
        "maintenance",
        maintenance,
        "when to service a machine, and how to mend it",
        "few shifts of downtime",
        OURS,
        "money; shifts of downtime",
    ),
    Entry(
        "dosing",
        dosing,
        "how strong a dose to give each week",
        "few weeks of severe toxicity",
        OURS,
        "weeks of full tumour burden; weeks of severe toxicity",
    ),
    Entry(
        "random",
        random_cmdp,
        "anything: sparse random kernels and costs of any size",
        "budgets as tight as wanted",
        OURS,
        "cost; constraint cost",
    ),
    Entry(
        "media",
        media,
        "which server fills a playback buffer",
        "few uses of the fast server",
        f"{DOPE}, media control",
        "reward; uses of the fast server",
    ),
    Entry(
        "ring",
        ring,
        "whether to move on around three states",
        "few moves",
        "Zheng and Ratliff 2020; Bura et al. 2022",
        "reward; moves",
    ),
    Entry(
        "inventory",
        inventory,
        "how much to order",
        "little money for ordering and holding",
        DOPE,
        "sales in days of mean demand; dearest days",
    ),
    Entry(
        "ring-uniform",
        ring_uniform,
        "whether to move on around three states, entered anywhere",
        "few moves",
        f"{ALWAYS_SAFE}, simple",
        "reward; moves",
    ),
    Entry(
        "cliff",
        cliff,
        "how close to the edge to walk",
        "little closeness to the edge",
        f"{ALWAYS_SAFE}, cliff with costs",
        "reward; row numbers",
    ),
    Entry(
        "marsrover",
        marsrover,
        "which way to drive between pits",
        "seldom in a pit",
        "Brantley et al. 2020 (ConRL)",
        "reward; cost of pits",
    ),
    Entry(
        "streaming",
        streaming,
        "which server fills a playback buffer",
        "the slow server is used often enough",
        "Kitamura et al. 2025",
        "reward; uses of the slow server",
    ),
    Entry(
        "upac-random",
        upac_random,
        "a published random instance",
        "enough utility, which is one minus the reward",
        "Kitamura et al. 2024",
        "reward; utility",
    ),
)
