"""The engine that words ask for."""

from __future__ import annotations

from tightrope.arrays import whole
from tightrope.errors import ModelError
from tightrope.run.engines.engine import Engine
from tightrope.text import guess

ENGINES = ("processes", "here", "dask", "ray")
MOST_WORKERS = 1024


def engine_named(name: str, address: str | None = None, workers: int | None = None) -> Engine:
    """An engine by its name; what it needs is loaded now.

    Parameters
    ----------
    name : str
        One of `ENGINES`.
    address : str, optional
        Of the cluster, for Dask and Ray.
    workers : int, optional
        How many processes; as many as this process may use by default.
    """
    if name not in ENGINES:
        known = ", ".join(ENGINES)
        raise ModelError(f"engine: {name!r}, expected one of {known}{guess(name, ENGINES)}")
    is_cluster = name in ("dask", "ray")
    if is_cluster and address is None:
        raise ModelError(f"engine {name}: an address is needed, of a cluster that is running")
    if not is_cluster and address is not None:
        raise ModelError(f"address: {address!r} is for the engines dask and ray, not for {name}")
    if workers is not None:
        whole("workers", workers, most=MOST_WORKERS)
        if name != "processes":
            raise ModelError(f"workers: {workers} is for the engine processes, not for {name}")
    if name == "processes":
        from tightrope.run.engines.processes import Processes

        return Processes(workers)
    if name == "here":
        from tightrope.run.engines.here import Here

        return Here()
    assert address is not None
    if name == "dask":
        from tightrope.run.engines.dask import Dask

        return Dask(address)
    from tightrope.run.engines.ray import Ray

    return Ray(address)
