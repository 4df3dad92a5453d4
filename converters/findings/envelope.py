"""Size envelope of a kernel: for each quantity the values at which all rules are proven.

Dataclasses and their text for `kvtrace sizes`; also the verdicts at the sizes of `--at`.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from kvtrace.text import plural, printable, shown_path, wrapped

_INDENT: Final = 4
_OPEN: Final = ("unknown", "unseen")
_OTHER_VARIANT: Final = ("argument", "constants")
#: What ends a range, by kind, as words.
_KINDS: Final = {
    "overflow": "overflow",
    "tensor": "out of bounds",
    "rule": "violation",
    "grid": "grid limit",
    "argument": "another variant",
    "constants": "another variant",
    "unknown": "unknown",
    "none": "no end",
    "unseen": "never varied",
}


@dataclass(frozen=True, slots=True)
class EnvelopeRow:
    """One quantity of a kernel, such as a size: the range at which all rules are proven, its ends.

    The upper end, the least bad value above the range, is described by `kind`, `first_bad` and
    `what`; the lower one, the greatest bad value below it, by `below_kind`, `last_bad` and `below`.
    Kinds are the keys of `_KINDS`: an integer overflows; an access leaves its tensor; another rule
    is violated or an output left partly unwritten ("rule"); the grid passes the device's limit; an
    argument no longer fits its type; blocks of compile-time constants no longer cover the quantity;
    nothing is bad ("none"); not known ("unknown"); no launch had another value ("unseen").

    Attributes:
        recorded: the value in the recorded launch at which the envelope was made.
        file, line: the source that `what` speaks of; `expression` is what overflows there.
        contract: the range as text, as in "n <= 4,096"; None if no value is proven.
        low, high: its ends, both proven; None with `contract`.
        along: assumed quantities, which change with this one; `basis` says what suggests it.
        equal: other quantities that had the same value in all recorded launches.
        base: the other sizes, those of the recorded launch that gives the narrowest range.
        bases: the other sizes of all launches tried; `untried` more were not, for want of time.
        reason: why values are unknown: from the range on, or, with `first_bad`, up to that.
        wraps_from, wrap: after another bad value, where an integer begins to overflow, and which.
        below: the problem at `last_bad`; without it, the reason why it is unknown, or "".
        written: the sizes at which a launch was evaluated and left nothing of an output unwritten.

    """

    quantity: str
    recorded: int
    kind: str
    first_bad: int | None = None
    what: str = ""
    file: str | None = None
    line: int | None = None
    expression: str | None = None
    contract: str | None = None
    along: tuple[str, ...] = ()
    basis: str = ""
    reason: str | None = None
    low: int | None = None
    high: int | None = None
    last_bad: int | None = None
    below: str = ""
    below_kind: str = "none"
    equal: tuple[str, ...] = ()
    base: str = ""
    bases: tuple[str, ...] = ()
    untried: int = 0
    wraps_from: int | None = None
    wrap: str = ""
    written: tuple[int, ...] = ()

    @property
    def fine(self) -> tuple[int, int] | None:
        """Both ends of the proven range, None without one."""
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True, slots=True)
class SizeVerdict:
    """A verdict of a rule on an access, at the sizes of `--at`."""

    rule: str
    verdict: str
    message: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class AtSizes:
    """Verdicts on a kernel at the sizes of `--at`, without running the kernel.

    `limit` is the reason if this variant is not launched at these sizes, `reason` if the launch was
    not judged. `proven` counts the proven verdicts; `verdicts` has the others.
    """

    asked: str
    along: tuple[str, ...] = ()
    limit: str | None = None
    proven: int = 0
    verdicts: tuple[SizeVerdict, ...] = ()
    reason: str | None = None
    base: str = ""


def envelope_text(rows: Sequence[EnvelopeRow], width: int, base: str | None) -> list[str]:
    """Return lines for a terminal: a paragraph per quantity, the gravest first; [] without rows."""
    lines = ["  sizes"] if rows else []
    for group in different_rows(rows):
        recorded = ((row.quantity, f"{row.recorded:,}{_base_text(row)}") for row in group)
        quantities = dict.fromkeys(f"{quantity} (was {value})" for quantity, value in recorded)
        text = f"{', '.join(quantities)}: {_row_text(group[0], base)}"
        lines += wrapped(text, width, _INDENT)
    return lines


def cells(rows: Sequence[EnvelopeRow]) -> tuple[str, str, str, str]:
    """Return a quantity's recorded value, proven range, what ends it, and tries, for a table."""
    proven = next((_range_text(row) for row in rows if row.contract), "none")
    ends = dict.fromkeys(text for row in rows for text in _ends(row))
    tries = plural(len(rows[0].written), "size") if rows[0].written else "not tried"
    return f"{rows[0].recorded:,}", proven, ", ".join(ends), tries if rows[0].contract else ""


def _range_text(row: EnvelopeRow) -> str:
    if row.low == row.high:
        return f"{row.high:,}"
    is_open = row.contract is not None and row.contract.startswith(row.quantity)
    return f"up to {row.high:,}" if is_open else f"{row.low:,} to {row.high:,}"


def _ends(row: EnvelopeRow) -> Iterator[str]:
    """Yield words: if 4,096 is proven, "overflow" at 4,097, but "overflow from 5,000" at 5,000."""
    if row.first_bad == row.recorded and row.contract is None:
        yield "already bad"
    elif row.first_bad is not None and row.first_bad - 1 != row.high:
        yield f"{_KINDS[row.kind]} from {row.first_bad:,}"
        if row.reason is not None:
            yield "unknown before"
    else:
        yield _KINDS[row.kind]
    if row.below_kind != row.kind and row.below_kind != "none":
        yield f"{_KINDS[row.below_kind]} below"


def gravity(row: EnvelopeRow) -> tuple[int, float]:
    """Return a key that sorts rows: bad values closest to the recorded value first."""
    ends = ((row.first_bad, row.kind), (row.last_bad, row.below_kind))
    bad = [end for end, kind in ends if end is not None and kind not in _OTHER_VARIANT]
    if bad:
        return 0, min(abs(end - row.recorded) for end in bad) / max(abs(row.recorded), 1)
    if row.kind in _OPEN:
        return (1 if row.contract is None else 2), 0
    return (3 if row.below_kind == "unknown" else 4), 0


def different_rows(rows: Iterable[EnvelopeRow]) -> list[list[EnvelopeRow]]:
    """Return rows that say different things, the gravest first, each with those that say the same.

    Rows say the same if bad at the recorded sizes for one reason, or unknown in quantities that
    were always equal.
    """
    groups: list[list[EnvelopeRow]] = []
    for row in sorted(rows, key=lambda row: (*gravity(row), (row.low or 0) - (row.high or 0))):
        group = next((group for group in groups if _says_the_same(group[0], row)), None)
        if group is None:
            groups.append([row])
        else:
            group.append(row)
    return groups


def _says_the_same(row: EnvelopeRow, other: EnvelopeRow) -> bool:
    """Return whether a row makes another one, of no wider range, redundant."""
    if row.contract is None and other.contract is None and row.what:
        return row.what == other.what
    if row.kind == other.kind == "unseen":
        return row.low == row.high and other.low == other.high
    return row.kind == other.kind == "unknown" and other.quantity in row.equal


def _row_text(row: EnvelopeRow, base: str | None) -> str:
    location = location_text(row.file, row.line, base)
    assumed = f"assuming {', '.join((*row.along, 'other sizes as recorded'))} ({row.basis})"
    proven = f"proven for {row.contract}, {assumed}" if row.contract else None
    if row.kind == "unseen":
        start = "" if row.low == row.high else f"{proven}; "
        return f"{start}no launch had a larger one, so that beyond is unknown: {row.reason}"
    if row.kind == "unknown":
        start = f"{proven}; beyond that unknown" if proven else "unknown"
        text = f"{start}: {row.reason}{location}"
    elif row.first_bad is None:
        text = f"no bad value: {proven}"
    elif row.first_bad == row.recorded and proven is None:
        text = f"already bad: {row.what}{location}; no size is proven safe"
    else:
        is_variant, value = row.kind in _OTHER_VARIANT, f"{row.first_bad:,}"
        end = f"another variant from {value} on" if is_variant else f"first bad {value}"
        text = f"{end}: {row.what}{location}; {proven or assumed}"
        text += f"; between, unknown: {row.reason}" if row.reason else ""
    if row.wraps_from is not None:
        text += f"; from {row.wraps_from:,} on, {row.wrap}"
    if row.written:
        text += f"; every element is written at the sizes tried: {', '.join(map(str, row.written))}"
    return text + _lower_end_text(row)


def _base_text(row: EnvelopeRow) -> str:
    """Return the other sizes, if launches differ in them: ", with n = 3, the narrowest of 2"."""
    if len(row.bases) + row.untried < 2:
        return ""
    untried = f" tried, {row.untried:,} untried" if row.untried else ""
    return f", with {row.base or 'other contents'}, the narrowest of {len(row.bases):,}{untried}"


def _lower_end_text(row: EnvelopeRow) -> str:
    if row.last_bad is not None:
        ends = f"bad at {row.last_bad:,}"
        if row.below_kind in _OTHER_VARIANT:
            ends = f"another variant from {row.last_bad:,} down"
        return f"; below that, {ends}: {row.below}"
    return f"; below that unknown: {row.below}" if row.below else ""


def at_texts(at: AtSizes, base: str | None) -> Iterator[tuple[str, str]]:
    """Yield the verdicts at the sizes of `--at`, each with its text."""
    if at.reason:
        yield "unknown", f"not judged: {at.reason}"
        return
    if at.limit:
        yield "unknown", f"no launch of this variant: {at.limit}"
    for v in at.verdicts:
        location = location_text(v.file, v.line, base)
        yield v.verdict, f"{v.verdict}: {v.rule}: {v.message}{location}"
    yield "proven", f"{at.proven:,} proven"


def location_text(file: str | None, line: int | None, base: str | None) -> str:
    """Return " (file:line)" with the file relative to the folder `base`; "" without a file."""
    if file is None:
        return ""
    return printable(f" ({shown_path(file, base)}:{line or '?'})")
