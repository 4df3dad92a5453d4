"""The size envelope of a kernel, for people and for programs: a row a quantity, and one size.

Plain data that `kvtrace sizes` fills, and its text.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from kvtrace.text import printable, wrapped

_INDENT: Final = 4
_OTHER_VARIANT: Final = ("argument", "constants")


@dataclass(frozen=True, slots=True)
class EnvelopeRow:
    """One quantity of a kernel, and the first value at which something goes wrong.

    `kind` is overflow, tensor (one is left), rule (another one is broken), grid, argument (it no
    longer fits its type), constants (a block no longer covers it), none, or unknown, for `reason`.
    `contract` says for which values all rules are proven, where `along` holds, which is based on
    the launches of `basis`; None: no value is promised to be fine. `low` and `high` are its ends.
    `last_bad` is the greatest value below them at which something goes wrong, `below_kind` of which
    kind that is, and `below` what; without it, `below` says why that is unknown, or is empty where
    no smaller value can be.
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


@dataclass(frozen=True, slots=True)
class SizeVerdict:
    """What a rule says of an access at a size that was asked for."""

    rule: str
    verdict: str
    message: str
    file: str | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class AtSizes:
    """A kernel at sizes that were asked for, judged without running it.

    `limit`: why such a launch cannot be, or is another variant; `reason`: why it was not judged.
    `proven` counts what was proven; `verdicts` has the rest.
    """

    asked: str
    along: tuple[str, ...] = ()
    limit: str | None = None
    proven: int = 0
    verdicts: tuple[SizeVerdict, ...] = ()
    reason: str | None = None


def envelope_text(rows: Sequence[EnvelopeRow], width: int, base: str | None) -> list[str]:
    """Return lines for a terminal: the table of a kernel."""
    if not rows:
        return []
    lines = ["  sizes"]
    for row in rows:
        lines += wrapped(_row(row, base), width, _INDENT)
    return lines


def _row(row: EnvelopeRow, base: str | None) -> str:
    where = _place(row.file, row.line, base)
    assumed = f"assuming {', '.join((*row.along, 'other sizes as recorded'))} ({row.basis})"
    fine = f"proven for {row.contract}, {assumed}" if row.contract else None
    if row.kind == "unknown" and fine is None:
        text = f"unknown: {row.reason}{where}"
    elif row.kind == "unknown":
        text = f"{fine}; beyond that unknown: {row.reason}{where}"
    elif row.first_bad is None:
        text = f"no bad value: {fine}"
    elif row.first_bad == row.recorded and fine is None:
        text = f"bad at {row.first_bad:,}: {row.what}{where}; no size is promised to be fine"
    else:
        ends = "this variant ends at" if row.kind in _OTHER_VARIANT else "first bad"
        text = f"{ends} {row.first_bad:,}: {row.what}{where}; {fine or assumed}"
    return f"{row.quantity} (was {row.recorded:,}): {text}{_below(row)}"


def _below(row: EnvelopeRow) -> str:
    if row.last_bad is not None:
        ends = "this variant ends" if row.below_kind in _OTHER_VARIANT else "bad"
        return f"; below that, {ends} at {row.last_bad:,}: {row.below}"
    return f"; below that unknown: {row.below}" if row.below else ""


def at_text(found: AtSizes, width: int, base: str | None) -> list[str]:
    """Return lines for a terminal: what is found at the sizes that were asked for."""
    along = f"; taken along: {', '.join(found.along)}" if found.along else ""
    lines = wrapped(f"at {found.asked}{along}", width, 2)
    if found.reason:
        return lines + wrapped(f"not judged: {found.reason}", width, _INDENT)
    if found.limit:
        lines += wrapped(f"no launch of this variant: {found.limit}", width, _INDENT)
    for each in found.verdicts:
        where = _place(each.file, each.line, base)
        lines += wrapped(f"{each.verdict}: {each.rule}: {each.message}{where}", width, _INDENT)
    return [*lines, " " * _INDENT + f"{found.proven:,} proven"]


def _place(file: str | None, line: int | None, base: str | None) -> str:
    if file is None:
        return ""
    if base is not None and file.startswith(base.rstrip(os.sep) + os.sep):
        file = os.path.relpath(file, base)
    return printable(f" ({file}:{line or '?'})")
