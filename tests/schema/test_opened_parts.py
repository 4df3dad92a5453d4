"""Opened parts: what is kept of their footers is of their content now."""

import os
from collections.abc import Callable
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace.schema import opened_parts
from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.opened_parts import Bounds
from kvtrace.schema.parts import part_pieces, read_part
from kvtrace.schema.tables import TABLES
from kvtrace.schema.versions import captured_facts


def test_footer_that_was_kept_is_not_used_for_a_changed_part(tmp_path: Path) -> None:
    path = tmp_path / "part-00000.parquet"

    def write(number: int, changed: int) -> None:
        columns = {name: pa.array([number], pa.int64()) for name in ("seq", "call_id")}
        table = pa.table(columns, metadata=captured_facts("launches", "r").metadata())
        pq.write_table(table, path)
        os.utime(path, ns=(changed, changed))

    opened_parts._FOOTERS.clear()  # other tests may have filled it
    write(1, 10**18)
    assert read_part(path, TABLES["launches"], ["seq"])["seq"].to_pylist() == [1]
    assert path.stat().st_ino in {inode for _, inode, _, _ in opened_parts._FOOTERS}
    write(2, 10**18 + 1)

    assert read_part(path, TABLES["launches"], ["seq"])["seq"].to_pylist() == [2]
    path.write_bytes(path.read_bytes()[:-8] + bytes(8))
    with pytest.raises(DamagedFile):
        read_part(path, TABLES["launches"], ["seq"])


def test_bounds_of_a_part_are_those_of_its_content_now(tmp_path: Path) -> None:
    path = tmp_path / "part-00000.parquet"
    bounds_of_reads: list[object] = []

    def read(number: int, changed: int) -> list[int]:
        columns = {name: pa.array([number, 9], pa.int64()) for name in ("seq", "call_id")}
        table = pa.table(columns, metadata=captured_facts("launches", "r").metadata())
        pq.write_table(table, path)
        os.utime(path, ns=(changed, changed))

        def choose(bounds: Callable[[str], list[Bounds]]) -> list[int]:
            bounds_of_reads.append((bounds("seq"), bounds("enter")))
            return [0]

        for _ in range(2):
            (piece,) = part_pieces(path, TABLES["launches"], ["seq"], choose)
        return list(piece["seq"].to_pylist())

    assert read(3, 10**18) == [3, 9]
    assert read(5, 10**18 + 1) == [5, 9]
    assert bounds_of_reads == [([(first, 9)], [None]) for first in (3, 3, 5, 5)]


def test_part_with_one_enormous_name_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "part-00000.parquet"
    columns = {"kernel_id": pa.array([1], pa.int64()), "name": pa.array(["k" * (9 << 20)])}
    table = pa.table(columns, metadata=captured_facts("kernels", "r").metadata())
    pq.write_table(table, path, compression="zstd")
    assert path.stat().st_size < 16 << 10
    with pytest.raises(DamagedFile, match=r"bytes unpack to 9,\d+,\d+"):
        read_part(path, TABLES["kernels"], ["kernel_id", "name"])
