"""What no column has of other tools' files: numbers of 64 bits, metrics, and facts of launches."""

import json
import sqlite3

import pytest

from kvtrace.cli import main
from kvtrace.converters.importers.event_rows import json_text
from kvtrace.converters.importers.importing import import_files
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace

HUGE = 2**63


def refuse_constant(name):
    raise AssertionError(f"{name} is not JSON")


def executions(out):
    return list(plain_rows(open_trace(out).table("gpu_kernels")))


def test_numbers_of_64_bits_come_back(tmp_path):
    args = {"device": 0, "stream": HUGE, "correlation": HUGE, "External id": HUGE + 1,
            "graph node id": 2**64 - 1, "registers per thread": 2**31, "bytes": HUGE,
            "grid": [HUGE, 1, 1], "block": [32, 1, 1]}  # fmt: skip
    event = {"ph": "X", "cat": "kernel", "name": "a", "pid": 0, "tid": 7, "ts": 10, "dur": 5,
             "args": args}  # fmt: skip
    path, back = tmp_path / "a.pt.trace.json", tmp_path / "back.json"
    path.write_text(json.dumps({"deviceProperties": [], "traceEvents": [event]}))
    import_files([path], tmp_path / "out")
    assert main(["convert", "kineto", str(tmp_path / "out"), "-o", str(back)]) == 0
    (given_back,) = json.loads(back.read_text())["traceEvents"]
    assert given_back["args"] == args
    assert (given_back["ts"], given_back["dur"]) == (10, 5)


@pytest.mark.parametrize(
    "value", [float("inf"), [float("-inf"), 1.5], {"a": {"b": [float("nan")]}}, {"c": 2}]
)
def test_members_are_json(value):
    text = json_text(value)
    assert json.loads(text, parse_constant=refuse_constant) is not None


def test_members_of_events_are_json(tmp_path):
    event = {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 1, "tid": 1, "ts": 1, "dur": 2,
             "args": {"flops": float("inf"), "Input": "Infinity"}}  # fmt: skip
    path = tmp_path / "a.pt.trace.json"
    path.write_text(json.dumps({"deviceProperties": [], "traceEvents": [event, event]}))
    import_files([path], tmp_path / "out")
    for row in plain_rows(open_trace(tmp_path / "out").table("tool_events")):
        json.loads(row["members"], parse_constant=refuse_constant)


def test_kernels_of_proton_with_odd_counts_are_kept_and_named(tmp_path):
    def node(name, **metrics):
        place = {"device_id": "0", "device_type": "CUDA"}
        return {"frame": {"name": name}, "metrics": {**place, **metrics}, "children": []}

    times = "time (ns)"
    children = [
        node("fine", **{"count": 2, times: 10, "bytes": 64.0}),
        node("long", **{"count": 1, times: HUGE}),
        node("many", **{"count": HUGE, times: 5}),
        node("none", **{"count": 0, times: 5}),
        {"frame": {"name": "scope"}, "metrics": {"flops": 1e9}, "children": []},
    ]
    tree = {"frame": {"name": "ROOT"}, "metrics": {}, "children": children}
    path = tmp_path / "a.hatchet"
    path.write_text(json.dumps([tree, {"CUDA": {"0": {"arch": "90"}}}]))
    (run,) = import_files([path], tmp_path / "out")
    rows = {row["name"]: row for row in executions(tmp_path / "out")}
    assert {name for name, row in rows.items() if row["end"] is None} == {"long", "many", "none"}
    assert json.loads(rows["many"]["members"])["metrics"]["count"] == HUGE
    assert json.loads(rows["fine"]["members"]) == {"metrics": {"bytes": 64.0}}
    assert any("3 executions with impossible times" in text for text in run.lacks)
    assert run.left_out == {"metric flops of contexts": 1}


def test_nsys_names_copies_by_its_own_table(tmp_path):
    path = tmp_path / "a.sqlite"
    with sqlite3.connect(path) as database:
        database.executescript("""
            CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start, end, deviceId, streamId, copyKind);
            INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES
                (10, 20, 0, 7, 2), (30, 40, 0, 7, 11), (50, 60, 0, 7, 12), (70, 80, 0, 7, 99);
            CREATE TABLE ENUM_CUDA_MEMCPY_OPER (id, name, label);
            INSERT INTO ENUM_CUDA_MEMCPY_OPER VALUES (2, 'CUDA_MEMCPY_KIND_DTOH', 'to host'),
                (11, 'CUDA_MEMCPY_KIND_UVM_HTOD', 'Unified to Device'), (12, 'NEW', 'Sideways');
            CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start, end, deviceId, streamId, greenContextId,
                clusterX, clusterY, clusterZ, launchType);
            INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (100, 90, 0, 7, 3, 2, 1, 1, 1),
                (NULL, 90, 0, 7, NULL, NULL, NULL, NULL, NULL);
        """)
    database.close()
    (run,) = import_files([path], tmp_path / "out")
    *copies, kernel = executions(tmp_path / "out")
    assert [row["name"] for row in copies] == [
        "Memcpy DtoH", "Memcpy Unified to Device", "Memcpy Sideways", "Memcpy of an unknown kind",
    ]  # fmt: skip
    assert json.loads(kernel["members"]) == {
        "greenContextId": 3, "clusterX": 2, "clusterY": 1, "clusterZ": 1, "launchType": 1,
    }  # fmt: skip
    assert kernel["impossible"] == "reversed"
    assert any("1 event without a begin" in text for text in run.lacks)


def test_asynchronous_ranges_are_listed(tmp_path):
    begin = {"ph": "b", "cat": "async", "name": "x", "id": 1, "pid": 1, "tid": 1, "ts": 1}
    path = tmp_path / "a.pt.trace.json"
    events = [begin, {**begin, "ph": "e", "ts": 5}, {**begin, "ph": "s"}]
    path.write_text(json.dumps({"deviceProperties": [], "traceEvents": events}))
    (run,) = import_files([path], tmp_path / "out")
    assert run.left_out["async"] == 2
