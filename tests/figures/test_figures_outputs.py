"""A figure of a kernel is the same, and has the same name, in every output that shows it."""

from collections import defaultdict
from pathlib import Path

import pytest

from kvtrace.converters.diff.snapshot import take_snapshot
from kvtrace.converters.info.info import overview_object, read_overview
from kvtrace.converters.info.info_text import overview_text
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.profile.profile_model import profile_object
from kvtrace.converters.profile.profile_text import profile_text
from kvtrace.converters.query.query import connect, query
from kvtrace.converters.report import report_data
from kvtrace.converters.timeline.drawing import timelines
from kvtrace.figures.identity import SOURCE, TRITON, KernelKey, key_of
from kvtrace.figures.kernels import EXECUTED, FURTHER, KERNEL_FIGURES, LAUNCHED
from kvtrace.figures.requested_part import WHOLE
from kvtrace.figures.tables import database
from kvtrace.figures.times import launch_sums
from kvtrace.schema.launch_flags import LaunchFlags
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import Selection, open_trace
from kvtrace.text import count, duration, quantity
from tests.support.report_trace import build_report_trace
from tests.support.tiers import some

FIXTURES = sorted((Path(__file__).parents[1] / "fixtures").glob("**/runs"))
#: Figures that code asks for by name: further ones are means, and `test_kernels_further.py`'s.
ASKED = KERNEL_FIGURES.keys() - {each.name for each in FURTHER}
#: Figures that are made of those of the table and of others, or read off the compiler.
MORE = {"runs", "compilations", "compile_ns", "bytes", "flops", "calls_median"}
SUMS = ", ".join(
    f"sum({each.name}) AS {each.name}" for each in (*LAUNCHED, *EXECUTED) if each.adds_up
)
VIEWS = f"""
    SELECT k.module, k.name AS kernel, {SOURCE} AS source, {SUMS}
    FROM calls c JOIN kernels k USING (run, kernel_id)
    LEFT JOIN host_sums h USING (run, call_id) LEFT JOIN device_sums d USING (run, call_id)
    GROUP BY k.module, k.name, {SOURCE}
"""


def figures_or_zero(figures):
    """Figures by their names; what is nothing is zero, whether nothing or nobody was asked."""
    return {n: value or 0 for n, value in figures.items() if n in ASKED or n in MORE}


def key_of_row(row, name):
    return KernelKey(row["module"] or "", name or "", row["source"] or "")


class Read:
    """A trace, and what its outputs are made from."""

    def __init__(self, trace):
        self.trace = trace
        self.profile = read_profile(trace, trace.runs, calls=True, part=WHOLE)
        self.overview = read_overview(trace, trace.runs, part=WHOLE)
        self.report = report_data(trace, trace.runs, "t", "t", WHOLE)


def of_profile(read):
    for kernel in profile_object(read.profile)["kernels"]:
        figures = kernel | kernel["measured"]
        figures["calls_median"] = medians_of_calls(
            (call["run"], call["call_id"], call["measured"]) for call in kernel["calls"]
        )
        if kernel["derived"]["bytes"] is not None:
            figures |= {name: kernel["derived"][name] for name in ("bytes", "flops")}
        yield key_of_row(kernel, kernel["name"]), figures_or_zero(figures)


def of_info(read):
    shown = overview_object(read.overview)
    device = {
        key_of_row(row, row["name"]): row
        for row in (shown["device_time"] or {"rows": ()})["rows"]
        if row["kind"] == TRITON
    }
    for kernel in shown["kernels"]:
        name = key_of_row(kernel, kernel["name"])
        row = device.get(name, {})
        figures = {
            "device_executions": row.get("executions"), "device_median_ns": row.get("median_ns"),
        }  # fmt: skip
        yield name, figures_or_zero(kernel | (figures if shown["device_time"] else {}))


def of_sql(read, text):
    with connect(read.trace, read.trace.runs) as connection:
        names, rows = query(connection, text)
    for listed in rows:
        row = dict(zip(names, listed, strict=True))
        yield key_of_row(row, row["kernel"]), figures_or_zero(row)


def of_diff(read):
    side = take_snapshot(Selection(read.trace, tuple(read.trace.runs)), "side")
    for key in side.kernels:
        totals = side.kernel_totals(key)
        names = (ASKED | MORE) - {"bytes", "flops"}  # of launches, if all are known
        yield key, figures_or_zero({n: getattr(totals, n) for n in names if hasattr(totals, n)})


def of_report(read):
    report = read.report
    for number, kernel in enumerate(report.kernels):
        into = defaultdict(int)
        for figure in ASKED | MORE:
            if hasattr(kernel, figure) and getattr(kernel, figure) is not None:
                into[figure] += getattr(kernel, figure)
        own = [c for c in report.calls if report.variants[c.variant].kernel == number]
        into["calls_median"] += medians_of_calls(
            (report.runs[c.run].run_id, c.call_id, {n: getattr(c, n) for n in MEDIANS})
            for c in own
            if c.launches
        )
        yield report.kernel_keys[number], dict(into)


MEDIANS = ("host_median_ns", "device_median_ns")


def medians_of_calls(calls):
    """One number that all medians of some calls are in."""
    return sum(hash((run, call, *(figures[n] for n in MEDIANS))) for run, call, figures in calls)


def of_top(read):
    """What a page of the run would add up, were all that is recorded new."""
    found = defaultdict(lambda: dict.fromkeys((each.name for each in LAUNCHED), 0))
    for run in read.trace.runs:
        flags = LaunchFlags()
        kernels = {row["kernel_id"]: row for row in plain_rows(read.trace.table("kernels", [run]))}
        calls = read.trace.table("calls", [run], ["call_id", "kernel_id"]).to_pylist()
        of_call = {row["call_id"]: kernels.get(row["kernel_id"], {}) for row in calls}
        for table, rows in (("kernels", kernels.values()), ("calls", calls)):
            for row in rows:
                flags.refer(table, row)
        with database() as connection:
            for piece in read.trace.pieces("launches", [run]):
                for row in launch_sums(connection, piece, flags):
                    kernel = of_call[row.pop("call_id")]
                    own = found[key_of(kernel)]
                    for name, value in row.items():
                        own[name] += value or 0
    return found.items()


OUTPUTS = {
    "profile": of_profile,
    "info": of_info,
    "SQL": lambda read: of_sql(read, VIEWS),
    "SQL, kernels": lambda read: of_sql(read, "FROM kernel_sums"),
    "diff": of_diff,
    "report": of_report,
    "top": of_top,
}


def assert_same(trace):
    """Compare each figure of each kernel; return the outputs of each figure."""
    read = Read(trace)
    shown = defaultdict(set)
    values = defaultdict(dict)
    for output, rows in ((name, list(rows(read))) for name, rows in OUTPUTS.items()):
        found = dict(rows)
        assert len(found) == len(rows), output
        assert output == "top" or found.keys() == {k for k, _ in of_profile(read)}, output
        for kernel, figures in found.items():
            for name, value in figures.items():
                shown[name].add(output)
                first = values[kernel].setdefault(name, (output, value))
                assert value == first[1], (kernel, name, output, first)
    assert_texts(read, values)
    assert_timeline(read, values)
    assert_placed(read)
    return shown


def assert_texts(read, values):
    """Lines of kernels end with these figures, in this order."""
    for lines, first, kernels, cells in (
        (profile_text(read.profile, full=True, width=4000), "measured", read.profile.kernels,
         ("launches", *on_device(read.profile.device_time is None, values),
          "host_ns", "host_median_ns", *FURTHER, "compile_ns")),
        (overview_text(read.overview, full=True, width=4000), "kernel ", read.overview.kernels,
         ("launches", *(("device_ns",) if read.overview.device_time else ()),
          "host_ns", "compiling_ns", *FURTHER)),
    ):  # fmt: skip
        if first == "measured":
            kernels = [k for k in kernels if k.launches or k.tuning_launches]
        if not kernels:
            continue
        at = next(n for n, line in enumerate(lines) if line.startswith(first))
        for kernel, line in zip(kernels, lines[at + 1 :], strict=False):
            own = values[kernel.module or "", kernel.name, kernel.source or ""]
            further = kernel.measured.further if first == "measured" else kernel.further
            tail = [
                quantity(further[c.name], c.unit) if c in FURTHER
                else count(own[c][1]) if c == "launches" else time(own[c][1])
                for c in cells
            ]  # fmt: skip
            words = " ".join(tail).split()
            assert line.replace("- ", "0 ns ").split()[-len(words) :] == words or (
                line.split()[-len(words) :] == words
            ), (line, words)


def on_device(apart, values):
    timed = any(own["device_executions"][1] for own in values.values())
    return MEDIANS_ON_DEVICE if apart and timed else ()


MEDIANS_ON_DEVICE = ("device_ns", "device_median_ns")


def time(ns):
    """A time as texts have it, in which nothing is no time."""
    return duration(ns or None)


def assert_timeline(read, values):
    """A launch and an execution is a slice of its time, where its row stands for one."""
    runs = [run for run in read.trace.runs if not run.settings.get("sample")]
    slices = [s for t in timelines(Selection(read.trace, tuple(runs))) for s in t.slices]
    launches = sum(own["launches"][1] + own["tuning_launches"][1] for own in values.values())
    assert sum(s.begin.size for s in slices if s.category == "launch") == launches
    if read.profile.device_time is not None:
        time = read.profile.device_time
        assert sum(int(s.duration.sum()) for s in slices if s.category == "gpu") == (
            time.device_ns + time.tuning_ns
        )
        tuning = {n: sum(own[n][1] for own in values.values()) for n in ("tuning_ns",)}
        assert tuning["tuning_ns"] <= time.tuning_ns


def assert_placed(read):
    """An execution's call is that of the view, where the page joins launches itself."""
    report = read.report
    found = {
        (report.runs[report.tracks[track].run].run_id, record): report.calls[call].call_id
        for track, record, call in zip(
            *(getattr(report.device, n).tolist() for n in ("track", "seq", "call")), strict=True
        )
        if call >= 0
    }
    with connect(read.trace, read.trace.runs) as connection:
        text = "SELECT p.run, record, p.call_id FROM placed p JOIN calls c USING (run, call_id)"
        _, rows = query(connection, text + " WHERE device_ns IS NOT NULL")
    assert found == {(run, record): call for run, record, call in rows}


@pytest.mark.costly("every output of recorded traces; figures by hand stay by day")
@pytest.mark.parametrize("runs", some(FIXTURES, 26), ids=lambda path: path.parent.name)
def test_figures_of_recorded_kernels_are_the_same_in_all_outputs(runs):
    assert_same(open_trace(runs.parent))


@pytest.mark.costly("all outputs of a large trace; recorded ones stay by day")
def test_figures_of_a_trace_with_all_phases_are_the_same_in_all_outputs(tmp_path):
    shown = assert_same(open_trace(build_report_trace(tmp_path).path))

    several = {name for name, outputs in shown.items() if len(outputs) > 1}
    assert several == ASKED - {"replays", "tuning_executions", "tuning_ns"} | MORE
    assert len(several) >= 15
