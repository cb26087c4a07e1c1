"""Arguments of experiments as fields of specs, and specs as models."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from os import PathLike
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

import numpy as np

from tightrope import envs
from tightrope.arrays import as_seed
from tightrope.belief.counts import new_counts
from tightrope.errors import ConfigError, ModelError, StoreError
from tightrope.experiments.gym_fields import GYM, gym_runs, is_gym
from tightrope.experiments.spec import RunSpec
from tightrope.files import make_folder, put
from tightrope.learners import Learner, learner_key, refuse_class
from tightrope.learners.oracle import Oracle
from tightrope.model import CMDP
from tightrope.model.cmdp import as_cmdp
from tightrope.model.files import contents_of
from tightrope.model.start import LEARNED, extend_model
from tightrope.model.task import simulated_task

Models = dict[str, bytes]  # contents of model files by their hashes
REMEMBERED = 4  # models that a process keeps
built: OrderedDict[str, CMDP] = OrderedDict()  # by problem, the most recently used last
building = Lock()  # workers may be threads


def content_hash(content: bytes) -> str:
    """Return the hash by which a spec names the content of a model file."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def model_of(spec: RunSpec, content: bytes = b"") -> CMDP:
    """Return the model of a spec under its budgets, from the content of its model file if any.

    A process caches the models that it used last.
    """
    if spec.model and content_hash(content) != spec.model:
        raise ConfigError(
            f"{spec.environment}: its content differs from that of the spec",
            argument=spec.environment,
        )
    if spec.is_gym:
        raise ConfigError(
            f"{spec.environment}: an environment of Gymnasium, which has no model",
            argument=spec.environment,
        )
    key = spec.problem_id
    with building:
        if key not in built:
            built[key] = _build(spec, content)
        built.move_to_end(key)
        if len(built) > REMEMBERED:
            built.popitem(last=False)
        return built[key]


def simulated_model(spec: RunSpec, content: bytes) -> CMDP:
    """Return the model that a spec simulates: with a stage before the start, if it is learned."""
    cmdp = model_of(spec, content)
    return extend_model(cmdp) if spec.initial == LEARNED else cmdp


def _build(spec: RunSpec, content: bytes) -> CMDP:
    if spec.model:
        cmdp = CMDP.from_draft(*contents_of(Path(spec.environment), content))
    else:
        cmdp = as_cmdp(envs.build(spec.environment, **spec.parameters))
    return cmdp.with_budget(spec.budget)


def read_oracle(path: Path, cmdp: CMDP) -> bytes:
    """Return the content of a problem's oracle file, computed if it is missing or corrupt."""
    try:
        content = path.read_bytes()
        Oracle(cmdp, content)
    except (OSError, StoreError):
        content = Oracle(cmdp).to_bytes()
        make_folder(path.parent)
        put(path, content)
    return content


def add_problem(problem: Any, name: str, models: Models) -> dict[str, Any]:
    """Return the spec fields of a model, a model file or a name of the catalog.

    The content of a model goes into ``models``; ``name`` is the name of a `CMDP`.
    """
    if isinstance(problem, CMDP):
        with TemporaryDirectory() as folder:
            path = Path(folder) / "model.npz"
            problem.save(path)
            return _add_content(f"{name}.npz", path.read_bytes(), models)
    if callable(problem):
        return {"environment": GYM + _function_key(problem)}
    if isinstance(problem, str) and not is_file(problem):
        return {"environment": problem}
    if not isinstance(problem, (str, PathLike)):
        raise ConfigError.about(
            "problem",
            found=problem,
            expected="a CMDP, a model file, a catalog name, gym:ID or a function that makes a "
            "Gymnasium environment",
        )
    path = Path(problem)
    if path.suffix.lower() == ".drn":
        raise ConfigError(
            f"{path}: an experiment needs a .npz or .toml file; convert it first (read_drn)",
            argument=str(path),
            found=path.suffix,
            expected="a .npz or .toml file",
        )
    CMDP.load(path)  # rejects a file that is not a model
    return _add_content(path.name, path.read_bytes(), models)


def _function_key(function: Any) -> str:
    """Return the name by which a worker imports a function."""
    module, name = getattr(function, "__module__", ""), getattr(function, "__qualname__", "")
    if not (module and name.isidentifier()):
        raise ConfigError.about(
            "problem", found=function, expected="a function of a module, which workers can import"
        )
    return f"{module}:{name}"


def _add_content(name: str, content: bytes, models: Models) -> dict[str, Any]:
    models[content_hash(content)] = content
    return {"environment": name, "model": content_hash(content)}


def split_models(table: Mapping[str, Any], base: Path, models: Models) -> Iterator[dict[str, Any]]:
    """Yield a table per model file among the environments, then one for all the others."""
    given = table.get("environment")
    words = given if isinstance(given, list) else [given]
    files = [word for word in words if isinstance(word, str) and is_file(word)]
    for file in files:
        yield {**table, **add_problem(base / file, "", models)}
    named = [word for word in words if word not in files]
    if named or not files:
        yield {**table, "environment": named if isinstance(given, list) else given}


def is_file(word: str) -> bool:
    """Whether text is the path of a model file rather than a name of the catalog."""
    path = Path(word)
    if is_gym(word):
        return False
    if path.suffix or path.name != word:
        return True
    try:
        return word not in envs.names() and path.is_file()
    except OSError:  # not a valid file name
        return False


def group_by_problem(specs: Iterable[RunSpec]) -> Iterator[RunSpec]:
    """Return the specs grouped by problem, so that few models are needed at a time."""
    groups: dict[str, list[RunSpec]] = {}
    for spec in specs:
        groups.setdefault(spec.problem_id, []).append(spec)
    return chain.from_iterable(groups.values())


def check_specs(specs: Iterable[RunSpec], models: Models, where: str) -> None:
    """Raise for specs with which no run could start, before anything is written."""
    for spec in group_by_problem({spec.group: spec for spec in specs}.values()):
        try:
            if spec.is_gym:
                gym_runs().check_spec(spec)
                continue
            cmdp = simulated_model(spec, models.get(spec.model, b""))
            new_counts(simulated_task(cmdp, 1, spec.delta), spec.confidence)
        except ModelError as error:
            raise error.with_message(f"{where}: {error}") from error


def drop_misfits(
    specs: Iterable[RunSpec], models: Models, tables: Iterable[Mapping[str, Any]]
) -> list[RunSpec]:
    """Return the specs without learners that cannot have the constraints of their model.

    Those that the tables of the specs name stay; the word ``every`` does not name them.
    """
    words = [each["algorithm"] for each in tables]
    named = {word for each in words for word in ([each] if isinstance(each, str) else each)}
    sizes: dict[str, int] = {}  # numbers of constraints, by problem
    found = []
    for spec in specs:
        needed = spec.learner.n_constraints
        if needed is not None and not spec.is_gym and learner_key(spec.learner) not in named:
            if spec.problem_id not in sizes:
                cmdp = model_of(spec, models.get(spec.model, b""))
                sizes[spec.problem_id] = cmdp.n_constraints
            if sizes[spec.problem_id] != needed:
                continue
        found.append(spec)
    return found


def learner_fields(
    learners: str | Learner | Sequence[str | Learner], options: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Return the spec fields of learners: a table for all names, and one per learner object.

    ``options`` are further fields of all; a learner object has its own options.
    """
    refuse_class("learners", learners)
    given = [learners] if isinstance(learners, str | Learner) else list(learners)
    for each in given:
        refuse_class("learners", each)
        if not isinstance(each, str | Learner):
            raise ConfigError.about("learners", found=each, expected="a learner or its name")
    names = [each for each in given if isinstance(each, str)]
    tables: list[dict[str, Any]] = [{"algorithm": names}] if names or not given else []
    for each in given:
        if isinstance(each, Learner):
            for name in each.options:
                if name in options:
                    more = f"also an option of {learner_key(each)}"
                    raise ConfigError.about(name, where="add", more=more)
            tables.append({"algorithm": learner_key(each), "options": each.options})
    return [{**table, **options} for table in tables]


def seeds_as_list(seeds: Any) -> Any:
    """Return seeds as `seeds_of` reads them: a number, ranges, or a list of these."""
    if seeds is None or isinstance(seeds, np.random.SeedSequence):
        return [as_seed("seeds", seeds)]
    given = as_list(seeds)
    if not isinstance(given, list):
        return given
    is_other = (np.random.SeedSequence, type(None))
    return [as_seed("seeds", each) if isinstance(each, is_other) else each for each in given]


def as_list(values: Any) -> Any:
    """Return an iterable of values as a list, and a number or text unchanged."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        return values
    return list(values)
