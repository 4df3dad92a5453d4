"""Tables of clients: `client_<name>`, with columns that the client defines.

The format does not define these tables, so the metadata of each file describes rows and columns.
Any Parquet reader reads them like other tables. They are derived, never captured.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Final

import pyarrow as pa

from kvtrace.schema.errors import DamagedFile, SchemaMismatch
from kvtrace.schema.table_types import Column, Table
from kvtrace.schema.tables import TABLES

PREFIX: Final = "client_"
_NAME: Final = re.compile(r"client_[a-z0-9_]+")
_COLUMN: Final = re.compile(r"[a-z][a-z0-9_]*")
_DEFINITION_KEY: Final = b"kvtrace.table_definition"

#: Columns that readers add.
_RESERVED_COLUMNS: Final = frozenset({"run"})


def client_table(name: str, row: str, columns: Sequence[Column], sort: Sequence[str] = ()) -> Table:
    """Define the table `client_<name>`.

    Columns `call_id` and `stack_id` refer to calls and stacks, as everywhere in the format.

    Args:
        name: Lower-case letters, digits and `_`.
        row: Meaning of a row, as "a loop of a call".
        columns: The columns, in order.
        sort: Columns by which rows are sorted, the most significant first.

    Raises:
        SchemaMismatch: a name is not valid, or a column occurs twice.

    """
    table = Table(f"{PREFIX}{name}", row, "derived", tuple(columns), tuple(sort))
    if not is_client_table(table.name):
        raise SchemaMismatch(f"{name!r} is not a name for a client's table; use a-z, 0-9 and _")
    names = [column.name for column in table.columns]
    for column in names:
        if (
            _COLUMN.fullmatch(column) is None
            or column in _RESERVED_COLUMNS
            or names.count(column) > 1
        ):
            raise SchemaMismatch(f"{column!r} cannot be a column of {table.name}, or is one twice")
    if not names or set(table.sort) - set(names):
        raise SchemaMismatch(f"{table.name} has no columns, or is sorted by one that it lacks")
    return table


def is_client_table(name: str) -> bool:
    """Return whether a table's name has the form `client_<name>`."""
    return _NAME.fullmatch(name) is not None


def definition_metadata(table: Table) -> dict[bytes, bytes]:
    """Return metadata that define a client's table, for its files; {} for tables of the format."""
    if table.name in TABLES:
        return {}
    columns = [
        {"name": c.name, "meaning": c.meaning, "unit": c.unit, "key": c.key} for c in table.columns
    ]
    definition = {"row": table.row, "columns": columns, "sort": list(table.sort)}
    return {_DEFINITION_KEY: json.dumps(definition).encode()}


def table_of_file(name: str, schema: pa.Schema, source: str) -> Table:
    """Return the definition of a client's table from the Arrow schema of a file.

    Raises:
        DamagedFile: the file has no definition, or one with invalid names.

    """
    metadata: Mapping[bytes, bytes] = schema.metadata or {}
    try:
        definition = json.loads(metadata[_DEFINITION_KEY])
        columns = tuple(
            Column(c["name"], schema.field(c["name"]).type, c["meaning"], c["unit"], key=c["key"])
            for c in definition["columns"]
        )
        return client_table(
            name.removeprefix(PREFIX), definition["row"], columns, definition["sort"]
        )
    except SchemaMismatch as error:
        raise DamagedFile(
            f"{source} has no valid definition of its table: {error}; run the client that wrote it "
            "again"
        ) from error
    except (KeyError, TypeError, ValueError, RecursionError) as error:
        raise DamagedFile(
            f"{source} does not say what its columns are; write it with kvtrace.table_definition"
        ) from error


def merged_definition(tables: Iterable[Table]) -> Table:
    """Return a client's table with the columns of all `tables`, its versions, newest first.

    Raises:
        SchemaMismatch: a column has two types.

    """
    first, *others = tables
    columns = {column.name: column for column in first.columns}
    for table in others:
        for column in table.columns:
            newer = columns.setdefault(column.name, column)
            if newer.type != column.type:
                raise SchemaMismatch(
                    f"runs differ in {first.name}.{column.name}: it is {newer.type} here and "
                    f"{column.type} there; run the client again over the older ones, or choose "
                    "runs with --run"
                )
    return replace(first, columns=tuple(columns.values()))
