"""A change of time is claimed where chance does not explain it, and only then."""

from unittest import mock

import numpy as np
import pytest

from kvtrace.converters.diff import compare
from kvtrace.converters.diff.model import KernelTime, Totals
from kvtrace.converters.diff.times import (
    Samples,
    _block_medians,
    _drawn_block_ranks,
    _resampled_medians,
    common_host_ratio,
    compare_times,
    why_not_comparable,
    with_claims_beyond,
)
from kvtrace.schema.runs import Run
from tests.converters.written_trace import Kernel, Launches, write_trace
from tests.support.replacing import replace

H200 = [{"index": 0, "name": "NVIDIA H200", "capability": "9.0", "memory_bytes": 1}]


def samples(ns, *, work=0, runs=1):
    ns = np.asarray(ns).astype(np.int64)
    zeros = np.zeros(len(ns), np.int64)
    run = np.sort(np.arange(len(ns)) % runs)
    launched = np.array([len(ns)]) if len(ns) else zeros
    return Samples(zeros + work, run, ns, zeros[:1] + work, launched)


def together(*parts):
    columns = zip(*((part.work, part.run, part.ns) for part in parts), strict=True)
    joined = [np.concatenate(column) for column in columns]
    return Samples(*joined, *np.unique(joined[0], return_counts=True))


def drawn(seed, launches=300, scale=1.0, drift=0.02):
    """Launches of 20 µs: skewed noise, in phases that differ as clocks do, and a few outliers."""
    random = np.random.default_rng(seed)
    phases = np.repeat(1 + drift * random.standard_normal(10), launches // 10)
    noise = 1 + random.gamma(2.0, 0.01, launches // 10 * 10)
    late = np.where(random.random(launches // 10 * 10) < 0.01, 5.0, 1.0)
    return samples(20_000 * scale * phases * noise * late)


def compared(a, b, *, kind="device", threshold=0.05, why_not=None):
    return compare_times(kind, a, b, threshold=threshold, why_not=why_not)


@pytest.mark.parametrize("seed", range(10))
def test_two_runs_of_one_commit_give_no_time_change(seed):
    for kind in ("device", "host"):
        assert not compared(drawn(seed), drawn(seed + 1000), kind=kind).claimed


@pytest.mark.parametrize("seed", range(10))
def test_kernel_slowed_by_a_tenth_is_reported(seed):
    found = compared(drawn(seed), drawn(seed + 1000, scale=1.10))
    assert found.claimed
    low, high = found.interval
    assert 1 < low < found.ratio < high
    assert found.ratio == pytest.approx(1.10, abs=0.04)


def test_bootstrap_results_are_deterministic():
    first, second = (compared(drawn(1), drawn(2)) for _ in range(2))
    assert first == second


def test_changes_below_the_threshold_are_not_reported():
    exact = compared(samples([1000] * 50), samples([1040] * 50))
    assert exact.interval == (1.04, 1.04)
    assert not exact.claimed
    assert compared(samples([1000] * 50), samples([1040] * 50), threshold=0.03).claimed


def test_few_launches_give_no_time_change():
    found = compared(samples([10, 11, 12, 13]), samples([20, 21, 22, 23]))
    assert (found.claimed, found.reason) == (False, "too few launches")


def test_temporarily_slow_run_is_not_reported_as_slower():
    """A third of the launches twice as slow, on one side all at once: medians of blocks show it."""
    steady = samples([1000] * 240)
    burst = samples([1000] * 100 + [2000] * 120 + [1000] * 20)
    assert not compared(steady, burst).claimed


def test_one_process_per_side_needs_a_larger_host_time_change():
    a, b = samples([1000] * 50), samples([1100] * 50)
    assert not compared(a, b, kind="host").claimed
    assert compared(a, samples([1300] * 50), kind="host").claimed
    several = (samples([1000] * 50, runs=5), samples([1100] * 50, runs=5))
    assert compared(*several, kind="host").claimed


@pytest.mark.parametrize(
    ("scales", "shared", "claimed"),
    [
        ([1.41, 1.42], 1.41, [False, False]),
        ([1.0, 1.41], 1.0, [False, True]),
        ([1.4, 1.4, 2.8], 1.4, [False, False, True]),
        ([1.41], None, [True]),
    ],
)
def test_slowdown_common_to_all_kernels_is_not_reported_per_kernel(scales, shared, claimed):
    totals = Totals()
    times = [
        KernelTime(str(scale), totals, totals, (compared(
            drawn(1), drawn(2, scale=scale), kind="host"),))
        for scale in scales
    ]  # fmt: skip
    found = common_host_ratio(times)
    assert found == (None if shared is None else pytest.approx(shared, rel=0.05))
    judged = times if found is None else with_claims_beyond(times, found)
    assert [time.compared[0].claimed for time in judged] == claimed


def test_only_launches_with_the_same_arguments_are_compared():
    small, large = samples([1000] * 50, work=1), samples([9000] * 50, work=2)
    assert compared(small, large).reason == "no launch has the same arguments"
    both, more = together(small, large), together(small, large, large)
    found = compared(both, more)
    assert (found.ratio, found.claimed) == (1.0, False)


def test_even_sample_of_launches_represents_all():
    """Arguments are weighed by launches that there were; too few that are kept claim nothing."""
    before, after = (
        replace(together(samples([ns] * 50, work=1), samples([9000] * 5, work=2)), launched=number)
        for ns, number in ((1000, np.array([800, 80])), (1100, np.array([800, 81])))
    )
    found = compared(before, after)
    assert (found.launches, found.ratio, found.claimed) == ((800, 800), 1.1, True)
    few = replace(samples([1000] * 4), launched=np.array([4000]))
    assert compared(few, few).reason == "too few launches"


def test_chance_shares_of_calls_in_a_sample_are_no_change_of_time():
    """Half of the launches take 9 times as long: the median depends on which half is the larger."""
    launched = np.array([4_000, 4_000])
    a, b = (
        replace(
            together(samples([1000] * short, work=1), samples([9000] * (800 - short), work=2)),
            launched=launched,
        )
        for short in (430, 380)
    )
    found = compared(a, b)
    assert (found.ratio, found.claimed) == (1.0, False)
    assert (found.launches, found.sampled) == ((8_000, 8_000), (750, 750))


def test_a_run_has_at_most_twelve_blocks():
    assert len(_block_medians(samples(range(1, 201)))) == 12


def test_medians_of_blocks_equal_those_of_their_launches():
    random = np.random.default_rng(3)
    ns, run = random.integers(1, 200, 500), random.integers(0, 7, 500)
    zeros = np.zeros(500, np.int64)
    side = Samples(zeros, run, ns.astype(np.uint8), zeros[:1], np.array([500]))
    expected = [
        np.median(part)
        for each in range(7)
        for part in np.array_split(ns[run == each], min(12, (run == each).sum() // 5))
    ]
    assert _block_medians(side).tolist() == expected


@pytest.mark.parametrize("number", [65, 66, 200])
def test_batched_bootstrap_medians_equal_single_ones(number):
    medians = np.random.default_rng(5).lognormal(9, 0.3, number)

    def resampled(seed):
        ranks = _drawn_block_ranks(number, np.random.default_rng(seed))
        return _resampled_medians(medians, ranks)

    quick = [resampled(seed) for seed in range(10)]
    with mock.patch("kvtrace.converters.diff.times._DRAWN_SINGLY", 1_000):
        plain = [resampled(seed) for seed in range(10)]
    shares = (0.005, 0.1, 0.5, 0.9, 0.995)
    found, expected = (np.quantile(np.concatenate(each), shares) for each in (quick, plain))
    assert found == pytest.approx(expected, rel=0.01)


def test_times_of_two_devices_are_not_compared():
    runs = [Run("a", host="x", devices=H200), Run("b", host="x", devices=[{"name": "H100"}])]
    assert (
        why_not_comparable("device", [runs[0]], [runs[1]]) == "measured on NVIDIA H200 and on H100"
    )
    assert why_not_comparable("device", [runs[0]], [runs[0]]) is None
    assert why_not_comparable("host", [runs[0]], [replace(runs[0], host="y")]) is not None
    assert why_not_comparable("host", [Run("a")], [Run("b")]) is not None


def test_time_change_is_in_the_headline_and_a_difference_only_on_request(tmp_path):
    def side(name, device_us):
        kernel = Kernel(calls=(Launches(number=20, device_us=device_us),))
        return write_trace(tmp_path / name, [kernel], host="x", devices=H200)

    found = compare(side("a", 20), side("b", 22))
    assert found.empty
    (row,) = found.headline
    assert (row.kernel, row.level, row.what) == ("scale", "time", "device time, median")
    assert (row.direction, row.certainty) == ("worse", "measured")
    assert row.share == pytest.approx(0.1)
    assert row.interval == pytest.approx((0.1, 0.1))
    assert not compare(side("c", 20), side("d", 22), time_threshold=0.05).empty
