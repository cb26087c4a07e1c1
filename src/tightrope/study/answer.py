"""Answer: the next policy of a study, and its bounds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from tightrope.arrays import Bools
from tightrope.model.plan import Plan
from tightrope.study.advice import Advice, advice_of
from tightrope.study.terms import Terms
from tightrope.text import counted

if TYPE_CHECKING:  # these load compiled code, which telling does not need
    from tightrope.learners.interactive import InteractiveLearner
    from tightrope.plan.bound import Bounds


@dataclass(frozen=True)
class Answer:
    """The next policy of a study, in its units.

    Parameters
    ----------
    number : int
        Of the policy: that of its episode.
    n_told : int
        Number of episodes that it is based on.
    plan : Plan
        The policy, its planned values (NaN without data) and the multipliers.
    bounds : Bounds
        Bounds on its values.
    is_last : bool
        Whether all episodes were told, so that this is the last policy.
    n_infeasible : int
        Plans so far that were infeasible in the whole confidence set.
    is_undecided : (H, S) booleans
        Where several actions exist and none is preferred yet.
    advice : Advice, optional
        Which of two policies it is, for learners with a baseline.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> terms = tr.Terms(["on"], ["run", "stop"], 1, {"wear": 0.5}, episodes=500)
    >>> with TemporaryDirectory() as folder:
    ...     answer = tr.Study.new(f"{folder}/pump.db", "pump", terms).ask()
    >>> answer.number, answer.is_last, answer.bounds.constraint_names
    (1, False, ('wear',))
    """

    number: int
    n_told: int
    plan: Plan
    bounds: Bounds
    is_last: bool
    n_infeasible: int
    is_undecided: Bools  # (H, S)
    advice: Advice | None = None

    def __repr__(self) -> str:
        told = counted(self.n_told, "episode")
        return f"Answer(policy {self.number} after {told}, {self.plan!r}, {self.bounds!r})"

    def _repr_html_(self) -> str:
        from tightrope.show.cards import bounds_card, card, plan_card

        facts = [f"policy {self.number}", f"after {counted(self.n_told, 'episode')}"]
        plan = plan_card(self.plan, self.bounds.constraint_names)
        return card("Answer", facts, plan, bounds_card(self.bounds))


def answer_of(
    learner: InteractiveLearner,
    terms: Terms,
    recommended: Mapping[int, Advice],
    estimated: Plan | None = None,
) -> Answer:
    """Return the next policy of a learner, and its bounds; what was drawn for it before stays.

    ``estimated`` takes the place of the learner's own plan.
    """
    is_last = learner.n_observed >= terms.episodes
    number = min(learner.n_observed + 1, terms.episodes)
    plan = estimated or (learner.last_plan if is_last else learner.plan())
    advice = advice_of(learner, terms.constraints)
    if advice is not None:
        stored = recommended.get(number)
        if stored is not None and stored.plays_baseline and not advice.plays_baseline:
            learner.play_baseline()
            plan, advice = learner.last_plan, replace(advice, plays_baseline=True)
    return Answer(
        number=number,
        n_told=learner.n_observed,
        plan=plan,
        bounds=learner.bound(plan.policy),
        is_last=is_last,
        n_infeasible=learner.n_infeasible if estimated is None else 0,
        is_undecided=learner.is_undecided,
        advice=advice,
    )
