"""The spool's memory, and processes that are forked while its thread is at work."""

import os
import signal
import time

import pytest

from kvtrace.capture.hot import Recorder
from kvtrace.capture.spool import Spool
from kvtrace.schema.run_ids import first_run_id, new_run_id
from kvtrace.schema.spool import memory_path
from tests.capture.recorders import Function, Kernel, _hot, wrapped

LAUNCHES = 50_000


def test_memory_of_runs_that_were_killed_a_week_ago_is_removed(tmp_path):
    week = 7 * 24 * 3600 * 10**9
    ids = [
        f"{first_run_id(time.time_ns() - age)}-{os.getpid():08x}" for age in (week * 2, week // 2)
    ]
    old, recent = map(memory_path, ids)
    for memory in (old, recent):
        memory.touch()

    Spool(Recorder(print, print, (), 1), str(tmp_path), new_run_id(), {})

    try:
        assert (old.exists(), recent.exists()) == (False, True)
    finally:
        recent.unlink()


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
            assert recorder.spool_begin(*paths, b"{}")
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
