"""The reference of the command line, from the commands themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import typer

from tightrope.cli.app import app

__all__ = ["command_line", "commands"]


def commands(group: Any = None, before: str = "") -> Iterator[tuple[str, Any]]:
    """Every command and what it is called, those of groups included."""
    group = typer.main.get_command(app) if group is None else group
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, f"{before}{name} ")
        elif not command.hidden:
            yield f"{before}{name}", command


def command_line() -> str:
    """Every command with its arguments and options, as Markdown."""
    return "\n".join(_command(name, command) for name, command in commands())


def _command(name: str, command: Any) -> str:
    context = command.make_context(name, [], resilient_parsing=True)
    shown = [each for each in command.get_params(context) if "--help" not in each.opts]
    shown = [each for each in shown if not getattr(each, "hidden", False)]
    words = [_written(each) for each in shown if not each.opts[0].startswith("-")]
    lines = [f"## {name}", "", _plain(command.help or ""), ""]
    lines += ["```text", " ".join(["tightrope", name, *words, "[OPTIONS]"]), "```", ""]
    for each in shown:
        lines += [f"`{_written(each)}`", f": {_plain(each.help or '')}{_default(each)}", ""]
    if command.epilog:
        lines += [_plain(command.epilog), ""]
    return "\n".join(lines)


def _written(parameter: Any) -> str:
    if not parameter.opts[0].startswith("-"):
        return str(parameter.metavar or parameter.name.upper())
    word = ", ".join(parameter.opts)
    if parameter.is_flag:
        return word
    return f"{word} {parameter.metavar or ('TEXT' if _is_word(parameter) else 'NUMBER')}"


def _is_word(parameter: Any) -> bool:
    return parameter.default is None or isinstance(parameter.default, str)


def _default(parameter: Any) -> str:
    has_one = parameter.default is not None and not getattr(parameter, "is_flag", False)
    return f" Default: `{parameter.default}`." if has_one else ""


def _plain(text: str) -> str:
    """Text whose signs mean nothing to Markdown."""
    return re.sub(r"([\\*_<>\[\]|`])", r"\\\1", " ".join(text.split()))
