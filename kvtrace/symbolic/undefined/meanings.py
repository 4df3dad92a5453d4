"""Propagation of taint through single ops: by operator, by kind, or else elementwise.

Lanes are positional, as in the summary: ops that rearrange elements substitute lane symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from kvtrace.ir import Op, Value
from kvtrace.ir.flow import constant_of, forward
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
from kvtrace.symbolic.meanings.tt_shape import lanes_of, source_indices
from kvtrace.symbolic.terms import ZERO, Term, lane
from kvtrace.symbolic.undefined.definedness import (
    Undefined,
    chosen,
    limited_taint,
    placed,
    some_lane,
    somewhere,
    united_taint,
)

if TYPE_CHECKING:
    from kvtrace.symbolic.undefined.flow import Taints

_DEEPEST: Final = 24


def zeros(taints: Taints, value: Value, number: float = 0.0, depth: int = _DEEPEST) -> Condition:
    """Return a condition over lanes under which a value is a number, whatever memory holds.

    The number is 0 or minus infinity.
    """
    formula = taints.formula(value)
    if isinstance(value.owner, Op) and operator_of(value.owner) == "cast":
        mask = taints.formula(value.owner.operand("source"))
        formula = mask if isinstance(mask, Condition) else formula
    if number == 0 and isinstance(formula, Term):
        return equal(formula)
    if number == 0 and isinstance(formula, Condition):
        return ~formula
    op = value.owner
    if not isinstance(op, Op) or depth <= 0:
        return FALSE

    def of(name: str, operand_number: float = number) -> Condition:
        return zeros(taints, op.operand(name), operand_number, depth - 1)

    operator = operator_of(op)
    if op.name in FILLING:
        is_padded = op.optional("other") is not None
        return ~taints.mask(op) & of("other") if is_padded else FALSE
    if op.name in SPREADING or operator in ("expand_dims", "reshape", "trans"):
        return _moved(op, value, of("source"))
    if operator in ("cast", "bitcast") or (number == 0 and operator == "negate"):
        return of("source")
    if number == 0 and operator == "exp":
        return of("source", float("-inf"))
    if operator == "where":
        condition = taints.formula(op.operand("condition"))
        if not isinstance(condition, Condition):
            return FALSE
        return (condition & of("first")) | (~condition & of("second"))
    if number == 0 and operator == "*":
        return of("left") | of("right")
    if number != 0 and operator in ("-", "*"):  # of finite numbers
        return of("left")
    return TRUE if constant_of(value) == number else FALSE


def elementwise(taints: Taints, op: Op, result: Value) -> Undefined:
    """Return the union of all operands' taints, and that of what is beyond an operand's limit."""
    shape = shape_of(result.type)
    of_operands = (as_shaped(taints, operand, op, shape) for operand in op.operands)
    return united_taint((*of_operands, taints.beyond(op)))


def as_shaped(taints: Taints, value: Value, op: Op, shape: tuple[int, ...]) -> Undefined:
    """Return an operand's taint in a shape; of another shape, that of any element."""
    source = shape_of(value.type)
    return taints.of(value) if source in (shape, ()) else anywhere(taints, value, op)


def anywhere(taints: Taints, value: Value, op: Op) -> Undefined:
    """Return a taint with the condition that any element of a value is undefined."""
    shape, key = shape_of(value.type), (taints.key(op), value.id)
    return taints.of(value).mapped(
        lambda condition: somewhere(condition, shape, range(len(shape)), key)
    )


def moved(taints: Taints, op: Op, result: Value) -> Undefined:
    """Return the taint of elements that an op moves or repeats."""
    return taints.of(op.operand("source")).mapped(lambda taint: _moved(op, result, taint))


def _moved(op: Op, result: Value, condition: Condition) -> Condition:
    """Return a condition on the elements that an op moves, at their indices in a result."""
    indices = source_indices(op, result.position, lanes_of(shape_of(result.type)))
    return placed(condition, shape_of(op.operand("source").type), indices)


def select(taints: Taints, op: Op, _: Value) -> Undefined:
    """Return the chosen operand's taint, united with the condition's."""
    chooser, first, second = (op.operand(name) for name in ("condition", "first", "second"))
    formula = taints.formula(chooser)
    condition = formula if isinstance(formula, Condition) else taints.unknown(
        op, "a condition that is not followed"
    )  # fmt: skip
    chosen_taint = chosen(condition, taints.of(first), taints.of(second))
    return united_taint((chosen_taint, taints.of(chooser)))


def logic(taints: Taints, op: Op, result: Value) -> Undefined:
    """Return the taint of `and` and `or`, whose result one operand may decide alone: 0, or true."""
    if integer_bits(result.type) != 1:
        return (product if operator_of(op) == "&" else elementwise)(taints, op, result)
    left, right = op.operand("left"), op.operand("right")
    left_taint, right_taint = taints.of(left), taints.of(right)
    if left_taint.is_nowhere == right_taint.is_nowhere:
        return united_taint((left_taint, right_taint))
    undefined, defined = (right_taint, left) if left_taint.is_nowhere else (left_taint, right)
    defined_formula = taints.formula(defined)
    if isinstance(defined_formula, Condition):
        is_undecided = defined_formula if operator_of(op) == "&" else ~defined_formula
        return undefined.mapped(lambda condition: condition & is_undecided)
    return undefined


def exclusive_or(taints: Taints, op: Op, result: Value) -> Undefined:
    """Return the taint, of the other element where `tl.flip` exchanges two neighbors."""
    left, right = op.operand("left"), op.operand("right")
    for source, pair in ((left, right), (right, left)):
        axis = _exchanged_axis(source, pair)
        if axis is not None:
            other: Term = ZERO + 1 - lane(axis, 2)
            return taints.of(source).mapped(_at_index(shape_of(source.type), axis, other))
    return elementwise(taints, op, result)


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


def product(taints: Taints, op: Op, result: Value) -> Undefined:
    """Return a product's taint: an undefined integer times zero is zero, a float nearly always."""
    left, right = op.operand("left"), op.operand("right")
    exact = integer_bits(result.type) is not None
    parts = [
        _times(taints.of(factor), zeros(taints, other_factor), exact=exact)
        for factor, other_factor in ((left, right), (right, left))
    ]
    if operator_of(op) == "fma":
        parts.append(taints.of(op.operand("added")))
    return united_taint(parts)


def dot(taints: Taints, op: Op, result: Value) -> Undefined:
    """Return a matrix product's taint, spread along the depth."""
    exact = integer_bits(result.type) is not None
    left, right, added = (op.operand(name) for name in ("left", "right", "added"))
    shape, rank = shape_of(left.type), len(shape_of(left.type))
    depth = some_lane(taints.key(op), rank, shape[-1])

    of_left = _at_index(shape, rank - 1, depth)
    of_right = _at_index(shape_of(right.type), rank - 2, depth)
    left_taint, right_taint = taints.of(left), taints.of(right)
    parts = [
        _times(left_taint.mapped(of_left), of_right(zeros(taints, right)), exact=exact),
        _times(right_taint.mapped(of_right), of_left(zeros(taints, left)), exact=exact),
        taints.of(added),
    ]
    return united_taint(parts)


def reduce(taints: Taints, op: Op, result: Value) -> Undefined:
    """Return a reduction's taint, spread along the removed axis."""
    axis, shape = number_of(op, "axis"), shape_of(op.group("source")[0].type)
    lane_terms = [lane(i - 1, n) if i > axis else None for i, n in enumerate(shape)]
    return _needed(taints, op, result).mapped(
        lambda condition: placed(
            somewhere(condition, shape, (axis,), taints.key(op)), shape, lane_terms
        )
    )


def scan(taints: Taints, op: Op, result: Value) -> Undefined:
    """Return a scan's taint, spread along the axis from each element on."""
    axis, shape = number_of(op, "axis"), shape_of(op.group("source")[0].type)
    index, earlier_index = lane(axis, shape[axis]), some_lane(taints.key(op), axis, shape[axis])
    distance = index - earlier_index if not number_of(op, "reverse") else earlier_index - index
    return _needed(taints, op, result).mapped(
        lambda condition: at_least(distance) & somewhere(condition, shape, (axis,), taints.key(op))
    )


def _needed(taints: Taints, combining: Op, result: Value) -> Undefined:
    """Return the taint of operands' elements, where a result of a reduction or scan needs these."""
    operands = combining.operands
    if len(operands) == 1:
        return taints.of(operands[0])
    key = ("undefined", taints.key(combining), result.position)
    some = Opaque(key, "which elements a custom combination of several needs is not followed")
    needed: list[Undefined] = []
    for place, operand in enumerate(operands):
        is_left = _is_needed(taints, combining, result, place, (0,))
        is_right = _is_needed(taints, combining, result, place + len(operands), (0, len(operands)))
        where: Condition = TRUE if is_left and is_right else some
        if is_right and not is_left and KINDS[combining.name].kind is Kind.SCAN:
            where = _behind_first(combining, operand)
        if is_left or is_right:
            needed.append(taints.of(operand).mapped(where.__and__))
    return united_taint(needed)


def _behind_first(scan: Op, operand: Value) -> Condition:
    """Return the condition that an element is not the first one of its scan."""
    axis = number_of(scan, "axis")
    extent = shape_of(operand.type)[axis]
    index = lane(axis, extent)
    return at_least(extent - 2 - index if number_of(scan, "reverse") else index - 1)


def _is_needed(
    taints: Taints, combining: Op, result: Value, argument: int, sides: tuple[int, ...]
) -> bool:
    """Return whether a result depends on an argument of the block that combines two elements.

    In later steps, what they are combined to is an operand of `sides`.
    """
    (body,) = combining.regions[0].blocks

    def onwards(op: Op, reached: Value) -> list[Value]:
        if op is not body.ops[-1]:
            return list(op.results)
        places = [place for place, operand in enumerate(op.operands) if operand is reached]
        carried = [body.arguments[place + side] for place in places for side in sides]
        return carried + [combining.results[place] for place in places]

    return result.id in forward(taints.flow, [body.arguments[argument]], onwards)


def join(taints: Taints, op: Op, _: Value) -> Undefined:
    """Return the taint of two joined tensors."""
    first, second = op.operand("first"), op.operand("second")
    last_index = lane(len(shape_of(first.type)), 2)
    return chosen(equal(last_index), taints.of(first), taints.of(second))


def gather(taints: Taints, op: Op, _: Value) -> Undefined:
    """Return the taint of gathered elements, united with the index's taint."""
    source, index = op.operand("source"), op.operand("index")
    axis, shape = number_of(op, "axis"), shape_of(source.type)
    formula = taints.formula(index)
    gathered = (
        formula if isinstance(formula, Term) else some_lane(taints.key(op), axis, shape[axis])
    )
    gathered_taint = taints.of(source).mapped(_at_index(shape, axis, gathered))
    return united_taint((gathered_taint, taints.of(index), taints.beyond(op)))


def histogram(taints: Taints, op: Op, _: Value) -> Undefined:
    """Return the counts' taint: that of any element that the mask lets count, and the mask's."""
    source, mask = op.operand("source"), op.optional("mask")
    counted = united_taint((taints.of(source), taints.beyond(op)))
    if mask is not None:
        formula = taints.formula(mask)
        if isinstance(formula, Condition):
            counted = counted.mapped(lambda condition: formula & condition)
        counted = united_taint((counted, taints.of(mask)))
    shape = shape_of(source.type)
    return counted.mapped(lambda condition: somewhere(condition, shape, (0,), taints.key(op)))


Meaning = Callable[["Taints", Op, Value], Undefined]
"""Function of the values' taints, an op and one of its results: the taint of the result."""

_OF_KIND: Final[Mapping[Kind, Meaning]] = {
    Kind.SPREAD: moved,
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
    "split": moved,
    "where": select,
    "&": logic,
    "|": logic,
    "^": exclusive_or,
    "*": product,
    "fma": product,
    "dot": dot,
}


def meaning_of(op: Op) -> Meaning:
    """Return the function that gives the taint of an op's results."""
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


def _at_index(shape: Sequence[int], axis: int, index: Term) -> Callable[[Condition], Condition]:
    """Return a function that replaces the index along an axis in conditions by a term."""
    indices = [index if other == axis else None for other in range(len(shape))]
    return lambda condition: placed(condition, shape, indices)
