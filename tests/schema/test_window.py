"""A window of a trace has the rows that a look at every row finds in it; no other part is read."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.layout import part_numbers, run_folder
from kvtrace.schema.runs import plain_rows
from kvtrace.schema.trace import open_trace
from kvtrace.schema.window import TraceWindow
from kvtrace.schema.writer import RunWriter
from tests.support.thorough import usually

EPOCH = 1_767_323_045_000_000_000
SPANS = {
    "launches": ("enter", "exit"),
    "gpu_kernels": ("start", "end"),
    "marks": ("begin", "end"),
    "messages": ("time", "time"),
}


@pytest.fixture(scope="module")
def trace(tmp_path_factory):
    """A sealed run and one that still has a journal, of launches in parts of 50."""
    out = tmp_path_factory.mktemp("window")
    random = np.random.default_rng(3)
    for number, seal in enumerate((True, False)):
        writer = RunWriter(out, f"r{number}", segment_rows=50)
        writer.append_rows(
            "kernels",
            [
                {"kernel_id": 0, "name": "a", "compile_begin": EPOCH + 100, "compile_ns": 50},
                {"kernel_id": 1, "name": "b", "compile_begin": EPOCH + 5_000},
            ],
        )
        enter = EPOCH + np.sort(random.integers(0, 10_000, 400))
        leave = enter + random.integers(-20, 300, 400)  # a clock that was set back at times
        seq = np.arange(400)
        for first in range(0, 400, 50):
            part = slice(first, first + 50)
            launches = {
                "seq": seq[part],
                "call_id": seq[part] % 3,
                "enter": pa.array(enter[part], mask=seq[part] % 11 == 0),
                "exit": pa.array(leave[part], mask=seq[part] % 7 == 0),
                "thread": seq[part] % 2,
            }
            writer.append("launches", launches)
            start = enter[part] + 40
            writer.append("gpu_kernels", {"record": seq[part], "start": start, "end": start + 30})
        marks = [(0, 100, 400), (1, 900, None), (2, 5_000, 9_000)]
        writer.append_rows(
            "marks",
            [
                {"mark_id": n, "begin": EPOCH + b, "end": None if e is None else EPOCH + e}
                for n, b, e in marks
            ],
        )
        writer.append_rows("messages", [{"time": EPOCH + 700, "code": "x"}])
        writer.flush()
        if seal:
            writer.seal({"ending": "exit"})
        else:
            writer.close()
    return open_trace(out)


@pytest.mark.costly("random windows; chosen ones stay by day")
@settings(max_examples=usually(8, thorough=50))
@given(st.integers(-100, 10_500), st.integers(0, 4_000))
def test_window_has_the_rows_that_a_scan_of_all_rows_finds(trace, begin, length):
    begin, end = EPOCH + begin, EPOCH + begin + length
    window = TraceWindow(trace, begin, end)
    for name, (first, last) in SPANS.items():
        expected = []
        for row in plain_rows(trace.table(name)):
            left = row[first] if row[last] is None else row[last]
            if row[first] is not None and row[first] <= end and left >= begin:
                expected.append(row)
        assert plain_rows(window.table(name)) == expected
        pieces = list(window.pieces(name, trace.runs, [first]))
        assert sum(piece.num_rows for piece in pieces) == len(expected)
        assert all(piece.column_names == [first, "run"] for piece in pieces)


def test_window_has_all_kernels_with_times_inside_it(trace):
    rows = plain_rows(TraceWindow(trace, EPOCH + 140, EPOCH + 200).table("kernels", ["r0"]))
    assert [row["name"] for row in rows] == ["a", "b"]
    assert [row["compile_begin"] for row in rows] == [EPOCH + 100, None]
    window = TraceWindow(trace, EPOCH + 5_000, EPOCH + 5_000)
    names = window.table("kernels", ["r0"], ["name", "compile_begin"])
    assert names.column_names == ["name", "compile_begin", "run"]
    assert [row["compile_begin"] for row in plain_rows(names)] == [None, EPOCH + 5_000]


def test_window_does_not_read_row_groups_outside(trace):
    parts = part_numbers(run_folder(trace.path, "launches", "r0"))
    last = parts[max(parts)]
    whole = last.read_bytes()
    window = TraceWindow(trace, EPOCH, EPOCH + 500)
    expected = window.table("launches", ["r0"])
    assert expected.num_rows
    try:
        last.write_bytes(b"PAR1" + b"\0" * 200 + whole[204:])
        assert window.table("launches", ["r0"]).equals(expected)
        with pytest.raises(DamagedFile):
            TraceWindow(trace, EPOCH, EPOCH + 20_000).table("launches", ["r0"])
    finally:
        last.write_bytes(whole)
