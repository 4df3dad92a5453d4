"""Times of launches and executions, kept narrow, are those that a loop over the rows finds."""

from statistics import median

import numpy as np
from hypothesis import given, settings

from kvtrace.converters.call_times import device_times as summed_device_times
from kvtrace.converters.diff.samples import device_times, host_times
from kvtrace.converters.diff.times import Places
from kvtrace.converters.trials import TUNING
from tests.converters.test_views import KERNELS, LAUNCHES, st, written

VARIANT = np.array([0, 1, 0, 2, 1, 0])
WORK = np.array([7, 7, 8, 9, 7, 8])


def places_of(trace):
    """Six calls of each run, numbered one run after the other."""
    calls = np.arange(6)
    return [Places(calls, VARIANT, WORK, calls + 6 * number) for number in range(len(trace.runs))]


@settings(max_examples=20)
@given(st.lists(st.tuples(KERNELS, LAUNCHES), min_size=1, max_size=2))
def test_times_on_the_host(tmp_path_factory, runs):
    trace = written(tmp_path_factory.mktemp("samples"), runs)
    times = host_times(trace, trace.runs, places_of(trace))
    steady, sums = [], times.sums().to_pylist()
    for number, (kernels, launches) in enumerate(runs):
        trials = {}
        for call, enter, took, thread, phase, _, _ in launches:
            if phase in TUNING:
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
        columns = (found.variant, found.work, found.run, found.ns)
        assert list(zip(*(c.tolist() for c in columns), strict=True)) == [row[:4] for row in own]
        ns = [row[3] for row in own]
        assert times.median(variants) == (median(ns) if ns else None)
    for row in sums:
        own = [each[3] for each in steady if each[4] == row["place"]]
        assert (row["timed"], row["total"]) == (len(own), sum(own) if own else None)
    phases = [launch[4] for _, launches in runs for launch in launches]
    assert sum(row["tuning"] for row in sums) == sum(phase in TUNING for phase in phases)
    assert sum(row["launches"] + row["tuning"] for row in sums) == len(phases)


@settings(max_examples=20)
@given(st.lists(st.tuples(KERNELS, LAUNCHES), min_size=1, max_size=2))
def test_times_on_the_device(tmp_path_factory, runs):
    trace = written(tmp_path_factory.mktemp("samples"), runs)
    found = device_times(trace, trace.runs, places_of(trace)).sums().to_pylist()
    summed = summed_device_times(trace, trace.runs, {}).sums.to_pylist()
    for row in found:
        run, call = divmod(row["place"], 6)
        own = [each for each in summed if (each["run"], each["call_id"]) == (f"r{run}", call)]
        assert row["total"] == (own[0]["ns"] if own else None)
        assert row["timed"] == (own[0]["timed"] if own else 0)
