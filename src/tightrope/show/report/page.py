"""The page: one HTML file that holds its data, its words and all that draws them."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib.resources import files
from typing import Any

from jinja2 import Environment, FunctionLoader, StrictUndefined
from markupsafe import Markup

from tightrope.experiments.statistics import STATISTICS, Resamples
from tightrope.experiments.summary import Chapter, Findings
from tightrope.model.words import counted
from tightrope.show.regret import KINDS
from tightrope.show.report.curves import curves_data
from tightrope.show.report.overview import overview_of
from tightrope.show.report.pictures import picture_data
from tightrope.show.report.tables import Table, chapter_tables
from tightrope.show.report.words import (
    conditions_of,
    counted_in,
    heuristics_of,
    missing_words,
    policies_words,
    summary_of,
)
from tightrope.text import replace_unprintable

# unprintable characters that the words use
KEPT = "\n\N{NO-BREAK SPACE}\N{NARROW NO-BREAK SPACE}\N{THIN SPACE}"
PLAIN = {
    "cost": "Cost above the optimum, summed over episodes; cheap episodes make up for dear ones.",
    "cost_plus": "The same, counting only episodes that cost too much.",
    "constraint": "Use above the budget, summed over episodes; thrifty ones make up for others.",
    "constraint_plus": "The same, counting only episodes that overspent.",
}


@dataclass(frozen=True)
class Part:
    """One chapter as the template reads it."""

    key: str
    chapter: Chapter
    conditions: str
    bandless: str
    heuristics: str
    policies: str
    summary: list[str]
    tables: dict[str, list[Table]]
    units: dict[str, str]
    specs: list[tuple[str, str]]


def page_of(findings: Findings, resamples: Resamples, about: str) -> bytes:
    """The page of a study.

    Parameters
    ----------
    findings : Findings
    resamples : Resamples
        For every band.
    about : str
        What made the page, and when.
    """
    from plotly.offline import get_plotlyjs

    parts = [_part(f"c{k}", each, resamples) for k, each in enumerate(findings.chapters)]
    data = {
        part.key: {
            **curves_data(part.chapter, resamples),
            "units": part.units,
            "picture": picture_data(part.chapter),
        }
        for part in parts
    }
    template = _templates().get_template("page.html")
    page = template.render(
        findings=findings,
        parts=parts,
        overview=overview_of(findings, resamples),
        missing=missing_words(findings),
        runs=counted(findings.n_finished, "run"),
        about=about,
        kinds=KINDS,
        plain=PLAIN,
        statistics=STATISTICS,
        data=_embedded(data),
        style=Markup(_text("page.css")),
        script=Markup(_text("page.js")),
        plotly=Markup(get_plotlyjs()),
    )
    return page.encode()


def _part(key: str, chapter: Chapter, resamples: Resamples) -> Part:
    return Part(
        key=key,
        chapter=chapter,
        conditions=_tied(conditions_of(chapter)),
        bandless=_tied(conditions_of(chapter, False)),
        heuristics=heuristics_of(chapter),
        policies=policies_words(chapter),
        summary=[_tied(sentence) for sentence in summary_of(chapter, resamples)],
        tables=chapter_tables(chapter, resamples),
        units=_units(chapter),
        specs=[(group.name, json.dumps(group.spec, indent=1)) for group in chapter.groups],
    )


def _tied(words: str) -> str:
    """The words with percent signs that stay with their numbers."""
    return words.replace(" %", "\N{NO-BREAK SPACE}%")


def _units(chapter: Chapter) -> dict[str, str]:
    """What each regret is counted in."""
    cost, constraint = counted_in(chapter.cmdp)
    return {
        "cost": cost,
        "cost_plus": cost,
        "constraint": constraint,
        "constraint_plus": constraint,
    }


def _templates() -> Environment:
    return Environment(
        loader=FunctionLoader(_text),
        autoescape=True,
        finalize=_clean,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")


def _clean(data: Any) -> Any:
    """The same without control characters in its text; what is markup already is ours."""
    if isinstance(data, str) and not isinstance(data, Markup):
        return replace_unprintable(data, KEPT)
    if isinstance(data, dict):
        return {_clean(key): _clean(value) for key, value in data.items()}
    if isinstance(data, list):
        return [_clean(value) for value in data]
    return data


def _embedded(data: dict[str, Any]) -> Markup:
    """JSON that no name in it can end or leave."""
    text = json.dumps(_clean(data), separators=(",", ":"), allow_nan=False)
    for letter in "<>&\u2028\u2029":
        text = text.replace(letter, f"\\u{ord(letter):04x}")
    return Markup(text)
