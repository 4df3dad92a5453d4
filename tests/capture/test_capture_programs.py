"""Whole programs, captured by the variable alone: what is kept, however they end."""

import time

import pytest

from kvtrace.schema.errors import EmptyTrace
from kvtrace.schema.recovery import recover
from kvtrace.schema.trace import open_trace
from tests.capture.conftest import interrupt, kill_at_once

pytest.importorskip("triton")


def launches_of(trace, run=None):
    return trace.table("launches", None if run is None else (run,)).num_rows


#: Ways to end → exit code, `runs.ending`, launches.
ENDINGS = {
    "leave_with_7": (7, "exit", 3),
    "fail": (1, "exception", 3),
    "leave_at_once": (3, "exit", 3),
    "threads": (0, "exit", 201),
    "main_thread_ends_first": (0, "exit", 3),
    "fork_without_launching": (0, "exit", 2),
}


@pytest.fixture(scope="module")
def ended_programs(autostarting, program, tmp_path_factory):
    """Every way to end, each in a folder of its own."""

    def run(way):
        folder = tmp_path_factory.mktemp(way)
        return autostarting.run_warm(program, way, folder=folder, KVTRACE="out"), folder

    return {way: run(way) for way in ENDINGS}


@pytest.mark.parametrize("way", ENDINGS)
def test_every_launch_is_recorded_and_sealed(ended_programs, program, way):
    # when a program has run that never imports kvtrace
    done, folder = ended_programs[way]
    code, ending, launches = ENDINGS[way]
    # then it ended as it would have, and every launch is in one sealed run
    assert done.returncode == code, done.stderr
    assert "kvtrace" not in done.stderr.replace(str(program.parents[2]), "")
    trace = open_trace(folder / "out")
    (run,) = trace.runs
    assert (run.sealed, run.ending) == (True, ending)
    assert launches_of(trace) == launches
    assert run.dropped_rows == 0
    assert (folder / "out" / ".journal" / f"run={run.run_id}").exists() is False


def test_interrupt_seals_the_run_with_ending_signal(autostarting, program, tmp_path):
    done = autostarting.run_until("launched", interrupt, program, "wait", folder=tmp_path)
    assert "KeyboardInterrupt" in done.stderr
    trace = open_trace(tmp_path / "out")
    assert (trace.runs[0].ending, launches_of(trace)) == ("signal", 3)


def test_killed_program_leaves_the_flushed_rows(autostarting, program, tmp_path):
    def kill_after_a_flush(pid):
        late = time.monotonic() + 300  # before the program's own end
        while not (flushed() and launches_of(open_trace(tmp_path / "out"))):
            assert time.monotonic() < late
            time.sleep(0.05)
        kill_at_once(pid)

    def flushed():
        return list((tmp_path / "out").glob(".journal/run=*/launches-*"))

    autostarting.run_until("launched", kill_after_a_flush, program, "wait", folder=tmp_path)
    trace = open_trace(tmp_path / "out")
    assert (trace.runs[0].sealed, launches_of(trace)) == (False, 3)
    assert trace.table("kernels").num_rows == 1
    assert trace.table("calls").num_rows == 1


def test_kill_at_any_moment_leaves_a_directory_that_can_be_read(autostarting, program, tmp_path):
    autostarting.run_until("launched", kill_at_once, program, "wait", folder=tmp_path)
    out = tmp_path / "out"
    if not out.exists():
        return
    try:
        runs = open_trace(out).runs
    except EmptyTrace:  # it had not begun its journal, and has a spool alone
        assert len(recover(out).sealed) == 1
        assert [run.ending for run in open_trace(out).runs] == ["killed"]
    else:
        assert all(not run.sealed for run in runs)


def test_forked_children_have_runs_of_their_own(autostarting, program, tmp_path):
    done = autostarting.run_warm(program, "fork", folder=tmp_path, KVTRACE="out")
    assert done.returncode == 0, done.stderr
    trace = open_trace(tmp_path / "out")
    (parent,) = [run for run in trace.runs if run.parent_run_id is None]
    children = [run for run in trace.runs if run.parent_run_id is not None]
    assert {child.parent_run_id for child in children} == {parent.run_id}
    assert launches_of(trace, parent) == 4
    assert [launches_of(trace, child) for child in children] == [2, 2, 2]
    assert len({run.pid for run in trace.runs}) == 4
    # each child's tables stand alone: its ids begin anew
    for child in children:
        assert trace.table("calls", (child,)).column("call_id").to_pylist() == [0]
        assert trace.table("kernels", (child,)).column("name").to_pylist() == ["add"]


def test_children_forked_while_another_thread_launches_end(autostarting, program, tmp_path):
    done = autostarting.run_warm(
        program, "fork_while_a_thread_launches", folder=tmp_path, KVTRACE="out",
        KVTRACE_SANITIZE="warn",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    runs = open_trace(tmp_path / "out").runs
    assert len(runs) == 11
    assert all(run.sealed for run in runs)


def test_processes_of_every_start_method_are_captured(autostarting, program, tmp_path):
    done = autostarting.run_warm(program, "processes", folder=tmp_path, KVTRACE="out")
    assert done.returncode == 0, done.stderr
    trace = open_trace(tmp_path / "out")
    assert [launches_of(trace, run) for run in trace.runs] == [2, 2, 2]
    assert all(run.sealed for run in trace.runs)
    assert len({run.group_id for run in trace.runs}) == 1


def test_ranks_share_a_group_and_the_directory_of_the_first_process(
    autostarting, program, tmp_path
):
    # given two ranks that work in folders of their own, and a relative KVTRACE
    done = autostarting.run_warm(program, "ranks", folder=tmp_path, KVTRACE="out")
    assert done.returncode == 0, done.stderr
    trace = open_trace(tmp_path / "out")
    assert sorted((run.rank, run.world_size) for run in trace.runs) == [(0, 2), (1, 2)]
    (group,) = {run.group_id for run in trace.runs}
    assert group


@pytest.mark.parametrize("way", ["full_disk", "full_disk_with_a_handler"])
def test_full_disk_ends_the_recording_and_not_the_program(autostarting, program, tmp_path, way):
    done = autostarting.run_warm(program, way, folder=tmp_path, KVTRACE="out")
    assert done.returncode == 0, done.stderr
    assert done.stdout == "went on to the end\n"
    warnings = [line for line in done.stderr.splitlines() if line.startswith("kvtrace:")]
    assert len(warnings) == 1
    assert "recording has ended" in warnings[0]
    assert launches_of(open_trace(tmp_path / "out")) >= 1


def test_many_distinct_shapes_are_recorded_in_bounded_memory(autostarting, program, tmp_path):
    done = autostarting.run_warm(
        program, "ever_new_shapes", folder=tmp_path, KVTRACE="out", KVTRACE_MAX_CALLS="10"
    )
    assert done.returncode == 0, done.stderr
    trace = open_trace(tmp_path / "out")
    shapes = [call["args"][0]["shape"] for call in trace.table("calls").to_pylist()]
    assert shapes == [[size] for size in range(1, 31)]
    assert trace.table("launches").column("call_id").to_pylist() == list(range(30))
    messages = trace.table("messages", columns=["code", "count"]).to_pylist()
    assert {"code": "calls-forgotten", "count": 2} in [
        {"code": row["code"], "count": row["count"]} for row in messages
    ]


def test_directory_that_cannot_be_created_is_reported_once(autostarting, program, tmp_path):
    (tmp_path / "file").write_text("")
    done = autostarting.run_warm(program, "plain", folder=tmp_path, KVTRACE="file/out")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("kvtrace:") == 1


def test_each_invalid_setting_is_reported_once_and_has_its_default(autostarting, program, tmp_path):
    done = autostarting.run_warm(
        program,
        "plain",
        folder=tmp_path,
        KVTRACE="out",
        KVTRACE_MODE="nonsense",
        KVTRACE_TARGET="toaster",
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("kvtrace:") == 2
    trace = open_trace(tmp_path / "out")
    assert (trace.runs[0].mode, launches_of(trace)) == ("launch", 3)
    codes = trace.table("messages").column("code").to_pylist()
    assert codes.count("bad-setting") == 2


def test_kernels_excluded_by_the_setting_are_not_recorded(autostarting, program, tmp_path):
    done = autostarting.run_warm(
        program, "plain", folder=tmp_path, KVTRACE="out", KVTRACE_KERNELS="softmax*,matmul"
    )
    assert done.returncode == 0, done.stderr
    assert not (tmp_path / "out").exists()


def test_several_captures_in_code_are_separate_runs(autostarting, program, tmp_path):
    # given a program that captures twice, the second time inside out of order
    done = autostarting.run_warm(program, "twice", folder=tmp_path)
    assert done.returncode == 0, done.stderr
    assert launches_of(open_trace(tmp_path / "first")) == 2
    assert launches_of(open_trace(tmp_path / "second")) == 3
    assert not (tmp_path / "third").exists()


def test_recording_of_the_variable_includes_captures_in_code_and_ends_with_stop(
    autostarting, program, tmp_path
):
    done = autostarting.run_warm(program, "stop_in_code", folder=tmp_path, KVTRACE="out")
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    trace = open_trace(tmp_path / "out")
    (run,) = trace.runs
    assert (run.ending, launches_of(trace)) == ("stopped", 3)
    assert trace.table("messages").column("code").to_pylist().count("already-recording") == 2


def test_marks_with_hostile_names_are_recorded(autostarting, program, tmp_path):
    done = autostarting.run_warm(program, "marks", folder=tmp_path, KVTRACE="out")
    assert done.returncode == 0, done.stderr
    marks = open_trace(tmp_path / "out").table("marks")
    names = marks.column("name").to_pylist()
    ends = marks.column("end").cast("int64").to_pylist()
    begins = marks.column("begin").cast("int64").to_pylist()
    assert [end is None for end in ends].count(False) == 1
    step = names.index("step")
    assert ends[step] > begins[step]
    assert dict(marks.column("attributes").to_pylist()[step]) == {"loss": "0.5", "number": "1"}
    assert "42" in names
    assert any(name.startswith("longlong") and "more characters" in name for name in names)
    assert any("</script>" in name for name in names)


@pytest.mark.parametrize("faults", ["off", "on"])
def test_timeline_begins_with_the_device_in_a_program_without_triton(
    autostarting, tmp_path, faults
):
    """The test calls what torch does when it initializes CUDA, which this machine lacks.

    Dumps of faults are preferred to it, with a word.
    """
    program = tmp_path / "program.py"
    program.write_text(
        "import sys, torch, kvtrace\n"
        "kvtrace.mark('step')\n"
        "assert 'triton' not in sys.modules\n"
        "for begin, _ in torch.cuda._queued_calls:\n"
        "    begin.__module__.startswith('kvtrace.') and begin()\n"
    )
    done = autostarting.run(
        program, folder=tmp_path, KVTRACE="out", KVTRACE_MODE="timeline", KVTRACE_FAULTS=faults
    )
    assert done.returncode == 0, done.stderr
    codes = open_trace(tmp_path / "out").table("messages").column("code").to_pylist()
    assert codes.count("no-device-timeline") == 1
    assert ("CUDA's driver writes no dump of a fault" in done.stderr) == (faults == "on")
