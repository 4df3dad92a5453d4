"""A figure of a kernel is the same, and has the same name, in every output that shows it."""

from pathlib import Path

import pytest

from kvtrace.converters.diff.snapshot import take_snapshot
from kvtrace.converters.info.info import overview_object, read_overview
from kvtrace.converters.profile.profile import profile_object, read_profile
from kvtrace.converters.query.query import connect, query
from kvtrace.converters.report import report_data
from kvtrace.figures.kernels import KERNEL_FIGURES
from kvtrace.figures.views import TOP_KERNELS
from kvtrace.schema.trace import Selection, open_trace
from tests.support.report_trace import build_report_trace
from tests.support.tiers import some

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures").glob("**/runs"))


def known(figures):
    """Figures by their names; what is nothing is zero, whether nothing or nobody was asked."""
    return {name: value or 0 for name, value in figures.items() if name in KERNEL_FIGURES}


def of_profile(trace):
    return [
        ((k["module"] or "", k["name"]), known(k | k["measured"]))
        for k in profile_object(read_profile(trace, trace.runs))["kernels"]
    ]


def of_info(trace):
    return [
        ((k["module"] or "", k["name"]), known(k))
        for k in overview_object(read_overview(trace, trace.runs))["kernels"]
    ]


def of_sql(trace):
    with connect(trace, trace.runs) as database:
        names, rows = query(database, TOP_KERNELS)
    listed = [dict(zip(names, row, strict=True)) for row in rows]
    return [((row["module"] or "", row["kernel"] or ""), known(row)) for row in listed]


def of_diff(trace):
    side = take_snapshot(Selection(trace, tuple(trace.runs)), "side")
    found = []
    for key in side.kernels:
        totals = side.kernel_totals(key)
        figures = {name: getattr(totals, name) for name in KERNEL_FIGURES if hasattr(totals, name)}
        found.append((key, known(figures)))
    return found


def of_report(trace):
    """Kernels of one name that come from several files are several kernels there."""
    merged = {}
    for kernel in report_data(trace, trace.runs, "t", "t").kernels:
        name = "" if kernel.name == "(no name)" else kernel.name
        into = merged.setdefault((kernel.module or "", name), {})
        for figure in (f for f in KERNEL_FIGURES.values() if f.adds_up and hasattr(kernel, f.name)):
            into[figure.name] = into.get(figure.name, 0) + (getattr(kernel, figure.name) or 0)
    return list(merged.items())


OUTPUTS = {
    "info": of_info, "SQL": of_sql, "diff": of_diff, "report": of_report,
}  # fmt: skip


def assert_same(trace):
    expected = dict(of_profile(trace))
    assert len(expected) == len(of_profile(trace))
    for output, read in OUTPUTS.items():
        listed = read(trace)
        found = dict(listed)
        assert len(found) == len(listed)
        for kernel in expected.keys() | found.keys():
            theirs, ours = expected.get(kernel, {}), found.get(kernel, {})
            assert ours.keys() >= {"launches", "tuning_launches", "host_ns", "device_ns"}, output
            both = ours.keys() & theirs.keys()
            assert {n: ours[n] for n in both} == {n: theirs[n] for n in both}, (output, kernel)


@pytest.mark.parametrize("runs", some(FIXTURES, 5), ids=lambda path: path.parent.name)
def test_figures_of_recorded_kernels_are_the_same_in_all_outputs(runs):
    assert_same(open_trace(runs.parent))


def test_figures_of_a_trace_with_all_phases_are_the_same_in_all_outputs(tmp_path):
    assert_same(open_trace(build_report_trace(tmp_path).path))
