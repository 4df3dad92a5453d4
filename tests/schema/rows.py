"""Rows for tests: random ones for any table, and two fixed ones that golden traces are made of."""

import hashlib
from typing import Any

import pyarrow as pa
from hypothesis import strategies as st

from kvtrace.schema.features import FEATURES
from kvtrace.schema.repair import RANGES
from kvtrace.schema.table_types import Table
from kvtrace.schema.tables import TABLES

#: 2026-01-02 03:04:05.123456789 UTC.
MOMENT = 1_767_323_045_123_456_789
TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)
#: The content of two artifacts, in the order of their hashes.
CONTENTS = (bytes(range(256)), b"module {}\n")
HASHES = tuple(hashlib.sha256(content).hexdigest() for content in CONTENTS)


def values(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Values of an Arrow type, null left out at the top."""
    if pa.types.is_dictionary(kind):
        return values(kind.value_type)
    if pa.types.is_string(kind):
        return TEXTS
    if pa.types.is_binary(kind):
        return st.binary(max_size=40)
    if pa.types.is_boolean(kind):
        return st.booleans()
    if pa.types.is_timestamp(kind):
        return st.integers(-(2**62), 2**62)
    if pa.types.is_integer(kind):
        return st.integers(-(2 ** (kind.bit_width - 1)), 2 ** (kind.bit_width - 1) - 1)
    if pa.types.is_floating(kind):
        return st.floats(allow_nan=False)
    if pa.types.is_map(kind):
        return st.dictionaries(TEXTS, nullable(kind.item_type), max_size=3)
    if pa.types.is_list(kind):
        entries = values if pa.types.is_struct(kind.value_type) else nullable
        return st.lists(entries(kind.value_type), max_size=3)
    if pa.types.is_struct(kind):
        return st.fixed_dictionaries({field.name: nullable(field.type) for field in kind})
    raise AssertionError(f"no strategy for {kind}")


def nullable(kind: pa.DataType) -> st.SearchStrategy[Any]:
    """Values of an Arrow type, or None."""
    return st.none() | values(kind)


def rows_of(table: Table, max_size: int = 8) -> st.SearchStrategy[list[dict[str, Any]]]:
    """Lists of rows with every column, as they are read: see `kvtrace.schema.repair`."""
    row = {
        column.name: values(column.type) if column.key else nullable(column.type)
        for column in table.columns
    }
    if table.name == "runs":  # readers refuse runs with other features
        row["required_features"] = st.lists(st.sampled_from(sorted(FEATURES)), unique=True)
    return st.lists(st.fixed_dictionaries(row).map(_forwards), max_size=max_size)


def _forwards(row: dict[str, Any]) -> dict[str, Any]:
    """The row with no end before its begin, nor one without a begin: a writer may fill that in."""
    for begin, end in RANGES.values():
        if begin not in row or end not in row:
            continue
        if None in (row[begin], row[end]):
            row[end] = None
        else:
            row[begin], row[end] = sorted((row[begin], row[end]))
    return row


def plain(rows: pa.Table) -> list[dict[str, Any]]:
    """Rows as Python values: times as integers, facts as dictionaries; without the column "run"."""
    names = [name for name in rows.column_names if name != "run"]
    columns = [_plain_column(rows.column(name)) for name in names]
    return [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]


def _plain_column(column: pa.ChunkedArray) -> list[Any]:
    if pa.types.is_timestamp(column.type):
        return column.cast(pa.int64()).to_pylist()
    if pa.types.is_map(column.type):
        return [None if value is None else dict(value) for value in column.to_pylist()]
    return column.to_pylist()


def in_order(table: Table, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows as a part has them: by the table's order, nulls last, otherwise as they came."""
    return sorted(rows, key=lambda row: [_nulls_last(row[name]) for name in table.sort])


def _nulls_last(value: Any) -> tuple[Any, ...]:
    return (1,) if value is None else (0, value)


def fixed_rows(table: Table, run_id: str) -> list[dict[str, Any]]:
    """Two rows: one with every column set, one with the keys alone. They refer to each other."""
    full = {column.name: _fixed(column.name, column.type, 0) for column in table.columns}
    keys = {
        column.name: _fixed(column.name, column.type, 1) for column in table.columns if column.key
    }
    if table.name == "artifacts":
        keys |= {"size_bytes": len(CONTENTS[1]), "bytes": _compressed(1)}
    if table.name == "runs":
        return [{**full, "run_id": run_id, "schema_version": "1.0"}]
    empty = dict.fromkeys(column.name for column in table.columns)
    return [full, {**empty, **keys}]


def all_fixed_rows(run_id: str) -> dict[str, list[dict[str, Any]]]:
    """`fixed_rows` of every table."""
    return {name: fixed_rows(table, run_id) for name, table in TABLES.items()}


def _fixed(name: str, kind: pa.DataType, index: int) -> Any:
    if name == "required_features":
        return ["graph-replays", "weights"]
    if name in ("sha256", "artifact", "source_artifact", "value_artifact"):
        return HASHES[index]
    if name == "size_bytes":
        return len(CONTENTS[index])
    if pa.types.is_binary(kind):
        return _compressed(index)
    if pa.types.is_dictionary(kind) or pa.types.is_string(kind):
        return f"{name} {index}"
    if pa.types.is_boolean(kind):
        return True
    if pa.types.is_timestamp(kind):
        return MOMENT + index
    if pa.types.is_integer(kind):
        return index
    if pa.types.is_floating(kind):
        return index + 0.5
    if pa.types.is_map(kind):
        return {"key": "value", "nothing": None}
    if pa.types.is_list(kind):
        return [_fixed(name, kind.value_type, 0)]
    assert pa.types.is_struct(kind)
    return {field.name: _fixed(field.name, field.type, 0) for field in kind}


def _compressed(index: int) -> bytes:
    return pa.Codec("zstd", 3).compress(CONTENTS[index], asbytes=True)
