"""Blocks of calls: what ops did and where accesses went, as the tables have it."""

import shlex

import duckdb
import pyarrow as pa
import pytest

from kvtrace.cli import main
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.report.sources import _as_rows
from kvtrace.schema.runs import plain_rows
from tests.converters.replayed_trace import (
    blocks_of,
    context_of,
    json_blocks,
    replayed,
    replayed_blocks,
    source_named,
)
from tests.converters.written_trace import Kernel, Launches, Op, add_ops, write_trace
from tests.support.packed import read_json

FIGURES = (
    "op", "kind", "dtype", "loop", "executions", "elements", "masked_off", "bytes",
    "unique_bytes", "sectors", "flops", "buffer",
)  # fmt: skip


@pytest.fixture(scope="module")
def train():
    return replayed("train")


@pytest.fixture(scope="module")
def budget():
    return replayed_blocks("train")


@pytest.fixture(scope="module")
def calls(budget):
    return json_blocks(budget, "call")


@pytest.fixture(scope="module")
def report(budget):
    return read_json(budget.blocks["report"])


def rows_of(selection, table, call_id):
    rows = plain_rows(selection.trace.table(table, selection.runs))
    return [row for row in rows if row["call_id"] == call_id]


@pytest.mark.sweep
def test_every_replayed_call_has_a_block(train, calls, report):
    replayed_calls = set(train.trace.table("ops")["call_id"].to_pylist())
    assert {report["calls"][index]["call_id"] for index in calls} == replayed_calls


def test_ops_equal_those_of_the_table_with_source_locations(train, calls, report):
    frames = {
        row["stack_id"]: [[f["file"], f["line"], f["function"]] for f in row["frames"]]
        for row in plain_rows(train.trace.table("stacks"))
    }
    for index, block in calls.items():
        rows = rows_of(train, "ops", report["calls"][index]["call_id"])
        assert [op["index"] for op in block["ops"]] == [row["op_index"] for row in rows]
        for op, row in zip(block["ops"], rows, strict=True):
            assert [op[name] for name in FIGURES] == [row[name] for name in FIGURES]
            expected = None if row["stack_id"] is None else frames[row["stack_id"]]
            found = None if op["stack"] is None else report["stacks"][op["stack"]]
            assert found == expected


def test_loops_and_accesses_equal_those_of_the_tables(train, calls, report):
    for index, block in calls.items():
        call_id = report["calls"][index]["call_id"]
        assert [
            (loop["index"], loop["min"], loop["median"], loop["max"]) for loop in block["loops"]
        ] == [
            (row["op_index"], row["trips_min"], row["trips_median"], row["trips_max"])
            for row in rows_of(train, "loops", call_id)
        ]
        assert [
            (a["op"], a["arg"], a["program"], a["iteration"], a["first"], a["last"], a["active"])
            for a in block["accesses"]
        ] == [
            (r["op_index"], r["arg"], r["program"], r["iteration"], r["first"], r["last"],
             r["active"])
            for r in rows_of(train, "accesses", call_id)
        ]  # fmt: skip


def test_layouts_have_as_many_lanes_as_their_row(calls):
    counted = 0
    for access in (access for block in calls.values() for access in block["accesses"]):
        layout = access["layout"]
        if "lanes" not in layout or "active" in layout:
            continue
        ranges = layout.get("box") or [[0, extent] for extent, _ in layout["lanes"]]
        lanes = 1
        for low, high in ranges:
            lanes *= high - low
        for name in ("programs", "trips"):
            for count, _, _ in layout.get(name, [0, []])[1]:
                lanes *= count
        assert lanes == access["active"]
        counted += 1
    assert counted > 100


def test_calls_with_findings_come_first_then_the_most_launched(train):
    context = context_of(train)
    order = [int(block.name.partition("/")[2]) for block in source_named("call").blocks(context)]
    pointed = {finding.call for finding in context.report.findings}
    keys = [(call not in pointed, -context.report.calls[call].runs) for call in order]
    assert pointed
    assert keys == sorted(keys)


@pytest.mark.process
def test_omitted_calls_are_counted_with_a_working_command(train, capsys):
    small = blocks_of(train, max_bytes=60_000)

    kept = len(json_blocks(small, "call"))
    (dropped,) = (entry for entry in small.dropped if entry.what == "call")
    total = len(read_json(small.blocks["report"])["calls"])
    assert 0 < kept < total
    assert dropped.text.startswith(f"{total - kept:,} of {total:,} calls' ops")
    commands = [shlex.split(entry.command) for entry in small.dropped]
    queries = [query for _, command, _, query in commands if command == "sql"]
    assert len(queries) > 2
    for query in queries:
        assert main(["sql", str(train.trace.path), query]) == 0
    capsys.readouterr()


def test_without_source_no_code_is_on_the_page(train):
    budget = blocks_of(train, source=False)

    kinds = {name.partition("/")[0] for name in budget.blocks}
    assert kinds == {"report", "call", "called", "findings", "launches", "device"}
    report = read_json(budget.blocks["report"])
    entries = [e for v in report["variants"] for e in (*v["stages"], *v["files"])]
    assert {entry["text"] for entry in entries} == {None}
    assert report["findings"]
    found = [placed["found"] for placed in report["findings"]]
    assert {(each["source"], each["expression"]) for each in found} == {(None, None)}


@pytest.fixture(scope="module")
def device():
    return replayed("device")


def test_figures_of_calls_and_kernels_equal_those_of_the_profile(device):
    """Weighed by runs: launches into a graph count as often as it was replayed, trials not."""
    report = context_of(device).report
    profile = read_profile(device.trace, device.runs, calls=True)
    ours = {call.call_id: call for call in report.calls}
    for kernel in profile.kernels:
        (own,) = (each for each in report.kernels if each.name == kernel.name)
        assert (own.runs, own.tuning_launches) == (kernel.runs, kernel.tuning_launches)
        assert (own.bytes, own.flops) == (kernel.derived.bytes, kernel.derived.flops)
        assert own.best_ns == pytest.approx(kernel.roofline.best_ns)
        assert own.achieved == pytest.approx(kernel.roofline.achieved)
        for call in kernel.calls:
            mine = ours[call.call_id]
            assert mine.runs == call.runs
            assert mine.device_median_ns == call.measured.device_median_ns
            assert mine.host_median_ns == call.measured.host_median_ns
            assert mine.unique_bytes * call.runs == call.derived.unique_bytes
            assert mine.mask_efficiency == call.derived.mask_efficiency
            assert mine.sector_efficiency == call.derived.sector_efficiency
            assert mine.roofline.position.best_ns * call.runs == pytest.approx(
                call.roofline.best_ns
            )
            assert mine.roofline.position.bound == call.roofline.bound


def test_a_call_that_only_a_graph_ran_has_its_executions(device):
    report = context_of(device).report
    captured = [call for call in report.calls if call.runs > call.launches]
    assert captured
    executions = duckdb.sql(
        f"SELECT call_id, count(*) FROM '{device.trace.path}/gpu_kernels/*/*.parquet' "
        "WHERE call_id IS NOT NULL AND coalesce(launch_seq, -1) NOT IN ("
        f"SELECT seq FROM '{device.trace.path}/launches/*/*.parquet' WHERE phase = 'autotune') "
        "GROUP BY call_id"
    ).fetchall()
    assert {c.call_id: c.device_executions for c in report.calls if c.device_executions} == dict(
        executions
    )


def test_the_roofline_names_the_recorded_device_and_its_limits(device):
    report = read_json(replayed_blocks("device").blocks["report"])
    assert (report["limits"]["name"], report["limits"]["how"]) == ("H200 SXM", "recorded")
    assert report["limits"]["bandwidth"] == 4.8e12
    for call in report["calls"]:
        roofline = call["roofline"]
        assert roofline["intensity"] == pytest.approx(call["flops"] / call["unique_bytes"])
        assert roofline["attainable"] <= roofline["roof"] * (1 + 1e-9)


def test_figures_say_whether_they_were_measured(report):
    for kind in ("kernels", "variants", "calls"):
        named = report["measured"][kind]
        assert set(named) <= set(report[kind][0])
    assert report["measured"]["calls"]["host_ns"] is True
    assert report["measured"]["calls"]["bytes"] is False


def test_analysis_skipped_for_its_cost_is_reported_at_its_op(tmp_path):
    side = write_trace(tmp_path / "t", [Kernel(calls=(Launches(), Launches()))])
    add_ops(side, [Op(0, 3, "load", 12, {}), Op(1, 3, "load", 12, {})])
    accesses = side.trace.table("accesses").drop_columns(["run"])
    notes = ["call 1, op 3 (tt.load): the first 64 of 90 rows are kept", "something else"]
    side.trace.add_derived(
        side.runs[0].run_id, "tracer", {"accesses": accesses}, {"left_out": notes}
    )

    blocks = json_blocks(blocks_of(side), "call")

    assert blocks[0]["notes"] == []
    assert blocks[1]["notes"] == [{"op": 3, "text": "the first 64 of 90 rows are kept"}]


def test_rows_are_those_of_arrow_whatever_the_columns_hold():
    table = pa.table(
        {
            "call_id": pa.array([1, 1, 2, 2]),
            "number": pa.array([2**63 - 1, None, -3, 4]),
            "median": pa.array([1.5, None, 0.0, 1e20]),
            "wide": pa.array([2**64 - 1, None, 0, 1], pa.uint64()),
            "text": pa.array(["a", None, "é\0", ""]),
            "name": pa.array(["x", None, "x", "y"]).dictionary_encode(),
            "lanes": pa.array([[1], None, [], [2, None]]),
            "flag": pa.array([True, None, False, True]),
        }
    )
    for rows in (table, table.slice(1, 2), table.slice(1, 0), pa.concat_tables([table, table])):
        assert _as_rows(rows) == rows.to_pylist()
