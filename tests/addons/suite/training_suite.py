"""Suites that tests of exports and imports read."""

import shutil

import pytest

from kvtrace.addons.suite.making import make_suite
from kvtrace.schema.trace import select_runs
from tests.support.tree import ROOT


@pytest.fixture(scope="session")
def training(tmp_path_factory):
    """Make the suite of a small training step: matrix products of several sizes, norms, losses."""
    folder = tmp_path_factory.mktemp("suites") / "training"
    make_suite(select_runs(ROOT / "tests/fixtures/h200/train"), folder)
    return folder


@pytest.fixture
def changed(training, tmp_path):
    """Return a function that copies the suite with a text of its first call replaced."""

    def copied(*replacements):
        folder = tmp_path / "changed"
        shutil.copytree(training, folder)
        for old, new in replacements:
            file = min((folder / "calls").iterdir())
            text = file.read_text()
            assert old in text
            file.write_text(text.replace(old, new))
        return folder

    return copied
