"""Size envelope of a kernel: for each quantity the values at which all rules are proven.

Dataclasses and their text for `kvtrace sizes`; also the verdicts at the sizes of `--at`.
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
    """One quantity of a kernel, such as a size: its safe range, and the values that end the range.

    `first_bad` is the least value above the range that is a problem of this `kind`: overflow,
    tensor (an access leaves its tensor), rule (another rule is violated), grid, argument (it no
    longer fits its type), constants (the blocks no longer cover the quantity), none, or unknown,
    for `reason`. `contract` is the range as text, from `low` to `high`; None if no value is proven.
    The range assumes `along` (other quantities that change with this one), which the launches of
    `basis` suggest. `last_bad` is the greatest value below the range that is a problem, described
    by `below` and `below_kind`. If it is None, `below` is the reason why it is unknown, or "".
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


def envelope_text(rows: Sequence[EnvelopeRow], width: int, base: str | None) -> list[str]:
    """Return lines for a terminal: a paragraph per quantity of a kernel; [] without rows."""
    if not rows:
        return []
    lines = ["  sizes"]
    for row in rows:
        lines += wrapped(_row_text(row, base), width, _INDENT)
    return lines


def _row_text(row: EnvelopeRow, base: str | None) -> str:
    location = _location_text(row.file, row.line, base)
    assumed = f"assuming {', '.join((*row.along, 'other sizes as recorded'))} ({row.basis})"
    proven = f"proven for {row.contract}, {assumed}" if row.contract else None
    if row.kind == "unknown" and proven is None:
        text = f"unknown: {row.reason}{location}"
    elif row.kind == "unknown":
        text = f"{proven}; beyond that unknown: {row.reason}{location}"
    elif row.first_bad is None:
        text = f"no bad value: {proven}"
    elif row.first_bad == row.recorded and proven is None:
        text = f"bad at {row.first_bad:,}: {row.what}{location}; no size is proven safe"
    else:
        text = f"first bad {row.first_bad:,}"
        if row.kind in _OTHER_VARIANT:
            text = f"another variant from {row.first_bad:,} on"
        text += f": {row.what}{location}; {proven or assumed}"
    return f"{row.quantity} (was {row.recorded:,}): {text}{_lower_end_text(row)}"


def _lower_end_text(row: EnvelopeRow) -> str:
    if row.last_bad is not None:
        ends = f"bad at {row.last_bad:,}"
        if row.below_kind in _OTHER_VARIANT:
            ends = f"another variant from {row.last_bad:,} down"
        return f"; below that, {ends}: {row.below}"
    return f"; below that unknown: {row.below}" if row.below else ""


def at_text(at: AtSizes, width: int, base: str | None) -> list[str]:
    """Return lines for a terminal: the verdicts at the sizes of `--at`."""
    along = f"; follows: {', '.join(at.along)}" if at.along else ""
    lines = wrapped(f"at {at.asked}{along}", width, 2)
    if at.reason:
        return lines + wrapped(f"not judged: {at.reason}", width, _INDENT)
    if at.limit:
        lines += wrapped(f"no launch of this variant: {at.limit}", width, _INDENT)
    for v in at.verdicts:
        location = _location_text(v.file, v.line, base)
        lines += wrapped(f"{v.verdict}: {v.rule}: {v.message}{location}", width, _INDENT)
    return [*lines, " " * _INDENT + f"{at.proven:,} proven"]


def _location_text(file: str | None, line: int | None, base: str | None) -> str:
    if file is None:
        return ""
    if base is not None and file.startswith(base.rstrip(os.sep) + os.sep):
        file = os.path.relpath(file, base)
    return printable(f" ({file}:{line or '?'})")
