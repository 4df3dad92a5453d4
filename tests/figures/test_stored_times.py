"""Figures that are kept in one file are those of the stored sums that they follow from."""

import pytest

from kvtrace.figures import stored
from kvtrace.figures.requested_part import STEADY, WHOLE
from kvtrace.figures.sums_reading import facts_to_keep
from kvtrace.figures.times import device_times, host_times
from kvtrace.figures.window import windowed
from kvtrace.schema import kept_files
from kvtrace.schema.layout import KEPT_TIMES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.window import RunWindow, TraceWindow


def figures_of(folder):
    """Rows of all tables of times, with their types, of whole runs and of their steady part."""
    trace = open_trace(folder)
    figures = []
    for part in (WHOLE, STEADY):
        window = windowed(trace, trace.runs, part)[0]
        for times in (host_times(window, trace.runs), device_times(window, trace.runs)):
            figures += [
                (table.schema, sorted(map(repr, table.to_pylist())))
                for table in (times.calls, times.kernels)
            ]
    return figures


def files_in(folder):
    return sorted((folder / KEPT_TIMES).glob("*"))


@pytest.mark.costly("several reads of a model's run; those of small traces stay by day")
def test_kept_figures_are_those_of_the_sums(folder, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(stored, "LEAST_RUNS", 99)
        expected = figures_of(folder)
        assert not files_in(folder)
    assert figures_of(folder) == expected
    assert len([file for file in files_in(folder) if file.name.startswith("times-")]) == 8
    monkeypatch.delattr("kvtrace.figures.times.sums_of")  # sums are not read again
    assert figures_of(folder) == expected


@pytest.mark.parametrize("table", ["launch_sums", "execution_sums", "kernels", "calls"])
def test_figures_do_not_count_for_other_files(folder, table):
    trace = open_trace(folder)
    sums = table if table.endswith("_sums") else "launch_sums"
    before = facts_to_keep(trace, trace.runs, sums)
    part = next((folder / table / f"run={trace.runs[0].run_id}").iterdir())
    part.write_bytes(part.read_bytes() + b" ")
    assert facts_to_keep(trace, trace.runs, sums) != before


def test_figures_differ_by_part_and_by_runs(folder):
    trace = open_trace(folder)
    runs = trace.runs
    windows = [windowed(trace, runs, part)[0] for part in (WHOLE, STEADY)]
    facts = [facts_to_keep(window, runs, "launch_sums") for window in windows]
    facts.append(facts_to_keep(trace, runs[:3], "launch_sums"))
    assert len({*map(repr, facts)}) == 3
    assert None not in facts


def test_figures_of_few_runs_and_of_rows_are_not_kept(folder):
    trace = open_trace(folder)
    assert facts_to_keep(trace, trace.runs[:1], "launch_sums") is None
    begin = windowed(trace, trace.runs)[1].begin
    edges = {run.run_id: RunWindow(begin, begin + 1, begin, begin + 1) for run in trace.runs}
    window = TraceWindow(trace, begin, begin + 1, edges)
    assert facts_to_keep(window, trace.runs, "launch_sums") is None


def test_oldest_files_are_removed(folder, monkeypatch):
    monkeypatch.setattr(kept_files, "_MOST_FILES", 3)
    trace = open_trace(folder)
    host_times(trace, trace.runs)
    first = files_in(folder)
    device_times(trace, trace.runs)
    assert len(first) == len(files_in(folder)) == 3
    assert first != files_in(folder)


@pytest.mark.costly("reads each damaged file anew; removed ones stay by day")
def test_a_damaged_file_is_written_again(folder):
    expected = figures_of(folder)
    for file in files_in(folder):
        file.write_bytes(file.read_bytes()[:-100])
    trace = open_trace(folder)
    assert host_times(trace, trace.runs).calls.num_rows
    assert any("is damaged, and is written again" in note for note in trace.notes)
    assert figures_of(folder) == expected
    again = open_trace(folder)
    host_times(again, again.runs)
    assert not again.notes


def test_a_trace_without_a_place_for_figures_says_so(folder):
    (folder / KEPT_TIMES).write_text("not a folder")
    trace = open_trace(folder)
    assert host_times(trace, trace.runs).calls.num_rows
    assert any("cannot be kept" in note for note in trace.notes)
