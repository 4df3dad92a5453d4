"""Tables that clients declare, and clients' rows as Arrow tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from kvtrace.schema.columns import batch_of_rows
from kvtrace.schema.errors import SchemaMismatch
from kvtrace.schema.table_types import Table
from kvtrace.schema.tables import TABLES

if TYPE_CHECKING:
    from kvtrace.clients.client import Client


def declared_tables(client: Client) -> tuple[Table, ...]:
    """Return the definitions of `client.tables`; SchemaMismatch for an unknown name."""
    return tuple(
        _format_table(table) if isinstance(table, str) else table for table in client.tables
    )


def filled_tables(tables: Sequence[Table], rows_by_name: Mapping[str, Any]) -> dict[str, pa.Table]:
    """Return an Arrow table for each definition, by name; empty without rows.

    SchemaMismatch if rows have no definition, or do not fit their definition.
    """
    unknown = sorted(set(rows_by_name) - {table.name for table in tables})
    if unknown:
        raise SchemaMismatch(f"it returns rows of {unknown[0]}, which it does not declare")
    return {table.name: _as_table(table, rows_by_name.get(table.name, ())) for table in tables}


def stack_table(rows: Sequence[Mapping[str, Any]]) -> pa.Table:
    """Return rows of `stacks` as an Arrow table."""
    return _as_table(TABLES["stacks"], rows)


def _format_table(name: str) -> Table:
    if name not in TABLES:
        raise SchemaMismatch(
            f"the format has no table {name!r}; a client's own table is made with client_table"
        )
    return TABLES[name]


def _as_table(table: Table, rows: Any) -> pa.Table:
    if isinstance(rows, pa.Table):
        return rows
    return pa.Table.from_batches([batch_of_rows(table, rows)], schema=table.schema)
