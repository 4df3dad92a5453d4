"""Trials of autotuners on devices: the same from the first rows of runs with stored sums."""

import shutil
from pathlib import Path

import pytest

from kvtrace.figures import trial_times as module
from kvtrace.figures.sums_building import add_up
from kvtrace.figures.trial_times import trial_times
from kvtrace.schema.trace import open_trace
from tests.converters.written_trace import Kernel, Launches, write_trace

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"


@pytest.mark.parametrize("name", ["device", "train", "llama_liger", "llama_steady"])
def test_trials_of_stored_runs_are_those_of_all_rows(name, tmp_path, monkeypatch):
    folder = shutil.copytree(FIXTURES / name, tmp_path / "out")
    trace = open_trace(folder)
    expected = trial_times(trace, trace.runs)
    add_up(trace, trace.runs, least_rows=0)
    monkeypatch.delattr(module, "open_times")  # no other rows are read

    again = open_trace(folder)
    assert trial_times(again, again.runs).to_pylist() == expected.to_pylist()


def test_trials_beyond_the_last_known_end_are_found_among_all_rows(tmp_path, monkeypatch):
    calls = (Launches(phase="autotune", device_us=3), Launches(number=3, device_us=2))
    side = write_trace(tmp_path, [Kernel(calls=calls)])
    add_up(side.trace, side.runs, least_rows=0)
    monkeypatch.setattr(module, "number_of", lambda _pieces: 0)  # as if one were missing
    times = trial_times(side.trace, side.runs).to_pylist()
    assert times == [{"run": side.runs[0].run_id, "call_id": 0, "ns": 3_000}]
