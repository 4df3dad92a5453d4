"""Times of launches and executions are those that a loop over the rows finds."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.converters.diff.read_times import DEVICE, HOST, read_samples
from kvtrace.converters.diff.times import RunCalls
from kvtrace.figures.times import device_times, host_times
from kvtrace.schema.features import TRIALS
from tests.figures.written_runs import KERNELS, LAUNCHES, written
from tests.support.thorough import usually

VARIANT = np.array([0, 1, 0, 2, 1, 0])
#: Of three variants.
KERNELS_OF = np.array([0, 0, 1])
WORK = np.array([7, 7, 8, 9, 7, 8])


def run_calls(trace):
    """Six calls of each run, numbered one run after the other."""
    calls = np.arange(6)
    return [RunCalls(calls, VARIANT, WORK, calls + 6 * number) for number in range(len(trace.runs))]


def samples_of(kind, times, trace):
    figures = times(trace, trace.runs).calls
    return read_samples(kind, trace, trace.runs, run_calls(trace), KERNELS_OF, figures)


@pytest.mark.costly("random samples; another of the file stays by day")
@settings(max_examples=usually(6, thorough=40))
@given(st.lists(st.tuples(KERNELS, LAUNCHES), min_size=1, max_size=2))
def test_host_times_are_sampled_per_call(tmp_path_factory, runs):
    trace = written(tmp_path_factory.mktemp("samples"), runs)
    times = samples_of(HOST, host_times, trace)
    steady = []
    for number, (kernels, launches) in enumerate(runs):
        trials = {}
        for call, enter, took, thread, phase, _, _ in launches:
            if phase in TRIALS:
                trials.setdefault(thread, []).append(enter)
                continue
            begins = (*kernels[call % len(kernels)][1:], max(trials.get(thread, [-1])))
            slow = took is not None and any(
                b is not None and enter <= b < enter + took for b in begins
            )
            if took is not None and not slow:
                steady.append((VARIANT[call], WORK[call], number, took, call + 6 * number))
    for variants in ([0], [1], [2], [0, 1], [0, 1, 2]):
        own = [row for row in steady if row[0] in variants]
        found = times.of(variants)
        columns = (found.work, found.run, found.ns)
        assert list(zip(*(c.tolist() for c in columns), strict=True)) == [row[1:4] for row in own]


@settings(max_examples=usually(6, thorough=40))
@given(st.lists(st.tuples(KERNELS, LAUNCHES), min_size=1, max_size=2))
def test_device_times_are_sampled_per_call(tmp_path_factory, runs):
    trace = written(tmp_path_factory.mktemp("samples"), runs)
    found = samples_of(DEVICE, device_times, trace)
    steady = [
        (VARIANT[call], number, ran)
        for number, (_, launches) in enumerate(runs)
        for call, _, _, _, phase, ran, _ in launches
        if ran is not None and phase not in TRIALS
    ]
    for variant in range(3):
        own = found.of([variant])
        assert list(zip(own.run.tolist(), own.ns.tolist(), strict=True)) == [
            each[1:] for each in steady if each[0] == variant
        ]
