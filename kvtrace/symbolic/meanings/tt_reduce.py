"""`tt`: reductions and scans of integers and Booleans: exact where a formula is, else bounded."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtrace.ir.ops import GROWING
from kvtrace.symbolic.conditions import Condition
from kvtrace.symbolic.meanings import meaning
from kvtrace.symbolic.meanings.merging import as_number
from kvtrace.symbolic.meanings.tt_shape import lane_symbol, relaned
from kvtrace.symbolic.terms import Symbol, Term, lane, signed_range
from kvtrace.symbolic.walk_types import integer_bits, number_of, shape_of

if TYPE_CHECKING:
    from kvtrace.ir import Block, Op, Value
    from kvtrace.symbolic.walk import Walk

_IDEMPOTENT = frozenset(
    {"arith.maxsi", "arith.minsi", "arith.maxui", "arith.minui", "arith.andi", "arith.ori"}
)


@meaning("tt.reduce")
def reduce(walk: Walk, op: Op) -> None:
    """Set what is left of an axis."""
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
            continue
        moved = relaned(exact, source, places)
        if isinstance(moved, Term) and len(op.results) == 1:
            walk.computed(op, moved)
        else:
            walk.set(value, moved)


@meaning("tt.scan")
def scan(walk: Walk, op: Op) -> None:
    """Set what is left of an axis up to each element."""
    axis, source = number_of(op, "axis"), shape_of(op.group("source")[0].type)
    bounds = _bounds(walk, op, op.regions[0].blocks[0], source[axis])
    for value, limits in zip(op.results, bounds, strict=True):
        _unfollowed(walk, op, value, "what a scan finds", limits)


def _unfollowed(
    walk: Walk, op: Op, value: Value, reason: str, limits: tuple[int, int] | None
) -> None:
    """Set a number in a range; without one, or past its width, it may have wrapped around."""
    low, high = signed_range(integer_bits(value.type) or 64)
    if limits is not None and low <= limits[0] and limits[1] <= high:
        walk.set_unknown(value, op, reason, limits)
    elif any(inner.name in GROWING for inner in op.regions[0].blocks[0].ops):
        walk.lost(value, op, reason)
    else:
        walk.set_unknown(value, op, reason)


def _only_op(block: Block) -> str:
    """Name the op that combines two elements, "" if it is not just one."""
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
    """Return the result as a formula, if one is known."""
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
    """Return ranges of the results: those of the elements, if combining two of them leaves none."""
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
