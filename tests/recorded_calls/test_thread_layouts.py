"""Thread layouts: made by hand, and compiled for an H200."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.cli import main
from kvtrace.evaluate.observe import Access, AccessParts
from kvtrace.ir.types import TensorType
from kvtrace.metrics.of_ops import Metrics
from kvtrace.recorded_calls.compiled_code import thread_layouts
from kvtrace.recorded_calls.reading import calls_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.recorded_calls.thread_layouts import BlockedLayout, lane_order
from kvtrace.schema.content import StackRows
from kvtrace.schema.trace import open_trace
from tests.metrics.counted_calls import LOAD

FIXTURES = Path(__file__).parents[1] / "fixtures" / "h200"
ROWS = BlockedLayout((1, 4), (4, 8), (4, 1), (1, 0))
COLUMNS = BlockedLayout((4, 1), (8, 4), (1, 4), (0, 1))


def thread_of(layout, index):
    """Warp, thread and register of a lane, lane by lane: the definition of a blocked layout."""
    warp = thread = 0
    for axis in reversed(layout.order):
        size, threads, warps = (
            layout.per_thread[axis], layout.threads[axis], layout.warps[axis]
        )  # fmt: skip
        thread = thread * threads + index[axis] // size % threads
        warp = warp * warps + index[axis] // (size * threads) % warps
    return warp, thread


def test_a_warp_goes_along_the_fastest_axis_with_vectors_of_16_bytes():
    order = lane_order(ROWS, (16, 32), 4)
    assert order.width == 128
    assert order.lanes[:128].tolist() == list(range(128))  # four rows of 32
    assert order.lanes[128:256].tolist() == list(range(128, 256))  # the second warp's four


def test_a_transposed_layout_orders_lanes_by_columns():
    order = lane_order(COLUMNS, (32, 16), 4)
    assert order.width == 128
    assert order.lanes[:5].tolist() == [0, 16, 32, 48, 64]
    assert order.lanes[32] == 1  # 32 rows down, then the next column


def test_vectors_are_not_longer_than_16_bytes():
    wide = BlockedLayout((8,), (32,), (1,), (0,))
    assert lane_order(wide, (256,), 2).width == 256
    order = lane_order(wide, (256,), 4)
    assert order.width == 128
    assert order.lanes[:8].tolist() == [0, 1, 2, 3, 8, 9, 10, 11]  # each thread's first four


def test_threads_that_hold_the_same_lane_count_once():
    assert lane_order(BlockedLayout((1,), (32,), (4,), (0,)), (16,), 4).width == 16
    sliced = BlockedLayout((1, 4), (4, 8), (4, 1), (1, 0), sliced=1)
    assert lane_order(sliced, (16,), 4).width == 4  # four threads of a warp differ


def test_a_layout_of_another_rank_is_not_used():
    assert lane_order(ROWS, (64,), 4) is None
    assert lane_order(ROWS, (), 4) is None


powers = st.sampled_from([1, 2, 4, 8])


@st.composite
def layouts(draw):
    threads = draw(st.sampled_from([(1, 32), (2, 16), (4, 8), (8, 4), (32, 1)]))
    order = draw(st.sampled_from([(0, 1), (1, 0)]))
    return BlockedLayout((draw(powers), draw(powers)), threads, (draw(powers), draw(powers)), order)


@given(layouts(), st.sampled_from([(8, 8), (32, 64), (1, 128), (64, 2)]), powers)
def test_groups_are_lanes_of_one_warp_and_each_lane_is_in_one(layout, block, element_bytes):
    order = lane_order(layout, block, element_bytes)
    assert sorted(order.lanes.tolist()) == list(range(block[0] * block[1]))
    assert order.width <= 32 * max(1, 16 // element_bytes)
    for group in order.lanes.reshape(-1, order.width):
        indices = [np.unravel_index(lane, block) for lane in group]
        places = [thread_of(layout, index) for index in indices]
        assert len({warp for warp, _ in places}) == 1
        threads = [thread for _, thread in places]
        assert threads == sorted(threads)


def test_sectors_go_by_the_layout_where_there_is_one():
    rows = (np.arange(32) * 4).reshape(1, 32, 1)  # down a column is contiguous
    columns = (np.arange(16) * 128).reshape(1, 1, 16)
    parts = AccessParts(0, (rows, columns), (), (32, 16), np.array([0]), 0, 0)
    access = Access(LOAD, "load", 0, 4, 1, 512, 512, 0, 0, parts=parts)

    def sectors(layouts):
        metrics = Metrics(layouts)
        metrics.access(access)
        (row,) = metrics.op_rows(0, ["x"], StackRows())
        return row["sectors"], metrics.modeled

    assert sectors({}) == (256, (0, 1))  # a group is two rows: two lanes a sector
    assert sectors({LOAD.index: COLUMNS}) == (64, (1, 0))


@pytest.fixture(scope="module", params=["train", "train_compiled"])
def calls(request, tmp_path_factory):
    out = shutil.copytree(FIXTURES / request.param, tmp_path_factory.mktemp("gpu") / "out")
    trace = open_trace(out)
    result = list(calls_of(trace, trace.runs[0]))
    assert all(isinstance(call, Call) for call in result)
    return result


def test_every_block_that_the_fixtures_kernels_touch_has_its_compiled_layout(calls):
    for call in calls:
        blocks = {
            op.index
            for op in call.module.ops
            if op.name in ("tt.load", "tt.store") and isinstance(op.operand_types[0], TensorType)
        }
        assert set(call.layouts) == blocks


def test_a_kernel_without_compiled_code_has_no_layouts(calls):
    assert thread_layouts(calls[0].module, "", triton=None) == {}
    assert thread_layouts(calls[0].module, "garbage #blocked = loc(", triton=None) == {}


@pytest.mark.costly("evaluates a recorded trace; layouts by hand stay by day")
def test_the_compiler_turns_threads_along_transposed_tiles(tmp_path, capsys):
    out = shutil.copytree(FIXTURES / "train", tmp_path / "out")
    assert main(["replay", str(out)]) == 0
    assert main(["profile", str(out), "--json"]) == 0
    capsys.readouterr()
    trace = open_trace(out)
    facts = trace.passes(trace.runs[0].run_id)["profiler"]
    assert facts["sectors"]["by_compiled_layout"] > 3 * facts["sectors"]["by_lane_order"]
    rows = [row for row in trace.table("ops").to_pylist() if row["sectors"]]
    tiles = [row for row in rows if row["buffer"] in ("left", "right")]
    assert len(tiles) > 20
    # In the order of lanes, nine of these go down columns, a sector for each float: 0.125.
    shares = [row["bytes"] / (32 * row["sectors"]) for row in tiles]
    assert min(shares) > 0.2
    assert sum(share > 0.7 for share in shares) >= len(shares) - 3
    for row in tiles:  # a tile is read again by each program of the other axis
        assert 1 <= row["bytes"] / row["unique_bytes"] <= 8
