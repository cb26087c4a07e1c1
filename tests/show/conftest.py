"""A finished study, its findings and its page, and a real browser to open it in."""

from __future__ import annotations

import shutil

import numpy as np
import pytest

from studies import finished, silent
from tightrope.experiments.statistics import Resamples
from tightrope.show.report.page import page_of

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--no-first-run",
]


@pytest.fixture(scope="session")
def study(tmp_path_factory):
    return finished(tmp_path_factory.mktemp("studies") / "two worlds")


@pytest.fixture(scope="session")
def findings(study):
    return study.findings(silent)


@pytest.fixture(scope="session")
def queue(tmp_path_factory):
    """Two constraints, two scales, faithful radii among them."""
    path = tmp_path_factory.mktemp("queue")
    study = finished(
        path,
        environment="queue",
        algorithm=["OptDual", "uniform"],
        episodes=50,
        seeds=2,
        confidence=["faithful", {"mode": "tight", "scale": 0.1}],
    )
    return study, study.findings(silent)


@pytest.fixture(scope="session")
def report(study, findings):
    path = study.path / "report.html"
    path.write_bytes(page_of(findings, Resamples(np.random.default_rng(0)), "Made by a test."))
    return path


@pytest.fixture(scope="session")
def browser():
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        pytest.fail("Chromium is missing; install it by: apt-get install -y chromium")
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield found
        found.close()
