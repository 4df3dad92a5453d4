"""Launches that take much longer than usual, of recorded programs, equal to figures by SQL."""

from pathlib import Path

import pytest

import kvtrace
from kvtrace.converters.info.info import read_overview
from kvtrace.converters.info.info_text import overview_text
from kvtrace.converters.profile.profile import read_profile
from kvtrace.converters.profile.profile_model import profile_object
from kvtrace.converters.profile.profile_text import profile_text
from kvtrace.converters.report import report_data
from kvtrace.figures.launch_costs import _facts, read_launch_costs
from kvtrace.figures.times import host_times
from kvtrace.figures.window import windowed
from kvtrace.schema.trace import open_trace
from tests.support.replacing import replace
from tests.support.tiers import some

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"
LIGER = ["llama_liger_cached", "llama_steady"]
MEDIANS = """
    WITH medians AS (
        SELECT kernel, median(host_ns) AS ns, count(*) AS launches FROM launched
        WHERE phase = 'run' AND enter_ns >= {begin} AND enter_ns < {end} GROUP BY kernel, source
    )
    SELECT (SELECT ns FROM medians WHERE kernel = '_triton_rope') AS rope,
        (SELECT launches FROM medians WHERE kernel = '_triton_rope') AS launches,
        median(ns) AS usual, count(*) AS kernels FROM medians
"""


def costs_of(name):
    trace = open_trace(FIXTURES / name)
    narrowed, window = windowed(trace, trace.runs)
    return read_launch_costs(narrowed, trace.runs, host_times(narrowed, trace.runs), window)


@pytest.mark.costly("recorded runs of Inductor; costs of others stay by day")
@pytest.mark.parametrize("name", some(LIGER, 1))
def test_a_kernel_that_python_launches_among_inductors_stands_out(name):
    (cost,) = costs_of(name)
    trace = open_trace(FIXTURES / name)
    narrowed, _ = windowed(trace, trace.runs)
    (part,) = narrowed.windows.values()
    (row,) = kvtrace.open(FIXTURES / name).sql(MEDIANS.format(begin=part.begin, end=part.end))

    assert (cost.name, cost.module) == ("_triton_rope", "liger_kernel.ops.rope")
    assert cost.place.short == "rope.py:175"
    assert cost.median_ns == pytest.approx(row["rope"], rel=0.02)
    assert cost.usual_ns == pytest.approx(row["usual"], rel=0.02)
    assert cost.kernels == row["kernels"]
    assert (cost.per_step, cost.launches) == (True, 12)
    assert cost.more_ns == pytest.approx(12 * (cost.median_ns - cost.usual_ns))
    assert "it is launched by kernel[grid] with 21 arguments" in cost.sentence
    assert "12 launches a step" in cost.sentence


@pytest.mark.parametrize("name", some(["llama", "decoding", "llama_graphs", "planted/tiny"], 2))
def test_kernels_whose_launches_are_alike_do_not_stand_out(name):
    assert costs_of(name) == ()


@pytest.mark.costly("all outputs of a trace; the sentences stay by day")
def test_all_outputs_have_the_same_sentence():
    trace = open_trace(FIXTURES / "llama_liger_cached")
    profile, overview = read_profile(trace, trace.runs), read_overview(trace, trace.runs)
    (cost,) = profile.launch_costs

    assert overview.launch_costs == profile.launch_costs
    assert cost.sentence in report_data(trace, trace.runs, "t", "t").answer.notable
    for lines in (profile_text(profile), overview_text(overview)):
        assert cost.sentence in " ".join(" ".join(lines).split())
    (form,) = profile_object(profile)["launch_costs"]
    assert (form["name"], form["more_ns"]) == ("_triton_rope", cost.more_ns)


def test_runs_without_a_device_have_no_launch_costs():
    """There the launching function ran the kernel itself."""
    trace = open_trace(FIXTURES / "llama_liger_cached")
    narrowed, window = windowed(trace, trace.runs)
    times = host_times(narrowed, trace.runs)
    runs = [replace(run, devices=()) for run in trace.runs]
    assert read_launch_costs(narrowed, runs, times, window) == ()
    assert read_launch_costs(narrowed, trace.runs, times, None) == ()


def test_only_what_sets_a_kernel_apart_is_said_of_its_launches():
    others = [{"origin": "jit", "arguments": 6}] * 5
    assert list(_facts({"origin": "jit", "arguments": 8}, others)) == []
    assert list(_facts({"origin": "jit", "arguments": 12}, others)) == [
        "it has 12 arguments, others 6 (median)"
    ]
    assert list(_facts({"origin": "autotune", "arguments": 6}, others)) == [
        "it is launched by kernel[grid] through an autotuner with 6 arguments",
        "most kernels by kernel[grid]",
    ]
    assert list(_facts({"origin": None, "arguments": None}, others)) == []
    unknown = [{"origin": "jit", "arguments": None}] * 5
    assert list(_facts({"origin": "jit", "arguments": 12}, unknown)) == []
