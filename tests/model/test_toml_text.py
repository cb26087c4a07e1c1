"""Models as TOML text: numbers and names stand there as their author gave them."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from model_samples import same

from refusals import refuses
from tightrope.errors import ModelError
from tightrope.model import CMDP


@settings(deadline=None)
@given(
    values=st.lists(st.integers(-4000, 4000), min_size=4, max_size=4, unique=True),
    decimals=st.integers(0, 4),
    H=st.integers(1, 30),
    share=st.integers(0, 100),
    gain=st.booleans(),
)
@example(values=[0, 1, -1, 148], decimals=2, H=3, share=100, gain=False)
def test_decimal_numbers_are_written_as_the_author_gave_them(
    tmp_path_factory, values, decimals, H, share, gain
):
    path = tmp_path_factory.mktemp("files") / "m.toml"
    own = np.array(values).reshape(2, 2) / 10**decimals
    ends = (float(own.min()), float(own.max()))
    bound = round(H * (ends[0] + (ends[1] - ends[0]) * share / 100), 2)
    # an author writes 4.44, not the 4.4399999999999995 that 3 * 1.48 is
    bound = round(min(max(bound, H * ends[0]), H * ends[1]), max(2, decimals)) + 0.0
    p = np.full((2, 2, 2), 0.5)
    if gain:
        model = CMDP.from_rewards(
            p, own, own[None], [bound], H, reward_range=ends, utility_range=[ends]
        )
    else:
        model = CMDP.from_costs(
            p, own, own[None], [bound], H, cost_range=ends, constraint_range=[ends]
        )

    model.save(path)

    text = path.read_text()
    assert same(CMDP.load(path), model)
    assert "shown" not in text
    for value in own[own != 0]:
        assert f", {float(value)!r}]" in text
    assert f"{'floor' if gain else 'budget'} = {bound!r}\n" in text


def test_names_with_quotes_controls_and_wildcards_come_back(tmp_path):
    names = ['a"b\\', "\x7f\x00\n", "*", "\u00e9\U0001f600"]
    p = np.full((4, 4, 4), 0.25)
    cost = np.arange(16).reshape(4, 4) / 16
    model = CMDP(
        p,
        cost,
        cost[None],
        [1.0],
        2,
        "*",
        state_names=names,
        action_names=names,
        constraint_names=["*"],
    )
    model.save(tmp_path / "m.toml")

    assert same(CMDP.load(tmp_path / "m.toml"), model)


def test_a_name_that_is_no_text_is_refused(tmp_path):
    model = CMDP(np.ones((1, 1, 1)), [[0.0]], horizon=1, state_names=["\ud800"])

    with refuses(ModelError, "as UTF-8 text", argument="names", found="\ud800"):
        model.save(tmp_path / "m.toml")
    model.save(tmp_path / "m.npz")
    assert same(CMDP.load(tmp_path / "m.npz"), model)
