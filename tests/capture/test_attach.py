"""`kvtrace run --pid`: a running process is recorded for a while, and is then as it was before."""

import atexit
import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import contextmanager
from pathlib import Path

import pytest

import kvtrace
from kvtrace import _boot
from kvtrace.capture import api, attach
from kvtrace.cli import main, run_program
from kvtrace.schema.errors import RecordingUnavailable
from kvtrace.schema.trace import open_trace

ROOT = Path(__file__).resolve().parents[2]
#: A program that marks each line of its standard input, between two Python bytecodes.
MARKING = (
    "import sys, kvtrace\nprint('ready', flush=True)\nfor _ in sys.stdin: kvtrace.mark('step')"
)

needs_remote_exec = pytest.mark.skipif(
    sys.version_info < (3, 14), reason="Python executes code of another process from 3.14 on"
)


def hooks():
    """Return what a recording changes in its process."""
    variables = {name for name in os.environ if name.startswith("KVTRACE")}
    handled = {number: signal.getsignal(number) for number in signal.valid_signals()}
    functions = (os._exit, os.execv, os.execve)
    threads = threading.enumerate()
    return list(sys.meta_path), variables, handled, functions, threads, atexit._ncallbacks()


@pytest.fixture
def command():
    """Yield the command's and the recorded process's ends of a connection."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


@contextmanager
def recording(command, folder, seconds=None, **settings):
    """Record this process in another thread, which ends in the block; yield its answers."""
    ours, theirs = command
    words = (theirs, str(folder), seconds, settings)
    thread = threading.Thread(target=attach.record, args=words)
    thread.start()
    with ours.makefile() as lines:
        assert lines.readline() == "began\n"
        yield lines
        thread.join()


def test_nothing_stays_in_a_process_after_its_recording(command, tmp_path):
    # given a process that has recorded before, so all modules are imported
    with kvtrace.capture(tmp_path / "before"):
        kvtrace.mark("step")
    atexit.unregister(api.process_ends)
    _boot.stop_watching()
    before = hooks()
    # when it is recorded until the command ends
    with recording(command, tmp_path / "out", kernels="add*") as lines:
        kvtrace.mark("step")
        command[0].shutdown(socket.SHUT_WR)
        run_id = lines.readline().strip()
    after = hooks()
    # then the run is sealed, with the command's settings, and all is as before
    (run,) = open_trace(tmp_path / "out").runs
    assert (run.run_id, run.ending) == (run_id, "stopped")
    assert run.settings["kernels"] == "add*"
    assert after == before
    assert api.current() is None


def test_a_process_without_launches_has_no_run(command, tmp_path):
    with recording(command, tmp_path / "out", seconds=0) as lines:
        assert lines.readline() == "\n"
    assert not (tmp_path / "out").exists()


def test_a_recording_goes_on_when_another_is_asked_for(command, tmp_path):
    with (
        kvtrace.capture(tmp_path / "first") as session,
        pytest.raises(RecordingUnavailable, match=r"recorded already, into .*first$"),
    ):
        attach.record(command[1], str(tmp_path / "second"), None, {})
    assert session.out == str(tmp_path / "first")


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="an older Python refuses")
def test_an_older_python_says_what_is_needed(tmp_path, capsys):
    assert main(["run", "--pid", str(os.getpid()), "-o", str(tmp_path / "out")]) == 2
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert capsys.readouterr().err == (
        "kvtrace: run --pid needs Python 3.14 or newer, here and in process "
        f"{os.getpid()}; this is Python {version}\n"
    )


@pytest.mark.parametrize(
    "words", [[], ["--seconds", "3"], ["--pid", "1", "x.py"], ["--seconds", "3", "x.py"]]
)
def test_a_script_or_a_process_is_recorded(words, capsys):
    assert main(["run", *words]) == 2
    assert capsys.readouterr().err.startswith("kvtrace: run needs a script, or --pid PID")


def test_a_process_that_does_not_exist_is_not_recorded(tmp_path):
    pid = 2**22 + 1  # beyond Linux's largest
    with pytest.raises(RecordingUnavailable, match=f"^there is no process {pid} to record$"):
        run_program.record_process(pid, str(tmp_path / "out"))


@pytest.mark.process
@pytest.mark.skipif(os.geteuid() != 0, reason="only root starts processes of another user")
def test_a_process_of_another_user_is_not_recorded(tmp_path):
    with subprocess.Popen(["/bin/sleep", "600"], user=65534, group=65534, cwd="/") as other:
        with pytest.raises(RecordingUnavailable, match="is of another user, who has to record it"):
            run_program.record_process(other.pid, str(tmp_path / "out"))
        other.kill()


def marking(*options, **variables):
    program = subprocess.Popen(
        [sys.executable, *options, "-c", MARKING],
        env=os.environ | {"PYTHONPATH": str(ROOT)} | variables,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert program.stdout.readline() == "ready\n"
    return program


@needs_remote_exec
@pytest.mark.process
def test_a_running_process_is_recorded_until_ctrl_c_and_goes_on(tmp_path):
    # given a program that marks each line
    program, out = marking(), tmp_path / "out"
    words = ["-m", "kvtrace", "run", "--pid", str(program.pid), "-o", str(out)]
    command = subprocess.Popen([sys.executable, *words], cwd=ROOT, stderr=subprocess.PIPE)
    # when the command ends after a mark
    while not list(out.glob(".journal/*")):
        assert command.poll() is None, command.stderr.read()
        print(file=program.stdin, flush=True)
    command.send_signal(signal.SIGINT)
    _, text = command.communicate()
    # then the run is sealed, and the program goes on to its end
    (run,) = open_trace(out).runs
    assert text.decode() == f"process {program.pid} was recorded as run {run.run_id} in {out}\n"
    _, errors = program.communicate("\n")
    assert (run.ending, command.returncode) == ("stopped", 0)
    assert (program.returncode, errors) == (0, "")


@needs_remote_exec
@pytest.mark.process
@pytest.mark.parametrize(
    ("options", "variables", "reason"),
    [
        (["-X", "disable-remote-debug"], {}, "it was started with -X disable-remote-debug or"),
        ([], {"PYTHON_DISABLE_REMOTE_DEBUG": "1"}, "it was started with -X disable-remote-debug"),
        ([], {}, "for 0.1 s its main thread waited"),
    ],
)
def test_a_process_that_cannot_be_recorded_goes_on(options, variables, reason, tmp_path):
    program = marking(*options, **variables)
    with pytest.raises(RecordingUnavailable, match=reason):
        run_program.record_process(program.pid, str(tmp_path / "out"), 0, patience=0.1)
    _, errors = program.communicate("\n")
    assert (program.returncode, errors, (tmp_path / "out").exists()) == (0, "", False)


@needs_remote_exec
@pytest.mark.process
def test_a_program_of_another_language_is_not_recorded(tmp_path):
    with subprocess.Popen(["/bin/sleep", "600"]) as other:
        with pytest.raises(RecordingUnavailable, match=r"does not run the same Python 3\.\d+ as"):
            run_program.record_process(other.pid, str(tmp_path / "out"))
        other.kill()
