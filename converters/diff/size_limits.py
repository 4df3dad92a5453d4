"""Changes of conditions for all sizes (`kvtrace sizes`): a range that became narrower is worse.

A quantity of a kernel has two bounds: the first values above and below its range at which an
integer overflows, an access leaves its tensor, another rule is violated or the grid's limit is
reached. An access has a condition under which it stays inside its tensor. The limit of a variant
(an argument no longer fits its type, a block no longer covers) is not a defect, so not a bound.
A bound is compared only if the other side tried the same other sizes (its base), as a bound for
1,000 columns says nothing of one for 2,000.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from kvtrace.converters.diff.model import BoundChange, Direction
from kvtrace.converters.findings.conditions import KernelConditions
from kvtrace.converters.findings.envelope import EnvelopeRow

Conditions = Sequence["KernelConditions"]

_DEFECTS: Final = frozenset({"overflow", "tensor", "rule", "grid"})
UNJUDGED: Final = "not compared (kvtrace diff --generic)"
OTHER_SIZES: Final = "not judged: the sides recorded other sizes; record both at the same sizes"
UNKNOWN: Final = "unknown"
_AT_OTHERS: Final = "at other sizes: "
NO_RANGE: Final = "not judged: no range of a size is known; record each kernel at one more size"


def bound_changes(
    conditions: tuple[Conditions, Conditions] | None, renamed: Mapping[str, str]
) -> tuple[tuple[BoundChange, ...], str]:
    """Return the changed bounds and conditions, and the reason if nothing was compared, else "".

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
    is_compared = False
    for kernel, variants in sides[1].items():
        if kernel in sides[0]:
            changes, has_ranges = _bound_changes(kernel, sides[0][kernel], variants)
            all_changes += changes
            all_changes += _condition_changes(kernel, sides[0][kernel], variants)
            is_compared |= has_ranges
    at_others = any(change.text.startswith(_AT_OTHERS) for change in all_changes)
    return tuple(all_changes), "" if is_compared else OTHER_SIZES if at_others else NO_RANGE


def _by_kernel(
    conditions: Conditions, renamed: Mapping[str, str]
) -> dict[str, list[KernelConditions]]:
    conditions_by_kernel: dict[str, list[KernelConditions]] = {}
    for kernel_conditions in conditions:
        conditions_by_kernel.setdefault(
            renamed.get(kernel_conditions.kernel, kernel_conditions.kernel), []
        ).append(kernel_conditions)
    return conditions_by_kernel


def _bound_changes(
    kernel: str, before: Conditions, after: Conditions
) -> tuple[list[BoundChange], bool]:
    """Return the changes of a kernel's bounds, and whether an end is known on both sides.

    Of several variants the narrowest range counts. A lower end that has not changed compares
    nothing: most sizes have none, also where it is not known how large they may be.
    """
    bounds = []
    is_compared = not any(variant.envelope for variant in (*before, *after))  # it has no sizes
    for name, read in (("first bad", _upper_end), ("bad below", _lower_end)):
        ends_before, ends_after = _narrowest_ends(before, read), _narrowest_ends(after, read)
        for quantity in sorted(ends_before.keys() & ends_after.keys()):
            change = _end_change(
                kernel, quantity, name, ends_before[quantity], ends_after[quantity]
            )
            bounds += [change] if change is not None else []
            is_known = not (ends_before[quantity].is_unknown or ends_after[quantity].is_unknown)
            has_gap = ends_before[quantity].has_gap or ends_after[quantity].has_gap
            is_evidence = (read is _upper_end and not has_gap) or change is not None
            is_compared |= (
                is_known and is_evidence and not (change and change.text.startswith(_AT_OTHERS))
            )
    return sorted(bounds, key=lambda bound: bound.what), is_compared


@dataclass(frozen=True)
class _RangeEnd:
    """One end of a range: the first bad value (None: unbounded), and the defect there as text.

    `distance` is smaller for a narrower range. `is_unknown`: the value could not be derived. The
    other sizes are `base`, which of the recorded `bases` leave the narrowest range. `has_gap`: not
    all values between the range and the bad one are known to be good.
    """

    bad: int | None
    distance: int | None
    is_unknown: bool
    text: str
    base: str
    bases: tuple[str, ...]
    has_gap: bool = False


def _upper_end(row: EnvelopeRow) -> _RangeEnd:
    bad = row.first_bad if row.kind in _DEFECTS else None
    is_unknown = row.kind in ("unknown", "unseen")
    text = (row.reason if is_unknown else row.what) or ""
    has_gap = bad is not None and row.reason is not None
    return _RangeEnd(bad, bad, is_unknown, text, row.base, row.bases, has_gap)


def _lower_end(row: EnvelopeRow) -> _RangeEnd | None:
    if row.low is None:
        return None  # there is no range; the upper end has the reason
    bad = row.last_bad if row.below_kind in _DEFECTS else None
    distance = None if bad is None else -bad
    is_unknown = row.below_kind == "unknown"
    return _RangeEnd(bad, distance, is_unknown, row.below, row.base, row.bases)


def _narrowest_ends(
    variants: Conditions, read: Callable[[EnvelopeRow], _RangeEnd | None]
) -> dict[str, _RangeEnd]:
    ends: dict[str, _RangeEnd] = {}
    for row in (row for variant in variants for row in variant.envelope):
        end = read(row)
        if end is not None and (row.quantity not in ends or _is_narrower(end, ends[row.quantity])):
            ends[row.quantity] = end
    return ends


def _end_change(
    kernel: str, quantity: str, name: str, before: _RangeEnd, after: _RangeEnd
) -> BoundChange | None:
    """Return the change of one end of a quantity's range, or None; `name` is that of the end."""
    if before.is_unknown != after.is_unknown:
        side, text = ("before", before.text) if before.is_unknown else ("after", after.text)
        what = quantity if name == "first bad" else f"{quantity}: {name}"
        bads = [UNKNOWN if end.is_unknown else end.bad for end in (before, after)]
        return BoundChange(kernel, what, bads[0], bads[1], "changed", f"unknown {side}: {text}")
    if before.bad == after.bad:
        return None
    is_worse = _is_narrower(after, before)
    narrower, wider = (after, before) if is_worse else (before, after)
    direction: Direction = "worse" if is_worse else "better"
    text = narrower.text
    if narrower.base not in (wider.base, *wider.bases):  # where the wider one may be as narrow
        direction, text = "changed", f"{_AT_OTHERS}{before.base} before, {after.base} after"
    return BoundChange(kernel, f"{quantity}: {name}", before.bad, after.bad, direction, text)


def _is_narrower(one: _RangeEnd, other: _RangeEnd) -> bool:
    return one.distance is not None and (other.distance is None or one.distance < other.distance)


def _condition_changes(kernel: str, before: Conditions, after: Conditions) -> list[BoundChange]:
    """Return the accesses whose condition changed; [] unless both sides have as many variants."""
    if len(before) != len(after):
        return []
    sides = [
        {
            (access.access, access.arg, access.condition): access
            for variant in side
            for access in variant.accesses
            if access.condition is not None
        }
        for side in (before, after)
    ]
    only_before = [key for key in sides[0] if key not in sides[1]]
    only_after = [key for key in sides[1] if key not in sides[0]]
    changed = []
    for access, argument, condition in only_after:
        counterpart = next((key for key in only_before if key[:2] == (access, argument)), None)
        if counterpart is not None:
            only_before.remove(counterpart)
            what = f"{access} of {argument or '?'} inside"
            changed.append(BoundChange(kernel, what, counterpart[2], condition, "changed"))
    return changed
