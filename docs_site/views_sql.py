"""Generator of schema/views.sql, the tables and views of a trace in DuckDB's SQL, without kvtrace.

`python -m docs_site.views_sql` writes it: tables by `schema/tables.txt`, views as in `kvtrace sql`.
"""

from collections.abc import Callable, Iterable, Iterator
from textwrap import dedent
from typing import Final

import pyarrow as pa

from docs_site.format_pages import STORED_SUMS
from docs_site.repository import ROOT
from kvtrace.figures.views import VIEWS, view_texts
from kvtrace.schema.features import FEATURES
from kvtrace.schema.table_types import Column, Table
from kvtrace.schema.tables import TABLES

VIEWS_SQL: Final = ROOT / "schema" / "views.sql"
#: Views of kvtrace that the file has, with those that they use.
PUBLISHED: Final = ("launched", "executed")
#: Tables of which passes add rows that are there already.
_REPEATED: Final = {"stacks": "stack_id", "artifacts": "sha256"}
_TYPES: Final = {
    "int32": "INTEGER",
    "int64": "BIGINT",
    "double": "DOUBLE",
    "bool": "BOOLEAN",
    "string": "VARCHAR",
    "binary": "BLOB",
    "timestamp[ns, tz=UTC]": "TIMESTAMPTZ_NS",
}
#: Files of a table.
_PARTS: Final = f"run=*/part-*{'[0-9]' * 5}.parquet"
#: The first lines, with names in braces for the files, the required columns and the types.
_HEAD: Final = ROOT / "docs_site" / "views_head.sql"
_PORTABLE: Final = """\
-- What follows is SQL of other engines, too, with CAST(x AS BIGINT) in place of epoch_ns(x).
"""


def text() -> str:
    """Return the text of schema/views.sql."""
    tables = [table for table in TABLES.values() if table.name not in STORED_SUMS]
    required = _values(tables, lambda table: ((name,) for name in table.required))
    types = _values(tables, _kinds)
    head = _HEAD.read_text(encoding="utf-8").replace("{parts}", _PARTS)
    head = head.replace("{required}", required).replace("{types}", types)
    statements = [head, *map(_table, tables), _PORTABLE]
    views = view_texts(PUBLISHED, VIEWS).items()
    statements += [f"CREATE OR REPLACE VIEW {name} AS\n{_flush(text)};\n" for name, text in views]
    return "\n".join(statements)


def _values(tables: Iterable[Table], of: Callable[[Table], Iterable[tuple[str, ...]]]) -> str:
    """Return rows of SQL that begin with a table's name, a line for each table."""
    rows = ([str((table.name, *rest)) for rest in dict.fromkeys(of(table))] for table in tables)
    return ",\n      ".join(map(", ".join, rows))


def _kinds(table: Table) -> Iterator[tuple[str, str]]:
    """Yield the columns of a table and the fields in them, with patterns of their SQL types."""
    pending = [pa.field(column.name, column.type) for column in table.columns]
    for field in pending:
        kind, depth = field.type, 0
        while pa.types.is_list(kind):
            kind, depth = kind.value_type, depth + 1
        is_struct = pa.types.is_struct(kind)
        pending += kind if is_struct else ()
        yield field.name, ("STRUCT(%)" if is_struct else sql_type(kind)) + "[]" * depth


def sql_type(kind: pa.DataType) -> str:
    """Return DuckDB's name of an Arrow type."""
    if pa.types.is_dictionary(kind):
        return "VARCHAR"
    if pa.types.is_map(kind):
        return f"MAP({sql_type(kind.key_type)}, {sql_type(kind.item_type)})"
    if pa.types.is_list(kind):
        return f"{sql_type(kind.value_type)}[]"
    if pa.types.is_struct(kind):
        fields = (f'"{field.name}" {sql_type(field.type)}' for field in kind)
        return f"STRUCT({', '.join(fields)})"
    return _TYPES[str(kind)]


def _table(table: Table) -> str:
    key = _REPEATED.get(table.name)
    distinct = f'DISTINCT ON (run, "{key}") ' if key else ""
    columns = ",\n  ".join(map(_column, table.columns))
    absent = ", ".join(f'NULL AS "{name}"' for name in ("run", *table.names))
    files = f"'out/{table.name}/{_PARTS}', union_by_name = true, allow_empty = true"
    return f"""\
-- {table.row[0].upper()}{table.row[1:]}.
CREATE OR REPLACE VIEW {table.name} AS SELECT {distinct}run::VARCHAR AS run,
  {columns}
FROM (FROM read_parquet({files}, hive_types_autocast = false)
  UNION ALL BY NAME SELECT {absent} WHERE false)
{_condition(table)};
"""  # noqa: S608


def _flush(text: str) -> str:
    """Return a query without the indentation that it has in Python."""
    return dedent("\n".join(line for line in text.splitlines() if line.strip()))


def _column(column: Column) -> str:
    return f'"{column.name}"::{sql_type(column.type)} AS "{column.name}"'


def _condition(table: Table) -> str:
    if table.name != "runs":
        return "WHERE run IN (SELECT run FROM runs)"
    known = ", ".join(f"'{name}'" for name in FEATURES)
    return (
        f"WHERE CASE WHEN list_has_all([{known}], coalesce(required_features, [])) THEN true\n"
        "  ELSE error('run ' || run_id || ' requires ' || required_features::VARCHAR) END"
    )


def main() -> None:
    """Write schema/views.sql."""
    VIEWS_SQL.write_text(text(), encoding="utf-8")


if __name__ == "__main__":
    main()
