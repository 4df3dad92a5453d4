"""Sums of dropped rows count once, whenever the process was killed that dropped them."""

import shutil
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.figures.times import host_times
from kvtrace.schema.layout import part_path
from kvtrace.schema.older_parts import counting
from kvtrace.schema.older_sums import OlderSums
from kvtrace.schema.recovery import recover
from kvtrace.schema.trace import open_trace
from kvtrace.schema.validation import validate
from kvtrace.schema.writer import RunWriter

EPOCH = 1_767_323_045_000_000_000
LIMIT = {"settings": {"limit": "sums:1GB"}}


@given(st.lists(st.integers(1, 4), max_size=6), st.data())
def test_each_part_counts_once_until_it_exists(sizes, data):
    bounds = [sum(sizes[:number]) for number in range(len(sizes) + 1)]
    files = [(low, high - 1) for low, high in pairwise(bounds)]
    united = [(low, high) for low, high in files if high > low]
    parts = [(number, number) for low, high in united for number in range(low, high + 1)]
    kept = data.draw(st.lists(st.sampled_from(parts))) if parts else []
    assert counting([*files, *kept], ()) == set(files)
    if files:
        assert counting([*files, *kept], [files[-1][1]]) == set(files[:-1]) | {
            part for part in kept if files[-1][0] <= part[0] < files[-1][1]
        }


def rows(first, count):
    return [
        {"seq": seq, "call_id": 0, "enter": EPOCH + seq, "exit": EPOCH + seq + 1, "thread": 1}
        for seq in range(first, first + count)
    ]


@pytest.mark.parametrize("ends", ["killed", "exit"])
def test_a_part_that_is_still_there_counts_by_its_rows(tmp_path, ends):
    out, live = tmp_path / "out", tmp_path / "live"
    writer = RunWriter(out, "r", segment_rows=10, of_this_process=False)
    writer.append_rows("runs", [LIMIT])
    writer.append_rows("kernels", [{"kernel_id": 0, "name": "a"}])
    writer.append_rows("calls", [{"call_id": 0, "kernel_id": 0}])
    sums = OlderSums(out, "r")
    for number in range(3):
        writer.append_rows("launches", rows(10 * number, 10))
        sums.add("launches", part_path(out, "launches", "r", number))
    for number in range(2):  # the third is not deleted any more
        part_path(out, "launches", "r", number).unlink()
    writer.append_rows("launches", rows(30, 5))
    writer.flush()
    if ends == "exit":
        writer.seal({"ending": "exit"})
    shutil.copytree(out, live)
    for trace in (open_trace(live), open_trace(out)):
        assert host_times(trace, trace.runs).calls["launches"].to_pylist() == [35]
        recover(out, force=True)
    files = sorted((out / "older_launch_sums").rglob("*.parquet"))
    assert len(files) == 2
    assert validate(out) == []
