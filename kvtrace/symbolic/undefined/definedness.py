"""Conditions over lanes under which a tensor's elements are undefined, and operations on them.

A condition may have existentially quantified symbols, for "some lane" and "some earlier trip". This
is sound, as conditions of undefined elements are never negated.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from kvtrace.ir import Op
from kvtrace.symbolic.conditions import (
    FALSE,
    And,
    Condition,
    Not,
    Opaque,
    Or,
    conjunction,
    disjunction,
    in_order,
)
from kvtrace.symbolic.meanings.tt_shape import with_lanes_replaced
from kvtrace.symbolic.terms import Symbol, Term, lane

_MOST_PARTS: Final = 48
TOO_MANY: Final = "which lanes have no value takes too many cases"


class Undefined(Struct, frozen=True):
    """The conditions under which a value's elements are undefined, and the loads that cause it.

    `surely`: the element may be any number. `possibly`: the element may also be an undefined number
    times zero, which is zero unless the number is a NaN or an infinity.
    """

    surely: Condition = FALSE
    possibly: Condition = FALSE
    sources: frozenset[Op] = frozenset()

    @property
    def is_nowhere(self) -> bool:
        """All elements are defined."""
        return self.possibly is FALSE

    def mapped(self, change: Callable[[Condition], Condition]) -> Undefined:
        """Return the value with a function applied to both conditions."""
        if self.is_nowhere:
            return NOWHERE
        possibly = change(self.possibly)
        surely = possibly if self.surely is self.possibly else change(self.surely)
        return limited_taint(surely, possibly, self.sources)


NOWHERE: Final = Undefined()


def limited_taint(surely: Condition, possibly: Condition, sources: frozenset[Op]) -> Undefined:
    """Return an `Undefined` with conditions of limited size, or NOWHERE for no elements."""
    if possibly is FALSE:
        return NOWHERE
    weaker = limited(possibly)
    return Undefined(weaker if surely == possibly else limited(surely), weaker, sources)


def united_taint(parts: Iterable[Undefined]) -> Undefined:
    """Return the taint of elements that are undefined in at least one of several values."""
    tainted = [part for part in parts if not part.is_nowhere]
    if len(tainted) < 2:
        return tainted[0] if tainted else NOWHERE
    possibly = either_of(part.possibly for part in tainted)
    if all(part.surely is part.possibly for part in tainted):
        surely = possibly
    else:
        surely = either_of(part.surely for part in tainted)
    return limited_taint(surely, possibly, frozenset().union(*(part.sources for part in tainted)))


def chosen(condition: Condition, first: Undefined, second: Undefined) -> Undefined:
    """Return the first value's taint where a condition holds, and the second's elsewhere."""
    if first.is_nowhere and second.is_nowhere:
        return NOWHERE
    possibly = _chosen(condition, first.possibly, second.possibly)
    if first.surely is first.possibly and second.surely is second.possibly:
        surely = possibly
    else:
        surely = _chosen(condition, first.surely, second.surely)
    return limited_taint(surely, possibly, first.sources | second.sources)


def _chosen(condition: Condition, first: Condition, second: Condition) -> Condition:
    """Return `first` where `condition` holds, else `second`; common parts are kept as they are."""
    first_parts, second_parts = dict.fromkeys(parts_of(first)), dict.fromkeys(parts_of(second))
    common = [part for part in first_parts if part in second_parts]
    first_only = disjunction(part for part in first_parts if part not in second_parts)
    second_only = disjunction(part for part in second_parts if part not in first_parts)
    return either_of((*common, condition & first_only, ~condition & second_only))


def either_of(conditions: Iterable[Condition]) -> Condition:
    """Return the disjunction of conditions, without parts that imply another part."""
    full = disjunction(conditions)
    parts = parts_of(full)
    if len(parts) < 2:
        return full
    sets = [frozenset(part.conjuncts()) for part in parts]
    weakest = [
        part
        for part, conjuncts in zip(parts, sets, strict=True)
        if not any(other_conjuncts < conjuncts for other_conjuncts in sets)
    ]
    return full if len(weakest) == len(parts) else disjunction(weakest)


def parts_of(condition: Condition) -> tuple[Condition, ...]:
    """Return the parts of a disjunction, () for FALSE, and a tuple of any other condition."""
    if isinstance(condition, Or):
        return condition.parts
    return () if condition is FALSE else (condition,)


def limited(condition: Condition) -> Condition:
    """Return a condition, or an opaque one in its place if it has too many parts."""
    if _size(condition) <= _MOST_PARTS:
        return condition
    atoms = in_order(a for a in condition.atoms() if isinstance(a, Symbol))
    return Opaque(("undefined", condition.order), TOO_MANY, tuple(a.term for a in atoms[:16]))


def _size(condition: Condition) -> int:
    if isinstance(condition, And | Or):
        return sum(_size(part) for part in condition.parts)
    return 1


# -- lanes --------------------------------------------------------------------------------------


def placed(condition: Condition, shape: Sequence[int], indices: Sequence[Term | None]) -> Condition:
    """Return a condition with new indices along the axes of a shape (None: unchanged)."""
    replaced = with_lanes_replaced(condition, shape, indices)
    assert isinstance(replaced, Condition)
    return replaced


def somewhere(
    condition: Condition, shape: Sequence[int], axes: Container[int], key: object
) -> Condition:
    """Return the condition that another one holds for some index along axes.

    The indices are symbols with `key`.
    """
    indices = [
        some_lane(key, axis, extent) if axis in axes else None for axis, extent in enumerate(shape)
    ]
    return placed(condition, shape, indices)


def some_lane(key: object, axis: int, extent: int) -> Term:
    """Return a term for some index along an axis; equal keys give equal terms."""
    return Symbol("lane", ("some", key, axis), 0, extent - 1).term


# -- simplification ------------------------------------------------------------------------------


def simplified_by(condition: Condition, holding: frozenset[Condition]) -> Condition:
    """Return a condition simplified by conditions that hold, by structure alone."""
    if condition in holding:
        return conjunction(())
    if isinstance(condition, And):
        return conjunction(simplified_by(part, holding) for part in condition.parts)
    if isinstance(condition, Or):
        return disjunction(simplified_by(part, holding) for part in condition.parts)
    return FALSE if ~condition in holding else condition


# -- unknowns of a loop ---------------------------------------------------------------------------


def placeholder(key: object, shape: Sequence[int]) -> Opaque:
    """Return a placeholder for a carried condition over the lanes of a shape."""
    lanes = tuple(lane(axis, extent) for axis, extent in enumerate(shape) if extent > 1)
    return Opaque(("carried", key), "carried by a loop", lanes)


def with_solutions(
    condition: Condition, solutions: Mapping[object, tuple[tuple[int, ...], Condition]]
) -> Condition:
    """Return a condition with placeholders replaced by their solutions, in moved lanes.

    `solutions` has (shape, condition) by the placeholder's key.
    """
    if isinstance(condition, And):
        return conjunction(with_solutions(part, solutions) for part in condition.parts)
    if isinstance(condition, Or):
        return disjunction(with_solutions(part, solutions) for part in condition.parts)
    if isinstance(condition, Not):
        return ~with_solutions(condition.inner, solutions)
    if not isinstance(condition, Opaque) or condition.key not in solutions:
        return condition
    shape, solution = solutions[condition.key]
    at = iter(condition.at)
    return placed(solution, shape, [next(at) if extent > 1 else None for extent in shape])
