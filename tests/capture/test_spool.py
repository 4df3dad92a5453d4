"""The spool's memory, and processes that are forked while its thread is at work."""

import os
import signal
import time
from pathlib import Path

import pytest

from kvtrace.capture.spool import Spool, _place_of, remove_useless_memories
from kvtrace.schema.layout import first_run_id, new_run_id
from kvtrace.schema.spool import PLACE_BYTES, PLACE_OFFSET, memory_path, spool_folder
from tests.capture.recorders import Function, Kernel, _hot, wrapped

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


def test_memory_goes_when_its_folder_is_deleted_or_a_week_after_the_kill(memory, tmp_path):
    useless = [memory(14), memory(8, tmp_path), memory(1, tmp_path / "deleted")]
    useful = [memory(3), memory(1, tmp_path)]

    remove_useless_memories()

    assert [path for path in useless if path.exists()] == []
    assert [path for path in useful if not path.exists()] == []


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
    with wrapped(_hot.Recorder) as (recorder, _):
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
    with wrapped(_hot.Recorder) as (recorder, _):
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
