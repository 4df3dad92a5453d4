"""Effects of undefined lanes, by runs of a program with different numbers in these lanes.

Tensors whose contents were not recorded have made-up contents, which is valid for values that
depend on no contents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from copy import copy
from functools import partial
from math import nan, prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct

from kvtrace.evaluate import Argument, Storage, TensorArgument
from kvtrace.evaluate.arguments import with_storages
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Unknown, full_array
from kvtrace.ir import Op
from kvtrace.ir.memory_sites import memory_sites
from kvtrace.ir.ops import ELEMENTWISE, KINDS, Kind, mask_of
from kvtrace.ir.types import Type
from kvtrace.symbolic.taint import leaves_lanes, limited_operand, undefined_cause
from kvtrace.text import listed
from kvtrace.verdicts.replaying import (
    WITNESS_LANES,
    Limit,
    read_only_arguments,
    run_with,
    witness_at,
)
from kvtrace.verdicts.rules.watched_values import inspecting, numbers_of
from kvtrace.verdicts.verdict import Witness

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step
    from kvtrace.evaluate.scope import Scope
    from kvtrace.ir import Value
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.verdicts.binding import BoundCall

_PATTERN_BYTES: Final = 1 << 26
"""Larger made-up tensors are all zeros, whose pages cost nothing until they are accessed."""

_SCATTERED: Final = None
"""Marks a fill with a different number in every lane of every load: equal ones might cancel out."""

_FILLS: Final = ((0.0, 100.0), (0.0, nan), (0.0, _SCATTERED), (0.0, -100.0))


class _Snapshot(Struct, frozen=True):
    """The numbers and mask of an observed value in a batch of programs."""

    scope: Scope
    numbers: Any
    mask: Any


class ObservedValue(Struct, frozen=True):
    """An operand or result of an op to observe; of an operand only the lanes of `mask` count."""

    op: Op
    value: Value
    mask: Value | None


class _LaneFiller(Instrument):
    """An instrument that fills undefined lanes, of all ops or of `only`, and records values."""

    def __init__(
        self, fill: float | None, to_observe: Iterable[ObservedValue], only: Op | None
    ) -> None:
        super().__init__()
        self._fill = fill
        self._only = only
        self._fill_count = 0
        self._masks: dict[int, Value] = {}
        self.snapshots: dict[ObservedValue, list[_Snapshot]] = {
            observed_value: [] for observed_value in to_observe
        }

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap loads to fill their undefined lanes, and observed ops to record their values."""
        mask = op.optional("mask") if leaves_lanes(op) else None
        if mask is not None:
            self._masks[op.results[0].id] = mask
        elif self._fill is _SCATTERED:
            mask = self._merged_mask(op)
        is_filled = self._only is None or self._only is op
        if is_filled and (mask is not None or undefined_cause(op)):
            step = filling_masked(op, mask, step, self._numbers)
        for observed_value in self.snapshots:
            if observed_value.op is op:
                record = partial(self._record, observed_value)
                step = inspecting(op, observed_value.value, step, record)
        return step

    def _merged_mask(self, op: Op) -> Value | None:
        """Return the mask of the load that is both operands of an op, else None.

        The compiler may have merged two loads of one address, whose undefined lanes may differ.
        """
        operands = {value.id for value in op.operands}
        if op.name not in ELEMENTWISE or len(op.operands) != 2 or len(operands) != 1:
            return None
        return self._masks.get(operands.pop()) if len(op.results) == 1 else None

    def _numbers(self, shape: tuple[int, ...], dtype: Any) -> Any:
        """Return the numbers for undefined lanes; each fits into 8 bits."""
        if self._fill is not _SCATTERED:
            return _fill_number(self._fill, dtype)
        self._fill_count += 1
        indices = np.arange(prod(shape), dtype=np.int64).reshape(shape)
        numbers = 100 + (11 * self._fill_count + 5 * indices) % 27
        return (numbers % 2 if dtype.kind == "b" else numbers).astype(dtype)

    def _record(self, observed_value: ObservedValue, values: list[Any], scope: Any) -> None:
        numbers = _numbers(values[observed_value.value.id], observed_value.value.type)
        mask = observed_value.mask
        active = True if mask is None else _numbers(values[mask.id], mask.type)
        self.snapshots[observed_value].append(_Snapshot(copy(scope), numbers, active))


def filling_masked(
    op: Op, mask: Value | None, step: Step, numbers_of: Callable[[tuple[int, ...], Any], Any]
) -> Step:
    """Return a step that also writes numbers of a shape and dtype into masked-off result lanes.

    Without a mask, those are masked off for which an operand is beyond its limit, or else all.
    """
    result, limited = op.results[0], None if mask is not None else limited_operand(op)
    type_ = value_type(result.type)
    if type_.pointer:
        return step

    def filled(values: list[Any], scope: Any) -> None:
        active = False if mask is None else values[mask.id]
        if limited is not None:
            given = values[limited[0].id]
            active = _with_zeros_beyond(op, *limited, values)
        step(values, scope)
        if limited is not None:
            values[limited[0].id] = given
        loaded = values[result.id]
        if isinstance(loaded, Unknown) or isinstance(active, Unknown):
            return
        numbers = full_array(loaded, type_)
        is_active = active if mask is None else full_array(active, value_type(mask.type))
        values[result.id] = np.where(is_active, numbers, numbers_of(numbers.shape, numbers.dtype))

    return filled


def _with_zeros_beyond(op: Op, operand: Value, limit: int, values: list[Any]) -> Any:
    """Set an operand to 0 where it is beyond its limit; return which results have a value then."""
    mask = mask_of(op)
    given, counts = values[operand.id], True if mask is None else values[mask.id]
    if isinstance(given, Unknown) or isinstance(counts, Unknown):
        return Unknown(frozenset())
    numbers = full_array(given, value_type(operand.type))
    is_within: Any = (numbers >= 0) & (numbers < limit)
    values[operand.id] = np.where(is_within, numbers, numbers.dtype.type(0))
    if KINDS[op.name].kind is not Kind.COUNT:
        return is_within
    if mask is not None:
        is_within = is_within | ~full_array(counts, value_type(mask.type))
    return is_within.all(axis=1, keepdims=True)  # one number too many leaves no count


def _fill_number(fill: float, dtype: Any) -> Any:
    if np.issubdtype(dtype, np.inexact):
        return np.asarray(fill, dtype)
    return np.asarray(0 if fill != fill else int(fill), dtype)


def _numbers(value: Any, type_: Type) -> Any:
    """Return the numbers of a value, None if any is unknown."""
    numbers = numbers_of(value, type_)
    return None if numbers is None else np.array(numbers)


Numbers = Sequence[float] | None


def small_numbers(argument: TensorArgument) -> Numbers:
    """Return the numbers 1 to 4 for floats; none for integers, as zeros are valid indices."""
    return (1, 2, 3, 4) if argument.element.kind == "f" else ()


class Replays:
    """Cached runs of a call's programs with different numbers in undefined lanes.

    Each run records all values of `to_observe`.
    """

    def __init__(self, bound: BoundCall, to_observe: Iterable[ObservedValue]) -> None:
        self._bound = bound
        self._observed_values = tuple(dict.fromkeys(to_observe))
        self._runs: dict[
            tuple[int | None, Op | None, int], tuple[dict[ObservedValue, Witness], str]
        ] = {}

    def difference(
        self, observed_value: ObservedValue, program: int | None, only: Op | None = None
    ) -> Witness | str:
        """Return where fills first change an observed value, or the reason why none does.

        `program` is a linear id; None runs all programs. With `only`, that op's lanes are filled.
        """
        reason = ""
        for fill_pair in range(len(_FILLS)):
            differences, failure = self._run(program, only, fill_pair)
            if observed_value in differences:
                return differences[observed_value]
            reason = failure
        return reason or f"runs with other numbers in these lanes{self._made_up()} do not differ"

    def _made_up(self) -> str:
        """Return words on the tensors whose contents the runs made up, "" without any."""
        loads = [site for site in memory_sites(self._bound.call.module) if site.kind != "store"]
        names = [
            argument.name
            for position, argument in enumerate(self._bound.call.arguments)
            if isinstance(argument, TensorArgument) and argument.storage.data is None
            and any(site.reaches(position) for site in loads)
        ]  # fmt: skip
        return f", and made-up contents of {listed(names, 3)}," if names else ""

    def _run(
        self, program: int | None, only: Op | None, fill_pair: int
    ) -> tuple[dict[ObservedValue, Witness], str]:
        """Run with a pair of fills; return differences, and the reason of an early end or ""."""
        run_key = program, only, fill_pair
        if run_key not in self._runs:
            fillers = [_LaneFiller(fill, self._observed_values, only) for fill in _FILLS[fill_pair]]
            call = self._bound.call
            failures = [
                evaluated(call, with_contents(call.arguments), filler, program)
                for filler in fillers
            ]
            first_snapshots, second_snapshots = (filler.snapshots for filler in fillers)
            differences = {
                observed_value: difference
                for observed_value in self._observed_values
                if (
                    difference := _first_difference(
                        first_snapshots[observed_value], second_snapshots[observed_value]
                    )
                )
                is not None
            }
            self._runs[run_key] = differences, next(filter(None, failures), "")
        return self._runs[run_key]


def evaluated(
    call: Call, arguments: Sequence[Argument], instrument: Instrument, program: int | None
) -> str:
    """Evaluate one program (None: all) with other arguments of the call.

    Returns the reason if the evaluation ended early, else "".
    """
    programs = None if program is None else (program,)
    with np.errstate(all="ignore"):
        limit = Limit(WITNESS_LANES)
        return run_with(call, arguments, (limit,), programs, instrument=instrument) or ""


def _first_difference(
    left_snapshots: Iterable[_Snapshot], right_snapshots: Iterable[_Snapshot]
) -> Witness | None:
    for left, right in zip(left_snapshots, right_snapshots, strict=False):
        if left.numbers is None or right.numbers is None or left.mask is None:
            continue
        left_numbers, right_numbers = np.broadcast_arrays(left.numbers, right.numbers)
        differs = left_numbers != right_numbers
        if np.issubdtype(left_numbers.dtype, np.inexact):
            differs = differs & ~(np.isnan(left_numbers) & np.isnan(right_numbers))
        positions = np.argwhere(differs & left.mask)
        if len(positions):
            row, *lane = map(int, positions[0])
            return witness_at(left.scope, row, lane)
    return None


def with_contents(
    arguments: Iterable[Argument], numbers: Callable[[TensorArgument], Numbers] = small_numbers
) -> tuple[Argument, ...]:
    """Return arguments with recorded contents (never written to), or made-up ones.

    `numbers` returns numbers to repeat over a tensor's storage. None: the contents stay unknown;
    empty: zeros, as in tensors that are large.
    """
    made_up: dict[Storage, Storage] = {}
    copies = read_only_arguments(tuple(arguments))
    bytes_left = _PATTERN_BYTES
    for argument in copies:
        if not isinstance(argument, TensorArgument) or argument.storage.data is not None:
            continue
        storage, repeated_numbers = argument.storage, numbers(argument)
        if storage in made_up or repeated_numbers is None:
            continue
        data = np.zeros(storage.nbytes, np.uint8)
        if len(repeated_numbers) and storage.nbytes <= bytes_left:
            bytes_left -= storage.nbytes
            memory = np.dtype(argument.element.memory)
            count = storage.nbytes // memory.itemsize
            pattern = _pattern(argument, repeated_numbers, count)
            data[: count * memory.itemsize] = pattern.view(np.uint8)
        made_up[storage] = Storage(storage.nbytes, data, storage.address)
    return with_storages(copies, lambda storage: made_up.get(storage, storage))


def _pattern(argument: TensorArgument, numbers: Sequence[float], count: int) -> Any:
    from kvtrace.evaluate.rounding import to_memory

    repeated = np.resize(np.array(numbers).astype(argument.element.value), count)
    return np.ascontiguousarray(to_memory(repeated, argument.element))
