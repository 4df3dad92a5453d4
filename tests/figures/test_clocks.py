"""Clocks of several hosts, from collectives that end together."""

import json

import numpy as np
import pytest

from kvtrace.converters.timeline import chrome
from kvtrace.converters.timeline.drawing import timelines
from kvtrace.converters.timeline.timeline import Tally
from kvtrace.figures.clocks import host_clocks
from kvtrace.schema.trace import resolve
from kvtrace.schema.writer import RunWriter

START = 1_767_323_045_000_000_000
ALL_REDUCE = "_Z38ncclDevKernel_AllReduce_Sum_f32_RING_LL24ncclDevKernelArgsStorageILm4096EE"
OFF = 3_141_592


def write_rank(
    out, rank, host, off, *, count=40, jitter=4_000, name=ALL_REDUCE, group="job", every=1_000_000
):
    """A rank whose clock is `off` ns behind, with collectives and kernels of its own."""
    chance = np.random.default_rng(rank)
    ends = START + np.arange(1, count + 1) * every + chance.integers(-jitter, jitter + 1, count)
    own = ends - 300_000
    end = np.concatenate([ends, own]) - off
    writer = RunWriter(out, f"20260102-030405-000-0000000{rank}")
    writer.append(
        "gpu_kernels",
        {
            "record": np.arange(2 * count),
            "name": [name] * count + ["added"] * count,
            "start": end - 50_000,
            "end": end,
            "device": [0] * (2 * count),
            "stream": [7] * (2 * count),
        },
    )
    writer.seal(
        {"group_id": group, "rank": rank, "world_size": 4, "host": host, "pid": 100 + rank,
         "started": START - int(np.max(off))}
    )  # fmt: skip


def offsets(out):
    selection = resolve(str(out))
    return host_clocks(selection.trace, selection.trace.runs)


def test_clock_offset_of_a_host_is_derived_from_common_ends_of_collectives(tmp_path):
    # given two ranks on one host, and two on another whose clock is behind
    for rank, (host, off) in enumerate([("a", 0), ("a", 0), ("b", OFF), ("b", OFF)]):
        write_rank(tmp_path, rank, host, off)
    # then only the other host's ranks are moved, alike, and nearly by that much
    found = offsets(tmp_path)
    assert sorted(found) == ["20260102-030405-000-00000002", "20260102-030405-000-00000003"]
    (offset,) = set(found.values())
    assert abs(offset.ns - OFF) < 2_000
    assert (offset.host, offset.reference, offset.collectives) == ("b", "a", 80)
    assert 0 < offset.error_ns < 16_000


def test_drift_of_a_clock_is_followed_and_a_late_end_moves_nothing(tmp_path):
    # given a clock that falls behind by 20 µs a second for 20 s, and then is set ahead by 0.3 ms,
    # and a fiftieth of the ends late by 50 ms
    every, count = 100_000_000, 400
    at = np.arange(count) * every
    off = OFF + at // 50_000 - np.where(at > 20 * 10**9, 300_000, 0)
    late = np.where(np.arange(count) % 50 == 3, 50_000_000, 0)
    write_rank(tmp_path, 0, "a", 0, count=count, every=every)
    write_rank(tmp_path, 1, "b", np.tile(off - late, 2), count=count, every=every)
    (clock,) = offsets(tmp_path).values()
    # then its times are moved to the other's clock, except close to where it was set
    host = START + at - off
    error = np.abs(clock.shifted(host) - (START + at))
    assert np.median(error) < 5_000
    assert np.quantile(error, 0.95) < 20_000
    assert clock.error_ns < 100_000
    # and times outside of the collectives as the nearest of them
    outside = np.array([host[0] - 10**12, host[-1] + 10**12])
    assert np.abs(clock.shifted(outside) - outside - off[[0, -1]]).max() < 20_000
    assert " ns to the clock of a: derived from 400 collectives" in clock.sentence()


def test_the_timeline_is_drawn_on_one_clock_and_says_so(tmp_path):
    write_rank(tmp_path / "t", 0, "a", 0)
    write_rank(tmp_path / "t", 1, "b", OFF)
    selection = resolve(str(tmp_path / "t"))
    drawn, tally = list(timelines(selection)), Tally()
    for timeline in drawn:
        tally.add(timeline)
    apart = [
        int(part.end.max()) for timeline in drawn for part in timeline.slices
    ]  # of the last collective on each rank
    assert abs(apart[0] - apart[1]) < 10_000
    assert "clock shifted by +3.1" in drawn[1].process.name
    assert "moved" not in drawn[0].process.name
    assert "derived from 40 collectives" in tally.sentences()[-1]
    # and Chrome's times count from the earliest of the moved ones
    chrome.CONVERTER.convert(selection, tmp_path / "t.json", {})
    events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
    assert min(event["ts"] for event in events if "ts" in event) == 0


@pytest.mark.parametrize(
    "second",
    [
        {"host": "a"},  # the same host has the same clock
        {"host": "b", "count": 39},  # which collective is which cannot be told
        {"host": "b", "jitter": 3_000_000},  # not of all ranks: they do not end together
        {"host": "b", "name": "ncclDevKernel_Broadcast"},  # ends where it began first
        {"host": "b", "group": "another job"},
        {"host": "b", "count": 0},
    ],
)
def test_clocks_are_not_shifted_without_a_certain_offset(tmp_path, second):
    write_rank(tmp_path, 0, "a", 0, name=second.get("name", ALL_REDUCE))
    write_rank(tmp_path, 1, **({"off": OFF} | second))
    assert offsets(tmp_path) == {}
