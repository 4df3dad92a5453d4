"""Processes that end by a signal, by exec or by their parent: what was recorded is kept."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kvtrace.schema.recovery import recover
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]

#: What each program begins with: a recording, and how to add launches to it.
BEGIN = """
import multiprocessing, os, signal, sys, threading, time
import kvtrace
from tests.capture.killed_program import launch_one_call

session = kvtrace.start(sys.argv[1])
call_of = launch_one_call(session)

def launch(count):
    for number in range(count):
        now = time.time_ns()
        session.add_launch(call_of(number), now, now + 1)

def terminate():
    os.kill(os.getpid(), signal.SIGTERM)
"""


#: Its call is a new one in each worker, as those of the hot path are.
WORKER = """
def work(count):
    global call_of
    call_of = launch_one_call(session)
    launch(count)
"""


def run(program, out):
    return subprocess.run(
        [sys.executable, "-c", BEGIN + program, out], cwd=ROOT, capture_output=True, text=True,
        timeout=300,
    )  # fmt: skip


def launches(out):
    return open_trace(out).table("launches", columns=["seq"]).num_rows


def needs_the_extension():
    pytest.importorskip("kvtrace.capture._hot", reason="SIGTERM is left alone without it")


@pytest.mark.parametrize("then", ["time.sleep(60)", "while 1: pass", "os.read(os.pipe()[0], 1)"])
def test_process_ended_by_sigterm_keeps_all_records(then, tmp_path):
    needs_the_extension()
    done = run(f"launch(500)\nterminate()\n{then}", tmp_path / "out")
    assert (done.returncode, done.stderr) == (-signal.SIGTERM, "")
    assert launches(tmp_path / "out") == 500
    assert recover(tmp_path / "out").sealed
    (run_row,) = open_trace(tmp_path / "out").runs
    assert (run_row.ending, run_row.sealed, run_row.ended is None) == ("signal", True, False)
    assert validate(tmp_path / "out") == []


def test_the_second_sigterm_acts_at_once(tmp_path):
    needs_the_extension()
    program = "launch(1)\nsession._journal.lock.acquire()\nterminate()\nterminate()\ntime.sleep(60)"
    done = run(program, tmp_path / "out")
    assert done.returncode == -signal.SIGTERM


def test_hanging_journal_does_not_keep_the_process_alive(tmp_path):
    needs_the_extension()
    program = "launch(1)\nsession._journal.lock.acquire()\nterminate()\ntime.sleep(100)"
    done = run(program, tmp_path / "out")
    assert done.returncode == -signal.SIGTERM


@pytest.mark.parametrize(
    ("handler", "code"),
    [
        ("signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))", 7),
        ("signal.signal(signal.SIGTERM, lambda *_: os._exit(8))", 8),
        ("signal.signal(signal.SIGTERM, signal.SIG_IGN)", 0),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_sigterm_handler_of_the_program_is_called(handler, code, first, tmp_path):
    before, after = (handler, "") if first else ("", handler)
    program = f"{before}\nlaunch(9)\n{after}\nterminate()\ntime.sleep(0.1)\nkvtrace.stop()"
    done = run(program, tmp_path / "out")
    assert (done.returncode, done.stderr) == (code, "")
    if code != 7:  # where a handler ends in sys.exit, the program seals in its exit functions
        assert launches(tmp_path / "out") == 9


def test_python_sees_no_sigterm_handler_of_kvtrace(tmp_path):
    program = "launch(1)\nassert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL\nkvtrace.stop()"
    assert run(program, tmp_path / "out").returncode == 0


def test_a_forked_child_that_records_nothing_ends_at_once(tmp_path):
    program = """
launch(3)
child = os.fork()
if child == 0:
    time.sleep(60)
    os._exit(1)
time.sleep(0.1)
os.kill(child, signal.SIGTERM)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
kvtrace.stop()
"""
    done = run(program, tmp_path / "out")
    assert (done.stdout, done.stderr) == ("-15\n", "")


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_workers_of_a_multiprocessing_pool_keep_all_records(method, tmp_path):
    needs_the_extension()
    program = f"""
if __name__ == "__main__":
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        pool.map(work, [50] * 8)
    kvtrace.stop()
"""
    script = tmp_path / "program.py"
    script.write_text(f"import sys\nsys.path.insert(0, {str(ROOT)!r})\n{BEGIN}{WORKER}{program}")
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, script, out], cwd=ROOT, capture_output=True, text=True, timeout=300
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert launches(out) == 400


@pytest.mark.parametrize("how", ["execv(sys.executable, [sys.executable, '-c', 'print(1)'])",
                                 "execlp('true', 'true')",
                                 "execve('/bin/true', ['true'], {})"])  # fmt: skip
def test_records_before_exec_are_kept(how, tmp_path):
    done = run(f"launch(500)\nos.{how}", tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert launches(tmp_path / "out") == 500


def test_functions_that_end_a_process_are_pickled_as_those_of_os(tmp_path):
    program = """
import pickle
for name in ("_exit", "execv", "execve"):
    function = getattr(os, name)
    assert pickle.loads(pickle.dumps(function)) is function
    assert b"kvtrace" not in pickle.dumps(function)
kvtrace.stop()
"""
    done = run(program, tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")


def test_an_exec_that_fails_does_not_end_the_recording(tmp_path):
    program = """
launch(5)
try:
    os.execv("/nowhere", ["x"])
except FileNotFoundError:
    pass
launch(5)
kvtrace.stop()
"""
    done = run(program, tmp_path / "out")
    assert (done.returncode, done.stderr) == (0, "")
    assert launches(tmp_path / "out") == 10
    assert open_trace(tmp_path / "out").runs[0].ending == "stopped"


def test_a_launch_after_sigterm_is_not_made(tmp_path):
    needs_the_extension()
    program = """
from tests.capture.recorders import _hot, recorder_of, Adapter, Function, Kernel
recorder = recorder_of()
recorder.active = True
Function.run = recorder.wrap(Function.run, Adapter())
kernel = Function(Kernel())
kernel.run(1, grid=(1,), warmup=False)
print("first", flush=True)
terminate()
kernel.run(2, grid=(1,), warmup=False)
print("second", flush=True)
"""
    done = run(program, tmp_path / "out")
    assert (done.returncode, done.stdout, done.stderr) == (-signal.SIGTERM, "first\n", "")


@pytest.mark.parametrize(
    ("exception", "code"), [("KeyboardInterrupt", -signal.SIGINT), ("SystemExit(130)", 130)]
)
def test_ctrl_c_ends_a_process_as_without_recording(exception, code, tmp_path):
    done = run(f"launch(1)\nraise {exception}", tmp_path / "out")
    assert done.returncode == code
    assert open_trace(tmp_path / "out").runs[0].sealed


def test_an_interrupt_that_a_prompt_has_caught_does_not_count(tmp_path):
    caught = "sys.ps1 = '> '\nsys.last_value = KeyboardInterrupt()"  # as IPython leaves them
    assert run(f"launch(1)\n{caught}", tmp_path / "out").returncode == 0


def test_a_program_neither_lists_nor_joins_threads_of_the_recording(tmp_path):
    program = """
launch(1)
session.flush()
launch(1)
for thread in threading.enumerate():
    if thread is not threading.main_thread():
        print(thread.name, flush=True)
        thread.join()
"""
    done = run(program, tmp_path / "out")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
