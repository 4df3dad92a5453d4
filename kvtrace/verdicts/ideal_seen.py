"""Observations of an evaluation with ideal numbers: ops that wrap around, and what they decide."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from kvtrace.evaluate.shadows.driver import is_unknown
from kvtrace.evaluate.shadows.ideal.wrapped import WrappedNumber, ideal_numbers
from kvtrace.evaluate.types import ValueType, element_of, value_type
from kvtrace.evaluate.values import Array, actual, to_array
from kvtrace.ir import Op, Value
from kvtrace.ir.integers import counter_ranges, signed_range, wrapped, wraps_around
from kvtrace.ir.ops import MEMORY
from kvtrace.verdicts.deciding import Purpose
from kvtrace.verdicts.replaying import program_at


@dataclass(frozen=True)
class Shown:
    """The first place where a wrap shows: the op that wrapped, its numbers, and the op it decides.

    `origin` is the index of the op that wrapped; `ideal` and `actual` are its numbers in that
    program. `by` is the op whose `purpose` differs.
    """

    origin: int
    by: Op
    purpose: Purpose
    program: tuple[int, int, int]
    iteration: int
    lane: tuple[int, ...]
    ideal: int
    actual: int


class Seen:
    """The observations of one evaluation.

    Attributes:
        shown: by the index of the op that wrapped, where the wrap first showed for certain.
        wrapped_ops: indices of the ops that wrapped, whether or not the wrap showed.
        reached: by the index of an op, the ops whose wraps changed its numbers.
        hidden: indices of the ops whose wraps may have been missed: contents were not recorded, or
            an op on the way has no exact meaning here.
        blind: an address, mask or branch was unknown, so a wrap in it may have been missed.
    """

    def __init__(self, deciding: Collection[int]) -> None:
        """`deciding`: indices of the ops whose integers decide something."""
        self.shown: dict[int, Shown] = {}
        self.wrapped_ops: set[int] = set()
        self.reached: dict[int, set[int]] = {}
        self.hidden: set[int] = set()
        self.blind = False
        self._deciding = deciding
        self._wraps: dict[int, tuple[Any, Array, Array]] = {}

    def wrapped(self, op: Op, scope: Any, ideal: Array, plain: Array) -> None:
        """Note that an op wrapped around, with its ideal and actual numbers."""
        self.wrapped_ops.add(op.index)
        self._wraps[op.index] = (scope.linear, ideal, plain)

    def let_go(self) -> None:
        """Drop the numbers of lanes after the evaluation has ended."""
        self._wraps.clear()

    def lose(self, operands: Iterable[Any]) -> None:
        """Note that wrapped values are not carried further."""
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
        """Compare the ideal and actual numbers of a value that decides something."""
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
        differs = self._differing(number, type_, purpose)
        if active is not True:
            flags = replace(type_, element=element_of("i1"), pointer=False)
            mask = to_array(actual(active), flags)
            differs = np.broadcast_to(differs, (len(differs), *type_.shape)) & mask
        places = np.argwhere(differs)
        if len(places):
            self._show(op, number, scope, purpose, tuple(map(int, places[0])))

    def counts(self, op: Op, bounds: Sequence[Any], scope: Any) -> None:
        """Note whether the counter of a starting loop wraps around, by the loop's bounds."""
        if any(map(is_unknown, bounds)) or not scope.certain:
            self.hidden.add(op.index)
            return
        type_ = value_type(op.operand("first").type)
        bits = type_.element.bits
        first, end, step = (
            np.broadcast_to(to_array(bound, type_).reshape(-1), (scope.programs,))
            for bound in bounds
        )
        beyond = (step <= 0) | (end - 1 > signed_range(bits)[1] - step)
        for number in np.flatnonzero((first < end) & beyond):
            if op.index in self.shown:
                return
            numbers = (int(first[number]), int(end[number]), int(step[number]))
            if wraps_around(*numbers, bits):
                lap = next(counter_ranges(*numbers, bits))
                after = lap[-1] + numbers[2]
                self.wrapped_ops.add(op.index)
                self.shown[op.index] = Shown(
                    op.index, op, "loop", program_at(int(scope.linear[number]), scope.launch.grid),
                    len(lap) - 1, (), after, wrapped(after, bits),
                )  # fmt: skip

    def _is_irrelevant(self, op: Op, value: Value) -> bool:
        """Return whether a condition decides nothing relevant."""
        if op.name in MEMORY:
            return False
        return isinstance(value.owner, Op) and value.owner.index not in self._deciding

    def _differing(self, number: WrappedNumber, type_: ValueType, purpose: Purpose) -> Array:
        plain = ideal_numbers(number.actual, type_)
        differs = np.asarray(number.shadow != plain, np.bool_)
        if purpose == "index":  # memory does not say whether it holds unsigned integers
            bits = type_.element.bits
            low = -(1 << (bits - 1))
            differs &= np.asarray((number.shadow < low) | (number.shadow >= 1 << bits), np.bool_)
        return differs

    def _show(
        self,
        op: Op,
        number_: WrappedNumber,
        scope: Any,
        purpose: Purpose,
        position: tuple[int, ...],
    ) -> None:
        earliest = {op: number for number, op in enumerate(self._wraps)}
        origin = min(number_.origins, key=lambda op: earliest.get(op, len(earliest)))
        if origin in self.shown:
            return
        number, *lane = position
        trips = np.broadcast_to(np.asarray(scope.iteration), len(scope.linear))
        program = int(scope.linear[number])
        ideal, plain = self._numbers(origin, program)
        self.shown[origin] = Shown(
            origin, op, purpose, program_at(program, scope.launch.grid), int(trips[number]),
            tuple(lane), ideal, plain,
        )  # fmt: skip

    def _numbers(self, origin: int, program: int) -> tuple[int, int]:
        """Return the ideal and the actual number of an op that wrapped in a program."""
        linear, ideal, plain = self._wraps[origin]
        ideal, plain = np.broadcast_arrays(ideal, plain)
        places = np.argwhere(ideal != plain)
        in_program = [p for p in places if ideal.shape[0] == 1 or linear[p[0]] == program]
        position = tuple(in_program[0] if in_program else places[0])
        return int(ideal[position]), int(plain[position])
