"""Recordings of programs that replaced Python's own functions, or have no standard error."""

import os
import signal
import subprocess
import sys
import threading
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest

from kvtrace import surroundings
from kvtrace.capture.context import _platform
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate

ROOT = Path(__file__).parents[1]
_PATH = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])

#: Ends with 300 launches and a warning on a defect of the settings.
LAUNCHES = """
import sys, time
import kvtrace
from tests.capture.killed_program import launch_new_kernels

session = kvtrace.start(sys.argv[1])
call_of = launch_new_kernels(session)
for number in range(300):
    now = time.time_ns()
    session.add_launch(call_of(number % 5), now, now + 1)
session.message("warning", "of-the-test", "a warning")
print("right", flush=True)
"""
REPLACED = """
import _thread, os, subprocess, threading
import logging  # cloudpickle needs it, which pyarrow imports where it is installed

def replaced(*_, **__):
    raise AssertionError("the program's own function was called")

_thread.start_new_thread = threading.Event = threading.Thread = replaced
threading.RLock = subprocess.Popen = subprocess.run = os.waitpid = replaced
"""


def run(code: str, out: Path, *, shell: str = "", **variables: str):
    """Run code, with redirections of a shell, from the checkout's top folder."""
    return subprocess.run(
        ["sh", "-c", f'"$0" -c "$1" "$2" {shell}', sys.executable, code, out],
        cwd=ROOT,
        env={**os.environ, "KVTRACE_RULES": "", **variables},
        capture_output=True,
        text=True,
        timeout=300,
    )


def codes(out: Path) -> list[str]:
    return open_trace(out).table("messages", columns=["code"])["code"].to_pylist()


@pytest.mark.process
@pytest.mark.parametrize("by_variable", [False, True])
def test_program_that_replaces_threads_locks_and_processes_is_recorded(tmp_path, by_variable):
    out = tmp_path / "out"
    boot = "import kvtrace._boot\n" if by_variable else ""
    variables = {"KVTRACE": str(out)} if by_variable else {}
    done = run(boot + REPLACED + LAUNCHES, out, **variables)
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert done.stderr == "kvtrace: a warning\n"
    assert open_trace(out).table("launches").num_rows == 300
    if which("git"):
        assert open_trace(out).runs[0].git_commit  # git ran, by functions of the system
    assert validate(out) == []


GREENLETS = """
from gevent import monkey
monkey.patch_all()
import gevent, time, torch, triton, triton.language as tl

@triton.jit
def scale(x, n, B: tl.constexpr):
    i = tl.arange(0, B)
    tl.store(x + i, tl.load(x + i, mask=i < n) * 2, mask=i < n)

def work():
    for _ in range(5):
        scale[(1,)](torch.ones(8), 8, B=8)
        time.sleep(.001)
    return 1

jobs = [gevent.spawn(work) for _ in range(6)]
gevent.joinall(jobs)
print(sum(job.value for job in jobs), flush=True)
"""


@pytest.mark.process
@pytest.mark.skipif(find_spec("gevent") is None, reason="gevent is not installed")
@pytest.mark.parametrize("ending", ["exit", "signal"])
def test_program_of_greenlets_ends_and_is_ended_by_signals(tmp_path, ending):
    program = tmp_path / "greenlets.py"
    waits = "time.sleep(600)\n" if ending == "signal" else ""
    program.write_text("import kvtrace._boot\n" + GREENLETS + waits)
    with subprocess.Popen(
        [sys.executable, program],
        cwd=ROOT,
        env={**os.environ, "KVTRACE": str(tmp_path / "out"), "PYTHONPATH": _PATH},
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "6\n"
        if ending == "signal":
            process.send_signal(signal.SIGTERM)
        assert process.wait(60) == (0 if ending == "exit" else -signal.SIGTERM)
    assert open_trace(tmp_path / "out").table("launches").num_rows == 30


@pytest.mark.process
@pytest.mark.parametrize(
    ("before", "shell"),
    [
        ("", "2>&-"),
        ("import sys; sys.stderr = None", ""),
        ("import sys; sys.stderr.close()", ""),
        ("import sys, io; sys.stderr = sys.stdout", "2>&-"),
    ],
)
def test_nothing_is_printed_where_there_is_no_standard_error(tmp_path, before, shell):
    out = tmp_path / "out"
    done = run(f"import kvtrace._boot\n{before}\n{LAUNCHES}", out, shell=shell, KVTRACE=str(out))
    assert (done.returncode, done.stdout) == (0, "right\n"), done.stderr
    assert "of-the-test" in codes(out)
    assert open_trace(out).table("launches").num_rows == 300
    assert validate(out) == []


@pytest.mark.process
def test_start_that_fails_prints_nothing_on_standard_output(tmp_path):
    code = "import sys; sys.stderr = None; sys.argv = None; import kvtrace._boot; print('right')"
    done = run(code, tmp_path / "out", KVTRACE=str(tmp_path), KVTRACE_MODE="none such")
    assert (done.returncode, done.stdout) == (0, "right\n")


def test_event_wakes_all_threads_that_wait_and_is_set_for_good():
    event, woken = surroundings.Event(), []
    assert not event.wait(0.001)
    threads = [threading.Thread(target=lambda: woken.append(event.wait(60))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for _ in range(2):
        event.set()
    for thread in threads:
        thread.join()
    assert woken == [True] * 8
    assert event.wait()
    assert event.is_set()


def test_platform_is_the_one_that_python_tells():
    import platform

    assert _platform() == platform.platform()
