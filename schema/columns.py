"""Conversion of values to the exact columns of a table, strict to write and tolerant to read."""

from collections.abc import Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any

import pyarrow as pa

from kvtrace.schema.arrays import UnknownField, array_of, array_of_memory
from kvtrace.schema.errors import DamagedFile, SchemaMismatch
from kvtrace.schema.table_types import Table
from kvtrace.schema.tables import TABLES

#: Values of a column: an Arrow array, a NumPy array or another buffer of numbers, or a sequence of
#: Python values.
ColumnValues = Any


def table_named(name: str) -> Table:
    """Return the definition of a table of the format; SchemaMismatch for other names."""
    table = TABLES.get(name)
    if table is None:
        raise SchemaMismatch(
            f"the trace format has no table {name!r}; its tables are {', '.join(TABLES)}"
        )
    return table


def batch_of_columns(table: Table, columns: Mapping[str, ColumnValues]) -> pa.RecordBatch:
    """Return a batch with the table's schema; missing columns are null.

    Raises:
        SchemaMismatch: an unknown column, columns of different lengths, values that do not fit the
            column's type, or a null in a key column.

    """
    _refuse_unknown(table, columns)
    if not columns:
        raise SchemaMismatch(f"no columns were given for the table {table.name}")
    arrays = {name: _column_array(table, name, values) for name, values in columns.items()}
    lengths = {len(array) for array in arrays.values()}
    if len(lengths) > 1:
        lengths_text = ", ".join(f"{name} {len(array)}" for name, array in arrays.items())
        raise SchemaMismatch(f"columns of {table.name} differ in length: {lengths_text}")
    count = lengths.pop()
    schema = table.schema
    full_columns = [
        arrays[field.name] if field.name in arrays else pa.nulls(count, field.type)
        for field in schema
    ]
    for name in table.keys:
        nulls = arrays[name].null_count if name in arrays else count
        if nulls:
            raise SchemaMismatch(f"{table.name}.{name} is a key, but null in {nulls} rows")
    return pa.RecordBatch.from_arrays(full_columns, schema=schema)


def batch_of_rows(table: Table, rows: Iterable[Mapping[str, Any]]) -> pa.RecordBatch:
    """Return a batch of rows; unknown keys are an error at any depth (Arrow would drop them).

    Raises:
        SchemaMismatch: as `batch_of_columns`.

    """
    row_list = list(rows)
    _refuse_unknown(table, set().union(*row_list))
    return batch_of_columns(
        table, {column.name: _values(row_list, column.name) for column in table.columns}
    )


def _values(rows: Sequence[Mapping[str, Any]], name: str) -> list[Any]:
    """Return the values of a column, None where a row has none."""
    try:
        return list(map(itemgetter(name), rows))  # as most columns: every row has a value
    except KeyError:
        return [row.get(name) for row in rows]


def conformed(table: Table, rows: pa.Table) -> pa.Table:
    """Return a `pa.Table` converted to the table's exact schema, missing columns full of nulls.

    Raises:
        SchemaMismatch: a column is unknown or of a type that does not fit, or a key is null.

    """
    _refuse_unknown(table, rows.column_names)
    columns = []
    for column in table.columns:
        if column.name not in rows.column_names:
            columns.append(pa.chunked_array([pa.nulls(rows.num_rows, column.type)]))
            continue
        values = rows.column(column.name)
        try:
            columns.append(values if values.type == column.type else _cast(values, column.type))
        except pa.ArrowException as error:
            raise SchemaMismatch(
                f"{table.name}.{column.name} is {column.type}, and {values.type} does not fit: "
                f"{error}"
            ) from error
    for name in table.keys:
        if columns[table.schema.get_field_index(name)].null_count:
            raise SchemaMismatch(f"{table.name}.{name} is a key, but null in some rows")
    return pa.table(columns, schema=table.schema)


def filled(table: Table, rows: pa.Table, names: Sequence[str], source: str) -> pa.Table:
    """Return the columns `names` of rows read from a file; columns that the file lacks are null.

    Raises:
        DamagedFile: a column has another type than the format says.

    """
    kinds = {column.name: column.type for column in table.columns}
    # Nullable: a file of an older minor version may lack columns that were added since.
    arrow_type = pa.schema([(name, kinds[name]) for name in names])
    if rows.schema.names == arrow_type.names and rows.schema.types == arrow_type.types:
        return pa.table(rows.columns, schema=arrow_type)
    columns = []
    for field in arrow_type:
        name = field.name
        if name not in rows.column_names:
            columns.append(pa.chunked_array([pa.nulls(rows.num_rows, field.type)]))
            continue
        values = rows.column(name)
        if not is_readable_as(values.type, field.type):
            raise DamagedFile(
                f"column {name} of {source} is {values.type}, and the format says {field.type}; "
                "restore the file, or move it out of the trace"
            )
        columns.append(values if values.type == field.type else _cast(values, field.type))
    return pa.table(columns, schema=arrow_type)


def checked_names(table: Table, names: Sequence[str] | None) -> tuple[str, ...]:
    """Return distinct column names (None: all); SchemaMismatch names an unknown column."""
    if names is None:
        return tuple(column.name for column in table.columns)
    _refuse_unknown(table, names)
    return tuple(dict.fromkeys(names))


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return a type as Parquet has it: without dictionaries and Arrow's other encodings.

    Other programs' Arrow libraries write strings and lists in encodings of their own, which a
    reader converts; they do not differ in the file's Parquet types.
    """
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
        return pa.string()
    if pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
        return pa.binary()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        return pa.list_(plain_type(kind.value_type))
    if pa.types.is_map(kind):
        return pa.map_(plain_type(kind.key_type), plain_type(kind.item_type))
    if pa.types.is_struct(kind):
        return pa.struct([(field.name, plain_type(field.type)) for field in kind])
    return kind


def is_readable_as(stored: pa.DataType, kind: pa.DataType) -> bool:
    """Return whether a file's type has the format's values; fields of structs are found by name.

    A struct may lack fields, which are then null, and may have fields of newer minor versions.
    """
    if stored == kind:
        return True
    stored, kind = plain_type(stored), plain_type(kind)
    if pa.types.is_list(stored) and pa.types.is_list(kind):
        return is_readable_as(stored.value_type, kind.value_type)
    if not (pa.types.is_struct(stored) and pa.types.is_struct(kind)):
        return bool(stored == kind)
    known = [field for field in stored if kind.get_field_index(field.name) >= 0]
    return bool(known) and all(is_readable_as(f.type, kind.field(f.name).type) for f in known)


def unknown_fields(stored: pa.DataType, kind: pa.DataType) -> list[str]:
    """Return the fields of a file's struct, or list of structs, that the format does not have."""
    stored, kind = plain_type(stored), plain_type(kind)
    if pa.types.is_list(stored):
        return unknown_fields(stored.value_type, kind.value_type)
    if not pa.types.is_struct(stored):
        return []
    return [field.name for field in stored if kind.get_field_index(field.name) < 0]


def without_dictionary(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """Return the column decoded to plain values, since dictionaries may differ between chunks."""
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def _refuse_unknown(table: Table, names: Iterable[str]) -> None:
    unknown = sorted(set(names) - {column.name for column in table.columns})
    if unknown:
        raise SchemaMismatch(
            f"the table {table.name} has no column {', '.join(map(repr, unknown))}; "
            f"its columns are {', '.join(column.name for column in table.columns)}"
        )


def _column_array(table: Table, name: str, values: ColumnValues) -> pa.Array:
    arrow_type = table.schema.field(name).type
    where = f"{table.name}.{name}"
    if isinstance(values, pa.ChunkedArray):
        values = values.combine_chunks()
    if isinstance(values, str | bytes | Mapping):
        raise SchemaMismatch(f"{where} needs one value per row, not a single {type(values)}")
    arrow = values if isinstance(values, pa.Array) else array_of_memory(values)
    if arrow is not None:
        return _arrow_array(arrow, arrow_type, where)
    try:
        return array_of(list(values), arrow_type)
    except UnknownField as error:
        raise SchemaMismatch(f"{where} {error}") from error
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        kind = "" if pa.types.is_nested(arrow_type) else f" ({arrow_type})"
        raise SchemaMismatch(f"values do not fit {where}{kind}: {error}") from error


def _arrow_array(values: pa.Array, arrow_type: pa.DataType, where: str) -> pa.Array:
    if values.type == arrow_type:
        return values
    if pa.types.is_timestamp(arrow_type) and pa.types.is_int64(values.type):
        return values.view(arrow_type)  # a cast would import all of pyarrow.compute
    try:
        return _cast(values, arrow_type)
    except pa.ArrowException as error:
        raise SchemaMismatch(f"{where} is {arrow_type}, and {values.type} does not fit") from error


def _cast(values: Any, arrow_type: pa.DataType) -> Any:
    if pa.types.is_dictionary(arrow_type) and pa.types.is_dictionary(values.type):
        values = values.cast(arrow_type.value_type)
    return values.cast(arrow_type)
