"""The exceptions of this library, one class per kind of failure.

Everything the library raises on purpose is a `TightropeError`; the command line turns each into
one line on stderr and exit status 2. Anything else that escapes is a bug.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from copy import copy
from numbers import Integral, Real
from typing import Any, Self

LONGEST = 1000  # characters of a message
SHOWN = 80  # characters of a value in a message
# ``cost[s=1, a=0]``, ``transition[1].indices[3]``, ``cost['x'][s=1]``: the last brackets, in which
# names may have brackets too
ENTRY = re.compile(r"([^\[\]]+(?:\[(?:\d+|'[^'\[\]]*')\][^\[\]]*)*)\[(.*)\]", re.DOTALL)
HUGE = 10**20  # whole numbers from here on are described by their length
_NOTHING = object()  # None is a value that may have been found


class TightropeError(Exception):
    """Base of every error this library raises on purpose; its message is one readable line.

    All parameters are attributes too, and None where they do not apply. They survive pickling, so
    that an error raised in a worker process keeps them.

    Parameters
    ----------
    message : str
        Line breaks become spaces, and what is too long to read is cut.
    argument : str, optional
        The argument, option, key or file at fault.
    entry : str, optional
        The first bad entry of the argument, without its brackets: ``s=1, a=0``.
    found : bool, int, float, str or tuple, optional
        The bad value; a description in words where it is of another type.
    expected : str, optional
        What would have been accepted.

    Examples
    --------
    >>> import tightrope as tr
    >>> try:
    ...     tr.solve("grit")
    ... except tr.TightropeError as error:
    ...     print(type(error).__name__, error.argument, error.found)
    ConfigError cmdp grit
    """

    def __init__(
        self,
        message: str = "",
        *,
        argument: str | None = None,
        entry: str | None = None,
        found: Any = None,
        expected: str | None = None,
    ) -> None:
        super().__init__(_one_line(message))
        self.argument = argument
        self.entry = entry
        self.found = None if found is None else _plain(found)
        self.expected = expected

    @classmethod
    def about(
        cls,
        argument: str,
        *,
        found: Any = _NOTHING,
        shape: tuple[int, ...] | None = None,
        shown: str | None = None,
        expected: object = None,
        verb: str = "",
        more: str = "",
        where: str = "",
    ) -> Self:
        """Make an error with its fields and the message that they give.

        Parameters
        ----------
        argument : str
            Name of the argument; what is in brackets at its end becomes the field ``entry``.
        found : object, optional
            The bad value.
        shape : tuple of int, optional
            The shape of an array, where that is what is bad.
        shown : str, optional
            What the message says for ``found``, by default `describe`. Alone, it is ``found`` too.
        expected : object, optional
            What would have been accepted, in words or as a value.
        verb : str
            Stands between argument and value, as in "sums to"; a colon by default.
        more : str
            End of the message: a hint, a count, a remedy.
        where : str
            What comes before the argument: a file, a line, a step.

        Returns
        -------
        TightropeError
            An error of the class that the method was called on.

        Examples
        --------
        >>> import tightrope as tr
        >>> error = tr.ModelError.about("delta", found=2, expected="a number in (0, 1)")
        >>> print(error)
        delta: 2, expected a number in (0, 1)
        >>> error.argument, error.found, error.expected
        ('delta', 2, 'a number in (0, 1)')
        """
        if shape is not None:
            found, shown = shape, f"shape {shape}"
        text = shown if shown is not None or found is _NOTHING else describe(found)
        wanted = None if expected is None else f"expected {expected}"
        middle = ", ".join(part for part in (text, wanted) if part)
        start = f"{where}: {argument}" if where else argument
        error = cls(f"{start} {verb} {middle}{more}" if verb else f"{start}: {middle}{more}")
        split = ENTRY.fullmatch(argument)
        error.argument, error.entry = split.group(1, 2) if split else (argument, None)
        error.found = shown if found is _NOTHING else _plain(found)
        error.expected = None if expected is None else str(expected)
        return error

    def with_fields_of(self, error: BaseException) -> Self:
        """Take the fields of the error that this one reports in other words, if it has any.

        Parameters
        ----------
        error : BaseException

        Returns
        -------
        TightropeError
            This error.

        Examples
        --------
        >>> import tightrope as tr
        >>> cause = tr.ModelError.about("cost", found=2, expected="a number in [0, 1]")
        >>> tr.StoreError(f"snapshot: corrupt: {cause}").with_fields_of(cause).argument
        'cost'
        """
        if isinstance(error, TightropeError):
            if error.argument is not None:
                self.argument, self.entry = error.argument, error.entry
            self.found, self.expected = error.found, error.expected
        return self

    def with_message(self, message: str) -> Self:
        """Return the same error, of the same kind and with the same fields, in other words.

        Parameters
        ----------
        message : str
            The new message.

        Returns
        -------
        TightropeError
            A copy with the new message.

        Examples
        --------
        >>> import tightrope as tr
        >>> error = tr.ConfigError("1.5 is not a probability", argument="delta", found=1.5)
        >>> error.with_message("--delta must be below 1").argument
        'delta'
        """
        again = copy(self)
        again.args = (_one_line(message),)
        return again


class ModelError(TightropeError):
    """The values of a model are wrong.

    `ConfigError`, `DataError`, `EngineError` and `DependencyError` are kinds of it in version 0.1
    only, for code that catches `ModelError`; from 0.2 on they are not.

    Examples
    --------
    >>> import tightrope as tr
    >>> try:
    ...     tr.CMDP([[[0.7]]], [[0.0]], horizon=2)
    ... except tr.ModelError as error:
    ...     print(error.argument, error.entry, error.found)
    transition s=0, a=0 0.7
    """


class ConfigError(ModelError):
    """An option, a setting, a spec, a learner or a word of the command line is wrong.

    Examples
    --------
    >>> import tightrope as tr
    >>> try:
    ...     tr.envs.build("ring", slip=0.1)
    ... except tr.ConfigError as error:
    ...     print(error.argument)
    slip
    """


class DataError(ModelError):
    """Episodes or logged data are wrong.

    Examples
    --------
    >>> import tightrope as tr
    >>> learner = tr.learner(
    ...     "OptCMDP", n_states=2, n_actions=1, horizon=1, budget=[1.0], episodes=5
    ... )
    >>> plan = learner.plan()
    >>> try:
    ...     learner.observe(tr.Episode([0, 7], [0], cost=[0.5], constraint_cost=[[0.0]]))
    ... except tr.DataError as error:
    ...     print(error.argument, error.entry, error.found)
    episode.states h=1 7
    """


class LogError(DataError):
    r"""Logged data that cannot be right.

    Parameters
    ----------
    message : str
        The first few faults, with their lines.
    faults : tuple of (int, str, str)
        Line (or row) from 1, episode and complaint of every bad row, as `Fault` records.
    n_episodes : int
        Number of episodes in the log, whole or not.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import tightrope as tr
    >>> with TemporaryDirectory() as folder:
    ...     path = Path(folder, "log.csv")
    ...     _ = path.write_text("episode,step,state,action,next_state,cost\n1,0,a,go,b,7\n")
    ...     try:
    ...         tr.read_log(path)
    ...     except tr.LogError as error:
    ...         print(error.faults[0])
    Fault(place=2, episode='1', message='cost 7, expected a number in [0, 1]')
    """

    def __init__(
        self,
        message: str,
        faults: tuple[tuple[int, str, str], ...] = (),
        n_episodes: int = 0,
    ) -> None:
        super().__init__(message)
        self.faults = faults
        self.n_episodes = n_episodes

    @property
    def n_bad(self) -> int:
        """Number of episodes that have a fault."""
        return len({episode for _, episode, _ in self.faults if episode})

    @classmethod
    def of_faults(
        cls, argument: str, more: str, faults: Sequence[tuple[int, str, str]]
    ) -> LogError:
        """Make the error for faults with a common cause, an argument that does not fit the log.

        Parameters
        ----------
        argument : str
            Name of the argument.
        more : str
            What the message says after the argument.
        faults : sequence of (int, str, str)
            Line (or row), episode and complaint of every fault.

        Returns
        -------
        LogError
            The error.

        Examples
        --------
        >>> import tightrope as tr
        >>> faults = [(3, "a", "a second step")]
        >>> error = tr.LogError.of_faults("horizon", " is below 2 steps", faults)
        >>> error.argument, error.faults
        ('horizon', ((3, 'a', 'a second step'),))
        """
        error = cls.about(argument, more=more)
        error.faults = tuple(sorted(faults))
        return error


class EngineError(ModelError):
    """The workers of an experiment cannot be reached, or are gone.

    Examples
    --------
    >>> import tightrope as tr
    >>> issubclass(tr.EngineError, tr.TightropeError)
    True
    """


class DependencyError(ModelError):
    """An optional package is not installed; the message says how to install it.

    Examples
    --------
    >>> import tightrope as tr
    >>> issubclass(tr.DependencyError, tr.TightropeError)
    True
    """


class SolverError(TightropeError):
    """A planner could not certify its own answer.

    Examples
    --------
    >>> import tightrope as tr
    >>> issubclass(tr.SolverError, tr.TightropeError)
    True
    """


class StoreError(TightropeError):
    """A file or directory could not be written, read, or trusted.

    Examples
    --------
    >>> import tightrope as tr
    >>> try:
    ...     tr.Plan.load("missing.npz")
    ... except tr.StoreError as error:
    ...     print(error)
    missing.npz: cannot be read: No such file or directory
    """


class InfeasibleError(TightropeError):
    """The budgets cannot be met.

    Parameters
    ----------
    message : str
        What cannot be met and the least sufficient relaxation.
    clash : tuple of int
        Constraints that cannot be met together; every policy exceeds one of them.
    relaxation : tuple of float
        Raising every budget (lowering a floor) by its entry is enough, and nothing less in the same
        proportion is.
    alone : tuple of float
        Least attainable value of each constraint (greatest, for a floor) when the others are
        ignored.
    excess : tuple of float
        How much more of each budget the policy needs that comes closest to keeping them all. All
        in the units of the constraints.

    Examples
    --------
    >>> import tightrope as tr
    >>> try:
    ...     tr.solve(tr.CMDP([[[1.0]]], [[0.0]], [[[0.5]]], budget=[1.0], horizon=4))
    ... except tr.InfeasibleError as error:
    ...     print(error.clash, error.relaxation)
    (0,) (1.0,)
    """

    def __init__(
        self,
        message: str,
        clash: tuple[int, ...] = (),
        relaxation: tuple[float, ...] = (),
        alone: tuple[float, ...] = (),
        excess: tuple[float, ...] = (),
    ) -> None:
        super().__init__(message)
        self.clash = clash
        self.relaxation = relaxation
        self.alone = alone
        self.excess = excess

    @property
    def facts(
        self,
    ) -> tuple[tuple[int, ...], tuple[float, ...], tuple[float, ...], tuple[float, ...]]:
        """Clash, relaxation, least attainable values and excess: all but the words."""
        return self.clash, self.relaxation, self.alone, self.excess


def describe(value: Any) -> str:
    """Return a short representation of any value, for messages.

    Parameters
    ----------
    value : object
    """
    if isinstance(value, int) and abs(value) >= HUGE:
        return f"a number of about {round(value.bit_length() * math.log10(2))} digits"
    try:
        text = repr(value)
    except Exception:  # noqa: BLE001 - any ``__repr__`` may fail
        text = f"a value of type {type(value).__name__}"
    text = " ".join(text.split())
    return text if len(text) <= SHOWN else f"{text[: SHOWN - 20]}... ({len(text)} characters)"


def _one_line(message: str) -> str:
    line = " ".join(message.split())
    return line if len(line) <= LONGEST else f"{line[: LONGEST - 4]} ..."


def _plain(value: Any) -> Any:
    """Return a plain Python value, or a description: an error goes from process to process."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str) and len(value) <= LONGEST:
        return str(value)
    if isinstance(value, Integral) and abs(int(value)) < HUGE:
        return int(value)
    if isinstance(value, Real) and not isinstance(value, Integral):
        try:
            return float(value)
        except OverflowError:  # a fraction beyond every float
            return describe(value)
    if isinstance(value, tuple):
        return tuple(map(_plain, value)) if len(value) <= SHOWN else describe(value)
    return describe(value)
