"""One name for one option: all options of all commands, read from the Typer application."""

from __future__ import annotations

import re
from collections import defaultdict
from typing import Any

from typer.main import get_command

from tightrope.cli.app import app

LONG = re.compile(r"--[a-z]+(-[a-z]+)*")
MEANING = re.compile(r"(.*?)[.;,:](?:\s|$)", re.DOTALL)  # what stands before the details


def parameters(command: Any, path: str) -> list[tuple[str, Any]]:
    """All options of a command and of the commands in it, those of learners included."""
    context = command.make_context(path, [], resilient_parsing=True)
    found = [(path, each) for each in command.get_params(context)]
    for name, each in getattr(command, "commands", {}).items():
        found += parameters(each, f"{path} {name}")
    return [pair for pair in found if pair[1].param_type_name == "option"]


PARAMETERS = parameters(get_command(app), "tightrope")


def meaning(option: Any) -> str:
    """The start of the help, which says what the option is."""
    found = MEANING.match(option.help)
    return option.help if found is None else found.group(1)


def by_name() -> dict[str, list[tuple[str, Any]]]:
    found = defaultdict(list)
    for path, option in PARAMETERS:
        for name in (*option.opts, *option.secondary_opts):
            found[name].append((path, option))
    return found


def test_every_command_is_read():
    paths = {path for path, _ in PARAMETERS}
    assert {"tightrope", "tightrope learn", "tightrope fit", "tightrope study new"} <= paths
    assert {"--initial", "--out", "--rho", "--algorithm", "-q"} <= set(by_name())


def test_an_option_has_one_meaning_in_all_commands():
    several = {
        name: {meaning(option) for _, option in uses}
        for name, uses in by_name().items()
        if len({meaning(option) for _, option in uses}) > 1
    }
    assert not several


def test_an_option_takes_the_same_values_in_all_commands():
    for name, uses in by_name().items():
        assert len({option.is_flag for _, option in uses}) == 1, name
        values = [set((option.metavar or "").split("|")) for _, option in uses]
        most = max(values, key=len)  # a command may take fewer kinds of values
        assert all(each <= most for each in values), (name, values)


def test_a_meaning_has_one_option():
    names = defaultdict(set)
    for _, option in PARAMETERS:
        names[meaning(option)].add(max(option.opts, key=len))
    assert not {words: each for words, each in names.items() if len(each) > 1}


def test_names_of_options_are_lower_case_words():
    for path, option in PARAMETERS:
        long = [name for name in (*option.opts, *option.secondary_opts) if name.startswith("--")]
        assert long, (path, option.name)
        assert all(LONG.fullmatch(name) for name in long), (path, long)


def options_of(path: str) -> dict[str, Any]:
    return {name: each for where, each in PARAMETERS if where == path for name in each.opts}


def test_options_for_real_episodes_are_in_groups():
    for path in ("tightrope fit", "tightrope bound", "tightrope study new"):
        loose = {
            name
            for name, option in options_of(path).items()
            if getattr(option, "rich_help_panel", None) is None and option.name != "help"
        }
        assert not loose, path


def test_a_baseline_has_one_name_in_studies():
    assert {"--safe", "--baseline-use"} <= set(options_of("tightrope study new"))
    assert not {"--baseline", "--bound"} & set(options_of("tightrope study new"))
    assert {"--baseline", "--bound"} <= set(options_of("tightrope learn"))


def test_learners_that_need_a_model_are_listed_for_simulations_only():
    for path, is_listed in (("learn", True), ("fit", False), ("study new", False)):
        text = options_of(f"tightrope {path}")["--algorithm"].help
        assert ("unconstrained" in text) == is_listed, path
    assert "DOPE" not in options_of("tightrope fit")["--algorithm"].help
    assert "DOPE" in options_of("tightrope study new")["--algorithm"].help
