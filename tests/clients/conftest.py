"""A recorded run with known tensor contents, and a fixture that runs clients over it."""

import shutil
from importlib.util import find_spec
from pathlib import Path

import pytest

from kvtrace.clients import replay
from kvtrace.schema.trace import open_trace

if find_spec("triton") is None:  # macOS and Windows: nothing here can launch
    collect_ignore_glob = ["test_*.py"]


@pytest.fixture(scope="session")
def recorded_once(tmp_path_factory):
    import torch

    import kvtrace
    from tests.clients import kernels

    out = tmp_path_factory.mktemp("clients") / "out"
    numbers = torch.arange(1000, dtype=torch.float32) / 1000
    with kvtrace.capture(out, tensors="all"):
        kernels.scale[(4,)](numbers, torch.zeros(1000), 1000, 2.0, BLOCK=256)
        kernels.row_sums[(6,)](numbers, torch.zeros(6), 128, BLOCK=32)
    return out


@pytest.fixture
def recorded(recorded_once, tmp_path):
    """A copy of the trace, for one test alone."""
    return Path(shutil.copytree(recorded_once, tmp_path / "out"))


@pytest.fixture
def over(recorded):
    """Run clients over the run; give the outcome and the trace."""

    def run(*clients):
        trace = open_trace(recorded)
        return replay(trace, trace.runs[0], clients=clients), trace

    return run
