"""Fixtures that record kernels on the CPU without a GPU, and judge the recorded calls."""

from collections.abc import Callable
from pathlib import Path

import pytest

import kvtrace
from kvtrace.addons.invariance.output_results import Invariance
from kvtrace.addons.invariance.results import invariance_of
from kvtrace.schema.trace import Selection, open_trace
from tests.converters.report_page import report_browser
from tests.support.free_driver import free_driver

__all__ = ["free_driver", "report_browser"]

Recorded = Callable[[Callable[[], object]], Selection]


@pytest.fixture
def recorded(tmp_path: Path, free_driver: object) -> Recorded:
    """Return a function that records the launches of a function, and returns the runs."""

    def record(launch: Callable[[], object]) -> Selection:
        folder = tmp_path / f"trace{len(list(tmp_path.iterdir()))}"
        with kvtrace.capture(folder):
            launch()
        trace = open_trace(folder)
        return Selection(trace, trace.runs)

    return record


@pytest.fixture
def judged(recorded: Recorded) -> Callable[[Callable[[], object]], Invariance]:
    """Return a function that records the launches of a function, and judges their outputs."""
    return lambda launch: invariance_of(recorded(launch))
