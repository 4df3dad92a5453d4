"""Kernels of imported traces: each function of the file is one kernel in every output."""

import json

import pytest

from kvtrace.converters.importers.importing import import_files
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.query.query import connect, query
from kvtrace.converters.report.data import report_data
from kvtrace.converters.timeline.drawing import timelines
from kvtrace.figures.names import full_name, shown_names
from kvtrace.figures.requested_part import WHOLE
from kvtrace.schema.trace import Selection, open_trace
from tests.support.kernel_names import RECORDED

#: Overloads, and functions of one name in two namespaces, have equal short names.
LIKE = ["check(float const*)", "check(double const*)", "void a::f<8>(int)", "void b::f<8>(int)"]
NAMES = LIKE + [name for tool, _, name, _ in RECORDED if tool == "kineto"]


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernel_rows")
    events = [
        {"ph": "X", "cat": "kernel", "name": name, "ts": 100 * index, "dur": 1 + index, "pid": 0,
         "tid": 7, "args": {"stream": 7, "device": 0, "correlation": index}}
        for index, name in enumerate(NAMES)
    ]  # fmt: skip
    path = folder / "names.json"
    path.write_text(json.dumps({"deviceProperties": [], "traceEvents": events}))
    import_files([path], folder / "out", None)
    return open_trace(folder / "out")


def test_each_function_is_a_row_of_the_profile_with_its_own_time(trace):
    time = read_profile(trace, trace.runs, part=WHOLE).device_time
    shown = shown_names(NAMES)
    assert {row.name: row.device_ns for row in time.rows} == {
        shown[name]: 1000 * (1 + index) for index, name in enumerate(NAMES)
    }
    assert len(time.rows) == len(NAMES)


def test_the_report_has_short_and_full_names(trace):
    report = report_data(trace, trace.runs, "title", "out/")
    assert dict(zip(report.device_names, report.device_functions, strict=True)) == {
        shown: full_name(name) for name, shown in shown_names(NAMES).items()
    }


def test_slices_of_the_timeline_have_the_full_name_as_an_argument(trace):
    facts = {}
    for timeline in timelines(Selection(trace, trace.runs)):
        for slices in timeline.slices:
            facts |= {caption.name: dict(caption.facts) for caption in slices.captions}
    for name, shown in shown_names(NAMES).items():
        assert facts[shown].get("symbol", shown) == name
        assert facts[shown].get("function", shown) == full_name(name)


def test_sql_has_the_name_as_it_came(trace):
    with connect(trace, trace.runs) as database:
        _, rows = query(database, "SELECT DISTINCT name FROM gpu_kernels")
    assert {name for (name,) in rows} == set(NAMES)
