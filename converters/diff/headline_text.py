"""The headline as a table for a terminal: as many lines as fit a screen, each in one line."""

from collections import Counter
from collections.abc import Sequence
from typing import Final

from kvtrace.converters.diff.model import HeadlineRow
from kvtrace.converters.diff.words import share_text, sure_text, values_text
from kvtrace.text import display_width, plural, printable, shorten

#: Rows that fit a screen, with what stands around them.
SHOWN: Final = 20
_HEADER: Final = ("kernel", "what changed", "before → after", "by", "is", "how sure")
#: Columns that are cut where the table is wider than the terminal, and how narrow they may become.
_LEAST: Final = (10, 20, 12)
#: By so much a name is kept wider than what changed, whose beginning says most.
_KEPT: Final = (10, 0, 0)


def headline_table(rows: Sequence[HeadlineRow], width: int, *, full: bool = False) -> list[str]:
    """Return the lines of the table; of more rows than fit, the worst and how many there are."""
    if not rows:
        return []
    shown = rows if full else rows[:SHOWN]
    cells = [_HEADER, *(_cells(row) for row in shown)]
    widths = _fitted(_wanted(cells), width)
    lines = [_line(row, widths) for row in cells]
    left = Counter(row.direction for row in rows[len(shown) :])
    if left:
        kinds = ", ".join(f"{left[each]} {each}" for each in ("worse", "changed", "better"))
        lines.append(f"… {plural(left.total(), 'more line')}: {kinds} (-v)")
    return lines


def _wanted(cells: Sequence[Sequence[str]]) -> list[int]:
    """Return how wide the columns would be; a row without values reaches over their column."""
    valued = [row for row in cells if row[2]]
    widths = [max(map(display_width, column)) for column in zip(*valued, strict=True)]
    widths[0] = max(display_width(row[0]) for row in cells)
    longest = max((display_width(row[1]) for row in cells if not row[2]), default=0)
    widths[1] = max(widths[1], longest - 2 - widths[2])
    for place in range(3, len(widths)):
        widths[place] = max(display_width(row[place]) for row in cells)
    return widths


def _line(row: Sequence[str], widths: Sequence[int]) -> str:
    name, what, values, *others = row
    cells = [(shorten(name, widths[0]), widths[0])]
    if values:
        cells += [(_cut(what, widths[1]), widths[1]), (shorten(values, widths[2]), widths[2])]
    else:
        room = widths[1] + 2 + widths[2]
        cells.append((_cut(what, room), room))
    cells += zip(others, widths[3:], strict=True)
    return "  ".join(text + " " * (room - display_width(text)) for text, room in cells).rstrip()


def _cut(text: str, width: int) -> str:
    """Return the text in at most so many columns, its end left out: causes stand first in it."""
    while display_width(text) > width:
        text = text[: max(0, min(len(text) - 2, width - 1))] + "…"
    return text


def _cells(row: HeadlineRow) -> tuple[str, ...]:
    values = (
        row.kernel or "(no name)", row.what, values_text(row), share_text(row), row.direction,
        sure_text(row),
    )  # fmt: skip
    return tuple(map(printable, values))


def _fitted(widths: list[int], width: int) -> list[int]:
    """Return widths that fit: the widest of the first columns gives way, down to its least."""
    while sum(widths) + 2 * (len(widths) - 1) > width:
        spare = [widths[i] - least for i, least in enumerate(_LEAST)]
        widest = max(range(len(_LEAST)), key=lambda i: (spare[i] > 0, widths[i] - _KEPT[i]))
        if spare[widest] <= 0:
            return widths
        widths[widest] -= 1
    return widths
