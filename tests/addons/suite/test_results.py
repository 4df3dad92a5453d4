"""Figures of a suite's launches: medians, noise, weighted sums, and what a candidate saves."""

import json
from dataclasses import asdict, fields
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.addons.suite.results import (
    Measured,
    Result,
    Times,
    Trial,
    duration,
    lines_of,
    result_of,
    spans,
    times_of,
)
from tests.addons.suite.hand_results import call, result, trial

DOCS = Path(__file__).parents[3] / "docs" / "suite.md"
nanoseconds = st.floats(1, 1e9)


@given(st.lists(st.lists(nanoseconds, min_size=1, max_size=9), min_size=1, max_size=6))
def test_times_lie_between_the_fastest_and_the_slowest_launch(rounds):
    times = times_of(rounds)
    every = [time for each in rounds for time in each]
    assert min(every) <= times.low_ns <= times.median_ns <= times.high_ns <= max(every)
    assert times.count == len(every)
    assert len(times.rounds) == len(rounds)
    spread = (max(times.rounds) - min(times.rounds)) / 2
    assert times.noise * times.median_ns == pytest.approx(spread, abs=1e-6)


@given(st.lists(st.lists(nanoseconds, min_size=1, max_size=9), min_size=1, max_size=6))
def test_times_do_not_depend_on_the_order_of_rounds_and_scale_with_the_unit(rounds):
    times, other = times_of(rounds), times_of(rounds[::-1])
    assert (times.median_ns, times.noise) == (other.median_ns, other.noise)
    doubled = times_of([[2 * time for time in each] for each in rounds])
    assert doubled.median_ns == 2 * times.median_ns
    assert doubled.noise == pytest.approx(times.noise)


def test_without_launches_there_are_no_times():
    assert times_of([]) is None
    assert times_of([[], []]) is None


@given(st.integers(1, 3), st.integers(1, 4), st.integers(5, 20), st.data())
def test_each_launch_spans_its_operations_without_what_prepares_it(kernels, prepared, count, data):
    launch_widths = st.lists(st.integers(1, 900), min_size=kernels, max_size=kernels)
    widths = data.draw(st.lists(launch_widths, min_size=count, max_size=count))
    now, operations = 0, []

    def add(name, width):
        nonlocal now
        operations.append((float(now), float(now + width), name))
        now += width + 1

    for number in range(prepared):
        add(f"prepare {number}", 50)
    for launch in widths:
        for number in range(prepared):
            add(f"prepare {number}", 50)
        for number, width in enumerate(launch):
            add(f"kernel {number}", width)
    expected = [float(sum(launch) + len(launch) - 1) for launch in widths]
    assert spans(operations, count) == expected


def operations(*names):
    return [(float(at), at + 0.5, name) for at, name in enumerate(names)]


@pytest.mark.parametrize(
    "names",
    [
        (),
        ("clear", "clear", "clear"),  # no kernel
        ("clear", "clear", "a", "clear", "b"),  # not the same kernels
        ("other", "clear", "a", "clear", "a"),
    ],
)
def test_operations_that_are_not_alike_have_no_spans(names):
    assert spans(operations(*names), 2) is None


def test_weighted_time_is_compared_with_the_recorded_one():
    summary = result(call("1-a", 101, 99, 100), call("2-b", 150, 150, 150, launches=5)).summary
    assert summary["suite_ns"] == 10 * 100 + 5 * 150
    assert summary["recorded_ns"] == 10 * 100 + 5 * 100
    assert summary["ratio"] == pytest.approx(1750 / 1500)
    assert (summary["close"], summary["compared"]) == (1, 2)
    assert summary["share"] == 1.0
    assert summary["share_of_device"] == pytest.approx(1500 / 4000)
    assert summary["warm_ratio"] is None


def test_calls_without_recorded_times_are_not_compared():
    plain = call("1-a", 100, 100, recorded=None)
    summary = result(plain, weighed_by="launches", device_ns=None).summary
    assert "ratio" not in summary
    assert summary["compared"] == 0
    assert summary["suite_ns"] == 1000


def test_a_candidate_saves_its_share_of_the_run():
    faster = call("1-a", 100, 100, share=0.4, candidate=trial("right", 50, 50))
    wrong = call("2-b", 100, 100, share=0.5, candidate=trial("wrong", why="x differs"))
    savings = result(faster, wrong).summary["candidate"]
    assert (savings["right"], savings["wrong"], savings["failed"]) == (1, 1, 0)
    assert savings["saved"] == pytest.approx(0.4 * 0.5)
    assert savings["saved_of_device"] == pytest.approx(1000 * 0.5 / 4000)


def test_a_candidate_is_faster_only_beyond_the_noise():
    calls = [
        call("1-a", 100, 101, 102, candidate=trial("right", 90, 91, 92)),
        call("2-b", 100, 101, 102, candidate=trial("right", 90, 91, 100)),
        call("3-c", 100, 101, 102, candidate=trial("right", 120, 130, 140)),
        call("4-d", 100, 101, candidate=trial("right", 50, 50)),
    ]
    savings = result(*calls).summary["candidate"]
    assert (savings["faster"], savings["slower"]) == (1, 1)
    text = "\n".join(lines_of(result(*calls)))
    assert "beyond the noise it is faster on 1 and slower on 1" in text


def test_a_wrong_candidate_saves_nothing_however_fast_it_is():
    savings = result(call("1-a", 100, 100, candidate=trial("wrong", 1, 1))).summary["candidate"]
    assert savings["saved"] == 0


def test_without_recorded_times_savings_are_of_the_timed_calls():
    calls = [call("1-a", 100, 100, candidate=trial("right", 80, 80)), call("2-b", 300, 300)]
    savings = result(*calls, weighed_by="launches", device_ns=None).summary["candidate"]
    assert savings["saved"] == pytest.approx(20 / 400)


def full_result():
    calls = [
        call("1-a", 100, 102, warm=times_of([[90.0]]), candidate=trial("right", 80, 81)),
        call("2-b", candidate=trial("failed", why="RuntimeError: no"), status="launched"),
        call("3-c", status="failed", why="OutOfMemoryError: 80 GiB"),
    ]
    return result(*calls)


def test_a_result_is_read_as_it_was_written():
    written = full_result()
    assert result_of(json.loads(json.dumps(asdict(written)))) == written


def test_fields_of_a_later_minor_version_are_left_out():
    content = json.loads(json.dumps(asdict(full_result())))
    content["version"] = "1.9"
    content["more"] = content["calls"][0]["more"] = content["calls"][0]["time"]["more"] = 1
    assert result_of(content).calls == full_result().calls
    content["version"] = "2.0"
    with pytest.raises(ValueError, match="its version is"):
        result_of(content)


def test_lines_have_each_call_and_what_is_wrong():
    text = "\n".join(lines_of(full_result()))
    assert "mine.py:rows is failed on 2-b: RuntimeError: no" in text
    assert "3-c failed: OutOfMemoryError: 80 GiB" in text
    assert "The candidate is right on 1 of 2 calls, and saves 10.1 % of the run's time" in text
    assert "of its device time" not in text
    row = next(line for line in text.splitlines() if line.startswith("1-a")).split()
    assert row[:4] == ["1-a", "10", "100", "ns"]
    assert "0.90" in row  # warm, to recorded


def test_without_a_gpu_no_time_is_claimed():
    text = "\n".join(lines_of(result(call("1-a", status="launched", clock=None))))
    assert "1 of 1 calls were launched without a GPU" in text
    assert "Weighted" not in text
    assert "stand for" not in text


def test_calls_that_all_failed_are_not_called_launched():
    failed = call("1-a", status="failed", why="no", clock=None)
    assert list(lines_of(result(failed)))[-1] == "None of 1 calls could be launched"


def test_times_have_three_digits():
    times = (None, 0, 1.234, 999.4, 999.6, 12_345, 1.5e6, 2e9, 5e12)
    assert [duration(time) for time in times] == [
        "-", "0 ns", "1.23 ns", "999 ns", "1 µs", "12.3 µs", "1.5 ms", "2 s", "5,000 s",
    ]  # fmt: skip


@pytest.mark.parametrize("kind", [Result, Measured, Trial, Times])
def test_the_documentation_names_each_field_of_the_json(kind):
    text = DOCS.read_text(encoding="utf-8")
    assert [field.name for field in fields(kind) if f"`{field.name}`" not in text] == []
