"""Programs that are recorded with KVTRACE_FAULTS=on: variables of the driver, and their end."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kvtrace.addons.fault.starting import dump_variables
from kvtrace.schema.recovery import recover
from kvtrace.schema.trace import open_trace

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[3]
PROGRAM = """
import ctypes, os, sys
import kvtrace._boot
kvtrace._boot.boot()
print({name: text for name, text in os.environ.items() if name.startswith("CUDA_")})
import kvtrace
from kvtrace.capture import api
from tests.capture.killed_program import launch_one_call
session = kvtrace.start(os.environ["KVTRACE"])
call_of = launch_one_call(session)
for number in range(500):
    session.add_launch(call_of(number), number, number + 1)
sys.stdout.flush()
if sys.argv[1] == "pipe":  # as the driver makes one
    folder = os.path.join(os.environ["KVTRACE"], "faults")
    os.mkfifo(f"{folder}/host.{os.getpid()}.pipe")
    os.mkfifo(f"{folder}/host.1.pipe")
if sys.argv[1] == "abort":
    ctypes.CDLL(None).abort()
"""


def run(out, how, **variables):
    environment = {**os.environ, "KVTRACE": str(out), "KVTRACE_FAULTS": "on", **variables}
    return subprocess.run(
        [sys.executable, "-c", PROGRAM, how], cwd=ROOT, env=environment, capture_output=True,
        text=True, timeout=120, check=False,
    )  # fmt: skip


def test_program_that_aborts_keeps_all_records(tmp_path):
    pytest.importorskip("kvtrace.capture._hot", reason="SIGABRT is left alone without it")
    out = tmp_path / "out"
    done = run(out, "abort")
    assert done.returncode == -signal.SIGABRT, done.stderr
    assert open_trace(out).table("launches", columns=["seq"]).num_rows == 500
    assert recover(out).sealed
    (run_row,) = open_trace(out).runs
    assert run_row.ending == "signal"


def test_handler_that_was_there_acts_afterwards(tmp_path):
    pytest.importorskip("kvtrace.capture._hot", reason="SIGABRT is left alone without it")
    done = run(tmp_path / "out", "abort", PYTHONFAULTHANDLER="1")
    assert done.returncode == -signal.SIGABRT
    assert "Fatal Python error: Aborted" in done.stderr


def test_variables_of_the_driver_are_set_but_not_overridden(tmp_path):
    out = tmp_path / "out"
    done = run(out, "exit", CUDA_COREDUMP_FILE="/elsewhere/core")
    assert done.returncode == 0, done.stderr
    shown = eval(done.stdout.split("\n")[0])
    expected = dump_variables(str(out)) | {"CUDA_COREDUMP_FILE": "/elsewhere/core"}
    assert shown == expected
    assert (out / "faults").is_dir()


@pytest.mark.parametrize("value", ["off", "0", ""])
def test_nothing_is_set_without_the_variable(value, tmp_path):
    done = run(tmp_path / "out", "exit", KVTRACE_FAULTS=value)
    assert done.stdout.startswith("{}")
    assert not (tmp_path / "out" / "faults").exists()


def test_abort_with_the_interpreters_lock_is_not_held_up(tmp_path):
    """`os.abort` keeps the lock that writing would need: the process still ends at once."""
    program = PROGRAM.replace("ctypes.CDLL(None).abort()", "os.abort()")
    environment = {**os.environ, "KVTRACE": str(tmp_path / "out"), "KVTRACE_FAULTS": "on"}
    done = subprocess.run(
        [sys.executable, "-c", program, "abort"], cwd=ROOT, env=environment, capture_output=True,
        timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == -signal.SIGABRT


def test_flags_never_let_the_driver_go_on(tmp_path):
    assert "skip_abort" not in dump_variables(str(tmp_path))["CUDA_COREDUMP_GENERATION_FLAGS"]


def test_process_takes_its_own_pipe_with_it(tmp_path):
    done = run(tmp_path / "out", "pipe")
    assert (done.returncode, done.stderr) == (0, "")
    assert [path.name for path in (tmp_path / "out" / "faults").iterdir()] == ["host.1.pipe"]
