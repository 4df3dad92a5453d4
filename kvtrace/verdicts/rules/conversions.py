"""Floats that no integer of a conversion's type is near, and whose conversion reaches memory.

The result of converting a NaN, an infinity or a float out of range is not specified: devices and
compilers give different integers. It reaches memory if a program stores other bytes, or at another
address, when the result is changed, by a bit, to 0 or to an end of its range: an integer that is
masked off does no harm.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import product
from typing import Any, Final

import numpy as np
from msgspec import Struct

from kvtrace.evaluate.dialects.arith_casts import integers_of
from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.registry import Step
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import (
    Pointer,
    PointerChoice,
    Unknown,
    offset_array,
    pointers_in,
    to_array,
)
from kvtrace.ir import Op
from kvtrace.ir.ops import WRITING, address_of, effect_of, mask_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.replaying import run, witness_at
from kvtrace.verdicts.verdict import Witness

_MAX_PROGRAMS: Final = 8
_MAX_PLACES: Final = 4096


class LostFloat(Struct, frozen=True):
    """The first float that a conversion loses, and the number of programs that lose one there."""

    op: Op
    programs: int
    witness: Witness
    number: float


def lost_floats(call: Call, lanes: int) -> tuple[LostFloat, ...] | str:
    """Return for each conversion the first float that it loses and that reaches memory.

    Returns the reason if the evaluation of at most `lanes` lanes ended early.
    """
    whole_run = _ConversionRecorder()
    failure = run(call, (), None, contents="all", lanes=lanes, instrument=whole_run)
    if failure is not None:
        return failure
    programs = {op: list(dict.fromkeys(ids)) for op, ids in whole_run.programs.items()}
    found = (_lost_float(call, op, ids, lanes) for op, ids in programs.items())
    return tuple(lost for lost in found if lost is not None)


def _lost_float(call: Call, op: Op, programs: Sequence[int], lanes: int) -> LostFloat | None:
    """Return the first float that an op loses in a program whose stores it changes, else None."""
    for program, other in product(programs[:_MAX_PROGRAMS], (None, 0, *(integers_of(op) or ()))):
        run_of = partial(_run_of, call, op, program, lanes, other)
        unchanged = run_of(0)
        changing, harmless = len(unchanged.places), 0
        if run_of(changing).stored == unchanged.stored:
            continue
        while changing - harmless > 1:  # the fewest first places that change what is stored
            middle = (changing + harmless) // 2
            if run_of(middle).stored == unchanged.stored:
                harmless = middle
            else:
                changing = middle
        return LostFloat(op, len(programs), *unchanged.places[changing - 1])
    return None


def _run_of(
    call: Call, op: Op, program: int, lanes: int, other: int | None, moved: int
) -> _ConversionRecorder:
    recorder = _ConversionRecorder(op, moved=moved, other=other)
    run(call, (), (program,), contents="all", lanes=lanes, instrument=recorder)
    return recorder


class _ConversionRecorder(Instrument):
    """An instrument that records the programs in which conversions lose floats, by op.

    Of the op `watched` it records the first `places`, each with its float, and of the run all that
    is `stored`. At the first `moved` places, the op gives the integer `other`; None: its result
    with another last bit.
    """

    def __init__(
        self, watched: Op | None = None, *, moved: int = 0, other: int | None = None
    ) -> None:
        super().__init__()
        self._watched = watched
        self._moved = moved
        self._other = other
        self.programs: dict[Op, list[int]] = {}
        self.places: list[tuple[Witness, float]] = []
        self.stored: list[bytes] = []

    def wrapped(self, op: Op, step: Step) -> Step:
        """Wrap conversions of floats to integers, and ops that write."""
        if op.name in WRITING and self._watched is not None:
            return self._recording_stores(op, step)
        is_watched = self._watched in (None, op) and integers_of(op) is not None
        return self._recording_losses(op, step) if is_watched else step

    def _recording_losses(self, op: Op, step: Step) -> Step:
        source, result = op.operand("source"), op.results[0]
        span = integers_of(op)
        assert span is not None

        def watched(values: list[Any], scope: Any) -> None:
            step(values, scope)
            given = values[source.id]
            if isinstance(given, Unknown) or not scope.certain:
                return
            floats = np.asarray(to_array(given, value_type(source.type))).astype(np.float64)
            is_lost = ~((floats > span[0] - 1) & (floats < span[1] + 1))
            if not is_lost.any():
                return
            if self._watched is None:
                loses = np.broadcast_to(_by_program(is_lost), len(scope.linear))
                self.programs.setdefault(op, []).extend(map(int, scope.linear[loses]))
                return
            integers = np.array(to_array(values[result.id], value_type(result.type)))
            for position in map(tuple, np.argwhere(is_lost)[: _MAX_PLACES - len(self.places)]):
                if len(self.places) < self._moved:
                    moved = integers[position] ^ 1 if self._other is None else self._other
                    integers[position] = np.asarray(moved).astype(integers.dtype)
                witness = witness_at(scope, 0, position[1:])
                self.places.append((witness, float(floats[position])))
            values[result.id] = integers

        return watched

    def _recording_stores(self, op: Op, step: Step) -> Step:
        def recorded(values: list[Any], scope: Any) -> None:
            numbers = stored_numbers(op, values)
            if numbers is not None:
                self.stored.append(numbers.tobytes())
                self.stored += [
                    offsets.tobytes() for offsets in _written_offsets(op, numbers, values)
                ]
            step(values, scope)

        return recorded


def stored_numbers(op: Op, values: list[Any]) -> Any:
    """Return the numbers that an op stores, zeros in lanes that are masked off; None: unknown."""
    value, mask = op.operand("value"), mask_of(op)
    stored, active = values[value.id], True if mask is None else values[mask.id]
    if isinstance(stored, Unknown) or isinstance(active, Unknown):
        return None
    numbers = np.asarray(to_array(stored, value_type(value.type)))
    if mask is None:
        return numbers
    is_active = np.asarray(to_array(active, value_type(mask.type)))
    return np.where(is_active, numbers, np.zeros_like(numbers))


def _written_offsets(op: Op, numbers: Any, values: list[Any]) -> list[Any]:
    """Return the byte offsets at which an op writes, for each pointer that its address may be.

    They are -1 in lanes that are masked off, or add nothing: an atomic with 0, wherever it is.
    """
    address, mask = address_of(op), mask_of(op)
    if not isinstance(values[address.id], Pointer | PointerChoice):
        return []
    active = True if mask is None else to_array(values[mask.id], value_type(mask.type))
    changing = np.asarray(active) & ((numbers != 0) | (effect_of(op) != "atomic"))
    rank = len(value_type(address.type).shape) + 1
    return [
        np.where(changing, offset_array(pointer.offset, rank), -1)
        for pointer in pointers_in(values[address.id])
        if not isinstance(pointer.offset, Unknown)
    ]


def _by_program(marks: Any) -> Any:
    return marks.reshape(len(marks), -1).any(axis=1)
