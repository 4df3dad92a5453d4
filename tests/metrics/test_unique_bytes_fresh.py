"""Fresh bytes of a launch add up to the union over all ops, not to the largest op's bytes."""

import torch

import kvtrace
from kvtrace.cli import main
from kvtrace.converters.profile.profile import read_profile
from kvtrace.metrics.combs import Comb
from kvtrace.metrics.unique_bytes import TouchedBytes, fresh_bytes
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from tests.metrics import halves


def comb(first, run, *levels):
    result = Comb(first, run, levels)
    return TouchedBytes(result.size, None, (result,), (result,))


def test_bytes_of_earlier_ops_are_not_fresh():
    assert fresh_bytes([comb(0, 400), comb(0, 400), comb(400, 400)]) == [400, 0, 400]
    assert fresh_bytes([comb(0, 400), comb(200, 400), comb(100, 100)]) == [400, 200, 0]


def test_fresh_bytes_are_unknown_after_a_union_with_too_many_ranges():
    scattered = TouchedBytes(30, None)
    assert fresh_bytes([comb(0, 4, (10, 12)), scattered, comb(0, 4)]) == [40, None, None]
    assert fresh_bytes([scattered]) == [30]


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
