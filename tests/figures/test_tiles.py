"""Tiles add up to the launches and executions that they are of, stored or not."""

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kvtrace.figures import tiles as tiles_module
from kvtrace.figures.sums_building import add_up
from kvtrace.figures.tiles import LEAVES, read_tiles, tiles_of
from kvtrace.schema.tables import TABLES
from kvtrace.schema.trace import open_trace
from kvtrace.schema.writer import RunWriter

EPOCH = 1_767_323_045_000_000_000
ROWS = st.lists(
    st.tuples(
        st.integers(0, 5_000), st.one_of(st.none(), st.integers(0, 3_000)),
        st.integers(0, 24), st.integers(0, 1), st.sampled_from([None, 3]),
    ),
    min_size=1, max_size=60,
)  # fmt: skip


def write_run(folder, run_id, rows):
    """Write a run of launches (begin, duration or None, call, thread, weight), each executed."""
    writer = RunWriter(folder, run_id)
    writer.append_rows("kernels", [{"kernel_id": kernel, "name": "k"} for kernel in range(12)])
    writer.append_rows(
        "calls", [{"call_id": call, "kernel_id": call // 2} for call in range(24)]
    )  # call 24 is not known
    launches, executions = [], []
    for seq, (begin, duration, call, thread, weight) in enumerate(rows):
        begun, ended = EPOCH + begin, None if duration is None else EPOCH + begin + duration
        launches.append(
            {"seq": seq, "call_id": call, "enter": begun, "exit": ended, "thread": thread,
             "weight": weight, "phase": "autotune" if thread else None}
        )  # fmt: skip
        executions.append(
            {"record": seq, "launch_seq": seq, "start": begun, "end": ended, "device": 0,
             "stream": thread, "name": f"f{call // 2}", "weight": weight}
        )  # fmt: skip
    writer.append_rows("launches", launches)
    writer.append_rows("gpu_kernels", executions)
    writer.seal({"settings": {"sample": "1"}})


def integer_rows(tiles):
    """Rows of tiles as dictionaries whose times are whole ns."""
    columns = {}
    for name in tiles.column_names:
        column = tiles[name]
        is_time = pa.types.is_timestamp(column.type)
        columns[name] = (column.cast(pa.int64()) if is_time else column).to_pylist()
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


@pytest.mark.costly("tiles of ten traces; single ones stay by day")
@settings(max_examples=10, deadline=None)
@given(rows=ROWS, tiles_of_run=st.sampled_from([1, 4, 300]), kept=st.sampled_from([2, 100]))
def test_tiles_add_up_to_the_rows(tmp_path_factory, rows, tiles_of_run, kept):
    folder = tmp_path_factory.mktemp("tiles")
    write_run(folder / "out", "run-1", rows)
    trace = open_trace(folder / "out")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tiles_module, "_FEWEST_TILES", tiles_of_run)
        patch.setattr(tiles_module, "_KERNELS_OF_TILE", kept)
        found = {table: integer_rows(tiles_of(trace, trace.runs, table)) for table in LEAVES}
    timed = [row for row in rows if row[1] is not None]
    for table, tiles in found.items():
        track = "thread" if table == "launch_tiles" else "stream"
        expected, sums = Counter(), Counter()
        for begin, duration, _, thread, weight in rows:
            at = None if duration is None else (EPOCH + begin) // tiles[0]["tile_ns"]
            expected[at, thread, "rows"] += 1
            expected[at, thread, "weight"] += weight or 1
            for tile in () if duration is None else range(len(tiles) * 5_000):
                low = (at + tile) * tiles[0]["tile_ns"]
                high = low + tiles[0]["tile_ns"]
                if low >= EPOCH + begin + duration:
                    break
                expected[at + tile, thread, "busy_ns"] += min(high, EPOCH + begin + duration) - max(
                    low, EPOCH + begin
                )
        for row in tiles:
            at = None if row["begin"] is None else row["begin"] // row["tile_ns"]
            for name in ("rows", "weight", "busy_ns"):
                sums[at, row[track], name] += row[name]
        assert +sums == +expected
        in_tile = Counter((row["begin"], row[track]) for row in tiles if not row["others"])
        assert max(in_tile.values(), default=0) <= kept
        for row in tiles:
            assert row["first_begin"] == (EPOCH + min(r[0] for r in timed) if timed else None)
            assert row["last_end"] == (EPOCH + max(r[0] + r[1] for r in timed) if timed else None)
        if kept == 100:
            by_kernel = Counter()
            for row in tiles:
                by_kernel[row["kernel_id"]] += row["rows"]
            assert by_kernel == Counter(
                None if call == 24 else call // 2 for _, _, call, _, _ in rows
            )


def test_tiles_are_few_however_many_the_kernels(tmp_path):
    random = np.random.default_rng(5)
    rows = [
        (int(begin), 9, int(call), 0, None)
        for begin, call in zip(
            random.integers(0, 10**7, 3_000), random.integers(0, 24, 3_000), strict=True
        )
    ]
    write_run(tmp_path / "out", "run-1", rows)
    trace = open_trace(tmp_path / "out")
    tiles = tiles_of(trace, trace.runs, "launch_tiles")
    assert 128 < len(tiles["begin"].unique()) <= 257
    assert len(tiles) <= 257 * 9


@pytest.mark.costly("random rows; another of the file stays by day")
def test_stored_tiles_are_those_of_the_rows(tmp_path):
    rows = [(7 * number, 5, number % 25, number % 2, None) for number in range(500)]
    for run_id in ("run-1", "run-2"):
        write_run(tmp_path / "out", run_id, rows)
    before = open_trace(tmp_path / "out")
    expected = {table: tiles_of(before, before.runs[:1], table) for table in LEAVES}
    add_up(before, before.runs[:1], least_rows=100)
    trace = open_trace(tmp_path / "out")
    for table, tiles in expected.items():
        assert trace.table(table).num_rows > 0
        columns = TABLES[table].schema.names
        stored, computed = read_tiles(trace, trace.runs, table, columns)
        assert integer_rows(stored.select(columns)) == integer_rows(tiles.select(columns))
        assert set(computed["run"].to_pylist()) == {"run-2"}
        assert integer_rows(computed.select(columns)) == integer_rows(tiles.select(columns))
