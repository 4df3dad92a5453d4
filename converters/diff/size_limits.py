"""Conditions for all sizes on both sides: a quantity that ends earlier than before is worse.

What is compared is what `kvtrace sizes` derives. Of each kernel, for each quantity: the first value
at which an integer overflows, an access leaves its tensor or the grid's limit is reached. Of each
access: the condition under which it stays inside its tensor. Where a variant ends (an argument no
longer fits its type, a block no longer covers) is not a defect, so it is not a bound.
"""

from collections.abc import Mapping, Sequence
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
    """Compare where quantities end; of several variants the one that ends first."""
    first, second = _first_bad(before), _first_bad(after)
    found = []
    for quantity in first.keys() & second.keys():
        one, other = first[quantity], second[quantity]
        if "unknown" in (one.kind, other.kind) and one.kind != other.kind:
            row = one if one.kind == "unknown" else other
            side = "before" if row is one else "after"
            text = f"unknown {side}: {row.reason}"
            found.append(BoundChange(kernel, quantity, _end(one), _end(other), "changed", text))
        elif _end(one) != _end(other):
            direction: Direction = "worse" if _is_less(_end(other), _end(one)) else "better"
            text = other.what if direction == "worse" else one.what
            found.append(
                BoundChange(
                    kernel, f"{quantity}: first bad", _end(one), _end(other), direction, text
                )
            )
    return sorted(found, key=lambda bound: bound.what)


def _first_bad(variants: Conditions) -> dict[str, "EnvelopeRow"]:
    found: dict[str, EnvelopeRow] = {}
    for variant in variants:
        for row in variant.envelope:
            known = found.get(row.quantity)
            if known is None or _is_less(_end(row), _end(known)):
                found[row.quantity] = row
    return found


def _end(row: "EnvelopeRow") -> int | None:
    return row.first_bad if row.kind in _DEFECTS else None


def _is_less(one: int | None, other: int | None) -> bool:
    """Whether a bound is narrower than another; None means unbounded."""
    return one is not None and (other is None or one < other)


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
