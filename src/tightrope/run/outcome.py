"""How often a study gives news, and what became of its runs."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Pace:
    """How often there is news.

    Parameters
    ----------
    slice : float
        Seconds that a worker works before it reports.
    snapshot : float
        Seconds between two states of a run on disk.
    """

    slice: float = 1.0
    snapshot: float = 10.0


@dataclass
class Outcome:
    """What became of the runs of a study.

    Parameters
    ----------
    finished : int
        Runs that are done now.
    episodes : int
        Episodes done by this process.
    taken_up : int
        Episodes that earlier processes had done of the runs that this one took up.
    failed : dict of str to str
        Runs that could not be done, and why.
    elsewhere : list of str
        Runs that another process is writing.
    versions : dict of str to str
        Runs that other versions had begun, and what differs: records may differ in last digits.
    """

    finished: int = 0
    episodes: int = 0
    taken_up: int = 0
    failed: dict[str, str] = field(default_factory=dict)
    elsewhere: list[str] = field(default_factory=list)
    versions: dict[str, str] = field(default_factory=dict)
