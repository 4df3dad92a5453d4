"""Values that select parts of buffers and phases: in a state, of ops, and counters of loops."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from kvtrace.evaluate.compiler import compiled
from kvtrace.evaluate.errors import UNFIT
from kvtrace.evaluate.scope import Launch, Scope
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Unknown, constant_sum, to_array
from kvtrace.ir import Module, Op, Value
from kvtrace.ir.constants import constant_of
from kvtrace.ir.types import IndexType, IntegerType
from kvtrace.schema.errors import KvtraceError
from kvtrace.verdicts.pipeline.state import Known, State


@dataclass(frozen=True, slots=True)
class Counter:
    """The counter of a loop: its value's id, start, end (excluded) and step."""

    value_id: int
    first: int
    end: int
    step: int

    def is_over(self, state: State) -> bool:
        """Return whether the loop ends, in a state at its head."""
        return self._number(state) >= self.end

    def after(self, state: State) -> int:
        """Return the counter's number in the next trip."""
        return self._number(state) + self.step

    def _number(self, state: State) -> int:
        number = state.values[self.value_id]
        assert isinstance(number, int)
        return number


def known_value(value: Value, state: State) -> Known | None:
    """Return the integer, view or operation in flight that a value has; None if it is unknown."""
    known = state.values.get(value.id)
    if known is not None:
        return known
    if not isinstance(value.type, IntegerType | IndexType):
        return None
    constant = constant_of(value)
    return None if constant is None else int(constant)


def known_integer(op: Op, name: str, state: State) -> int | None:
    """Return the integer that an operand has in a state; None if it is unknown, or absent."""
    value = op.optional(name)
    integer = None if value is None else known_value(value, state)
    return integer if isinstance(integer, int) else None


def copy_values(
    state: State, sources: Iterable[Value], targets: Iterable[Value], source: State
) -> None:
    """Set values of `state` to values of `source`, all at once."""
    numbers = [known_value(value, source) for value in sources]
    for number, value in zip(numbers, targets, strict=False):
        if number is None:
            state.values.pop(value.id, None)
        else:
            state.values[value.id] = number


class Numbers:
    """Results of integer ops, computed by the evaluator and cached."""

    def __init__(self, module: Module) -> None:
        self._compiler = compiled(module, observed=False)
        self._scope = Scope(Launch("", (1, 1, 1), (), ()), np.zeros(1, np.int64))
        self._results: dict[tuple[int, tuple[int, ...]], int | None] = {}

    def of(self, op: Op, operands: list[int]) -> int | None:
        """Return the result of an op on integers, None if it is unknown."""
        key = (op.index, tuple(operands))
        if key not in self._results:
            self._results[key] = self._compute(op, operands)
        return self._results[key]

    def _compute(self, op: Op, operands: list[int]) -> int | None:
        values = {
            value.id: bool(number) if str(value.type) == "i1" else constant_sum(number)
            for value, number in zip(op.operands, operands, strict=True)
        }
        result = op.results[0]
        if not op.operands or not isinstance(result.type, IntegerType | IndexType):
            return None
        try:
            self._compiler.step(op)(values, self._scope)  # type: ignore[arg-type]
            value_ = values[result.id]
            if isinstance(value_, Unknown):
                return None
            return int(to_array(value_, value_type(result.type)).reshape(-1)[0])
        except (KvtraceError, *UNFIT):
            return None
