"""All trips of a loop at once: loops over the tiles of a row, with the trips as one more axis.

A loop that only loads, computes lane by lane, stores, and adds up over its trips (as over the tiles
of a long row) equals the same operations on arrays with the trips as first lane axis, and a sum
along that axis: 8 trips over tiles of 1,024 are arrays of 8 x 1,024. Code is then called once
instead of once a trip. Sums have the order of the trips, as in the loop.
"""

from __future__ import annotations

import math

import numpy as np

from kvtrace.evaluate.plan.affine import Affine
from kvtrace.evaluate.plan.array_functions import ufunc_operation
from kvtrace.evaluate.plan.instructions import (
    Instruction,
    Load,
    Loop,
    Map,
    Operand,
    Reduce,
    Store,
    View,
)
from kvtrace.evaluate.plan.values import Register

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
