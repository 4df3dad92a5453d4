"""Meanings of reductions and scans of `tt`: formulas, or unknowns within a range."""

from __future__ import annotations

from kvtrace.ir import Block, Op, Value
from kvtrace.ir.model import number_of
from kvtrace.ir.ops import may_overflow
from kvtrace.ir.types import integer_bits, shape_of
from kvtrace.symbolic.conditions import AtLeast, Condition
from kvtrace.symbolic.functions import Choice, maximum, minimum, single
from kvtrace.symbolic.meanings import meaning
from kvtrace.symbolic.meanings.merging import as_number
from kvtrace.symbolic.meanings.tt_shape import lane_symbol, with_lanes_replaced
from kvtrace.symbolic.terms import Symbol, Term, as_term, lane, signed_range
from kvtrace.symbolic.walk import Walk

_IDEMPOTENT = frozenset(
    {"arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui", "arith.andi", "arith.ori"}
)


@meaning("tt.reduce")
def reduce(walk: Walk, op: Op) -> None:
    """Set the results of a reduction to exact terms if possible, else to bounded unknowns."""
    sources = op.group("source")
    axis, shape = number_of(op, "axis"), shape_of(sources[0].type)
    block = op.regions[0].blocks[0]
    combining = _only_op(block)
    ranges = _result_ranges(walk, op, block, shape[axis])
    lane_terms = [lane(i - 1, n) if i > axis else None for i, n in enumerate(shape)]
    for value, source, limits in zip(op.results, sources, ranges, strict=True):
        formula = walk.formula(source)
        exact = None
        if isinstance(formula, Term | Condition):
            exact = _exact_reduction(formula, combining, axis, shape[axis])
        if exact is not None:
            result = with_lanes_replaced(exact, shape, lane_terms)
            if isinstance(result, Term) and len(op.results) == 1:
                walk.set_computed(op, result)
            else:
                walk.set(value, result)
            continue
        _set_unfollowed(walk, op, value, "what a reduction finds", limits)
        if combining == "arith.addi" and isinstance(formula, Term) and _fits_type(value, limits):
            upper_bound = _upper_bound_of_sum(formula, axis, shape[axis])
            bound = with_lanes_replaced(upper_bound, shape, lane_terms)
            assert isinstance(bound, Term)
            walk.set(value, minimum(walk.term(value), bound))


@meaning("tt.scan")
def scan(walk: Walk, op: Op) -> None:
    """Set the results of a scan to cumulative sums, or to bounded unknowns."""
    axis, source = number_of(op, "axis"), shape_of(op.group("source")[0].type)
    bounds = _result_ranges(walk, op, op.regions[0].blocks[0], source[axis])
    if len(bounds) == 1 and _only_op(op.regions[0].blocks[0]) == "arith.addi":
        _set_cumulative_sums(walk, op, axis, source[axis], bounds[0])
        return
    for value, limits in zip(op.results, bounds, strict=True):
        _set_unfollowed(walk, op, value, "what a scan finds", limits)


def _set_cumulative_sums(
    walk: Walk, op: Op, axis: int, extent: int, limits: tuple[int, int] | None
) -> None:
    """Set the result to each element plus a bounded sum of the elements before it."""
    (value,) = op.results
    element = walk.formula(op.group("source")[0])
    if not isinstance(element, Term) or not _fits_type(value, limits):
        _set_unfollowed(walk, op, value, "what a scan finds", limits)
        return
    count_before = lane(axis, extent)
    if number_of(op, "reverse"):
        count_before = extent - 1 - count_before
    largest_count = extent - 1
    sum_before = walk.unknown(
        op, "what a scan finds before", value.type,
        (min(element.low * largest_count, 0), max(element.high * largest_count, 0)),
    )  # fmt: skip
    sum_before = minimum(
        maximum(sum_before, count_before * element.low), count_before * element.high
    )
    walk.set(value, element + sum_before)


def _upper_bound_of_sum(element: Term, axis: int, extent: int) -> Term:
    """Return an upper bound of a sum: the number of nonzero elements times the largest element.

    Of `5 if lane <= n else 0` over 64 lanes, that is `min(64, max(n + 1, 0)) * 5`.
    """
    largest = max(element.high, 0)
    atom = single(element)
    if not isinstance(atom, Choice) or atom.otherwise != 0:
        return as_term(largest * extent)
    lane_of_axis = lane_symbol(axis, extent)
    count = as_term(extent)
    for part in atom.condition.conjuncts():
        if not isinstance(part, AtLeast):
            continue
        form = part.term.affine()
        step = 0 if form is None else form[1].get(lane_of_axis, 0)
        rest = part.term - lane_of_axis.term * step
        if abs(step) != 1 or lane_of_axis in rest.atoms():
            continue
        # `rest - lane >= 0` holds in lanes up to `rest`; `rest + lane >= 0` from `-rest` on.
        lane_count = rest + 1 if step < 0 else rest + extent
        count = minimum(count, maximum(lane_count, 0))
    return count * largest


def _fits_type(value: Value, limits: tuple[int, int] | None) -> bool:
    """Return whether all numbers of a range fit a value's type; False without a range."""
    low, high = signed_range(integer_bits(value.type) or 64)
    return limits is not None and low <= limits[0] and limits[1] <= high


def _set_unfollowed(
    walk: Walk, op: Op, value: Value, reason: str, limits: tuple[int, int] | None
) -> None:
    """Set an unknown result within a range; record that it may wrap if it may leave its type."""
    if _fits_type(value, limits):
        walk.set_unknown(value, op, reason, limits)
    elif any(map(may_overflow, op.regions[0].blocks[0].ops)):
        walk.set_wrapped_unknown(value, op, reason)
    else:
        walk.set_unknown(value, op, reason)


def _only_op(block: Block) -> str:
    """Return the name of the op that combines two elements; "" if there are several ops."""
    if len(block.ops) != 2:
        return ""
    op, terminator = block.ops
    operands = {value.id for value in op.operands}
    uses_both = operands == {value.id for value in block.arguments} and (
        tuple(terminator.operands) == tuple(op.results)
    )
    return op.name if uses_both else ""


def _exact_reduction(
    formula: Term | Condition, combining: str, axis: int, extent: int
) -> Term | Condition | None:
    """Return the formula of a reduction's result along an axis, or None."""
    lane_of_axis = lane_symbol(axis, extent)
    if extent == 1:
        return formula
    if combining in _IDEMPOTENT and lane_of_axis not in formula.atoms():
        return formula
    if not isinstance(formula, Term):
        return None
    affine_form = formula.affine()
    nested_atoms = [
        atom
        for atom in formula.atoms()
        if atom is not lane_of_axis and lane_of_axis in atom.within()
    ]
    if affine_form is None or nested_atoms:
        return None
    step = affine_form[1].get(lane_of_axis, 0)
    first = formula - lane_of_axis.term * step
    if combining == "arith.addi":
        return first * extent + step * (extent * (extent - 1) // 2)
    if combining == "arith.maxsi":
        return first + max(step, 0) * (extent - 1)
    return first + min(step, 0) * (extent - 1) if combining == "arith.minsi" else None


def _result_ranges(walk: Walk, op: Op, block: Block, extent: int) -> list[tuple[int, int] | None]:
    """Return the range of each result, or None where combining two elements may leave it."""
    ranges = []
    for value in op.operands:
        formula = walk.formula(value)
        number = as_number(formula) if isinstance(formula, Condition) else formula
        bits = integer_bits(value.type)
        if isinstance(number, Term):
            ranges.append((number.low, number.high))
        else:
            ranges.append((0, 0) if bits is None else signed_range(bits))
    if _only_op(block) == "arith.addi":
        low, high = ranges[0]
        return [(min(low, low * extent), max(high, high * extent))]
    if len(block.arguments) != 2 * len(ranges):
        return [None] * len(ranges)
    with walk.rehearsal():
        arithmetic_count = len(walk.arithmetic)
        for position, value in enumerate(block.arguments):
            _set_argument(walk, op, value, position, ranges[position % len(ranges)])
        walk.block(block)
        if len(walk.arithmetic) > arithmetic_count:  # an op in between may wrap around
            return [None] * len(ranges)
        outcomes = [walk.formula(value) for value in block.ops[-1].operands]
    result_ranges: list[tuple[int, int] | None] = []
    for outcome, (low, high) in zip(outcomes, ranges, strict=True):
        stays = isinstance(outcome, Term) and low <= outcome.low and outcome.high <= high
        result_ranges.append((low, high) if stays else None)
    # Each outcome was found from all ranges: if one does not hold, no other is proven.
    all_hold = all(
        limits is not None or integer_bits(value.type) in (None, 1)
        for limits, value in zip(result_ranges, op.operands, strict=True)
    )
    return result_ranges if all_hold else [None] * len(ranges)


def _set_argument(walk: Walk, op: Op, value: Value, position: int, bounds: tuple[int, int]) -> None:
    bits = integer_bits(value.type)
    if bits is None or bits == 1:
        walk.set_unknown(value, op, f"an element ({position})")
        return
    key = (walk.key(op, position), "an element")
    walk.set(value, Symbol("unknown", key, *bounds).term)
