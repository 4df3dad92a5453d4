"""HTML elements for notebooks, light or dark: tables with units and sources, facts, code.

Colors are mixed with the notebook's text color, so that they fit themes that cannot be detected.
Without the style sheet, which some viewers remove, all elements are plain tables.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from typing import Final, Generic, Literal, TypeVar

from kvtrace.text import printable

Row = TypeVar("Row")
Source = Literal["", "measured", "derived"]

_FAINT: Final = "color-mix(in srgb,currentColor 18%,transparent)"
#: The class three times, to be more specific than Jupyter's own rules for tables.
_ALL: Final = ".kvtrace.kvtrace.kvtrace"
_TONES: Final = {
    "error": "#e5484d", "worse": "#e5484d", "violation": "#e5484d", "warning": "#c77a00",
    "unknown": "#c77a00", "note": "#2f7fd6", "caret": "#2f7fd6", "proven": "#2f9e53",
    "better": "#2f9e53",
}  # fmt: skip
_RULES: Final = {
    "": "overflow-x:auto;line-height:1.4",
    "table": "border-collapse:collapse;margin:.3em 0 .8em;font-size:13px;table-layout:auto",
    "caption": "caption-side:top;text-align:left;padding:0 0 .4em;font-weight:600;color:inherit",
    "small": "font-weight:400;opacity:.75;font-size:12px",
    "tr": f"border:0;border-bottom:1px solid {_FAINT};background:none",
    "th,td": "padding:.25em .8em;text-align:left;vertical-align:top;white-space:nowrap;"
    "max-width:none;border:0;background:none;font-weight:400",
    "th": "font-weight:600",
    "th small": "display:block",
    ".number": "text-align:right;font-variant-numeric:tabular-nums",
    ".source th": "font-weight:400;opacity:.75;padding-bottom:0;text-align:center",
    "code": "white-space:inherit",
    "code,pre": "font-family:ui-monospace,monospace;font-size:12px;background:none;"
    "color:inherit;padding:0",
    "pre": f"border-left:3px solid {_FAINT};padding:.2em 0 .2em .8em;margin:.3em 0;overflow-x:auto",
    ".facts td,.sentence": "white-space:normal;max-width:60em",
    ".facts th": "font-weight:400;opacity:.75;padding-left:0",
    ".facts tr": "border:0",
    "p": "margin:.4em 0",
    "details": "margin:.3em 0",
    "summary": "cursor:pointer;opacity:.75",
} | {
    f".{name}": f"color:color-mix(in srgb,{color} 75%,currentColor);font-weight:600"
    for name, color in _TONES.items()
}
_STYLE: Final = "".join(
    f"{','.join(f'{_ALL} {name}'.rstrip() for name in names.split(','))}{{{rule}}}"
    for names, rule in _RULES.items()
)


@dataclass(frozen=True, slots=True)
class Column(Generic[Row]):
    """A column of a table.

    `head` is its title, and `cell` a function from a row to the cell's text, or None. `unit` is
    shown below the head, if cells have no units; `source` above it, and `meaning` as a tooltip.
    `kind` `words` keeps a text on one line. `tone` returns a cell's CSS class, such as `worse`.
    """

    head: str
    cell: Callable[[Row], object]
    unit: str = ""
    source: Source = ""
    meaning: str = ""
    kind: Literal["words", "sentence", "number", "code"] = "words"
    tone: Callable[[Row], str] | None = None


def shown(*parts: str) -> str:
    """Return one HTML element that contains the style sheet and the given HTML."""
    return f'<div class="kvtrace"><style>{_STYLE}</style>{"".join(parts)}</div>'


def words(value: object) -> str:
    """Return a value as HTML text on one line, "" for None; control characters are escaped."""
    return "" if value is None else escape(printable(value))


def table(columns: Sequence[Column[Row]], rows: Iterable[Row], caption: str = "") -> str:
    """Return an HTML table; neighboring columns with equal source share a head that names it.

    `caption` is HTML.
    """
    sources = ""
    if any(column.source for column in columns):
        cells = []
        for source, group in groupby(columns, key=lambda column: column.source):
            cells.append(f'<th colspan="{len([*group])}" scope="colgroup">{source}</th>')
        sources = f'<tr class="source">{"".join(cells)}</tr>'
    heads = "".join(map(_head, columns))
    body = "".join(f"<tr>{''.join(_cell(column, row) for column in columns)}</tr>" for row in rows)
    title = f"<caption>{caption}</caption>" if caption else ""
    return f"<table>{title}<thead>{sources}<tr>{heads}</tr></thead><tbody>{body}</tbody></table>"


def _head(column: Column[Row]) -> str:
    unit = f"<small>{words(column.unit)}</small>" if column.unit else ""
    meaning = f' title="{words(column.meaning)}"' if column.meaning else ""
    kind = ' class="number"' if column.kind == "number" else ""
    return f'<th scope="col"{kind}{meaning}>{words(column.head)}{unit}</th>'


def _cell(column: Column[Row], row: Row) -> str:
    text = words(column.cell(row))
    if column.kind == "code" and text:
        text = f"<code>{text}</code>"
    tone = column.tone(row) if column.tone is not None else ""
    kind = column.kind if column.kind in ("number", "sentence") else ""
    names = " ".join(filter(None, (kind, tone)))
    return f'<td class="{words(names)}">{text}</td>' if names else f"<td>{text}</td>"


def facts(pairs: Iterable[tuple[str, object]]) -> str:
    """Return an HTML table with a row for each (name, text), without pairs that have no text."""
    rows = "".join(
        f'<tr><th scope="row">{words(name)}</th><td>{words(text)}</td></tr>'
        for name, text in pairs
        if text not in (None, "")
    )
    return f'<table class="facts">{rows}</table>' if rows else ""


def code(lines: Iterable[str]) -> str:
    """Return lines of text as one preformatted HTML block."""
    return f"<pre>{chr(10).join(map(words, lines))}</pre>"


def folded(summary: str, *parts: str) -> str:
    """Return HTML parts folded below a summary line, which a click opens."""
    return f"<details><summary>{words(summary)}</summary>{''.join(parts)}</details>"


def paragraph(text: object, label: str = "") -> str:
    """Return a text as a paragraph after a label, which is colored if it is a severity."""
    head = f'<span class="{words(label)}">{words(label)}</span>: ' if label else ""
    return f"<p>{head}{words(text)}</p>"
