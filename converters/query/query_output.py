"""Results of a query as an aligned table, as JSON objects, or as CSV."""

import base64
import csv
import io
import json
from collections.abc import Iterable, Sequence
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from kvtrace.converters.query.csv_cells import safe_text
from kvtrace.text import display_width, printable, shorten

#: Widths between which cells are shortened until a table fits the terminal.
_WIDEST_CELL, _NARROWEST_CELL = 60, 16


def json_lines(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Return the lines of a JSON array, with one object and line for each row.

    Times are ISO 8601, binary values base64, NaN and infinities null.
    """
    objects = [json.dumps(dict(zip(names, map(_plain, row), strict=True))) for row in rows]
    return ["[", *(f"  {text}," for text in objects[:-1]), *(f"  {t}" for t in objects[-1:]), "]"]


def csv_lines(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> list[str]:
    """Return CSV (RFC 4180) with a header; nested values are JSON, and texts `safe_text`."""
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(map(safe_text, names))
    writer.writerows([_csv_cell(value) for value in row] for row in rows)
    return [file.getvalue().removesuffix("\n")]


def _csv_cell(value: Any) -> str:
    return safe_text(value) if isinstance(value, str) else _cell(value)


def table_lines(
    names: Sequence[str], rows: Sequence[Sequence[Any]], width: int | None = None
) -> list[str]:
    """Return an aligned table with numbers to the right.

    Wide cells are shortened until the table fits into `width` columns; None shortens none.
    """
    if tuple(names) == ("explain_key", "explain_value"):
        return [line for row in rows for line in str(row[1]).splitlines()]
    texts = [[printable(_cell(value)) for value in row] for row in rows]
    header = [printable(name) for name in names]
    widest = _WIDEST_CELL if width is not None else None
    while True:
        cells = texts
        if widest is not None:
            cells = [[shorten(cell, widest) for cell in row] for row in texts]
        sizes = [max(map(display_width, column)) for column in zip(header, *cells, strict=True)]
        if width is None or widest is None or widest <= _NARROWEST_CELL:
            break
        if sum(sizes) + 2 * (len(sizes) - 1) <= width:
            break
        widest -= 4
    numeric = [_is_numeric(column) for column in zip(*rows, strict=True)] or [False] * len(header)
    lines = [
        "  ".join(_padded(*cell) for cell in zip(row, sizes, numeric, strict=True)).rstrip()
        for row in (header, ["-" * size for size in sizes], *cells)
    ]
    return [*lines, f"({len(rows):,} row{'' if len(rows) == 1 else 's'})"]


def _is_numeric(column: Sequence[Any]) -> bool:
    values = [value for value in column if value is not None]
    return bool(values) and all(
        isinstance(value, int | float | Decimal) and not isinstance(value, bool) for value in values
    )


def _padded(cell: str, size: int, numeric: bool) -> str:
    blank = " " * (size - display_width(cell))
    return blank + cell if numeric else cell + blank


def _cell(value: Any) -> str:
    plain = _plain(value)
    if plain is None:
        return ""
    return plain if isinstance(plain, str) else json.dumps(plain, ensure_ascii=False)


def _plain(value: Any) -> Any:
    """Return the value as a value of JSON."""
    match value:
        case bool() | int() | str() | None:
            return value
        case float():
            return value if value - value == 0 else None
        case dict():
            return {str(_plain(key)): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
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
