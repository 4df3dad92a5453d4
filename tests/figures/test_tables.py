"""Databases of launches and executions that several threads ask at once."""

import gc
import sys
import weakref
from functools import partial
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.converters.parallel import in_order
from kvtrace.figures import tables
from kvtrace.figures.tables import Catalog, open_times
from kvtrace.schema.trace import open_trace
from tests.figures.written_runs import KERNELS, LAUNCHES, OTHERS, written
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


@pytest.mark.parametrize("most_read", [0, 100])
def test_tables_of_a_trace_go_with_it(tmp_path, monkeypatch, most_read):
    monkeypatch.setattr(tables, "_MOST_READ", most_read)
    trace = open_trace(write_foreign(tmp_path / "out"))
    with open_times(trace, trace.runs, "launch_times") as database:
        ((catalog,),) = database.execute("SELECT current_database()").fetchall()
    gone = weakref.ref(trace)
    del trace, database
    gc.collect()
    assert gone() is None
    with Catalog().connect() as other:
        names = other.execute("SELECT database_name FROM duckdb_databases()").fetchall()
    assert (catalog,) not in names


VIEWS = ("launch_times", "launch_groups", "execution_times", "execution_groups", "compiling")


@pytest.mark.costly("random rows; scans stay by day")
@settings(max_examples=usually(2, thorough=100), deadline=None)
@given(runs=st.lists(st.tuples(KERNELS, LAUNCHES), min_size=1, max_size=2), data=st.data())
def test_views_of_rows_in_memory_are_those_of_scans(runs, data):
    others = [data.draw(OTHERS) for _ in runs]
    with TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        written(folder, runs, others)
        answers = []
        for most_read in (0, 1000):
            patch.setattr(tables, "_MOST_READ", most_read)
            again = open_trace(folder)
            answers.append([])
            for view in VIEWS:
                with open_times(again, again.runs, view) as database:
                    query = f"SELECT * FROM {view} ORDER BY ALL"
                    answers[-1].append(database.execute(query).fetchall())
        assert answers[0] == answers[1]
        assert len(answers[0][0]) == sum(len(launches) for _, launches in runs)
