"""Propagation of the taint of undefined elements by ops: by kind, by operator, else elementwise.

Lanes are positional, as in the summary: ops that rearrange elements substitute lane symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Protocol

from kvtrace.ir import Op
from kvtrace.ir.ops import KINDS, Kind, Operator, operator_of
from kvtrace.symbolic.conditions import FALSE, Condition, Opaque, at_least, equal
from kvtrace.symbolic.meanings.tt_shape import rearranged, relaned
from kvtrace.symbolic.terms import ZERO, Atom, Symbol, Term, lane
from kvtrace.symbolic.undefined.definedness import (
    Undefined,
    chosen,
    made,
    some_lane,
    somewhere,
    united,
)
from kvtrace.symbolic.walk_types import integer_bits, number_of, shape_of
from kvtrace.symbolic.zeros import Zeros

if TYPE_CHECKING:
    from kvtrace.ir import Value
    from kvtrace.symbolic.summary import Summary


class Flow(Protocol):
    """Taints of values and zeros of a kernel, as `undefined/flow.py` implements them."""

    summary: Summary
    zeros: Zeros

    def of(self, value: Value) -> Undefined:
        """Return the taint of a value."""

    def set(self, value: Value, undefined: Undefined) -> None:
        """Set the taint of a value."""

    def unknown(self, op: Op, reason: str) -> Opaque:
        """Return an opaque condition over the lanes of an op's result."""


def elementwise(flow: Flow, op: Op) -> None:
    """Set the union of all operands' taints."""
    for value in op.results:
        shape = shape_of(value.type)
        flow.set(value, united(as_shaped(flow, operand, op, shape) for operand in op.operands))


def as_shaped(flow: Flow, value: Value, op: Op, shape: tuple[int, ...]) -> Undefined:
    """Return the taint of a shape's elements if each depends on any element of an operand."""
    source = shape_of(value.type)
    return flow.of(value) if source in (shape, ()) else anywhere(flow, value, op)


def anywhere(flow: Flow, value: Value, op: Op) -> Undefined:
    """Return the condition that any element of a value is undefined."""
    shape, key = shape_of(value.type), (op.index, value.id)
    return flow.of(value).where(
        lambda condition: somewhere(condition, shape, range(len(shape)), key)
    )


def kept(flow: Flow, op: Op) -> None:
    """Set the taint of an op that keeps elements in place."""
    flow.set(op.results[0], flow.of(op.operand("source")))


def moved(flow: Flow, op: Op) -> None:
    """Set the taint of an op that rearranges elements."""
    flow.set(
        op.results[0],
        flow.of(op.operand("source")).where(
            lambda condition: as_condition(rearranged(op, condition))
        ),
    )


def select(flow: Flow, op: Op) -> None:
    """Set the chosen side's taint, united with the condition's taint."""
    chooser, first, second = (op.operand(name) for name in ("condition", "first", "second"))
    known = flow.summary.values.get(chooser.id)
    condition = known if isinstance(known, Condition) else flow.unknown(
        op, "a condition that is not followed"
    )  # fmt: skip
    picked = chosen(condition, flow.of(first), flow.of(second))
    flow.set(op.results[0], united((picked, flow.of(chooser))))


def logic(flow: Flow, op: Op) -> None:
    """Set the taint of `and` and `or`, whose result one Boolean operand may decide alone."""
    if integer_bits(op.results[0].type) != 1:
        elementwise(flow, op)
        return
    left, right = op.operand("left"), op.operand("right")
    one, two = flow.of(left), flow.of(right)
    if one.is_nowhere == two.is_nowhere:
        flow.set(op.results[0], united((one, two)))
        return
    undefined, defined = (two, left) if one.is_nowhere else (one, right)
    decides = flow.summary.values.get(defined.id)
    if isinstance(decides, Condition):
        open_ = decides if operator_of(op) == "&" else ~decides
        undefined = undefined.where(lambda condition: condition & open_)
    flow.set(op.results[0], undefined)


def product(flow: Flow, op: Op) -> None:
    """Set a product's taint: zero times an integer is zero, times a float nearly always."""
    left, right = op.operand("left"), op.operand("right")
    exact = integer_bits(op.results[0].type) is not None
    parts = [
        _times(flow.of(one), flow.zeros.of(other), exact=exact)
        for one, other in ((left, right), (right, left))
    ]
    if operator_of(op) == "fma":
        parts.append(flow.of(op.operand("added")))
    flow.set(op.results[0], united(parts))


def dot(flow: Flow, op: Op) -> None:
    """Set a matrix product's taint, spread along the depth."""
    left, right, added = (op.operand(name) for name in ("left", "right", "added"))
    shape, rank = shape_of(left.type), len(shape_of(left.type))
    depth = some_lane(op.index, rank, shape[-1])

    def of_left(condition: Condition) -> Condition:
        return _along(condition, shape, rank - 1, depth)

    def of_right(condition: Condition) -> Condition:
        return _along(condition, shape_of(right.type), rank - 2, depth)

    one, two = flow.of(left), flow.of(right)
    parts = [
        _times(one.where(of_left), of_right(flow.zeros.of(right)), exact=False),
        _times(two.where(of_right), of_left(flow.zeros.of(left)), exact=False),
        flow.of(added),
    ]
    flow.set(op.results[0], united(parts))


def reduce(flow: Flow, op: Op) -> None:
    """Set a reduction's taint, spread along the removed axis."""
    axis, shape = number_of(op, "axis"), shape_of(op.group("source")[0].type)
    places = [lane(i - 1, n) if i > axis else None for i, n in enumerate(shape)]
    undefined = united(flow.of(value) for value in op.operands)
    undefined = undefined.where(
        lambda condition: as_condition(
            relaned(somewhere(condition, shape, (axis,), op.index), shape, places)
        )
    )
    for value in op.results:
        flow.set(value, undefined)


def scan(flow: Flow, op: Op) -> None:
    """Set a scan's taint, spread along the axis from each element on."""
    axis, shape = number_of(op, "axis"), shape_of(op.group("source")[0].type)
    here, there = lane(axis, shape[axis]), some_lane(op.index, axis, shape[axis])
    behind = here - there if not number_of(op, "reverse") else there - here
    undefined = united(flow.of(value) for value in op.operands)
    undefined = undefined.where(
        lambda condition: at_least(behind) & somewhere(condition, shape, (axis,), op.index)
    )
    for value in op.results:
        flow.set(value, undefined)


def join(flow: Flow, op: Op) -> None:
    """Set the taint of two joined tensors."""
    first, second = op.operand("first"), op.operand("second")
    place = lane(len(shape_of(first.type)), 2)
    flow.set(op.results[0], chosen(equal(place), flow.of(first), flow.of(second)))


def split(flow: Flow, op: Op) -> None:
    """Set the taints of two split halves."""
    source = op.operand("source")
    shape = shape_of(source.type)
    for number, value in enumerate(op.results):
        place: Term = ZERO + number
        halves = flow.of(source)
        flow.set(value, halves.where(_placing(shape, len(shape) - 1, place)))


def gather(flow: Flow, op: Op) -> None:
    """Set the taint of gathered elements, united with the index's taint."""
    source, index = op.operand("source"), op.operand("index")
    axis, shape = number_of(op, "axis"), shape_of(source.type)
    known = flow.summary.values.get(index.id)
    place = known if isinstance(known, Term) else some_lane(op.index, axis, shape[axis])
    picked = flow.of(source).where(lambda condition: _along(condition, shape, axis, place))
    flow.set(op.results[0], united((picked, flow.of(index))))


Meaning = Callable[[Flow, Op], None]

_OF_KIND: Final[Mapping[Kind, Meaning]] = {
    Kind.SPREAD: kept,
    Kind.REDUCTION: reduce,
    Kind.SCAN: scan,
    Kind.PICKED: gather,
}
_OF_OPERATOR: Final[Mapping[Operator, Meaning]] = {
    "expand_dims": moved,
    "reshape": moved,
    "trans": moved,
    "join": join,
    "split": split,
    "where": select,
    "&": logic,
    "|": logic,
    "*": product,
    "fma": product,
    "dot": dot,
}


def meaning_of(op: Op) -> Meaning:
    """Return the function that propagates taint through an op."""
    row = KINDS.get(op.name)
    if row is None:
        return elementwise
    return _OF_OPERATOR.get(row.operator) or _OF_KIND.get(row.kind, elementwise)


def _times(undefined: Undefined, zero: Condition, *, exact: bool) -> Undefined:
    """Return the taint of a product by one factor's taint, where the other factor is `zero`."""
    if undefined.is_nowhere or zero is FALSE:
        return undefined
    counts = ~zero
    if exact:
        return undefined.where(lambda condition: counts & condition)
    return made(undefined.surely & counts, undefined.possibly, undefined.sources)


def _placing(shape: Sequence[int], axis: int, place: Term) -> Callable[[Condition], Condition]:
    return lambda condition: _along(condition, shape, axis, place)


def _along(condition: Condition, shape: Sequence[int], axis: int, place: Term) -> Condition:
    """Return a taint with the index along an axis replaced."""
    if shape[axis] <= 1:
        return condition
    moved: dict[Atom, Term | int] = {Symbol("lane", axis, 0, shape[axis] - 1): place}
    return condition.substitute(moved)


def as_condition(known: object) -> Condition:
    """Return a formula as a condition."""
    assert isinstance(known, Condition)
    return known
