"""Text of the headline: a table for a terminal, with as many rows as fit on a screen."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from kvtrace.converters.diff.model import HeadlineRow
from kvtrace.converters.diff.words import HEADLINE_COLUMNS, share_text, sure_text, values_text
from kvtrace.text import columns, plural

#: Rows that fit on a screen, with the text around the table.
SHOWN: Final = 16
_CHANGE, _BASIS = (HEADLINE_COLUMNS.index(name) for name in ("change", "basis"))
_TEXTS: Final = tuple(i for i in range(len(HEADLINE_COLUMNS)) if i != _CHANGE)


def headline_table(rows: Sequence[HeadlineRow], width: int, *, full: bool = False) -> list[str]:
    """Return the lines of the table of `rows`, which are sorted; [] without rows.

    Unless `full`, only the first rows are shown, and the hidden ones are counted by direction.
    """
    if not rows:
        return []
    shown_rows = rows if full else rows[:SHOWN]
    cells = [_cells(row) for row in shown_rows]
    lines = columns(HEADLINE_COLUMNS, cells, width, texts=_TEXTS, optional=(_BASIS,))
    hidden_by_direction = Counter(row.direction for row in rows[len(shown_rows) :])
    if hidden_by_direction:
        kinds = ", ".join(
            f"{hidden_by_direction[direction]} {direction}"
            for direction in ("worse", "changed", "better")
        )
        lines.append(f"… {plural(hidden_by_direction.total(), 'more line')}: {kinds} (-v)")
    return lines


def _cells(row: HeadlineRow) -> tuple[str, ...]:
    return (
        row.kernel or "(no name)", row.what, values_text(row), share_text(row), row.direction,
        sure_text(row),
    )  # fmt: skip
