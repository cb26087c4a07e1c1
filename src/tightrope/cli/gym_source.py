"""``gym:ID``: a Gymnasium environment named on the command line."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from rich.text import Text

from tightrope import envs
from tightrope.cli.pairs import ranges_of, values_of
from tightrope.cli.screen import one_line
from tightrope.errors import ModelError
from tightrope.interop.extra import made
from tightrope.interop.from_gymnasium import from_gymnasium
from tightrope.model import CMDP
from tightrope.model.ranges import Range
from tightrope.progress import err, working

# what the library's arguments are called on the command line
OPTIONS = {
    "costs= says where a cost comes from": "--budget NAME=VALUE names a hazard or a key of info",
    "cost_range (--range NAME=LOW:HIGH)": "--range NAME=LOW:HIGH",
    "reward_range (--range reward=LOW:HIGH)": "--range reward=LOW:HIGH",
    "total_range": "--total-range",
    "reward_range": "--range reward",
    "cost_range": "--range",
}
TRUTHS = {"true": True, "yes": True, "on": True, "false": False, "no": False, "off": False}


def imported(
    word: str, settings: Sequence[str], budgets: Sequence[str], ranges: Sequence[str]
) -> CMDP:
    """The model in the table of an environment; what was rescaled is told on stderr.

    Parameters
    ----------
    word : str
        ``gym:`` and an id.
    settings : sequence of str
        ``horizon=N`` and parameters of the environment.
    budgets : sequence of str
        ``constraint=value`` each; the names say which costs there are.
    ranges : sequence of str
        ``name=low:high`` each, of ``reward`` or of a cost.
    """
    horizon, parameters = parameters_of(word, settings)
    bounds, (reward, costs) = budgets_by_name(budgets), ranges_by_name(ranges)
    with working(f"reading {word}"), in_words():
        env = made(id_of(word), **own_horizon(word, horizon), **parameters)
        cmdp, scaling = from_gymnasium(env, horizon, bounds, reward_range=reward, cost_range=costs)
        env.close()
    err().print(Text(one_line(f"{word}: {scaling.words}"), style="dim"), soft_wrap=True)
    return cmdp


def own_horizon(word: str, horizon: int) -> dict[str, int]:
    """What an environment of ours is told of the horizon; those of others end when they end."""
    space, _, its_id = id_of(word).partition("/")
    if space != "tightrope":
        return {}
    name = its_id.rpartition("-v")[0] or its_id
    return {"horizon": horizon} if "horizon" in envs.entry(name).defaults else {}


def id_of(word: str) -> str:
    """What stands behind ``gym:``."""
    its_id = word.partition(":")[2]
    if not its_id:
        raise ModelError(f"{word}: expected gym:ID, as in gym:FrozenLake-v1")
    return its_id


def parameters_of(word: str, settings: Sequence[str]) -> tuple[int, dict[str, Any]]:
    """The horizon, and the parameters of the environment, from words such as ``slip=0.2``."""
    parameters: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        key = key.strip()
        if not equals or not key:
            raise ModelError(f"parameter {setting!r}: expected NAME=VALUE, as in map_name=8x8")
        if key in parameters:
            raise ModelError(f"parameter {key!r} of {word}: given twice")
        parameters[key] = _plain(text.strip())
    if "horizon" not in parameters:
        raise ModelError(f"{word}: how many steps has an episode? give --horizon, as in 20")
    horizon = parameters.pop("horizon")
    if not isinstance(horizon, int) or isinstance(horizon, bool) or horizon < 1:
        raise ModelError(f"horizon is {horizon!r}, expected a whole number of at least 1")
    return horizon, parameters


def _plain(text: str) -> bool | int | float | str:
    """A truth value, a number, or the text itself."""
    if text.lower() in TRUTHS:
        return TRUTHS[text.lower()]
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def budgets_by_name(words: Sequence[str]) -> dict[str, float] | None:
    """Budgets from words such as ``holes=0.1``; a lone number is for ``info["cost"]``."""
    return values_of("--budget", words, unnamed="cost") or None


def ranges_by_name(words: Sequence[str]) -> tuple[Range | None, dict[str, Range] | None]:
    """The range of the reward, and those of costs, from words such as ``holes=0:2``."""
    ranges = ranges_of(words)
    reward = ranges.pop("reward", None)
    return reward, ranges or None


@contextmanager
def in_words() -> Iterator[None]:
    """Let errors of the library speak of options where they speak of arguments."""
    try:
        yield
    except ModelError as error:
        text = str(error)
        for argument, option in OPTIONS.items():
            text = text.replace(argument, option)
        raise ModelError(text) from error
