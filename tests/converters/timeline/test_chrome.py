import json
from collections import Counter as Tallied
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.converters.timeline import chrome
from kvtrace.converters.timeline.captions import Caption
from kvtrace.converters.timeline.timeline import Counter, Slices, Timeline, Track
from kvtrace.schema.trace import resolve
from tests.support.synthetic_trace import EPOCH, HOSTILE_NAMES, build_synthetic_trace

PROCESS = Track(("run", "rank 0"), "process", 77, rank=3)
THREAD = Track(("run", "rank 0", "thread", "5"), "thread", 77, PROCESS, tid=5)


@pytest.fixture(scope="module")
def content(tmp_path_factory):
    folder = tmp_path_factory.mktemp("chrome")
    build_synthetic_trace(folder / "out", runs=2, launches=200)
    chrome.CONVERTER.convert(resolve(str(folder / "out")), folder / "trace.json", {})
    return json.loads((folder / "trace.json").read_bytes(), parse_float=Decimal)


def encoded(timelines, base=EPOCH):
    text = b"".join(bytes(chunk) for chunk in chrome.encode_timelines(timelines, base))
    return json.loads(text, parse_float=Decimal)


def test_every_row_with_a_time_is_an_event(content):
    kinds = Tallied((event["ph"], event.get("cat")) for event in content["traceEvents"])

    assert kinds[("X", "launch")] == 420
    assert kinds[("X", "mark")] + kinds[("i", "mark")] == 28
    assert kinds[("i", "message")] == 4


def test_names_are_unchanged_except_for_nul_characters(content):
    names = {event["name"] for event in content["traceEvents"] if event.get("cat") == "launch"}

    assert {name.replace("\0", "␀") for name in HOSTILE_NAMES} <= names


def test_times_count_from_the_first_event_to_the_nanosecond(content):
    events = [event for event in content["traceEvents"] if "ts" in event]

    assert content["baseTimeNanoseconds"] == EPOCH
    assert min(event["ts"] for event in events) == 0
    assert all(event["ts"].as_tuple().exponent == -3 for event in events)


def test_each_thread_has_one_name_and_lanes_are_threads_of_their_own(content):
    names = [
        (event["pid"], event["tid"])
        for event in content["traceEvents"]
        if event["ph"] == "M" and event["name"] == "thread_name"
    ]

    assert len(set(names)) == len(names)
    used = {(e["pid"], e["tid"]) for e in content["traceEvents"] if e["ph"] in "Xi"}
    assert used <= set(names)


@settings(deadline=None)
@given(
    st.lists(
        st.tuples(
            st.integers(0, 2**62),
            st.integers(0, 2**60),
            st.integers(-1, 2**39),
            st.booleans(),
        ),
        min_size=1,
        max_size=20,
    ),
    st.text(st.characters(exclude_categories=["Cs"])),
    st.sampled_from([(), (("call", 3), ("args", (("x", "1"), ("y", -5))))]),
)
def test_written_slices_are_read_back_unchanged(rows, name, facts):
    begin = np.array([row[0] for row in rows], np.int64)
    slices = Slices(
        THREAD,
        "launch",
        begin,
        np.array([row[1] for row in rows], np.int64),
        np.zeros(len(rows), np.int64),
        [Caption(name, facts)],
        launch=np.array([row[2] for row in rows], np.int64),
        flow=np.array([row[3] and row[2] >= 0 for row in rows], np.uint64),
    )

    events = [
        e for e in encoded([Timeline(PROCESS, [slices])], base=0)["traceEvents"] if e["ph"] == "X"
    ]

    read = [
        (int(e["ts"] * 1000), int(e["dur"] * 1000), e["args"].pop("launch"), e.get("bind_id"))
        for e in events
    ]
    expected = [
        (b, d, launch if launch >= 0 else None, str(launch) if flow and launch >= 0 else None)
        for b, d, launch, flow in rows
    ]
    assert sorted(read, key=str) == sorted(expected, key=str)
    assert {e["name"] for e in events} == {name.replace("\0", "␀")}
    assert events[0]["args"] == {
        key: dict(value) if isinstance(value, tuple) else value for key, value in facts
    }


def test_a_slice_comes_before_those_inside_it():
    slices = Slices(
        THREAD, "mark", EPOCH + np.array([5, 0, 0]), np.array([1, 3, 9]), np.array([0, 1, 2]),
        [Caption("last"), Caption("inner"), Caption("outer")],
    )  # fmt: skip

    events = encoded([Timeline(PROCESS, [slices])])["traceEvents"]

    assert [e["name"] for e in events if e["ph"] == "X"] == ["outer", "inner", "last"]


def test_tracks_with_invalid_thread_ids_get_unused_ids():
    odd = Track(("run", "rank 0", "thread", "0"), "thread", 77, PROCESS, tid=0)
    huge = Track(("run", "rank 0", "thread", "h"), "thread", 77, PROCESS, tid=2**40)
    taken = Track(("run", "rank 0", "thread", "t"), "thread", 77, PROCESS, tid=1 << 22)

    numbers = chrome.thread_numbers([PROCESS, THREAD, taken, odd, huge, THREAD.child("marks")])

    assert numbers[THREAD] == 5
    assert len(set(numbers.values())) == 5


def test_counters_of_two_devices_of_a_process_are_two():
    devices = [Track((*PROCESS.path, f"GPU {n}", "0"), "lane", 77) for n in (0, 1)]
    counters = [
        Counter(device.counter("FLOPs", "FLOP/s", -1), EPOCH + np.array([0]), np.array([5]))
        for device in devices
    ]

    events = encoded([Timeline(PROCESS, counters=counters)])["traceEvents"]

    assert [event["name"] for event in events if event["ph"] == "C"] == [
        "GPU 0 · FLOPs",
        "GPU 1 · FLOPs",
    ]


def test_an_empty_timeline_is_valid_json():
    assert [e["name"] for e in encoded([Timeline(PROCESS)])["traceEvents"]] == [
        "process_name",
        "process_sort_index",
    ]
    assert encoded([])["traceEvents"] == []
