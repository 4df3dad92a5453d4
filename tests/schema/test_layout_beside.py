"""Results that are kept beside a trace: read while they are, and never a part of the trace."""

import subprocess

import pyarrow as pa
import pytest

from kvtrace.schema.errors import SchemaMismatch, TraceWriteError
from kvtrace.schema.kept_files import keep_table, kept_path
from kvtrace.schema.layout import results_beside
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter, new_run_id


@pytest.fixture
def trace(tmp_path):
    """A sealed run of one kernel."""
    writer = RunWriter(tmp_path / "out", new_run_id())
    writer.append_rows("kernels", [{"kernel_id": 0}])
    writer.seal({"ending": "exit"})
    return open_trace(tmp_path / "out")


def add(trace, *ids, pass_name="sanitizer", **keywords):
    rows = pa.table({"finding_id": pa.array(ids, pa.string())})
    trace.add_derived(
        trace.run_ids[0], pass_name, {"findings": rows}, {"of": pass_name}, **keywords
    )


def ids(trace):
    return trace.table("findings")["finding_id"].to_pylist()


def test_results_of_some_calls_are_read_only_while_they_are_kept(trace):
    with results_beside(trace.path):
        add(trace, "some", whole=False)
        assert ids(trace) == ["some"]
        assert trace.passes(trace.run_ids[0]) == {"sanitizer": {"of": "sanitizer"}}
        assert not (trace.path / "findings").exists()
    assert ids(trace) == []
    assert trace.passes(trace.run_ids[0]) == {}


def test_whole_results_are_written_to_the_trace(trace):
    with results_beside(trace.path):
        add(trace, "all")
    assert ids(trace) == ["all"]


def test_results_beside_replace_those_of_the_same_pass_alone(trace):
    add(trace, "written")
    add(trace, "other", pass_name="order")
    with results_beside(trace.path):
        add(trace, "some", whole=False)
        assert sorted(ids(trace)) == ["other", "some"]
    assert sorted(ids(trace)) == ["other", "written"]


def test_results_that_cannot_be_written_are_kept_beside_and_noted(trace, tmp_path):
    (tmp_path / "elsewhere").mkdir()
    (trace.path / "findings").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(TraceWriteError):
        add(trace, "all")
    with results_beside(trace.path):
        add(trace, "all")
        assert ids(trace) == ["all"]
    assert ids(trace) == []
    (note,) = trace.notes
    assert note.endswith(", and this output alone has the results")


@pytest.mark.process
@pytest.mark.parametrize("commits", [True, False])
def test_a_trace_that_git_tracks_stays_as_it_is(trace, commits):
    git = ["git", "-C", trace.path.parent]
    subprocess.run([*git, "init", "-q"], check=True)
    if commits:
        subprocess.run([*git, "add", "out"], check=True)
    with results_beside(trace.path):
        add(trace, "all")
        keep_table(kept_path(trace.path, "times"), trace.note, pa.table({"ns": [1]}))
        assert ids(trace) == ["all"]
    status = subprocess.run([*git, "status", "-s"], check=True, capture_output=True, text=True)
    assert ("??" in status.stdout) != commits
    assert (ids(trace) == []) == (not (trace.path / ".times").exists()) == commits
    assert [str(trace.path) in note for note in trace.notes] == [True] * commits


def test_no_trace_has_results_of_some_calls(trace):
    with pytest.raises(SchemaMismatch, match="sanitizer for some calls"):
        add(trace, "some", whole=False)
    assert ids(trace) == []


def test_another_trace_does_not_have_them(trace, tmp_path):
    with results_beside(tmp_path / "other"), results_beside(trace.path):
        add(trace, "some", whole=False)
        with results_beside(trace.path):  # as by another thread
            assert ids(trace) == ["some"]
        assert ids(trace) == ["some"]
    assert ids(trace) == []
