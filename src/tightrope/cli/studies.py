"""``tightrope run``, ``resume`` and ``export``: studies on disk, from the shell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from signal import SIG_DFL, SIG_IGN, getsignal, signal
from tempfile import TemporaryDirectory
from threading import current_thread, main_thread
from typing import Any, NamedTuple

from tightrope import envs
from tightrope.cli.files import require_folder
from tightrope.cli.progress import READY, Work, working
from tightrope.cli.screen import emit, say
from tightrope.cli.source import DRN, Source
from tightrope.errors import ModelError, StoreError
from tightrope.experiments.job import setting_of
from tightrope.experiments.spec import RunSpec
from tightrope.model import CMDP
from tightrope.run.carry_out import carry_out
from tightrope.run.engines.choose import engine_named
from tightrope.run.engines.engine import EngineError
from tightrope.run.interrupts import TO_END
from tightrope.run.models import content_hash, model_of
from tightrope.run.outcome import Outcome, Pace
from tightrope.run.study import Study
from tightrope.run.sweep import read_sweep, specs_of


class Workers(NamedTuple):
    """Who does the work, and how often its state goes to disk."""

    engine: str = "processes"
    address: str | None = None
    workers: int | None = None
    snapshot: float = 10.0


def run(path: Path, folder: Path | None, workers: Workers, as_json: bool) -> None:
    """Carry out the study that a file describes; by default in a folder of the file's name."""
    table, models = read_sweep(path), dict[str, bytes]()
    specs: dict[str, RunSpec] = {}
    with working(f"planning the runs of {path}"):
        for each in _with_models(table, path.parent, models):
            specs |= {spec.id: spec for spec in specs_of(each, str(path))}
    if folder is None and not path.suffix:
        raise ModelError(f"{path}: its study needs a folder of another name; give --out DIR")
    study = Study(folder or path.with_suffix(""))
    _require_sound([*specs.values()], models, str(path))
    _carry_out(study, workers, as_json, study.add(specs.values(), models))


def learn_into(
    folder: Path, source: Source, table: Mapping[str, Any], workers: Workers, as_json: bool
) -> None:
    """The same for words of the command line: the table lacks only its model."""
    specs, models = specs_in_words(source, table)
    study = Study(folder)
    _require_sound(specs, models, source.word)
    _carry_out(study, workers, as_json, study.add(specs, models))


def specs_in_words(
    source: Source, table: Mapping[str, Any]
) -> tuple[list[RunSpec], dict[str, bytes]]:
    """The runs that words mean, and the contents of the model files among them."""
    models: dict[str, bytes] = {}
    own: dict[str, Any] = {"environment": source.name}
    if source.is_model_file and source.path is not None:
        own |= {"budget": source.bounds(), **_model(source.path, models)}
    elif source.path is not None:  # another tool's file, budgets and all, as a file of ours
        content = _content(source.load())
        models[content_hash(content)] = content
        own |= {"environment": f"{source.name}.npz", "model": content_hash(content)}
    else:
        parameters = envs.parse(source.name, source.settings)
        own |= {
            "budget": source.bounds(),
            "parameters": {name: [value] for name, value in parameters.items()},
        }
    with working(f"planning the runs on {source.name}"):
        return specs_of({**table, **own}, "learn"), models


def resume(folder: Path, workers: Workers, as_json: bool) -> None:
    """Go on with a study where it stopped."""
    study = Study(folder)
    study.specs()  # says so when there is none
    _carry_out(study, workers, as_json, 0)


def export(folder: Path, out: Path | None, as_json: bool) -> None:
    """Write the records of all finished runs as one CSV file."""
    from tightrope.store.records import write_csv

    study = Study(folder)
    finished = study.finished()
    if not finished:
        raise StoreError(f"{folder}: no run is finished yet")
    path = out or folder / "records.csv"
    require_folder(path)
    with working(f"exporting {len(finished)} runs", "runs") as work:
        n_rows = write_csv(
            [study.folder(spec) for spec in finished],
            path,
            lambda done: work.report(done, done / len(finished)),
        )
    if as_json:
        emit({"runs": len(finished), "rows": n_rows, "file": str(path)})
    else:
        say(f"{n_rows} rows of {len(finished)} runs written: {path}")


def _with_models(
    table: Mapping[str, Any], base: Path, models: dict[str, bytes]
) -> list[dict[str, Any]]:
    """The table, once for each model file among its environments, which get names and hashes."""
    given = table.get("environment")
    words = given if isinstance(given, list) else [given]
    paths = [w for w in words if isinstance(w, str) and Source.of(w).path is not None]
    named = [word for word in words if word not in paths]
    found = [{**table, **_model(base / path, models)} for path in paths]
    if named or not found:
        found.append({**table, "environment": named if isinstance(given, list) else given})
    return found


def _content(cmdp: CMDP) -> bytes:
    """The model as a file of ours would hold it."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        cmdp.save(path)
        return path.read_bytes()


def _model(path: Path, models: dict[str, bytes]) -> dict[str, Any]:
    if path.suffix.lower() == DRN:
        raise ModelError(f"{path}: a study needs a file of ours; tightrope convert makes one of it")
    CMDP.load(path)  # a file that is no model is refused here, in words
    content = path.read_bytes()
    digest = content_hash(content)
    models[digest] = content
    return {"environment": path.name, "model": digest}


def _require_sound(specs: Sequence[RunSpec], models: Mapping[str, bytes], where: str) -> None:
    """Refuse what no run could be begun with, before it is planned for good."""
    problems: dict[str, CMDP] = {}
    groups = {spec.group: spec for spec in specs}
    with working(f"checking {len(groups)} settings", "settings") as work:
        for done, spec in enumerate(groups.values()):
            key = str(spec.problem)
            try:
                if key not in problems:
                    problems[key] = model_of(spec, models.get(spec.model, b""))
                setting_of(spec, problems[key])
            except ModelError as error:
                raise ModelError(f"{where}: {error}") from error
            work.report(done, done / len(groups))


def carried_out(study: Study, workers: Workers, again: str = "") -> Outcome:
    """Finish a study with progress; an interrupt says how to go on: resume, or another command."""
    again = again or f"tightrope resume {study.path}"
    specs, pending = study.specs(), study.pending()
    total = sum(spec.episodes for spec in specs)
    done_before = total - sum(spec.episodes for spec in pending)
    engine = engine_named(workers.engine, workers.address, workers.workers)
    before = _on_termination(_interrupt)
    try:
        with working(f"{study.path}: {len(pending)} runs to do", "episodes") as work:

            def report(outcome: Outcome, under_way: dict[str, int]) -> None:
                _tell(work, outcome, len(specs), done_before, total, engine.complaint)

            work.note = READY
            return carry_out(study, engine, Pace(snapshot=workers.snapshot), report)
    except KeyboardInterrupt:
        say(f"stopped; nothing is lost: {again}")
        raise
    except EngineError as error:
        raise EngineError(f"{error}; what was done is kept: {again}") from error
    finally:
        engine.close()
        for each, handler in before.items():
            signal(each, handler)


def _interrupt(*_: Any) -> None:
    raise KeyboardInterrupt


def _on_termination(handler: Any) -> dict[int, Any]:
    """Let a handler take the signals to end; the handlers there were before."""
    if current_thread() is not main_thread():
        return {}
    heeded = [each for each in TO_END if getsignal(each) is not SIG_IGN]  # nohup ignores SIGHUP
    return {each: signal(each, handler) or SIG_DFL for each in heeded}


def _carry_out(study: Study, workers: Workers, as_json: bool, n_new: int) -> None:
    outcome, n_runs = carried_out(study, workers), len(study.specs())
    if as_json:
        emit(
            {
                "study": str(study.path),
                "runs": n_runs,
                "new": n_new,
                "finished": outcome.finished,
                "failed": outcome.failed,
                "elsewhere": outcome.elsewhere,
                "versions": outcome.versions,
                "episodes": outcome.episodes,
            }
        )
    else:
        _show(study, outcome, n_runs)
    if outcome.failed:
        first, why = next(iter(outcome.failed.items()))
        raise ModelError(f"{len(outcome.failed)} of {n_runs} runs failed, {first} first: {why}")


def _tell(
    work: Work, outcome: Outcome, n_runs: int, done_before: int, total: int, complaint: str
) -> None:
    to_do = total - done_before - outcome.taken_up
    note = f"{outcome.finished} of {n_runs} runs done" if outcome.episodes else READY
    work.report(outcome.episodes, outcome.episodes / max(to_do, 1), complaint or note)


def _show(study: Study, outcome: Outcome, n_runs: int) -> None:
    say(f"{study.path}: {outcome.finished} of {n_runs} runs finished", style="bold")
    if outcome.elsewhere:
        say(f"{len(outcome.elsewhere)} runs are being written by another process")
    if outcome.versions:
        n, what = len(outcome.versions), next(iter(outcome.versions.values()))
        say(f"{n} runs had been begun by other versions ({what}); last digits may differ")
    if outcome.finished:
        say(f"next: tightrope report {study.path}, or tightrope export {study.path}")
