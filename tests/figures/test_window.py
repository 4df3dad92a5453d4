"""The part of a run that figures are of: steps by marks, by a period, or what is asked for."""

import json
from dataclasses import asdict
from pathlib import Path

import pyarrow.compute as pc
import pytest

from kvtrace.converters.info.info import read_overview
from kvtrace.converters.profile.device_text import step_sentences
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.report import report_data
from kvtrace.figures.identity import TRITON, KernelKey
from kvtrace.figures.requested_part import STEADY, WHOLE, RequestedPart
from kvtrace.figures.times import device_times, host_times
from kvtrace.figures.window import _step_slice, windowed
from kvtrace.schema.errors import BadSetting
from kvtrace.schema.trace import open_trace
from kvtrace.schema.window import TraceWindow
from tests.support.tiers import some

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"


def part_of(name, asked=STEADY):
    trace = open_trace(FIXTURES / name)
    return trace.runs, *windowed(trace, trace.runs, asked)


@pytest.mark.parametrize(
    ("text", "begin", "end"),
    [("10:20", 10, 20), ("10:", 10, 30), (":20", 0, 20), ("25:40", 25, 30), ("7", 7, 8)],
)
def test_text_selects_steps_up_to_its_end(text, begin, end):
    assert _step_slice(text, 30) == slice(begin, end)


@pytest.mark.parametrize(
    ("name", "how", "steps"),
    [
        ("llama", "mark", 10),
        ("llama_ranks", "mark", 20),
        ("llama_steady", "period", 35),
        ("llama_liger_cached", "period", 30),
        ("decoding", "period", 38),
        ("device", "stepless", None),
        ("inductor", "stepless", None),
    ],
)
def test_steady_part_of_a_recorded_run_is_found_with_its_number_of_steps(name, how, steps):
    runs, trace, window = part_of(name)
    assert (window.how, window.steps) == (how, steps)
    assert isinstance(trace, TraceWindow) == (how != "stepless")
    kernels = trace.table("kernels", runs, ["compile_begin"])
    assert how == "stepless" or kernels["compile_begin"].null_count == kernels.num_rows


LONG = pytest.param(
    "llama_steady", marks=pytest.mark.costly("a run of 17,000 launches; the others stay by day")
)


@pytest.mark.costly("a recorded trace; steps by hand stay by day")
@pytest.mark.parametrize("name", ["llama", LONG])
def test_steady_step_time_equals_that_of_torch_profiler(name):
    reference = json.loads((FIXTURES / f"{name}.json").read_text())
    trace = open_trace(FIXTURES / name)
    profile = read_profile(trace, trace.runs)
    busy, steps = profile.device_time.busy, profile.device_time.steps

    a_step = reference["busy_ns"] / reference["steps"]
    assert busy.busy_ns / steps.number == pytest.approx(a_step, rel=0.02)
    if "span_ns" in reference:
        share = reference["busy_ns"] / reference["span_ns"]
        assert busy.busy_ns / busy.span_ns == pytest.approx(share, rel=0.02)
        mean = reference["span_ns"] / reference["steps"]
        assert steps.span_ns / steps.number == pytest.approx(mean, rel=0.02)
        both = [one for one in profile.gaps.groups if one.ends.before and one.ends.after]
        assert len(both) == len(profile.gaps.groups)


def test_steps_have_no_times_where_no_request_of_an_execution_is_known():
    # replays of graphs before format 1.9: the devices lag behind by steps that nothing tells apart
    runs, trace, window = part_of("llama_graphs")
    profile = read_profile(trace, runs)

    assert (window.steps, window.step_ns) == (9, None)
    assert "9 steps marked step; start-up" in window.sentence
    assert profile.gaps.steps == ()
    assert step_sentences(profile.gaps) == []


SHOWN = ("launches", "device_ns", "device_executions", "host_ns")


@pytest.mark.costly("every output; the steady part stays by day")
@pytest.mark.parametrize(
    "name", some(["decoding", "llama", "llama_liger_cached", "llama_steady"], 4)
)
def test_figures_of_the_steady_part_are_the_same_in_all_outputs(name):
    trace = open_trace(FIXTURES / name)
    profile = read_profile(trace, trace.runs)
    overview = read_overview(trace, trace.runs)
    report = report_data(trace, trace.runs, "t", "t")

    assert profile.window == overview.window == report.window
    assert profile.window.how != "whole"
    assert profile.device_time == overview.device_time == report.device_time

    def shown(figures):
        return {name: value or 0 for name, value in figures.items() if name in SHOWN}

    of_profile = {k.key: shown(asdict(k) | asdict(k.measured)) for k in profile.kernels}
    times = {row.key: row for row in overview.device_time.rows if row.kind == TRITON}
    of_info = {
        KernelKey(k.module or "", k.name, k.source or ""): shown(asdict(k))
        for k in overview.kernels
    }
    for key, figures in of_info.items():
        figures["device_executions"] = times[key].executions if key in times else 0
    of_report = {
        key: shown({name: getattr(kernel, name) for name in SHOWN})
        for key, kernel in zip(report.kernel_keys, report.kernels, strict=True)
    }
    assert of_profile == of_info == of_report


def test_figures_count_rows_that_began_in_the_window():
    runs, trace, window = part_of("llama")
    rows = trace.whole.table("gpu_kernels", runs, ["start"])
    start = rows["start"].cast("int64").to_numpy()
    inside = int(((window.begin <= start) & (start < window.end)).sum())
    device = device_times(trace, runs).calls
    assert pc.sum(device["device_executions"]).as_py() == inside < len(start)
    launches = pc.sum(host_times(trace, runs).calls["launches"]).as_py()
    of_whole = pc.sum(host_times(trace.whole, runs).calls["launches"]).as_py()
    assert launches == 720 < of_whole


def test_requested_steps_marks_and_times_select_that_part_of_a_run():
    _, _, all_steps = part_of("llama")
    runs, trace, some = part_of("llama", RequestedPart(steps="2:5"))
    assert (some.how, some.steps, some.name) == ("asked", 3, "step")
    assert some.begin > all_steps.begin
    assert some.end < all_steps.end
    assert pc.sum(host_times(trace, runs).calls["launches"]).as_py() == 3 * 72

    _, _, marked = part_of("llama", RequestedPart(mark="step"))
    assert (marked.begin, marked.end) == (all_steps.begin, all_steps.end)
    _, _, half = part_of("llama", RequestedPart(since="50%", until="8s"))
    _, _, whole = part_of("llama", WHOLE)
    assert whole.how == "whole"
    assert whole.begin < half.begin < half.end < whole.end
    _, _, last = part_of("llama", RequestedPart(steps="9:"))
    assert last.steps == 1
    _, _, rest = part_of("llama", RequestedPart(since="50%"))
    assert rest.after_ns == 0 < rest.before_ns


@pytest.mark.parametrize(
    "asked",
    [
        RequestedPart(mark="nosuch"),
        RequestedPart(steps="20:30"),
        RequestedPart(steps="all"),
        RequestedPart(since="soon"),
        RequestedPart(since="5s", until="2s"),
    ],
)
def test_request_for_a_missing_part_raises_bad_setting(asked):
    with pytest.raises(BadSetting):
        part_of("llama", asked)


def test_runs_without_device_timeline_are_not_narrowed_by_default():
    _, trace, window = part_of("train")
    assert window is None
    assert not isinstance(trace, TraceWindow)
    runs, trace, window = part_of("train", RequestedPart(since="50%"))
    assert window.how == "asked"
    assert 0 < pc.sum(host_times(trace, runs).calls["launches"]).as_py() < 1_500
