"""Observation of single ops' values in an evaluation, to replay witnesses without an access."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Pointer, PointerChoice, Unknown, full_array
from kvtrace.ir.types import IntegerType, TensorType, Type
from kvtrace.symbolic.conditions import Opaque
from kvtrace.symbolic.prover import Point
from kvtrace.symbolic.terms import Symbol, Term
from kvtrace.verdicts.replaying import program_at, run

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step
    from kvtrace.ir import Op, Value
    from kvtrace.verdicts.binding import BoundCall

Test = Callable[[Any], Any]
"""Function of a value's numbers (programs, *block) that returns Booleans: true where they match."""


@dataclass(frozen=True)
class Sighting:
    """First place where a value's number passed a test."""

    program: tuple[int, int, int]
    iteration: int
    lane: tuple[int, ...]
    number: int


class Sighted(Exception):
    """Ends an evaluation whose watch has its sighting."""


class ValueWatch(Instrument):
    """Tests a value whenever an op runs that has it as an operand or a result.

    Pointers are tested as byte offsets from their argument's data pointer. `sighting` is the first
    place where `test` was true; evaluation ends there. `hidden`: some numbers were not tested, as
    they depend on contents that were not recorded.
    """

    def __init__(self, op: Op, value: Value, test: Test) -> None:
        super().__init__()
        self._op, self._value, self._test = op, value, test
        self.sighting: Sighting | None = None
        self.hidden = False

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap the op."""
        if op is not self._op:
            return step
        slot, type_ = self._value.id, value_type(self._value.type)
        is_operand = any(value is self._value for value in op.operands)

        def watched(values: list[Any], scope: Any) -> None:
            if is_operand:
                self._inspect(values[slot], type_, scope)
            step(values, scope)
            if not is_operand:
                self._inspect(values[slot], type_, scope)

        return watched

    def _inspect(self, value: Any, type_: Any, scope: Any) -> None:
        if isinstance(value, Pointer):
            value, type_ = value.offset, value_type(_offsets_of(self._value.type))
        if isinstance(value, Unknown | PointerChoice) or not scope.certain:
            self.hidden = True
            return
        numbers = full_array(value, type_)
        places = np.argwhere(self._test(numbers))
        if not len(places):
            return
        first, *lane = map(int, places[0])
        program = int(scope.linear[first if len(scope.linear) > 1 else 0])
        trips = np.broadcast_to(np.asarray(scope.iteration), len(scope.linear))
        self.sighting = Sighting(
            program_at(program, scope.launch.grid),
            int(trips[first if len(trips) > 1 else 0]),
            tuple(lane),
            int(numbers[tuple(places[0])]),
        )
        raise Sighted


def _offsets_of(type_: Type) -> Type:
    """Return the type of pointers' byte offsets."""
    offset = IntegerType(64)
    return TensorType(type_.shape, offset) if isinstance(type_, TensorType) else offset


def completed(bound: BoundCall, model: Point, term: Term) -> dict[Symbol | Opaque, int]:
    """Return a point extended to all symbols of a term, each by its least number."""
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
