"""A trace whose figures are kept in files of several runs."""

import shutil
from pathlib import Path

import pytest

from kvtrace.figures import stored
from kvtrace.figures.sums_building import add_up
from kvtrace.schema.trace import open_trace

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A trace of four ranks with stored sums, whose figures are kept."""
    monkeypatch.setattr(stored, "LEAST_RUNS", 2)
    folder = shutil.copytree(FIXTURES / "llama_ranks", tmp_path / "out")
    trace = open_trace(folder)
    add_up(trace, trace.runs, least_rows=0)
    return folder
