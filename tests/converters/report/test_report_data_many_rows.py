"""Reports of more launches and executions than a page holds: parts of them, and bins of all."""

from collections import Counter

import pytest

from kvtrace.converters.report import report_data
from kvtrace.converters.report.slices import OTHERS, BinCounter
from kvtrace.converters.report.writing import Budget, fitted_blocks
from kvtrace.schema.trace import open_trace
from kvtrace.schema.window import RunWindow, TraceWindow
from kvtrace.schema.writer import RunWriter
from tests.support.replacing import replace
from tests.support.report_trace import build_report_trace, report_of
from tests.support.synthetic_trace import build_synthetic_trace


@pytest.mark.costly("many rows; another of the file stays by day")
def test_of_many_launches_parts_are_stored_and_bins_count_all(tmp_path, monkeypatch):
    built = build_report_trace(tmp_path, launches=5000, derived=False, stages=("ttir",))
    every = report_of(built.path)
    monkeypatch.setattr("kvtrace.converters.report.launch_columns.MOST_ROWS", 250)
    report = report_of(built.path)
    assert report.calls == every.calls
    assert report.totals == every.totals
    assert report.rows == every.rows == {"launches": len(every.launches)}
    shift = report.span_ns - every.span_ns  # the page begins with a whole bin
    bins = report.bins["launches"]
    assert 0 <= shift < bins.width_ns
    assert 400 < len(report.launches) < 1000
    assert set(report.launches.seq.tolist()) <= set(every.launches.seq.tolist())
    low, high = report.plans["launches"][-1]
    begin = every.launches.begin + shift
    inside = every.launches.seq[(low <= begin) & (begin < high)]
    assert len(inside) > 400
    assert set(inside.tolist()) <= set(report.launches.seq.tolist())
    assert every.bins == {}
    counter = BinCounter(bins.width_ns, report.span_ns, len(every.kernels))
    counter.add(replace(every.launches, begin=begin))
    expected = counter.bins()
    for name in ("track", "bin", "key", "count", "busy_ns"):
        assert getattr(bins, name).tolist() == getattr(expected, name).tolist()


def test_kernels_that_bins_do_not_tell_apart_are_counted_as_others(tmp_path, monkeypatch):
    path = build_report_trace(tmp_path, launches=1000, derived=False).path
    monkeypatch.setattr("kvtrace.converters.report.launch_columns.MOST_ROWS", 100)
    told_apart = report_of(path).bins["launches"]
    monkeypatch.setattr("kvtrace.figures.tiles._KERNELS_OF_TILE", 1)
    bins = report_of(path).bins["launches"]
    assert OTHERS in bins.key
    assert OTHERS not in told_apart.key
    places = list(zip(bins.track.tolist(), bins.bin.tolist(), strict=True))
    assert max(Counter(places).values()) == 2  # a kernel, and the others
    for name in ("count", "busy_ns"):
        sums, expected = Counter(), Counter()
        for counter, each in ((sums, bins), (expected, told_apart)):
            columns = (each.track.tolist(), each.bin.tolist(), getattr(each, name).tolist())
            for track, bin_, value in zip(*columns, strict=True):
                counter[track, bin_] += value
        assert sums == expected


def test_of_many_executions_launches_are_found(tmp_path, monkeypatch):
    path = build_synthetic_trace(tmp_path / "out", launches=900, kernels=3, hostile=False).path
    every = report_of(path)
    monkeypatch.setattr("kvtrace.converters.report.launch_columns.MOST_ROWS", 100)
    report = report_of(path)
    assert set(report.bins) == {"launches", "gpu_kernels"}
    assert report.totals == every.totals
    assert 50 < len(report.device) <= len(every.device)
    assert set(executions(report)) <= set(executions(every))
    assert report.bins["gpu_kernels"].count.sum() == report.rows["gpu_kernels"] == len(every.device)
    assert report.bins["gpu_kernels"].busy_ns.sum() == every.device.duration.sum()


def test_launches_of_executions_on_the_page_are_on_it(tmp_path, monkeypatch):
    """Also where the host has ended before the devices began, far from the page's ranges."""
    writer = RunWriter(tmp_path / "out", "20260102T030405-behind")
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "k"}])
    writer.append_rows("calls", [{"call_id": 0, "kernel_id": 0}])
    numbers = range(400)
    writer.append_rows(
        "launches",
        [{"seq": n, "call_id": 0, "enter": 10 * n, "exit": 10 * n + 5} for n in numbers],
    )
    writer.append_rows(
        "gpu_kernels",
        [{"record": n, "launch_seq": n, "start": 10_000 * (n + 1), "end": 10_000 * n + 15_000,
          "name": "k"} for n in numbers],
    )  # fmt: skip
    writer.seal({})
    for module in ("launch_columns", "writing", "detail"):
        monkeypatch.setattr(f"kvtrace.converters.report.{module}.MOST_ROWS", 100)
    report = report_of(tmp_path / "out")
    assert 50 < len(report.device) < 400
    assert set(report.launches.seq.tolist()) == set(report.device.launch.tolist())
    budget = Budget(report, 1 << 20)
    trace = open_trace(tmp_path / "out")
    fitted_blocks(budget, trace, trace.select())
    notes = {entry.what: entry.text for entry in budget.dropped}
    listed = [text.split(" listed on this page")[0].split() for text in notes.values()]
    assert listed[0] == [listed[1][0], "of", "400", "executions", "on", "the", "device", "are"]
    assert listed[1][1:] == ["of", "400", "launches", "are"]


def test_a_window_has_its_own_launches_alone(tmp_path, monkeypatch):
    trace = open_trace(build_report_trace(tmp_path, launches=5000, derived=False).path)
    begin, end = sorted(trace.table("launches")["enter"].cast("int64").to_pylist())[1000:3001:2000]
    (run,) = trace.runs
    window = TraceWindow(trace, begin, end, {run.run_id: RunWindow(begin, end, begin, end)})
    monkeypatch.setattr("kvtrace.converters.report.launch_columns.MOST_ROWS", 250)
    report = report_data(window, trace.runs, "title", "out/")
    assert 2000 <= report.totals.launches == report.rows["launches"] < 2100


def executions(report):
    """Executions with what they refer to, of which each page has its own indexes."""
    device = report.device
    names = ("seq", "duration", "launch", "kernel", "call")
    columns = [getattr(device, name).tolist() for name in names]
    functions = [report.device_functions[name] for name in device.name.tolist()]
    phases = [None if p < 0 else report.phases[p] for p in device.phase.tolist()]
    tracks = [report.tracks[track] for track in device.track.tolist()]
    return list(zip(*columns, functions, phases, tracks, strict=True))
