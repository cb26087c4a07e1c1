"""The model named on the command line, with the options that concern it.

A name of the catalog, a file, or ``gym:ID`` for a Gymnasium environment with a table.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rich.text import Text

from tightrope.cli.learner_options import plain
from tightrope.cli.screen import exists, one_line
from tightrope.envs import catalog
from tightrope.errors import ConfigError, DataError, ModelError
from tightrope.model import CMDP, Model, Unit
from tightrope.model.units import Range, constraint_at
from tightrope.progress import err, working
from tightrope.text import guess

DRN = ".drn"  # files of Storm
GYM = "gym:"
ONLY_GYM = "only for gym:ID"
# names of the library's arguments on the command line
OPTIONS = {
    "costs= gives the source of a cost": "--budget NAME=VALUE names a hazard or a key of info",
    "cost_range sets": "--range NAME=LOW:HIGH sets",
    "reward_range sets": "--range reward=LOW:HIGH sets",
    "total_range": "--total-range",
    "reward_range": "--range reward",
    "cost_range": "--range",
    "horizon, discount and average=True": "--horizon, --discount and --average",
}
FORMS = ("horizon", "discount", "average")  # of costs that add up; one of them
DRN_KEYS = (*FORMS, "cost", "reward", "initial")
AT_LEAST = ">="


@dataclass(frozen=True)
class Source:
    """A model on the command line, with its options."""

    word: str  # what the user wrote
    name: str  # name in tables and figures
    path: Path | None  # path, if it is a file
    settings: tuple[str, ...] = ()  # parameter=value each
    budgets: tuple[str, ...] = ()  # constraint=value each, in the constraint's own units
    ranges: tuple[str, ...] = ()  # name=low:high each, for an environment of Gymnasium

    @classmethod
    def of(
        cls,
        word: str,
        settings: Sequence[str] | None = None,
        budgets: Sequence[str] | None = None,
        horizon: int | None = None,
        cost: str | None = None,
        reward: str | None = None,
        ranges: Sequence[str] | None = None,
        discount: float | None = None,
        average: bool = False,
    ) -> Source:
        """Return the source of the given words.

        A name of the catalog, unless it begins with ``gym:``, looks like a path or exists only
        as a file. ``horizon``, ``discount``, ``average``, ``cost`` and ``reward`` are short for
        settings of that name.
        """
        is_gym, path = word.startswith(GYM), Path(word)
        looks_like_path = bool(path.suffix) or path.name != word
        is_known = word in (*catalog.names(), *catalog.lasting_names())
        is_file = not is_gym and (looks_like_path or (not is_known and exists(path)))
        short = {"horizon": horizon, "discount": discount, "cost": cost, "reward": reward}
        short["average"] = True if average else None
        given = {key: str(value) for key, value in short.items() if value is not None}
        source = cls(
            word,
            path.name if is_file else word,
            path if is_file else None,
            (*(settings or ()), *map("=".join, given.items())),
            tuple(budgets or ()),
            tuple(ranges or ()),
        )
        source._require_fitting(list(given))
        return source

    def _require_fitting(self, short: Sequence[str]) -> None:
        """Raise for options that do not apply; ``short`` were given by their own name."""
        if self.is_model_file and self.settings:
            is_set = len(self.settings) > len(short)
            more = f"{self.word} is a file; only environments of the catalog have parameters"
            raise ConfigError.about("--set" if is_set else f"--{short[0]}", more=more)
        files = f"{DRN} files"
        kinds = {"cost": files, "reward": files, "average": f"{files} and gym:ID"}
        for key in short:
            if key in kinds and not (self.is_drn or (self.is_gym and key == "average")):
                more = f"only for {kinds[key]}; {self.word} determines it"
                raise ConfigError.about(f"--{key}", more=more)
        if self.ranges and not self.is_gym:
            raise ConfigError.about("--range", more=f"{ONLY_GYM}; {self.word} determines it")

    @property
    def is_gym(self) -> bool:
        """Whether it is an environment of Gymnasium."""
        return self.path is None and self.name.startswith(GYM)

    @property
    def is_drn(self) -> bool:
        """Whether it is a file of Storm."""
        return self.path is not None and self.path.suffix.lower() == DRN

    @property
    def is_model_file(self) -> bool:
        """Whether it is a model file of this library, which needs no options."""
        return self.path is not None and not self.is_drn

    def load(self) -> CMDP:
        """Return the model, with the given budgets; it must have a horizon."""
        cmdp = self.load_model()
        if not isinstance(cmdp, CMDP):
            raise ConfigError.about(self.word, shown=repr(cmdp), expected="a model with a horizon")
        return cmdp

    def load_model(self) -> Model:
        """Return the model, with the given budgets."""
        if self.is_gym:
            return _from_gym(self.name, self.settings, self.budgets, self.ranges)
        if self.path is not None and self.is_drn:
            return _from_drn(self.path, self.settings, self.budgets)
        cmdp = self._own()
        return cmdp.with_budget(self._bounds(cmdp))

    def bounds(self) -> dict[str, float]:
        """Return the given budgets, by the names of their constraints."""
        return self._bounds(self._own())

    def _own(self) -> Model:
        """Return the model of the catalog or of a model file, unchanged."""
        if self.path is not None:
            with working(f"reading {self.name}"):
                return Model.load(self.path)
        parameters = catalog.parse(self.name, self.settings)
        with working(f"building {self.name}"):
            return catalog.build(self.name, **parameters)

    def _bounds(self, cmdp: Model) -> dict[str, float]:
        """Return budgets and floors by name; a single number suffices for a single constraint."""
        bounds: dict[str, float] = {}
        for word in self.budgets:
            if "=" not in word and cmdp.n_constraints != 1:
                expected = "CONSTRAINT=VALUE, as in energy=12"
                raise ConfigError.about("--budget", shown=word, expected=expected)
            name, value = parse_value("--budget", word)
            names = cmdp.constraint_names
            label = names[constraint_at(names, name) if "=" in word else 0]
            if label in bounds:
                raise ConfigError.about("--budget", found=label, more=" is given twice")
            bounds[label] = value
        return bounds


def whole_model(option: str, word: str, budgets: Sequence[str] = ()) -> CMDP:
    """Return the model that an option names, which must need no further options."""
    source = Source.of(word, budgets=budgets)
    if source.is_gym or source.is_drn:
        more = " has no horizon; tightrope convert makes a model file from it"
        raise ConfigError.about(option, shown=word, more=more)
    return source.load()


def step_range(unit: Unit, H: int) -> Range:
    """Return the least and greatest shown value of one step."""
    ends = unit.shift / H, unit.shift / H + unit.factor
    return min(ends), max(ends)


def _from_gym(
    word: str, settings: Sequence[str], budgets: Sequence[str], ranges: Sequence[str]
) -> Model:
    """Return the model of an environment with a table; report rescaling on stderr."""
    from tightrope.interop.gym import make_env
    from tightrope.interop.gym.models import from_gymnasium

    parameters = _parameters(word, settings)
    form = {key: parameters.pop(key) for key in FORMS[1:] if key in parameters}
    if not form or "horizon" in parameters:
        form["horizon"] = _horizon(word, parameters)
    bounds, (reward, costs) = budgets_by_name(budgets), ranges_by_name(ranges)
    with working(f"reading {word}"), in_words():
        own = own_horizon(word, form["horizon"]) if "horizon" in form else {}
        env = make_env(id_of(word), **own, **parameters)
        form |= {"budget": bounds, "reward_range": reward, "cost_range": costs}
        cmdp, scaling = from_gymnasium(env, **form)
        env.close()
    err().print(Text(one_line(f"{word}: {scaling.words}"), style="dim"), soft_wrap=True)
    return cmdp


def own_horizon(word: str, horizon: int) -> dict[str, int]:
    """Return the horizon parameter for our own environments."""
    space, _, its_id = id_of(word).partition("/")
    if space != "tightrope":
        return {}
    name = its_id.rpartition("-v")[0] or its_id
    return {"horizon": horizon} if "horizon" in catalog.entry(name).defaults else {}


def id_of(word: str) -> str:
    """Return the id after ``gym:``."""
    its_id = word.partition(":")[2]
    if not its_id:
        raise ConfigError.about(word, expected="gym:ID, as in gym:FrozenLake-v1")
    return its_id


def parameters_of(word: str, settings: Sequence[str]) -> tuple[int, dict[str, Any]]:
    """Return the horizon and the parameters of the environment, as in ``slip=0.2``."""
    parameters = _parameters(word, settings)
    return _horizon(word, parameters), parameters


def _parameters(word: str, settings: Sequence[str]) -> dict[str, Any]:
    """Return all parameters, those that say how costs add up included."""
    parameters: dict[str, Any] = {}
    for setting in settings:
        key, equals, text = setting.partition("=")
        key = key.strip()
        if not equals or not key:
            raise ConfigError.about(
                "parameter", found=setting, expected="NAME=VALUE, as in slip=0.2"
            )
        if key in parameters:
            raise ConfigError.about("parameter", found=key, more=f" of {word} is given twice")
        parameters[key] = plain(text.strip())
    return parameters


def _horizon(word: str, parameters: dict[str, Any]) -> int:
    """Take the horizon out of the parameters."""
    if "horizon" not in parameters:
        expected = "the number of steps of an episode, as in 20"
        raise ConfigError.about("--horizon", shown="missing", expected=expected, where=word)
    horizon = parameters.pop("horizon")
    if not isinstance(horizon, int) or isinstance(horizon, bool) or horizon < 1:
        raise ConfigError.about(
            "horizon",
            verb="is",
            found=horizon,
            shown=repr(horizon),
            expected="a whole number of at least 1",
        )
    return horizon


def budgets_by_name(words: Sequence[str]) -> dict[str, float] | None:
    """Return budgets, as in ``holes=0.1``; a single number is for ``info["cost"]``."""
    return values_of("--budget", words, unnamed="cost") or None


def ranges_by_name(words: Sequence[str]) -> tuple[Range | None, dict[str, Range] | None]:
    """Return the range of the reward, and those of costs, as in ``holes=0:2``."""
    ranges = ranges_of(words)
    reward = ranges.pop("reward", None)
    return reward, ranges or None


@contextmanager
def in_words() -> Iterator[None]:
    """Replace names of arguments in errors of the library by command-line options."""
    try:
        yield
    except ModelError as error:
        text = str(error)
        for argument, option in OPTIONS.items():
            text = text.replace(argument, option)
        raise error.with_message(text) from error


def _from_drn(path: Path, settings: Sequence[str], budgets: Sequence[str]) -> Model:
    """Return the model of a DRN file.

    Settings are ``horizon=20``, ``discount=0.9`` or ``average=true``, ``cost=STRUCTURE`` or
    ``reward=STRUCTURE``, ``initial=STATE``.
    Budgets ``structure=value`` say which reward structures are constraints; ``structure>=value``
    is for one that must be earned.
    """
    from tightrope.interop.storm import read_drn

    given: dict[str, str] = {}
    for word in settings:
        key, equals, value = word.partition("=")
        if key in given:
            raise ConfigError.about("--set", found=key, more=" is given twice")
        if not equals or key not in DRN_KEYS:
            expected = f"one of {', '.join(DRN_KEYS)}, as in cost=time"
            more = guess(key, DRN_KEYS)
            raise ConfigError.about("--set", shown=word, expected=expected, more=more)
        given[key] = value
    form = {key: plain(given[key]) for key in FORMS if key in given}
    if not form or not given.get("horizon", "1").isdecimal():
        found = f"{form['horizon']!r}" if form else "missing"
        raise ConfigError.about(
            "horizon",
            more=(
                f"{found}; {path.name} has none; give the steps of an episode, as in "
                "--horizon 20, or --discount 0.9, or --average"
            ),
        )
    initial = given.get("initial")
    floors = [word.replace(AT_LEAST, "=") for word in budgets if AT_LEAST in word]
    caps = [word for word in budgets if AT_LEAST not in word]
    with working(f"reading {path.name}"), in_words():
        read: Any = read_drn  # the form has values of any type, which it checks
        model: Model = read(
            path,
            cost=given.get("cost"),
            budget=values_of("--budget", caps),
            reward=given.get("reward"),
            floor=values_of("--budget", floors),
            **form,
            initial=int(initial) if initial is not None and initial.isdecimal() else initial,
        )
    return model


def ranges_of(words: Sequence[str], option: str = "--range") -> dict[str, Range]:
    """Return ranges, as in ``energy=0:12``."""
    found: dict[str, Range] = {}
    for word in words:
        name, _, ends = word.rpartition("=")
        try:
            low, high = map(float, ends.replace(",", ":").split(":"))
        except ValueError:
            low = high = math.nan
        if not name or not low < high:
            raise ConfigError.about(option, shown=word, expected="NAME=LOW:HIGH, as in energy=0:12")
        if name in found:
            raise ConfigError.about(option, found=name, more=" is given twice")
        found[name] = (low, high)
    return found


def values_of(option: str, words: Sequence[str], unnamed: str = "") -> dict[str, float]:
    """Return numbers by name, as in ``risk=2.5``; a single number is for ``unnamed``, if given."""
    found: dict[str, float] = {}
    for word in words:
        if not unnamed and word.rpartition("=")[0].strip() == "":
            raise ConfigError.about(option, shown=word, expected="NAME=VALUE, as in risk=2.5")
        if AT_LEAST in word:
            raise ConfigError.about(option, shown=word, expected="an upper limit, as in risk<=2.5")
        name, value = parse_value(option, word)
        name = name or unnamed
        if name in found:
            raise ConfigError.about(option, found=name, more=" is given twice")
        found[name] = value
    return found


def parse_value(option: str, word: str) -> tuple[str, float]:
    """Return name and number, as in ``risk=2.5`` or ``risk<=2.5``; a single number has no name."""
    name, _, text = word.rpartition("=")
    name = name.removesuffix("<")
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ConfigError.about(f"{option} {name}".strip(), found=text, expected="a finite number")
    return name.strip(), value


def columns_of(words: Sequence[str]) -> dict[str, str]:
    """Return columns of the log by name, as in ``state=machine``."""
    found: dict[str, str] = {}
    for word in words:
        name, _, column = (part.strip() for part in word.partition("="))
        if not name or not column or name in found:
            raise ConfigError.about(
                "--column", shown=word, expected="NAME=COLUMN, as in state=machine"
            )
        found[name] = column
    return found


def advise_form(error: DataError) -> str:
    """Return the message of an error of a log with the options that say how it is written."""
    text = str(error)
    if error.argument == "decimal":
        plain = "state which, as decimal=',' or decimal='.'"
        text = text.replace(plain, "--decimal , reads 1.234,5 and --decimal . reads 1,234.5")
        return re.sub(r"decimal='(.)' reads them", r"--decimal \1 reads them", text)
    if error.argument == "encoding":
        return re.sub(r"encoding '([\w-]+)'$", r"--encoding \1", text)
    if str(error.argument).startswith("column "):
        return f"{text}; --column NAME=COLUMN names one"
    return text
