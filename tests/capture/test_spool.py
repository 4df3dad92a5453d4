"""The spool and processes that are forked while its thread is at work."""

import os
import signal
import time

import pytest

from tests.capture.recorders import Function, Kernel, _hot, wrapped

pytestmark = pytest.mark.process

LAUNCHES = 50_000


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
