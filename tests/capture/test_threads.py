"""Threads of the recording, and the warnings of forks, which must be those of the program alone."""

import os
import resource
import signal
import subprocess
import sys
import warnings
from contextlib import suppress
from pathlib import Path
from threading import Event, Thread

import pytest

from kvtrace.capture import threads
from kvtrace.capture.processes import output_of
from kvtrace.capture.threads import NAME, RecordingThread
from kvtrace.schema.trace import open_trace

ROOT = Path(__file__).parents[2]
WARNING = (
    "This process (pid=1) is multi-threaded, use of fork() may lead to deadlocks in the child."
)

FORKS = """
import os, sys, time, warnings
from threading import Event, Thread
import kvtrace
from tests.capture.killed_program import launch_new_kernels

def launches():
    for number in range(300):
        now = time.time_ns()
        session.add_launch(call_of(number % 5), now, now + 1)

session = kvtrace.start(sys.argv[1])
call_of = launch_new_kernels(session)
launches()
if sys.argv[2] == "thread":
    Thread(target=Event().wait, daemon=True).start()
count = 0
for _ in range(4):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        child = os.fork()
    if child == 0:
        launches()
        sys.exit(0)
    count += len(seen)
    os.waitpid(child, 0)
print(count)
"""


@pytest.fixture
def recording_thread():
    """A thread of the recording that waits."""
    ended, started = Event(), Event()
    thread = RecordingThread(lambda: (started.set(), ended.wait(60)))
    thread.start()
    started.wait()
    yield
    ended.set()
    thread.join()


def names() -> list[bytes]:
    found = []
    for task in threads._tasks():
        with suppress(FileNotFoundError, ProcessLookupError):  # it ended meanwhile
            found.append(Path(f"/proc/self/task/{task}/comm").read_bytes().strip())
    return found


def test_recording_threads_and_those_that_they_start_have_a_name_of_their_own():
    seen, ended = [], Event()

    def start_another() -> None:
        Thread(target=lambda: (seen.extend(names()), ended.set())).start()

    RecordingThread(start_another).start()
    assert ended.wait(60)
    assert NAME in seen
    with threads.library_threads():
        waiting = Event()
        library = Thread(target=waiting.wait)
        library.start()
    assert NAME in names()
    waiting.set()
    library.join()


@pytest.mark.process
def test_recording_threads_receive_no_signals_and_programs_that_they_start_do():
    blocked, output = set(), []

    def work() -> None:
        blocked.update(signal.pthread_sigmask(signal.SIG_BLOCK, ()))
        output.append(output_of(["grep", "SigBlk", "/proc/self/status"], dict(os.environ), 60))

    thread = RecordingThread(work)
    thread.start()
    thread.join()
    assert blocked >= {signal.SIGTERM, signal.SIGINT, signal.SIGUSR1, signal.SIGXFSZ}
    assert signal.SIGSEGV not in blocked
    assert int(output[0].split()[1], 16) == 0


def test_only_the_program_s_own_writes_beyond_a_limit_cause_a_signal(tmp_path):
    seen = []
    handler = signal.signal(signal.SIGXFSZ, lambda *_: seen.append("signal"))
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    with (tmp_path / "file").open("wb", buffering=0) as file:
        resource.setrlimit(resource.RLIMIT_FSIZE, (0, limit[1]))
        try:
            with pytest.raises(OSError, match="File too large"), threads.without_size_signal():
                file.write(b"text")
            seen.append("own")
            with pytest.raises(OSError, match="File too large"):
                file.write(b"text")
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
            signal.signal(signal.SIGXFSZ, handler)
    assert seen == ["own", "signal"]


@pytest.mark.parametrize("action", ["error", "always"])
def test_fork_warning_is_ignored_once_where_the_program_has_one_thread(
    recording_thread, monkeypatch, action
):
    assert NAME in names()
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter(action)
        before = list(warnings.filters)
        monkeypatch.setattr(threads, "_has_program_one_thread", lambda: True)
        threads._before_fork()
        warnings.warn(WARNING, DeprecationWarning, stacklevel=1)
        assert warnings.filters == before
        assert seen == []
        threads._before_fork()
        monkeypatch.setattr(threads, "_has_program_one_thread", lambda: False)
        if action == "error":
            with pytest.raises(DeprecationWarning):
                warnings.warn(WARNING, DeprecationWarning, stacklevel=1)
        else:
            warnings.warn(WARNING, DeprecationWarning, stacklevel=1)
            warnings.warn("another", DeprecationWarning, stacklevel=1)
            assert len(seen) == 2
        threads._take_fork_filter_back()
        assert warnings.filters == before


@pytest.mark.process
@pytest.mark.parametrize("kind", ["alone", "thread"])
def test_forks_warn_as_without_recording(tmp_path, kind):
    out = tmp_path / "out"
    done = subprocess.run(
        [sys.executable, "-c", FORKS, out, kind],
        cwd=ROOT, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    warned = sys.version_info >= (3, 12) and kind == "thread"
    assert (done.returncode, done.stdout) == (0, f"{4 * warned}\n"), done.stderr
    runs = open_trace(out)
    assert runs.table("launches").num_rows == 5 * 300
