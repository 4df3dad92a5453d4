"""What an opened trace gives: rows as Arrow, and what a command says of them."""

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

#: Rows that are shown where an object is printed.
_SHOWN: Final = 10
#: Rows that become Python's objects at a time.
_AT_ONCE: Final = 10_000
#: Columns of a terminal; a notebook has no width that it tells.
_WIDTH: Final = 100

Data = TypeVar("Data")


class Rows:
    """Rows as an Arrow table, which pandas and Polars are given where they are installed."""

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
        """Return the rows as `to_polars` does, by the name that DuckDB has for it."""
        return self.to_polars()

    def __len__(self) -> int:
        return int(self.arrow.num_rows)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Go through the rows as dictionaries; points in time are ISO 8601 text."""
        table = self.arrow
        for start in range(0, table.num_rows, _AT_ONCE):
            names, rows = _values(table.slice(start, _AT_ONCE))
            yield from (dict(zip(names, row, strict=True)) for row in rows)

    def __getitem__(self, place: int | slice) -> Any:  # typing.overload would keep DuckDB alive
        """Return one row, or as rows what a slice without a step takes."""
        start, end, step = _range(place, len(self))
        if isinstance(place, slice):
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
        told = f"{markup.words(self.name)} <small>{self._size()}{_origin(self.name)}</small>"
        columns = [self._column(place, name) for place, name in enumerate(names)]
        return markup.shown(markup.table(columns, rows, told))

    def _column(self, place: int, name: str) -> Column[tuple[Any, ...]]:
        known = _known(self.name).get(name)
        unit, meaning = known or ("", "")
        numbers = pa.types.is_integer(kind := self.arrow.schema.field(place).type)
        number = numbers or pa.types.is_floating(kind)
        return Column(
            name, lambda row: None if row[place] is None else _cut(str(row[place])), unit, "",
            meaning, "number" if number else "words",
        )  # fmt: skip

    def _size(self) -> str:
        size = plural(len(self), "row")
        return size if len(self) <= _SHOWN else f"{size}, the first {_SHOWN} of them"


class Row(dict[str, Any]):
    """A row as a dictionary, which a notebook shows with what each column means."""

    def __init__(self, table: str, values: Mapping[str, Any]) -> None:
        super().__init__(values)
        self.table = table

    def __repr__(self) -> str:
        width = max(map(len, self), default=0)
        known = _known(self.table)
        lines = [
            _cut(f"  {name:<{width}}  {_with_unit(value, known.get(name))}")
            for name, value in self.items()
            if value is not None
        ]
        return "\n".join([f"a row of {printable(self.table)}", *map(printable, lines)])

    def _repr_html_(self) -> str:
        known = _known(self.table)
        columns: list[Column[tuple[str, Any]]] = [
            Column("column", lambda pair: pair[0], kind="code"),
            Column("value", lambda pair: _cut(str(pair[1])), kind="sentence"),
            Column("unit", lambda pair: known.get(pair[0], ("", ""))[0]),
            Column("meaning", lambda pair: known.get(pair[0], ("", ""))[1], kind="sentence"),
        ]
        told = f"a row of {markup.words(self.table)} <small>{_origin(self.table)[2:]}</small>"
        given = [pair for pair in self.items() if pair[1] is not None]
        return markup.shown(markup.table(columns, given, told))


class Entry:
    """One entry of what a command finds: `data`, whose fields it has, as text and in a notebook."""

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
    """How what a command finds is shown: its text, its HTML, and both of one entry."""

    text: Sequence[str]
    html: Callable[[Data], str]
    entry_text: Callable[[Data, Any], Sequence[str]]
    entry_html: Callable[[Data, Any], str]


class Told(Rows, Generic[Data]):
    """What a command finds: `data` with typed fields, its text, and its main list as rows.

    Attributes:
        data: What was found.
        text: What the command prints of it.
        notes: What there is to say besides, as of calls that could not be evaluated.

    """

    def __init__(
        self, name: str, data: Data, objects: Callable[[Data], Any], kind: type[Any],
        listed: Sequence[Any], shown: Presentation[Data], notes: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.name = name
        self.data = data
        self.text = "\n".join(map(printable, shown.text))
        self.notes = tuple(notes)
        self._shown = shown
        self._objects = objects
        self._columns = [each.name for each in fields(kind)]
        self._listed = listed

    @property
    def arrow(self) -> pa.Table:
        """The main list, a row an entry."""
        entries = [_plain(entry) for entry in self._listed]
        columns = [pa.array([entry[name] for entry in entries]) for name in self._columns]
        return pa.table(columns, names=self._columns)

    def to_json(self) -> Any:
        """Return what the command prints as JSON, as dictionaries and lists."""
        return self._objects(self.data)

    def __len__(self) -> int:
        return len(self._listed)

    def __getitem__(self, place: Any) -> Any:
        """Return one entry of the main list, or a list of what a slice takes."""
        if isinstance(place, slice):
            return [self._entry(each) for each in self._listed[place]]
        return self._entry(self._listed[place])

    def _entry(self, data: Any) -> Entry:
        shown = self._shown
        return Entry(data, shown.entry_text(self.data, data), shown.entry_html(self.data, data))

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self._shown.html(self.data)


def record_text(_: Any, entry: Any) -> list[str]:
    """Return the fields of an entry as lines; those without a value are left out."""
    pairs = [(each.name, getattr(entry, each.name)) for each in fields(entry)]
    width = max(len(name) for name, _ in pairs)
    return [_cut(f"{name:<{width}}  {value}") for name, value in pairs if value is not None]


def record_html(_: Any, entry: Any) -> str:
    """Return the fields of an entry as HTML."""
    return markup.shown(markup.facts((f.name, getattr(entry, f.name)) for f in fields(entry)))


def _plain(value: Any) -> Any:
    """Return an entry as Arrow takes it: dataclasses as structs, their mappings as pairs."""
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
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


def _range(place: int | slice, size: int) -> tuple[int, int, int]:
    if isinstance(place, slice):
        return place.indices(size)
    at = range(size)[place]  # counts from the end, and raises IndexError, as a list does
    return at, at + 1, 1


def _known(table: str) -> dict[str, tuple[str, str]]:
    """Return unit and meaning of a table's columns, where the format has it."""
    known = TABLES.get(table)
    return {} if known is None else {c.name: (c.unit, c.meaning) for c in known.columns}


def _origin(table: str) -> str:
    """Say what a row is, and whether it was measured or derived, where the format has it."""
    known = TABLES.get(table)
    if known is None:
        return ""
    source = "measured while recording" if known.origin == "captured" else "derived from the trace"
    return f"; a row is {markup.words(known.row)}; {source}"


def _with_unit(value: Any, known: tuple[str, str] | None) -> str:
    return f"{value} {known[0]}".rstrip() if known is not None else str(value)
