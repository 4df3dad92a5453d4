"""Results of an opened trace: rows as Arrow, and the results of commands."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, is_dataclass
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Generic, TypeVar

import pyarrow as pa

from kvtrace.analysis.shown import markup
from kvtrace.analysis.shown.markup import Column
from kvtrace.converters.query.query import column_values
from kvtrace.converters.query.query_output import table_lines
from kvtrace.schema.errors import MissingPackage
from kvtrace.schema.tables import TABLES
from kvtrace.text import plural, printable

#: Rows that are shown when an object is printed.
_SHOWN: Final = 10
#: Rows that are converted to Python objects at a time.
_AT_ONCE: Final = 10_000
#: Width of printed text; a notebook does not report its width.
_WIDTH: Final = 100

Data = TypeVar("Data")


class Rows:
    """Rows as an Arrow table, which pandas and Polars can read if they are installed."""

    def __init__(self, name: str, arrow: pa.Table) -> None:
        self.name = name
        self._arrow = arrow

    @property
    def arrow(self) -> pa.Table:
        """The rows."""
        return self._arrow

    def to_pandas(self) -> Any:
        """Return the rows as a `pandas.DataFrame`.

        Raises:
            MissingPackage: pandas is not installed.

        """
        _package("pandas")
        return self.arrow.to_pandas()

    def to_polars(self) -> Any:
        """Return the rows as a `polars.DataFrame`.

        Raises:
            MissingPackage: Polars is not installed.

        """
        return _package("polars").from_arrow(self.arrow)

    def pl(self) -> Any:
        """Return the rows as a `polars.DataFrame`, like `to_polars`; DuckDB has this name."""
        return self.to_polars()

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as dictionaries; points in time are ISO 8601 text."""
        table = self.arrow
        for start in range(0, table.num_rows, _AT_ONCE):
            names, rows = _values(table.slice(start, _AT_ONCE))
            yield from (dict(zip(names, row, strict=True)) for row in rows)

    def __getitem__(self, position: int | slice) -> Any:  # typing.overload would keep DuckDB alive
        """Return the row at an index, or for a slice without a step a `Rows` of its rows."""
        start, end, step = _range(position, len(self))
        if isinstance(position, slice):
            if step != 1:
                raise IndexError("rows are sliced without a step; .arrow.take has others")
            return Rows(self.name, self.arrow.slice(start, max(end - start, 0)))
        names, rows = _values(self.arrow.slice(start, 1))
        return Row(self.name, dict(zip(names, rows[0], strict=True)))

    def __repr__(self) -> str:
        names, rows = _values(self.arrow.slice(0, _SHOWN))
        *lines, _ = table_lines(names, rows, _WIDTH)
        return "\n".join([f"{printable(self.name)}: {self._size()}", *(_cut(x) for x in lines)])

    def _repr_html_(self) -> str:
        names, rows = _values(self.arrow.slice(0, _SHOWN))
        caption = f"{markup.words(self.name)} <small>{self._size()}{_origin(self.name)}</small>"
        columns = [self._column(position, name) for position, name in enumerate(names)]
        return markup.shown(markup.table(columns, rows, caption))

    def _column(self, position: int, name: str) -> Column[tuple[Any, ...]]:
        unit_and_meaning = _units_and_meanings(self.name).get(name)
        unit, meaning = unit_and_meaning or ("", "")
        is_integer = pa.types.is_integer(kind := self.arrow.schema.field(position).type)
        is_number = is_integer or pa.types.is_floating(kind)
        return Column(
            name, lambda row: None if row[position] is None else _cut(str(row[position])), unit, "",
            meaning, "number" if is_number else "words",
        )  # fmt: skip

    def _size(self) -> str:
        size = plural(len(self), "row")
        return size if len(self) <= _SHOWN else f"{size}, the first {_SHOWN} of them"


class Row(dict[str, Any]):
    """A row as a dictionary, which a notebook shows with the meaning of each column."""

    def __init__(self, table: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.table = table

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        described = _units_and_meanings(self.table)
        lines = [
            _cut(f"  {name:<{width}}  {_with_unit(value, described.get(name))}")
            for name, value in self.items()
            if value is not None
        ]
        return "\n".join([f"a row of {printable(self.table)}", *map(printable, lines)])

    def _repr_html_(self) -> str:
        described = _units_and_meanings(self.table)
        columns: list[Column[tuple[str, Any]]] = [
            Column("column", lambda pair: pair[0], kind="code"),
            Column("value", lambda pair: _cut(str(pair[1])), kind="sentence"),
            Column("unit", lambda pair: described.get(pair[0], ("", ""))[0]),
            Column("meaning", lambda pair: described.get(pair[0], ("", ""))[1], kind="sentence"),
        ]
        caption = f"a row of {markup.words(self.table)} <small>{_origin(self.table)[2:]}</small>"
        pairs = [pair for pair in self.items() if pair[1] is not None]
        return markup.shown(markup.table(columns, pairs, caption))


class Entry:
    """One entry of a command's result: attributes are those of `data`; shown as text or HTML."""

    def __init__(self, data: Any, text: Sequence[str], html: str) -> None:
        self.data = data
        self.text = "\n".join(map(printable, text))
        self._html = html

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "data":
            raise AttributeError(name)
        return getattr(self.data, name)

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self._html


@dataclass(frozen=True, slots=True)
class Presentation(Generic[Data]):
    """Functions that return the text and HTML of a command's result, and of one entry."""

    text: Sequence[str]
    html: Callable[[Data], str]
    entry_text: Callable[[Data, Any], Sequence[str]]
    entry_html: Callable[[Data, Any], str]


class CommandResult(Rows, Generic[Data]):
    """A command's result: `data` with typed fields, its text, and its main list as rows.

    Attributes:
        data: The result.
        text: The text that the command prints.
        notes: Further messages, such as on calls that could not be evaluated.

    """

    def __init__(
        self, name: str, data: Data, objects: Callable[[Data], Any], kind: type[Any],
        entries: Sequence[Any], shown: Presentation[Data], notes: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.name = name
        self.data = data
        self.text = "\n".join(map(printable, shown.text))
        self.notes = tuple(notes)
        self._shown = shown
        self._objects = objects
        self._columns = [column.name for column in fields(kind)]
        self._entries = entries

    @property
    def arrow(self) -> pa.Table:
        """The main list, one row per entry."""
        entries = [_plain(entry) for entry in self._entries]
        columns = [pa.array([entry[name] for entry in entries]) for name in self._columns]
        return pa.table(columns, names=self._columns)

    def to_json(self) -> Any:
        """Return the command's JSON output, as dictionaries and lists."""
        return self._objects(self.data)

    def __len__(self) -> int:
        return len(self._entries)

    def __getitem__(self, position: Any) -> Any:
        """Return one entry of the main list, or a list of entries for a slice."""
        if isinstance(position, slice):
            return [self._entry(data) for data in self._entries[position]]
        return self._entry(self._entries[position])

    def _entry(self, data: Any) -> Entry:
        presentation = self._shown
        return Entry(
            data, presentation.entry_text(self.data, data), presentation.entry_html(self.data, data)
        )

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self._shown.html(self.data)


def record_text(_: Any, entry: Any) -> list[str]:
    """Return the fields of an entry as lines, without fields that have no value."""
    pairs = [(column.name, getattr(entry, column.name)) for column in fields(entry)]
    width = max(len(name) for name, _ in pairs)
    return [_cut(f"{name:<{width}}  {value}") for name, value in pairs if value is not None]


def record_html(_: Any, entry: Any) -> str:
    """Return the fields of an entry as HTML."""
    return markup.shown(markup.facts((f.name, getattr(entry, f.name)) for f in fields(entry)))


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


def _package(name: str) -> ModuleType:
    try:
        return import_module(name)
    except ImportError as problem:
        raise MissingPackage(
            f"{name} is not installed here; install it with pip install {name}, or use .arrow, "
            "which needs nothing more."
        ) from problem


def _cut(line: str) -> str:
    return line if len(line) <= _WIDTH else line[: _WIDTH - 1] + "…"


def _range(position: int | slice, size: int) -> tuple[int, int, int]:
    if isinstance(position, slice):
        return position.indices(size)
    index = range(size)[position]  # counts from the end, and raises IndexError, like a list
    return index, index + 1, 1


def _units_and_meanings(table: str) -> dict[str, tuple[str, str]]:
    """Return unit and meaning of a table's columns by name, if the format defines the table."""
    definition = TABLES.get(table)
    return {} if definition is None else {c.name: (c.unit, c.meaning) for c in definition.columns}


def _origin(table: str) -> str:
    """Return HTML that says what a row of the table is, and if it is measured; "" if unknown."""
    definition = TABLES.get(table)
    if definition is None:
        return ""
    source = (
        "measured while recording" if definition.origin == "captured" else "derived from the trace"
    )
    return f"; a row is {markup.words(definition.row)}; {source}"


def _with_unit(value: Any, unit_and_meaning: tuple[str, str] | None) -> str:
    return f"{value} {unit_and_meaning[0]}".rstrip() if unit_and_meaning is not None else str(value)
