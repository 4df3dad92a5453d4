"""The views' sums, compared with what a loop over the rows gives."""

from collections import defaultdict
from pathlib import Path

import pyarrow.compute as pc
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.converters.info.info import read_overview
from kvtrace.converters.query.query import connect, query
from kvtrace.figures.times import host_times
from kvtrace.figures.views import VIEWS, view_statements
from kvtrace.schema.features import TRIALS
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter
from tests.figures.written_runs import EPOCH, KERNELS, LAUNCHES, written
from tests.support.thorough import usually

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures" / "h200").glob("*/runs"))
#: Views that the sums of calls are not made from.
NOT_IN_SUMS = ("called", "launched", "executed", "marked", "phase_sums")


def rows_of(trace, text):
    with connect(trace, trace.runs) as database:
        names, rows = query(database, text)
    return [dict(zip(names, row, strict=True)) for row in rows]


@pytest.mark.sweep
@settings(max_examples=usually(6, thorough=40))
@given(st.lists(st.tuples(KERNELS, LAUNCHES), min_size=1, max_size=2))
def test_sums_by_call_equal_a_loop_over_the_launches(tmp_path_factory, runs):
    trace = written(tmp_path_factory.mktemp("views"), runs)
    found = {(row["run"], row["call_id"]): row for row in rows_of(trace, "FROM call_sums")}
    for number, (kernels, launches) in enumerate(runs):
        slow = slow_launches(kernels, launches)
        for call in range(6):
            row = found[f"r{number}", call]
            own = [
                (seq, launch) for seq, launch in enumerate(launches)
                if launch[0] == call and launch[4] not in TRIALS
            ]  # fmt: skip
            assert row["launches"] == len(own)
            assert row["tuning_launches"] == sum(
                of == call and phase in TRIALS for of, _, _, _, phase, _, _ in launches
            )
            taken = [each[2] for seq, each in own if each[2] is not None and seq not in slow]
            assert row["host_ns"] == (sum(taken) if taken else None)
            held = [each[2] for seq, each in own if seq in slow]
            assert row["compiling_launches"] == len(held)
            assert row["compiling_ns"] == (sum(held) if held else None)
            device = [each[5] for _, each in own if each[5] is not None]
            assert row["device_ns"] == (sum(device) if device else None)
            assert row["device_executions"] == len(device)
    host = host_times(trace, trace.runs).calls.to_pylist()
    assert {(row["run"], row["call_id"]) for row in host} == {
        (f"r{number}", launch[0]) for number, (_, listed) in enumerate(runs) for launch in listed
    }
    for row in host:
        same = found[row["run"], row["call_id"]]
        assert {name: row[name] for name in same if name in row} == {
            name: same[name] for name in same if name in row
        }


def slow_launches(kernels, launches):
    """Numbers of launches in which their kernel was compiled, loaded or tuned, by a search."""
    found, trials = set(), defaultdict(list)
    for seq, (call, enter, took, thread, phase, _, _) in enumerate(launches):
        if phase in TRIALS:
            trials[thread].append(enter)
        if took is None:
            continue
        _, *begins = kernels[call % len(kernels)]
        compiled = any(b is not None and enter <= b < enter + took for b in begins)
        held = phase not in TRIALS and trials[thread]
        if compiled or (held and enter <= max(trials[thread]) < enter + took):
            found.add(seq)
    return found


@pytest.mark.costly("compares many intervals in pairs")
@settings(max_examples=usually(6, thorough=40))
@given(st.lists(st.tuples(KERNELS, LAUNCHES), min_size=1, max_size=2))
def test_view_compiling_equals_a_brute_force_search(tmp_path_factory, runs):
    trace = written(tmp_path_factory.mktemp("views"), runs)
    found = {(row["run"], row["seq"]) for row in rows_of(trace, "FROM compiling")}
    expected = {(f"r{n}", seq) for n, each in enumerate(runs) for seq in slow_launches(*each)}
    assert found == expected


@pytest.mark.parametrize("phase", ["run", "autotune"])
def test_launches_with_one_number_are_each_in_launch_times_once(tmp_path, phase):
    writer = RunWriter(tmp_path, "r0")
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "a", "compile_begin": EPOCH + 4}])
    writer.append_rows("calls", [{"call_id": 0, "kernel_id": 0}])
    row = {"call_id": 0, "thread": 1, "seq": 0, "exit": EPOCH + 500, "phase": phase}
    writer.append_rows("launches", [{**row, "enter": EPOCH - number} for number in range(50)])
    writer.seal({"ending": "exit"})
    trace = open_trace(tmp_path)
    (counts,) = rows_of(
        trace, "SELECT count(*) AS n, count(*) FILTER (compiling) AS slow FROM launch_times"
    )
    assert counts == {"n": 50, "slow": 50}


@pytest.mark.costly("a database for each view; the ones used most stay by day")
def test_every_view_can_be_queried_after_creating_it_with_used_views(tmp_path):
    trace = written(tmp_path, [([("a", 0, None)], [(0, 0, 5, 1, "run", 3, True)])])
    assert rows_of(trace, "SELECT kernel, called_file, grid_x FROM called WHERE call_id = 0") == [
        {"kernel": "a", "called_file": None, "grid_x": None}
    ]
    for name in VIEWS:
        assert rows_of(trace, f'SELECT count(*) AS n FROM "{name}"')[0]["n"] >= 0
    made = [text.split()[2].strip('"') for text in view_statements(["kernel_sums"])]
    assert made == [name for name in VIEWS if name not in NOT_IN_SUMS]


def test_points_in_time_can_be_subtracted_and_need_no_quotes():
    trace = open_trace(FIXTURES[0].parent)
    (row,) = rows_of(
        trace,
        "SELECT count(*) AS n, sum(exit_ns - enter_ns) - sum(host_ns) AS apart FROM launched",
    )
    assert row["n"]
    assert row["apart"] == 0
    (row,) = rows_of(trace, "SELECT sum(end_ns - start_ns) - sum(device_ns) AS apart FROM executed")
    assert row["apart"] in (0, None)
    assert rows_of(trace, "SELECT begin_ns, end_ns - begin_ns AS taken, ns FROM marked") is not None


@pytest.mark.parametrize(
    "row",
    [
        {"enter": EPOCH + 10, "exit": EPOCH},
        {"enter": 2**62 + 5, "exit": 2**62 + 9},
        {"enter": None, "exit": EPOCH + 9},
        {"enter": None, "exit": None},
    ],
)
def test_sums_use_the_rows_that_the_reader_has_repaired(tmp_path, row):
    writer = RunWriter(tmp_path, "r0")
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "a", "compile_begin": EPOCH + 4}])
    writer.append_rows("calls", [{"call_id": 0, "kernel_id": 0}])
    rows = [{"seq": 0, "call_id": 0, "enter": EPOCH, "exit": EPOCH + 5}, {"seq": 1, **row}]
    writer.append_rows("launches", [{"call_id": 0, "thread": 1, **each} for each in rows])
    writer.seal({"ending": "exit"})
    trace = open_trace(tmp_path)
    (sums,) = host_times(trace, trace.runs).calls.to_pylist()
    launches = trace.table("launches")
    (_, enter), (_, leave) = (
        launches[name].cast("int64").to_pylist() for name in ("enter", "exit")
    )
    timed = enter is not None and leave is not None
    assert sums["launches"] == 2
    assert (sums["compiling_launches"], sums["compiling_ns"]) == (1, 5)
    assert (sums["timed_launches"], sums["host_ns"]) == ((1, leave - enter) if timed else (0, None))
    assert trace.notes or enter is None
    (run,) = read_overview(trace, trace.runs).runs
    assert run.phases == {"run": 2}
    assert run.last_launch == pc.max(launches["exit"].cast("int64")).as_py()


@pytest.mark.parametrize("asked_by", [{"launch_seq": 0}, {"call_id": 0}])
def test_memory_operations_of_a_launch_are_no_executions_of_its_kernel(tmp_path, asked_by):
    writer = RunWriter(tmp_path, "r0")
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "scale"}])
    writer.append_rows("calls", [{"call_id": 0, "kernel_id": 0}])
    writer.append_rows("launches", [{"seq": 0, "call_id": 0, "enter": EPOCH, "exit": EPOCH + 9}])
    timed = [("scale", None, 5), ("memset", "fill", 2), ("memcpy", "copy", 3), ("other", "odd", 4)]
    executions = [
        {"record": n, "start": EPOCH, "end": EPOCH + ns, "name": name, "kind": kind, **asked_by}
        for n, (name, kind, ns) in enumerate(timed)
    ]
    writer.append_rows("gpu_kernels", executions)
    writer.seal({"ending": "exit"})
    trace = open_trace(tmp_path)
    (sums,) = rows_of(trace, "SELECT device_executions, device_ns FROM call_sums")
    assert sums == {"device_executions": 1, "device_ns": 5}
    overview = read_overview(trace, trace.runs)
    assert [kernel.device_ns for kernel in overview.kernels] == [5]
