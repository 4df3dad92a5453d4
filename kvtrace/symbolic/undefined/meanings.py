"""Propagation of taint through single ops: by operator, by kind, or else elementwise.

Lanes are positional, as in the summary: ops that rearrange elements substitute lane symbols.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Protocol

from kvtrace.ir import Op
from kvtrace.ir.flow import constant_of
from kvtrace.ir.model import number_of
from kvtrace.ir.ops import FILLING, KINDS, SPREADING, Kind, Operator, operator_of
from kvtrace.ir.types import integer_bits, shape_of
from kvtrace.symbolic.conditions import (
    FALSE,
    TRUE,
    Condition,
    Opaque,
    Or,
    at_least,
    conjunction,
    disjunction,
    equal,
    less,
)
from kvtrace.symbolic.meanings.tt_shape import rearranged, with_lanes_replaced
from kvtrace.symbolic.terms import ZERO, Atom, Substitution, Symbol, Term, lane
from kvtrace.symbolic.undefined.definedness import (
    Undefined,
    chosen,
    limited_taint,
    some_lane,
    somewhere,
    united_taint,
    with_solutions,
)

if TYPE_CHECKING:
    from kvtrace.ir import Value
    from kvtrace.symbolic.summary import Loop, Summary


Shape = tuple[int, ...]
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


Meaning = Callable[[Flow, Op], None]

_OF_KIND: Final[Mapping[Kind, Meaning]] = {
    Kind.SPREAD: unmoved,
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


# Taint of undefined elements that loops carry from trip to trip.
#
# The body is first visited with a placeholder for each carried value's taint. An outcome without
# the placeholder is the taint of the previous trip; a disjunction with the placeholder is the taint
# of any earlier trip. For other outcomes the taint is over-approximated: it covers more elements.


@dataclass(frozen=True, eq=False)
class CarriedTaint:
    """A carried condition: its placeholder, its initial value, and its outcome of a trip."""

    placeholder: Opaque
    shape: Shape
    initial: Condition
    outcome: Condition


@dataclass(frozen=True)
class Course:
    """A carried condition in a trip of the loop (`inside`), and after the last trip."""

    inside: Condition
    after: Condition


def solved_courses(slots: Sequence[CarriedTaint], loop: Loop) -> list[Course]:
    """Return the courses of all conditions that a loop carries, in their order."""
    unsolved: dict[object, CarriedTaint] = {slot.placeholder.key: slot for slot in slots}
    inside: dict[object, tuple[Shape, Condition]] = {}
    solved: dict[object, Course] = {}
    while unsolved:
        solvable = None
        for key, slot in unsolved.items():
            outcome = with_solutions(slot.outcome, inside)
            if not _mentioned(outcome, unsolved) - {key}:
                solvable = key, slot, outcome
                break
        if solvable is None:
            common = _common_course(list(unsolved.values()), inside, loop)
            solved.update(dict.fromkeys(unsolved, common))
            break
        key, slot, outcome = solvable
        del unsolved[key]
        solved[key] = _course_of(slot, outcome, loop)
        inside[key] = (slot.shape, solved[key].inside)
    return [solved[slot.placeholder.key] for slot in slots]


def _mentioned(condition: Condition, keys: Mapping[object, CarriedTaint]) -> set[object]:
    return {opaque.key for opaque in condition.opaques() if opaque.key in keys}


def _course_of(slot: CarriedTaint, outcome: Condition, loop: Loop) -> Course:
    references = [opaque for opaque in outcome.opaques() if opaque.key == slot.placeholder.key]
    trip, trips = loop.trip.term, loop.trips
    if not references:
        return Course(
            _after_replacement(slot.initial, outcome, loop, trip),
            _after_replacement(slot.initial, outcome, loop, trips),
        )
    parts = outcome.parts if isinstance(outcome, Or) else (outcome,)
    condition_of_trip = with_solutions(
        disjunction(parts), {slot.placeholder.key: (slot.shape, FALSE)}
    )
    initial = slot.initial
    if any(opaque.at != slot.placeholder.at for opaque in references):  # elements change places
        initial, condition_of_trip = (
            _anywhere(condition, slot) for condition in (initial, condition_of_trip)
        )
    inside = initial | _in_earlier_trip(condition_of_trip, loop, slot.placeholder.key)
    return Course(inside, inside.substitute({loop.trip: trips}))


def _after_replacement(
    initial: Condition, outcome: Condition, loop: Loop, trips: Term
) -> Condition:
    """Return the condition after some trips, if each trip replaces it by its outcome."""
    before = outcome.substitute({loop.trip: trips - 1})
    return (less(trips, 1) & initial) | (at_least(trips, 1) & before)


def _in_earlier_trip(condition: Condition, loop: Loop, key: object) -> Condition:
    """Return the condition that another one held in an earlier trip, a new symbol."""
    if condition is FALSE:
        return FALSE
    trip = Symbol("trip", ("earlier", key), 0, loop.trip.high)
    renamed = Substitution({loop.trip: trip.term})
    before = less(trip.term, loop.trip.term)
    return conjunction((before, loop.running.substitute(renamed), condition.substitute(renamed)))


def _anywhere(condition: Condition, slot: CarriedTaint) -> Condition:
    return somewhere(condition, slot.shape, range(len(slot.shape)), slot.placeholder.key)


def _common_course(
    slots: Sequence[CarriedTaint], inside: Mapping[object, tuple[Shape, Condition]], loop: Loop
) -> Course:
    """Return one course for mutually dependent conditions: where any of them was ever true."""
    false_solutions: dict[object, tuple[Shape, Condition]] = {
        slot.placeholder.key: (slot.shape, FALSE) for slot in slots
    }
    slots_by_key = {slot.placeholder.key: slot for slot in slots}
    outcomes = [with_solutions(slot.outcome, inside) for slot in slots]
    placeholders = [
        opaque for outcome in outcomes for opaque in outcome.opaques() if opaque.key in slots_by_key
    ]
    in_place = len({slot.shape for slot in slots}) == 1 and all(
        opaque.at == slots_by_key[opaque.key].placeholder.at for opaque in placeholders
    )
    parts: list[Condition] = []
    for slot, outcome in zip(slots, outcomes, strict=True):
        conditions = [slot.initial, with_solutions(outcome, false_solutions)]
        if not in_place:
            conditions = [_anywhere(condition, slot) for condition in conditions]
        parts += [conditions[0], _in_earlier_trip(conditions[1], loop, slot.placeholder.key)]
    whole = disjunction(parts)
    return Course(whole, whole.substitute({loop.trip: loop.trips}))
