"""A trace whose figures are kept in files of several runs."""

import shutil
from pathlib import Path

import pytest

from kvtrace.figures import stored
from kvtrace.figures.sums_building import add_up
from kvtrace.schema.trace import open_trace

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"


@pytest.fixture(scope="session")
def trace_with_sums(tmp_path_factory):
    """A trace of four ranks with stored sums."""
    folder = tmp_path_factory.mktemp("sums") / "out"
    trace = open_trace(shutil.copytree(FIXTURES / "llama_ranks", folder))
    add_up(trace, trace.runs, least_rows=0)
    return folder


@pytest.fixture
def folder(trace_with_sums, tmp_path, monkeypatch):
    """A copy of a trace of four ranks with stored sums, whose figures are kept."""
    monkeypatch.setattr(stored, "LEAST_RUNS", 2)
    return shutil.copytree(trace_with_sums, tmp_path / "out")
