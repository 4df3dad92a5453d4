"""What rows add up to before a recording drops them is what figures make of the rows."""

import shutil
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.figures.stored import older_sums
from kvtrace.figures.sums_building import add_up
from kvtrace.schema.layout import part_path
from kvtrace.schema.older_sums import OlderSums
from kvtrace.schema.parts import write_part
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.versions import captured_facts
from kvtrace.schema.writer import RunWriter
from tests.figures.written_runs import EPOCH, KERNELS, LAUNCHES, written
from tests.support.thorough import usually
from tests.support.tiers import some
from tests.support.tree import ROOT

FIXTURES = sorted((ROOT / "tests" / "fixtures" / "h200").glob("*/runs"))
LAUNCH_KEYS = ("call_id", "phase", "compiling", "steady")
EXECUTION_KEYS = (
    *("call_id", "name", "kind", "stack_id", "forward_stack_id", "tuning", "replayed", "timed"),
)
TIMES = ("weight", "taken_ns", "shortest_ns", "longest_ns", "last_end", "bins", "counts")
#: Of tests with examples of 0.2 s each.
DEAR = pytest.mark.costly(
    "every example is two traces; by day a recording is compared here, and sessions that drop rows "
    "in tests/capture/test_run_limits_sums.py"
)
LIMIT = {"settings": {"limit": "sums:1GB"}}


def sums_of(rows, keys, further=()):
    """Sums by their keys, with those of several stretches or files put together."""
    found = {}
    for row in rows:
        values = {name: row[name] for name in (*TIMES, *further)}
        bins = Counter(dict(zip(values.pop("bins") or (), values.pop("counts") or (), strict=True)))
        key = tuple(row[name] for name in keys)
        known = found.setdefault(key, dict.fromkeys(values) | {"bins": Counter()})
        known["bins"] += bins
        for name, value in values.items():
            both = [number for number in (known[name], value) if number is not None]
            how = {"shortest_ns": min, "longest_ns": max, "last_end": max, "asked": any}
            known[name] = how.get(name, sum)(both) if both else None
    return found


def parts_of(trace, run, table, cuts):
    """Write the rows of a table as parts of another folder, divided at positions."""
    rows = trace.table(table, [run], TABLES[table].names).drop_columns(["run"])
    key = "seq" if table == "launches" else "record"
    rows = rows.unify_dictionaries().cast(TABLES[table].schema).sort_by(key)
    bounds = [0, *sorted(min(cut, rows.num_rows) for cut in cuts), rows.num_rows]
    for number, (begin, end) in enumerate(pairwise(bounds)):
        yield number, rows.slice(begin, end - begin)


def dropped(trace, run, folder, cuts):
    """Write a run without its launches and executions, and what they add up to."""
    writer = RunWriter(folder, run.run_id)
    sums = OlderSums(folder, run.run_id)
    for table in ("kernels", "calls"):
        for row in plain_rows(trace.table(table, [run], TABLES[table].names)):
            row.pop("run", None)
            writer.append_rows(table, [row])
            sums.refer(table, row)
    for table in ("launches", "gpu_kernels"):
        for number, rows in parts_of(trace, run, table, cuts):
            path = part_path(folder, table, run.run_id, number)
            batches = rows.combine_chunks().to_batches()
            write_part(path, TABLES[table], captured_facts(table, run.run_id), batches)
            if table == "launches":
                sums.note(path)
            sums.add(table, path)
            path.unlink()
    writer.seal({"ending": "exit", **LIMIT})
    return open_trace(folder)


def both(leaves, older):
    """Sums of the rows of the first run, and those of a run without them."""
    run = leaves.runs[0]
    add_up(leaves, [run], least_rows=0)
    for table, keys, further in (
        ("launch_sums", LAUNCH_KEYS, ()),
        ("execution_sums", EXECUTION_KEYS, ("asked", "bytes")),
    ):
        columns = [*keys, *TIMES, *further]
        expected = plain_rows(leaves.table(table, [run], columns))
        found = plain_rows(older_sums(older, older.runs, table, columns))
        yield sums_of(expected, keys, further), sums_of(found, keys, further)


@DEAR
@settings(max_examples=usually(8, thorough=200), deadline=None)
@given(KERNELS, LAUNCHES, st.lists(st.integers(0, 30), max_size=20))
def test_sums_of_dropped_launches_are_those_of_launches(tmp_path_factory, kernels, launches, cuts):
    folder = tmp_path_factory.mktemp("runs")
    known = [(*launch[:6], True) for launch in launches]
    leaves = written(folder / "leaves", [(kernels, known)])
    older = dropped(leaves, leaves.runs[0], folder / "older", cuts)
    for expected, found in both(leaves, older):
        assert found == expected
    assert validate(folder / "older") == []


#: The last execution of a run: of a launch that is no trial.
LAST = dict.fromkeys(
    ("graph_id", "name", "kind", "bytes", "weight", "requested", "stack_id", "forward_stack_id")
) | {"start": 1000, "took": 1, "call": 1}


@pytest.mark.parametrize("runs", some(FIXTURES, 16), ids=lambda path: path.parent.name)
def test_sums_of_dropped_rows_of_recordings_are_those_of_the_rows(runs, tmp_path):
    shutil.copytree(runs.parent, tmp_path / "leaves")
    leaves = open_trace(tmp_path / "leaves")
    run = leaves.runs[0]
    older = dropped(leaves, run, tmp_path / "older", ())
    for expected, found in both(leaves, older):
        assert found == expected


EXECUTIONS = st.lists(
    st.fixed_dictionaries(
        {
            "start": st.integers(0, 400),
            "took": st.integers(0, 300),
            "call": st.one_of(st.none(), st.integers(0, 9)),
            "graph_id": st.one_of(st.none(), st.just(3)),
            "name": st.sampled_from([None, "copy", "gemm"]),
            "kind": st.sampled_from([None, "memcpy"]),
            "bytes": st.one_of(st.none(), st.integers(0, 9)),
            "weight": st.one_of(st.none(), st.integers(1, 5)),
            "requested": st.one_of(st.none(), st.integers(0, 9)),
            "stack_id": st.one_of(st.none(), st.integers(1, 2)),
            "forward_stack_id": st.one_of(st.none(), st.integers(1, 2)),
        }
    ),
    max_size=30,
)


def executed(folder, executions):
    """Write ten launches, of which every third is a trial, and executions of them and others."""
    writer = RunWriter(folder, "r")
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "a", "module": "m"}])
    writer.append_rows("calls", [{"call_id": call, "kernel_id": 0} for call in range(10)])
    phases = ["autotune" if call % 3 == 0 else "run" for call in range(10)]
    writer.append_rows(
        "launches",
        [
            {"seq": seq, "call_id": seq, "enter": EPOCH + seq, "exit": EPOCH + seq, "phase": phase}
            for seq, phase in enumerate(phases)
        ],
    )
    rows = []
    for record, execution in enumerate([*executions, LAST]):
        times = {"start": EPOCH + execution["start"]}
        times["end"] = times["start"] + execution["took"]
        names = ("graph_id", "name", "kind", "bytes", "weight", "stack_id", "forward_stack_id")
        row = {"record": record, **times, **{name: execution[name] for name in names}}
        row |= {"launch_seq": execution["call"], "call_id": execution["call"]}
        if execution["requested"] is not None:
            row["requested"] = EPOCH + execution["requested"]
        rows.append(row)
    writer.append_rows("gpu_kernels", rows)
    writer.seal({"ending": "exit"})
    return open_trace(folder)


@DEAR
@settings(max_examples=usually(8, thorough=200), deadline=None)
@given(EXECUTIONS)
def test_sums_of_dropped_executions_are_those_of_executions(tmp_path_factory, executions):
    folder = tmp_path_factory.mktemp("runs")
    leaves = executed(folder / "leaves", executions)
    older = dropped(leaves, leaves.runs[0], folder / "older", ())
    for expected, found in both(leaves, older):
        assert found == expected


def test_of_executions_that_begin_at_once_a_trial_is_the_later_one(tmp_path):
    calls_by_begin = [(0, None), (0, None), (1, None), (0, None), (0, 0), (0, 1), (1, 0)]
    executions = [
        dict.fromkeys(LAST) | {"start": begin, "took": 0, "call": call}
        for begin, call in calls_by_begin
    ]
    leaves = executed(tmp_path / "leaves", executions)
    older = dropped(leaves, leaves.runs[0], tmp_path / "older", ())
    for expected, found in both(leaves, older):
        assert found == expected


@DEAR
@settings(max_examples=usually(8, thorough=100), deadline=None)
@given(EXECUTIONS, st.lists(st.integers(0, 30), min_size=8, max_size=20))
def test_only_what_ran_between_trials_may_differ_at_the_ends_of_parts(
    tmp_path_factory, executions, cuts
):
    folder = tmp_path_factory.mktemp("runs")
    leaves = executed(folder / "leaves", sorted(executions, key=lambda row: row["start"]))
    older = dropped(leaves, leaves.runs[0], folder / "older", cuts)
    for expected, found in both(leaves, older):
        assert {key[:5] for key in expected} == {key[:5] for key in found}
        for name in ("weight", "taken_ns"):
            totals = [sum(sums[name] or 0 for sums in of.values()) for of in (expected, found)]
            assert totals[0] == totals[1]
