"""`kvtrace import --into` from traces to tables: what is written, and what is refused."""

import shutil
from pathlib import Path

import pyarrow.compute as pc
import pytest

from kvtrace.addons.join.kineto import CONVERTER
from kvtrace.addons.join.results import join, opened_times, write
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import open_trace, select_runs
from kvtrace.schema.validation import validate
from tests.addons.join.times import H200, Known, known


@pytest.fixture
def made(tmp_path: Path) -> Known:
    """A recording with captured graphs, and times of its process."""
    return known("llama_graphs", tmp_path)


def joined(made: Known) -> None:
    """Join, and write."""
    recording, times = select_runs(made.recording), select_runs(made.times)
    write(recording, times, join(recording, times), "times.json")


def test_joined_tables_are_a_device_timeline(made: Known) -> None:
    joined(made)
    trace = open_trace(made.recording)
    rows = trace.table("gpu_kernels")
    known_calls = int((made.call >= 0).sum())
    assert rows.num_rows == made.call.size
    assert rows.num_rows - rows["call_id"].null_count == known_calls
    assert rows.num_rows - rows["grade"].null_count == known_calls
    assert rows["record"].to_pylist() == list(range(rows.num_rows))
    # As in kvtrace's own timelines, a direct launch itself says when it was asked for.
    direct = rows.filter(pc.and_(rows["launch_seq"].is_valid(), rows["graph_id"].is_null()))
    assert direct["requested"].null_count == direct.num_rows > 0
    messages = trace.table("messages", columns=["code", "text"]).to_pylist()
    (text,) = (row["text"] for row in messages if row["code"] == "device-times-joined")
    assert text.startswith("device times are from times.json: 1,008 of 1,008 executions")
    assert not validate(made.recording)


def test_joining_again_changes_nothing(made: Known) -> None:
    joined(made)
    before = open_trace(made.recording).table("gpu_kernels")
    joined(made)
    assert open_trace(made.recording).table("gpu_kernels").equals(before)


def test_join_refuses_runs_with_their_own_device_times(made: Known, tmp_path: Path) -> None:
    own = shutil.copytree(H200 / "llama_graphs", tmp_path / "own")
    with pytest.raises(BadSetting, match="already has device times"):
        join(select_runs(own), select_runs(made.times))


def test_times_of_no_known_run_are_refused(made: Known, tmp_path: Path) -> None:
    ranks = shutil.copytree(H200 / "ranks", tmp_path / "ranks")
    shutil.rmtree(ranks / "gpu_kernels")
    with pytest.raises(BadSetting, match="neither process nor rank decides"):
        join(select_runs(ranks), select_runs(made.times))


def test_a_trace_is_not_joined_with_itself(made: Known) -> None:
    with pytest.raises(BadSetting, match="the recording itself"):
        join(select_runs(made.times), select_runs(made.times))


def test_join_without_launches_or_without_times_is_an_error(made: Known) -> None:
    other = made.times.rename(made.times.with_name("other"))
    with pytest.raises(BadSetting, match="no launches"):
        join(select_runs(other), select_runs(made.recording))
    shutil.rmtree(other / "gpu_kernels")
    with pytest.raises(BadSetting, match="no times"):
        join(select_runs(made.recording), select_runs(other))


def test_files_of_another_tool_are_imported_temporarily(made: Known, tmp_path: Path) -> None:
    profiled = tmp_path / "rank0.pt.trace.json"
    CONVERTER.convert(select_runs(H200 / "llama_graphs"), profiled, {})
    with opened_times([profiled]) as times:
        assert times.runs[0].source == "kineto"
        (done,) = join(select_runs(made.recording), times)
    assert done.counts["with_call"] == int((made.call >= 0).sum())
    assert not times.trace.path.exists()
