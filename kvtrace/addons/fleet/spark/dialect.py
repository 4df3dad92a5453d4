"""Translation of DuckDB's SQL to Spark's, for kvtrace's views and users' queries.

In Spark, points in time are BIGINT, ns since 1970, since Spark's own type has no nanoseconds. So
`epoch_ns(t)` becomes `t`.
"""

from collections.abc import Collection
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kvtrace.converters.query.query import BadQuery

#: kvtrace's functions, which Spark lacks and are replaced by expressions.
_FUNCTIONS: Final = ("EPOCH_NS", "HOST_NS", "DEVICE_NS")


def spark_sql(text: str, names: Collection[str]) -> str:
    """Translate one statement for Spark, which may read only the tables and views in `names`.

    Raises:
        BadQuery: the statement is not correct, writes, reads other tables or files, or calls a
            function that sqlglot does not know, such as those that call Java.
    """
    statements = _statements(text)
    if len(statements) != 1:
        raise BadQuery(f"the query must be one SQL statement, but has {len(statements)}.")
    statement = statements[0]
    if not isinstance(statement, exp.Query):
        raise BadQuery(f"only statements that read are allowed, not {statement.key}.")
    _refuse_other_tables(statement, names)
    translated = statement.transform(_translated)
    try:
        return str(translated.sql(dialect="spark", unsupported_level=sqlglot.ErrorLevel.RAISE))
    except SqlglotError as problem:
        raise BadQuery(
            f"the SQL cannot be translated for Spark: {_first_line(problem)}"
        ) from problem


def names_in(text: str) -> set[str]:
    """Return the names, in lower case, of tables that SQL reads; BadQuery if it is not valid."""
    statements = _statements(text)
    return {table.name.lower() for one in statements for table in one.find_all(exp.Table)}


def _statements(text: str) -> list[exp.Expr]:
    try:
        return [parsed for parsed in sqlglot.parse(text, read="duckdb") if parsed is not None]
    except SqlglotError as problem:
        raise BadQuery(f"the SQL cannot be read: {_first_line(problem)}") from problem


def _refuse_other_tables(statement: exp.Expr, names: Collection[str]) -> None:
    aliases = {table.alias.lower() for table in statement.find_all(exp.CTE)}
    for table in statement.find_all(exp.Table):
        is_plain_name = (
            isinstance(table.this, exp.Identifier) and not table.db and not table.catalog
        )
        if not is_plain_name or table.name.lower() not in {*names, *aliases}:
            raise BadQuery(
                f"{table.sql(dialect='duckdb')} is not a table of the trace, and other tables "
                "cannot be read."
            )
    for function in statement.find_all(exp.Anonymous):
        if function.name.upper() not in _FUNCTIONS:
            raise BadQuery(f"the function {function.name} is not known.")


def _translated(node: exp.Expr) -> exp.Expr:
    if not isinstance(node, exp.Anonymous):
        return node
    arguments = node.expressions
    if node.name.upper() == "EPOCH_NS" and len(arguments) == 1:
        return exp.paren(arguments[0])
    if node.name.upper() in _FUNCTIONS and len(arguments) == 2:
        begin, end = map(exp.paren, arguments)
        return exp.paren(exp.Sub(this=end, expression=begin))
    raise BadQuery(f"{node.name} has a wrong number of arguments ({len(arguments)}).")


def _first_line(problem: SqlglotError) -> str:
    return str(problem).split("\n", 1)[0].strip().rstrip(".") + "."
