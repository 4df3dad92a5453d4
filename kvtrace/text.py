"""Plain text for terminals: quantities with units, aligned columns, and names that cannot do harm.

Used by the converters that print; everything here fits 80 columns and needs no color.
"""

import shutil
import textwrap
import unicodedata
from collections.abc import Callable, Sequence
from typing import Final

WIDTH: Final = 80
_DURATIONS: Final = ((10**9, "s"), (10**6, "ms"), (10**3, "µs"), (1, "ns"))
_DECIMAL: Final = ("", "K", "M", "G", "T", "P", "E")
_BINARY: Final = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_ELLIPSIS: Final = "…"


def printable(text: object) -> str:
    r"""Return the text on one line with control characters escaped as `\x1b`.

    Names and paths come from files that others wrote; printed raw, they could move the cursor,
    recolor the terminal or fake a line of output.
    """
    text = str(text)
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else repr(c)[1:-1] for c in text)


def duration(nanoseconds: float | None) -> str:
    """Return a duration with three digits and its unit, as `1.23 ms`; `-` where unknown."""
    if nanoseconds is None:
        return "-"
    for factor, unit in _DURATIONS:
        if abs(nanoseconds) >= factor or factor == 1:
            return f"{_three_digits(nanoseconds / factor)} {unit}"
    raise AssertionError(nanoseconds)


def count(number: float | None) -> str:
    """Return a whole number with thousands separated; `-` where unknown."""
    return "-" if number is None else f"{round(number):,}"


def amount(number: float | None, unit: str = "") -> str:
    """Return a number with a decimal prefix, as `2.10 GFLOP`; `-` where unknown."""
    return _scaled(number, 1000, tuple(f"{prefix}{unit}" for prefix in _DECIMAL))


def size(size_bytes: float | None) -> str:
    """Return a size in bytes with a binary prefix, as `4.00 KiB`; `-` where unknown."""
    return _scaled(size_bytes, 1024, _BINARY)


def percent(share: float | None) -> str:
    """Return a share between 0 and 1 in percent, as `12.5 %`; `-` where unknown."""
    return "-" if share is None else f"{100 * share:.1f} %"


def quantity(number: float | None, unit: str) -> str:
    """Return a number of a unit (count, ns, bytes or share) as text; `-` where unknown."""
    return _QUANTITIES[unit](number)


_QUANTITIES: Final[dict[str, Callable[[float | None], str]]] = {
    "count": count,
    "bytes": size,
    "ns": duration,
    "share": percent,
}


def shorten(text: str, width: int) -> str:
    """Return the text in at most `width` columns, its middle left out where it does not fit."""
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
    """Return printable lines of at most `width` columns, words and paths left whole.

    Lines after the first are indented by two columns more.
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


def terminal_width() -> int:
    """Return the columns of the terminal, and 80 where there is none; never less than 80."""
    return max(WIDTH, shutil.get_terminal_size((WIDTH, 24)).columns)


def display_width(text: str) -> int:
    """Return how many terminal columns the text takes: East Asian wide characters take two."""
    return sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def columns(
    header: Sequence[str], rows: Sequence[Sequence[str]], width: int = WIDTH, indent: int = 0
) -> list[str]:
    """Return the lines of a table: the first column left-aligned, the others right-aligned.

    The first column is shortened where the table would be wider than `width`; where that would
    make two of its cells the same, long ones are on separate lines above the rest of their
    rows. Cells are made printable.
    """
    cells = [[printable(cell) for cell in row] for row in (header, *rows)]
    widths = [max(display_width(row[i]) for row in cells) for i in range(len(header))]
    rest = sum(widths[1:]) + 2 * (len(header) - 1) + indent
    widths[0] = min(widths[0], max(12, width - rest))
    firsts = {row[0]: shorten(row[0], widths[0]) for row in cells}
    ambiguous = len(set(firsts.values())) < len(firsts)
    lines = []
    for row in cells:
        first = firsts[row[0]]
        if ambiguous and first != row[0]:
            lines.append(" " * indent + shorten(row[0], width - indent))
            first = ""
        first += " " * (widths[0] - display_width(first))
        others = (
            " " * (width - display_width(cell)) + cell
            for cell, width in zip(row[1:], widths[1:], strict=True)
        )
        lines.append(" " * indent + "  ".join((first, *others)).rstrip())
    return lines


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
