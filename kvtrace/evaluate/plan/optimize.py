"""Optimization passes: a plan's instructions replaced by fewer with the same results.

A loop that only loads, computes lane by lane, stores, and adds up over its trips (as over the tiles
of a long row) equals the same operations on arrays with the trips as first lane axis, and a sum
along that axis: 8 trips over tiles of 1,024 are arrays of 8 x 1,024. Code is then called once
instead of once a trip. Sums have the order of the trips, as in the loop.

If a loop only adds products of tiles, and its trips continue along the inner axis of both tiles (K
of M x K times K x N), the tiles of several trips are one tile in memory: 32 trips with K = 32 are 2
trips with K = 512, which BLAS computes faster.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np

from kvtrace.evaluate.plan.affine import Affine, substituted
from kvtrace.evaluate.plan.array_functions import ufunc_operation
from kvtrace.evaluate.plan.instructions import (
    Dot,
    Instruction,
    Load,
    Loop,
    Map,
    Operand,
    Ramp,
    Reduce,
    Store,
    View,
    defined,
    read_by,
)
from kvtrace.evaluate.plan.values import Register

Instructions = list[Instruction]

_NEVER_MOVED = (Store, Loop)


def optimized(instructions: Instructions) -> Instructions:
    """Return fewer instructions with the same stores: dead ones removed, loops simplified."""
    return with_trips_at_once(with_longer_products(_hoisted(without_dead(instructions))))


# -- dead code ------------------------------------------------------------------------------------


def without_dead(instructions: Instructions) -> Instructions:
    """Return the instructions without those whose results no store depends on."""
    return _without_dead(instructions, set())[0]


def _without_dead(
    instructions: Instructions, live: set[Register]
) -> tuple[Instructions, set[Register]]:
    """Return stores and their dependences, and the registers in `live` or read by them."""
    needed: Instructions = []
    for instruction in reversed(instructions):
        if isinstance(instruction, Loop):
            loop = _live_loop(instruction, live)
            if loop is not None:
                needed.append(loop)
            continue
        if not isinstance(instruction, Store) and not live.intersection(defined(instruction)):
            continue
        live.update(instruction.sources())
        needed.append(instruction)
    return needed[::-1], live


def _live_loop(loop: Loop, live: set[Register]) -> Loop | None:
    """Return a loop without unneeded registers, or None; its reads are added to `live`."""
    needed = {n for n, result in enumerate(loop.results) if result in live}
    while True:
        outcomes = {loop.outcomes[n] for n in needed}
        body, live_in_body = _without_dead(loop.body, set(outcomes))
        extended = needed | {n for n, carried in enumerate(loop.carried) if carried in live_in_body}
        if extended == needed:
            break
        needed = extended
    if not body and not needed:
        return None
    order = sorted(needed)
    operands = tuple(loop.operands[n] for n in order)
    carried = tuple(loop.carried[n] for n in order)
    live.update(live_in_body.difference(carried))
    live.update(operand for operand in operands if isinstance(operand, Register))
    return replace(
        loop,
        operands=operands,
        carried=carried,
        outcomes=tuple(loop.outcomes[n] for n in order),
        results=tuple(loop.results[n] for n in order),
        body=body,
    )


# -- loop-invariant code --------------------------------------------------------------------------


def _hoisted(instructions: Instructions) -> Instructions:
    """Return the instructions, with those that no trip changes moved in front of their loop."""
    result: Instructions = []
    for instruction in instructions:
        if not isinstance(instruction, Loop):
            result.append(instruction)
            continue
        body = _hoisted(instruction.body)
        varying: set[Register] = set(instruction.carried)
        stays: Instructions = []
        for inner in body:
            if _varies(inner, instruction.symbol, varying):
                varying.update(defined(inner))
                stays.append(inner)
            else:
                result.append(inner)
        result.append(instruction.with_body(stays))
    return result


def _varies(instruction: Instruction, symbol: int, varying: set[Register]) -> bool:
    """Return whether an instruction depends on the loop, or is a store or a loop."""
    if isinstance(instruction, _NEVER_MOVED):
        return True
    if any(source in varying for source in instruction.sources()):
        return True
    if isinstance(instruction, Load):
        return instruction.written or bool(instruction.form.coefficient(symbol))
    return isinstance(instruction, Ramp) and bool(instruction.form.coefficient(symbol))


# -- questions ------------------------------------------------------------------------------------


def use_counts(instructions: Iterable[Instruction]) -> dict[Register, int]:
    """Return how often each register is read; the outcomes of a loop count twice more."""
    counts: dict[Register, int] = {}
    for instruction in instructions:
        for register in read_by(instruction):
            counts[register] = counts.get(register, 0) + 1
        if isinstance(instruction, Loop):
            for register in instruction.outcomes:
                counts[register] = counts.get(register, 0) + 2
    return counts


# -- all trips of a loop at once -------------------------------------------------------------------


_FIRST_NUMBER = 4_000_000
"""New registers are numbered from this number on; at most three come from one register."""

_LEAST_LANES = 64
"""Shorter tiles: the sum along trips would not go through them in order (NumPy's inner loop)."""

_MOST_ELEMENTS = 1 << 16
"""Longer rows of a single program fill the cache."""


def with_trips_at_once(instructions: list[Instruction]) -> list[Instruction]:
    """Return the instructions, with suitable loops replaced by one pass over all trips."""
    result: list[Instruction] = []
    for instruction in instructions:
        if isinstance(instruction, Loop):
            whole = _AllTrips(instruction).instructions() if _suits(instruction) else None
            if whole is not None:
                result += whole
                continue
            instruction = instruction.with_body(with_trips_at_once(instruction.body))
        result.append(instruction)
    return result


def _suits(loop: Loop) -> bool:
    """Return whether a loop only loads, computes lane by lane, stores once and adds up floats."""
    first, last = loop.trips
    if loop.stairs is not None or last <= first:
        return False
    if any(type(instruction) not in (Load, Map, Store) for instruction in loop.body):
        return False
    if sum(isinstance(instruction, Store) for instruction in loop.body) > 1:
        return False  # two stores may write the same bytes in different trips
    sums = [_summand(loop, number) for number in range(len(loop.carried))]
    return all(summand is not None for summand in sums)


def _summand(loop: Loop, number: int) -> Register | None:
    """Return the register that a loop sums up, from zero, in a carried register, else None."""
    carried, outcome, start = loop.carried[number], loop.outcomes[number], loop.operands[number]
    if isinstance(start, Register) or start != 0 or carried.dtype.kind != "f":
        return None
    summand: Register | None = None
    for instruction in loop.body:
        sources = instruction.sources()
        if outcome in sources:
            return None
        if carried not in sources:
            continue
        addends = [source for source in sources if source is not carried]
        if summand is not None or len(addends) != 1 or instruction.target is not outcome:
            return None
        if not isinstance(instruction, Map) or instruction.operation.into is not np.add:
            return None
        summand = addends[0]
    if summand is None or (summand.axes, summand.lanes) != (carried.axes, carried.lanes):
        return None
    is_from_body = any(instruction.target is summand for instruction in loop.body)
    suits = is_from_body and summand.dtype == carried.dtype == outcome.dtype
    return summand if suits and summand.lanes and summand.lanes[-1] >= _LEAST_LANES else None


class _AllTrips:
    """Builds the list of instructions that computes all trips of a loop at once."""

    def __init__(self, loop: Loop) -> None:
        self._loop = loop
        self._first, last = loop.trips
        self._trips = last - self._first + 1
        self._over_trips: dict[Register, Register] = {}
        self._result: list[Instruction] = []

    def instructions(self) -> list[Instruction] | None:
        """Return the instructions; None if the loop cannot be replaced."""
        adding = set(self._loop.outcomes)
        for instruction in self._loop.body:
            if instruction.target in adding:
                continue
            if not self._add(instruction):
                return None
        for number, result in enumerate(self._loop.results):
            self._append_sum(number, result)
        return self._result

    def _add(self, instruction: Instruction) -> bool:
        """Append the instruction for all trips; return False if that is impossible."""
        if isinstance(instruction, Load):
            return self._load(instruction)
        if isinstance(instruction, Store):
            return self._store(instruction)
        assert isinstance(instruction, Map)
        target = instruction.target
        assert target is not None
        operands = [self._operand(operand, len(target.lanes)) for operand in instruction.operands]
        usable = tuple([operand for operand in operands if operand is not None])
        if len(usable) < len(operands):
            return False
        all_trips = self._register_over_trips(target)
        self._result.append(Map(all_trips, usable, instruction.operation))
        return all_trips is not None

    def _load(self, load: Load) -> bool:
        target, step = load.target, load.form.coefficient(self._loop.symbol)
        assert target is not None
        if load.written or not self._is_adjacent(load.form, target.lanes, step, 1):
            return False
        all_trips = self._register_over_trips(target)
        form = self._form_over_trips(load.form, len(target.lanes), step)
        self._result.append(Load(all_trips, (), load.argument, form, load.dtype, load.written))
        return all_trips is not None

    def _store(self, store: Store) -> bool:
        step = store.form.coefficient(self._loop.symbol)
        if not self._is_adjacent(store.form, store.lanes, step, store.dtype.itemsize):
            return False
        operands = [self._operand(operand, len(store.lanes)) for operand in store.operands]
        usable = tuple([operand for operand in operands if operand is not None])
        if len(usable) < len(operands):
            return False
        form = self._form_over_trips(store.form, len(store.lanes), step)
        lanes = (self._trips, *store.lanes)
        self._result.append(Store(None, usable, store.argument, form, lanes, store.dtype))
        return True

    def _is_adjacent(self, form: Affine, lanes: tuple[int, ...], step: int, size: int) -> bool:
        """Return whether each trip's tile lies behind the last; lanes must be closer than trips."""
        if not form.lanes or len(form.lanes) != len(lanes) or min(form.lanes) <= 0:
            return False
        last = sum([stride * (n - 1) for stride, n in zip(form.lanes, lanes, strict=True)])
        return step >= last + size and max(form.lanes) < step

    def _form_over_trips(self, form: Affine, rank: int, step: int) -> Affine:
        outer = tuple([pair for pair in form.outer if pair[0] != self._loop.symbol])
        assert len(form.lanes) == rank
        return Affine(form.constant + step * self._first, outer, (step, *form.lanes))

    def _register_over_trips(self, register: Register) -> Register | None:
        """Return a new register for all trips of a register; None if it is too long."""
        lanes = (self._trips, *register.lanes)
        all_trips = Register(_FIRST_NUMBER + register.number, register.axes, lanes, register.dtype)
        self._over_trips[register] = all_trips
        return all_trips if math.prod(lanes) <= _MOST_ELEMENTS else None

    def _operand(self, operand: Operand, rank: int) -> Operand | None:
        """Return an operand with a lane axis for the trips; None if that is impossible."""
        if not isinstance(operand, Register):
            return operand
        if operand not in self._over_trips:
            if len(operand.lanes) != rank:
                return None
            programs, lanes = len(operand.axes), (1, *operand.lanes)
            number = 2 * _FIRST_NUMBER + self._loop.symbol * _FIRST_NUMBER + operand.number
            spread = Register(number, operand.axes, lanes, operand.dtype)
            axes = (*range(programs), None, *range(programs, programs + rank))
            self._result.append(View(spread, (operand,), axes))
            self._over_trips[operand] = spread
        return self._over_trips[operand]

    def _append_sum(self, number: int, result: Register) -> None:
        """Append the sum along the trips, plus the loop's initial zero, which turns -0 into 0."""
        summand = _summand(self._loop, number)
        assert summand is not None
        all_trips = self._over_trips[summand]
        total = Register(3 * _FIRST_NUMBER + result.number, result.axes, result.lanes, result.dtype)
        self._result.append(Reduce(total, (all_trips,), np.add, 0, result.dtype))
        start = result.dtype.type(0)
        add = ufunc_operation("add", np.add, result.dtype)
        self._result.append(Map(result, (total, start), add))


# -- longer matrix products ------------------------------------------------------------------------


_LONGEST = 512
"""The longest inner axis: its tiles must still fit the cache."""

_FIRST_LONGER = 1_000_000
"""New registers are numbered from this number on."""


def with_longer_products(instructions: list[Instruction]) -> list[Instruction]:
    """Return the instructions with loops of products shortened, or replaced by one product."""
    result: list[Instruction] = []
    for instruction in instructions:
        if isinstance(instruction, Loop):
            longer = _with_longer_product(instruction)
            if longer is not None:
                result += longer
                continue
            body = with_longer_products(instruction.body)
            instruction = instruction.with_body(body)
        result.append(instruction)
    return result


def _with_longer_product(loop: Loop) -> list[Instruction] | None:
    """Return the instructions that replace a loop; None if it cannot be shortened."""
    chains = _chains(loop)
    if chains is None or loop.stairs is not None:
        return None
    dot, left, right = chains
    first, last = loop.trips
    trips = last - first + 1
    inner_extent = dot.sources()[0].lanes[1]
    if not _is_adjacent(left, loop.symbol, 1, inner_extent) or not _is_adjacent(
        right, loop.symbol, 0, inner_extent
    ):
        return None
    limit = _LONGEST // inner_extent
    factor = _largest_divisor(trips, limit)
    trips_per_product = -(-trips // -(-trips // limit)) if limit else 1
    if 2 * factor <= trips_per_product:
        return _as_two_loops(loop, trips // trips_per_product * trips_per_product)
    if factor == 1:
        return None
    trip = Affine(first, ((loop.symbol, factor),) if factor < trips else ())
    body, first_operand = _lengthened(left, 1, factor, loop.symbol, trip)
    right_chain, second_operand = _lengthened(right, 0, factor, loop.symbol, trip)
    body += right_chain
    operands = (first_operand, second_operand)
    if factor < trips:
        product: Instruction = replace(dot, operands=(*operands, loop.carried[0]))
        return [replace(loop, trips=(0, trips // factor - 1), body=[*body, product])]
    start = loop.operands[0]
    if isinstance(start, Register):
        if start.axes != dot.target.axes or start.lanes != dot.target.lanes:  # type: ignore[union-attr]
            return None
        return [*body, Dot(loop.results[0], (*operands, start))]
    return [*body, Dot(loop.results[0], operands)] if start == np.float32(0) else None


def _as_two_loops(loop: Loop, trips: int) -> list[Instruction]:
    """Return a loop as two, the first of `trips` trips, each replaced if possible."""
    first, last = loop.trips
    middle = tuple(Register(2 * _FIRST_LONGER + r.number, r.axes, r.lanes, r.dtype)
                   for r in loop.results)  # fmt: skip
    loops = (
        replace(loop, trips=(first, first + trips - 1), results=middle),
        replace(loop, trips=(first + trips, last), operands=middle),
    )
    return [instruction for half in loops for instruction in _with_longer_product(half) or [half]]


Chain = list[Instruction]
"""A load, and operations on the loaded elements alone."""


def _chains(loop: Loop) -> tuple[Dot, Chain, Chain] | None:
    """Return a loop's product and the chains of its operands; None if the loop does more."""
    if len(loop.carried) != 1 or not loop.body or not isinstance(loop.body[-1], Dot):
        return None
    dot = loop.body[-1]
    carried = loop.carried[0]
    if len(dot.operands) != 3 or dot.operands[2] is not carried or len(carried.lanes) != 2:
        return None
    if loop.outcomes[0] is not dot.target:
        return None
    makers: dict[Register | None, Instruction] = {
        i.target: i for i in loop.body[:-1] if isinstance(i, Load | Map)
    }
    left, right = (_chain(register, makers) for register in dot.sources()[:2])
    if left is None or right is None or len(left) + len(right) != len(loop.body) - 1:
        return None
    return dot, left, right


def _chain(register: Register, makers: dict[Register | None, Instruction]) -> Chain | None:
    """Return the instructions from a load to a register; None if another operand is involved."""
    chain: Chain = []
    while True:
        producer = makers.get(register)
        if producer is None:
            return None
        chain.insert(0, producer)
        if isinstance(producer, Load):
            return None if producer.written else chain
        if len(producer.operands) != 1:
            return None
        register = producer.sources()[0]


def _is_adjacent(chain: Chain, symbol: int, axis: int, depth: int) -> bool:
    """Return whether the next trip's tile begins where this trip's ends, along an axis."""
    load = chain[0]
    assert isinstance(load, Load)
    if not load.form.lanes or any(i.target.lanes[axis] != depth for i in chain):  # type: ignore[union-attr]
        return False
    step = load.form.lanes[axis]
    return step != 0 and load.form.coefficient(symbol) == step * depth


def _largest_divisor(number: int, limit: int) -> int:
    return max((d for d in range(1, min(number, limit) + 1) if number % d == 0), default=1)


def _lengthened(
    chain: Chain, axis: int, factor: int, symbol: int, trip: Affine
) -> tuple[Chain, Register]:
    """Return a chain for `factor` trips at once, beginning at `trip`, and its last register."""
    result: Chain = []
    target: Register | None = None
    for instruction in chain:
        old = instruction.target
        assert old is not None
        lanes = tuple(n * factor if position == axis else n for position, n in enumerate(old.lanes))
        source = target
        target = Register(_FIRST_LONGER + old.number, old.axes, lanes, old.dtype)
        if isinstance(instruction, Load):
            form = substituted(instruction.form, symbol, trip)
            result.append(replace(instruction, target=target, form=form))
        else:
            assert source is not None
            result.append(replace(instruction, target=target, operands=(source,)))
    assert target is not None
    return result, target
