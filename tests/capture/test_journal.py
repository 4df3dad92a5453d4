"""The journal's thread: what a row refers to is on disk before it, and what is lost is counted."""

import os
import signal
import statistics
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from kvtrace.capture import _hot
from kvtrace.capture.descriptors import Descriptors
from kvtrace.capture.journal import Journal
from kvtrace.capture.run_limits import RunLimits
from kvtrace.schema.errors import EmptyTrace
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.writer import SEGMENT_ROWS, RunWriter, new_run_id
from kvtrace.settings import DEFAULT
from tests.capture.kills import KINDS, MEDIAN_LOSS, kill_many, kill_one
from tests.support.thorough import usually

ROOT = Path(__file__).parents[2]


class Launching:
    """A recorder whose program launches a new call just when launches are taken."""

    def __init__(self) -> None:
        self._recorder = _hot.Recorder(lambda _: (b"", ()), lambda _: None, (), 1000)
        self.launch = lambda: None

    def __getattr__(self, name: str) -> Any:
        return getattr(self._recorder, name)

    def drain(self) -> bytes:
        self.launch()
        return self._recorder.drain()


class Program:
    """Calls and launches for a journal, as a session and its backends make them."""

    def __init__(self, out: Path) -> None:
        self.recorder = Launching()
        run_id = new_run_id()
        self.journal = Journal(
            str(out), run_id, self.recorder, {}, self.fail, self.fail,
            RunLimits(DEFAULT, str(out), run_id), self.fail, self.fail, Descriptors(),
        )  # fmt: skip
        self.calls = 0
        self.errors: list[Exception] = []
        self.journal.submit(lambda journal: journal.add("kernels", {"kernel_id": 0}))

    def fail(self, error: Exception) -> None:
        self.errors.append(error)

    def call(self) -> int:
        row = {"call_id": self.calls, "kernel_id": 0}
        self.journal.submit(lambda journal: journal.add("calls", row))
        self.calls += 1
        return self.calls - 1

    def launch(self, call_id: int, times: int = 1) -> None:
        for _ in range(times):
            self.recorder.append(call_id, 1, 2)


def dangling_references(out: Path) -> list[str]:
    return [problem.text for problem in validate(out) if "refers to" in problem.text]


def test_a_call_that_is_launched_while_the_thread_works_is_on_disk_before_its_launch(tmp_path):
    program = Program(tmp_path)
    program.recorder.launch = lambda: program.launch(program.call())

    for _ in range(3):
        program.journal.flush()
        launched = open_trace(tmp_path).table("launches").column("call_id").to_pylist()
        assert dangling_references(tmp_path) == []

    assert launched == [0, 1, 2]


def test_many_launches_do_not_reach_the_disk_before_their_calls(tmp_path, monkeypatch):
    """A write that grows large is handed over at once; the process may be killed right then."""
    monkeypatch.setattr(RunWriter, "flush", lambda self: None)
    program = Program(tmp_path)
    program.launch(program.call(), 150_000)

    program.journal.flush()

    assert open_trace(tmp_path).table("launches").num_rows == 150_000
    assert dangling_references(tmp_path) == []


def test_columns_do_not_reach_the_disk_before_the_rows_that_they_refer_to(tmp_path, monkeypatch):
    monkeypatch.setattr(RunWriter, "flush", lambda self: None)
    program = Program(tmp_path)
    call_id = program.call()

    def write(journal: Journal) -> None:
        stack = journal.add_stack([("a.py", 1, None, "f")])
        count = 200_000
        columns = {"call_id": [call_id] * count, "order": list(range(count))}
        columns["stack_id"] = [stack] * count
        journal.append("buffers", columns)

    program.journal.submit(write)
    program.journal.flush()

    assert program.errors == []
    assert open_trace(tmp_path).table("buffers").num_rows == 200_000
    assert dangling_references(tmp_path) == []


@pytest.mark.costly("thousands of rows; other tests of the journal stay by day")
def test_rows_are_written_while_the_journal_thread_is_behind(tmp_path, monkeypatch):
    """Each call takes its time, as one with much to compress; the program makes many at once."""
    monkeypatch.setattr("kvtrace.capture.journal.INTERVAL", 0.02)
    program = Program(tmp_path)
    on_disk: list[int] = []
    done = threading.Event()

    def slow(journal: Journal) -> None:
        time.sleep(0.005)
        if on_disk:
            assert dangling_references(tmp_path) == []
        on_disk.append(open_trace(tmp_path).table("calls").num_rows)
        if len(on_disk) == 40:
            done.set()

    program.journal.flush()  # now there is a trace to open
    for _ in range(40):
        program.launch(program.call())
        program.journal.submit(slow)
    program.journal.start()
    # Launches that are taken now, before the thread has come to the calls above, have to wait.
    program.recorder.launch = lambda: program.launch(program.call())
    assert done.wait(300)
    program.journal.close("exit")

    assert program.errors == []
    assert on_disk[-1] > 0
    assert dangling_references(tmp_path) == []
    # The last launch is taken when the files are sealed: it is counted, and has no row.
    trace = open_trace(tmp_path)
    assert trace.table("launches").num_rows == program.calls - 1
    assert trace.table("runs").column("dropped_rows").to_pylist() == [1]


LIMITED = """
    import resource, signal, sys, time
    from kvtrace.capture.session import Session
    from kvtrace.settings import DEFAULT
    from tests.capture.killed_program import arguments, kernel, stack
    signal.signal(signal.SIGXFSZ, lambda *_: print("the program's handler", file=sys.stderr))
    session = Session(sys.argv[1], DEFAULT)
    known = session.add_call(session.add_kernel(kernel(0)), (1, 1, 1), arguments(0), stack(0))
    session.flush()
    if sys.argv[2] == "files":
        resource.setrlimit(resource.RLIMIT_FSIZE, (40_000, resource.RLIM_INFINITY))
    for first in range(0, 100_000, 500):
        for number in range(first, first + 500):
            session.add_launch(known, number, number + 1)
        session.flush()
    if "again" in sys.argv:
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY,) * 2)
    session.stop("exit")
    session.add_launch(known, 1, 2)  # the recording has ended
"""


def run_limited(out: Path, *how: str) -> str:
    child = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(LIMITED), str(out), *how],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        check=True,
    )
    return child.stderr


@pytest.mark.process
@pytest.mark.parametrize("how", [("files",), ("files", "again")])
def test_launches_dropped_by_a_full_store_are_counted_until_the_end(tmp_path, how):
    printed = run_limited(tmp_path, *how)
    assert "recording has ended" in printed
    assert "the program's handler" not in printed

    trace = open_trace(tmp_path)

    kept = trace.table("launches").num_rows
    assert 0 < kept < 5_000
    assert kept + trace.runs[0].dropped_rows == 100_000
    assert trace.runs[0].ending == "disk-full"
    assert dangling_references(tmp_path) == []


@pytest.mark.process
def test_launches_lost_by_a_full_disk_are_counted_until_the_end(small_disk):
    (small_disk / "ballast").write_bytes(bytes(3_500_000))
    assert "recording has ended" in run_limited(small_disk / "out", "disk")

    trace = open_trace(small_disk / "out")

    kept = trace.table("launches").num_rows
    assert 0 < kept < 20_000
    assert kept + trace.runs[0].dropped_rows == 100_000
    assert dangling_references(small_disk / "out") == []


@pytest.mark.process
@pytest.mark.parametrize("free", range(4, 12))
def test_no_launch_is_written_without_its_call_if_no_file_can_be_created(few_files, free):
    files = [few_files / f"file-{number}" for number in range(30)]
    for file in files:
        file.touch()
    for file in files[:free]:
        file.unlink()
    program = Program(few_files / "out")
    for _ in range(3):
        program.launch(program.call(), 100)
        program.journal.flush()
    program.journal.close("exit")

    assert bool(program.errors)
    try:
        assert dangling_references(few_files / "out") == []
    except EmptyTrace:
        assert free < 8  # not even the journal could be made, beside the spool


@pytest.fixture
def few_files(tmp_path):
    """A real file system with room for some files only."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=4m,nr_inodes=31", "tmpfs", str(folder)],
        capture_output=True,
    )
    if mounted.returncode:
        pytest.skip("mounting needs root")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


LONG_SEGMENTS = pytest.mark.night("as with short segments, of which more are finished; that stays")


@pytest.mark.process
@pytest.mark.parametrize("rows", [pytest.param(SEGMENT_ROWS, marks=LONG_SEGMENTS), 300])
def test_programs_killed_at_random_moments_leave_valid_traces(rows):
    kills = kill_many(usually(1, thorough=2) * len(KINDS), seed=rows, rows=rows)

    assert [kill.problems for kill in kills] == [()] * len(kills)
    assert statistics.median(kill.loss for kill in kills) < MEDIAN_LOSS


@pytest.mark.process
@pytest.mark.parametrize("by", [signal.SIGKILL, signal.SIGABRT, signal.SIGSEGV, signal.SIGHUP])
@pytest.mark.parametrize("kind", ["launches", "busy"])
def test_first_launches_outlive_a_process_that_is_killed_soon_after(kind, by, tmp_path):
    """They are in the spool, even if no other Python thread ran and the journal has nothing."""
    pytest.importorskip("kvtrace.capture._hot", reason="without it there is no spool")

    kill = kill_one(kind, 0.1, SEGMENT_ROWS, tmp_path, by)

    assert kill.problems == ()
    assert kill.kept >= 1
    assert kill.loss < 0.1
