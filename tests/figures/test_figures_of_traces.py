"""Figures of a whole trace, beside those of its kernels, are the same in every output."""

from pathlib import Path

import pytest

from kvtrace.converters.diff.snapshot import take_snapshot
from kvtrace.converters.info.info import read_overview
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.profile.recompiles import recompiles_sentence
from kvtrace.converters.query.query import connect, query
from kvtrace.converters.report import report_data
from kvtrace.converters.timeline.drawing import timelines
from kvtrace.figures.identity import SOURCE, TRITON
from kvtrace.figures.requested_part import WHOLE
from kvtrace.schema.trace import Selection, open_trace
from tests.support.tiers import some

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures" / "h200").glob("*/runs"))
COUNTS = f"""
    SELECT count(DISTINCT (module, name, {SOURCE})), count(*), sum(compile_ns) FROM kernels k
"""
OVERHEAD = "SELECT sum(self_overhead_ns) FROM runs"


@pytest.mark.costly("every output of recorded traces; figures by hand stay by day")
@pytest.mark.parametrize("runs", some(FIXTURES, 12), ids=lambda path: path.parent.name)
def test_figures_of_recorded_traces_are_the_same_in_all_outputs(runs):
    trace = open_trace(runs.parent)
    profile = read_profile(trace, trace.runs)
    overview = read_overview(trace, trace.runs, recompiles=True)
    report = report_data(trace, trace.runs, "t", "t")
    side = take_snapshot(Selection(trace, tuple(trace.runs)), "side")
    with connect(trace, trace.runs) as connection:
        (kernels, variants, compile_ns) = query(connection, COUNTS)[1][0]
        ((overhead,),) = query(connection, OVERHEAD)[1]

    # the number of kernels
    assert len(profile.kernels) == len(overview.kernels) == len(side.kernels) == kernels
    assert len(report.kernels) == kernels
    assert len(report.variants) == sum(run.kernels for run in overview.runs) == variants

    # busy share and idle time, by cause
    own = {
        each.device_time.busy if each.device_time else None for each in (profile, overview, report)
    }
    assert len(own) == 1

    # compile time, which is not the time of first launches
    assert sum(k.compile_ns or 0 for k in profile.kernels) == (compile_ns or 0)
    assert sum(v.compile_ns or 0 for v in report.variants) == (compile_ns or 0)
    assert (side.totals.compile_ns or 0) == (compile_ns or 0)

    # kvtrace overhead
    assert sum(run.self_overhead_ns or 0 for run in overview.runs) == (overhead or 0)
    assert sum(run.self_overhead_ns or 0 for run in report.runs) == (overhead or 0)

    # recompiles
    again = [one for one in overview.recompiles if one.recompiled]
    assert len(again) == sum(
        v.recompiled is not None and v.recompiled.again for v in report.variants
    )
    assert report.recompiles == recompiles_sentence(overview.recompiles)
    assert [v.reason for v in report.variants] == [one.reason(4) for one in overview.recompiles]
    assert all(one.compile_ns is not None for one in again)


@pytest.mark.parametrize(
    "name", ["llama_liger_cached", "llama_graphs"]
)  # user-defined kernels that Inductor renamed, and graphs
def test_a_kernel_has_one_name_in_the_timeline_and_in_tables(name):
    trace = open_trace(next(path.parent for path in FIXTURES if path.parent.name == name))
    overview = read_overview(trace, trace.runs, part=WHOLE)  # as the timeline
    named = {row.name for row in overview.device_time.rows if row.kind == TRITON}
    libraries = {row.name for row in overview.device_time.rows} - named
    assert named <= {kernel.name for kernel in overview.kernels}
    drawn = {
        slices.captions[number].name
        for each in timelines(Selection(trace, tuple(trace.runs)))
        for slices in each.slices
        if slices.category == "gpu"
        for number in set(slices.caption.tolist())
    }
    assert named <= drawn
    shown = {name.partition("<")[0] for name in drawn - named}
    assert shown <= {name.partition("<")[0] for name in libraries} | {
        k.name for k in overview.kernels
    }
