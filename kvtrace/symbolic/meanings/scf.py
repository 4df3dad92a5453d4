"""Meanings of branches and loops of `scf`; carried values are in `carried.py`."""

from __future__ import annotations

from msgspec.structs import replace

from kvtrace.ir import Block, Op, Value
from kvtrace.ir.flow import deciding
from kvtrace.ir.model import Region
from kvtrace.ir.types import FloatType, element_of, integer_bits
from kvtrace.symbolic.conditions import TRUE, Condition, at_least, conjunction, equal, less
from kvtrace.symbolic.functions import choice, maximum, quotient
from kvtrace.symbolic.meanings import meaning
from kvtrace.symbolic.meanings.arith import unsigned
from kvtrace.symbolic.meanings.carried import CarriedValues
from kvtrace.symbolic.meanings.invariants import most_trips
from kvtrace.symbolic.meanings.merging import chosen, rewritten
from kvtrace.symbolic.summary import Formula, Loop
from kvtrace.symbolic.terms import MOST_TRIPS, Substitution, Symbol, signed_range
from kvtrace.symbolic.walk import Walk

# -- branches -----------------------------------------------------------------------------------


@meaning("scf.if")
def if_(walk: Walk, op: Op) -> None:
    """Visit both branches, each under its condition, and set the results to merged values."""
    condition = walk.condition(op.operand("condition"))
    first = _branch(walk, condition, op.regions[0], len(op.results))
    otherwise = op.regions[1] if len(op.regions) > 1 else None
    second = _branch(walk, ~condition, otherwise, len(op.results))
    for value, first_value, second_value in zip(op.results, first, second, strict=True):
        walk.set(value, chosen(walk, op, value, condition, first_value, second_value))


def _branch(
    walk: Walk, condition: Condition, region: Region | None, count: int
) -> list[Formula | None]:
    if region is None or not region.blocks:
        return [None] * count
    if condition.decided is False and not walk.arithmetic:
        return [None] * count  # else it may run for numbers that have wrapped around
    block = region.blocks[0]
    with walk.under(condition):
        walk.block(block)
    return [walk.formula(value) for value in block.ops[-1].operands]


# -- counted loops ------------------------------------------------------------------------------


@meaning("scf.for")
def for_(walk: Walk, op: Op) -> None:
    """Visit the body once, with a symbol for the trip.

    The trips are those of ideal integers. It is recorded as arithmetic that the counter does not
    wrap around in any trip, and that the step is positive.
    """
    first, end, step = (walk.term(value) for value in deciding(op))
    bits = integer_bits(op.operand("first").type) or 64
    offset_of_unsigned = 0
    if "unsignedCmp" in op.attributes:
        first, end = unsigned(first, bits), unsigned(end, bits)
        offset_of_unsigned = 1 << (bits - 1)
    initial = [walk.formula(value) for value in op.group("initial")]
    trips = maximum(0, quotient(end - first + step - 1, step, floor=True))
    if step.low < 1:  # from the least number, a step down leaves the width, and 0 never ends
        with walk.under(less(first, end)):
            walk.record_counter(op, step - 1 + signed_range(bits)[0], bits)
        trips = choice(at_least(step, 1), trips, 0)  # also with a bound below the first counter
    if trips == 0 and not walk.arithmetic:
        for value, formula in zip(op.results, initial, strict=True):
            walk.set(value, formula)
        return
    trip = Symbol("trip", walk.key(op), 0, max(trips.high - 1, 0))
    counter = first + step * trip.term
    running = conjunction((at_least(step, 1), less(counter, end)))
    loop = Loop(op, trip, trips, running, walk.guard, walk.calls)
    block = op.regions[0].blocks[0]
    needed = _slice(block)
    induction, *arguments = block.arguments
    yielded = block.ops[-1].operands

    def rehearse() -> list[Formula | None]:
        walk.set(induction, counter)
        for inner_op in needed:
            walk.visit(inner_op)
        return [walk.formula(value) for value in yielded]

    carried = CarriedValues(walk, op, loop, arguments, initial)
    carried.solve(rehearse, lambda: running)
    loop = replace(loop, carried=carried.integers(), going_on=running)
    walk.found_loops.append(loop)
    walk.set(induction, counter)
    carried.set_in_trip()
    with walk.inside(loop):
        walk.record_counter(op, counter + step - offset_of_unsigned, bits)
        walk.block(block)
    for value, formula in zip(op.results, carried.after(trips, op.results), strict=True):
        walk.set(value, formula)


def _slice(block: Block) -> list[Op]:
    """Return the ops of a body, in order, that carried integers, Booleans and pointers need."""
    needed = {value.id for value in block.ops[-1].operands if _is_followed(value)}
    ops = []
    for op in reversed(block.ops[:-1]):
        if any(value.id in needed for value in op.results):
            ops.append(op)
            needed.update(value.id for inner in op.walk() for value in inner.operands)
    return ops[::-1]


def _is_followed(value: Value) -> bool:
    return not isinstance(element_of(value.type), FloatType)


# -- loops that a condition ends ----------------------------------------------------------------


@meaning("scf.while")
def while_(walk: Walk, op: Op) -> None:
    """Visit both regions once, the second under the condition that the first computes."""
    before, after = (region.blocks[0] for region in op.regions)
    initial = [walk.formula(value) for value in op.operands]
    forwarded: list[Formula | None] = []
    going_on: list[Condition] = []

    def check() -> Condition:
        walk.block(before)
        end = before.ops[-1]
        forwarded[:] = [walk.formula(value) for value in end.group("passed")]
        return walk.condition(end.operand("condition"))

    def run_body() -> list[Formula | None]:
        goes_on = check()
        going_on[:] = [goes_on]
        for value, formula in zip(after.arguments, forwarded, strict=True):
            walk.set(value, formula)
        trip = walk.loops[-1].trip
        is_not_after_last = less(trip.term, trip.high) if trip.high < MOST_TRIPS else TRUE
        with walk.under(goes_on & is_not_after_last):
            walk.block(after)
        return [walk.formula(value) for value in after.ops[-1].operands]

    def settled(most: int) -> Loop:
        """Set the carried values of the loop, for at most some number of condition checks."""
        trip = Symbol("trip", walk.key(op), 0, most)
        key = (walk.key(op), "the trips of a while loop")
        trips = Symbol("unknown", key, 0, most, walk.coordinates(())).term
        loop = Loop(op, trip, trips, TRUE, walk.guard, walk.calls)
        carried = CarriedValues(walk, op, loop, list(before.arguments), initial)
        carried.solve(run_body, lambda: conjunction(going_on))
        carried.set_in_trip()
        with walk.rehearsal(), walk.inside(loop):
            goes_on = check()
        # a trip but the first comes after one that was not the last
        running = equal(trip.term) | goes_on.substitute({trip: trip.term - 1})
        return replace(loop, running=running, going_on=goes_on, carried=carried.integers())

    loop = settled(MOST_TRIPS)
    most = most_trips(loop)
    if most < MOST_TRIPS:
        loop = settled(most)
    walk.found_loops.append(loop)
    with walk.inside(loop):
        run_body()
    at_end = Substitution({loop.trip: loop.trips})
    for value, formula in zip(op.results, forwarded, strict=True):
        walk.set(value, None if formula is None else rewritten(formula, at_end))
