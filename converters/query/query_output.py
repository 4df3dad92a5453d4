"""Results of a query as an aligned table, as JSON objects, or as CSV."""

import base64
import csv
import io
import json
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from kvtrace.converters.query.csv import safe_text
from kvtrace.text import display_width, distinct, padded, printable

#: Range of the width to which cells are shortened until a table fits the terminal.
_WIDEST_CELL, _NARROWEST_CELL = 60, 16


def json_lines(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Return the lines of a JSON object whose `rows` have an object per row and line.

    Times become ISO 8601, binary values base64, NaN and infinities null.
    """
    objects = [json.dumps(dict(zip(names, map(_json_value, row), strict=True))) for row in rows]
    lines = [*(f"    {text}," for text in objects[:-1]), *(f"    {text}" for text in objects[-1:])]
    return ['{"schema": "sql", "version": 1, "rows": [', *lines, "]}"]


def csv_lines(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Return CSV (RFC 4180) with a header as one text in a list.

    Nested values are JSON; texts are escaped by `safe_text`.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(safe_text, names))
    writer.writerows(
        [safe_text(v) if isinstance(v, str) else _cell_text(v) for v in row] for row in rows
    )
    return [file.getvalue().removesuffix("\n")]


def table_lines(
    names: Sequence[str],
    rows: Sequence[Sequence[Any]],
    width: int | None = None,
    narrowest: int = _NARROWEST_CELL,
) -> list[str]:
    """Return the lines of an aligned table, with numbers aligned right and a count of rows.

    Wide cells are shortened to at least `narrowest` columns until the table fits into `width`
    columns; None: no cell is shortened. Different cells of a column stay different.
    """
    if tuple(names) == ("explain_key", "explain_value"):
        return [line for row in rows for line in str(row[1]).splitlines()]
    full_texts = [[printable(_cell_text(value)) for value in row] for row in rows]
    header = [printable(name) for name in names]
    cell_width = _WIDEST_CELL if width is not None else None
    while True:
        cells = full_texts
        if cell_width is not None:
            short = [distinct(column, cell_width) for column in zip(*full_texts, strict=True)]
            cells = [[short[i][cell] for i, cell in enumerate(row)] for row in full_texts]
        column_widths = [
            max(map(display_width, column)) for column in zip(header, *cells, strict=True)
        ]
        if width is None or cell_width is None or cell_width <= narrowest:
            break
        if sum(column_widths) + 2 * (len(column_widths) - 1) <= width:
            break
        cell_width -= 4
    numeric = [_is_numeric(column) for column in zip(*rows, strict=True)] or [False] * len(header)
    rules = ["-" * min(size, size if width is None else width - 2) for size in column_widths]
    lines = [
        "  ".join(padded(*cell) for cell in zip(row, column_widths, numeric, strict=True)).rstrip()
        for row in (header, rules, *cells)
    ]
    return [*lines, f"({len(rows):,} row{'' if len(rows) == 1 else 's'})"]


def _is_numeric(column: Sequence[Any]) -> bool:
    values = [value for value in column if value is not None]
    return bool(values) and all(
        isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in values
    )


def _cell_text(value: Any) -> str:
    plain = _json_value(value)
    if plain is None:
        return ""
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _json_value(value: Any) -> Any:
    """Return a value of a result as a JSON value."""
    match value:
        case bool() | int() | str() | None:
            return value
        case float():
            return value if value - value == 0 else None
        case dict():
            return {str(_json_value(key)): _json_value(item) for key, item in value.items()}
        case list() | tuple():
            return [_json_value(item) for item in value]
        case bytes() | bytearray() | memoryview():
            return base64.b64encode(bytes(value)).decode()
        case datetime() | date() | time():
            return value.isoformat()
        case Decimal():
            return int(value) if value == value.to_integral_value() else float(value)
        case timedelta():
            return value.total_seconds()
        case _:
            return str(value)
