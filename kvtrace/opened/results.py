"""What an opened trace gives: rows as Arrow, and what a command says of them."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from html import escape
from importlib import import_module
from types import ModuleType
from typing import Any, Final, Generic, TypeVar

import pyarrow as pa

from kvtrace.converters.query import column_values
from kvtrace.converters.query_output import table_lines
from kvtrace.schema.errors import KvtraceError
from kvtrace.text import plural, printable

#: Rows that are shown where an object is printed.
_SHOWN: Final = 10
#: Rows that become Python's objects at a time.
_AT_ONCE: Final = 10_000
#: Columns of a terminal; a notebook has no width that it tells.
_WIDTH: Final = 100

Data = TypeVar("Data")


class MissingPackage(KvtraceError):
    """A package that kvtrace does not need is asked for, and not installed."""

    slug = "missing-package"


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

    def __repr__(self) -> str:
        names, rows = _values(self.arrow.slice(0, _SHOWN))
        *lines, _ = table_lines(names, rows, _WIDTH)
        return "\n".join([f"{printable(self.name)}: {self._size()}", *(_cut(x) for x in lines)])

    def _repr_html_(self) -> str:
        names, rows = _values(self.arrow.slice(0, _SHOWN))
        head = "".join(f"<th>{_html(name)}</th>" for name in names)
        body = "".join(
            f"<tr>{''.join(f'<td>{_html(value)}</td>' for value in row)}</tr>" for row in rows
        )
        return (
            f"<table><caption>{_html(self.name)}: {self._size()}</caption>"
            f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
        )

    def _size(self) -> str:
        size = plural(len(self), "row")
        return size if len(self) <= _SHOWN else f"{size}, the first {_SHOWN} of them"


class Told(Rows, Generic[Data]):
    """What a command finds: `data` with typed fields, its text, and its main list as rows.

    Attributes:
        data: What was found.
        text: What the command prints of it.
        notes: What there is to say besides, as of calls that could not be evaluated.

    """

    def __init__(
        self, name: str, data: Data, objects: Callable[[Data], Any], kind: type[Any],
        listed: Sequence[Any], text: Sequence[str], notes: Sequence[str] = (),
    ) -> None:  # fmt: skip
        self.name = name
        self.data = data
        self.text = "\n".join(map(printable, text))
        self.notes = tuple(notes)
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

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{escape(self.text)}</pre>"


def _plain(value: Any) -> Any:
    """Return an entry as Arrow takes it: dataclasses as structs, mappings of theirs as pairs."""
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


def _html(value: Any) -> str:
    text = "" if value is None else str(value)
    return escape(text if len(text) <= _WIDTH else text[: _WIDTH - 1] + "…")
