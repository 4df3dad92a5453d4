"""Parts: the order of their rows, and which are refused."""

import random
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kvtrace.schema import parts
from kvtrace.schema.columns import batch_of_rows
from kvtrace.schema.errors import DamagedFile
from kvtrace.schema.parts import part_pieces, read_part, sorted_rows
from kvtrace.schema.tables import TABLES
from kvtrace.schema.versions import captured_facts


@pytest.mark.parametrize("name", ["artifacts", "messages", "stacks", "accesses"])
def test_sorted_rows_orders_few_rows_like_many(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    table = TABLES[name]
    chance = random.Random(name)
    rows = [
        {column.name: _value(column.type, chance, may_be_null=not column.key)
         for column in table.columns}
        for _ in range(60)
    ]  # fmt: skip
    whole = pa.Table.from_batches([batch_of_rows(table, rows[:7]), batch_of_rows(table, rows[7:])])

    few = sorted_rows(whole, table)
    monkeypatch.setattr(parts, "_MOST_SORTED_ROWS", 0)

    assert few.equals(sorted_rows(whole, table))


def _value(kind: pa.DataType, chance: random.Random, *, may_be_null: bool) -> object:
    """Return a value of a kind that rows are sorted by, null of any other."""
    if may_be_null and chance.random() < 0.3:
        return None
    if pa.types.is_integer(kind) or pa.types.is_timestamp(kind):
        return chance.randrange(10)
    if pa.types.is_string(kind) or pa.types.is_dictionary(kind):
        return chance.choice(["", "a", "é", "ab", "z", "\U0001f600", "￿"])
    if pa.types.is_binary(kind):
        return b""
    return None


@pytest.mark.parametrize("name", sorted(TABLES))
def test_sorted_rows_sorts_many_rows_of_every_table(name):
    table = TABLES[name]
    rows = pa.Table.from_pylist([{}] * 5000, table.schema)

    assert sorted_rows(rows, table).num_rows == 5000


@pytest.mark.parametrize("missing", ["seq", "call_id"])
def test_a_part_without_a_required_column_is_refused(missing: str, tmp_path: Path) -> None:
    path = tmp_path / "part-00000.parquet"
    columns = {name: pa.array([0], pa.int64()) for name in ("seq", "call_id") if name != missing}
    pq.write_table(pa.table(columns, metadata=captured_facts("launches", "r").metadata()), path)
    for read in (read_part, lambda *words: list(part_pieces(*words))):
        with pytest.raises(DamagedFile, match=f"has no column {missing}, which each file"):
            read(path, TABLES["launches"], ["seq", "call_id"])


def test_a_part_may_lack_a_column_that_is_not_required(tmp_path: Path) -> None:
    path = tmp_path / "part-00000.parquet"
    columns = {name: pa.array([0], pa.int64()) for name in ("seq", "call_id")}
    pq.write_table(pa.table(columns, metadata=captured_facts("launches", "r").metadata()), path)
    rows = read_part(path, TABLES["launches"], ["seq", "phase"])
    assert rows.to_pylist() == [{"seq": 0, "phase": None}]


def test_only_columns_that_are_read_are_refused_for_their_size(tmp_path: Path) -> None:
    path = tmp_path / "part-00000.parquet"
    table = TABLES["messages"]
    numbers = pa.array(range(100_000), pa.int64())
    text = pa.DictionaryArray.from_arrays([0] * 100_000, pa.array(["x" * 20_000]))
    metadata = captured_facts("messages", "r").metadata()
    columns = {"time": numbers.cast(pa.timestamp("ns", "UTC")), "count": numbers, "text": text}
    pq.write_table(pa.table(columns, metadata=metadata), path)

    assert read_part(path, table, ["count"])["count"].to_pylist() == numbers.to_pylist()
    for _ in range(2):
        with pytest.raises(DamagedFile, match="bytes hold more than"):
            read_part(path, table, ["count", "text"])


def test_a_part_without_a_chosen_row_group_is_not_read(tmp_path: Path) -> None:
    path = tmp_path / "part-00000.parquet"
    columns = {name: pa.array([1, 2], pa.int64()) for name in ("seq", "call_id")}
    table = pa.table(columns, metadata=captured_facts("launches", "r").metadata())
    pq.write_table(table, path, row_group_size=1)

    def read(groups: list[int]) -> list[int]:
        pieces = parts.part_pieces(path, TABLES["launches"], ["seq"], lambda _: groups)
        return [seq for piece in pieces for seq in piece["seq"].to_pylist()]

    assert [read([]), read([1]), read([0, 1])] == [[], [2], [1, 2]]
