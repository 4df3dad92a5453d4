"""What an evaluation with ideal numbers sees: which ops wrap around, and what that decides."""

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
from kvtrace.ir.integers import laps, signed_range, wrapped, wraps_around
from kvtrace.ir.ops import MEMORY
from kvtrace.verdicts.deciding import Purpose
from kvtrace.verdicts.replaying import program_at


@dataclass(frozen=True)
class Shown:
    """Where a wrap first showed: which op wrapped (index), with what, and what that decides.

    `ideal` and `actual` are those of the op that wrapped, in that program; `by` is the op that is
    decided.
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
    """What was seen of one evaluation.

    Attributes:
        shown: by the index of the op that wrapped, where it first showed for certain.
        wrapped_ops: indices of the ops that wrapped, whether or not it showed.
        reached: by the index of an op, those that wrapped and made its numbers others.
        hidden: indices of the ops that were not followed: contents were not recorded, or an op on
            the way has no exact meaning here.
        blind: some address, mask or branch was unknown, so that a wrap in it was not seen.

    """

    def __init__(self, deciding: Collection[int]) -> None:
        """Make what has seen nothing; `deciding`: indices of the ops that decide something."""
        self.shown: dict[int, Shown] = {}
        self.wrapped_ops: set[int] = set()
        self.reached: dict[int, set[int]] = {}
        self.hidden: set[int] = set()
        self.blind = False
        self._deciding = deciding
        self._wraps: dict[int, tuple[Any, Array, Array]] = {}

    def wrapped(self, op: Op, scope: Any, ideal: Array, plain: Array) -> None:
        """Note that an op wrapped around: what it would give, and what it gives."""
        self.wrapped_ops.add(op.index)
        self._wraps[op.index] = (scope.linear, ideal, plain)

    def let_go(self) -> None:
        """Keep no numbers of lanes any more: the evaluation has ended."""
        self._wraps.clear()

    def lose(self, given: Iterable[Any]) -> None:
        """Note that what has wrapped is not followed further."""
        for value in given:
            if isinstance(value, WrappedNumber):
                self.hidden |= value.origins

    def use(
        self,
        op: Op,
        value: Value,
        held: Any,
        scope: Any,
        purpose: Purpose,
        *,
        active: Any = True,
    ) -> None:
        """Compare a number that decides something."""
        if is_unknown(held) or is_unknown(active):
            self.blind = True
        if not isinstance(held, WrappedNumber) or not held.origins or self._is_undecided(op, value):
            return
        if is_unknown(held.actual) or is_unknown(active) or not scope.certain:
            self.hidden |= held.origins
            return
        type_ = value_type(value.type)
        differs = self._differing(held, type_, purpose)
        if active is not True:
            flags = replace(type_, element=element_of("i1"), pointer=False)
            mask = to_array(actual(active), flags)
            differs = np.broadcast_to(differs, (len(differs), *type_.shape)) & mask
        places = np.argwhere(differs)
        if len(places):
            self._show(op, held, scope, purpose, tuple(map(int, places[0])))

    def counts(self, op: Op, bounds: Sequence[Any], scope: Any) -> None:
        """Look whether the counter of a loop that begins wraps around: its bounds say so."""
        if any(map(is_unknown, bounds)) or not scope.certain:
            self.hidden.add(op.index)
            return
        type_ = value_type(op.operand("first").type)
        bits = type_.element.bits
        first, end, step = (
            np.broadcast_to(to_array(each, type_).reshape(-1), (scope.programs,)) for each in bounds
        )
        beyond = (step <= 0) | (end - 1 > signed_range(bits)[1] - step)
        for number in np.flatnonzero((first < end) & beyond):
            if op.index in self.shown:
                return
            numbers = (int(first[number]), int(end[number]), int(step[number]))
            if wraps_around(*numbers, bits):
                lap = next(laps(*numbers, bits))
                after = lap[-1] + numbers[2]
                self.wrapped_ops.add(op.index)
                self.shown[op.index] = Shown(
                    op.index, op, "loop", program_at(int(scope.linear[number]), scope.launch.grid),
                    len(lap) - 1, (), after, wrapped(after, bits),
                )  # fmt: skip

    def _is_undecided(self, op: Op, value: Value) -> bool:
        """Whether a condition decides nothing that counts."""
        if op.name in MEMORY:
            return False
        return isinstance(value.owner, Op) and value.owner.index not in self._deciding

    def _differing(self, held: WrappedNumber, type_: ValueType, purpose: Purpose) -> Array:
        plain = ideal_numbers(held.actual, type_)
        differs = np.asarray(held.shadow != plain, np.bool_)
        if purpose == "index":  # memory does not say whether it holds unsigned integers
            bits = type_.element.bits
            low = -(1 << (bits - 1))
            differs &= np.asarray((held.shadow < low) | (held.shadow >= 1 << bits), np.bool_)
        return differs

    def _show(
        self, op: Op, held: WrappedNumber, scope: Any, purpose: Purpose, place: tuple[int, ...]
    ) -> None:
        earliest = {op: number for number, op in enumerate(self._wraps)}
        origin = min(held.origins, key=lambda op: earliest.get(op, len(earliest)))
        if origin in self.shown:
            return
        number, *lane = place
        trips = np.broadcast_to(np.asarray(scope.iteration), len(scope.linear))
        program = int(scope.linear[number])
        ideal, plain = self._numbers(origin, program)
        self.shown[origin] = Shown(
            origin, op, purpose, program_at(program, scope.launch.grid), int(trips[number]),
            tuple(lane), ideal, plain,
        )  # fmt: skip

    def _numbers(self, origin: int, program: int) -> tuple[int, int]:
        """Return what an op would have given in a program, and what it gave."""
        linear, ideal, plain = self._wraps[origin]
        ideal, plain = np.broadcast_arrays(ideal, plain)
        places = np.argwhere(ideal != plain)
        here = [p for p in places if ideal.shape[0] == 1 or linear[p[0]] == program]
        at = tuple(here[0] if here else places[0])
        return int(ideal[at]), int(plain[at])
