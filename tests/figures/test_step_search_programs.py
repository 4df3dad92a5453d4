"""Steps of ordinary programs are found without marks as their marks say.

The runs are of tests/gpu/step_programs.py, recorded by record_step_programs.py.
"""

import shutil
from pathlib import Path

import pytest

from kvtrace.converters.profile.profile import read_profile
from kvtrace.schema.trace import open_trace
from tests.support.tiers import some

FIXTURE = Path(__file__).parents[1] / "fixtures" / "step_programs"
PROGRAMS = sorted(path.name.removeprefix("run=") for path in (FIXTURE / "runs").iterdir())


@pytest.fixture(scope="module")
def unmarked(tmp_path_factory):
    """The same runs without marks."""
    folder = tmp_path_factory.mktemp("unmarked") / "out"
    return shutil.copytree(FIXTURE, folder, ignore=shutil.ignore_patterns("marks"))


def steady_part(folder, program):
    """Steps of a trace: the way they were found, number, duration, and share of busy time."""
    trace = open_trace(folder)
    profile = read_profile(trace, [run for run in trace.runs if run.run_id == program])
    busy = profile.device_time.busy
    window = profile.window
    return window.how, (window.steps, window.step_ns, busy.busy_ns / busy.span_ns)


@pytest.mark.parametrize("program", some(list(PROGRAMS), 4, 1))
def test_steps_without_marks_are_those_with_marks(unmarked, program):
    marked, expected = steady_part(FIXTURE, program)
    found, actual = steady_part(unmarked, program)
    assert (marked, found) == ("mark", "period")
    assert actual == pytest.approx(expected, rel=0.01)
