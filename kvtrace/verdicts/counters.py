"""Ranges of the results of atomic additions to counters that a launch only counts up.

The result of an addition is at least the counter's recorded integer, and exceeds it by at most what
the whole launch adds. That is bounded by the programs, lanes and trips of all additions. A loop
that goes on while the number that it last drew is below a bound runs at most once for each number
below, and once more in each program, as a number is not drawn twice before the counter wraps:

    tile = tl.atomic_add(counter, 1)
    while tile < tiles:  # at most `tiles` trips in all programs together
        ...
        tile = tl.atomic_add(counter, 1)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING

import numpy as np

from kvtrace.ir.feeding import feeding
from kvtrace.ir.flow import counter_of
from kvtrace.symbolic.conditions import TRUE, AtLeast, at_least
from kvtrace.symbolic.functions import Choice
from kvtrace.symbolic.prover import Interval
from kvtrace.symbolic.summary import Access, Loop, Summary
from kvtrace.symbolic.terms import ZERO, Symbol, Term, programs, signed_range

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.symbolic.prover import Ranges


class Counters:
    """The counters of one call: tensors that its kernel changes only by adding to them."""

    def __init__(self, call: Call, summary: Summary, ranges: Ranges) -> None:
        self._call = call
        self._summary = summary
        self._ranges = ranges
        self._computed: dict[int, Interval | None] = {}

    def range_of(self, symbol: Symbol) -> Interval | None:
        """Return the range of an addition's results, None if unknown or for other symbols."""
        if symbol.kind != "unknown" or not isinstance(symbol.key, tuple):
            return None
        index = symbol.key[0]
        if index not in self._computed:
            self._computed[index] = None  # what the range itself depends on has no range
            self._computed[index] = self._range(index)
        return self._computed[index]

    def draws_no_number_twice(self, index: int, unit: int = 1) -> bool:
        """Return whether a launch adds too little for the counter of an addition to wrap around.

        Nor may places of `unit` bytes for each number, which are addresses, modulo 2^64.
        """
        additions = self._additions(index)
        if not additions:
            return False
        low, high = signed_range(8 * additions[0].element_bytes)
        total = self._total(additions, low)
        if total is None or total > high - low:
            return False
        # Narrower numbers that wrap around are extended to places far below.
        is_narrow = additions[0].element_bytes < 8
        return (high - low + 1 if is_narrow else total) * unit <= 1 << 64

    def _range(self, index: int) -> Interval | None:
        additions = self._additions(index)
        return self._range_by(additions) if additions else None

    def _range_by(self, additions: Sequence[Access]) -> Interval | None:
        """Return the range of the numbers of counters that only these additions change."""
        numbers = self._numbers(additions)
        if numbers is None:
            return None
        low, high = numbers
        total = self._total(additions, low)
        widest = signed_range(8 * additions[0].element_bytes)
        return None if total is None or high + total > widest[1] else (low, high + total)

    def _additions(self, index: int) -> Sequence[Access]:
        """Return all accesses that change the tensor to which an op adds; empty: not by adding."""
        accesses = [a for a in self._summary.accesses if a.kind != "load"]
        storages = {
            tensor.storage
            for access in accesses
            if access.op.index == index
            and (tensor := self._call.tensor_at(access.argument)) is not None
        }
        if len(storages) != 1:
            return ()
        changes = [
            access
            for access in accesses
            if (tensor := self._call.tensor_at(access.argument)) is None
            or tensor.storage in storages
        ]
        additions = [change for change in changes if self._is_counting(change)]
        others = [change for change in changes if change not in additions]
        widths = {addition.element_bytes for addition in additions}
        is_counter = len(widths) == 1 and (not others or self._are_apart(additions, others))
        return additions if is_counter else ()

    def _are_apart(self, additions: Sequence[Access], others: Sequence[Access]) -> bool:
        """Return whether other accesses change no counter, where drawn numbers decide their places.

        Until the first of them does, all numbers are drawn from what additions alone have left, so
        that none is the first.
        """
        drawn, values = self._range_by(additions), self._summary.values
        results = [values.get(a.op.results[0].id) for a in additions if a.op.results]
        if drawn is None or not all(a.mask is TRUE and a.unknown is None for a in additions):
            return False
        ranges = self._ranges.supposing({
            (symbol.kind, symbol.key): drawn
            for result in results
            if isinstance(result, Term)
            for symbol in result.symbols("unknown")
        })  # fmt: skip
        start, end = self._counters(additions, ranges)
        for other in others:
            first, last = self._bytes(other, ranges)
            if last > start and first < end:
                return False
            feeders = feeding(other.op, self._call.module)
            for arithmetic in self._summary.arithmetic:
                smallest, largest = ranges.interval(arithmetic.result)
                low, high = signed_range(arithmetic.bits)
                if arithmetic.op.index in feeders and not low <= smallest <= largest <= high:
                    return False
        return True

    def _bytes(self, access: Access, ranges: Ranges) -> Interval:
        """Return the bytes of a storage to which an access may be: the first, and the end."""
        tensor = self._call.tensor_at(access.argument)
        if tensor is None or access.unknown is not None:
            return -(1 << 64), 1 << 64
        low, high = ranges.interval(access.offset)
        return low + tensor.offset_bytes, high + tensor.offset_bytes + access.element_bytes

    def _is_counting(self, access: Access) -> bool:
        """Return whether an access adds numbers that are not negative to integers of its tensor."""
        tensor, size = self._call.tensor_at(access.argument), access.element_bytes
        if tensor is None or access.operator != "add" or access.unknown is not None:
            return False
        steps = (*access.offset.coefficients.values(), tensor.offset_bytes)
        return self._steps(access)[0] >= 0 and not any(step % size for step in steps)

    def _steps(self, addition: Access) -> Interval:
        """Return the least and the largest number that an atomic adds; (-1, -1): not known."""
        step = self._summary.values.get(addition.op.operand("value").id)
        return self._ranges.supposing({}).interval(step) if isinstance(step, Term) else (-1, -1)

    def _numbers(self, additions: Sequence[Access]) -> Interval | None:
        """Return the smallest and the largest recorded integer to which accesses may add."""
        size = additions[0].element_bytes
        tensors = [self._call.tensor_at(addition.argument) for addition in additions]
        first, end = self._counters(additions, self._ranges.supposing({}))
        if first < 0 or any(tensor is None or end > tensor.storage.nbytes for tensor in tensors):
            return None
        lows, highs = [], []
        for call in (self._call, *self._call.others):
            data = call.tensor(additions[0].argument or 0).storage.data
            if data is None or len(data) < end:
                return None
            numbers = data[first:end].view(f"i{size}")
            lows.append(int(np.min(numbers)))
            highs.append(int(np.max(numbers)))
        return min(lows), max(highs)

    def _counters(self, additions: Sequence[Access], ranges: Ranges) -> Interval:
        """Return the bytes of a storage from the first to the last counter."""
        places = [self._bytes(addition, ranges) for addition in additions]
        return min(first for first, _ in places), max(end for _, end in places)

    # -- numbers of additions ----------------------------------------------------------------------

    def _total(self, additions: Sequence[Access], low: int) -> int | None:
        """Return the most that a launch adds to counters that begin at `low`; None if unbounded."""
        total = 0
        for addition in additions:
            executions = self._executions(addition, additions, low)
            if executions is None:
                return None
            total += executions * math.prod(addition.shape) * self._steps(addition)[1]
        return total

    def _executions(self, access: Access, additions: Sequence[Access], low: int) -> int | None:
        """Return how often programs run an addition at most; None if unknown."""
        ranges = self._ranges.supposing({})
        executions = math.prod(ranges.interval(programs(axis))[1] for axis in range(3))
        is_drawing = False
        for loop in access.loops:
            if counter_of(loop.op) is not None:
                executions *= max(0, ranges.interval(loop.trips)[1])
                continue
            last = self._last_number(loop, additions)
            if last is None or is_drawing:
                return None
            executions += max(0, last - low + 1)
            is_drawing = True
        return executions

    def _last_number(self, loop: Loop, additions: Sequence[Access]) -> int | None:
        """Return the largest drawn number with which a loop runs another trip; None if unknown."""
        counters = {(addition.argument, addition.offset.constant) for addition in additions}
        if len(counters) != 1 or additions[0].offset.constant is None:
            return None
        if any(self._steps(addition)[0] <= 0 for addition in additions):
            return None
        draws = {
            addition.op.index
            for addition in additions
            if addition.loops[-1:] == (loop,) and addition.mask.decided and not addition.shape
        }
        ends = (end for _, end in drawn_numbers(loop, draws))
        return next((self._ranges.supposing({}).interval(end)[1] - 1 for end in ends), None)


def drawn_numbers(loop: Loop, draws: Collection[int]) -> Iterator[tuple[Choice, Term]]:
    """Yield the numbers that decide whether a loop goes on, each with the limit that it is below.

    A number was drawn in the trip before, by an atomic that `draws` has by its index.
    """
    trip_before = loop.trip.term - 1
    for condition in loop.going_on.conjuncts():
        term = condition.term if isinstance(condition, AtLeast) else ZERO
        for atom in term.atoms():
            if (
                isinstance(atom, Choice)
                and term.coefficients.get((atom,)) == -1
                and atom.condition == at_least(trip_before)
                and any(
                    atom.then == symbol.term
                    and trip_before in symbol.at
                    and isinstance(symbol.key, tuple)
                    and symbol.key[0] in draws
                    for symbol in atom.then.symbols("unknown")
                )
            ):
                yield atom, term + atom.term + 1
