"""Times of trials of autotuners on devices, against SQL, from rows and as they are kept."""

import shutil
from pathlib import Path

import pytest

from kvtrace.figures import tables
from kvtrace.figures.sums_building import add_up
from kvtrace.figures.trial_times import trial_times
from kvtrace.schema.trace import open_trace

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"
QUERY = """
    SELECT t.run::VARCHAR AS run, t.call_id, greatest(p.device_ns, 0) AS ns
    FROM placed p JOIN tuning t ON t.run = p.run AND t.seq = p.launch_seq
    WHERE t.phase = 'autotune' AND p.device_ns IS NOT NULL ORDER BY t.run, t.seq, p.record
"""


@pytest.mark.parametrize("name", ["device", "llama_ranks", "train"])
def test_times_of_trials_are_those_of_sql(name, tmp_path, monkeypatch):
    trace = open_trace(shutil.copytree(FIXTURES / name, tmp_path / "out"))
    with tables.open_times(trace, trace.runs, "execution_times") as database:
        expected = database.sql(QUERY).to_arrow_table().to_pylist()
    assert bool(expected) == (name != "train")
    assert trial_times(trace, trace.runs).to_pylist() == expected

    monkeypatch.setattr("kvtrace.figures.kept.LEAST_RUNS", 1)
    add_up(trace, trace.runs, least_rows=0)
    for _ in range(2):  # the first keeps them
        again = open_trace(tmp_path / "out")
        assert trial_times(again, again.runs).to_pylist() == expected
    assert list((tmp_path / "out" / ".times").glob("trials-*"))
