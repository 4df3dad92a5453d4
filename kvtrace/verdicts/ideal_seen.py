"""Observed wrap-arounds of integers, and the addresses, masks and branches that they change."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from operator import lt
from typing import Any

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate.shadows.driver import is_unknown
from kvtrace.evaluate.shadows.ideal import WrappedNumber, ideal_numbers, wrapped_to
from kvtrace.evaluate.types import ValueType, element_of, value_type
from kvtrace.evaluate.values import Array, actual, to_array
from kvtrace.ir import Op, Value
from kvtrace.ir.flow import enclosing_ops
from kvtrace.ir.integers import counter_ranges, signed_range, wrapped, wraps_around
from kvtrace.ir.ops import LOOPS, MEMORY
from kvtrace.ir.types import integer_bits
from kvtrace.verdicts.deciding import Purpose
from kvtrace.verdicts.replaying import witness_at
from kvtrace.verdicts.verdict import Witness


class VisibleWrap(Struct, frozen=True):
    """The first place (`witness`) where a wrap changes an address, mask, branch, loop or index.

    `origin` is the index of the op that wrapped; `ideal` and `actual` are its numbers in that
    program. `by` is the op whose `purpose` differs.
    """

    origin: int
    by: Op
    purpose: Purpose
    witness: Witness
    ideal: int
    actual: int


class _Wrap(Struct, frozen=True):
    """An op that wrapped in a batch of programs, with its numbers in a trip of its loop."""

    op: Op
    programs: Array
    iteration: int
    ideal: Array
    actual: Array

    def is_of(self, program: int) -> bool:
        """Return whether the op wrapped in a program (linear id)."""
        differs = np.asarray(self.ideal != self.actual)
        return len(differs) == 1 or program in self.programs[np.argwhere(differs)[:, 0]]

    def numbers(self, program: int, place: tuple[int, ...]) -> tuple[int, int]:
        """Return the ideal and the actual number of the op in a program.

        Those at a place of the batch, if it wrapped there; else the first that wraps around both
        as a signed and as an unsigned number.
        """
        bits = integer_bits(self.op.results[0].type) or 64
        ideal, actual_numbers = np.broadcast_arrays(self.ideal, self.actual)
        is_shown = ideal != actual_numbers
        has_place = ideal.ndim == len(place) and all(map(lt, place, ideal.shape))
        if has_place and self.programs[place[0]] == program and is_shown[place]:
            return int(ideal[place]), int(actual_numbers[place])
        in_program = is_shown.copy()
        if ideal.shape[0] > 1:
            in_program[np.asarray(self.programs) != program] = False
        beyond_both = in_program & ((ideal < signed_range(bits)[0]) | (ideal >= 1 << bits))
        shown = next((mask for mask in (beyond_both, in_program) if mask.any()), is_shown)
        position = tuple(np.argwhere(shown)[0])
        return int(ideal[position]), int(actual_numbers[position])


class Seen:
    """The observations of one evaluation.

    Attributes:
        visible_wraps: by the index of the op that wrapped, where the wrap first showed for certain.
        wrapped_ops: indices of the ops that wrapped, whether or not the wrap showed.
        reached: by the index of an op, the ops whose wraps changed its numbers.
        hidden: indices of the ops whose wraps may have been missed: contents were not recorded, or
            an op on the way has no exact meaning here.
        blind: an address, mask or branch was unknown, so a wrap in it may have been missed.
    """

    def __init__(self, deciding: Collection[int]) -> None:
        """`deciding`: indices of the ops whose integers decide something."""
        self.visible_wraps: dict[int, VisibleWrap] = {}
        self.wrapped_ops: set[int] = set()
        self.reached: dict[int, set[int]] = {}
        self.hidden: set[int] = set()
        self.blind = False
        self._deciding = deciding
        self._wraps: dict[int, _Wrap] = {}
        self._first_wraps: dict[int, _Wrap] = {}

    def wrapped(self, op: Op, scope: Any, ideal: Array, plain: Array) -> None:
        """Record that an op wrapped around, with its ideal and actual numbers in all lanes."""
        self.wrapped_ops.add(op.index)
        wrap = self._wraps[op.index] = _Wrap(op, scope.linear, scope.iteration, ideal, plain)
        first = self._first_wraps.setdefault(op.index, wrap)
        if first.programs is not scope.linear or wrap.iteration <= first.iteration:
            self._first_wraps[op.index] = wrap

    def visible_wrap(self, op: int) -> VisibleWrap | None:
        """Return the first visible wrap of an op (an index) or of what changed its numbers."""
        origins = self.reached.get(op, set()) | {op}
        return next(
            (wrap for origin, wrap in self.visible_wraps.items() if origin in origins), None
        )

    def clear_lanes(self) -> None:
        """Delete the recorded numbers of all lanes after the evaluation has ended."""
        self._wraps.clear()
        self._first_wraps.clear()

    def lose(self, operands: Iterable[Any]) -> None:
        """Record that wraps in the operands may be missed, as their ideal numbers end here."""
        for value in operands:
            if isinstance(value, WrappedNumber):
                self.hidden |= value.origins

    def use(
        self,
        op: Op,
        value: Value,
        number: Any,
        scope: Any,
        purpose: Purpose,
        *,
        active: Any = True,
    ) -> None:
        """Compare both numbers of a value that `op` uses; record the first difference."""
        if is_unknown(number) or is_unknown(active):
            self.blind = True
        if (
            not isinstance(number, WrappedNumber)
            or not number.origins
            or self._is_irrelevant(op, value)
        ):
            return
        if is_unknown(number.actual) or is_unknown(active) or not scope.certain:
            self.hidden |= number.origins
            return
        type_ = value_type(value.type)
        differs = self._difference_mask(number, type_, purpose)
        if active is not True:
            flags = replace(type_, element=element_of("i1"), pointer=False)
            mask = to_array(actual(active), flags)
            differs = np.broadcast_to(differs, (len(differs), *type_.shape)) & mask
        positions = np.argwhere(differs)
        if len(positions):
            self._record_visible(op, number, scope, purpose, tuple(map(int, positions[0])))

    def counts(self, op: Op, bounds: Sequence[Any], scope: Any) -> None:
        """Record whether the counter of a starting loop wraps around, given its bounds."""
        if any(map(is_unknown, bounds)) or not scope.certain:
            self.hidden.add(op.index)
            return
        type_ = value_type(op.operand("first").type)
        bits = type_.element.bits
        first, end, step = (
            np.broadcast_to(to_array(bound, type_).reshape(-1), (scope.programs,))
            for bound in bounds
        )
        may_overflow = (step <= 0) | (end - 1 > signed_range(bits)[1] - step)
        for row in np.flatnonzero((first < end) & may_overflow):
            if op.index in self.visible_wraps:
                return
            loop_bounds = int(first[row]), int(end[row]), int(step[row])
            if wraps_around(*loop_bounds, bits):
                counter_range = next(counter_ranges(*loop_bounds, bits))
                next_count = counter_range[-1] + loop_bounds[2]
                self.wrapped_ops.add(op.index)
                witness = replace(witness_at(scope, row), iteration=len(counter_range) - 1)
                self.visible_wraps[op.index] = VisibleWrap(
                    op.index, op, "loop", witness, next_count, wrapped(next_count, bits)
                )

    def _is_irrelevant(self, op: Op, value: Value) -> bool:
        """Return whether a branch or loop condition does not affect any memory access."""
        if op.name in MEMORY:
            return False
        return isinstance(value.owner, Op) and value.owner.index not in self._deciding

    def _difference_mask(self, number: WrappedNumber, type_: ValueType, purpose: Purpose) -> Array:
        """Return a mask of the elements whose ideal and actual numbers differ for the purpose."""
        actual_numbers = ideal_numbers(number.actual, type_)
        ideal = ideal_numbers(number, type_)
        if purpose == "part":  # the sum that is stored last may be meant to wrap around
            ideal = wrapped_to(ideal, type_.element.bits)
        differs = np.asarray(ideal != actual_numbers, np.bool_)
        if purpose == "index":  # stored integers may be unsigned
            unsigned = actual_numbers.astype(object) + (1 << type_.element.bits)
            differs &= np.asarray((actual_numbers >= 0) | (number.shadow != unsigned), np.bool_)
        return differs

    def _record_visible(
        self,
        op: Op,
        wrapped_number: WrappedNumber,
        scope: Any,
        purpose: Purpose,
        position: tuple[int, ...],
    ) -> None:
        """Record that a wrap is visible at `op`, unless its origin was recorded before."""
        wrap_order = {op: number for number, op in enumerate(self._wraps)}
        origin = min(wrapped_number.origins, key=lambda op: wrap_order.get(op, len(wrap_order)))
        if origin in self.visible_wraps:
            return
        row, *lane = position
        witness = witness_at(scope, row, lane)
        program, wrap = int(scope.linear[row]), self._wraps[origin]
        loop = next((outer for outer in enclosing_ops(wrap.op) if outer.name in LOOPS), None)
        if loop not in (None, op, *enclosing_ops(op)):  # it shows after its loop
            first = self._first_wraps[origin]
            wrap = first if first.is_of(program) else wrap
            witness = replace(witness, iteration=wrap.iteration)
        ideal, plain = wrap.numbers(program, position)
        self.visible_wraps[origin] = VisibleWrap(origin, op, purpose, witness, ideal, plain)
