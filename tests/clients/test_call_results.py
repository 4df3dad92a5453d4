"""Calls that are equal in several runs are evaluated once, and have the rows of their own run."""

import shutil

import pyarrow.parquet as pq
import pytest

from kvtrace.clients.profiler import Profiler
from kvtrace.clients.recorded import replay
from kvtrace.clients.running import ClientPass
from kvtrace.clients.sanitizer import Sanitizer
from kvtrace.clients.tracer import Tracer
from kvtrace.recorded_calls.reading import recorded_calls
from kvtrace.schema.trace import select_runs
from tests.support.tree import ROOT

TABLES = ("ops", "loops", "accesses", "findings", "stacks")


@pytest.fixture
def copied(tmp_path):
    """A function that copies a recording of 13 unique calls, with one of `calls` changed."""

    def copy(name, grid_of_call=None):
        fixture = ROOT / "tests" / "fixtures" / "h200" / "device"
        derived = shutil.ignore_patterns("part-[a-z]*")
        folder = shutil.copytree(fixture, tmp_path / name, ignore=derived)
        if grid_of_call is not None:
            (part,) = folder.glob("calls/run=*/*.parquet")
            rows = pq.read_table(part, partitioning=None)
            values = rows["grid_x"].to_pylist()
            values[grid_of_call] += 1
            place = rows.column_names.index("grid_x")
            changed = rows.set_column(place, rows.schema.field(place), [values])
            pq.write_table(changed.replace_schema_metadata(rows.schema.metadata), part)
        selection = select_runs(folder)
        return selection.trace, *selection.runs

    return copy


@pytest.fixture
def evaluated(monkeypatch):
    """The ids of the calls that clients evaluate."""
    ids = []
    run = ClientPass.run

    def noted(self, call, end=None):
        ids.append(call.call_id)
        return run(self, call, end)

    monkeypatch.setattr(ClientPass, "run", noted)
    return ids


def analyzed(trace, run, equal_calls=None, rules=("out-of-bounds", "overflow")):
    """Return the rows of all clients and their settings, without the time of the solver."""
    clients = [Tracer(), Profiler(), Sanitizer(rules)]
    for client, name in zip(clients, ("tracer", "profiler", "sanitizer"), strict=True):
        client.name = name
    replay(trace, run, None, clients, equal_calls=equal_calls)
    rows = {name: trace.table(name, (run,)).to_pylist() for name in TABLES}
    for finding in rows["findings"]:
        del finding["solver_ns"]
    return rows, trace.passes(run.run_id)


def test_a_second_run_of_the_same_calls_has_their_rows_and_evaluates_none(copied, evaluated):
    equal_calls = {}
    first = analyzed(*copied("first"), equal_calls)
    evaluated.clear()
    assert analyzed(*copied("second"), equal_calls) == first
    assert not evaluated


def test_a_call_with_another_grid_is_evaluated(copied, evaluated):
    equal_calls = {}
    analyzed(*copied("first"), equal_calls)
    evaluated.clear()
    shared = analyzed(*copied("second", grid_of_call=3), equal_calls)
    assert evaluated == [3]
    assert shared == analyzed(*copied("third", grid_of_call=3))


def test_a_call_is_judged_again_by_other_rules(copied, evaluated):
    equal_calls = {}
    analyzed(*copied("first"), equal_calls)
    evaluated.clear()
    analyzed(*copied("second"), equal_calls, rules=("out-of-bounds",))
    assert len(evaluated) == 13


def test_calls_without_ir_are_unknown_in_each_run_under_their_own_id(copied, evaluated):
    equal_calls, answers = {}, []
    for name in ("first", "second"):
        trace, run = copied(name)
        for part in trace.path.glob("artifacts/run=*/*"):
            part.unlink()
        answers.append(analyzed(trace, run, equal_calls)[0]["findings"])
    assert answers[0] == answers[1]
    assert [row["finding_id"] for row in answers[0]] == [f"unready-{n}" for n in range(13)]
    assert not equal_calls
    assert not evaluated


def test_the_content_of_a_call_is_the_same_in_another_folder_and_of_each_call_its_own(copied):
    contents = [[c.content for c in recorded_calls(*copied(name))] for name in ("first", "second")]
    assert contents[0] == contents[1]
    assert len(set(contents[0])) == 13
