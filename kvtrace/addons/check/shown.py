"""Results of checked launches in Python and notebooks: `trace.check()`."""

from typing import TYPE_CHECKING, Final

from kvtrace.addons.check.checked_runs import (
    Checked,
    CheckRow,
    check_objects,
    check_rows,
    check_runs,
    check_text,
)
from kvtrace.analysis.results import CommandResult, Presentation, record_html, record_text
from kvtrace.analysis.shown import markup
from kvtrace.analysis.shown.markup import Column
from kvtrace.text import count, distinct

if TYPE_CHECKING:
    from kvtrace.analysis.traces import OpenedTrace

_SHOWN: Final = 50
_WIDTH: Final = 60
_TONES: Final = {"agrees": "better", "differs": "worse", "not finite": "worse"}

_COLUMNS: Final[tuple[Column[CheckRow], ...]] = (
    Column("launch", lambda row: row.seq, kind="number"),
    Column("output", lambda row: row.name, kind="code"),
    Column("answer", lambda row: row.answer, tone=lambda row: _TONES.get(row.answer, "unknown")),
    Column("elements", lambda row: count(row.elements), kind="number"),
    Column("differing", lambda row: count(row.differing), "elements", kind="number"),
    Column("device has", lambda row: _number_text(row.got), "", "measured", "", "number"),
    Column("IR means", lambda row: _number_text(row.expected), "", "derived", "", "number"),
    Column("within", lambda row: _number_text(row.worst_bound), "", "derived", "", "number"),
    Column("why", lambda row: row.pattern or row.reason, kind="sentence"),
)  # fmt: skip


def check(trace: "OpenedTrace") -> CommandResult[Checked, CheckRow]:
    """Compare recorded memory of launches with the values that the kernels' IR means.

    The result has a row per output of each checked launch. Fills the tables checks and findings of
    the trace.

    Raises:
        NothingToCheck: no launch was recorded by KVTRACE_CHECK.
        TraceWriteError: the trace cannot be written.
    """
    checked = check_runs(trace.selection)
    shown = Presentation(tuple(check_text(checked)), checks_html, record_text, record_html)
    return CommandResult(
        "checks", checked, check_objects, CheckRow, check_rows(checked), shown, trace.notes
    )


def checks_html(checked: Checked) -> str:
    """Return HTML: a table with a row per output of each checked launch, and the command's text.

    The table has at most 50 rows.
    """
    *detail_lines, counts_line = check_text(checked)
    rows = check_rows(checked)
    hidden = len(rows) - _SHOWN
    more = f" <small>the first {_SHOWN} of {len(rows):,} rows</small>" if hidden > 0 else ""
    names = distinct((row.kernel or "" for row in rows), _WIDTH)
    kernel: Column[CheckRow] = Column("kernel", lambda row: names[row.kernel or ""], kind="code")
    table = markup.table([kernel, *_COLUMNS], rows[:_SHOWN], markup.words(counts_line) + more)
    full_text = markup.folded(
        "as kvtrace check prints it", markup.code([*detail_lines, counts_line])
    )
    return markup.shown(table, full_text)


def _number_text(value: float | None) -> str:
    return "" if value is None else f"{value:.9g}"
