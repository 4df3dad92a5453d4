"""Parts: the order of their rows."""

import random

import pyarrow as pa
import pytest

from kvtrace.schema import parts
from kvtrace.schema.columns import batch_of_rows
from kvtrace.schema.parts import sorted_rows
from kvtrace.schema.tables import TABLES


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
    monkeypatch.setattr(parts, "_FEW", 0)

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
