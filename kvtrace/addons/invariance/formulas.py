"""Followed formulas, and the source element that an op moves to an element of its result."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Final

from kvtrace.ir.attributes import DenseArrayAttribute
from kvtrace.symbolic.conditions import Condition, Opaque
from kvtrace.symbolic.functions import Quotient, quotient, remainder
from kvtrace.symbolic.terms import ZERO, Term
from kvtrace.symbolic.walk_types import number_of

if TYPE_CHECKING:
    from kvtrace.ir import Op

Coordinates = tuple[Term, ...]
"""Which element of a value: an index for each axis."""

_HINTS: Final = ("tt.divisibility", "tt.contiguity", "tt.constancy", "operandSegmentSizes")


def is_followed(known: Term | Condition) -> bool:
    """Return whether nothing in a formula is a number or a truth that the walk does not follow."""
    if known.symbols("unknown"):
        return False
    return not (isinstance(known, Condition) and known.opaques()) and not any(
        opaque for atom in known.atoms() for opaque in _opaques(atom)
    )


def _opaques(atom: object) -> frozenset[Opaque]:
    condition = getattr(atom, "condition", None)
    return condition.opaques() if isinstance(condition, Condition) else frozenset()


def attributes_of(op: Op) -> tuple[tuple[str, str], ...]:
    """Return the attributes of an op that decide its result, without hints."""
    return tuple(
        sorted((name, str(each)) for name, each in op.attributes.items() if name not in _HINTS)
    )


def with_remainders(term: Term) -> Term:
    """Return a term with remainders in place of what a division takes off: `x - n * (x // n)`."""
    for atom in term.atoms():
        taken = term.coefficients.get((atom,), 0)
        if not isinstance(atom, Quotient) or not taken:
            continue
        dividend, divisor = atom.arguments
        number = divisor.constant
        if number is None or number < 1 or taken % number:
            continue
        factor = -taken // number
        moving = ((m, n) for m, n in dividend.coefficients.items() if m)
        if all(term.coefficients.get(m) == factor * n for m, n in moving):
            left = remainder(dividend, divisor, floor=atom.floor)
            term = term - dividend * factor - atom.term * taken + left * factor
    return term


def linear(at: Coordinates, shape: Sequence[int]) -> Term:
    """Return the number of an element of a tensor in row-major order."""
    number = ZERO
    for place, extent in zip(at, shape, strict=True):
        number = number * extent + place
    return number


def reshaped(at: Coordinates, target: Sequence[int], source: Sequence[int]) -> Coordinates:
    """Return which element of a tensor is at a place of it in another shape, in row-major order."""
    if tuple(target) == tuple(source):
        return at
    moving = [(place, extent) for place, extent in zip(at, target, strict=True) if extent > 1]
    if [extent for _, extent in moving] == [extent for extent in source if extent > 1]:
        places = iter(place for place, _ in moving)
        return tuple(next(places) if extent > 1 else ZERO for extent in source)
    number = linear(at, target)
    return tuple(
        remainder(quotient(number, prod(source[axis + 1 :])), extent)
        for axis, extent in enumerate(source)
    )


def source_of(
    op: Op,
    operator: str,
    position: int,
    at: Coordinates,
    source: Sequence[int],
    target: Sequence[int],
) -> Coordinates:
    """Return the indices of the source element that an op moves to a result's indices."""
    if operator == "expand_dims":
        axis = number_of(op, "axis")
        return (*at[:axis], *at[axis + 1 :])
    if operator == "trans":
        attribute = op.attributes.get("order")
        assert isinstance(attribute, DenseArrayAttribute)
        order = [int(axis) for axis in attribute.values]
        return tuple(at[order.index(axis)] for axis in range(len(source)))
    if operator == "reshape":
        return reshaped(at, target, source)
    if operator == "split":
        return (*at, ZERO + position)
    if not source:
        return ()
    if not target:
        return (ZERO,) * len(source)
    return tuple(place if extent > 1 else ZERO for place, extent in zip(at, source, strict=True))
