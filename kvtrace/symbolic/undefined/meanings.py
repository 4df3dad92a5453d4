"""Propagation of taint through single ops: by operator, by kind, or else elementwise.

Lanes are positional, as in the summary: ops that rearrange elements substitute lane symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from kvtrace.ir import Op, Value
from kvtrace.ir.flow import constant_of
from kvtrace.ir.model import number_of
from kvtrace.ir.ops import FILLING, KINDS, SPREADING, Kind, Operator, operator_of
from kvtrace.ir.types import integer_bits, shape_of
from kvtrace.symbolic.conditions import (
    FALSE,
    TRUE,
    Condition,
    Opaque,
    at_least,
    equal,
)
from kvtrace.symbolic.meanings.tt_shape import rearranged, with_lanes_replaced
from kvtrace.symbolic.summary import Summary
from kvtrace.symbolic.terms import ZERO, Atom, Symbol, Term, lane
from kvtrace.symbolic.undefined.definedness import (
    Undefined,
    chosen,
    limited_taint,
    some_lane,
    somewhere,
    united_taint,
)

_DEEPEST: Final = 24
MaskOf = Callable[[Op], Condition]


class Zeros:
    """Analysis of the zeros of a kernel's values; `mask_of` returns the mask of a load."""

    def __init__(self, summary: Summary, mask_of: MaskOf) -> None:
        self._summary = summary
        self._mask_of = mask_of

    def of(self, value: Value) -> Condition:
        """Return a condition over lanes under which a value is zero, whatever memory holds."""
        return self._of(value, 0.0, _DEEPEST)

    def _of(self, value: Value, number: float, depth: int) -> Condition:
        """Return a condition over lanes under which a value is `number`, 0 or minus infinity."""
        formula = self._summary.values.get(value.id)
        if number == 0 and isinstance(formula, Term):
            return equal(formula)
        if number == 0 and isinstance(formula, Condition):
            return ~formula
        op = value.owner
        if not isinstance(op, Op) or depth <= 0:
            return FALSE
        if op.name in FILLING:
            return self._loaded(op, number, depth)
        operator = operator_of(op)
        if op.name in SPREADING or operator in ("cast", "bitcast"):
            return self._of(op.operand("source"), number, depth - 1)
        if operator in ("expand_dims", "reshape", "trans"):
            rearranged_condition = rearranged(op, self._of(op.operand("source"), number, depth - 1))
            assert isinstance(rearranged_condition, Condition)
            return rearranged_condition
        if operator == "where":
            return self._selected(op, number, depth)
        if number == 0 and operator == "negate":
            return self._of(op.operand("source"), number, depth - 1)
        if number == 0 and operator == "exp":
            return self._of(op.operand("source"), float("-inf"), depth - 1)
        if number == 0 and operator == "*":
            left, right = (self._of(op.operand(n), number, depth - 1) for n in ("left", "right"))
            return left | right
        if number != 0 and operator in ("-", "*"):  # of finite numbers
            return self._of(op.operand("left"), number, depth - 1)
        return TRUE if constant_of(value) == number else FALSE

    def _selected(self, op: Op, number: float, depth: int) -> Condition:
        condition = self._summary.values.get(op.operand("condition").id)
        if not isinstance(condition, Condition):
            return FALSE
        first, second = (
            self._of(op.operand(name), number, depth - 1) for name in ("first", "second")
        )
        return (condition & first) | (~condition & second)

    def _loaded(self, op: Op, number: float, depth: int) -> Condition:
        other = op.optional("other")
        if other is None:
            return FALSE
        return ~self._mask_of(op) & self._of(other, number, depth - 1)


class Flow(Protocol):
    """The taints and zeros of a kernel's values, as `undefined/flow.py` implements them."""

    summary: Summary
    zeros: Zeros

    def of(self, value: Value) -> Undefined:
        """Return the taint of a value."""

    def set(self, value: Value, undefined: Undefined) -> None:
        """Set the taint of a value."""

    def unknown(self, op: Op, reason: str) -> Opaque:
        """Return an opaque condition over the lanes of an op's result."""


def elementwise(flow: Flow, op: Op) -> None:
    """Set the results' taint to the union of all operands' taints."""
    for value in op.results:
        shape = shape_of(value.type)
        flow.set(
            value, united_taint(as_shaped(flow, operand, op, shape) for operand in op.operands)
        )


def as_shaped(flow: Flow, value: Value, op: Op, shape: tuple[int, ...]) -> Undefined:
    """Return an operand's taint in a shape; of another shape, that of any element."""
    source = shape_of(value.type)
    return flow.of(value) if source in (shape, ()) else anywhere(flow, value, op)


def anywhere(flow: Flow, value: Value, op: Op) -> Undefined:
    """Return a taint with the condition that any element of a value is undefined."""
    shape, key = shape_of(value.type), (op.index, value.id)
    return flow.of(value).mapped(
        lambda condition: somewhere(condition, shape, range(len(shape)), key)
    )


def unmoved(flow: Flow, op: Op) -> None:
    """Set the taint of an op that does not move elements."""
    flow.set(op.results[0], flow.of(op.operand("source")))


def moved(flow: Flow, op: Op) -> None:
    """Set the taint of an op that rearranges elements."""
    flow.set(
        op.results[0],
        flow.of(op.operand("source")).mapped(
            lambda condition: as_condition(rearranged(op, condition))
        ),
    )


def select(flow: Flow, op: Op) -> None:
    """Set the result's taint to the chosen operand's taint, united with the condition's."""
    chooser, first, second = (op.operand(name) for name in ("condition", "first", "second"))
    formula = flow.summary.values.get(chooser.id)
    condition = formula if isinstance(formula, Condition) else flow.unknown(
        op, "a condition that is not followed"
    )  # fmt: skip
    chosen_taint = chosen(condition, flow.of(first), flow.of(second))
    flow.set(op.results[0], united_taint((chosen_taint, flow.of(chooser))))


def logic(flow: Flow, op: Op) -> None:
    """Set the taint of `and` and `or`, whose result one Boolean operand may decide alone."""
    if integer_bits(op.results[0].type) != 1:
        elementwise(flow, op)
        return
    left, right = op.operand("left"), op.operand("right")
    left_taint, right_taint = flow.of(left), flow.of(right)
    if left_taint.is_nowhere == right_taint.is_nowhere:
        flow.set(op.results[0], united_taint((left_taint, right_taint)))
        return
    undefined, defined = (right_taint, left) if left_taint.is_nowhere else (left_taint, right)
    defined_formula = flow.summary.values.get(defined.id)
    if isinstance(defined_formula, Condition):
        is_undecided = defined_formula if operator_of(op) == "&" else ~defined_formula
        undefined = undefined.mapped(lambda condition: condition & is_undecided)
    flow.set(op.results[0], undefined)


def exclusive_or(flow: Flow, op: Op) -> None:
    """Set the result's taint, of the other element where `tl.flip` exchanges two neighbors."""
    left, right = op.operand("left"), op.operand("right")
    for source, pair in ((left, right), (right, left)):
        axis = _exchanged_axis(source, pair)
        if axis is not None:
            other: Term = ZERO + 1 - lane(axis, 2)
            exchanged = _index_replacement(shape_of(source.type), axis, other)
            flow.set(op.results[0], flow.of(source).mapped(exchanged))
            return
    elementwise(flow, op)


def _exchanged_axis(source: Value, pair: Value) -> int | None:
    """Return the axis of two elements if `pair` is their exclusive or, which leaves the other."""
    expanded = _past_spreading(pair)
    if expanded is None or operator_of(expanded) != "expand_dims":
        return None
    reduction = _past_spreading(expanded.operand("source"))
    if reduction is None or KINDS[reduction.name].kind is not Kind.REDUCTION:
        return None
    axis, group = number_of(reduction, "axis"), reduction.group("source")
    is_of_source = len(group) == 1 and group[0] is source and shape_of(source.type)[axis] == 2
    combining = [operator_of(each) for each in reduction.regions[0].blocks[0].ops[:-1]]
    is_exchange = is_of_source and combining == ["^"] and number_of(expanded, "axis") == axis
    return axis if is_exchange else None


def _past_spreading(value: Value) -> Op | None:
    op = value.owner
    while isinstance(op, Op) and op.name in SPREADING:
        op = op.operand("source").owner
    return op if isinstance(op, Op) and op.name in KINDS else None


def product(flow: Flow, op: Op) -> None:
    """Set a product's taint: an undefined integer times zero is zero, a float nearly always."""
    left, right = op.operand("left"), op.operand("right")
    exact = integer_bits(op.results[0].type) is not None
    parts = [
        _times(flow.of(factor), flow.zeros.of(other_factor), exact=exact)
        for factor, other_factor in ((left, right), (right, left))
    ]
    if operator_of(op) == "fma":
        parts.append(flow.of(op.operand("added")))
    flow.set(op.results[0], united_taint(parts))


def dot(flow: Flow, op: Op) -> None:
    """Set a matrix product's taint, spread along the depth."""
    left, right, added = (op.operand(name) for name in ("left", "right", "added"))
    shape, rank = shape_of(left.type), len(shape_of(left.type))
    depth = some_lane(op.index, rank, shape[-1])

    def of_left(condition: Condition) -> Condition:
        return _with_index_replaced(condition, shape, rank - 1, depth)

    def of_right(condition: Condition) -> Condition:
        return _with_index_replaced(condition, shape_of(right.type), rank - 2, depth)

    left_taint, right_taint = flow.of(left), flow.of(right)
    parts = [
        _times(left_taint.mapped(of_left), of_right(flow.zeros.of(right)), exact=False),
        _times(right_taint.mapped(of_right), of_left(flow.zeros.of(left)), exact=False),
        flow.of(added),
    ]
    flow.set(op.results[0], united_taint(parts))


def reduce(flow: Flow, op: Op) -> None:
    """Set a reduction's taint, spread along the removed axis."""
    axis, shape = number_of(op, "axis"), shape_of(op.group("source")[0].type)
    lane_terms = [lane(i - 1, n) if i > axis else None for i, n in enumerate(shape)]
    undefined = united_taint(flow.of(value) for value in op.operands)
    undefined = undefined.mapped(
        lambda condition: as_condition(
            with_lanes_replaced(somewhere(condition, shape, (axis,), op.index), shape, lane_terms)
        )
    )
    for value in op.results:
        flow.set(value, undefined)


def scan(flow: Flow, op: Op) -> None:
    """Set a scan's taint, spread along the axis from each element on."""
    axis, shape = number_of(op, "axis"), shape_of(op.group("source")[0].type)
    index, earlier_index = lane(axis, shape[axis]), some_lane(op.index, axis, shape[axis])
    distance = index - earlier_index if not number_of(op, "reverse") else earlier_index - index
    undefined = united_taint(flow.of(value) for value in op.operands)
    undefined = undefined.mapped(
        lambda condition: at_least(distance) & somewhere(condition, shape, (axis,), op.index)
    )
    for value in op.results:
        flow.set(value, undefined)


def join(flow: Flow, op: Op) -> None:
    """Set the taint of two joined tensors."""
    first, second = op.operand("first"), op.operand("second")
    last_index = lane(len(shape_of(first.type)), 2)
    flow.set(op.results[0], chosen(equal(last_index), flow.of(first), flow.of(second)))


def split(flow: Flow, op: Op) -> None:
    """Set the taints of two split halves."""
    source = op.operand("source")
    shape = shape_of(source.type)
    for number, value in enumerate(op.results):
        half: Term = ZERO + number
        halves = flow.of(source)
        flow.set(value, halves.mapped(_index_replacement(shape, len(shape) - 1, half)))


def gather(flow: Flow, op: Op) -> None:
    """Set the taint of gathered elements, united with the index's taint."""
    source, index = op.operand("source"), op.operand("index")
    axis, shape = number_of(op, "axis"), shape_of(source.type)
    formula = flow.summary.values.get(index.id)
    gathered = formula if isinstance(formula, Term) else some_lane(op.index, axis, shape[axis])
    gathered_taint = flow.of(source).mapped(
        lambda condition: _with_index_replaced(condition, shape, axis, gathered)
    )
    flow.set(op.results[0], united_taint((gathered_taint, flow.of(index))))


def histogram(flow: Flow, op: Op) -> None:
    """Set the counts' taint: that of any element that the mask lets count, and the mask's."""
    source, mask = op.operand("source"), op.optional("mask")
    counted = flow.of(source)
    if mask is not None:
        formula = flow.summary.values.get(mask.id)
        if isinstance(formula, Condition):
            counted = counted.mapped(lambda condition: formula & condition)
        counted = united_taint((counted, flow.of(mask)))
    shape = shape_of(source.type)
    counted = counted.mapped(lambda condition: somewhere(condition, shape, (0,), op.index))
    flow.set(op.results[0], counted)


Meaning = Callable[[Flow, Op], None]

_OF_KIND: Final[Mapping[Kind, Meaning]] = {
    Kind.SPREAD: unmoved,
    Kind.REDUCTION: reduce,
    Kind.SCAN: scan,
    Kind.PICKED: gather,
    Kind.COUNT: histogram,
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
    "^": exclusive_or,
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
    """Return the taint of a product by one factor's taint; `zero`: the other factor is zero."""
    if undefined.is_nowhere or zero is FALSE:
        return undefined
    is_nonzero = ~zero
    if exact:
        return undefined.mapped(lambda condition: is_nonzero & condition)
    return limited_taint(undefined.surely & is_nonzero, undefined.possibly, undefined.sources)


def _index_replacement(
    shape: Sequence[int], axis: int, place: Term
) -> Callable[[Condition], Condition]:
    return lambda condition: _with_index_replaced(condition, shape, axis, place)


def _with_index_replaced(
    condition: Condition, shape: Sequence[int], axis: int, place: Term
) -> Condition:
    """Return a condition with the index along an axis replaced by a term."""
    if shape[axis] <= 1:
        return condition
    moved: dict[Atom, Term | int] = {Symbol("lane", axis, 0, shape[axis] - 1): place}
    return condition.substitute(moved)


def as_condition(formula: object) -> Condition:
    """Return a formula that is known to be a condition."""
    assert isinstance(formula, Condition)
    return formula
