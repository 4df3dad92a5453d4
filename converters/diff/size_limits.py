"""Conditions for all sizes on both sides: a range that ends earlier than before is worse.

The conditions are those of `kvtrace sizes`. For each quantity of a kernel: the first values above
and below its range at which an integer overflows, an access leaves its tensor, another rule is
broken or the grid's limit is reached. For each access: the condition under which it stays inside
its tensor. The limit of a variant (an argument no longer fits its type, a block no longer covers)
is not a defect, so it is not a bound.
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
    """Return the changed bounds, and the reason if nothing was compared, else "".

    Args:
        conditions: Conditions of both sides; None if they were not derived.
        renamed: Names in AFTER of renamed kernels, by the names in BEFORE.
    """
    if conditions is None:
        return (), UNJUDGED
    before, after = conditions
    if not before or not after:
        side = "BEFORE" if not before else "AFTER"
        return (), f"not judged: no conditions could be derived for {side}"
    sides = _by_kernel(before, renamed), _by_kernel(after, {})
    all_changes: list[BoundChange] = []
    for kernel, variants in sides[1].items():
        if kernel in sides[0]:
            all_changes += _ends(kernel, sides[0][kernel], variants)
            all_changes += _inside(kernel, sides[0][kernel], variants)
    return tuple(all_changes), ""


def _by_kernel(
    conditions: Conditions, renamed: Mapping[str, str]
) -> dict[str, list["KernelConditions"]]:
    groups: dict[str, list[KernelConditions]] = {}
    for kernel_conditions in conditions:
        groups.setdefault(
            renamed.get(kernel_conditions.kernel, kernel_conditions.kernel), []
        ).append(kernel_conditions)
    return groups


def _ends(kernel: str, before: Conditions, after: Conditions) -> list[BoundChange]:
    """Return changes of both ends of ranges; of several variants the narrowest range counts."""
    bounds = []
    for name, read in (("first bad", _upper), ("bad below", _lower)):
        first, second = _nearest(before, read), _nearest(after, read)
        for quantity in first.keys() & second.keys():
            change = _change(kernel, quantity, name, first[quantity], second[quantity])
            bounds += [change] if change is not None else []
    return sorted(bounds, key=lambda bound: bound.what)


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
    ends: dict[str, _End] = {}
    for row in (row for variant in variants for row in variant.envelope):
        end = read(row)
        if end is not None and (row.quantity not in ends or _is_narrower(end, ends[row.quantity])):
            ends[row.quantity] = end
    return ends


def _change(kernel: str, quantity: str, name: str, before: _End, after: _End) -> BoundChange | None:
    """Return the change of an end, or None."""
    if before.is_unknown != after.is_unknown:
        side, text = ("before", before.text) if before.is_unknown else ("after", after.text)
        what = quantity if name == "first bad" else f"{quantity}: {name}"
        return BoundChange(
            kernel, what, before.bad, after.bad, "changed", f"unknown {side}: {text}"
        )
    if before.bad == after.bad:
        return None
    direction: Direction = "worse" if _is_narrower(after, before) else "better"
    text = after.text if direction == "worse" else before.text
    return BoundChange(kernel, f"{quantity}: {name}", before.bad, after.bad, direction, text)


def _is_narrower(one: _End, other: _End) -> bool:
    return one.distance is not None and (other.distance is None or one.distance < other.distance)


def _inside(kernel: str, before: Conditions, after: Conditions) -> list[BoundChange]:
    """Return changed conditions of accesses, if both sides have one variant of the kernel."""
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
    changed = []
    for access, argument, condition in new:
        counterpart = next((key for key in gone if key[:2] == (access, argument)), None)
        if counterpart is not None:
            gone.remove(counterpart)
            what = f"{access} of {argument or '?'} inside"
            changed.append(BoundChange(kernel, what, counterpart[2], condition, "changed"))
    return changed
