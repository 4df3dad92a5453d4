"""Effects of undefined lanes: a program is run twice, with different numbers in these lanes.

Tensors whose contents were not recorded get made-up contents, which is valid for values that depend
on no contents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from math import nan, prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.evaluate import Argument, Storage, TensorArgument, evaluate
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.scope import MOST_STEPS
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Pointer, PointerChoice, Unknown, full_array
from kvtrace.ir import Op
from kvtrace.ir.ops import ELEMENTWISE
from kvtrace.ir.types import IntegerType, TensorType, Type
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.taint import leaves_lanes
from kvtrace.verdicts.replaying import Limit, program_at, read_only_arguments

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step
    from kvtrace.ir import Value
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.verdicts.binding import BoundCall

_PATTERN_BYTES: Final = 1 << 26
"""Larger made-up tensors are all zero: zero pages cost nothing until they are accessed."""

#: A run ends after so many lanes. One program nearly always takes fewer, and a whole grid is run
#: only if it is known to take fewer.
_MOST_LANES: Final = 1 << 25

_SCATTERED: Final = None
"""A different number in every lane of every load: equal numbers might cancel out."""

_FILLS: Final = ((0.0, 100.0), (0.0, nan), (0.0, _SCATTERED))


@dataclass(frozen=True)
class Difference:
    """First place where a value differs: program, trip of the innermost loop, lane."""

    program: tuple[int, int, int]
    iteration: int
    lane: tuple[int, ...]


@dataclass(frozen=True)
class _Snapshot:
    programs: Any
    grid: tuple[int, int, int]
    iterations: Any
    numbers: Any
    mask: Any


@dataclass(frozen=True)
class Look:
    """An observed operand or result of an op; of an operand only the lanes of `mask` count."""

    op: Op
    value: Value
    mask: Value | None


class _LaneFiller(Instrument):
    """Puts a number into undefined lanes of loads, and records the observed values."""

    def __init__(self, fill: float | None, looks: Iterable[Look]) -> None:
        super().__init__()
        self._fill = fill
        self._fill_count = 0
        self._masks: dict[int, Value] = {}
        self.snapshots: dict[Look, list[_Snapshot]] = {look: [] for look in looks}

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap loads and the observed ops."""
        mask = op.optional("mask") if leaves_lanes(op) else None
        if mask is not None:
            self._masks[op.results[0].id] = mask
            step = filling_masked(op, mask, step, self._numbers)
        elif self._fill is _SCATTERED and (mask := self._merged_mask(op)) is not None:
            step = filling_masked(op, mask, step, self._numbers)
        for look in self.snapshots:
            if look.op is op:
                step = self._looking(look, step)
        return step

    def _merged_mask(self, op: Op) -> Value | None:
        """Return the mask of a load that both operands of an op are, else None.

        The compiler may have merged two loads of one place, whose undefined lanes may differ.
        """
        operands = {value.id for value in op.operands}
        if op.name not in ELEMENTWISE or len(op.operands) != 2 or len(operands) != 1:
            return None
        return self._masks.get(operands.pop()) if len(op.results) == 1 else None

    def _numbers(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return the numbers for undefined lanes; each fits into 8 bits."""
        if self._fill is not _SCATTERED:
            return _as(self._fill, dtype)
        self._fill_count += 1
        indices = np.arange(prod(shape), dtype=np.int64).reshape(shape)
        numbers = 100 + (11 * self._fill_count + 5 * indices) % 27
        return (numbers % 2 if dtype.kind == "b" else numbers).astype(dtype)

    def _looking(self, look: Look, step: Step) -> Step:
        is_operand = any(operand is look.value for operand in look.op.operands)

        def observed(values: list[Any], scope: Any) -> None:
            if is_operand:
                self._record(look, values, scope)
            step(values, scope)
            if not is_operand:
                self._record(look, values, scope)

        return observed

    def _record(self, look: Look, values: list[Any], scope: Any) -> None:
        numbers = _numbers(values[look.value.id], look.value.type)
        mask = look.mask
        on = True if mask is None else _numbers(values[mask.id], mask.type)
        trips = np.broadcast_to(np.asarray(scope.iteration), len(scope.linear))
        snapshot = _Snapshot(scope.linear, scope.launch.grid, trips, numbers, on)
        self.snapshots[look].append(snapshot)


def filling_masked(
    op: Op, mask: Value, step: Step, numbers_of: Callable[[tuple[int, ...], Any], Any]
) -> Step:
    """Return a step that also puts numbers, by shape and dtype, into masked-off result lanes."""
    result = op.results[0]
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
        values[result.id] = np.where(on, numbers, numbers_of(numbers.shape, numbers.dtype))

    return filled


def _as(fill: float, dtype: Any) -> Any:
    if np.issubdtype(dtype, np.inexact):
        return np.asarray(fill, dtype)
    return np.asarray(0 if fill != fill else int(fill), dtype)


def _numbers(value: Any, type_: Type) -> Any:
    """Return the array of a value (of a pointer, its byte offsets), or None if it is unknown."""
    if isinstance(value, Pointer):
        value = value.offset
        offset = IntegerType(64)
        type_ = TensorType(type_.shape, offset) if isinstance(type_, TensorType) else offset
    if isinstance(value, Unknown | PointerChoice):
        return None
    return np.array(full_array(value, value_type(type_)))


Numbers = Sequence[float] | None


def small_numbers(argument: TensorArgument) -> Numbers:
    """Return small nonzero floats; for integers zeros, as 0 is an index into any tensor."""
    return (1, 2, 3, 4) if argument.element.kind == "f" else ()


class Replays:
    """Cached runs of a call's programs with different numbers in undefined lanes.

    Each run observes all of `looks`.
    """

    def __init__(self, bound: BoundCall, looks: Iterable[Look]) -> None:
        self._bound = bound
        self._looks = tuple(dict.fromkeys(looks))
        self._runs: dict[tuple[int | None, int], tuple[dict[Look, Difference], str]] = {}

    def difference(self, look: Look, program: int | None) -> Difference | str:
        """Return where other numbers first change an observed value, or why no change was seen.

        `program` is a linear id; None: all programs are run.
        """
        reason = ""
        for number in range(len(_FILLS)):
            differences, failure = self._run(program, number)
            if look in differences:
                return differences[look]
            reason = failure
        return reason or "other numbers in these lanes change nothing when it is run"

    def _run(self, program: int | None, number: int) -> tuple[dict[Look, Difference], str]:
        """Run with a pair of fills; return differences, and why a run ended early ("": neither)."""
        key = program, number
        if key not in self._runs:
            pair = [_LaneFiller(fill, self._looks) for fill in _FILLS[number]]
            call = self._bound.call
            failures = [
                evaluated(call, with_contents(call.arguments), filler, program) for filler in pair
            ]
            first, second = (filler.snapshots for filler in pair)
            differences = {
                look: difference
                for look in self._looks
                if (difference := _first_difference(first[look], second[look])) is not None
            }
            self._runs[key] = differences, next(filter(None, failures), "")
        return self._runs[key]


def evaluated(
    call: Call, arguments: Sequence[Argument], instrument: Instrument, program: int | None
) -> str:
    """Evaluate one program (None: all) of a call with other arguments.

    Returns the reason if the evaluation ended early, else "".
    """
    try:
        with np.errstate(all="ignore"):
            evaluate(
                call.module,
                arguments,
                call.grid,
                observers=(Limit(_MOST_LANES),),
                kernel=call.kernel,
                programs=None if program is None else np.array([program], np.int64),
                instrument=instrument,
                most_steps=MOST_STEPS,
            )
    except KvtraceError as error:
        return str(error)
    except MemoryError:
        return "its tensors are too large for a run"
    return ""


def _first_difference(first: Iterable[_Snapshot], second: Iterable[_Snapshot]) -> Difference | None:
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


def _difference(snapshot: _Snapshot, place: int, lane: tuple[int, ...]) -> Difference:
    program = int(snapshot.programs[place])
    return Difference(program_at(program, snapshot.grid), int(snapshot.iterations[place]), lane)


def with_contents(
    arguments: Iterable[Argument], numbers: Callable[[TensorArgument], Numbers] = small_numbers
) -> tuple[Argument, ...]:
    """Return arguments with contents: recorded ones (never written to), else made-up ones.

    `numbers` are repeated over a tensor's storage. None: its contents stay unknown; empty: zeros,
    as in tensors that are large.
    """
    made_up: dict[int, Storage] = {}
    copies = read_only_arguments(tuple(arguments))
    room = _PATTERN_BYTES
    for argument in copies:
        if not isinstance(argument, TensorArgument) or argument.storage.data is not None:
            continue
        storage, repeated = argument.storage, numbers(argument)
        if id(storage) in made_up or repeated is None:
            continue
        data = np.zeros(storage.nbytes, np.uint8)
        if len(repeated) and storage.nbytes <= room:
            room -= storage.nbytes
            memory = np.dtype(argument.element.memory)
            count = storage.nbytes // memory.itemsize
            pattern = _pattern(argument, repeated, count)
            data[: count * memory.itemsize] = pattern.view(np.uint8)
        made_up[id(storage)] = Storage(storage.nbytes, data, storage.address)
    return tuple(
        replace(argument, storage=made_up[id(argument.storage)])
        if isinstance(argument, TensorArgument) and id(argument.storage) in made_up
        else argument
        for argument in copies
    )


def _pattern(argument: TensorArgument, numbers: Sequence[float], count: int) -> Any:
    from kvtrace.evaluate.rounding import to_memory

    repeated = np.resize(np.array(numbers).astype(argument.element.value), count)
    return np.ascontiguousarray(to_memory(repeated, argument.element))
