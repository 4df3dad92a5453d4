"""Evaluations without contents, which follow only what operations are in flight."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Final, Generic, TypeVar

import numpy as np

from kvtrace.evaluate import Argument, evaluate
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.memory import Memory
from kvtrace.evaluate.registry import Step
from kvtrace.evaluate.scope import Launch, Scope
from kvtrace.evaluate.shared_memory import SharedMemory
from kvtrace.evaluate.types import ValueType
from kvtrace.evaluate.values import Unknown
from kvtrace.ir import Module, Op
from kvtrace.ir.types import SharedType, TensorType
from kvtrace.recorded_calls.recorded import Call

_MAX_STEPS: Final = 1 << 17
_UNKNOWN_CONTENTS: Final = Unknown(frozenset({"the contents of tensors, which are not needed"}))


def _without_tensors(op: Op, step: Step) -> Step:
    """Return an op's step; of an op that only computes tensors, one that sets unknown results."""
    types = [value.type for value in (*op.results, *op.operands)]
    has_tensor = any(isinstance(type_, TensorType) for type_ in types)
    if op.regions or not has_tensor or any(isinstance(type_, SharedType) for type_ in types):
        return step
    results = tuple(value.id for value in op.results)

    def nothing(values: list[Any], _scope: Scope) -> None:
        for value_id in results:
            values[value_id] = _UNKNOWN_CONTENTS

    return nothing


class _NoMemory(Memory):
    """A memory with unknown contents that ignores stores."""

    def load(self, *_given: Any) -> Any:
        """Return an unknown value."""
        return _UNKNOWN_CONTENTS

    def store(self, *_given: Any) -> None:
        """Ignore a store."""


class EmptyShared(SharedMemory):
    """Shared memory without contents that only tracks operations in flight."""

    def copy(
        self, op: Op, scope: Scope, view: Any, value: Any, type_: ValueType, *until: Any
    ) -> None:
        """Begin a copy of zeros."""
        del value
        super().copy(op, scope, view, _zero(type_), type_, *until)

    def write(
        self, op: Op, scope: Scope, view: Any, value: Any, type_: ValueType, kind: str = ""
    ) -> None:
        """Write zeros to a view."""
        del value
        super().write(op, scope, view, _zero(type_), type_, kind)

    def read(self, op: Op, view: Any, kind: str = "") -> Any:
        """Check that a view may be read, and return an unknown value."""
        super().read(op, view, kind)
        return _UNKNOWN_CONTENTS


def _zero(type_: ValueType) -> Any:
    return np.zeros((1,) * (len(type_.shape) + 1), type_.element.value)


_Shared = TypeVar("_Shared", bound=EmptyShared)


class Contentless(Instrument, Generic[_Shared]):
    """An instrument that evaluates only the ops that affect which operations are in flight."""

    def __init__(self, new_memory: Callable[[int], _Shared]) -> None:
        """Prepare for `run`; `new_memory` returns the shared memories of so many programs."""
        super().__init__()
        self._new_memory, self.shared = new_memory, new_memory(0)

    def begin(self, launch: Launch, values: list[Any]) -> None:
        """Replace the launch's memories by memories without contents."""
        del values
        self.shared = launch.shared = self._new_memory(prod(launch.grid))
        launch.memory = _NoMemory(launch.arguments, frozenset())

    def wrapped(self, op: Op, step: Step) -> Step:
        """Replace ops that compute tensors by steps that set unknown results."""
        return _without_tensors(op, step)

    def run(self, module: Module, call: Call, arguments: Sequence[Argument]) -> None:
        """Evaluate the first, the middle and the last program of a call, with other arguments."""
        count = prod(call.grid)
        evaluate(
            module, arguments, call.grid, kernel=call.kernel, instrument=self,
            programs=np.unique([0, count // 2, count - 1]) if count else np.zeros(0, np.int64),
            most_steps=_MAX_STEPS,
        )  # fmt: skip
