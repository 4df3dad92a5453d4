"""The spool's memory, and processes that are forked while its thread is at work."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from kvtrace.capture.spool import Spool, _place_of, remove_useless_memories
from kvtrace.schema.layout import first_run_id, new_run_id
from kvtrace.schema.recovery import recover
from kvtrace.schema.spool import (
    NEWEST,
    NEWEST_BYTES,
    NEWEST_ROWS,
    PLACE_BYTES,
    PLACE_OFFSET,
    ROW,
    memory_path,
    spool_folder,
)
from kvtrace.schema.spooled import _newest_launches
from kvtrace.schema.trace import open_trace
from tests.capture.recorders import Function, Kernel, _hot, recorder_of, wrapped
from tests.support.thorough import usually
from tests.support.tree import ROOT

LAUNCHES = 50_000


@pytest.fixture
def memory(tmp_path):
    """Return a function that makes the memory of a run that began some days ago, in a folder."""
    made = []

    def make(days, folder=None):
        begin = first_run_id(time.time_ns() - int(days * 24 * 3600 * 10**9))
        made.append(memory_path(f"{begin}-{os.urandom(4).hex()}"))
        place = b"" if folder is None else _place_of(os.fsencode(folder))
        made[-1].write_bytes(b"\0" * PLACE_OFFSET + place)
        return made[-1]

    yield make
    for path in made:
        path.unlink(missing_ok=True)


def test_memory_goes_a_week_after_the_kill_or_a_day_if_its_folder_is_elsewhere(memory, tmp_path):
    useless = [memory(14), memory(8, tmp_path), memory(2, tmp_path / "moved")]
    useful = [memory(3), memory(1, tmp_path), memory(0.5, tmp_path / "moved")]

    remove_useless_memories()

    assert [path for path in useless if path.exists()] == []
    assert [path for path in useful if not path.exists()] == []


def test_only_so_many_bytes_of_killed_runs_stay_the_newest(memory, tmp_path, monkeypatch):
    older, newer = memory(2), memory(1, tmp_path)
    monkeypatch.setattr("kvtrace.capture.spool.KEPT_BYTES", newer.stat().st_blocks * 512 + 1)
    monkeypatch.setattr(
        "kvtrace.capture.spool.dead_memories", lambda: [(older, False), (newer, False)]
    )
    remove_useless_memories()
    assert (older.exists(), newer.exists()) == (False, True)


def test_memory_stays_whose_folder_another_container_may_have(memory, tmp_path):
    path = memory(1, tmp_path / "deleted")
    content = path.read_bytes()
    path.write_bytes(content.replace(b"mnt:[", b"mnt:[9"))

    remove_useless_memories()

    assert path.exists()


def test_memory_names_no_folder_without_proc_and_goes_after_a_week(memory, tmp_path, monkeypatch):
    monkeypatch.setattr("os.readlink", lambda path: Path(f"/no{path}").stat())
    old, useful = memory(8), [memory(1, tmp_path / "deleted"), memory(1)]

    remove_useless_memories()

    assert not old.exists()
    assert [path for path in useful if not path.exists()] == []


def test_memory_of_a_living_process_stays_until_its_spool_ends(tmp_path):
    if _hot is None:
        pytest.skip("the C extension is not built")
    with wrapped() as (recorder, _):
        run_id = new_run_id()
        spool = Spool(recorder, str(tmp_path), run_id, {})
        try:
            spool.write()
            spool_folder(tmp_path, run_id).rename(tmp_path / "renamed")
            remove_useless_memories()
            with memory_path(run_id).open("rb") as memory:
                memory.seek(PLACE_OFFSET)
                place = memory.read(PLACE_BYTES)
            assert os.fsencode(spool_folder(tmp_path, run_id)) in place
        finally:
            spool.end()
    assert not memory_path(run_id).exists()


@pytest.mark.process
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_forked_child_does_not_wait_for_a_lock_of_its_parents_spool(tmp_path):
    if _hot is None:
        pytest.skip("the C extension is not built")
    with wrapped() as (recorder, _):
        function = Function(Kernel())
        for _ in range(LAUNCHES):
            function.run(1, grid=(1,), warmup=False)
            function.given.clear()
        for attempt in range(12):  # the thread holds the lock while it copies all launches
            paths = os.fsencode(tmp_path / str(attempt)), os.fsencode(tmp_path / "memory")
            assert recorder.spool_begin(*paths, b"", b"{}")
            time.sleep(attempt * 0.0005)
            child = os.fork()
            if child == 0:
                signal.signal(signal.SIGALRM, signal.SIG_DFL)
                signal.alarm(250)  # ends a child that waits
                recorder.spool_add(b"{}")
                os._exit(0 if len(recorder.drain()) else 1)
            assert os.waitpid(child, 0)[1] == 0
            recorder.spool_end()
            assert (tmp_path / str(attempt) / "0").stat().st_size > LAUNCHES


needs_native = pytest.mark.skipif(_hot is None, reason="the C extension is not built")


@pytest.fixture
def spooling(tmp_path):
    """A recorder with a spool, and the file of the spool's memory."""
    recorder, memory = recorder_of(), Path(f"/dev/shm/kvtrace-test-{os.getpid()}")
    paths = os.fsencode(tmp_path / "spool"), os.fsencode(memory)
    assert recorder.spool_begin(*paths, b"", b"{}")
    yield recorder, memory
    recorder.spool_end()
    assert not memory.exists()


def newest_calls(memory):
    """The calls of the launches that a reader finds, and their numbers."""
    launches = [
        (first + index, ROW.unpack_from(rows, index * ROW.size))
        for first, rows in _newest_launches(memory.read_bytes()[:NEWEST_BYTES])
        for index in range(len(rows) // ROW.size)
    ]
    return [(number, fields[2]) for number, fields in launches]


@pytest.mark.costly("fills the spool; small spools stay by day")
@needs_native
def test_no_more_launches_are_in_memory_than_it_has_places(spooling):
    recorder, memory = spooling
    for number in range(NEWEST_ROWS + 5):
        recorder.append(number, number, number)
        if number in (0, NEWEST_ROWS - 1, NEWEST_ROWS, NEWEST_ROWS + 4):
            first, end, _ = NEWEST.unpack_from(memory.read_bytes())
            assert end == number + 1
            assert end - first <= NEWEST_ROWS  # and less by one while a launch is written
            assert all(number == call for number, call in newest_calls(memory))


TORN = """
import sys
from kvtrace.capture import _hot
recorder = _hot.Recorder(repr, print, (), 10)
assert recorder.spool_begin(sys.argv[1].encode(), sys.argv[2].encode(), b"", b"{}")
print("begun", flush=True)
number = 0
while True:
    recorder.append(number, number, number)
    number += 1
    if not number % 4096:
        recorder.drain()
"""


@needs_native
@pytest.mark.process
def test_no_launch_of_a_killed_program_is_half_of_another_one(tmp_path):
    for attempt in range(usually(8, thorough=200)):
        memory = Path(f"/dev/shm/kvtrace-test-{os.getpid()}-{attempt}")
        command = [sys.executable, "-c", TORN, str(tmp_path / str(attempt)), str(memory)]
        with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE) as program:
            program.stdout.readline()
            with memory.open("rb") as file:
                while NEWEST.unpack(os.pread(file.fileno(), NEWEST.size, 0))[1] <= NEWEST_ROWS:
                    time.sleep(0.005)
            program.kill()
        try:
            calls = newest_calls(memory)
        finally:
            memory.unlink()
        assert len(calls) > NEWEST_ROWS // 2
        assert all(number == call for number, call in calls)


@needs_native
@pytest.mark.process
def test_launches_of_a_forked_child_are_not_the_parents(spooling):
    recorder, memory = spooling
    for number in range(10):
        recorder.append(number, number, number)
    child = os.fork()
    if child == 0:  # before kvtrace's own function after a fork
        for _ in range(100):
            recorder.append(777, 777, 777)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    for number in range(10, 20):
        recorder.append(number, number, number)
    assert newest_calls(memory) == [(number, number) for number in range(20)]


@needs_native
@pytest.mark.parametrize("sizes", [(70,), (30, 30, 30), (64, 64)])
def test_records_without_room_cost_no_later_record(sizes, spooling, tmp_path):
    recorder, _ = spooling
    for size in sizes:
        recorder.spool_add(b"x" * (size << 20))
    recorder.append(1, 2, 3)
    time.sleep(0.5)  # the disk has its time
    recorder.spool_add(b"a later record")
    recorder.append(4, 5, 6)
    recorder.spool_end()
    assert b"a later record" in (tmp_path / "spool" / "0").read_bytes()


WAITING = """
import os, sys, threading, time
from kvtrace.capture import _hot
recorder = _hot.Recorder(repr, print, (), 10)
assert recorder.spool_begin(sys.argv[1].encode(), b"/no/such/memory", b"", b"{}")
waits = []
def wait():
    for _ in range(10):
        begin = time.monotonic()
        recorder.spool_write()
        waits.append(time.monotonic() - begin)
threads = [threading.Thread(target=wait) for _ in range(32)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(min(waits), flush=True)
os._exit(0)
"""


@needs_native
@pytest.mark.process
@pytest.mark.skipif(shutil.which("cc") is None, reason="there is no C compiler")
def test_other_threads_that_wait_for_a_slow_disk_end_no_wait(tmp_path):
    library, source = tmp_path / "slow.so", Path(__file__).with_name("slow_disk.c")
    subprocess.run(["cc", "-shared", "-fPIC", source, "-o", library, "-ldl"], check=True)
    done = subprocess.run(
        [sys.executable, "-c", WAITING, tmp_path / "spool"], cwd=ROOT, capture_output=True,
        text=True, timeout=100, env=os.environ | {"LD_PRELOAD": str(library)},
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert float(done.stdout) >= 0.0199


KILLED = """
import os, signal, sys, time
import kvtrace
from tests.capture.killed_program import launch_new_kernels

session = kvtrace.start(sys.argv[1])
call_of = launch_new_kernels(session)
for number in range(300):
    now = time.time_ns()
    session.add_launch(call_of(number % 3), now, now + 1)
os.kill(os.getpid(), signal.SIGKILL)
"""


@pytest.mark.process
@pytest.mark.parametrize("moved", ["elsewhere", "out/inner"])
def test_killed_run_is_recovered_whole_after_its_folder_moved_and_another_began(tmp_path, moved):
    out, target = tmp_path / "out", tmp_path / moved
    for folder in (out, tmp_path / "second", tmp_path / "third"):  # as ranks of a job
        command = [sys.executable, "-c", KILLED, str(folder)]
        assert subprocess.run(command, cwd=ROOT, timeout=300).returncode == -signal.SIGKILL
    out.rename(tmp_path / "aside")
    target.parent.mkdir(exist_ok=True)
    (tmp_path / "aside").rename(target)
    remove_useless_memories()  # as a program does that starts to record
    recover(target)
    assert open_trace(target).table("launches").num_rows == 300
