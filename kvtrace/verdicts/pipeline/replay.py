"""Replay of a fault by an evaluation of a launch's TTGIR with its trip counts.

Contents of tensors are not needed: only integers that depend on arguments, and operations in
flight.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.evaluate import ScalarArgument, evaluate
from kvtrace.evaluate.errors import UNFIT
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.memory import Memory
from kvtrace.evaluate.registry import place
from kvtrace.evaluate.shared_memory import READS_EARLY as SEEN_READING
from kvtrace.evaluate.shared_memory import WRITES_EARLY as SEEN_WRITING
from kvtrace.evaluate.shared_memory import SharedMemory
from kvtrace.evaluate.values import Unknown
from kvtrace.ir.asynchronous import act_of
from kvtrace.ir.flow import enclosing_ops
from kvtrace.ir.ops import LOOPS
from kvtrace.ir.types import TensorType
from kvtrace.schema.errors import KvtraceError
from kvtrace.verdicts.pipeline.faults import READS_EARLY, WRITES_EARLY, Fault

if TYPE_CHECKING:
    from kvtrace.evaluate import Argument
    from kvtrace.evaluate.registry import Step
    from kvtrace.evaluate.scope import Launch, Scope
    from kvtrace.evaluate.types import ValueType
    from kvtrace.ir import Module, Op
    from kvtrace.recorded_calls.recorded import Call

_FAULT_TEXTS: Final = {READS_EARLY: SEEN_READING, WRITES_EARLY: SEEN_WRITING}
_MAX_STEPS: Final = 1 << 17
_LARGE_INTEGER: Final = 4096
_UNKNOWN_CONTENTS: Final = Unknown(frozenset({"the contents of tensors, which are not needed"}))


def occurs_in(fault: Fault, module: Module, call: Call) -> bool | None:
    """Return whether a fault occurs in an evaluation of a call's TTGIR, None if undecided.

    The call's integers are used first, then large integers, as the call's loops may be too short.
    Undecided if the buffer is allocated in a loop: an evaluation makes a new one in each trip.
    """
    parents = (
        [] if fault.view is None else [parent.name for parent in enclosing_ops(fault.view.buffer)]
    )
    if fault.kind not in _FAULT_TEXTS or not LOOPS.isdisjoint(parents):
        return None
    description = f"{fault.op.name} at {place(fault.op)} {_FAULT_TEXTS[fault.kind]}"
    result: bool | None = None
    for arguments in _arguments(call):
        try:
            replay = _evaluated(fault, module, arguments, call)
        except (KvtraceError, *UNFIT):  # not all ops are evaluated; nothing is concluded then
            continue
        if description in replay.shared.faults:
            return True
        if replay.shared.complete and replay.has_reached_fault:
            result = False
    return result


def _arguments(call: Call) -> Iterator[tuple[Argument, ...]]:
    yield call.arguments
    yield tuple(
        replace(argument, value=max(argument.value, _LARGE_INTEGER))
        if isinstance(argument, ScalarArgument)
        and type(argument.value) is int
        and argument.value > 1
        else argument
        for argument in call.arguments
    )


def _evaluated(
    fault: Fault, module: Module, arguments: tuple[Argument, ...], call: Call
) -> _Replay:
    count = prod(call.grid)
    replay = _Replay(fault)
    evaluate(
        module,
        arguments,
        call.grid,
        kernel=call.kernel,
        planned=False,
        instrument=replay,
        programs=np.unique([0, count // 2, count - 1]) if count else np.zeros(0, np.int64),
        most_steps=_MAX_STEPS,
    )
    return replay


class _Replay(Instrument):
    """An instrument that evaluates only the ops that affect which operations are in flight."""

    shared: _EmptyShared

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self._fault = fault
        self._executions = 0

    @property
    def has_reached_fault(self) -> bool:
        """Whether the replay has reached the trip at which the op is at fault."""
        return self._executions > max(self._fault.trips, default=0)

    def begin(self, launch: Launch, values: list[Any]) -> None:
        """Replace the launch's memories by memories without contents."""
        del values
        self.shared = launch.shared = _EmptyShared(prod(launch.grid))
        launch.memory = _NoMemory(launch.arguments, frozenset())

    def wrapped(self, op: Op, step: Step) -> Step:
        """Replace ops that compute tensors by steps that set unknown results."""
        has_no_tensor = not any(
            isinstance(value.type, TensorType) for value in (*op.results, *op.operands)
        )
        if op is self._fault.op:
            return self._counted(step)
        if op.regions or act_of(op) is not None or has_no_tensor:
            return step
        results = tuple(value.id for value in op.results)

        def nothing(values: list[Any], _scope: Scope) -> None:
            for value_id in results:
                values[value_id] = _UNKNOWN_CONTENTS

        return nothing

    def _counted(self, step: Step) -> Step:
        def counted(values: list[Any], scope: Scope) -> None:
            self._executions += 1
            step(values, scope)

        return counted


class _NoMemory(Memory):
    """A memory with unknown contents that ignores stores."""

    def load(self, *_given: Any) -> Any:
        """Return an unknown value."""
        return _UNKNOWN_CONTENTS

    def store(self, *_given: Any) -> None:
        """Ignore a store."""


class _EmptyShared(SharedMemory):
    """Shared memory without contents that only tracks operations in flight."""

    @property
    def complete(self) -> bool:
        """Whether each op surely ran at a known address."""
        return self._complete

    def copy(
        self, op: Op, scope: Scope, view: Any, value: Any, type_: ValueType, barrier: Any = None
    ) -> None:
        """Begin a copy of zeros."""
        del value
        super().copy(op, scope, view, _zero(type_), type_, barrier)

    def write(self, op: Op, scope: Scope, view: Any, value: Any, type_: ValueType) -> None:
        """Write zeros to a view."""
        del value
        super().write(op, scope, view, _zero(type_), type_)

    def read(self, op: Op, view: Any) -> Any:
        """Check that a view may be read, and return an unknown value."""
        super().read(op, view)
        return _UNKNOWN_CONTENTS


def _zero(type_: ValueType) -> Any:
    return np.zeros((1,) * (len(type_.shape) + 1), type_.element.value)
