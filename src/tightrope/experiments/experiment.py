"""Experiment: simulated runs in a directory, planned, running and finished.

::

    specs.jsonl      all planned runs, one per line
    models/          contents of model files, by their hashes
    oracles/         optimum, slack, bounds on multipliers and optimal policies of each problem
    runs/ID/         a `RunFolder` for each run that was begun
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

from tightrope.arrays import check_callback
from tightrope.belief.confidence import Confidence
from tightrope.errors import ConfigError, StoreError
from tightrope.experiments.engines import open_engine
from tightrope.experiments.gym_fields import GYM
from tightrope.experiments.missing import key_of
from tightrope.experiments.problems import (
    Models,
    add_problem,
    as_list,
    check_specs,
    content_hash,
    drop_misfits,
    learner_fields,
    read_oracle,
    seeds_as_list,
    simulated_model,
    split_models,
)
from tightrope.experiments.rows import Row
from tightrope.experiments.run_files import StoredRun, as_pandas, read_tables
from tightrope.experiments.scheduler import (
    Outcome,
    Pace,
    Progress,
    finish_runs,
    interrupt_on_termination,
    progress_bar,
)
from tightrope.experiments.spec import RunSpec
from tightrope.experiments.status import RunStatus, Status
from tightrope.experiments.storage import RunFolder, lock, write_csv
from tightrope.experiments.sweep import read_specs, read_sweep, specs_of
from tightrope.files import as_path, make_folder, put, reason
from tightrope.learners import Learner
from tightrope.model import CMDP

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from numpy.random import SeedSequence
    from numpy.typing import NDArray

    from tightrope.experiments.summary import Findings

PATIENCE = 60.0  # seconds to wait for another process that is adding runs
ARGUMENTS = {"algorithm": "learners", "environment": "problem", "model": "problem"}
PAGE, RECORDS = "report.html", "records.csv"


@final
class Experiment:
    """Simulated runs of learners in a directory; interrupted runs can be resumed.

    Parameters
    ----------
    path : str or path-like
        The directory. It is made by `add` if it does not exist.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> with TemporaryDirectory() as folder:
    ...     experiment = tr.Experiment(folder)
    ...     n_new = experiment.add("ring", ["OptCMDP", "uniform"], episodes=20, seeds=2)
    ...     experiment.run(engine="here", progress=False)
    Outcome(4 of 4 runs finished, 80 episodes run)
    """

    def __init__(self, path: str | PathLike[str]) -> None:
        self.path = as_path("path", path)
        self._read: tuple[list[str], Findings] | None = None

    def __repr__(self) -> str:
        words = repr(self.status())[len("Status(") : -1] if self.exists else repr(str(self.path))
        return f"Experiment({words})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import listing

        if self.exists:
            return self.status()._repr_html_()
        return listing("Experiment", [str(self.path), "no runs yet"])

    @property
    def exists(self) -> bool:
        """Whether any run was added here."""
        return self._specs.is_file()

    def add(
        self,
        problem: str | PathLike[str] | CMDP | Callable[..., Any],
        learners: str | Learner | Sequence[str | Learner],
        episodes: int | Sequence[int],
        seeds: int | str | SeedSequence | Iterable[int | SeedSequence] | None,
        *,
        delta: float = 0.1,
        confidence: str | Mapping[str, Any] | Confidence = "faithful",
        parameters: Mapping[str, Any] | None = None,
        budget: Mapping[str, Any] | None = None,
        name: str = "model",
        **options: Any,
    ) -> int:
        """Add runs: every learner with every seed.

        Runs that were added before stay as they are, so calling this again with more seeds adds
        the new ones only. A list as the value of a parameter, budget or option makes a grid; write
        a value that is itself a sequence as a nested list.

        Parameters
        ----------
        problem : str, path-like, CMDP or callable
            A name of the catalog, a model file (.npz or .toml), or a model. The content of a
            file or model is stored with the experiment and is part of the run's id. Or an
            environment of Gymnasium that learners know through its steps: ``"gym:ID"``, or a
            function of a module that makes one; give ``gymnasium=dict(horizon=...)`` too.
        learners : str, Learner or sequence of these
            Learners such as ``tr.learners.OptDual(rho=4.0)``, or their names; ``"all"`` for those
            of the paper, ``"every"`` for all that take the model's constraints.
        episodes : int or sequence of int
            Number of episodes K.
        seeds : int, str, SeedSequence, iterable of int or SeedSequence, or None
            A number (seeds 1 to that many), ranges such as ``"1-30, 41"``, or the seeds; None for
            a fresh one. Learners with the same seed see the same randomness. The runs hold their
            seeds as numbers, ``spec.seed``.
        delta : float
            Probability with which the guarantees may fail.
        confidence : str, mapping or Confidence
            As for `learn`.
        parameters : mapping, optional
            Parameters of an environment of the catalog.
        budget : mapping, optional
            Other budgets (or floors) by name of the constraint, in its units.
        name : str
            Name of a problem that is given as a `CMDP`, for tables and figures.
        **options
            Other fields of a run: ``audit_visits``, ``average``, ``points``,
            ``common_random_numbers``, for gym:ID ``gymnasium`` (a dict with ``horizon`` and other
            arguments of `learn_gymnasium` on costs and ranges), and options of the learners, such
            as ``rho``, for those learners that have them.

        Returns
        -------
        int
            Number of new runs.

        Raises
        ------
        ConfigError
            If no run could start with these values; nothing is added then.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     experiment.add("ring", "OptDual", episodes=20, seeds=3, rho=[2.0, 4.0])
        ...     experiment.add("ring", "OptDual", episodes=20, seeds=4, rho=[2.0, 4.0])
        6
        2
        """
        for option, argument in ARGUMENTS.items():
            if option in options:
                more = f"not an option; it is determined by {argument}"
                raise ConfigError.about(option, where="add", more=more)
        models: Models = {}
        table = {
            "episodes": as_list(episodes),
            "seeds": seeds_as_list(seeds),
            "delta": delta,
            "confidence": confidence,
            **({} if parameters is None else {"parameters": parameters}),
            **({} if budget is None else {"budget": budget}),
            **add_problem(problem, name, models),
        }
        tables = learner_fields(learners, options)
        specs = [spec for each in tables for spec in specs_of({**each, **table}, "add")]
        check_specs(specs, models, name if isinstance(problem, CMDP) else str(problem))
        return self.add_specs(drop_misfits(specs, models, tables), models)

    def add_spec(self, spec: str | PathLike[str] | Mapping[str, Any]) -> int:
        """Add the runs of a table in which every list makes a grid.

        Parameters
        ----------
        spec : mapping, or path of a TOML file
            The table that ``tightrope run`` takes. Model files among its environments are found
            relative to the TOML file, or to the working directory.

        Returns
        -------
        int
            Number of new runs.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> spec = {"environment": "ring", "algorithm": "uniform", "episodes": 20, "seed": [1, 2]}
        >>> with TemporaryDirectory() as folder:
        ...     tr.Experiment(folder).add_spec(spec)
        2
        """
        if isinstance(spec, Mapping):
            table, base, where = spec, Path(), "spec"
        else:
            path = as_path("spec", spec)
            table, base, where = read_sweep(path), path.parent, str(path)
        models: Models = {}
        tables = list(split_models(table, base, models))
        specs = {spec.id: spec for each in tables for spec in specs_of(each, where)}
        check_specs(specs.values(), models, where)
        return self.add_specs(drop_misfits(specs.values(), models, tables), models)

    def add_specs(self, specs: Iterable[RunSpec], models: Models | None = None) -> int:
        """Add runs by their specs; those added before stay as they are.

        Parameters
        ----------
        specs : iterable of RunSpec
            The runs.
        models : dict of str to bytes, optional
            Contents of the model files that the specs name, by their hashes.

        Returns
        -------
        int
            Number of new runs.

        Examples
        --------
        Copy the runs of one experiment to another:

        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     first = tr.Experiment(f"{folder}/first")
        ...     n_new = first.add("ring", "uniform", episodes=20, seeds=2)
        ...     tr.Experiment(f"{folder}/second").add_specs(first.specs())
        2
        """
        for folder in (self.path, self.path / "models"):
            make_folder(folder)
        with lock(self.path / "lock", PATIENCE):  # includes runs added meanwhile
            for digest, content in (models or {}).items():
                if not self._model(digest).is_file():
                    put(self._model(digest), content)
            planned = self.specs() if self.exists else []
            known = {spec.content_id for spec in planned}
            new = {spec.content_id: spec for spec in specs if spec.content_id not in known}
            if new or not self.exists:
                tables = [{"id": spec.id} | spec.to_table() for spec in (*planned, *new.values())]
                lines = [json.dumps(table, allow_nan=False) for table in tables]
                put(self._specs, "".join(f"{line}\n" for line in lines).encode())
        return len(new)

    def run(
        self,
        engine: str = "processes",
        workers: int | None = None,
        *,
        address: str | None = None,
        snapshot: float = 10.0,
        progress: bool | Progress = True,
        on_record: Callable[[RunSpec, Row], object] | None = None,
    ) -> Outcome:
        """Finish every run that is not finished; finished runs stay as they are.

        On an interrupt, running runs are saved and the interrupt is raised again; calling this
        again resumes them and gives the same records bit for bit.

        Parameters
        ----------
        engine : {"processes", "here", "dask", "ray"}
            Processes of this machine, this process, or a running cluster.
        workers : int, optional
            Number of processes; as many as this process may use by default.
        address : str, optional
            Of the Dask scheduler or the Ray head.
        snapshot : float
            Seconds between two snapshots of a run on disk.
        progress : bool or callable
            Show a bar; or a function called from time to time with the `Outcome` so far and a dict
            of the episodes of the active runs, by id.
        on_record : callable, optional
            Called in this process with the spec of a run and each episode that the run records, in
            order and about once a second: a dict as for `learn`, or `learn_gymnasium` for gym:ID.
            Nothing that it does changes the records. A run that is resumed reports what follows
            its snapshot.

        Returns
        -------
        Outcome
            Numbers of runs and episodes, and the runs that failed with their reasons.

        Raises
        ------
        StoreError
            If there is no experiment here, or something cannot be written.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
        ...     outcome = experiment.run(engine="here", progress=False)
        ...     again = experiment.run(engine="here", progress=False)
        >>> outcome.finished, again.episodes
        (2, 0)
        """
        if not isinstance(progress, bool):
            check_callback("progress", progress)
        check_callback("on_record", on_record)
        for spec in self.pending():  # raises if there is no experiment
            for key in (key_of(spec.learner), spec.environment.removeprefix(GYM)):
                if key.startswith("__main__:") and engine != "here":
                    more = (
                        f"{engine!r} cannot import {key}; define it in a module, or run with "
                        "engine='here'"
                    )
                    raise ConfigError.about("engine", more=more)
        pace, opened = Pace(snapshot=snapshot), open_engine(engine, address, workers)
        shown = progress_bar(self, opened) if progress is True else nullcontext(progress or None)
        try:
            with interrupt_on_termination(), shown as report:
                return finish_runs(self, opened, pace, report, on_record)
        finally:
            opened.close()

    def status(self) -> Status:
        """Return the stored progress of every run.

        Returns
        -------
        Status
            Finished runs and episodes on disk.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
        ...     status = experiment.status()
        >>> status.finished, status.episodes
        (0, (0, 40))
        """
        found = [RunStatus.of(spec, self.folder(spec)) for spec in self.specs()]
        return Status(self.path, tuple(found))

    def runs(self) -> list[StoredRun]:
        """Return the finished runs, in the order in which they were added.

        Returns
        -------
        list of StoredRun
            Each has ``spec``, ``path``, ``cmdp`` and ``load()``, which reads it as a `Run`.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
        ...     outcome = experiment.run(engine="here", progress=False)
        ...     runs = [each.load() for each in experiment.runs()]
        >>> [run.seed for run in runs]
        [1, 2]
        """
        return [StoredRun(spec, self) for spec in self.finished()]

    def to_arrow(self) -> pa.Table:
        """Return the records of all finished runs as one Arrow table.

        A row for each run, recorded episode and constraint, as `export` writes it. Regrets, excess
        and multipliers are in the units of each run's model.

        Returns
        -------
        Table
            The table.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
        ...     outcome = experiment.run(engine="here", progress=False)
        ...     table = experiment.to_arrow()
        >>> table.num_rows, table["constraint"][0].as_py()
        (40, 'moves')
        """
        import pyarrow as pa

        return pa.concat_tables(self._records())

    def to_pandas(self) -> pd.DataFrame:
        """Return the table of `to_arrow` as a DataFrame; pandas must be installed.

        Returns
        -------
        DataFrame
            The table.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     n_new = experiment.add("ring", ["uniform", "optimal"], episodes=20, seeds=2)
        ...     outcome = experiment.run(engine="here", progress=False)
        ...     table = experiment.to_pandas()
        >>> table.groupby("algorithm")["cost_regret_plus"].last().round(3).to_dict()
        {'optimal': 0.0, 'uniform': 4.375}
        """
        return as_pandas(self.to_arrow())

    def export(
        self,
        path: str | PathLike[str] | None = None,
        progress: Callable[[int], None] | None = None,
    ) -> int:
        """Write the records of all finished runs as one CSV file.

        Parameters
        ----------
        path : str or path-like, optional
            The file; ``records.csv`` in the experiment's directory by default.
        progress : callable, optional
            Called with the number of runs written.

        Returns
        -------
        int
            Number of rows.

        Examples
        --------
        >>> from pathlib import Path
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
        ...     outcome = experiment.run(engine="here", progress=False)
        ...     n_rows = experiment.export(f"{folder}/records.csv")
        ...     n_lines = len(Path(folder, "records.csv").read_text().splitlines())
        >>> n_rows, n_lines
        (40, 41)
        """
        out = self.path / RECORDS if path is None else as_path("path", path)
        return write_csv(self._records(), out, progress or (lambda _: None))

    def findings(
        self,
        progress: Callable[[int, int], None] | None = None,
        wanted: Sequence[RunSpec] | None = None,
    ) -> Findings:
        """Return the contents of the report as arrays in the units of the models.

        Finished runs are read once; later calls read runs that have finished since.

        Parameters
        ----------
        progress : callable, optional
            Called with the number of runs read and their total.
        wanted : sequence of RunSpec, optional
            Runs to read; all by default.

        Returns
        -------
        Findings
            Curves, statistics and audit by problem and learner.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
        ...     outcome = experiment.run(engine="here", progress=False)
        ...     findings = experiment.findings()
        >>> findings
        Findings(2 of 2 runs finished, on ring)
        """
        from tightrope.experiments.summary import read_findings

        specs = self.specs() if wanted is None else wanted
        key = [spec.id + str(self.folder(spec).is_finished) for spec in specs]
        if self._read is None or self._read[0] != key:
            self._read = key, read_findings(self, specs, progress or (lambda _, __: None))
        return self._read[1]

    def summary(self) -> dict[str, Any]:
        """Return the statistics of the report over seeds, as plain data in the units of the models.

        Returns
        -------
        dict
            ``planned`` and ``finished`` count runs. Each of ``problems`` has ``name``,
            ``episodes``, ``delta``, ``unit``, ``optimum``, ``learners`` and ``pairs``. A learner
            has ``regret[kind][statistic]`` at the last episode and ``growth[kind]``, the slope of
            log regret against log episode, each as ``middle``, ``low`` and ``high`` of a 95 %
            bootstrap band; ``seeds``, ``confidence``, ``heuristic``, ``share_in_violation``,
            ``worst_violation`` by constraint, ``first_feasible`` by seed, ``average_policy`` with
            ``value`` and ``constraint_value`` if recorded, ``runs_with_good_event``, ``seconds``;
            with a baseline also ``baseline``, its probability as ``mean`` over episodes and in the
            ``last`` one, and ``bound_failures``. For environments of Gymnasium a learner has
            ``sums[name]["all" | "last"]`` instead, realized sums per episode over all and over the
            last fifth of the episodes, and ``runs_with_budget_kept[name]``. A pair compares two
            learners over their common seeds: ``difference[kind]`` of the first minus the second,
            and ``improvement[kind]``, the share of seeds in which the first is lower. Kinds are
            ``cost``, ``cost_plus``, ``constraint`` and ``constraint_plus``; statistics ``mean``,
            ``median`` and ``IQM``.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
        ...     outcome = experiment.run(engine="here", progress=False)
        ...     summary = experiment.summary()
        >>> summary["planned"], summary["finished"]
        (2, 2)
        >>> problem = summary["problems"][0]
        >>> problem["name"], round(problem["optimum"], 6)
        ('ring', 2.0)
        """
        from tightrope.experiments.summary import summarize

        return summarize(self.findings())

    def figure(
        self,
        name: str | None = None,
        ax: Axes | Sequence[Axes] | NDArray[Any] | None = None,
        *,
        panel: str | None = None,
        problem: str | None = None,
        style: str = "screen",
        width: float | None = None,
        font: str | None = None,
        font_size: float | None = None,
    ) -> Figure:
        """Draw a figure of the report.

        Parameters
        ----------
        name : str, optional
            ``"regret"``, the default; ``"budgets"`` for violations and multipliers; ``"optimum"``
            for the optimal plan; or the name of a learner, as `summary` has it, for the mean of its
            last policies. For environments of Gymnasium it is ``"returns"``.
        ax : Axes, or array of Axes, optional
            Where to draw; a new figure by default. With a ``panel`` one Axes; otherwise four for
            ``"regret"``, and for a plan one for the policy, one for each constraint (at most five)
            and one for the cost.
        panel : str, optional
            The only panel to draw. Of ``"regret"``: ``"cost"``, ``"cost_plus"``, ``"constraint"``
            or ``"constraint_plus"``. Of ``"budgets"``: ``"violations"`` or the name of a
            constraint. Of a plan: ``"policy"``, the name of a constraint, or ``"cost"``. Of
            ``"returns"``: ``"reward"`` or the name of a constraint.
        problem : str, optional
            Name of a problem, as `summary` has it; needed if there are several.
        style : {"screen", "paper"}
            For the screen, or for a paper: in small type, without a heading.
        width : float, optional
            Of a new figure, in inches; as it needs by default.
        font : str, optional
            Family of an installed font, or ``"serif"``.
        font_size : float, optional
            Of labels, in points; titles and ticks keep their proportion to it.

        Returns
        -------
        Figure
            The figure.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
        ...     outcome = experiment.run(engine="here", progress=False)
        ...     len(experiment.figure().axes)
        4
        """
        from tightrope.show.report.figures import named_figure
        from tightrope.show.style import figure_look

        with figure_look(style, width, font, font_size):
            return named_figure(self.findings().chapter(problem), name, ax, panel)

    def report(self, path: str | PathLike[str] | None = None, *, title: str = "") -> Path:
        """Write the report, one HTML page with statistics over seeds, figures and the audit.

        Parameters
        ----------
        path : str or path-like, optional
            The file; ``report.html`` in the experiment's directory by default.
        title : str
            Of the page; the name of the directory by default.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
        ...     outcome = experiment.run(engine="here", progress=False)
        ...     experiment.report().name
        'report.html'
        """
        from tightrope.show.report.page import write_page

        page = self.path / PAGE if path is None else as_path("path", path)
        write_page(self.findings(), page, title)
        return page

    def specs(self) -> list[RunSpec]:
        """Return the specs of all runs, in the order in which they were added.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
        ...     [spec.seed for spec in experiment.specs()]
        [1, 2]
        """
        return read_specs(self._specs)

    def finished(self) -> list[RunSpec]:
        """Return the specs of the finished runs.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
        ...     outcome = experiment.run(engine="here", progress=False)
        ...     [spec.seed for spec in experiment.finished()]
        [1, 2]
        """
        return [spec for spec in self.specs() if self.folder(spec).is_finished]

    def pending(self) -> list[RunSpec]:
        """Return the specs of the unfinished runs.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
        ...     [spec.seed for spec in experiment.pending()]
        [1, 2]
        """
        return [spec for spec in self.specs() if not self.folder(spec).is_finished]

    def folder(self, spec: RunSpec) -> RunFolder:
        """Return the directory of a run.

        Parameters
        ----------
        spec : RunSpec
            The run.

        Returns
        -------
        RunFolder
            The directory, which may not exist yet.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
        ...     experiment.folder(experiment.specs()[0]).is_finished
        False
        """
        return RunFolder(self.path / "runs" / spec.id)

    def model(self, spec: RunSpec) -> bytes:
        """Return the content of the model file of a spec; empty for the catalog.

        Parameters
        ----------
        spec : RunSpec
            The run.

        Returns
        -------
        bytes
            The file.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
        ...     experiment.model(experiment.specs()[0])
        b''
        """
        if not spec.model:
            return b""
        try:
            content = self._model(spec.model).read_bytes()
        except OSError as error:
            raise StoreError(
                f"{self.path}: the model {spec.environment} of run {spec.id} cannot be read: "
                f"{reason(error)}",
                argument=str(self._model(spec.model)),
            ) from error
        if content_hash(content) != spec.model:
            path = str(self._model(spec.model))
            raise StoreError(f"{path}: its content has changed", argument=path)
        return content

    def oracle(self, spec: RunSpec) -> bytes:
        """Return the oracle of a run's problem: optimum, slack, bounds on multipliers, policies.

        Parameters
        ----------
        spec : RunSpec
            The run.

        Returns
        -------
        bytes
            The stored file; empty for environments of Gymnasium.

        Examples
        --------
        >>> from tempfile import TemporaryDirectory
        >>> import tightrope as tr
        >>> with TemporaryDirectory() as folder:
        ...     experiment = tr.Experiment(folder)
        ...     n_new = experiment.add("ring", "uniform", episodes=20, seeds=2)
        ...     len(experiment.oracle(experiment.specs()[0])) > 0
        True
        """
        if spec.is_gym:
            return b""
        path = self.path / "oracles" / f"{spec.problem_id}.npz"
        return read_oracle(path, simulated_model(spec, self.model(spec)))

    @property
    def _specs(self) -> Path:
        return self.path / "specs.jsonl"

    def _model(self, digest: str) -> Path:
        return self.path / "models" / digest.removeprefix("sha256:")

    def _records(self) -> Iterator[pa.Table]:
        finished = self.finished()
        if not finished:
            raise StoreError(f"{self.path}: no run is finished yet", argument=str(self.path))
        return read_tables(self, finished)
