"""Fresh bytes of a launch add up to the union over all ops, not to the largest op's bytes."""

import torch

import kvtrace
from kvtrace.cli import main
from kvtrace.converters.profile.profile import read_profile
from kvtrace.metrics.byte_ranges import MOST_RANGES, ByteRanges
from kvtrace.metrics.unique_bytes import Repetition, fresh_bytes
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.metrics import halves


def touched(first, run, *levels):
    result = Repetition(ByteRanges.of(first, first + run), levels)
    return result.size, (result,)


def test_bytes_of_earlier_ops_are_not_fresh():
    assert fresh_bytes([touched(0, 400), touched(0, 400), touched(400, 400)]) == [400, 0, 400]
    assert fresh_bytes([touched(0, 400), touched(200, 400), touched(100, 100)]) == [400, 200, 0]


def test_fresh_bytes_are_unknown_after_a_union_with_too_many_ranges():
    scattered = touched(0, 4, (2 * MOST_RANGES, 12))
    assert fresh_bytes([scattered, touched(0, 2, (10, 12))]) == [8 * MOST_RANGES, None]
    assert fresh_bytes([scattered]) == [8 * MOST_RANGES]


def test_two_masked_loads_of_one_tensor_and_a_store_are_counted(tmp_path):
    """100 of 128 lanes: 800 bytes are read and 400 written, whatever the arguments share."""
    source = torch.ones(256)
    with kvtrace.capture(tmp_path):
        halves.add_halves[(1,)](source, torch.zeros(128), 100, 128, BLOCK=128)
        halves.add_halves[(1,)](source, torch.zeros(128), 100, 50, BLOCK=128)
        halves.add_halves[(1,)](source, source, 100, 0, BLOCK=128)
    assert main(["replay", str(tmp_path)]) == 0

    trace = open_trace(tmp_path)
    fresh = [row["fresh_bytes"] for row in plain_rows(trace.table("ops")) if row["buffer"]]
    assert fresh == [400, 400, 400, 400, 200, 400, 400, 0, 400]
    (kernel,) = read_profile(trace, trace.runs, calls=True).kernels
    result = sorted((call.call_id, call.derived.unique_bytes) for call in kernel.calls)
    assert result == [(0, 1200), (1, 1000), (2, 800)]
