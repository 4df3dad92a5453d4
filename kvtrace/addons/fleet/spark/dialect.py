"""SQL of DuckDB's dialect written for Spark: of the views, and what a user asks.

Points in time are BIGINT there, ns since 1970: Spark's own keep no nanoseconds. So `epoch_ns(t)`
is `t`.
"""

from collections.abc import Collection
from typing import Final

import sqlglot
from sqlglot import exp
from sqlglot.errors import SqlglotError

from kvtrace.converters.query.query import BadQuery

#: kvtrace's functions in terms of their arguments; Spark has none of these names.
_OWN: Final = ("EPOCH_NS", "HOST_NS", "DEVICE_NS")


def spark_sql(text: str, known: Collection[str]) -> str:
    """Return one statement that reads the tables and views of these names, for Spark.

    Raises:
        BadQuery: it is not correct, does not only read, or reads what is not of the trace: a file,
            or by a function that sqlglot does not know, as those that call Java.

    """
    try:
        statements = [each for each in sqlglot.parse(text, read="duckdb") if each is not None]
    except SqlglotError as problem:
        raise BadQuery(f"the SQL cannot be read: {_first_line(problem)}") from problem
    if len(statements) != 1:
        raise BadQuery(f"one SQL statement is needed, and there are {len(statements)}.")
    statement = statements[0]
    if not isinstance(statement, exp.Query):
        raise BadQuery(f"only statements that read are run here, and this is {statement.key}.")
    _refuse_others(statement, known)
    written = statement.transform(_of_spark)
    try:
        return str(written.sql(dialect="spark", unsupported_level=sqlglot.ErrorLevel.RAISE))
    except SqlglotError as problem:
        raise BadQuery(f"Spark cannot be asked that: {_first_line(problem)}") from problem


def names_in(text: str) -> set[str]:
    """Return what a statement reads from; BadQuery where it cannot be read."""
    try:
        tables = [t for each in sqlglot.parse(text, read="duckdb") if each for t in _tables(each)]
    except SqlglotError as problem:
        raise BadQuery(f"the SQL cannot be read: {_first_line(problem)}") from problem
    return {table.name.lower() for table in tables}


def _tables(statement: exp.Expr) -> list[exp.Table]:
    return list(statement.find_all(exp.Table))


def _refuse_others(statement: exp.Expr, known: Collection[str]) -> None:
    own = {each.alias.lower() for each in statement.find_all(exp.CTE)}
    for table in _tables(statement):
        plain = isinstance(table.this, exp.Identifier) and not table.db and not table.catalog
        if not plain or table.name.lower() not in {*known, *own}:
            raise BadQuery(
                f"{table.sql(dialect='duckdb')} is not a table of the trace; only those are read "
                "here."
            )
    for function in statement.find_all(exp.Anonymous):
        if function.name.upper() not in _OWN:
            raise BadQuery(f"the function {function.name} is not known here.")


def _of_spark(node: exp.Expr) -> exp.Expr:
    if not isinstance(node, exp.Anonymous):
        return node
    arguments = node.expressions
    if node.name.upper() == "EPOCH_NS" and len(arguments) == 1:
        return exp.paren(arguments[0])
    if node.name.upper() in _OWN and len(arguments) == 2:
        begin, end = map(exp.paren, arguments)
        return exp.paren(exp.Sub(this=end, expression=begin))
    raise BadQuery(f"{node.name} is given {len(arguments)} arguments.")


def _first_line(problem: SqlglotError) -> str:
    return str(problem).split("\n", 1)[0].strip().rstrip(".") + "."
