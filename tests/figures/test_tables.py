"""Databases of launches and executions that several threads ask at once."""

import sys
from functools import partial

import pytest

from kvtrace.converters.parallel import in_order
from kvtrace.figures.tables import open_times
from kvtrace.schema.trace import open_trace
from tests.support.foreign_producer import write_foreign
from tests.support.thorough import usually


@pytest.fixture
def often_switched():
    """Threads that take turns as often as they can."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


def test_threads_may_ask_one_opened_trace_at_once(often_switched, tmp_path):
    out = write_foreign(tmp_path / "out")

    def executions(trace):
        open_times(trace, trace.runs, "launch_groups").close()  # the shared database is made
        with open_times(trace, trace.runs, "execution_times") as database:
            return database.execute("SELECT count(*) FROM execution_times").fetchall()

    for _ in range(usually(5, thorough=100)):
        trace = open_trace(out)
        assert list(in_order([partial(executions, trace)] * 4)) == [[(5,)]] * 4
