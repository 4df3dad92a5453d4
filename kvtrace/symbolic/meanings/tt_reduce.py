"""`tt`: reductions and scans of integers and Booleans, as formulas or as bounded unknowns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtrace.ir.ops import GROWING
from kvtrace.symbolic.conditions import AtLeast, Condition
from kvtrace.symbolic.functions import Choice, maximum, minimum, single
from kvtrace.symbolic.meanings import meaning
from kvtrace.symbolic.meanings.merging import as_number
from kvtrace.symbolic.meanings.tt_shape import lane_symbol, relaned
from kvtrace.symbolic.terms import Symbol, Term, as_term, lane, signed_range
from kvtrace.symbolic.walk_types import integer_bits, number_of, shape_of

if TYPE_CHECKING:
    from kvtrace.ir import Block, Op, Value
    from kvtrace.symbolic.walk import Walk

_IDEMPOTENT = frozenset(
    {"arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui", "arith.andi", "arith.ori"}
)


@meaning("tt.reduce")
def reduce(walk: Walk, op: Op) -> None:
    """Set the results of a reduction along an axis."""
    given = op.group("source")
    axis, source = number_of(op, "axis"), shape_of(given[0].type)
    block = op.regions[0].blocks[0]
    combining = _only_op(block)
    bounds = _bounds(walk, op, block, source[axis])
    places = [lane(i - 1, n) if i > axis else None for i, n in enumerate(source)]
    for position, value in enumerate(op.results):
        known = walk.known(given[position])
        exact = None
        if isinstance(known, Term | Condition):
            exact = _exact(known, combining, axis, source[axis])
        if exact is None:
            _unfollowed(walk, op, value, "what a reduction finds", bounds[position])
            if combining == "arith.addi" and isinstance(known, Term) and _stays(value, bounds[0]):
                most = relaned(_most(known, axis, source[axis]), source, places)
                assert isinstance(most, Term)
                walk.set(value, minimum(walk.term(value), most))
            continue
        moved = relaned(exact, source, places)
        if isinstance(moved, Term) and len(op.results) == 1:
            walk.computed(op, moved)
        else:
            walk.set(value, moved)


@meaning("tt.scan")
def scan(walk: Walk, op: Op) -> None:
    """Set the results of a scan along an axis."""
    axis, source = number_of(op, "axis"), shape_of(op.group("source")[0].type)
    bounds = _bounds(walk, op, op.regions[0].blocks[0], source[axis])
    if len(bounds) == 1 and _only_op(op.regions[0].blocks[0]) == "arith.addi":
        _sums(walk, op, axis, source[axis], bounds[0])
        return
    for value, limits in zip(op.results, bounds, strict=True):
        _unfollowed(walk, op, value, "what a scan finds", limits)


def _sums(walk: Walk, op: Op, axis: int, extent: int, limits: tuple[int, int] | None) -> None:
    """Set cumulative sums: each element plus a bounded sum of the elements before it."""
    (value,) = op.results
    element = walk.known(op.group("source")[0])
    if not isinstance(element, Term) or not _stays(value, limits):
        _unfollowed(walk, op, value, "what a scan finds", limits)
        return
    before = lane(axis, extent)
    if number_of(op, "reverse"):
        before = extent - 1 - before
    reach = extent - 1
    others = walk.unknown(
        op, "what a scan finds before", value.type,
        (min(element.low * reach, 0), max(element.high * reach, 0)),
    )  # fmt: skip
    others = minimum(maximum(others, before * element.low), before * element.high)
    walk.set(value, element + others)


def _most(element: Term, axis: int, extent: int) -> Term:
    """Return an upper bound of a sum: the number of nonzero elements times the largest."""
    most = max(element.high, 0)
    atom = single(element)
    if not isinstance(atom, Choice) or atom.otherwise != 0:
        return as_term(most * extent)
    along = lane_symbol(axis, extent)
    count = as_term(extent)
    for part in atom.condition.conjuncts():
        if not isinstance(part, AtLeast):
            continue
        form = part.term.affine()
        step = 0 if form is None else form[1].get(along, 0)
        rest = part.term - along.term * step
        if abs(step) != 1 or along in rest.atoms():
            continue
        many = rest + 1 if step < 0 else rest + extent  # lanes up to `rest`, or from `-rest` on
        count = minimum(count, maximum(many, 0))
    return count * most


def _stays(value: Value, limits: tuple[int, int] | None) -> bool:
    """Return whether all numbers of a range fit a type."""
    low, high = signed_range(integer_bits(value.type) or 64)
    return limits is not None and low <= limits[0] and limits[1] <= high


def _unfollowed(
    walk: Walk, op: Op, value: Value, reason: str, limits: tuple[int, int] | None
) -> None:
    """Set an unknown in a range; without a range, or past the width, it may have wrapped around."""
    if _stays(value, limits):
        walk.set_unknown(value, op, reason, limits)
    elif any(inner.name in GROWING for inner in op.regions[0].blocks[0].ops):
        walk.lost(value, op, reason)
    else:
        walk.set_unknown(value, op, reason)


def _only_op(block: Block) -> str:
    """Return the operator that combines two elements, or "" if there are several ops."""
    if len(block.ops) != 2:
        return ""
    op, end = block.ops
    operands = {value.id for value in op.operands}
    same = operands == {value.id for value in block.arguments} and (
        tuple(end.operands) == tuple(op.results)
    )
    return op.name if same else ""


def _exact(
    known: Term | Condition, combining: str, axis: int, extent: int
) -> Term | Condition | None:
    """Return the result as a formula, or None."""
    along = lane_symbol(axis, extent)
    if extent == 1:
        return known
    if combining in _IDEMPOTENT and along not in known.atoms():
        return known
    if not isinstance(known, Term):
        return None
    form = known.affine()
    inside = [atom for atom in known.atoms() if atom is not along and along in atom.within()]
    if form is None or inside:
        return None
    step = form[1].get(along, 0)
    first = known - along.term * step
    if combining == "arith.addi":
        return first * extent + step * (extent * (extent - 1) // 2)
    if combining == "arith.maxsi":
        return first + max(step, 0) * (extent - 1)
    return first + min(step, 0) * (extent - 1) if combining == "arith.minsi" else None


def _bounds(walk: Walk, op: Op, block: Block, extent: int) -> list[tuple[int, int] | None]:
    """Return the elements' ranges as those of the results if combining two stays within them."""
    ranges = []
    for value in op.operands:
        known = walk.known(value)
        number = as_number(known) if isinstance(known, Condition) else known
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
        before = len(walk.arithmetic)
        for position, value in enumerate(block.arguments):
            _bind(walk, op, value, position, ranges[position % len(ranges)])
        walk.block(block)
        if len(walk.arithmetic) > before:  # on the way, something may wrap around
            return [None] * len(ranges)
        outcomes = [walk.known(value) for value in block.ops[-1].operands]
    closed: list[tuple[int, int] | None] = []
    for outcome, (low, high) in zip(outcomes, ranges, strict=True):
        stays = isinstance(outcome, Term) and low <= outcome.low and outcome.high <= high
        closed.append((low, high) if stays else None)
    # One range that is left takes from the others what they were found by.
    whole = all(
        limits is not None or integer_bits(value.type) in (None, 1)
        for limits, value in zip(closed, op.operands, strict=True)
    )
    return closed if whole else [None] * len(ranges)


def _bind(walk: Walk, op: Op, value: Value, position: int, bounds: tuple[int, int]) -> None:
    bits = integer_bits(value.type)
    if bits is None or bits == 1:
        walk.set_unknown(value, op, f"an element ({position})")
        return
    key = (walk.key(op, position), "an element")
    walk.set(value, Symbol("unknown", key, *bounds).term)
