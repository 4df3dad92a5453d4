"""Pages of the report's application that are no report: sentences and tables.

Add-ons build a `DocumentContent`, plain data that the view `document` shows, and write the page of
`document_page()`. Like a report, it is one file and requests nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Generic, Literal, TypeVar

from kvtrace.converters.report.pack import json_block
from kvtrace.converters.report.writing import page_text
from kvtrace.text import duration, printable

Row = TypeVar("Row")
Kind = Literal["words", "number", "prose"]
#: The block's name, and the view's.
DOCUMENT: Final = "document"


@dataclass(frozen=True, slots=True)
class PointLine:
    """A line through `points`, pairs from 0 to 1, with dots at `dots`; `label` says it in words."""

    points: Sequence[tuple[float, float]]
    dots: Sequence[tuple[float, float]]
    label: str


@dataclass(frozen=True, slots=True)
class DocumentCell:
    """A cell of a table: its text, the number to sort by if it has one, or a line."""

    text: str
    number: float | None = None
    line: PointLine | None = None


@dataclass(frozen=True, slots=True)
class Head:
    """A column's label, and whether its cells are numbers or prose."""

    label: str
    kind: Kind


@dataclass(frozen=True, slots=True)
class DocumentSection:
    """A part of a page: a heading and a table."""

    heading: str
    heads: Sequence[Head]
    rows: Sequence[Sequence[DocumentCell]]


@dataclass(frozen=True, slots=True)
class DocumentContent:
    """A page: its title, sentences below it, and sections."""

    title: str
    sentences: Sequence[str]
    sections: Sequence[DocumentSection]


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """A column of a table: its label, and a function from a row to the cell, or to its text."""

    label: str
    cell: Callable[[Row], DocumentCell | str | None]
    kind: Kind = "words"


def table(heading: str, columns: Sequence[Column[Row]], rows: Iterable[Row]) -> DocumentSection:
    """Return a section with a table."""
    return DocumentSection(
        heading,
        heads=[Head(column.label, column.kind) for column in columns],
        rows=[[_cell(column.cell(row)) for column in columns] for row in rows],
    )


def _cell(value: DocumentCell | str | None) -> DocumentCell:
    return value if isinstance(value, DocumentCell) else DocumentCell(value or "")


def time_cell(ns: float | None) -> DocumentCell:
    """Return the cell of a duration in ns, which sorts by it."""
    return DocumentCell(duration(ns), ns)


def document_page(document: DocumentContent) -> str:
    """Return the HTML page of a document; control characters of its texts are made visible."""
    data = _printable(asdict(document))
    return page_text(
        data["title"], {"report": json_block({"title": data["title"]}), DOCUMENT: json_block(data)}
    )


def _printable(value: Any) -> Any:
    match value:
        case str():
            return printable(value)
        case dict():
            return {name: _printable(item) for name, item in value.items()}
        case list() | tuple():
            return [_printable(item) for item in value]
        case _:
            return value
