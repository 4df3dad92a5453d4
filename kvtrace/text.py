"""Plain text for terminals: quantities with units, aligned columns, and names made safe to print.

Converters that print use it; all output fits 40 columns and needs no color.
"""

import os
import shutil
import textwrap
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

WIDTH: Final = 80
#: The fewest columns that output is laid out for.
NARROWEST: Final = 40
_DURATIONS: Final = ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns"))
_DECIMAL: Final = ("", "K", "M", "G", "T", "P", "E")
_BINARY: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_ELLIPSIS: Final = "…"
#: Widths of texts in tables: columns up to which the first text stays whole while optional columns
#: can go (other texts up to half); least width of a text; most lines of a text.
_WHOLE: Final = 44
_NARROWEST: Final = 12
_MOST_LINES: Final = 4
_BREAKS: Final = "_.,:;/<>(-"


def with_schema(schema: str, content: Mapping[str, Any]) -> dict[str, Any]:
    """Return an output's object with the name and version of its schema.

    The schema is the file `schemas/NAME.json` beside the command's module.
    """
    return {"schema": schema, "version": 1, **content}


def json_text(schema: str, content: Mapping[str, Any]) -> str:
    """Return what `--json` prints of an output."""
    import json

    return json.dumps(with_schema(schema, content), indent=2, default=str)


def printable(text: object) -> str:
    r"""Return the text on one line with control characters escaped as `\x1b`.

    Names and paths come from files of unknown origin; printed raw, they could move the cursor,
    recolor the terminal or fake a line of output.
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def shown_path(path: str, base: str | None) -> str:
    """Return a file's path, relative to the folder `base` if the file is in it."""
    is_inside = base is not None and path.startswith(base.rstrip(os.sep) + os.sep)
    return os.path.relpath(path, base) if is_inside else path


def duration(nanoseconds: float | None) -> str:
    """Return a duration with three digits and its unit, as `1.23 ms`; `-` for None."""
    if nanoseconds is None:
        return "-"
    for factor, unit in _DURATIONS:
        if abs(nanoseconds) >= factor or factor == 1:
            return f"{_three_digits(nanoseconds / factor)} {unit}"
    raise AssertionError(nanoseconds)


def moment(nanoseconds: int | None) -> str:
    """Return a time in ns since 1970 as text, UTC date, hour and minute; `-` for None."""
    if nanoseconds is None:
        return "-"
    return time.strftime("%Y-%m-%d %H:%M", time.gmtime(nanoseconds // 10**9))


def count(number: float | None) -> str:
    """Return a number rounded, with thousands separated, as `12,345`; `-` for None."""
    return "-" if number is None else f"{round(number):,}"


def amount(number: float | None, unit: str = "") -> str:
    """Return a number with a decimal prefix and `unit`, as `2.10 GFLOP`; `-` for None."""
    return _scaled(number, 1000, tuple(f"{prefix}{unit}" for prefix in _DECIMAL))


def size(size_bytes: float | None) -> str:
    """Return a size in bytes with a binary prefix, as `4.00 KiB`; `-` for None."""
    return _scaled(size_bytes, 1024, _BINARY)


def percent(share: float | None) -> str:
    """Return a share between 0 and 1 in percent, as `12.5 %`; `-` for None."""
    return "-" if share is None else f"{100 * share:.1f} %"


def quantity(number: float | None, unit: str) -> str:
    """Return a number, whose unit is count, ns, bytes or share, as text; `-` for None."""
    return _QUANTITIES[unit](number)


_QUANTITIES: Final[dict[str, Callable[[float | None], str]]] = {
    "count": count,
    "bytes": size,
    "ns": duration,
    "share": percent,
}


def shorten(text: str, width: int) -> str:
    """Return the text in at most `width` columns; in a longer text … replaces the middle."""
    if display_width(text) <= width:
        return text
    room = width - 1
    while True:
        tail = room - room // 2
        short = text[: room // 2] + _ELLIPSIS + (text[-tail:] if tail else "")
        if display_width(short) <= width or room == 0:
            return short
        room -= 1


def wrapped(text: str, width: int = WIDTH, indent: int = 0) -> list[str]:
    """Return the text as printable lines of at most `width` columns, wrapped at spaces only.

    All lines are indented by `indent` columns, and lines after the first by two more.
    """
    return textwrap.wrap(
        printable(text),
        width,
        initial_indent=" " * indent,
        subsequent_indent=" " * (indent + 2),
        break_long_words=False,
        break_on_hyphens=False,
    )


def plural(number: int, noun: str) -> str:
    """Return the number and its noun, as `1 launch` and `2 launches`."""
    if number == 1:
        return f"1 {noun}"
    return f"{number:,} {noun}{'es' if noun.endswith(('ch', 's', 'x')) else 's'}"


def by_reason(failures: Iterable[str]) -> list[str]:
    """Return one sentence a reason for sentences on calls, as `call 3 of kernel: reason`."""
    kernels: dict[str, list[str]] = {}
    first: dict[str, str] = {}
    for failure in failures:
        call, _, reason = failure.partition(": ")
        is_of_call = call.startswith("call ") and " of " in call
        kernels.setdefault(reason if is_of_call else failure, []).append(call.partition(" of ")[2])
        first.setdefault(reason if is_of_call else failure, failure)
    return [
        first[reason]
        if len(named) == 1 or first[reason] == reason
        else f"{len(named):,} calls of {listed(list(dict.fromkeys(named)), 3)}: {reason}"
        for reason, named in kernels.items()
    ]


def listed(names: Sequence[str], most: int) -> str:
    """Return the first `most` names, and the number of the others, as `a, b and 3 more`."""
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more


def narrowed(line: str, width: int) -> list[str]:
    """Return a line as lines of at most `width` columns, wrapped at spaces; words stay whole."""
    if display_width(line) <= width or " " not in line.strip():
        return [line]
    indent = len(line) - len(line.lstrip())
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * min(indent + 2, width // 2),
        break_long_words=False,
        break_on_hyphens=False,
    )


def terminal_width() -> int:
    """Return the terminal's number of columns, but at least 40; 80 without a terminal."""
    return max(NARROWEST, shutil.get_terminal_size((WIDTH, 24)).columns)


def display_width(text: str) -> int:
    """Return how many terminal columns the text takes: East Asian wide characters take two."""
    if text.isascii():
        return len(text)
    return len(text) + sum(unicodedata.east_asian_width(c) in "WF" for c in text if c > "\x7f")


def columns(
    header: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int = WIDTH,
    indent: int = 0,
    *,
    texts: Sequence[int] = (0,),
    optional: Sequence[int] = (),
) -> list[str]:
    """Return the lines of a table, in which different cells of a column stay different.

    If the table is wider than `width`, optional columns are left out, then texts are wrapped. In a
    text that would take more than `_MOST_LINES` lines, … replaces the middle, unless two texts
    would become equal. Columns that do not fit even so continue each row below it. Cells are made
    printable.

    Args:
        header: The columns' headings.
        rows: A cell for each column.
        width: Columns of the terminal.
        indent: Spaces before each line.
        texts: Positions of columns of texts, which are left-aligned and wrapped. A text also uses
            the space of an empty text cell to its right. Other columns are figures, right-aligned
            and never wrapped.
        optional: Positions of columns that may be left out, the least important first.

    """
    cells = [[printable(cell) for cell in row] for row in (header, *rows)]
    kept = list(range(len(header)))
    natural = [_natural_width(cells, i, i in texts and i + 1 in texts) for i in kept]
    least = list(natural)
    for number, i in enumerate(texts):
        least[i] = min(natural[i], _WHOLE if number == 0 else _WHOLE // 2)
    for position in optional:
        if _table_width(least, kept) + indent > width:
            kept.remove(position)
    widths = list(natural)
    flexible = [i for i in kept if i in texts]
    while flexible and _table_width(widths, kept) + indent > width:
        widest = max(flexible, key=lambda i: widths[i])
        if widths[widest] <= _NARROWEST:
            break
        widths[widest] -= 1
    if _table_width(widths, kept) + indent > width:  # texts have room if figures continue below
        widths = [min(natural[i], width - indent - 2) if i in texts else natural[i]
                  for i in range(len(header))]  # fmt: skip
    shortest = {i: distinct([row[i] for row in cells], _MOST_LINES * (widths[i] - 2))
                for i in flexible}  # fmt: skip
    parts = _parts(widths, kept, width - indent)
    lines: list[str] = []
    for row in cells:
        for number, part in enumerate(parts):
            margin = " " * (indent + (2 if number else 0))
            lines += _row_lines(row, part, widths, shortest, margin)
    return lines


def _parts(widths: Sequence[int], kept: Sequence[int], width: int) -> list[list[int]]:
    """Return the columns in parts of at most `width`; all but the first are indented by two."""
    parts: list[list[int]] = [[]]
    for i in kept:
        room = width - (2 if len(parts) > 1 else 0)
        if parts[-1] and _table_width(widths, [*parts[-1], i]) > room:
            parts.append([])
        parts[-1].append(i)
    return parts


def _natural_width(cells: Sequence[Sequence[str]], column: int, reaches: bool) -> int:
    """Return the width of a column in which no cell is wrapped.

    With `reaches`, cells before an empty cell also use the space of the next column.
    """
    bounded = [row for row in cells if not reaches or row[column + 1]]
    widest = max(display_width(row[column]) for row in bounded)
    if len(bounded) < len(cells):
        reaching = max(display_width(row[column]) for row in cells if not row[column + 1])
        next_column = max(display_width(row[column + 1]) for row in cells)
        widest = max(widest, reaching - next_column - 2)
    return widest


def _table_width(widths: Sequence[int], kept: Sequence[int]) -> int:
    return sum(widths[i] for i in kept) + 2 * (len(kept) - 1)


def distinct(texts: Iterable[str], width: int) -> dict[str, str]:
    """Return by text its form shortened to `width` columns, or itself if two would be equal."""
    short = {text: shorten(text, width) for text in texts}
    count_of = Counter(short.values())
    return {text: cut if count_of[cut] == 1 else text for text, cut in short.items()}


def _row_lines(
    row: Sequence[str],
    kept: Sequence[int],
    widths: Sequence[int],
    shortest: Mapping[int, Mapping[str, str]],
    indent: str,
) -> list[str]:
    """Return the lines of a row: figures on the first line, wrapped texts continue below."""
    blocks: list[tuple[list[str], int, bool]] = []  # lines of a cell, width, right-aligned
    skipped = -1
    for position, i in enumerate(kept):
        if i == skipped:
            continue
        room, following = widths[i], kept[position + 1] if position + 1 < len(kept) else -1
        if i not in shortest:
            blocks.append(([row[i]], room, True))
            continue
        text = shortest[i][row[i]]
        if following in shortest and not row[following]:
            text, room, skipped = row[i], room + 2 + widths[following], following
        blocks.append((broken(text, room), room, False))
    lines = []
    for line_index in range(max(len(cell_lines) for cell_lines, _, _ in blocks)):
        line = [
            padded(cell_lines[line_index] if line_index < len(cell_lines) else "", room, right)
            for cell_lines, room, right in blocks
        ]
        lines.append((indent + "  ".join(line)).rstrip())
    return lines


def padded(text: str, room: int, right: bool) -> str:
    """Return a text padded to a width, on the left if `right`."""
    blank = " " * (room - display_width(text))
    return blank + text if right else text + blank


def broken(text: str, width: int) -> list[str]:
    """Return the text in lines of at most `width` columns; only spaces at their ends are removed.

    A line ends at a space, else after punctuation, in its second half, or else at `width`. Lines
    after the first are indented by two columns.
    """
    margin = " " * (len(text) - len(text.lstrip()) + 2)
    lines: list[str] = []
    while True:
        begin = margin if lines else ""
        room = width - len(begin)
        if room < 1 or display_width(text) <= room:
            return [*lines, begin + text]
        line_end = room
        while display_width(text[:line_end]) > room:
            line_end -= 1
        line_end = max(line_end, 1)
        half = range(line_end, line_end // 2, -1)
        spaces = (n for n in half if text[n] == " " or text[n - 1] == " ")
        marks = (n for n in half if text[n - 1] in _BREAKS)
        break_at = next(spaces, None) or next(marks, line_end)
        lines.append(begin + text[:break_at].rstrip())
        text = text[break_at:].lstrip()


def _scaled(number: float | None, base: int, units: Sequence[str]) -> str:
    if number is None:
        return "-"
    power = 0
    value = float(number)
    while abs(value) >= base and power < len(units) - 1:
        value /= base
        power += 1
    text = f"{value:,.0f}" if power == 0 and value == int(value) else _three_digits(value)
    return f"{text} {units[power]}".rstrip()


def _three_digits(value: float) -> str:
    if value == int(value) and abs(value) < 10:
        return f"{value:.0f}"
    if abs(value) >= 99.95:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 9.995 else f"{value:.2f}"
