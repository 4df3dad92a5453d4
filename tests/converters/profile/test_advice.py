"""Advice: said of planted inefficiencies, at their line, and of nothing else."""

import inspect
from dataclasses import replace
from pathlib import Path

import pytest

import kvtrace
from kvtrace.clients.recorded import replay
from kvtrace.converters.profile.advice import _tunings, _waiting
from kvtrace.converters.profile.autotune import Trial, Tuning
from kvtrace.converters.profile.profile import profile_object, read_profile
from kvtrace.converters.profile.profile_text import profile_text
from kvtrace.schema.trace import open_trace
from tests.converters import advice_kernels
from tests.support.tiers import some

FIXTURES = Path(__file__).parents[2] / "fixtures" / "h200"


def profile_of(folder, program):
    with kvtrace.capture(folder, tensors="int"):
        program()
    trace = open_trace(folder)
    for run in trace.runs:
        replay(trace, run, None, ("profiler",))
    trace = open_trace(folder)
    return read_profile(trace, trace.runs, device="H200")


def marked_line(kernel):
    lines, first = inspect.getsourcelines(kernel.fn)
    return first + next(number for number, line in enumerate(lines) if "# here" in line)


@pytest.mark.parametrize("rule", some(list(advice_kernels.PLANTED), 3))
def test_a_planted_inefficiency_is_named_at_its_line(tmp_path, rule):
    program, kernel = advice_kernels.PLANTED[rule]
    profile = profile_of(tmp_path / "out", program)

    (advice,) = (one for one in profile.advice if one.rule == rule)
    if kernel is not None:
        assert advice.kernel == kernel.fn.__name__
        # Of a kernel as a whole, the line is that of its definition, after the decorator.
        assert advice.line == marked_line(kernel)
        assert Path(advice.file) == Path(advice_kernels.__file__)
    assert all(figure.how in ("measured", "derived", "assumed") for figure in advice.figures)
    text = " ".join(" ".join(profile_text(profile)).split())
    assert f"what to try {rule}: " in text or f"] {rule}: " in text
    assert profile_object(profile)["advice"][0]["figures"]


def test_of_good_kernels_nothing_is_said(tmp_path):
    profile = profile_of(tmp_path / "out", advice_kernels.run_good_ones)

    assert len(profile.kernels) == 10
    assert [f"{one.rule}: {one.kernel} {one.figures}" for one in profile.advice] == []


def test_a_program_that_the_device_waits_for_is_told_so():
    trace = open_trace(FIXTURES / "llama")
    time = read_profile(trace, trace.runs).device_time
    (advice,) = _waiting(time)
    assert advice.rule == "host-bound"

    graphs = open_trace(FIXTURES / "llama_graphs")
    assert list(_waiting(read_profile(graphs, graphs.runs).device_time)) == []

    without = replace(time, steps=None)
    assert list(_waiting(without)) == []
    busy = replace(time.busy, idle_launching_ns=time.device_ns)
    (advice,) = _waiting(replace(without, busy=busy))
    assert advice.rule == "launch-bound"


def tuning(*medians, kept):
    trials = tuple(
        Trial(number, {"BLOCK": str(64 << number)}, 20, median, 32, 0, 0, None, number == kept)
        for number, median in enumerate(medians)
    )
    return Tuning("run", "scale", "kernels", "kernels.py", "x fp32[1000]", trials, "")


def test_a_choice_that_another_configuration_beats():
    (advice,) = _tunings([tuning(10_000, 14_000, kept=1)], {})
    assert (advice.rule, advice.kernel) == ("autotune-choice", "scale")
    # The kept one is as fast as the best where it is not tried out, but used.
    assert list(_tunings([tuning(10_000, 14_000, kept=1)], {("run", 1): 10_100.0})) == []


def test_configurations_that_are_all_the_same():
    (advice,) = _tunings([tuning(10_000, 10_100, 10_050, kept=0)], {})
    assert advice.rule == "autotune-noise"
    assert list(_tunings([tuning(10_000, 11_000, kept=0)], {})) == []
    assert list(_tunings([tuning(10_000, None, kept=0)], {})) == []
