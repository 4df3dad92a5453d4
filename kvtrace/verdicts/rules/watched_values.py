"""Observation of a single op's value in an evaluation, to replay witnesses without an access."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.registry import Step
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Pointer, PointerChoice, Unknown, full_array
from kvtrace.ir import Op, Value
from kvtrace.ir.types import IntegerType, TensorType, Type
from kvtrace.symbolic.conditions import Opaque
from kvtrace.symbolic.prover import Point
from kvtrace.symbolic.terms import Symbol, Term
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.replaying import program_at, run

Test = Callable[[Any], Any]
"""A function from a value's numbers (programs, *block) to Booleans, true where they match."""


@dataclass(frozen=True)
class Sighting:
    """The first place where a value's number passed a test, with the number."""

    program: tuple[int, int, int]
    iteration: int
    lane: tuple[int, ...]
    number: int


class Sighted(Exception):
    """The exception that ends an evaluation once its watch has a sighting."""


class ValueWatch(Instrument):
    """An instrument that tests a value whenever an op runs that uses or computes it.

    Pointers are tested as byte offsets from the argument's data pointer. `sighting` is the first
    place where `test` was true; evaluation ends there. `hidden`: some numbers were not tested, as
    they depend on contents that were not recorded.
    """

    def __init__(self, op: Op, value: Value, test: Test) -> None:
        super().__init__()
        self._op, self._value, self._test = op, value, test
        self.sighting: Sighting | None = None
        self.hidden = False

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap the op so that the value is tested."""
        if op is not self._op:
            return step
        value_id, type_ = self._value.id, value_type(self._value.type)
        is_operand = any(value is self._value for value in op.operands)

        def watched(values: list[Any], scope: Any) -> None:
            if is_operand:
                self._inspect(values[value_id], type_, scope)
            step(values, scope)
            if not is_operand:
                self._inspect(values[value_id], type_, scope)

        return watched

    def _inspect(self, value: Any, type_: Any, scope: Any) -> None:
        if isinstance(value, Pointer):
            value, type_ = value.offset, value_type(_offset_type(self._value.type))
        if isinstance(value, Unknown | PointerChoice) or not scope.certain:
            self.hidden = True
            return
        numbers = full_array(value, type_)
        positions = np.argwhere(self._test(numbers))
        if not len(positions):
            return
        program_index, *lane = map(int, positions[0])
        program = int(scope.linear[program_index])
        trips = np.broadcast_to(np.asarray(scope.iteration), len(scope.linear))
        self.sighting = Sighting(
            program_at(program, scope.launch.grid),
            int(trips[program_index]),
            tuple(lane),
            int(numbers[tuple(positions[0])]),
        )
        raise Sighted


def _offset_type(type_: Type) -> Type:
    """Return the type of the byte offsets of pointers of a type."""
    offset = IntegerType(64)
    return TensorType(type_.shape, offset) if isinstance(type_, TensorType) else offset


def completed(bound: BoundCall, model: Point, term: Term) -> dict[Symbol | Opaque, int]:
    """Return a point extended to all symbols of a term, each with its smallest value."""
    point = dict(model)
    for atom in term.atoms():
        if isinstance(atom, Symbol) and atom not in point:
            point[atom] = bound.ranges.of(atom)[0]
    return point


def evaluated(
    bound: BoundCall, instrument: Instrument, programs: Sequence[int] | None = None
) -> str | None:
    """Evaluate programs (linear ids; None: all) with an instrument, within the call's budget.

    Returns the reason if the evaluation ended early without a sighting, else None.
    """
    lanes = bound.budget.lanes if programs is None else bound.budget.replay_lanes
    try:
        return run(bound.call, (), programs, lanes=lanes, instrument=instrument)
    except Sighted:
        return None
