"""Conditions over lanes under which a tensor's elements are undefined, and operations on them.

A condition may have symbols for "some lane" and "some earlier trip", which are existentially
quantified. That is sound as conditions of undefined elements are never negated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from kvtrace.symbolic.conditions import (
    FALSE,
    And,
    Condition,
    Not,
    Opaque,
    Or,
    conjunction,
    disjunction,
)
from kvtrace.symbolic.terms import Atom, Substitution, Symbol, Term, lane

if TYPE_CHECKING:
    from kvtrace.ir import Op

_MOST_PARTS: Final = 48
TOO_MANY: Final = "which lanes have no value takes too many cases"


@dataclass(frozen=True)
class Undefined:
    """Conditions for undefined elements of a value, and the loads that left them undefined.

    `surely`: the element may be any number. `possibly`: the element may also be an undefined number
    times zero, which is zero unless the number is a NaN or an infinity.
    """

    surely: Condition = FALSE
    possibly: Condition = FALSE
    sources: frozenset[Op] = field(default=frozenset())

    @property
    def is_nowhere(self) -> bool:
        """All elements are defined."""
        return self.possibly is FALSE

    def where(self, change: Callable[[Condition], Condition]) -> Undefined:
        """Return the value with a function applied to both conditions."""
        if self.is_nowhere:
            return NOWHERE
        possibly = change(self.possibly)
        surely = possibly if self.surely is self.possibly else change(self.surely)
        return made(surely, possibly, self.sources)


NOWHERE: Final = Undefined()


def made(surely: Condition, possibly: Condition, sources: frozenset[Op]) -> Undefined:
    """Return an `Undefined` with limited conditions, or NOWHERE if no element is undefined."""
    if possibly is FALSE:
        return NOWHERE
    weaker = limited(possibly)
    return Undefined(weaker if surely is possibly else limited(surely), weaker, sources)


def united(parts: Iterable[Undefined]) -> Undefined:
    """Return the elements that are undefined in at least one of several values."""
    tainted = [part for part in parts if not part.is_nowhere]
    if len(tainted) < 2:
        return tainted[0] if tainted else NOWHERE
    possibly = either_of(part.possibly for part in tainted)
    if all(part.surely is part.possibly for part in tainted):
        surely = possibly
    else:
        surely = either_of(part.surely for part in tainted)
    return made(surely, possibly, frozenset().union(*(part.sources for part in tainted)))


def chosen(condition: Condition, first: Undefined, second: Undefined) -> Undefined:
    """Return the first value's taint where a condition holds, the second's elsewhere."""
    if first.is_nowhere and second.is_nowhere:
        return NOWHERE
    possibly = _chosen(condition, first.possibly, second.possibly)
    if first.surely is first.possibly and second.surely is second.possibly:
        surely = possibly
    else:
        surely = _chosen(condition, first.surely, second.surely)
    return made(surely, possibly, first.sources | second.sources)


def _chosen(condition: Condition, first: Condition, second: Condition) -> Condition:
    """Return the first condition where `condition` holds, else the second; common parts stay."""
    one, other = dict.fromkeys(parts_of(first)), dict.fromkeys(parts_of(second))
    both = [part for part in one if part in other]
    only = disjunction(part for part in one if part not in other)
    also = disjunction(part for part in other if part not in one)
    return either_of((*both, condition & only, ~condition & also))


def either_of(conditions: Iterable[Condition]) -> Condition:
    """Return the disjunction of conditions, without parts that imply another part."""
    whole = disjunction(conditions)
    parts = parts_of(whole)
    if len(parts) < 2:
        return whole
    sets = [frozenset(part.conjuncts()) for part in parts]
    weakest = [
        part
        for part, conjuncts in zip(parts, sets, strict=True)
        if not any(other < conjuncts for other in sets)
    ]
    return whole if len(weakest) == len(parts) else disjunction(weakest)


def parts_of(condition: Condition) -> tuple[Condition, ...]:
    """Return the parts of a disjunction, () for FALSE, and a tuple of any other condition."""
    if isinstance(condition, Or):
        return condition.parts
    return () if condition is FALSE else (condition,)


def limited(condition: Condition) -> Condition:
    """Return a condition, or an opaque weaker one if it has too many parts."""
    if _size(condition) <= _MOST_PARTS:
        return condition
    atoms = sorted((a for a in condition.atoms() if isinstance(a, Symbol)), key=lambda a: a.order)
    return Opaque(("undefined", hash(condition)), TOO_MANY, tuple(a.term for a in atoms[:16]))


def _size(condition: Condition) -> int:
    if isinstance(condition, And | Or):
        return sum(_size(part) for part in condition.parts)
    return 1


# -- lanes --------------------------------------------------------------------------------------


def somewhere(
    condition: Condition, shape: Sequence[int], axes: Iterable[int], key: object
) -> Condition:
    """Return the condition that another holds for some index along axes: symbols with `key`."""
    replacements: dict[Atom, Term | int] = {
        Symbol("lane", axis, 0, shape[axis] - 1): some_lane(key, axis, shape[axis])
        for axis in axes
        if shape[axis] > 1
    }
    return condition.substitute(Substitution(replacements)) if replacements else condition


def some_lane(key: object, axis: int, extent: int) -> Term:
    """Return a symbol for some index along an axis."""
    return Symbol("lane", ("some", key, axis), 0, extent - 1).term


# -- what is left where something holds -----------------------------------------------------------


def where_true(condition: Condition, holding: frozenset[Condition]) -> Condition:
    """Return a condition simplified by conditions that hold, by structure alone."""
    if condition in holding:
        return conjunction(())
    if isinstance(condition, And):
        return conjunction(where_true(part, holding) for part in condition.parts)
    if isinstance(condition, Or):
        return disjunction(where_true(part, holding) for part in condition.parts)
    return FALSE if ~condition in holding else condition


# -- unknowns of a loop ---------------------------------------------------------------------------


def placeholder(key: object, shape: Sequence[int]) -> Opaque:
    """Return a placeholder for a condition over lanes that is not known yet."""
    lanes = tuple(lane(axis, extent) for axis, extent in enumerate(shape) if extent > 1)
    return Opaque(("carried", key), "carried by a loop", lanes)


def filled(
    condition: Condition, solutions: Mapping[object, tuple[tuple[int, ...], Condition]]
) -> Condition:
    """Put conditions in the place of their placeholders, with lanes as they were moved since.

    `solutions` has the shape and the condition by the placeholder's key.
    """
    if isinstance(condition, And):
        return conjunction(filled(part, solutions) for part in condition.parts)
    if isinstance(condition, Or):
        return disjunction(filled(part, solutions) for part in condition.parts)
    if isinstance(condition, Not):
        return ~filled(condition.inner, solutions)
    if not isinstance(condition, Opaque) or condition.key not in solutions:
        return condition
    shape, solution = solutions[condition.key]
    axes = (axis for axis, extent in enumerate(shape) if extent > 1)
    moved: dict[Atom, Term | int] = {
        Symbol("lane", axis, 0, shape[axis] - 1): place
        for axis, place in zip(axes, condition.at, strict=True)
    }
    return solution.substitute(Substitution(moved)) if moved else solution
