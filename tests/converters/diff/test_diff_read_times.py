"""Verdicts on times do not depend on whether all launches are read, or a sample of them."""

from unittest import mock

import numpy as np
import pyarrow as pa
import pytest

from kvtrace.converters.diff import compare, read_times
from kvtrace.converters.diff.render import difference_object
from kvtrace.converters.diff.times import RunCalls
from kvtrace.figures.requested_part import RequestedPart
from kvtrace.figures.times import host_times
from kvtrace.figures.window import windowed
from kvtrace.schema.trace import Selection, open_trace
from kvtrace.schema.writer import RunWriter

EPOCH = 1_767_323_045_000_000_000
H200 = [{"index": 0, "name": "NVIDIA H200", "capability": "9.0", "memory_bytes": 1}]
#: How much longer each kernel takes in AFTER; the last one is launched once in 1,000 launches.
PLANTED = (1.0, 1.01, 1.03, 1.1, 1.0, 1.0, 0.9, 1.1)
RARE = len(PLANTED) - 1
RUNS = 3
LAUNCHES = 24_000


def written(folder, seed, scales, weight=1):
    """Write runs of kernels with two calls each, of which the second takes three times as long.

    The order of launches is the same in all runs of a number. Devices are slower in some phases of
    a run, and executions differ by 2 %.
    """
    for number in range(RUNS):
        order, random = np.random.default_rng(number), np.random.default_rng((*seed, number))
        writer = RunWriter(folder, f"r{number}")
        kernels = [
            {"kernel_id": kernel, "name": f"kernel_{kernel}", "module": "m", "origin": "jit"}
            for kernel in range(len(scales))
        ]
        calls = [
            {"call_id": 2 * kernel + large, "kernel_id": kernel, "grid_x": 1, "args": argument}
            for kernel in range(len(scales))
            for large, argument in enumerate(map(scalar, (10, 30)))
        ]
        writer.append_rows("kernels", kernels)
        writer.append_rows("calls", calls)
        seq = np.arange(LAUNCHES)
        kernel = np.where(seq % 1_000 == 500, RARE, order.integers(0, RARE, seq.size))
        large = (order.random(seq.size) < 0.3) & (kernel != RARE)
        phases = np.repeat(1 + 0.01 * random.standard_normal(24), LAUNCHES // 24)
        ns = np.array(scales)[kernel] * np.where(large, 30_000, 10_000) * phases
        ns = (ns * random.normal(1, 0.02, seq.size)).astype(np.int64)
        enter = EPOCH + 100_000 * seq
        launches = {"seq": seq, "call_id": 2 * kernel + large, "enter": enter, "thread": seq * 0}
        launches["weight"] = seq * 0 + weight
        writer.append("launches", launches | {"exit": enter + 5_000 + seq % 7})
        executions = {"record": seq, "launch_seq": seq, "call_id": 2 * kernel + large}
        names = pa.array([f"kernel_{index}" for index in kernel.tolist()])
        writer.append(
            "gpu_kernels", executions | {"start": enter, "end": enter + ns, "name": names}
        )
        writer.seal({"host": "x", "devices": H200, "started": EPOCH, "ending": "exit"})
    trace = open_trace(folder)
    return Selection(trace, trace.runs)


def scalar(value):
    return [{"name": "n", "kind": "scalar", "scalar": str(value)}]


#: Names of sides by which they are not taken for those that were read in full (`conftest.py`).
SAMPLED = ("sample of before", "sample of after")


def sampling(most_times):
    return mock.patch.object(read_times, "MOST_TIMES", most_times)


def samples_of(trace, runs):
    """Host times of each kernel's steady launches, of which the first call is the shorter one."""
    figures = host_times(trace, runs).calls
    call = np.arange(2 * len(PLANTED))
    calls = [
        RunCalls(call, call // 2, call % 2, call + call.size * number)
        for number in range(len(runs))
    ]
    kernels = np.arange(len(PLANTED))
    return read_times.read_samples(read_times.HOST, trace, runs, calls, kernels, figures)


def device_times_of(difference):
    return {
        time.name: comparison
        for time in difference.times
        for comparison in time.compared
        if comparison.kind == "device"
    }


@pytest.mark.costly("thousands of rows; few stay by day")
@pytest.mark.parametrize("seed", range(3))
def test_sampled_and_full_comparisons_have_the_same_verdicts(tmp_path, seed):
    before = written(tmp_path / "a", (seed, 1), [1.0] * len(PLANTED))
    after = written(tmp_path / "b", (seed, 2), PLANTED)
    with sampling(RUNS * LAUNCHES):
        full = compare(before, after, time_threshold=0.02)
    with sampling(4_000):
        sampled = compare(before, after, labels=SAMPLED, time_threshold=0.02)
    expected = device_times_of(full)
    found = device_times_of(sampled)
    assert {name: time.claimed for name, time in found.items()} == {
        f"kernel_{kernel}": abs(scale - 1) > 0.02 for kernel, scale in enumerate(PLANTED)
    }
    for name, time in found.items():
        assert time.claimed == expected[name].claimed
        assert time.launches == expected[name].launches
        low, high = time.interval
        assert low <= expected[name].ratio <= high
    assert [row.before for row in sampled.kernels] == [row.before for row in full.kernels]
    assert found.pop(f"kernel_{RARE}").sampled is None  # all its launches are read
    for name, time in found.items():
        assert min(time.launches) > 9_500
        assert all(2_500 < chosen < 4_500 for chosen in time.sampled)
        assert np.ptp(time.interval) > 0.6 * np.ptp(expected[name].interval)  # by chance


@pytest.mark.costly("thousands of rows; few stay by day")
def test_outputs_say_that_times_are_of_a_sample(tmp_path):
    before, after = (written(tmp_path / side, (5,), [1.0] * len(PLANTED)) for side in "ab")
    with sampling(4_000):
        sampled = compare(before, after, labels=SAMPLED)
    with sampling(RUNS * LAUNCHES):
        full = compare(before, after)
    chosen = sum(time.sampled[0] for time in device_times_of(sampled).values() if time.sampled)
    notes = [note for note in sampled.notes if "on a sample" in note]
    assert [note.partition(" ")[0] for note in notes] == ["device", "host"]
    assert f"{chosen:,} of 71," in notes[0]
    assert not any("on a sample" in note for note in full.notes), full.notes
    (first, *_), (whole, *_) = (
        difference_object(difference)["times"] for difference in (sampled, full)
    )
    assert first["compared"][0]["sampled"] == device_times_of(sampled)[first["name"]].sampled
    assert "sampled" not in whole["compared"][0]


def test_sample_is_of_the_window_alone(tmp_path):
    whole = written(tmp_path, (7,), [1.0] * len(PLANTED))
    part = RequestedPart(since="0.6s", until="1.8s")
    trace, _ = windowed(whole.trace, whole.runs, part)
    launches = sum(host_times(trace, whole.runs).calls["timed_launches"].to_pylist())
    assert 0 < launches < 0.7 * RUNS * LAUNCHES
    kernels = range(len(PLANTED))

    every = samples_of(trace, whole.runs).of(kernels)
    assert (every.launches, every.ns.size) == (launches, launches)
    with sampling(launches // 8 // 4):
        chosen = samples_of(trace, whole.runs).of(kernels)

    assert chosen.launches == launches
    assert 0.15 * launches < chosen.ns.size < 0.3 * launches
    rest = iter(np.stack([every.run, every.work, every.ns], 1).tolist())
    rows = np.stack([chosen.run, chosen.work, chosen.ns], 1).tolist()
    assert all(row in rest for row in rows)  # in the same order


def test_launches_that_others_stand_for_are_not_rows_to_read(tmp_path):
    side = written(tmp_path, (9,), [1.0] * len(PLANTED), weight=50)

    with sampling(12_000):
        found = samples_of(side.trace, side.runs).of([0])
    with sampling(4_000):
        fewer = samples_of(side.trace, side.runs).of([0])

    assert 9_500 < found.ns.size < 12_000
    assert found.launches == fewer.launches == 50 * found.ns.size
    assert 2_500 < fewer.ns.size < 4_500
