from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from model_samples import FORMS, models, random_kernel, shop

import tightrope as tr
from refusals import refuses
from tightrope.model import CMDP, Finding, Unit
from tightrope.model import lint as lint_module
from tightrope.model.draft import draft, settle
from tightrope.model.files import read_model
from tightrope.model.lint import lint, lint_draft

forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS.keys())


def one(findings, subject):
    """The only finding about a subject."""
    found = [finding for finding in findings if finding.subject == subject]
    assert len(found) == 1, found
    return found[0]


def shop_with(**changes):
    return CMDP(**{**shop(), **changes}).check()


def test_a_valid_model_has_no_findings():
    assert CMDP(**shop()).check() == ()


def test_a_slack_budget_is_reported_with_the_largest_possible_use():
    assert shop_with(budget=[2.0]) == (
        Finding(
            "warning",
            "budget",
            "the budget of 'energy' never binds: no policy exceeds 0.75, the budget is 2",
            "tighten it, or leave the constraint out",
        ),
    )
    assert one(shop_with(budget=[0.75]), "budget").level == "warning"
    assert shop_with(budget=[0.7]) == ()


def test_an_impossible_budget_is_an_error_with_the_least_that_must_be_spent():
    # idle costs 0.3 and waiting when busy 0.1: idle, then half idle and half busy, then 1/4 idle
    # least: always wait, 0.3 + (0.5 * 0.3 + 0.5 * 0.1) + (0.25 * 0.3 + 0.75 * 0.1) = 0.65
    cost = [[[0.3, 0.0], [0.1, 0.9]]]

    assert shop_with(constraint_cost=cost, budget=[0.6]) == (
        Finding(
            "error",
            "budget",
            "no policy keeps the budget of 'energy': "
            "the least attainable is 0.65, the budget is 0.6",
            "a budget of 0.65 can be kept",
        ),
    )
    tight = one(shop_with(constraint_cost=cost, budget=[0.65]), "budget")
    assert tight.level == "warning"
    assert "leaves no slack" in tight.message


def test_findings_are_in_the_units_of_the_author():
    options = {k: v for k, v in shop().items() if k not in ("cost", "constraint_cost", "budget")}
    p = options.pop("transition")
    served = [[[0.0, 0.0], [0.0, 10.0]]]

    def findings(floor):
        return CMDP.from_rewards(
            p, shop()["cost"], served, [floor], utility_range=[(0, 10)], **options
        ).check()

    assert one(findings(8.0), "budget").message == (
        "no policy reaches the floor of 'energy': the most attainable is 7.5, the floor is 8"
    )
    assert one(findings(8.0), "budget").remedy == "a floor of 7.5 can be reached"
    assert findings(7.0) == ()
    assert one(findings(0.0), "budget").message == (
        "the floor of 'energy' never binds: every policy reaches 0, the floor is 0"
    )
    assert "the floor of 'energy', 7.5, leaves no slack" in one(findings(7.5), "budget").message


def test_a_constraint_without_costs_is_reported():
    found = one(shop_with(constraint_cost=np.zeros((1, 2, 2))), "constraint")

    assert found.message == "constraint 'energy' is zero for every state and action, it never binds"
    # only the forbidden pair costs anything
    assert one(shop_with(constraint_cost=[[[0, 1], [0, 0]]]), "constraint") == found


def test_a_repeated_constraint_is_reported_with_its_binding_budget():
    cost = shop()["constraint_cost"] * 2
    changes = {"constraint_cost": cost, "constraint_names": ["a", "b"]}
    found = one(shop_with(**changes, budget=[0.6, 0.5]), "constraint")

    assert found.message == (
        "constraint 'b' has the same costs as 'a'; only the smaller budget matters, that of 'b'"
    )
    assert found.remedy == "leave out 'a'"


@forms
def test_states_that_no_policy_reaches_are_counted_and_named(form):
    p = np.zeros((8, 2, 8))
    p[:, :, 0] = 1.0
    p[0, 1] = np.eye(8)[1]
    names = [f"room {s}" for s in range(8)]
    model = CMDP(form(p), np.eye(8, 2), horizon=9, state_names=names)

    assert one(model.check(), "states") == Finding(
        "warning",
        "states",
        "6 of 8 states are never reached: "
        "'room 2', 'room 3', 'room 4', 'room 5', 'room 6' and 1 more",
        "check the start and the transitions into them, or leave them out",
    )


def test_a_state_beyond_the_horizon_is_never_reached_and_the_last_arrival_is():
    line = np.zeros((4, 1, 4))
    line[[0, 1, 2, 3], 0, [1, 2, 3, 3]] = 1.0

    def missing(H):
        found = CMDP(line, np.ones((4, 1)), horizon=H).check()
        return [finding.message for finding in found if finding.subject == "states"]

    assert missing(2) == ["1 of 4 states are never reached: 3"]
    assert missing(3) == []


def test_a_forbidden_action_reaches_nothing():
    p = np.zeros((2, 2, 2))
    p[:, 0, 0] = p[:, 1, 1] = 1.0
    allowed = np.ones((3, 2, 2), dtype=bool)
    cost = np.array([[0.0, 1.0], [0.5, 0.2]])

    assert CMDP(p, cost, horizon=3, allowed=allowed).check() == ()
    allowed[:, 0, 1] = False
    assert one(CMDP(p, cost, horizon=3, allowed=allowed).check(), "states").level == "warning"
    allowed[1, 0, 1] = True
    assert CMDP(p, cost, horizon=3, allowed=allowed).check() == ()


def test_an_objective_that_no_policy_changes_is_noted():
    found = one(shop_with(cost=np.full((2, 2), 0.5)), "objective")

    assert found == Finding("note", "objective", "every policy has the same expected cost, 1.5")
    euro = one(shop_with(cost=np.full((2, 2), -1), cost_unit=Unit("euro", 4.0, -9.0)), "objective")
    assert euro.message == "every policy has the same expected euro, -3"


def test_findings_come_worst_first():
    cost = np.array([[[0.3, 0.0], [0.1, 0.9]], [[0.0, 0.0], [0.0, 1.0]]])
    found = shop_with(
        cost=np.zeros((2, 2)),
        constraint_cost=cost,
        budget=[0.1, 2.0],
        constraint_names=["a", "b"],
        initial="busy",
    )

    assert [finding.level for finding in found] == ["error", "warning", "note"]


@settings(deadline=None, max_examples=40)
@given(model=models())
def test_the_least_and_the_most_are_those_of_enumerated_policies(model):
    from tightrope.model.lint import _extremes

    if model.n_states * model.horizon > 6:
        return
    sets = [
        np.flatnonzero(model.allowed[h, s])
        for h in range(model.horizon)
        for s in range(model.n_states)
    ]
    p = np.broadcast_to(model.transition, (model.horizon, *model.transition.shape[-3:]))
    inside = model._draft
    losses = np.stack(
        [np.broadcast_to(x, model.cost.shape) for x in (inside.cost, *inside.constraint_cost)]
    )
    totals = []
    for choice in product(*sets):
        actions = np.reshape(choice, (model.horizon, model.n_states))
        here, total = model.initial, 0.0
        for h, chosen in enumerate(actions):
            s = np.arange(model.n_states)
            total = total + losses[:, h, s, chosen] @ here
            here = here @ p[h, s, chosen]
        totals.append(total)

    least, most = _extremes(model._draft)

    np.testing.assert_allclose(least, np.min(totals, axis=0), atol=1e-12)
    np.testing.assert_allclose(most, np.max(totals, axis=0), atol=1e-12)


def test_a_draft_with_faults_lists_them_all_with_remedies():
    found = lint_draft(
        draft(
            np.array([[[0.5, 0.3]], [[0.9, 0.1]]]),
            [[-5.0], [20.0]],
            [[[0.5], [1.0]], [[0.0], [30.0]]],
            [0.5, 9.0],
            horizon=2,
            initial=[1.0, 3.0],
        )
    )

    assert [finding.level for finding in found] == ["error"] * 5
    assert [finding.subject for finding in found] == [
        "row",
        "cost",
        "constraint cost",
        "budget",
        "start",
    ]
    row, cost, bounded, budget, start = found
    assert row.message == "transition[s=0, a=0] sums to 0.8, expected 1 within 1e-06"
    assert row.remedy.startswith("the worst of 1 rows misses 0.2: correct it")
    assert cost.message.startswith("cost[s=0, a=0] is -5, expected a number in [0, 1]; 2 such")
    assert cost.remedy == (
        "rescale: (cost + 5)/25; CMDP.from_costs(..., cost_range=(-5, 20)) does it and keeps "
        "your units, as does range = [-5, 20] in a TOML file"
    )
    assert bounded.remedy.startswith(
        "rescale: constraint_cost/30; "
        "CMDP.from_costs(..., constraint_range=[(0, 1), (0, 30)]) does it"
    )
    assert "bounds the expected sum over all 2 steps" in budget.remedy
    assert start.remedy == "divide it by its sum, 4"


@pytest.mark.parametrize(
    ("p", "remedy"),
    [
        ([0.5, 0.51], "divide each row by its sum; the worst is off by 0.01"),
        ([3.0, 5.0], "the worst of 1 rows has 7 too much"),
        ([0.0, 0.0], "1 rows are empty: fill them, or forbid those actions with allowed="),
        ([1.0, -1e-9], "set them to 0 and divide each row by its sum"),
        ([1.5, -0.5], ""),
        ([np.nan, 1.0], ""),
    ],
)
def test_rows_that_are_no_distribution_have_a_remedy_where_one_is_known(p, remedy):
    found = lint_draft(draft(np.array([[p], [[0.0, 1.0]]]), np.zeros((2, 1)), horizon=1))

    assert found[0].level == "error"
    assert found[0].remedy.startswith(remedy)
    assert bool(found[0].remedy) == bool(remedy)


def test_other_faults_have_their_remedies():
    base = shop()

    def remedy(subject, **changes):
        return one(lint_draft(draft(**{**base, **changes})), subject).remedy

    nan = [[np.nan, 0.0], [1.0, 0.4]]
    assert "forbid actions that do not exist" in remedy("cost", cost=nan)
    assert remedy("start", initial=[0.5, 0.25]) == "divide it by its sum, 0.75"
    assert remedy("start", initial=[-0.5, 0.25]) == ""
    assert "one that stays" in remedy("actions", allowed=[[False, False], [True, True]])


def test_the_remedy_is_that_of_the_constraint_at_fault_wherever_it_stands():
    d = shop()["constraint_cost"][0]
    model = draft(
        **{
            **shop(),
            "constraint_cost": [d, np.multiply(d, 2.0)],
            "budget": [0.5, 0.5],
            "constraint_names": ["energy", "noise"],
        }
    )
    units = [Unit("kWh", 3.0), Unit("decibel", 4.0)]

    assert one(lint_draft(model, None, units), "constraint cost").remedy == (
        "widen the range of 'decibel' to [0, 8]"
    )


def test_rescaling_as_the_remedy_states_removes_the_fault():
    cost = np.array([[-5.0, 0.0], [20.0, 3.0]])
    remedy = one(lint_draft(draft(**{**shop(), "cost": cost})), "cost").remedy

    assert "cost_range=(-5, 20)" in remedy
    model = CMDP.from_costs(**{**shop(), "cost": cost}, cost_range=(-5, 20))
    assert model.check() == ()


def test_rows_renormalized_within_the_tolerance_are_noted():
    p = np.array(shop()["transition"])
    p[0, 0] *= 1 + 1e-7
    p[1, 0] *= 1 - 2e-7

    found = lint_draft(draft(**{**shop(), "transition": p}))

    assert found == (
        Finding(
            "note",
            "row",
            "2 transition rows sum to 1 only within 2e-07 and are divided by their sums",
        ),
    )
    assert lint_draft(draft(**shop())) == ()


def test_a_draft_without_faults_is_linted_like_a_model():
    model = draft(**{**shop(), "budget": [2.0]})

    assert lint_draft(model) == lint(settle(model))
    assert len(lint_draft(model)) == 1


def test_a_file_with_bad_values_can_be_linted(tmp_path):
    path = tmp_path / "m.toml"
    path.write_text(
        """
        format = "tightrope-model 1"
        horizon = 2
        states = ["here"]
        actions = 1
        transition = [["here", 0, "here", 0.9]]
        [objective]
        name = "euro"
        range = [0, 20]
        cost = [["here", 0, 30]]
        [[constraint]]
        cost = [["here", 0, 7]]
        budget = 9
        """
    )
    contents = read_model(path)

    assert [finding.subject for finding in lint_draft(contents[0])] == [
        "row",
        "cost",
        "constraint cost",
        "budget",
    ]
    found = lint_draft(*contents[:3])
    message = "cost[s='here', a=0] is 30, expected a number in [0, 20]"
    assert one(found, "cost").message == message
    assert one(found, "cost").remedy == "widen the range of 'euro' to [0, 30]"
    assert "constraint_range=[(0, 7)]" in one(found, "constraint cost").remedy


def test_findings_do_not_depend_on_how_the_transition_was_given():
    rng = np.random.default_rng(0)
    p = random_kernel(rng, 12, S=30, A=3)
    p[..., 20:] = 0.0
    p /= p.sum(axis=-1, keepdims=True)
    bounded = rng.random((2, 12, 30, 3))
    options = {"cost": rng.random((30, 3)), "constraint_cost": bounded, "budget": [0.5, 11.5]}

    dense = CMDP(p, **options).check()
    sparse = CMDP([FORMS["csr"](stage) for stage in p], **options).check()

    assert dense == sparse
    assert [finding.subject for finding in dense] == ["budget", "states", "budget"]


LONG = 2**31 - 1


@pytest.mark.parametrize("seed", range(5))
def test_the_totals_of_a_long_horizon_are_those_of_all_its_steps(seed, monkeypatch):
    rng = np.random.default_rng(seed)
    p = rng.dirichlet(np.ones(4), (4, 3))
    cost, d = rng.random((4, 3)), rng.random((2, 4, 3))
    model = CMDP(p, cost, d, [900.0, 900.0], horizon=3000)._draft
    short = lint_module._extremes(model)
    monkeypatch.setattr(lint_module, "LOOK", 10**9)
    whole = lint_module._extremes(model)
    np.testing.assert_allclose(short, whole, rtol=0, atol=1e-9 * 3000)


def test_a_budget_is_compared_with_what_a_very_long_horizon_can_use():
    cmdp = CMDP(np.ones((1, 2, 1)), [[0.0, 1.0]], [[[0.75, 0.25]]], [1.0], horizon=LONG)
    (found,) = cmdp.check()
    assert found.level == "error"
    assert f"the least attainable is {LONG / 4:.6g}, the budget is 1" in found.message


def test_states_of_a_cycle_are_found_without_stepping_through_a_long_horizon():
    p = np.zeros((5, 1, 5))
    p[[0, 1, 2, 3, 4], 0, [1, 2, 0, 4, 3]] = 1.0
    cmdp = CMDP(p, np.zeros((5, 1)), np.zeros((1, 5, 1)), [1.0], horizon=LONG)
    assert "2 of 5 states are never reached: 3, 4" in [f.message for f in cmdp.check()]


def test_a_long_horizon_whose_totals_do_not_settle_is_noted():
    p = np.zeros((2, 1, 2))
    p[[0, 1], 0, [0, 1]] = 1.0  # each state keeps its own cost for good
    cmdp = CMDP(p, [[0.0], [1.0]], [[[0.0], [1.0]]], [1.0], horizon=LONG, initial=[0.5, 0.5])
    (found,) = cmdp.check()
    assert (found.level, found.subject) == ("note", "horizon")
    assert f"the horizon {LONG} is too long" in found.message


@pytest.mark.parametrize("shift", [0.0, -3.0, 1e3, 1e6])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e4])
def test_a_budget_that_the_linter_proposes_can_be_kept(shift, scale):
    low, high = shift * scale, (shift + 1) * scale
    spent = low + scale * np.array([[[0.7, 0.31234567]]])

    def with_budget(budget):
        return tr.CMDP.from_costs(
            np.ones((1, 2, 1)), [[0, 1]], spent, [budget], 10, constraint_range=[(low, high)]
        )

    short = with_budget(10 * low + 3.0 * scale)
    (remedy,) = [found.remedy for found in short.check() if found.level == "error"]
    tr.solve(with_budget(float(remedy.split()[3])))


def test_an_error_of_a_budget_without_a_horizon_says_what_it_bounds():
    process = [[[1.0]]], [[0.5]], [[[0.5]]]
    with refuses(tr.ModelError, "average per step", argument="budget", entry="i=0", found=2.0):
        tr.AverageCMDP(*process, [2.0])
    with refuses(tr.ModelError, "discounted sum.* = 20;", argument="budget", entry="i=0"):
        tr.DiscountedCMDP(*process, [21.0], 0.95)
    # 1 / (1 - 0.95) is a little below 20
    assert tr.DiscountedCMDP(*process, [20.0], 0.95).budget[0] == 20.0
