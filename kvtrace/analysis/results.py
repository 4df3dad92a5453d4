"""Results of an opened trace: rows as Arrow, and the results of commands."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from html import escape
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Generic, Literal, TypeVar, cast

import pyarrow as pa

from kvtrace.converters.query.query import column_values
from kvtrace.converters.query.query_output import table_lines
from kvtrace.schema.errors import BadSetting, MissingPackage
from kvtrace.schema.tables import TABLES
from kvtrace.text import (
    broken,
    display_width,
    plural,
    printable,
    shorten,
    with_schema,
    wrapped,
)

if TYPE_CHECKING:
    from typing import overload  # at run time it would keep DuckDB alive until Python ends

#: Rows that are shown when an object is printed.
_SHOWN: Final = 10
#: Rows that are converted to Python objects at a time.
_AT_ONCE: Final = 10_000
#: Width of printed text; a notebook does not report its width.
_WIDTH: Final = 100
#: Width to which cells of a table are shortened, rather than leave out columns.
_CELL: Final = 32

#: Severities as findings print them, in colors that both themes of notebooks show well.
_COLORS: Final = {"error": "#d1242f", "warning": "#9a6700", "note": "#0969da", "unknown": "#8250df"}
_SEVERITY: Final = re.compile(rf"\b({'|'.join(_COLORS)})\[[\w-]+\]")

Data = TypeVar("Data")
RowT = TypeVar("RowT")


class Rows(Sequence[RowT]):
    """Rows, each a dictionary with the types of `kvtrace.schema.row_types`; or an Arrow table."""

    def __init__(self, name: str, arrow: pa.Table) -> None:
        self.name = name
        self._arrow = arrow

    @property
    def arrow(self) -> pa.Table:
        """The rows."""
        return self._arrow

    def df(self, package: Literal["pandas", "polars", "arrow"] = "pandas") -> Any:
        """Return the rows as a DataFrame of pandas or Polars, or as a `pyarrow.Table`.

        Raises:
            MissingPackage: pandas or Polars is not installed.
            BadSetting: `package` is none of these.

        """
        if package not in ("pandas", "polars", "arrow"):
            raise BadSetting(
                f"df has no package {printable(repr(package))}; use 'pandas', 'polars' or 'arrow'"
            )
        if package == "arrow":
            return self.arrow
        try:
            module = import_module(package)
        except ImportError as problem:
            raise MissingPackage(
                f"{package} is not installed here; install it with pip install {package}, or use "
                '.df("arrow"), which needs nothing more.'
            ) from problem
        return self.arrow.to_pandas() if package == "pandas" else module.from_arrow(self.arrow)

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __iter__(self) -> Iterator[RowT]:
        """Yield the rows; points in time are ISO 8601 text."""
        table = self.arrow
        for start in range(0, table.num_rows, _AT_ONCE):
            names, rows = _values(table.slice(start, _AT_ONCE))
            yield from (self._row(names, row) for row in rows)

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, position: int) -> RowT: ...

        @overload
        def __getitem__(self, position: slice) -> "Rows[RowT]": ...

    def __getitem__(self, position: int | slice) -> "RowT | Rows[RowT]":
        """Return the row at an index, or for a slice without a step a `Rows` of its rows."""
        start, end, step = _range(position, len(self))
        if isinstance(position, slice):
            if step != 1:
                raise IndexError("rows are sliced without a step; .arrow.take has others")
            return Rows(self.name, self.arrow.slice(start, max(end - start, 0)))
        names, rows = _values(self.arrow.slice(start, 1))
        return self._row(names, rows[0])

    def _row(self, names: Sequence[str], values: Sequence[Any]) -> RowT:
        return cast(RowT, Row(self.name, dict(zip(names, values, strict=True))))

    def __repr__(self) -> str:
        names, rows = _values(self.arrow.slice(0, _SHOWN))
        lines = [f"{printable(self.name)}: {self._size()}"]
        for shown_columns in range(len(names), 0, -1):
            shown_rows = [row[:shown_columns] for row in rows]
            *table, _ = table_lines(names[:shown_columns], shown_rows, _WIDTH, _CELL)
            if shown_columns == 1 or max(map(display_width, table)) <= _WIDTH:
                lines += table
                break
        hidden_names = names[shown_columns:] if names else []
        if hidden_names:
            text = f"… {plural(len(hidden_names), 'more column')}: {', '.join(hidden_names)}"
            lines += wrapped(text, _WIDTH)
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the first rows with all columns, for notebooks."""
        names, rows = _values(self.arrow.slice(0, _SHOWN))
        cells = [[shorten(_value_text(value), _CELL * 2) for value in row] for row in rows]
        table = "".join([_html_row("th", names), *(_html_row("td", row) for row in cells)])
        return f"<p>{escape(printable(self.name))}: {self._size()}</p><table>{table}</table>"

    def _size(self) -> str:
        size = plural(len(self), "row")
        return size if len(self) <= _SHOWN else f"{size}, the first {_SHOWN} of them"


class Row(dict[str, Any]):
    """A row as a dictionary, which prints with the unit of each column."""

    def __init__(self, table: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.table = table

    def __repr__(self) -> str:
        described = _units_and_meanings(self.table)
        pairs = [
            (name, _with_unit(_value_text(value), described.get(name)))
            for name, value in self.items()
            if value is not None
        ]
        return "\n".join([f"a row of {printable(self.table)}", *_fact_lines(pairs, indent="  ")])


class CommandResult(Rows[RowT], Generic[Data, RowT]):
    """A command's result: `data` with typed fields, its text, and its main list as rows.

    Attributes:
        data: The result.
        text: The text that the command prints; of a slice, the text of each row.
        notes: Further messages, such as on calls that could not be evaluated.

    """

    def __init__(
        self, name: str, data: Data, objects: Callable[[Data], Any], kind: type[RowT],
        rows: Sequence[RowT], text: Sequence[str],
        row_text: Callable[[RowT], Sequence[str]] | None = None, notes: Sequence[str] = (),
        schema: str | None = None,
    ) -> None:  # fmt: skip
        self.name = name
        self.data = data
        self.text = "\n".join(map(printable, text))
        self.notes = tuple(notes)
        self._objects = objects
        self._schema = schema or name
        self._rows = rows
        self._columns = [column.name for column in fields(cast(Any, kind))]
        self._row_class = _shown_class(kind, row_text or _record_text)

    @property
    def arrow(self) -> pa.Table:
        """The rows, a column per field."""
        rows = [_plain(row) for row in self._rows]
        columns = [pa.array([row[name] for row in rows]) for name in self._columns]
        return pa.table(columns, names=self._columns)

    def to_json(self) -> Any:
        """Return the command's JSON output, as dictionaries and lists."""
        return with_schema(self._schema, self._objects(self.data))

    def __len__(self) -> int:
        return len(self._rows)

    def __iter__(self) -> Iterator[RowT]:
        """Yield the rows: dataclasses, which print everything about them."""
        return map(self._shown_row, self._rows)

    if TYPE_CHECKING:

        @overload
        def __getitem__(self, position: int) -> RowT: ...

        @overload
        def __getitem__(self, position: slice) -> "CommandResult[Data, RowT]": ...

    def __getitem__(self, position: int | slice) -> "RowT | CommandResult[Data, RowT]":
        """Return one row, or for a slice a result with its rows alone and the same `data`."""
        if not isinstance(position, slice):
            return self._shown_row(self._rows[position])
        part = copy(self)
        part._rows = self._rows[position]
        part.text = "\n\n".join(map(repr, part))
        return part

    def _shown_row(self, row: RowT) -> RowT:
        return self._row_class(**{name: getattr(row, name) for name in self._columns})

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """Return the command's text with severities in color, for notebooks."""
        return f"<pre>{_SEVERITY.sub(_colored, escape(self.text))}</pre>"


def _html_row(tag: str, texts: Sequence[str]) -> str:
    cells = "".join(f"<{tag}>{escape(printable(text))}</{tag}>" for text in texts)
    return f"<tr>{cells}</tr>"


def _colored(severity: re.Match[str]) -> str:
    return f'<b style="color:{_COLORS[severity[1]]}">{severity[0]}</b>'


def _shown_class(kind: type[RowT], text: Callable[[RowT], Sequence[str]]) -> type[RowT]:
    """Return a subclass of a dataclass, whose objects are printed by the function.

    They equal objects of the dataclass, as which they are pickled and copied.
    """
    names = [column.name for column in fields(cast(Any, kind))]

    def values(row: RowT) -> tuple[Any, ...]:
        return tuple(getattr(row, name) for name in names)

    methods = {
        "__slots__": (),
        "__doc__": kind.__doc__,
        "__module__": kind.__module__,
        "__repr__": lambda row: "\n".join(map(printable, text(row))),
        "__eq__": lambda row, other: isinstance(other, kind) and values(row) == values(other),
        "__hash__": kind.__hash__,
        "__reduce__": lambda row: (kind, values(row)),
    }
    return cast(type[RowT], type(kind.__name__, (kind,), methods))


def _record_text(row: Any) -> list[str]:
    """Return the fields of a row as lines, without fields that have no value."""
    return _fact_lines([(column.name, getattr(row, column.name)) for column in fields(row)])


def _fact_lines(pairs: Sequence[tuple[str, Any]], indent: str = "") -> list[str]:
    """Return lines of names and values; texts are wrapped and never shortened.

    Pairs whose value is None are left out.
    """
    width = max((len(name) for name, _ in pairs), default=0)
    lines = []
    for name, value in pairs:
        if value is not None:
            first, *more = broken(printable(_value_text(value)), _WIDTH - width - len(indent) - 2)
            lines.append(f"{indent}{printable(name):<{width}}  {first}".rstrip())
            lines += [f"{indent}{'':<{width}}  {line}" for line in more]
    return lines


def _value_text(value: Any) -> str:
    """Return a value as text: a text is whole, in the middle of other long values is …."""
    return value if isinstance(value, str) else shorten(str(value), _CELL * 2)


def _plain(value: Any) -> Any:
    """Return a value in types that Arrow accepts.

    Dataclasses become dictionaries, mappings lists of key and value; nested values, too.
    """
    if is_dataclass(value):
        return {column.name: _plain(getattr(value, column.name)) for column in fields(value)}
    if isinstance(value, Mapping):
        return [{"key": str(key), "value": _plain(item)} for key, item in value.items()]
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


def _values(table: pa.Table) -> tuple[Sequence[str], list[tuple[Any, ...]]]:
    """Return the columns' names and the rows, as `kvtrace sql` prints them."""
    return table.column_names, list(zip(*map(column_values, table.columns), strict=True))


def _range(position: int | slice, size: int) -> tuple[int, int, int]:
    if isinstance(position, slice):
        return position.indices(size)
    index = range(size)[position]  # counts from the end, and raises IndexError, like a list
    return index, index + 1, 1


def _units_and_meanings(table: str) -> dict[str, tuple[str, str]]:
    """Return unit and meaning of a table's columns by name, if the format defines the table."""
    definition = TABLES.get(table)
    return {} if definition is None else {c.name: (c.unit, c.meaning) for c in definition.columns}


def _with_unit(text: str, unit_and_meaning: tuple[str, str] | None) -> str:
    return text if unit_and_meaning is None else f"{text} {unit_and_meaning[0]}".rstrip()
