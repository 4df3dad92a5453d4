"""Single ops' values in an evaluation: what replays witnesses that are not memory accesses."""

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
"""Returns where the numbers (programs, *block) of a value are what is looked for, as Booleans."""


@dataclass(frozen=True)
class Sighting:
    """Where a value was first seen to be what is looked for."""

    program: tuple[int, int, int]
    iteration: int
    lane: tuple[int, ...]
    number: int


class Found(Exception):
    """The value was seen: no need to continue."""


class ValueWatch(Instrument):
    """Looks at a value whenever an op runs that takes or gives it.

    Pointers are seen as byte offsets from their argument's data pointer. `sighting` is where `test`
    was first true; evaluation ends there. `hidden`: not all of it was
    seen, since it depends on contents that were not recorded.
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
        given = any(value is self._value for value in op.operands)

        def watched(values: list[Any], scope: Any) -> None:
            if given:
                self._look(values[slot], type_, scope)
            step(values, scope)
            if not given:
                self._look(values[slot], type_, scope)

        return watched

    def _look(self, value: Any, type_: Any, scope: Any) -> None:
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
        raise Found


def _offsets_of(type_: Type) -> Type:
    """Return the type of pointers' byte offsets."""
    offset = IntegerType(64)
    return TensorType(type_.shape, offset) if isinstance(type_, TensorType) else offset


def completed(bound: BoundCall, model: Point, term: Term) -> dict[Symbol | Opaque, int]:
    """Return a point with a number for all symbols of a term: any for those it leaves out."""
    point = dict(model)
    for atom in term.atoms():
        if isinstance(atom, Symbol) and atom not in point:
            point[atom] = bound.ranges.of(atom)[0]
    return point


def evaluated(
    bound: BoundCall, instrument: Instrument, programs: Sequence[int] | None = None
) -> str | None:
    """Evaluate programs (linear ids; None: all) with an instrument, within the call's budget.

    Returns the reason if the end was not reached.
    """
    lanes = bound.budget.lanes if programs is None else bound.budget.replay_lanes
    try:
        return run(bound.call, (), programs, lanes=lanes, instrument=instrument)
    except Found:
        return None
