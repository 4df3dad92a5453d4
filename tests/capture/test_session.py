"""A session: what it is told becomes rows, whatever it is told, and nothing comes back."""

import gc
import threading
import time
import weakref

import pytest

from kvtrace.capture import ends
from kvtrace.capture.records import ArgumentRecord, Frame, KernelRecord, Parameter, Stage
from kvtrace.capture.session import Session
from kvtrace.schema.trace import open_trace
from kvtrace.settings import DEFAULT
from tests.capture.recorders import Adapter, Function, Kernel, wrapped_by


@pytest.fixture
def session(tmp_path):
    made = Session(str(tmp_path / "out"), DEFAULT)
    yield made
    made.stop()


def stopped(session):
    session.stop()
    return open_trace(session.out)


KERNEL = KernelRecord(
    name="kernel",
    origin="jit",
    source="def kernel(): pass",
    files=(("a.py", b"content"), ("gone.py", None)),
    signature=(Parameter("x", "*fp32", None, 16),),
    options={"maxnreg": "64"},
    stages=(Stage("ttir", b"module", 5), Stage("store", None, 7)),
)
STACK = (Frame("a.py", 1, 2, "f"), Frame("a.py", 9, None, "<module>"))


def test_a_printed_session_says_where_it_records(session):
    assert repr(session) == f"kvtrace: records launches into {session.out}"
    session.stop()
    assert repr(session) == f"kvtrace: recorded launches into {session.out}"


def test_launches_of_daemon_threads_while_the_trace_is_sealed_are_counted(session, monkeypatch):
    removed = []
    monkeypatch.setattr(ends, "_at_finalization", [])
    with wrapped_by(session.recorder, Adapter()):
        call_id = session.add_call(session.add_kernel(KERNEL), (1, 1, 1), [], STACK)
        session.add_launch(call_id, 1, 2)
        session.process_ends()
        session.remove_hooks(lambda: removed.append(True))
        for _ in range(3):
            Function(Kernel()).run(grid=(1,), warmup=False)
        session.stop("exit")
    assert (removed, len(ends._at_finalization)) == ([], 1)
    trace = open_trace(session.out)
    assert (trace.runs[0].dropped_rows, trace.table("launches").num_rows) == (3, 1)


def test_hooks_are_removed_at_once_if_the_program_goes_on(session):
    removed = []
    session.remove_hooks(lambda: removed.append(True))
    assert removed == [True]


def test_kernels_calls_and_launches_of_a_backend_are_in_the_tables(session):
    # given a kernel, a call and two launches
    kernel_id = session.add_kernel(KERNEL)
    argument = ArgumentRecord("x", "tensor", dtype="fp32", shape=(2,), value=b"12345678")
    call_id = session.add_call(kernel_id, (1, 2, 3), [argument], STACK)
    session.add_launch(call_id, 100, 200)
    with session.in_phase("autotune"):
        session.add_launch(call_id, 300, 400, device=1, stream=7)
    session.add_mark("here", 5, None, {"loss": 1})
    # when the session ends
    trace = stopped(session)
    # then every table has its rows
    launches = trace.table("launches", columns=["seq", "call_id", "device", "stream", "phase"])
    assert [tuple(row.values())[:5] for row in launches.to_pylist()] == [
        (0, 0, None, None, "run"),
        (1, 0, 1, 7, "autotune"),
    ]
    (kernel,) = trace.table("kernels").to_pylist()
    assert (kernel["name"], dict(kernel["options"])) == ("kernel", {"maxnreg": "64"})
    assert trace.artifact(kernel["source_artifact"]) == b"def kernel(): pass"
    assert [file["path"] for file in kernel["files"]] == ["a.py", "gone.py"]
    assert [stage["duration_ns"] for stage in kernel["stages"]] == [5, 7]
    (call,) = trace.table("calls").to_pylist()
    assert (call["grid_x"], call["grid_y"], call["grid_z"]) == (1, 2, 3)
    assert trace.artifact(call["args"][0]["value_artifact"]) == b"12345678"
    (stack,) = trace.table("stacks").to_pylist()
    assert (stack["stack_id"], len(stack["frames"])) == (call["stack_id"], 2)


def test_equal_content_and_stacks_are_stored_once(session):
    for _ in range(3):
        kernel_id = session.add_kernel(KERNEL)
        session.add_call(kernel_id, (1, 1, 1), [], STACK)
    trace = stopped(session)
    assert trace.table("kernels").num_rows == 3
    assert trace.table("stacks").num_rows == 1
    assert trace.table("artifacts").num_rows == 3


def test_nothing_is_written_before_the_first_launch_or_mark(session, tmp_path):
    session.message("info", "code", "a message alone makes no files")
    session.stop()
    assert not (tmp_path / "out").exists()


def test_early_messages_are_kept_and_repeated_ones_counted(session, capsys):
    for _ in range(5):
        session.message("warning", "code", "said early")
    session.add_mark("m", 1, 2, {})
    session.message("warning", "code", "said early")
    trace = stopped(session)
    rows = trace.table("messages", columns=["code", "count"]).to_pylist()
    assert sum(row["count"] for row in rows if row["code"] == "code") == 6
    assert capsys.readouterr().err == "kvtrace: said early\n"


def test_a_flood_of_messages_is_bounded_and_counted(session):
    session.add_mark("m", 1, 2, {})
    for number in range(1500):
        session.message("info", "flood", f"message {number}")
    rows = stopped(session).table("messages", columns=["code", "count"]).to_pylist()
    assert len(rows) < 1010
    assert sum(row["count"] for row in rows) == 1500


def test_record_that_cannot_be_made_does_not_affect_others(session, capsys):
    def broken():
        raise RuntimeError("no such stage")

    session.add_kernel(broken)
    session.add_kernel(KernelRecord(name="too wide", origin="jit", shared_bytes=2**70))
    good = session.add_kernel(KERNEL)
    trace = stopped(session)
    assert trace.table("kernels").column("kernel_id").to_pylist() == [good]
    codes = trace.table("messages").column("code").to_pylist()
    assert codes.count("capture-failure") == 2
    assert capsys.readouterr().err.count("kvtrace:") == 1  # the first is printed, all are rows


def test_rows_reach_the_disk_by_themselves(session):
    session.add_launch(session.add_call(session.add_kernel(KERNEL), (1, 1, 1), []), 1, 2)
    deadline = time.monotonic() + 300
    while time.monotonic() < deadline:
        time.sleep(0.1)
        try:
            if open_trace(session.out).table("launches").num_rows:
                break
        except Exception:
            continue  # the thread has not made the folder yet
    assert time.monotonic() < deadline
    assert not open_trace(session.out).runs[0].sealed


def test_after_the_end_nothing_is_recorded_and_nothing_fails(session):
    session.add_mark("before", 1, 2, {})
    session.stop()
    session.stop()
    session.add_mark("after", 1, 2, {})
    session.add_kernel(KERNEL)
    session.add_launch(0, 1, 2)
    session.flush()
    assert open_trace(session.out).table("marks").column("name").to_pylist() == ["before"]


def test_a_session_is_stopped_once_by_many_threads(session):
    session.add_mark("m", 1, 2, {})
    threads = [threading.Thread(target=session.stop) for _ in range(5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert open_trace(session.out).runs[0].sealed


def test_time_of_kvtrace_in_the_program_is_recorded(session):
    session.add_mark("m", 1, 2, {})
    session.spent(1_000_000_000)
    (run,) = stopped(session).runs
    assert run.self_overhead_ns is not None
    assert 1_000_000_000 < run.self_overhead_ns < 60_000_000_000


@pytest.mark.usefixtures("young_heap")
def test_code_objects_are_freed_after_a_recording(session):
    # given a function whose code nobody else has, which a stack is recorded of
    names = {"session": session, "kernel_id": session.add_kernel(KERNEL)}
    exec("def launch(): session.add_call(kernel_id, (1, 1, 1), [])", names)
    names["launch"]()
    code = weakref.ref(names.pop("launch").__code__)
    # when the recording ends
    session.stop()
    gc.collect()
    # then it is gone: Dynamo follows when code dies, which must not be after Dynamo itself
    assert code() is None
