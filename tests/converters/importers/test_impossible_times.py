"""Executions with times that cannot be: marked, left out of sums, and named; no file is refused."""

import json

import pytest

from kvtrace.cli import main
from kvtrace.converters.importers.importing import import_files
from kvtrace.converters.profile.profile import read_profile
from kvtrace.figures.part_figures import PartFigures
from kvtrace.figures.requested_part import WHOLE
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace

HOST = {"ph": "X", "cat": "cuda_runtime", "name": "cudaDeviceSynchronize", "pid": 100, "tid": 7,
        "ts": 0, "dur": 1000, "args": {"correlation": 1}}  # fmt: skip


def kernel(name, ts, dur, stream=7, device=0, **args):
    times = {"ts": ts} if dur is None else {"ts": ts, "dur": dur}
    args |= {"device": device, "stream": stream, "grid": [1, 1, 1], "block": [32, 1, 1]}
    return {"ph": "X", "cat": "kernel", "name": name, "pid": device, "tid": stream, **times,
            "args": args}  # fmt: skip


def imported(tmp_path, events, **members):
    path = tmp_path / "odd.pt.trace.json"
    members = {"deviceProperties": [], "baseTimeNanoseconds": 1_700_000_000 * 10**9, **members}
    path.write_text(json.dumps({**members, "traceEvents": events}))
    (run,) = import_files([path], tmp_path / "out")
    return run, open_trace(tmp_path / "out")


@pytest.mark.parametrize(
    ("events", "reasons"),
    [
        # 1.6 s across later kernels of its stream
        ([kernel("a", 10, 1_600_000), kernel("b", 70, 50), kernel("c", 130, 50)], {"a": "overlap"}),
        # into half of the next
        ([kernel("a", 10, 85), kernel("b", 70, 50)], {"a": "overlap"}),
        # the last of its stream claims 1.6 s after all that the host did
        ([kernel("a", 10, 50), kernel("b", 70, 1_600_000)], {"b": "outside"}),
        ([kernel("a", 10, 50), kernel("b", 70, -20)], {"b": "reversed"}),
        ([kernel("a", 10, 50), kernel("b", 70, None)], {"b": "unended"}),
        ([kernel("a", 10, 50), kernel("b", 70, 0)], {"b": "empty"}),
        ([kernel("a", 10, 50), kernel("b", -10_000_000, 50)], {"b": "outside"}),
        # a device whose clock is another
        ([kernel("a", 1_000_010, 50), kernel("b", 1_000_070, 50)], {}),
        # other streams and devices run at once; so do a graph's kernels, and a kernel's prologue
        ([kernel("a", 10, 500), kernel("b", 70, 50, stream=8)], {}),
        ([kernel("a", 10, 500), kernel("b", 70, 50, device=1)], {}),
        ([kernel("a", 10, 500, **{"graph id": 3}), kernel("b", 70, 50, **{"graph id": 3})], {}),
        ([kernel("a", 10, 62), kernel("b", 70, 50)], {}),
    ],
)
def test_impossible_times_are_in_no_sum(events, reasons, tmp_path):
    run, trace = imported(tmp_path, [HOST, *events])
    rows = {row["name"]: row for row in plain_rows(trace.table("gpu_kernels"))}
    assert {n: row["impossible"] for n, row in rows.items() if row["impossible"]} == reasons
    assert all((row["end"] is None) == (name in reasons) for name, row in rows.items())
    time = read_profile(trace, trace.runs, part=WHOLE).device_time
    expected = {e["name"]: 1000 * e["dur"] for e in events if e["name"] not in reasons}
    assert {row.name: row.device_ns for row in time.rows} == expected
    sentences = [text for text in run.lacks if "impossible times" in text]
    assert len(sentences) == bool(reasons)
    assert all(name in text for text in sentences for name in reasons)


def test_the_file_comes_back_with_the_times_that_it_claimed(tmp_path):
    events = [HOST, kernel("a", 10, 1600), kernel("b", 70, -20), kernel("c", 90, None),
              kernel("d", 200, 5)]  # fmt: skip
    imported(tmp_path, events)
    out = tmp_path / "back.json"
    assert main(["convert", "kineto", str(tmp_path / "out"), "-o", str(out)]) == 0
    assert json.loads(out.read_text())["traceEvents"] == events


def test_events_that_cannot_be_read_refuse_no_file(tmp_path):
    odd = [{**kernel("b", 70, 50), "ts": "soon"}, {**kernel("c", 80, 50), "args": 3}, "text", None]
    run, trace = imported(tmp_path, [HOST, kernel("a", 10, 50), *odd])
    assert "a" in trace.table("gpu_kernels")["name"].to_pylist()
    assert run.left_out["events that Kineto does not write"] == 3


def test_the_cause_of_a_gap_with_an_impossible_execution_is_unknown(tmp_path):
    other = [kernel("e", 10, 50, device=1), kernel("f", 200, 50, device=1)]
    events = [HOST, kernel("a", 10, 50), kernel("b", 100, -5), kernel("c", 200, 50),
              kernel("d", 900, 50), *other]  # fmt: skip
    _, trace = imported(tmp_path, events)
    gaps = PartFigures(trace, trace.runs).gaps
    unknown = [group for group in gaps.groups if group.cause == "unknown"]
    assert [(group.ends.before, group.total_ns) for group in unknown] == [("a", 140_000)]
    assert gaps.idle_ns == (140 + 650 + 140) * 1000
