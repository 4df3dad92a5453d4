"""Times of single steps are those of a window that has that step alone."""

from pathlib import Path

import pytest

from kvtrace.converters.profile.device_text import step_sentences
from kvtrace.converters.profile.profile import read_profile
from kvtrace.figures.gaps import Gaps, StepTimes
from kvtrace.figures.requested_part import RequestedPart
from kvtrace.schema.trace import open_trace

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"


LONG = pytest.param(
    "llama_steady", marks=pytest.mark.costly("a run of 17,000 launches; the others stay by day")
)


@pytest.mark.costly("recorded traces; steps by hand stay by day")
@pytest.mark.parametrize("name", [LONG, "llama", "planted/item"])
def test_the_steps_add_up_to_the_window(name):
    trace = open_trace(FIXTURES / name)
    profile = read_profile(trace, trace.runs)
    (steps,) = profile.gaps.steps

    assert sum(steps.duration_ns) == profile.device_time.busy.span_ns
    assert {cause: sum(ns) for cause, ns in steps.idle_ns.items()} == profile.gaps.by_cause
    assert len(steps.duration_ns) == profile.window.steps
    assert steps.begin[0] == 0


@pytest.mark.costly("four profiles of a model's run; their sum stays by day")
def test_a_step_is_idle_as_long_as_in_a_window_of_its_own():
    trace = open_trace(FIXTURES / "llama_steady")
    (steps,) = read_profile(trace, trace.runs).gaps.steps
    for place in (0, 5, 11):
        alone = read_profile(trace, trace.runs, part=RequestedPart(steps=str(steps.first + place)))
        assert alone.device_time.busy.span_ns == steps.duration_ns[place]
        assert alone.gaps.idle_ns == sum(ns[place] for ns in steps.idle_ns.values())


def gaps_of(durations, idle):
    steps = StepTimes("run", 4, tuple(range(len(durations))), durations, idle)
    return Gaps(0, {}, (), steps=(steps,))


def test_the_slowest_step_is_named_with_what_it_has_more_of():
    gaps = gaps_of((1000, 1000, 1000, 9000, 1000), {"collect": (0, 0, 0, 7000, 0)})
    (sentence,) = step_sentences(gaps)
    assert sentence.startswith("1 of 5 steps took more than 1.5 times the median: step 7 took 9 µs")
    assert "by 7 µs more of: garbage collection" in sentence


def test_a_slow_step_without_idle_time_has_more_executions():
    (sentence,) = step_sentences(gaps_of((1000,) * 5 + (2000,), {}))
    assert "by 1 µs more of: executions on the device" in sentence


def test_even_steps_and_few_steps_have_no_sentence():
    assert step_sentences(gaps_of((1000, 1100, 1200, 1000, 1400), {})) == []
    assert step_sentences(gaps_of((1000, 9000), {})) == []
    assert step_sentences(None) == []
