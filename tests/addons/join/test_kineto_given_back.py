"""`kvtrace import` and then `convert kineto`: other tools' files come back as they were."""

import json
from pathlib import Path
from typing import Any

import pytest

from kvtrace.addons.join.kineto import CONVERTER
from kvtrace.converters.importers.importing import import_files
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace, select_runs
from tests.support.foreign_traces import (
    EPOCH_NS,
    write_kineto,
    write_nsys_sqlite,
    write_rocprofv3_json,
)

#: Events as files of PyTorch have them besides those of `write_kineto`.
FURTHER: list[dict[str, Any]] = [
    {"ph": "f", "id": 11, "pid": 0, "tid": 7, "ts": 1020.125, "cat": "ac2g", "name": "ac2g",
     "bp": "e"},
    {"ph": "s", "id": 5, "pid": 100, "tid": 100, "ts": 1060, "cat": "fwdbwd", "name": "fwdbwd"},
    {"ph": "i", "s": "t", "name": "[memory]", "pid": 100, "tid": 100, "ts": 1061.001,
     "cat": "cpu_instant_event", "args": {"Total Allocated": 4096, "Addr": -9223372036854775808}},
    {"ph": "X", "cat": "Trace", "ts": 990, "dur": 500.25, "pid": "Spans",
     "tid": "PyTorch Profiler", "name": "PyTorch Profiler (0)", "args": {"Op count": 0}},
    {"ph": "X", "cat": "mtia_ccp_events", "name": "dma_request", "pid": 17, "tid": 36, "ts": 1100,
     "dur": 5, "args": {"direction": "DEVICE_TO_HOST", "size": 1024}},
    {"ph": "X", "cat": "gpu_user_annotation", "name": "50 % {of} it", "pid": 0, "tid": 7,
     "ts": 1020, "dur": 3, "args": {"External id": 9, "Input Dims": [[2, 3], []], "x": 0.25}},
    {"ph": "X", "cat": "kernel", "name": "void at::native::vectorized<4>(int)", "pid": 0, "tid": 7,
     "ts": 1200, "dur": 1, "args": {"External id": 3, "device": 0, "stream": 7, "correlation": 40,
                                    "queued": 0, "blocks per SM": 0.06, "Group size": 8,
                                    "graph id": 3, "grid": [1, 2], "context": "1"}},
    {"ph": "X", "cat": "cpu_op", "name": "aten::add", "pid": 100, "tid": 100, "ts": 1070, "dur": 0,
     "args": {}},
    {"ph": "X", "cat": "overhead", "name": "", "pid": -1, "tid": 0, "ts": 1071, "dur": 2},
]  # fmt: skip


def given_back(source: Path, folder: Path) -> dict[str, Any]:
    """Return the file of torch.profiler's format that is made of the imported file `source`."""
    import_files([source], folder / "out")
    CONVERTER.convert(select_runs(folder / "out"), folder / "back.json", {})
    document: dict[str, Any] = json.loads((folder / "back.json").read_bytes())
    return document


@pytest.mark.parametrize("base", [None, EPOCH_NS, "last"])
def test_torch_profilers_file_comes_back_equal(tmp_path: Path, base: object) -> None:
    """Members of the file, and every event in its place with every member, are equal."""
    source = write_kineto(tmp_path)
    document = json.loads(source.read_bytes())
    document["traceEvents"] += FURTHER
    document.pop("baseTimeNanoseconds")
    if base == "last":  # as Kineto wrote it at first
        document["baseTimeNanoseconds"] = EPOCH_NS
    elif base is not None:
        document = {"baseTimeNanoseconds": base, **document}
    source.write_text(json.dumps(document))
    back = given_back(source, tmp_path)
    assert back.pop("traceEvents") == document.pop("traceEvents")
    assert back == document


def test_second_import_of_what_came_back_is_the_same_trace(tmp_path: Path) -> None:
    source = write_kineto(tmp_path)
    given_back(source, tmp_path)
    (tmp_path / "again").mkdir()
    given_back(tmp_path / "back.json", tmp_path / "again")
    for table in ("gpu_kernels", "tool_events", "host_events", "launches", "marks"):
        first, second = (
            plain_rows(open_trace(folder / "out").table(table).drop_columns(["run"]))
            for folder in (tmp_path, tmp_path / "again")
        )
        for row in [*first, *second]:
            if row.get("members") is not None:
                row["members"] = json.loads(row["members"])
        assert first == second


def test_args_come_back_however_the_file_writes_them(tmp_path: Path) -> None:
    common = '"ph":"X","cat":"cpu_op","name":"args","pid":1,"tid":2,"ts":5,"dur":1'
    texts = [
        "{" + common.replace('"args"', '"f"') + f", {rest}" + "}"
        for rest in (
            '"args": {"External id": 4, "y": 1.50, "z": [1e3, {"args": 2}]}',
            '"args" :\t{\n "External id": 5, "y": "}" }\n',
            '"args":{}',
            '"args":{"x": 1}, "args":{"x": 2}',
            '"args":{"tab": "a\tb", "correlation": "7"}',
            '"args":{"correlation": 9223372036854775808, "External id": true, "x": "\\ud800 é"}',
            '"\\u0061rgs":{"x": "args"}',
            '"args":{"x": 1}, "ts": 6',
            '"id": 7, "bp": "e", "args":{"x": 1}',
            '"other": {"x": {}}, "args":{"x": 1}',
            '"args": [1]',
            '"args": {"Call stack": "a.py(3): f"}',
        )
    ]
    texts += ["{" + common + ', "args":{"x":"args"}}'] * 2
    texts += [texts[0].replace('"pid":1', '"pid":1.5'), texts[0].replace('"f"', '["f"]')]
    source = tmp_path / "trace.json"
    source.write_text(
        '{"deviceProperties": [], "baseTimeNanoseconds": 0, "traceEvents": ['
        + ",\n".join([texts[0], *texts, texts[0]])
        + "]}"
    )
    back = given_back(source, tmp_path)
    assert back["traceEvents"] == json.loads(source.read_text(), strict=False)["traceEvents"]


def test_calls_of_an_import_have_their_times_and_ids(tmp_path: Path) -> None:
    import_files([write_kineto(tmp_path)], tmp_path / "out")
    rows = plain_rows(open_trace(tmp_path / "out").table("tool_events"))
    (call,) = [row for row in rows if row["correlation_id"] == 13]
    assert (call["phase"], call["category"], call["name"]) == (
        "X", "cuda_runtime", "cudaLaunchKernel",
    )  # fmt: skip
    assert call["end"] - call["begin"] == 4_000
    assert (call["process"], call["thread"]) == (100, 100)
    (operator,) = [row for row in rows if row["category"] == "cpu_op"]
    assert operator["external_id"] == 3


@pytest.mark.parametrize(
    ("write", "call", "duration_us"),
    [
        (write_nsys_sqlite, "cuLaunchKernelEx", 4.5),
        (write_rocprofv3_json, "hipModuleLaunchKernel", None),
    ],
)
def test_other_tools_executions_get_flows_from_their_calls(
    tmp_path: Path, write: Any, call: str, duration_us: float | None
) -> None:
    """Each execution whose call is known has a flow from the call, with the call's own time."""
    events = given_back(write(tmp_path), tmp_path)["traceEvents"]
    calls = {e["args"]["correlation"]: e for e in events if e.get("name") == call}
    assert calls
    assert duration_us is None or duration_us in {e["dur"] for e in calls.values()}
    kernels = {e["args"]["correlation"]: e for e in events if e["cat"] == "kernel"}
    starts = {e["id"]: e for e in events if e["ph"] == "s"}
    ends = {e["id"]: e for e in events if e["ph"] == "f"}
    for correlation in calls.keys() & kernels.keys():
        for flow, event in (
            (starts[correlation], calls[correlation]),
            (ends[correlation], kernels[correlation]),
        ):
            assert [flow[key] for key in ("pid", "tid", "ts")] == [
                event[key] for key in ("pid", "tid", "ts")
            ]
    assert starts.keys() == ends.keys()
    assert not [e for e in events if e["cat"] == "cpu_op"]  # none was recorded
