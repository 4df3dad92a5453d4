"""What came of checked launches, as a notebook shows it."""

from typing import Final

from kvtrace.opened.checking import Checked, CheckRow, check_rows, check_text
from kvtrace.opened.shown import markup
from kvtrace.opened.shown.markup import Column
from kvtrace.text import count, shorten

_SHOWN: Final = 50
_WIDTH: Final = 60
_TONES: Final = {"agrees": "better", "differs": "worse", "not finite": "worse"}

_COLUMNS: Final[tuple[Column[CheckRow], ...]] = (
    Column("kernel", lambda row: row.kernel and shorten(row.kernel, _WIDTH), kind="code"),
    Column("launch", lambda row: row.seq, kind="number"),
    Column("output", lambda row: row.name, kind="code"),
    Column("answer", lambda row: row.answer, tone=lambda row: _TONES.get(row.answer, "unknown")),
    Column("elements", lambda row: count(row.elements), kind="number"),
    Column("differing", lambda row: count(row.differing), "elements", kind="number"),
    Column("device has", lambda row: _number(row.got), "", "measured", "", "number"),
    Column("IR means", lambda row: _number(row.expected), "", "derived", "", "number"),
    Column("within", lambda row: _number(row.worst_bound), "", "derived", "", "number"),
    Column("why", lambda row: row.pattern or row.reason, kind="sentence"),
)  # fmt: skip


def checks_html(checked: Checked) -> str:
    """Return a row an output of each checked launch, and what the command prints."""
    *others, counted = check_text(checked)
    rows = check_rows(checked)
    left = len(rows) - _SHOWN
    more = f" <small>the first {_SHOWN} of {len(rows):,} rows</small>" if left > 0 else ""
    table = markup.table(_COLUMNS, rows[:_SHOWN], markup.words(counted) + more)
    whole = markup.folded("as kvtrace check prints it", markup.code([*others, counted]))
    return markup.shown(table, whole)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}"
