"""torch.profiler's JSON with what a recording knows: nothing else is changed, nothing is lost."""

import gzip
import json
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

from kvtrace.addons.join.kineto import CONVERTER
from kvtrace.addons.join.results import join, write
from kvtrace.figures.columns import integers
from kvtrace.schema.errors import BadSetting, KvtraceError
from kvtrace.schema.trace import open_trace, select_runs
from tests.addons.join.times import Known, known
from tests.converters.written_trace import Kernel, Launches, write_trace
from tests.support.foreign_producer import LAUNCHES, write_foreign

BASE = 1_795_000_000_000_000_000


def events_of(made: Known) -> list[dict[str, Any]]:
    """Return the times as torch.profiler writes them: an operator or none, the call, the kernel."""
    rows = open_trace(made.times).table("gpu_kernels")
    start, end, asked = (integers(rows[name]) for name in ("start", "end", "requested"))
    found = []
    for at, row in enumerate(rows.select(["name", "correlation_id", "kind"]).to_pylist()):
        category = {"copy": "gpu_memcpy", "fill": "gpu_memset"}.get(row["kind"], "kernel")
        args = {"External id": at, "correlation": row["correlation_id"]}
        call = {"cat": "cuda_driver", "name": "cuLaunchKernelEx", "pid": 1, "tid": 2, "args": args}
        ran = {"cat": category, "name": row["name"], "pid": 0, "tid": 7, "args": args}
        found += [
            {"ph": "X", **call, "ts": float(asked[at] - BASE) / 1000, "dur": 5.25},
            {"ph": "X", **ran, "ts": float(start[at] - BASE) / 1000,
             "dur": float(end[at] - start[at]) / 1000},
        ]  # fmt: skip
    operator = {"External id": 0, "kernel_backend": "triton", "stream": 0}
    found[0:0] = [{"ph": "X", "cat": "cpu_op", "name": found[1]["name"], "ts": 1, "args": operator}]
    return found


@pytest.fixture
def made(tmp_path: Path) -> Known:
    """A recording that was joined, whose first execution is of a recorded kernel."""
    made = known("decoding", tmp_path)
    recording, times = select_runs(made.recording), select_runs(made.times)
    write(recording, times, join(recording, times), "times.json")
    return made


def converted(made: Known, output: Path, **settings: str) -> dict[str, Any]:
    """Return what the converter wrote."""
    CONVERTER.convert(select_runs(made.recording), output, settings)
    packed = output.suffix == ".gz"
    content = gzip.decompress(output.read_bytes()) if packed else output.read_bytes()
    found: dict[str, Any] = json.loads(content)
    return found


@pytest.mark.costly("converts a whole file; another of the file stays by day")
def test_annotated_file_keeps_its_events_and_gets_arguments(made: Known, tmp_path: Path) -> None:
    before = {"baseTimeNanoseconds": BASE, "traceEvents": events_of(made), "traceName": "x"}
    source = tmp_path / "before.json"
    source.write_text(json.dumps(before))
    after = converted(made, tmp_path / "after.json.gz", trace=str(source))
    assert {k: v for k, v in after.items() if k != "traceEvents"} == {
        k: v for k, v in before.items() if k != "traceEvents"
    }
    inserted = [
        e for e in after["traceEvents"] if e["cat"] == "cpu_op" and "ts" in e and e["ts"] != 1
    ]
    kept = [e for e in after["traceEvents"] if e not in inserted]
    assert len(kept) == len(before["traceEvents"])
    for old, new in zip(before["traceEvents"], kept, strict=True):
        assert {k: v for k, v in new.items() if k != "args"} == {
            k: v for k, v in old.items() if k != "args"
        }
        assert new["args"].items() >= old["args"].items() or old["cat"] == "cpu_op"
    shaped = [e for e in kept if e["cat"] == "kernel" and "Input Dims" in e["args"]]
    assert len(shaped) == int((made.call >= 0).sum())
    # Of each direct launch an operator is around the driver's call, as PyTorch writes it.
    for each in inserted:
        assert each["args"]["kernel_backend"] == "triton"
        assert len(each["args"]["Input Dims"]) == len(each["args"]["Input type"])
    assert len(inserted) in (len(shaped), len(shaped) - 1)


def test_an_inserted_operator_contains_the_call(made: Known, tmp_path: Path) -> None:
    source = tmp_path / "before.json"
    source.write_text(json.dumps({"baseTimeNanoseconds": BASE, "traceEvents": events_of(made)}))
    events = converted(made, tmp_path / "after.json", trace=str(source))["traceEvents"]
    pairs = [
        (one, two)
        for one, two in pairwise(events)
        if one["cat"] == "cpu_op" and two["cat"] == "cuda_driver" and one["ts"] != 1
    ]
    assert pairs
    for operator, call in pairs:
        begin, end = (Decimal(str(operator[key])) for key in ("ts", "dur"))
        inner, length = (Decimal(str(call[key])) for key in ("ts", "dur"))
        assert begin < inner
        assert inner + length < begin + end


def test_kineto_file_from_tables_has_all_executions(made: Known, tmp_path: Path) -> None:
    found = converted(made, tmp_path / "tables.json")
    kernels = [e for e in found["traceEvents"] if e["cat"] == "kernel"]
    rows = open_trace(made.recording).table("gpu_kernels", columns=["start", "kind"])
    assert len(kernels) == rows["kind"].null_count
    times = sorted(
        found["baseTimeNanoseconds"] + round(Decimal(repr(e["ts"])) * 1000) for e in kernels
    )
    assert times == sorted(integers(rows.filter(rows["kind"].is_null())["start"]).tolist())
    named = {e["args"]["correlation"] for e in kernels if "Input Dims" in e["args"]}
    launched = {e["args"]["correlation"] for e in found["traceEvents"] if e["cat"] == "cuda_driver"}
    assert launched == named


def test_each_event_of_a_recording_has_its_own_numbers(tmp_path: Path) -> None:
    """Events that differ in numbers alone are written together, whatever their names are."""
    names = ("50 %s", '"\\udc00" %')
    calls = (Launches(number=3, device_us=5), Launches())
    made = write_trace(tmp_path / "out", [Kernel(name=name, calls=calls) for name in names])
    CONVERTER.convert(made, tmp_path / "x.json", {})
    events = json.loads((tmp_path / "x.json").read_bytes())["traceEvents"]
    kernels, operators, drivers, flows = (
        [e for e in events if e["cat"] == category]
        for category in ("kernel", "cpu_op", "cuda_driver", "ac2g")
    )
    executed = (0, 1, 2, 4, 5, 6)
    assert [e["name"] for e in kernels] == [names[0]] * 3 + [names[1]] * 3
    assert [e["name"] for e in operators] == [e["name"] for e in kernels] + [*names]
    assert [e["ts"] for e in operators] == [100 * seq for seq in (*executed, 3, 7)]
    for written, length in ((kernels, 5), (drivers, 10)):
        ids = [(e["ts"], e["dur"], e["args"]["correlation"]) for e in written]
        assert ids == [(100 * seq, length, seq) for seq in executed]
    assert [(e["ph"], e["id"], e["ts"], e["tid"]) for e in flows] == [
        each for seq in executed for each in (("s", seq, 100 * seq, 1), ("f", seq, 100 * seq, 0))
    ]


@pytest.mark.parametrize("text", ["", "{", "[1, 2", '{"traceEvents": [{]}', '{"traceEvents": []}'])
def test_invalid_kineto_file_leaves_no_output(made: Known, tmp_path: Path, text: str) -> None:
    source = tmp_path / "before.json"
    source.write_text(text)
    with pytest.raises(KvtraceError):
        converted(made, tmp_path / "after.json", trace=str(source))
    assert not (tmp_path / "after.json").exists()


def test_times_of_another_run_are_refused(made: Known, tmp_path: Path) -> None:
    events = [{**event, "ts": event["ts"] + 1000} for event in events_of(made)]
    source = tmp_path / "before.json"
    source.write_text(json.dumps({"baseTimeNanoseconds": BASE, "traceEvents": events}))
    with pytest.raises(BadSetting, match="first run kvtrace import"):
        converted(made, tmp_path / "after.json", trace=str(source))
    assert not (tmp_path / "after.json").exists()


def test_entries_that_are_no_events_are_kept(made: Known, tmp_path: Path) -> None:
    """Entries of traceEvents that are no objects, or say nothing, are written as they are."""
    others: list[Any] = [1, None, "text", [], {"ph": "X"}]
    events = events_of(made)
    calls = [each for each in events if each["cat"] == "cuda_driver"]
    others += [{**calls[1], "ts": "soon"}, {**calls[1], "dur": [1]}]
    file = tmp_path / "times.json"
    times = {"baseTimeNanoseconds": BASE, "traceEvents": [*others, *events]}
    file.write_text(json.dumps(times), encoding="utf-8")
    found = converted(made, tmp_path / "out.json", trace=str(file))["traceEvents"]
    assert found[: len(others)] == others
    assert sum("kvtrace grade" in each.get("args", {}) for each in found[len(others) :]) > 0


def test_launches_of_a_producer_without_correlation_ids_keep_their_executions(
    tmp_path: Path,
) -> None:
    trace = select_runs(write_foreign(tmp_path / "out"))
    output = tmp_path / "kineto.json"
    notes = CONVERTER.convert(trace, output, {}).notes
    assert any("the trace has no TTIR" in note for note in notes)
    events = json.loads(output.read_text())["traceEvents"]
    calls = {e["args"]["correlation"]: e for e in events if e["cat"] == "cuda_driver"}
    executions = [e for e in events if e["cat"] == "kernel"]
    assert len(calls) == len(executions) == sum(LAUNCHES.values())
    for event in executions:
        assert calls[event["args"]["correlation"]]["ts"] < event["ts"]
        assert event["args"]["kernel_backend"] == "toydsl"
