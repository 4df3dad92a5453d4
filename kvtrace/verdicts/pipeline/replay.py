"""Whether a fault shows where the TTGIR of a launch is evaluated, with its numbers of trips.

What tensors hold is of no concern: only integers that arguments give, and what is in flight.
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

_SEEN: Final = {READS_EARLY: SEEN_READING, WRITES_EARLY: SEEN_WRITING}
_STEPS: Final = 1 << 17
_LARGE: Final = 4096
_NOTHING: Final = Unknown(frozenset({"what tensors hold, which is of no concern here"}))


def shows(fault: Fault, module: Module, call: Call) -> bool | None:
    """Tell whether a fault shows in an evaluation of a call's TTGIR; None: that cannot be decided.

    It is evaluated with the call's integers, and with large ones in their place where it does not
    show with them: loops may be too short. Evaluated, a buffer that is made in a loop is another
    one in each trip.
    """
    made = [] if fault.view is None else [each.name for each in enclosing_ops(fault.view.buffer)]
    if fault.kind not in _SEEN or not LOOPS.isdisjoint(made):
        return None
    wanted = f"{fault.op.name} at {place(fault.op)} {_SEEN[fault.kind]}"
    found: bool | None = None
    for arguments in _arguments(call):
        try:
            watching = _evaluated(fault, module, arguments, call)
        except (KvtraceError, *UNFIT):  # not all ops are evaluated; nothing is concluded then
            continue
        if wanted in watching.shared.faults:
            return True
        if watching.shared.complete and watching.reached:
            found = False
    return found


def _arguments(call: Call) -> Iterator[tuple[Argument, ...]]:
    yield call.arguments
    yield tuple(
        replace(each, value=max(each.value, _LARGE))
        if isinstance(each, ScalarArgument) and type(each.value) is int and each.value > 1
        else each
        for each in call.arguments
    )


def _evaluated(
    fault: Fault, module: Module, arguments: tuple[Argument, ...], call: Call
) -> _Watching:
    count = prod(call.grid)
    watching = _Watching(fault)
    evaluate(
        module,
        arguments,
        call.grid,
        kernel=call.kernel,
        planned=False,
        instrument=watching,
        programs=np.unique([0, count // 2, count - 1]) if count else np.zeros(0, np.int64),
        most_steps=_STEPS,
    )
    return watching


class _Watching(Instrument):
    """Restricts an evaluation to what decides which operations are in flight."""

    shared: _EmptyShared

    def __init__(self, fault: Fault) -> None:
        super().__init__()
        self._fault = fault
        self._times = 0

    @property
    def reached(self) -> bool:
        """Whether the op at fault ran as often as it takes."""
        return self._times > max(self._fault.trips, default=0)

    def begin(self, launch: Launch, values: list[Any]) -> None:
        """Put memories in place that hold nothing."""
        del values
        self.shared = launch.shared = _EmptyShared(prod(launch.grid))
        launch.memory = _NoMemory(launch.arguments, frozenset())

    def wrapped(self, op: Op, step: Step) -> Step:
        """Leave out what makes tensors."""
        plain = not any(isinstance(value.type, TensorType) for value in (*op.results, *op.operands))
        if op is self._fault.op:
            return self._counted(step)
        if op.regions or act_of(op) is not None or plain:
            return step
        results = tuple(value.id for value in op.results)

        def nothing(values: list[Any], _scope: Scope) -> None:
            for slot in results:
                values[slot] = _NOTHING

        return nothing

    def _counted(self, step: Step) -> Step:
        def counted(values: list[Any], scope: Scope) -> None:
            self._times += 1
            step(values, scope)

        return counted


class _NoMemory(Memory):
    """Memory of which nothing is known, and to which nothing is written."""

    def load(self, *_given: Any) -> Any:
        """Read nothing."""
        return _NOTHING

    def store(self, *_given: Any) -> None:
        """Write nothing."""


class _EmptyShared(SharedMemory):
    """Shared memory of which only what is in flight is known."""

    @property
    def complete(self) -> bool:
        """Whether each op was certain to run, at a place that is known."""
        return self._complete

    def copy(
        self, op: Op, scope: Scope, view: Any, value: Any, type_: ValueType, barrier: Any = None
    ) -> None:
        """Begin a copy of nothing."""
        del value
        super().copy(op, scope, view, _zero(type_), type_, barrier)

    def write(self, op: Op, scope: Scope, view: Any, value: Any, type_: ValueType) -> None:
        """Write nothing to a view."""
        del value
        super().write(op, scope, view, _zero(type_), type_)

    def read(self, op: Op, view: Any) -> Any:
        """See that a view may be read."""
        super().read(op, view)
        return _NOTHING


def _zero(type_: ValueType) -> Any:
    return np.zeros((1,) * (len(type_.shape) + 1), type_.element.value)
