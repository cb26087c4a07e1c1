"""Every public number is in the user's units.

A model whose costs lie in [0, 1] and the same model in other units are compared: what one gives,
the other gives converted.
"""

from __future__ import annotations

from math import comb
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tightrope as tr
from refusals import refuses
from tightrope.belief.episode import End
from tightrope.experiments.run_files import run_table
from tightrope.model.base import writable_problem
from tightrope.show.figures import frontier_figure

H, S, A = 3, 3, 2
few = settings(max_examples=15, deadline=None)


class Pair(NamedTuple):
    """A model with costs in [0, 1], and the same model in other units."""

    plain: tr.CMDP
    scaled: tr.CMDP

    def total(self, value: Any) -> Any:
        return pytest.approx(self.scaled.cost_unit.show(value), rel=1e-9, abs=self.noise)

    def totals(self, values: Any) -> Any:
        pairs = zip(self.scaled.constraint_units, values, strict=True)
        shown = [unit.show(float(value)) for unit, value in pairs]
        return pytest.approx(np.array(shown), rel=1e-9, abs=self.noise)

    def loss(self, value: Any) -> Any:
        return pytest.approx(np.multiply(value, abs(self.scaled.cost_unit.factor)), rel=1e-9)

    def losses(self, values: Any) -> Any:
        return pytest.approx(np.multiply(values, self.factors), rel=1e-9)

    def prices(self, values: Any) -> Any:
        ratios = abs(self.scaled.cost_unit.factor) / self.factors
        return pytest.approx(np.multiply(values, ratios), rel=1e-9)

    @property
    def factors(self) -> Any:
        return np.array([abs(unit.factor) for unit in self.scaled.constraint_units])

    @property
    def noise(self) -> float:
        units = (self.scaled.cost_unit, *self.scaled.constraint_units)
        return 1e-12 * max(abs(unit.shift) + abs(unit.factor) * H for unit in units)


@st.composite
def units(draw: Any, name: str = "points") -> tr.Unit:
    low, width = draw(st.floats(-50, 50)), draw(st.floats(0.01, 100))
    rule = draw(st.sampled_from([tr.Unit.of_range, tr.Unit.of_reward]))
    return rule(name, low, low + width, H)


@st.composite
def pairs(draw: Any, least: int = 0) -> Pair:
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    I = draw(st.integers(least, 2))
    kernel = rng.dirichlet(np.ones(S), size=(S, A))
    allowed = np.ones((S, A), dtype=bool)
    allowed[2, 1] = draw(st.booleans())
    options = {"initial": rng.dirichlet(np.ones(S)), "allowed": allowed}
    cost, bounded = rng.random((S, A)), rng.random((I, S, A))
    free = tr.CMDP(kernel, cost, bounded if I else None, [H] * I if I else None, H, **options)
    spent = tr.evaluate(free, np.where(allowed, 0.5, 0) + (~allowed)[:, ::-1] * 0.5)
    plain = free.with_budget(spent.constraint_value) if I else free
    cost_unit, constraint_units = draw(units()), [draw(units(f"unit {i}")) for i in range(I)]
    # the same bits inside, so that learners make the same choices
    return Pair(plain, tr.CMDP.from_draft(plain._draft, cost_unit, constraint_units))


@few
@given(pair=pairs())
def test_a_model_in_other_units_has_its_costs_and_budgets_in_them(pair):
    plain, scaled = pair
    exists = plain.allowed
    for one, unit, other in zip(
        (plain.cost, *plain.constraint_cost),
        (scaled.cost_unit, *scaled.constraint_units),
        (scaled.cost, *scaled.constraint_cost),
        strict=True,
    ):
        shown = unit.shift / H + unit.factor * one
        np.testing.assert_allclose(other, np.where(exists, shown, 0.0), rtol=1e-9, atol=pair.noise)
    assert scaled.budget == pair.totals(plain.budget)
    again = tr.CMDP(
        scaled.transition,
        scaled.cost,
        scaled.constraint_cost,
        scaled.budget,
        H,
        scaled.initial,
        scaled.allowed,
        cost_unit=scaled.cost_unit,
        constraint_units=scaled.constraint_units,
    )
    for ours, theirs in zip(writable_problem(again)[2:], writable_problem(plain)[2:], strict=True):
        np.testing.assert_allclose(ours, np.broadcast_to(theirs, ours.shape), atol=1e-9)
    same = scaled.with_budget(scaled.budget)
    np.testing.assert_array_equal(writable_problem(same).budget, plain.budget)


@few
@given(pair=pairs(), method=st.sampled_from(["columns", "lp"]))
def test_plans_and_evaluations_are_converted(pair, method):
    plan, shown = (tr.solve(cmdp, method) for cmdp in pair)

    assert shown.value == pair.total(plan.value)
    assert shown.constraint_value == pair.totals(plan.constraint_value)
    assert shown.multiplier == pair.prices(plan.multiplier)
    assert shown.saving == pair.prices(plan.saving)
    assert shown.gap == pair.loss(plan.gap)
    np.testing.assert_array_equal(shown.policy, plan.policy)
    np.testing.assert_array_equal(shown.occupancy, plan.occupancy)
    found = tr.evaluate(pair.scaled, shown)
    assert found.value == pytest.approx(shown.value, rel=1e-9, abs=pair.noise)
    assert found.constraint_value == pair.totals(plan.constraint_value)
    by_hand = float((shown.occupancy * pair.scaled.cost).sum())
    assert by_hand == pytest.approx(shown.value, rel=1e-9, abs=pair.noise)
    kernel = np.broadcast_to(pair.plain.transition, (S, A, S))
    box = np.clip(kernel - 0.1, 0, 1), np.clip(kernel + 0.1, 0, 1)
    best = tr.solve_optimistic(pair.plain, *box)
    again = tr.solve_optimistic(
        pair.scaled, *box, pair.scaled.cost[0], pair.scaled.constraint_cost[:, 0]
    )
    assert again.value == pytest.approx(
        pair.scaled.cost_unit.show(best.value), rel=1e-6, abs=1e3 * pair.noise
    )


@few
@given(pair=pairs(least=1))
def test_frontiers_are_converted(pair):
    line, shown = (tr.frontier(cmdp) for cmdp in pair)
    unit, cost = pair.scaled.constraint_units[0], pair.scaled.cost_unit

    np.testing.assert_allclose(shown.budget, unit.show(line.budget), rtol=1e-12)
    np.testing.assert_allclose(shown.value, cost.show(line.value), rtol=1e-12)
    ratio = abs(cost.factor / unit.factor)
    np.testing.assert_allclose(shown.multiplier, line.multiplier * ratio, rtol=1e-9)
    for budget in (*line.budget, 0.5 * (line.budget[0] + line.budget[-1]), line.budget[-1] + 1):
        assert shown.at(unit.show(float(budget))) == pair.total(line.at(float(budget)))
    worst = shown.at(unit.show(float(line.budget[0]) - 0.1))
    assert worst == (-np.inf if cost.is_maximized else np.inf)


@few
@given(pair=pairs(least=1))
def test_slack_and_feasibility_are_converted(pair):
    room, shown = (tr.slater(cmdp) for cmdp in pair)
    assert (shown.slack, shown.rho) == (room.slack, room.rho)
    assert shown.value == pair.total(room.value)
    assert shown.constraint_value == pair.totals(room.constraint_value)
    spare = pair.plain.budget - room.constraint_value
    assert shown.spare == pytest.approx(spare * pair.factors, rel=1e-9, abs=pair.noise)

    least, most = (tr.feasibility(cmdp) for cmdp in pair)
    assert most.alone == pair.totals(least.alone)
    assert most.jointly == pair.totals(least.jointly)
    tight = least.alone - 0.25 * least.alone.min()
    first, second = pair.plain.with_budget(tight), pair.scaled.with_budget(_show(pair, tight))
    clash, other = tr.feasibility(first), tr.feasibility(second)
    assert clash.clash == other.clash
    assert other.relaxation == pytest.approx(pair.factors * clash.relaxation, rel=1e-6)
    assert other.excess == pytest.approx(pair.factors * clash.excess, rel=1e-6)
    with pytest.raises(tr.InfeasibleError) as error:
        tr.solve(second)
    assert error.value.alone == pair.totals(least.alone)
    assert error.value.relaxation == pytest.approx(tuple(other.relaxation), rel=1e-6)
    eased = second.budget + np.array(error.value.relaxation) * 1.0001 * _direction(pair)
    assert tr.feasibility(second.with_budget(eased)).is_feasible


def _show(pair, budget):
    return [u.show(float(b)) for u, b in zip(pair.scaled.constraint_units, budget, strict=True)]


def _direction(pair):
    return [-1.0 if unit.is_maximized else 1.0 for unit in pair.scaled.constraint_units]


COST = ("cost_excess", "cost_regret", "cost_regret_plus")
CONSTRAINT = ("constraint_excess", "constraint_regret", "constraint_regret_plus")


@settings(max_examples=6, deadline=None)
@given(pair=pairs(), name=st.sampled_from(["OptCMDP", "OptDual"]))
def test_runs_are_converted(pair, name, tmp_path_factory):
    options = {"rho": 2.0} if name == "OptDual" else {}
    run, shown = (
        tr.learn(cmdp, name, 6, seed=3, confidence={"mode": "tight", "scale": 0.1}, **options)
        for cmdp in pair
    )
    np.testing.assert_array_equal(shown.policy, run.policy)
    for kind in ("cost", "cost_plus"):
        assert shown.regret[kind] == pair.loss(run.regret[kind])
    for kind in ("constraint", "constraint_plus"):
        np.testing.assert_allclose(shown.regret[kind], run.regret[kind] * pair.factors)
    np.testing.assert_allclose(shown.excess[:, 0], pair.scaled.cost_unit.size * run.excess[:, 0])
    np.testing.assert_allclose(shown.excess[:, 1:], pair.factors * run.excess[:, 1:])
    np.testing.assert_allclose(shown.worst_violation, pair.factors * run.worst_violation)
    ratio = pair.scaled.cost_unit.size / pair.factors
    np.testing.assert_allclose(shown.multiplier, run.multiplier * ratio)
    assert shown.optimum == pair.total(run.optimum)
    assert shown.audit.largest_gap == pair.loss(run.audit.largest_gap)
    np.testing.assert_allclose(shown.audit.multiplier_range, run.audit.multiplier_range * ratio)
    np.testing.assert_equal(shown.rho, run.rho)  # for costs scaled to [0, 1]
    assert shown.n_violations == run.n_violations

    folder = tmp_path_factory.mktemp("runs")
    shown.save(folder / "run.npz")
    again = tr.Run.load(folder / "run.npz")
    assert again.units == pair.scaled.units
    np.testing.assert_array_equal(again.excess, shown.excess)
    tables = (run_table(each).to_pydict() for each in (run, shown))
    require_converted(pair, *tables)


@settings(max_examples=6, deadline=None)
@given(pair=pairs())
def test_experiments_store_one_scale_and_show_units(pair, tmp_path_factory):
    exp = tr.Experiment(tmp_path_factory.mktemp("runs"))
    exp.add(pair.scaled, tr.learners.OptCMDP(), episodes=4, seeds=[1])
    exp.run("here", progress=False)
    (stored,) = exp.runs()
    inside = pq.read_table(stored.path / "record.parquet").to_pydict()
    table = exp.to_arrow().to_pydict()
    require_converted(pair, inside, table)
    run = stored.load()
    assert run.units == pair.scaled.units
    own = run_table(run).to_pydict()
    assert own["constraint"] == table["constraint"]
    for column in (*COST, *CONSTRAINT, "multiplier", "largest_gap"):
        np.testing.assert_allclose(own[column], table[column])
    optimum = tr.solve(pair.plain).value
    assert run.optimum == pair.total(optimum)
    (problem,) = exp.summary()["problems"]
    assert problem["optimum"] == pair.total(optimum)
    end = problem["learners"][0]["regret"]["cost_plus"]["mean"]["middle"]
    assert end == pytest.approx(run.regret["cost_plus"][-1], abs=1e-9)


def require_converted(pair: Pair, inside: Any, shown: Any) -> None:
    """Compare the columns of two records, of which one is for costs in [0, 1]."""
    size, n = pair.scaled.cost_unit.size, len(inside["episode"])
    sizes = np.tile(pair.factors, n // len(pair.factors)) if len(pair.factors) else np.full(n, 1.0)
    for column in (*COST, "largest_gap"):
        np.testing.assert_allclose(shown[column], size * np.array(inside[column]))
    for column in CONSTRAINT:
        np.testing.assert_allclose(shown[column], sizes * np.array(inside[column]))
    np.testing.assert_allclose(shown["multiplier"], size / sizes * np.array(inside["multiplier"]))


@few
@given(
    lows=st.lists(st.floats(-50, 50), min_size=2, max_size=2),
    widths=st.lists(st.floats(0.1, 100), min_size=2, max_size=2),
    seed=st.integers(0, 2**32),
)
def test_an_interactive_learner_has_the_units_of_its_ranges(lows, widths, seed):
    rng = np.random.default_rng(seed)
    ends = [(low, low + width) for low, width in zip(lows, widths, strict=True)]
    cost, bound = (tr.Unit.of_range("x", *each, H) for each in ends)
    sizes = {"n_states": S, "n_actions": A, "horizon": H, "episodes": 9, "confidence": "tight"}
    plain = tr.learner("OptCMDP", budget=[1.5], **sizes)
    scaled = tr.learner(
        "OptCMDP",
        budget=[bound.show(1.5)],
        cost_range=ends[0],
        constraint_range=[ends[1]],
        **sizes,
    )
    for _ in range(3):
        plan, shown = plain.plan(), scaled.plan()
        noise = {"rel": 1e-6, "abs": 1e-6 * (abs(cost.shift) + cost.factor)}
        assert shown.value == pytest.approx(cost.show(plan.value), **noise)
        noise["abs"] = 1e-6 * (abs(bound.shift) + bound.factor)
        assert shown.constraint_value[0] == pytest.approx(
            bound.show(plan.constraint_value[0]), **noise
        )
        limits, ours = plain.bound(plan), scaled.bound(plan)
        assert ours.cost == pytest.approx(cost.show(limits.cost), rel=1e-6, abs=1e-6)
        assert ours.constraint_cost[0] == pytest.approx(
            bound.show(limits.constraint_cost[0]), rel=1e-6, abs=1e-6
        )
        assert ours.budget == pytest.approx(bound.show(limits.budget), rel=1e-9, abs=1e-9)
        states = [0, *rng.integers(S, size=H)]
        actions, paid = rng.integers(A, size=H), rng.random((2, H))
        plain.observe(tr.Episode(states, actions, paid[0], paid[1:]))
        told = [unit.show_step(each, H) for unit, each in zip((cost, bound), paid, strict=True)]
        scaled.observe(tr.Episode(states, actions, told[0], told[1:]))
    scaled.plan()
    for i, unit in enumerate((cost, bound)):
        outside = np.array(told)
        outside[i] += 2 * unit.factor
        low, high = sorted(unit.show_step(np.array([0.0, 1.0]), H))
        argument, entry = [("episode.cost", "h=0"), ("episode.constraint_cost", "i=0, h=0")][i]
        expected = f"a number in [{low:g}, {high:g}]"
        with refuses(tr.DataError, argument=argument, entry=entry, expected=expected):
            scaled.observe(tr.Episode(states, actions, outside[0], outside[1:]))


def ward() -> tr.CMDP:
    """The ward of the tutorial."""
    beds, chance = 6, {0: 0.2, 1: 0.35, 2: 0.2}

    def binomial(n: int, p: float) -> list[float]:
        return [comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]

    kernel = np.zeros((beds + 1, 3, beds + 1))
    transfers, hours, early = np.zeros((3, beds + 1, 3))
    for here in range(beds + 1):
        for action in range(3):
            home = min(here, 1) if action == 2 else 0
            for well, p in enumerate(binomial(here - home, chance[action])):
                for come, q in enumerate(binomial(4, 0.4)):
                    taken = min(here - home - well + come, beds)
                    kernel[here, action, taken] += p * q
                    transfers[here, action] += p * q * (here - home - well + come - taken)
            hours[here, action], early[here, action] = 12 * (action == 1), home
    return tr.CMDP.from_costs(
        kernel,
        transfers,
        [hours, early],
        [36, 2],
        14,
        cost_range=(0, 4),
        constraint_range=[(0, 12), (0, 1)],
        initial=3,
    )


def test_the_ward_plans_with_the_hours_it_is_given():
    cmdp = ward()
    np.testing.assert_allclose(cmdp.budget, [36, 2])
    plan = tr.solve(cmdp)
    assert plan.value == pytest.approx(3.04385, abs=1e-5)
    np.testing.assert_allclose(plan.constraint_value, [36, 2])
    np.testing.assert_allclose(plan.multiplier, [0.0433825, 0.505134], rtol=1e-5)
    assert "value 3.04385" in repr(plan)

    less = tr.solve(cmdp.with_budget([12, 2]))
    assert less.constraint_value[0] == pytest.approx(12)
    line = tr.frontier(cmdp)
    np.testing.assert_allclose([line.at(h) for h in (0, 36, 72)], [4.94, 3.04, 1.96], atol=5e-3)
    assert line.at(12) == pytest.approx(less.value)
    assert tr.evaluate(cmdp, less).value == less.value
    with refuses(
        tr.ModelError, argument="budget", entry="i=0", found=200.0, expected="a number in [0, 168]"
    ):
        cmdp.with_budget([200, 2])


def test_names_of_the_catalog_stand_for_their_models():
    cmdp = tr.envs.build("ring")
    plan = tr.solve("ring")
    assert plan.value == tr.solve(cmdp).value
    assert tr.evaluate("ring", plan).value == plan.value
    assert tr.frontier("ring").value.tolist() == tr.frontier(cmdp).value.tolist()
    assert tr.slater("ring").value == tr.slater(cmdp).value
    run = tr.learn("ring", "uniform", episodes=2)
    assert run.optimum == pytest.approx(plan.value)
    with refuses(tr.ConfigError, argument="cmdp", found="ringg"):
        tr.solve("ringg")


@pytest.mark.parametrize("name", ["Safe-OptCMDP", "DOPE", "OptPess-LP"])
@pytest.mark.parametrize("baseline", ["least-use", "share:0.8", "uniform"])
def test_baselines_are_those_of_the_same_model_in_other_units(name, baseline):
    rng = np.random.default_rng(3)
    transition = rng.dirichlet(np.ones(3), (3, 2))
    cost, wear = rng.random((3, 2)), rng.random((1, 3, 2))
    plain = tr.CMDP(transition, cost, wear, budget=[2.5], horizon=4)
    hours = tr.CMDP.from_costs(
        transition,
        10.0 + 50.0 * cost,
        8.0 * wear,
        budget=[20.0],
        horizon=4,
        cost_range=(10.0, 60.0),
        constraint_range=[(0.0, 8.0)],
    )
    runs = [
        tr.learn(cmdp, name, episodes=40, confidence="tight", baseline=baseline)
        for cmdp in (plain, hours)
    ]
    np.testing.assert_allclose(runs[1].baseline, runs[0].baseline, rtol=1e-7, atol=1e-9)
    for run in runs:
        assert run.n_violations == 0
    excess = 8.0 * runs[0].excess[:, 1:]
    np.testing.assert_allclose(runs[1].excess[:, 1:], excess, rtol=1e-7, atol=1e-7)


def test_a_stated_bound_is_in_the_units_of_the_ranges():
    sizes = {"n_states": 2, "n_actions": 2, "horizon": 2, "episodes": 5}
    options = {"baseline": np.full((2, 2, 2), 0.5), "confidence": "tight"}
    plain = tr.learner("Safe-OptCMDP", **sizes, budget=[1.5], bound=0.5, **options)
    hours = tr.learner(
        "Safe-OptCMDP", **sizes, budget=[12.0], bound=4.0, constraint_range=[(0.0, 8.0)], **options
    )
    plain.plan(), hours.plan()
    assert plain.baseline_probability > 0.0
    assert hours.baseline_probability == pytest.approx(plain.baseline_probability)


@settings(max_examples=6, deadline=None)
@given(pair=pairs())
def test_logs_and_fits_are_converted(pair):
    policy = np.where(pair.plain.allowed, 1.0, 0.0)
    policy /= policy.sum(axis=2, keepdims=True)
    log, shown = (tr.simulate(cmdp, policy, 30, seed=2) for cmdp in pair)
    for one, other in zip(log.totals, shown.totals, strict=True):
        assert other == pytest.approx([pair.total(one[0]).expected, *pair.totals(one[1:]).expected])
    budgets = [dict(zip(c.constraint_names, c.budget.tolist(), strict=True)) for c in pair]
    for method in ("bound_average", "bound"):
        given = () if method == "bound_average" else (policy,)
        bounds, ours = (
            getattr(each, method)(*given, budget=budget)
            for each, budget in zip((log, shown), budgets, strict=True)
        )
        require_bounds(pair, bounds, ours)
        assert ours.constraint_names == tuple(pair.scaled.constraint_names)
    fits = [
        tr.fit(each, budget, "OptCMDP", confidence={"scale": 0.05})
        for each, budget in zip((log, shown), budgets, strict=True)
    ]
    assert fits[1].plan.value == pytest.approx(
        pair.scaled.cost_unit.show(fits[0].plan.value), rel=1e-6, abs=1e6 * pair.noise
    )
    require_bounds(pair, fits[0].learner.bound(policy), fits[1].learner.bound(policy))


def require_bounds(pair: Pair, plain: Any, shown: Any) -> None:
    """Compare bounds, of which the first are for costs in [0, 1]."""
    units = pair.scaled.cost_unit, *pair.scaled.constraint_units
    inside, outside = (plain.cost, *plain.constraint_cost), (shown.cost, *shown.constraint_cost)
    for unit, ends, found in zip(units, inside, outside, strict=True):
        np.testing.assert_allclose(
            found, np.sort(unit.show(ends)), rtol=1e-6, atol=1e6 * pair.noise
        )
    assert shown.verdicts == plain.verdicts
    assert shown.budget == pair.totals(plain.budget)


@few
@given(pair=pairs())
def test_gymnasium_environments_are_in_units(pair):
    plain, shown = (tr.to_gymnasium(cmdp) for cmdp in pair)
    units, H = pair.scaled.units, pair.scaled.horizon
    plain.reset(seed=1), shown.reset(seed=1)
    for _ in range(H):
        _, reward, _, _, before = plain.step(0)
        _, ours, _, _, after = shown.step(0)
        cost = units.cost.show_step(np.array(1.0 - reward), H)
        sign = 1.0 if units.cost.is_maximized else -1.0
        assert ours == pytest.approx(sign * cost, abs=pair.noise)
        names = zip(pair.plain.constraint_names, pair.scaled.constraint_names, strict=True)
        for unit, (one, other) in zip(units.constraints, names, strict=True):
            paid = unit.show_step(np.array(before[f"cost_{one}"]), H)
            assert after[f"cost_{other}"] == pytest.approx(paid, abs=pair.noise)


@settings(max_examples=6, deadline=None)
@given(pair=pairs(least=1))
def test_rows_given_to_callbacks_and_trackers_are_those_of_the_run(pair):
    rows: list[dict[str, Any]] = []
    run = tr.learn(pair.scaled, "OptCMDP", 4, confidence="tight", on_record=rows.append)
    assert rows[-1]["cost_regret_plus"] == pytest.approx(run.regret["cost_plus"][-1])
    for name, i in zip(run.constraint_names, range(len(run.constraint_names)), strict=True):
        assert rows[-1]["constraint_excess"][name] == pytest.approx(run.excess[-1, 1 + i])
        assert rows[-1]["multiplier"][name] == pytest.approx(run.multiplier[-1, i])


def test_studies_are_converted(tmp_path):
    sizes = {"states": ["on"], "actions": ["run", "stop"], "horizon": 2, "episodes": 20}
    plain = tr.Terms(budget={"wear": 1.5}, **sizes)
    ranges = {"cost": (5.0, 45.0), "wear": (1.0, 9.0)}
    scaled = tr.Terms(budget={"wear": 2.0 + 8.0 * 1.5}, ranges=ranges, **sizes)
    answers = []
    for terms, cost, wear in ((plain, [0.25, 0.5], [1.0, 0.0]), (scaled, [15.0, 25.0], [9.0, 1.0])):
        study = tr.Study.new(tmp_path / "pumps.db", f"pump {len(answers)}", terms)
        study.tell([tr.Told("monday", ["on"] * 3, ["run"] * 2, cost, {"wear": wear})])
        answers.append(study.ask())
    first, second = answers
    assert second.plan.value == pytest.approx(10.0 + 40.0 * first.plan.value)
    np.testing.assert_allclose(second.bounds.cost, 10.0 + 40.0 * first.bounds.cost)
    used = 2.0 + 8.0 * first.bounds.constraint_cost
    np.testing.assert_allclose(second.bounds.constraint_cost, used)
    assert second.bounds.budget == pytest.approx([14.0])
    assert second.bounds.constraint_names == ("wear",)


def test_episodes_that_are_over_are_absorbed_with_costs_in_units():
    sizes = {"n_states": 2, "n_actions": 2, "horizon": 2, "budget": [], "episodes": 9}
    plain = tr.learner("OptCMDP", confidence="tight", **sizes)
    scaled = tr.learner("OptCMDP", confidence="tight", cost_range=(0.0, 40.0), **sizes)
    states, actions, none = np.array([[0, 1, 1]]), np.array([[1, 0]]), np.zeros((1, 0, 2))
    for each, unit in ((plain, 1.0), (scaled, 40.0)):
        cost = np.array([[0.5, 0.25]]) * unit
        end = End(1, np.array([0.25 * unit]))
        each.absorb(tr.Episodes(states, actions, cost, none), end)
    policy = np.full((2, 2, 2), 0.5)
    np.testing.assert_allclose(scaled.bound(policy).cost, 40.0 * plain.bound(policy).cost)


@pytest.mark.parametrize("kind", [tr.DiscountedCMDP, tr.AverageCMDP])
def test_models_without_a_horizon_are_converted(kind):
    rng = np.random.default_rng(7)
    kernel, cost, wear = rng.dirichlet(np.ones(3), (3, 2)), rng.random((3, 2)), rng.random((3, 2))
    more = {"discount": 0.9} if kind is tr.DiscountedCMDP else {}
    steps = 10.0 if more else 1.0
    plain = kind(kernel, cost, wear[None], budget=[0.4 * steps], **more)
    scaled = kind.from_costs(
        kernel,
        10.0 + 50.0 * cost,
        (8.0 * wear)[None],
        budget=[3.2 * steps],
        cost_range=(10.0, 60.0),
        constraint_range=[(0.0, 8.0)],
        **more,
    )
    one, other = tr.solve(plain), tr.solve(scaled)
    assert other.value == pytest.approx(10.0 * steps + 50.0 * one.value)
    np.testing.assert_allclose(other.constraint_value, 8.0 * one.constraint_value)
    np.testing.assert_allclose(other.multiplier, 50.0 / 8.0 * one.multiplier, rtol=1e-6)
    room, ours = tr.slater(plain), tr.slater(scaled)
    np.testing.assert_allclose(ours.spare, 8.0 * room.spare, rtol=1e-6)
    np.testing.assert_allclose(tr.feasibility(scaled).alone, 8.0 * tr.feasibility(plain).alone)
    line, shown = tr.frontier(plain), tr.frontier(scaled)
    np.testing.assert_allclose(shown.budget, 8.0 * line.budget, rtol=1e-6, atol=1e-9)


def test_figures_are_drawn_in_units():
    cmdp = ward()
    line = tr.frontier(cmdp)
    axes = frontier_figure(line, cmdp).axes[0]
    curve = max(axes.lines, key=lambda each: len(each.get_xdata()))
    assert set(line.budget) <= set(curve.get_xdata())
    assert set(line.value) <= set(curve.get_ydata())
