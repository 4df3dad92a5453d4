"""Executions come in order, in blocks of about equal numbers, whatever the order of their rows."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.figures.executions import ExecutionBlocks, _cuts
from kvtrace.schema.trace import open_trace
from kvtrace.schema.window import RunWindow
from kvtrace.schema.writer import RunWriter
from tests.support.thorough import usually

EPOCH = 1_767_323_045_000_000_000


def test_stretches_have_about_equal_numbers_of_rows():
    groups = [(EPOCH + n * 1_000, EPOCH + n * 1_000 + 999, 100) for n in range(64)]

    cuts = _cuts(groups, 400)

    assert len(cuts) == 15
    assert np.diff([EPOCH, *cuts, EPOCH + 64_000]).tolist() == pytest.approx([4_000] * 16, abs=2)


def test_streams_in_row_groups_of_their_own_share_stretches():
    of_streams = [(EPOCH + n * 1_000, EPOCH + n * 1_000 + 999, 100) for n in range(16)] * 8

    assert len(_cuts(of_streams, 400)) == 31


def test_row_groups_that_have_all_times_are_read_four_times_at_most():
    assert len(_cuts([(EPOCH, EPOCH + 1_000_000, 100)] * 64, 400)) == 3
    assert _cuts([(EPOCH, EPOCH + 1_000_000, 100)], 400) == []


def test_rows_whose_times_are_not_known_are_one_stretch():
    assert _cuts(None, 400) == _cuts([], 400) == []


def write(folder, starts, name):
    rows = [
        {"record": n, "name": name(n), "start": EPOCH + start, "end": EPOCH + start + 3}
        for n, start in enumerate(starts)
    ]
    writer = RunWriter(folder, "r0")
    writer.append_rows("gpu_kernels", rows)
    writer.seal({"ending": "exit"})
    return open_trace(folder)


@pytest.mark.costly("random executions; other windows stay by day")
@settings(max_examples=usually(8, thorough=30), deadline=None)
@given(
    st.lists(st.integers(0, 400), min_size=1, max_size=80),
    st.integers(1, 30),
    st.tuples(st.integers(-5, 200), st.integers(200, 410)),
    st.sampled_from([0, 1_000]),
)
def test_blocks_of_a_window_have_its_executions_in_order(
    tmp_path_factory, starts, rows, window, kept
):
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("kvtrace.schema.parts.ROW_GROUP_ROWS", 6)
        patched.setattr("kvtrace.figures.executions._ROWS", rows)
        patched.setattr("kvtrace.figures.executions._MOST_KEPT", kept)
        trace = write(tmp_path_factory.mktemp("trace"), starts, lambda n: f"k{n}")
        blocks = ExecutionBlocks(trace, trace.runs[0])
    low, high = (EPOCH + edge for edge in window)
    read = list(blocks.read(RunWindow(0, 0, low, high)))

    numbers = [number for number, _ in read]
    assert numbers == sorted(set(numbers))
    executions = [
        (start - EPOCH, block.names[name])
        for _, block in read
        for start, name in zip(block.start.tolist(), block.name.tolist(), strict=True)
    ]
    expected = sorted(((start, n) for n, start in enumerate(starts) if low <= EPOCH + start < high))
    assert executions == [(start, f"k{n}") for start, n in expected]


def test_a_long_run_is_read_in_several_blocks(tmp_path, monkeypatch):
    monkeypatch.setattr("kvtrace.schema.parts.ROW_GROUP_ROWS", 50)
    monkeypatch.setattr("kvtrace.figures.executions._ROWS", 100)
    trace = write(tmp_path, range(0, 4_000, 4), lambda _: "k")

    sizes = [block.start.size for _, block in ExecutionBlocks(trace, trace.runs[0]).read()]

    assert len(sizes) == 10
    assert max(sizes) <= 110
