"""Showing what undefined lanes change: one program run twice, with other numbers in them.

Where contents were not recorded there are made-up ones, which is right for what hangs on none.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from math import nan
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.evaluate import Argument, Storage, TensorArgument, evaluate
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Pointer, PointerChoice, Unknown, full_array
from kvtrace.ir import Op
from kvtrace.ir.types import IntegerType, TensorType, Type
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.taint import leaves_lanes, operand_counts
from kvtrace.verdicts.replaying import _Limit as Limit
from kvtrace.verdicts.replaying import untouched

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step
    from kvtrace.ir import Value
    from kvtrace.verdicts.binding import BoundCall

_PATTERN_BYTES: Final = 1 << 26
"""Larger made-up tensors are all zero: those cost nothing until they are touched."""

#: A run ends after so many lanes: that of a program is nearly always shorter, and a whole grid is
#: run only if it is known to be.
_MOST_LANES: Final = 1 << 25

_FILLS: Final = ((0.0, 100.0), (0.0, nan))
_NOT_SHOWN: Final = "other numbers in these lanes change nothing when it is run"


@dataclass(frozen=True)
class Difference:
    """Where a value first came out differently: program, trip of the innermost loop, lane."""

    program: tuple[int, int, int]
    iteration: int
    lane: tuple[int, ...]


@dataclass(frozen=True)
class _Seen:
    programs: Any
    grid: tuple[int, int, int]
    iterations: Any
    numbers: Any
    mask: Any


class _Filled(Instrument):
    """Puts a number into lanes that loads leave without one, and looks at an operand."""

    def __init__(self, fill: float, op: Op, value: Value, mask: Value | None) -> None:
        super().__init__()
        self._fill, self._op, self._value, self._mask = fill, op, value, mask
        self.seen: list[_Seen] = []

    def wrapped(self, op: Op, step: Step) -> Step:
        """Stand around loads, and around the op that is looked at."""
        if leaves_lanes(op) and operand_counts(op)[1]:
            step = self._filling(op, step)
        return self._looking(step) if op is self._op else step

    def _filling(self, op: Op, step: Step) -> Step:
        mask, result = op.operands[1], op.results[0]
        type_ = value_type(result.type)
        if type_.pointer:
            return step

        def filled(values: list[Any], scope: Any) -> None:
            step(values, scope)
            loaded, active = values[result.id], values[mask.id]
            if isinstance(loaded, Unknown) or isinstance(active, Unknown):
                return
            numbers = full_array(loaded, type_)
            on = full_array(active, value_type(mask.type))
            values[result.id] = np.where(on, numbers, _as(self._fill, numbers.dtype))

        return filled

    def _looking(self, step: Step) -> Step:
        value, mask = self._value, self._mask
        given = any(each is value for each in self._op.operands)

        def looked(values: list[Any], scope: Any) -> None:
            if given:
                self._look(values, value, mask, scope)
            step(values, scope)
            if not given:
                self._look(values, value, mask, scope)

        return looked

    def _look(self, values: list[Any], value: Value, mask: Value | None, scope: Any) -> None:
        numbers = _numbers(values[value.id], value.type)
        on = None if mask is None else _numbers(values[mask.id], mask.type)
        trips = np.broadcast_to(np.asarray(scope.iteration), len(scope.linear))
        grid = scope.launch.grid
        self.seen.append(_Seen(scope.linear, grid, trips, numbers, True if on is None else on))


def _as(fill: float, dtype: Any) -> Any:
    if np.issubdtype(dtype, np.inexact):
        return np.asarray(fill, dtype)
    return np.asarray(0 if fill != fill else int(fill), dtype)


def _numbers(value: Any, type_: Type) -> Any:
    """Give an array of a value; None if it is not known. Pointers are their byte offsets."""
    if isinstance(value, Pointer):
        value = value.offset
        offset = IntegerType(64)
        type_ = TensorType(type_.shape, offset) if isinstance(type_, TensorType) else offset
    if isinstance(value, Unknown | PointerChoice):
        return None
    return np.array(full_array(value, value_type(type_)))


def difference(
    bound: BoundCall, op: Op, value: Value, mask: Value | None, program: int | None
) -> Difference | str:
    """Run a program (None: all) with different numbers in undefined lanes; give where it shows.

    `value` is an operand of the op, or its result; of an operand only lanes where `mask` is on
    count. Gives the reason in words where no difference is seen.
    """
    reason = _NOT_SHOWN
    for one, other in _FILLS:
        one_look, other_look = (_Filled(fill, op, value, mask) for fill in (one, other))
        first, second = (_run(bound, look, program) for look in (one_look, other_look))
        for looked in (first, second):
            if looked is not None:
                reason = looked
        found = _first_difference(one_look.seen, other_look.seen)
        if found is not None:
            return found
    return reason


def _run(bound: BoundCall, filled: _Filled, program: int | None) -> str | None:
    """Evaluate; give the reason in words where the end was not reached."""
    call = bound.call
    try:
        arguments = with_contents(call.arguments)
        evaluate(
            call.module,
            arguments,
            call.grid,
            observers=(Limit(_MOST_LANES),),
            kernel=call.kernel,
            programs=None if program is None else np.array([program], np.int64),
            instrument=filled,
        )
    except KvtraceError as error:
        return str(error)
    except MemoryError:
        return "its tensors are too large for a run"
    return None


def _first_difference(first: Iterable[_Seen], second: Iterable[_Seen]) -> Difference | None:
    for one, other in zip(first, second, strict=False):
        if one.numbers is None or other.numbers is None or one.mask is None:
            continue
        a, b = np.broadcast_arrays(one.numbers, other.numbers)
        differs = a != b
        if np.issubdtype(a.dtype, np.inexact):
            differs = differs & ~(np.isnan(a) & np.isnan(b))
        places = np.argwhere(differs & one.mask)
        if len(places):
            first_place, *lane = map(int, places[0])
            return _difference(one, first_place, tuple(lane))
    return None


def _difference(seen: _Seen, place: int, lane: tuple[int, ...]) -> Difference:
    program = int(seen.programs[place])
    x, y, _ = seen.grid
    return Difference(
        (program % x, program // x % y, program // (x * y)), int(seen.iterations[place]), lane
    )


def with_contents(arguments: Iterable[Argument]) -> tuple[Argument, ...]:
    """Give arguments that all have contents: recorded ones (not written to), else made-up ones.

    Floats are small and not zero, integers zero, which is a place in any tensor.
    """
    made: dict[int, Storage] = {}
    shown = untouched(tuple(arguments))
    room = _PATTERN_BYTES
    for argument in shown:
        if not isinstance(argument, TensorArgument) or argument.storage.data is not None:
            continue
        storage = argument.storage
        if id(storage) in made:
            continue
        data = np.zeros(storage.nbytes, np.uint8)
        if argument.element.kind == "f" and storage.nbytes <= room:
            room -= storage.nbytes
            memory = np.dtype(argument.element.memory)
            count = storage.nbytes // memory.itemsize
            pattern = _pattern(argument, count)
            data[: count * memory.itemsize] = pattern.view(np.uint8)
        made[id(storage)] = Storage(storage.nbytes, data)
    return tuple(
        replace(argument, storage=made[id(argument.storage)])
        if isinstance(argument, TensorArgument) and id(argument.storage) in made
        else argument
        for argument in shown
    )


def _pattern(argument: TensorArgument, count: int) -> Any:
    from kvtrace.evaluate.numerics import to_memory

    numbers = np.resize(np.array([1, 2, 3, 4], argument.element.value), count)
    return np.ascontiguousarray(to_memory(numbers, argument.element))
