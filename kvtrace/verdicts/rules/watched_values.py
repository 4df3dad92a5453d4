"""Evaluations that end at the first place where an op breaks a rule, to replay witnesses."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final, TypeVar

import numpy as np

from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.registry import Step
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Pointer, PointerChoice, Unknown, full_array
from kvtrace.ir import Op, Value
from kvtrace.ir.types import IntegerType, TensorType, Type
from kvtrace.symbolic.prover import Decision, Refuted
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.replaying import run, witness_at
from kvtrace.verdicts.verdict import Witness

_TOO_LARGE: Final = "no formula decides it, and the grid is too large to run"
_HIDDEN: Final = "it depends on contents that were not recorded"

Test = Callable[[Any], Any]
"""A function from a value's numbers (programs, *block) to Booleans, true where they match."""


class Sighted(Exception):
    """The exception that ends an evaluation once its watch has a witness."""


class Watch(Instrument):
    """An instrument that tests numbers of an op whenever it runs.

    `witness` is the first place where they break the rule; evaluation ends there. `hidden`: some
    were not tested, as they depend on contents that were not recorded.
    """

    def __init__(self, op: Op) -> None:
        super().__init__()
        self._op = op
        self.witness: Witness | None = None
        self.hidden = False

    def end_at(self, scope: Any, row: int, lane: Sequence[int] | None) -> None:
        """Record the witness in a row of a batch of programs, and end the evaluation."""
        self.witness = witness_at(scope, row, lane)
        raise Sighted


class ValueWatch(Watch):
    """A watch of a value that the op uses or computes; `number` is the value at the witness.

    Pointers are tested as byte offsets from the argument's data pointer. `test` is true where the
    value breaks the rule, in lanes where `mask` is true.
    """

    def __init__(self, op: Op, value: Value, test: Test, mask: Value | None = None) -> None:
        super().__init__(op)
        self._value, self._test, self._mask = value, test, mask
        self.number = 0

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap the op so that the value is tested."""
        return inspecting(op, self._value, step, self._inspect) if op is self._op else step

    def _inspect(self, values: list[Any], scope: Any) -> None:
        value = values[self._value.id]
        numbers = numbers_of(value, self._value.type) if scope.certain else None
        mask = self._mask
        active: Any = np.True_ if mask is None else numbers_of(values[mask.id], mask.type)
        if numbers is None or active is None:
            self.hidden = True
            return
        active = active.any(axis=tuple(range(numbers.ndim, active.ndim)))  # of one number
        positions = np.argwhere(self._test(numbers) & active)
        if len(positions):
            row, *lane = map(int, positions[0])
            self.number = int(numbers[tuple(positions[0])])
            self.end_at(scope, row, lane)


def inspecting(op: Op, value: Value, step: Step, inspect: Step) -> Step:
    """Return a step that inspects a value, before the op where it is an operand, else after it."""
    is_operand = any(operand is value for operand in op.operands)
    first, second = (inspect, step) if is_operand else (step, inspect)

    def inspected(values: list[Any], scope: Any) -> None:
        first(values, scope)
        second(values, scope)

    return inspected


def numbers_of(value: Any, type_: Type) -> Any:
    """Return the numbers of an evaluated value, of pointers their offsets; None if unknown."""
    if isinstance(value, Pointer):
        value, offset = value.offset, IntegerType(64)
        type_ = TensorType(type_.shape, offset) if isinstance(type_, TensorType) else offset
    if isinstance(value, Unknown | PointerChoice):
        return None
    return full_array(value, value_type(type_))


def evaluated(
    bound: BoundCall, instrument: Instrument, programs: Sequence[int] | None = None,
    contents: str = "integers",
) -> str | None:  # fmt: skip
    """Evaluate programs (linear ids; None: all) with an instrument, within the call's budget.

    Returns the reason if the evaluation ended early without a witness, else None.
    """
    lanes = bound.budget.lanes if programs is None else bound.budget.replay_lanes
    try:
        return run(bound.call, (), programs, contents=contents, lanes=lanes, instrument=instrument)
    except Sighted:
        return None


_W = TypeVar("_W", bound=Watch)


def watched(
    bound: BoundCall,
    make_watch: Callable[[], _W],
    decision: Decision | None,
    contents: str = "integers",
) -> tuple[_W, str, str | None]:
    """Return a watch after a run of a certain counterexample's program, or else of all programs.

    Also returns the method, and why the rule is undecided without a witness; None: it is proven.
    """
    watch = make_watch()
    if isinstance(decision, Refuted) and not bound.doubts(decision.model):
        evaluated(bound, watch, (bound.program_of(decision.model),), contents)
        if watch.witness is not None:
            return watch, decision.method, None
    if bound.lanes > bound.budget.lanes:
        return watch, "evaluated", _TOO_LARGE
    watch = make_watch()
    failure = evaluated(bound, watch, None, contents)
    is_hidden = watch.hidden and watch.witness is None
    return watch, "evaluated", failure or (_HIDDEN if is_hidden else None)
