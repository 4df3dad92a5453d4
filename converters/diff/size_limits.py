"""Conditions for all sizes on both sides: a range that ends earlier than before is worse.

What is compared is what `kvtrace sizes` derives. Of each kernel, for each quantity: the first value
above and the first below its range at which an integer overflows, an access leaves its tensor,
another rule is broken or the grid's limit is reached. Of each access: the condition under which it
stays inside its tensor. Where a variant ends (an argument no longer fits its type, a block no
longer covers) is not a defect, so it is not a bound.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from kvtrace.converters.diff.model import BoundChange, Direction

if TYPE_CHECKING:
    from kvtrace.converters.findings.conditions import KernelConditions
    from kvtrace.converters.findings.envelope import EnvelopeRow

Conditions = Sequence["KernelConditions"]

_DEFECTS: Final = frozenset({"overflow", "tensor", "rule", "grid"})
UNJUDGED: Final = "not compared (add --generic)"


def bound_changes(
    conditions: tuple[Conditions, Conditions] | None, renamed: Mapping[str, str]
) -> tuple[tuple[BoundChange, ...], str]:
    """Return what differs, and why nothing was compared, which is empty where it was.

    Args:
        conditions: Of both sides; None where they were not worked out.
        renamed: The name in AFTER of kernels that go by another one there.

    """
    if conditions is None:
        return (), UNJUDGED
    before, after = conditions
    if not before or not after:
        side = "BEFORE" if not before else "AFTER"
        return (), f"not judged: no conditions could be worked out of {side}"
    sides = _by_kernel(before, renamed), _by_kernel(after, {})
    found: list[BoundChange] = []
    for kernel, variants in sides[1].items():
        if kernel in sides[0]:
            found += _ends(kernel, sides[0][kernel], variants)
            found += _inside(kernel, sides[0][kernel], variants)
    return tuple(found), ""


def _by_kernel(
    listed: Conditions, renamed: Mapping[str, str]
) -> dict[str, list["KernelConditions"]]:
    found: dict[str, list[KernelConditions]] = {}
    for each in listed:
        found.setdefault(renamed.get(each.kernel, each.kernel), []).append(each)
    return found


def _ends(kernel: str, before: Conditions, after: Conditions) -> list[BoundChange]:
    """Compare both ends of ranges; of several variants those that end first."""
    found = []
    for name, read in (("first bad", _upper), ("bad below", _lower)):
        first, second = _nearest(before, read), _nearest(after, read)
        for quantity in first.keys() & second.keys():
            change = _change(kernel, quantity, name, first[quantity], second[quantity])
            found += [change] if change is not None else []
    return sorted(found, key=lambda bound: bound.what)


@dataclass(frozen=True)
class _End:
    """One end of a range: the bad value (None: unbounded), and what happens there.

    `distance` is less where the range is narrower.
    """

    bad: int | None
    distance: int | None
    is_unknown: bool
    text: str


def _upper(row: "EnvelopeRow") -> _End:
    bad = row.first_bad if row.kind in _DEFECTS else None
    is_unknown = row.kind == "unknown"
    return _End(bad, bad, is_unknown, (row.reason if is_unknown else row.what) or "")


def _lower(row: "EnvelopeRow") -> _End | None:
    if row.low is None:
        return None  # no range, which its upper end says
    bad = row.last_bad if row.below_kind in _DEFECTS else None
    return _End(bad, None if bad is None else -bad, row.below_kind == "unknown", row.below)


def _nearest(variants: Conditions, read: Callable[["EnvelopeRow"], _End | None]) -> dict[str, _End]:
    found: dict[str, _End] = {}
    for row in (row for variant in variants for row in variant.envelope):
        end = read(row)
        if end is not None and (
            row.quantity not in found or _is_narrower(end, found[row.quantity])
        ):
            found[row.quantity] = end
    return found


def _change(kernel: str, quantity: str, name: str, one: _End, other: _End) -> BoundChange | None:
    """Return how an end differs, if it does."""
    if one.is_unknown != other.is_unknown:
        side, text = ("before", one.text) if one.is_unknown else ("after", other.text)
        what = quantity if name == "first bad" else f"{quantity}: {name}"
        return BoundChange(kernel, what, one.bad, other.bad, "changed", f"unknown {side}: {text}")
    if one.bad == other.bad:
        return None
    direction: Direction = "worse" if _is_narrower(other, one) else "better"
    text = other.text if direction == "worse" else one.text
    return BoundChange(kernel, f"{quantity}: {name}", one.bad, other.bad, direction, text)


def _is_narrower(one: _End, other: _End) -> bool:
    return one.distance is not None and (other.distance is None or one.distance < other.distance)


def _inside(kernel: str, before: Conditions, after: Conditions) -> list[BoundChange]:
    """Compare the conditions of accesses, where both sides have one variant of the kernel."""
    if len(before) != 1 or len(after) != 1:
        return []
    sides = [
        {
            (access.access, access.arg, access.condition): access
            for access in side[0].accesses
            if access.condition is not None
        }
        for side in (before, after)
    ]
    gone = [key for key in sides[0] if key not in sides[1]]
    new = [key for key in sides[1] if key not in sides[0]]
    found = []
    for access, argument, condition in new:
        place = next((key for key in gone if key[:2] == (access, argument)), None)
        if place is not None:
            gone.remove(place)
            what = f"{access} of {argument or '?'} inside"
            found.append(BoundChange(kernel, what, place[2], condition, "changed"))
    return found
