"""Effects of undefined lanes, by runs of a program with different numbers in these lanes.

Tensors whose contents were not recorded have made-up contents, which is valid for values that
depend on no contents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from functools import partial
from math import inf, nan, prod
from typing import TYPE_CHECKING, Any, Final

import numpy as np
from msgspec import Struct

from kvtrace.evaluate import Argument, ScalarArgument, Storage, TensorArgument
from kvtrace.evaluate.arguments import with_storages
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.rounding import from_memory, to_memory
from kvtrace.evaluate.types import ElementType, value_type
from kvtrace.evaluate.values import Unknown, full_array
from kvtrace.ir import Op
from kvtrace.ir.feeding import feeding_values
from kvtrace.ir.flow import constant_of
from kvtrace.ir.memory_sites import memory_sites
from kvtrace.ir.ops import ELEMENTWISE, KINDS, Kind, mask_of
from kvtrace.ir.types import Type
from kvtrace.schema.cached_property import cached_property
from kvtrace.symbolic.taint import (
    leaves_lanes,
    limited_operand,
    undefined_cause,
    undefined_sources,
)
from kvtrace.symbolic.terms import signed_range
from kvtrace.text import listed
from kvtrace.verdicts.replaying import (
    WITNESS_LANES,
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
    from kvtrace.verdicts.binding import BoundCall

_PATTERN_BYTES: Final = 1 << 26
"""Larger made-up tensors are all zeros, whose pages cost nothing until they are accessed."""

_SCATTERED: Final = None
"""Marks a fill with a different number in every lane of every load: equal ones might cancel out."""

_FILLS: Final = (100, nan, _SCATTERED, -100)
_LIMITS: Final = (1, -1, inf, -inf)
_MOST_FILLS: Final = 48

Fill = float | None
"""A number in all undefined lanes, or `_SCATTERED`."""


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


_Snapshots = dict[ObservedValue, list[_Snapshot]]
_Witnesses = dict[ObservedValue, Witness | None]


class _LaneFiller(Instrument):
    """An instrument that fills undefined lanes, of all ops or of `only`, and records values."""

    def __init__(self, fill: Fill, to_observe: Iterable[ObservedValue], only: Op | None) -> None:
        super().__init__()
        self._fill = fill
        self._only = only
        self._fill_count = 0
        self._masks: dict[int, Value] = {}
        self.snapshots: _Snapshots = {observed_value: [] for observed_value in to_observe}

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

    def _numbers(self, shape: tuple[int, ...], element: ElementType) -> Any:
        """Return the numbers for undefined lanes; if scattered, each fits into 8 bits."""
        if self._fill is not _SCATTERED:
            return _fill_number(self._fill, element)
        self._fill_count += 1
        indices = np.arange(prod(shape), dtype=np.int64).reshape(shape)
        numbers = 100 + (11 * self._fill_count + 5 * indices) % 27
        return (numbers % 2 if element.kind == "b" else numbers).astype(element.value)

    def _record(self, observed_value: ObservedValue, values: list[Any], scope: Any) -> None:
        numbers = _numbers(values[observed_value.value.id], observed_value.value.type)
        mask = observed_value.mask
        active = True if mask is None else _numbers(values[mask.id], mask.type)
        self.snapshots[observed_value].append(_Snapshot(copy(scope), numbers, active))


def filling_masked(
    op: Op, mask: Value | None, step: Step,
    numbers_of: Callable[[tuple[int, ...], ElementType], Any],
) -> Step:  # fmt: skip
    """Return a step that also writes numbers of a shape and type into masked-off result lanes.

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
        filling = numbers_of(numbers.shape, type_.element)
        values[result.id] = np.where(is_active, numbers, filling)

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


@np.errstate(all="ignore")
def _fill_number(fill: float, element: ElementType) -> Any:
    """Return a number as one of a type: an integer beyond its range is its least or greatest."""
    if element.kind == "f":
        return np.asarray(fill).astype(element.memory).astype(element.value)
    low, high = signed_range(element.bits) if element.kind == "i" else (0, 1)
    return element.value.type(0 if fill != fill else int(min(max(fill, low), high)))


def number_text(fill: Fill, op: Op) -> str:
    """Return a fill as a number of an op's lanes; "" for an ordinary one."""
    if fill is _SCATTERED or fill in _FILLS:
        return ""
    return str(_fill_number(fill, value_type(op.results[0].type).element))


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
        self._to_observe = to_observe
        self._runs: dict[tuple[int | None, Op | None, Fill], tuple[_Witnesses, str]] = {}
        self._zeros: tuple[tuple[int | None, Op | None], _Snapshots, str] | None = None

    @cached_property
    def _observed_values(self) -> tuple[ObservedValue, ...]:
        return tuple(dict.fromkeys(self._to_observe))

    def difference(
        self, observed_value: ObservedValue, program: int | None,
        only: Op | None = None, fills: Iterable[Fill] = (),
    ) -> tuple[Witness, Fill] | str:  # fmt: skip
        """Return where a fill first changes what zeros give, and the fill, or why none does.

        `program` is a linear id; None runs all programs. With `only`, that op's lanes are filled.
        `fills` are tried after ordinary ones; () stands for numbers that may be limits.
        """
        reason = ""
        for fill in dict.fromkeys((*_FILLS, *fills)) if fills else self._fills:
            if reason and fill not in _FILLS:
                break
            witnesses, failure = self._run(program, only, fill)
            if (witness := witnesses[observed_value]) is not None:
                return witness, fill
            reason = failure or reason
        return reason or f"runs with other numbers in these lanes{self._made_up()} do not differ"

    @cached_property
    def _fills(self) -> Sequence[Fill]:
        """Distinct fills: ordinary ones, limits of the types, and numbers near those of the call.

        Lanes may be compared with the last: `tl.load(x, mask=m) > 1000`.
        """
        ops = undefined_sources(self._bound.call.module)
        elements = {value_type(op.results[0].type).element for op in ops}
        distinct: dict[Any, Fill] = {}
        for fill in (0, *_FILLS, *_LIMITS, *self._near_numbers()):
            key = fill is _SCATTERED or tuple(_fill_number(fill, e).tobytes() for e in elements)
            distinct.setdefault(key, fill)
        return tuple(distinct.values())[1:_MOST_FILLS]

    def _near_numbers(self) -> Iterator[float]:
        """Yield scalars, least and greatest contents, constants, and numbers beside each."""
        call, numbers = self._bound.call, []
        for argument in call.arguments:
            if isinstance(argument, ScalarArgument):
                numbers.append(argument.value or 0)
                continue
            data, memory = argument.storage.data, argument.element.memory
            if data is not None and memory.itemsize <= data.size <= _PATTERN_BYTES:
                stored = data[: data.size // memory.itemsize * memory.itemsize].view(memory)
                values = from_memory(stored, argument.element)
                numbers += [np.fmin.reduce(values).item(), np.fmax.reduce(values).item()]
        feeders = feeding_values((each.value for each in self._observed_values), call.module)
        results = (value for index in feeders for value in call.module.ops[index].results)
        for number in (*numbers, *(constant_of(value) or 0 for value in results)):
            step = abs(number) / 16 if isinstance(number, float) else 1
            yield from (number, number + step, number - step)

    def _made_up(self) -> str:
        """Return words on the tensors whose contents the runs made up, "" without any."""
        loads = [site for site in memory_sites(self._bound.call.module) if site.kind != "store"]
        names = [
            argument.name
            for position, argument in enumerate(self._bound.call.arguments)
            if isinstance(argument, TensorArgument) and argument.storage.data is None
            and any(site.reaches(position) for site in loads)
        ]  # fmt: skip
        made_up = (
            f", and made-up contents of {listed(names, 3)} (KVTRACE_TENSORS=all records them),"
        )
        return made_up if names else ""

    def _run(self, program: int | None, only: Op | None, fill: Fill) -> tuple[_Witnesses, str]:
        """Run with a fill; return differences from zeros, and the reason of an early end or ""."""
        run_key = program, only, fill
        if run_key not in self._runs:
            if self._zeros is None or self._zeros[0] != run_key[:2]:
                self._zeros = run_key[:2], *self._filled(program, only, 0)
            _, zeros, first_failure = self._zeros
            snapshots, failure = self._filled(program, only, fill)
            witnesses = {
                each: _first_difference(zeros[each], snapshots[each]) for each in snapshots
            }
            self._runs[run_key] = witnesses, first_failure or failure
        return self._runs[run_key]

    def _filled(self, program: int | None, only: Op | None, fill: Fill) -> tuple[_Snapshots, str]:
        call, filler = self._bound.call, _LaneFiller(fill, self._observed_values, only)
        lanes = WITNESS_LANES if fill in (0, *_FILLS) else WITNESS_LANES // 16
        programs = None if program is None else (program,)
        arguments = with_contents(call.arguments)
        failure = run_with(call, arguments, (), programs, lanes=lanes, instrument=filler)
        return filler.snapshots, failure or ""


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
    repeated = np.resize(np.array(numbers).astype(argument.element.value), count)
    return np.ascontiguousarray(to_memory(repeated, argument.element))
