"""Times of trials of autotuners on devices, from rows and as they are kept."""

import shutil
from pathlib import Path

import pytest

from kvtrace.figures.sums_building import add_up
from kvtrace.figures.times import trial_times
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"


def trials_of(trace):
    """Run, call and time of executions of autotuners' launches, found row by row."""
    for run in trace.runs:
        launches = trace.table("launches", [run], ["seq", "call_id", "phase"]).to_pylist()
        columns = ["record", "launch_seq", "start", "end"]
        rows = plain_rows(trace.table("gpu_kernels", [run], columns))
        call_of_trial = {
            launch["seq"]: launch["call_id"] for launch in launches if launch["phase"] == "autotune"
        }
        for row in sorted(rows, key=lambda row: (row["launch_seq"] or 0, row["record"])):
            if row["launch_seq"] in call_of_trial and None not in (row["start"], row["end"]):
                ns = max(row["end"] - row["start"], 0)
                call_id = call_of_trial[row["launch_seq"]]
                yield {"run": run.run_id, "call_id": call_id, "ns": ns}


@pytest.mark.costly("recorded trials; flags of trials stay by day")
@pytest.mark.parametrize("name", ["device", "llama_ranks", "train"])
def test_times_of_trials_are_those_of_sql(name, tmp_path, monkeypatch):
    trace = open_trace(shutil.copytree(FIXTURES / name, tmp_path / "out"))
    expected = list(trials_of(trace))
    assert bool(expected) == (name != "train")
    assert trial_times(trace, trace.runs).to_pylist() == expected

    monkeypatch.setattr("kvtrace.figures.stored.LEAST_RUNS", 1)
    add_up(trace, trace.runs, least_rows=0)
    for _ in range(2):  # the first keeps them
        again = open_trace(tmp_path / "out")
        assert trial_times(again, again.runs).to_pylist() == expected
    assert list((tmp_path / "out" / ".times").glob("trials-*"))
