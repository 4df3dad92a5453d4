"""`scf`: structured control flow over a batch of programs.

If programs disagree, a branch or trip runs for the programs that take it: their values are selected
by index and the results scattered back. If a condition is unknown, both branches run in doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.branches import either, equal_constants, in_doubt, selected
from kvtrace.evaluate.compiler import CompiledBlock, Compiler, attribute, slots_of
from kvtrace.evaluate.errors import Deadlock, TooLarge, UnsupportedOp
from kvtrace.evaluate.registry import Step, place, semantics
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import ValueType, value_type
from kvtrace.evaluate.values import (
    Array,
    Sum,
    Unknown,
    constant_sum,
    merge_programs,
    select_programs,
    to_array,
    unknown_of,
)
from kvtrace.ir import Op
from kvtrace.ir.flow import deciding
from kvtrace.ir.integers import counter_ranges, signed_range, wraps_around

# -- if ---------------------------------------------------------------------------------------


@semantics("scf.if")
def if_(op: Op, compiler: Compiler) -> Step:
    """Return the step that runs the branch of each program."""
    condition_slot = op.operand("condition").id
    results = slots_of(op.results)
    types = [value_type(value.type) for value in op.results]
    branches = [
        compiler.block(region.blocks[0]) if region.blocks else None for region in op.regions
    ]
    branches += [None] * (2 - len(branches))

    def run_one(branch: CompiledBlock | None, values: list[Any], scope: Scope) -> None:
        if branch is None:
            return
        for slot, value in zip(results, branch.run(values, scope), strict=True):
            values[slot] = value

    def run_both(values: list[Any], scope: Scope, unknown: Unknown) -> None:
        doubtful = scope.doubtful(unknown.reason)
        outcomes = [branch.run(list(values), doubtful) for branch in branches if branch is not None]
        for position, slot in enumerate(results):
            first, second = outcomes[0][position], outcomes[1][position]
            values[slot] = either(first, second, unknown)

    def run_parts(values: list[Any], scope: Scope, takes_first: Array) -> None:
        parts: list[tuple[Array, list[Any]]] = []
        for branch, index in zip(
            branches, (np.flatnonzero(takes_first), np.flatnonzero(~takes_first)), strict=True
        ):
            if branch is None:
                continue
            inner = selected(values, branch.outer, index, every=False)
            parts.append((index, branch.run(inner, scope.restricted(index))))
        for position, slot in enumerate(results):
            pieces = [(index, outcome[position]) for index, outcome in parts]
            values[slot] = merge_programs(pieces, scope.programs, types[position])

    def step(values: list[Any], scope: Scope) -> None:
        condition = values[condition_slot]
        if isinstance(condition, Unknown):
            run_both(values, scope, condition)
            return
        if isinstance(condition, bool):
            run_one(branches[0 if condition else 1], values, scope)
            return
        takes_first = to_array(condition, None).reshape(-1)
        if takes_first.all():
            run_one(branches[0], values, scope)
        elif not takes_first.any():
            run_one(branches[1], values, scope)
        else:
            run_parts(values, scope, takes_first)

    return step


@semantics("scf.index_switch")
def index_switch(op: Op, compiler: Compiler) -> Step:
    """Return the step of the region whose case equals the operand, else the first (default)."""
    selector = op.operand("selector").id
    selector_type = value_type(op.operand("selector").type)
    cases = [int(case) for case in attribute(op, "cases", [])]
    results = slots_of(op.results)
    types = [value_type(value.type) for value in op.results]
    blocks = [compiler.block(region.blocks[0]) for region in op.regions]

    def in_doubt_of_all(values: list[Any], scope: Scope, unknown: Unknown) -> None:
        doubtful = scope.doubtful(unknown.reason)
        outcomes = [block.run(list(values), doubtful) for block in blocks]
        for position, slot in enumerate(results):
            joined = outcomes[0][position]
            for outcome in outcomes[1:]:
                joined = either(joined, outcome[position], unknown)
            values[slot] = joined

    def step(values: list[Any], scope: Scope) -> None:
        chosen = values[selector]
        if isinstance(chosen, Unknown):
            in_doubt_of_all(values, scope, chosen)
            return
        numbers = to_array(chosen, selector_type).reshape(-1)
        numbers = np.broadcast_to(numbers, (scope.programs,))
        parts: list[tuple[Array, list[Any]]] = []
        default = ~np.isin(numbers, cases)
        for block, selected_programs in zip(
            blocks, [default, *(numbers == c for c in cases)], strict=True
        ):
            index = np.flatnonzero(selected_programs)
            if not len(index):
                continue
            every = len(index) == scope.programs
            inner = selected(values, block.outer, index, every=every)
            parts.append((index, block.run(inner, scope if every else scope.restricted(index))))
        for position, slot in enumerate(results):
            pieces = [(index, outcome[position]) for index, outcome in parts]
            values[slot] = (
                pieces[0][1]
                if len(pieces) == 1
                else merge_programs(pieces, scope.programs, types[position])
            )

    return step


# -- for --------------------------------------------------------------------------------------


_MOST_TRIPS: Final = 1 << 20
"""The most trips of a loop whose counter wraps around, which may never end."""
_FIRST_TRIPS: Final = 1 << 10
"""The number of trips that run if there are more, so that their accesses are reported."""
_FAR: Final = 1 << 62


@semantics("scf.for")
def for_(op: Op, compiler: Compiler) -> Step:
    """Return the step of a loop that counts from a lower bound to an upper one, carrying values.

    The counter wraps around at its width, as on a device.
    """
    if "unsignedCmp" in op.attributes:
        raise UnsupportedOp(f"the loop at {place(op)} compares unsigned integers")
    return _For(op, compiler).step


class _For:
    def __init__(self, op: Op, compiler: Compiler) -> None:
        self.op = op
        self.body = compiler.block(op.regions[0].blocks[0])
        self.bounds = slots_of(deciding(op))
        self.initial = slots_of(op.group("initial"))
        self.results = slots_of(op.results)
        self.type = value_type(op.operand("first").type)
        self.types = [value_type(value.type) for value in op.results]

    def step(self, values: list[Any], scope: Scope) -> None:
        bounds = [values[slot] for slot in self.bounds]
        unknown = unknown_of(bounds)
        if unknown is not None:
            self._once_in_doubt(values, scope, unknown)
            return
        numbers = [_uniform_integer(bound) for bound in bounds]
        if all(number is not None for number in numbers):
            low, high, by = (int(number) for number in numbers if number is not None)
            self._same_for_all(values, scope, *self._laps(scope, low, high, by))
            return
        self._program_by_program_bounds(values, scope, bounds)

    def _finish(self, values: list[Any], scope: Scope, carried: list[Any], trips: Any) -> None:
        for slot, value in zip(self.results, carried, strict=True):
            values[slot] = value
        if scope.launch.loop_observers:
            counts = np.array(np.broadcast_to(np.asarray(trips, np.int64), (scope.programs,)))
            for observer in scope.launch.loop_observers:
                observer.loop(self.op, counts)

    def _laps(
        self, scope: Scope, low: int, high: int, by: int
    ) -> tuple[list[range], Deadlock | TooLarge | None]:
        """Return all counters of a loop, as one range until each wraparound.

        If there are too many, return the counters of some trips, and the error to raise after them.
        """
        bits = self.type.element.bits
        if not wraps_around(low, high, by, bits):
            return [range(low, high, by)] if low < high else [], None
        loop = f"the loop at {place(self.op)} in kernel {scope.launch.kernel!r}"
        if by == 0:
            complaint = f"{loop} never ends: it counts from {low:,} to {high:,} in steps of 0"
            return [range(low, low + 1)], Deadlock(complaint)
        ranges: list[range] = []
        trips = 0
        for lap in counter_ranges(low, high, by, bits):
            ranges.append(lap)
            trips += len(lap)
            if trips > _MOST_TRIPS:
                break
        else:
            return ranges, None
        least, most = signed_range(bits)
        last_before, first_after = (most, least) if by > 0 else (least, most)
        complaint = (
            f"{loop}, which counts from {low:,} to {high:,} in steps of {by:,}, passes "
            f"{last_before:,} and continues near {first_after:,}: it takes more than the "
            f"{_MOST_TRIPS:,} trips that such a loop is given; fix its bounds"
        )
        return [ranges[0][:_FIRST_TRIPS]], TooLarge(complaint)

    def _same_for_all(
        self,
        values: list[Any],
        scope: Scope,
        counters: Sequence[range],
        error: Deadlock | TooLarge | None,
    ) -> None:
        body = self.body
        trips = sum(map(len, counters))
        scope.launch.afford(trips * (1 + len(body.steps)), scope.programs)
        induction, *arguments = body.arguments
        carried = [values[slot] for slot in self.initial]
        inner = scope.at_iteration(0)
        for trip, number in enumerate(chain.from_iterable(counters)):
            inner.iteration = trip
            values[induction] = constant_sum(number)
            for slot, value in zip(arguments, carried, strict=True):
                values[slot] = value
            carried = body.run(values, inner)
        if error is not None:
            raise error
        self._finish(values, scope, carried, trips)

    def _program_by_program_bounds(
        self, values: list[Any], scope: Scope, bounds: list[Any]
    ) -> None:
        programs = scope.programs
        low, high, by = (
            np.broadcast_to(to_array(bound, self.type).astype(np.int64), (programs,))
            for bound in bounds
        )
        trips = self._trips(scope, low, high, by)
        carried = [values[slot] for slot in self.initial]
        scope.launch.afford(int(trips.max(initial=0)) * (1 + len(self.body.steps)), 1)
        for trip in range(int(trips.max(initial=0))):
            index = np.flatnonzero(trips > trip)
            counter = (low + trip * by).astype(self.type.element.value).astype(np.int64)
            carried = self._trip(values, scope, carried, index, counter, trip)
        self._finish(values, scope, carried, trips)

    def _trips(self, scope: Scope, low: Array, high: Array, by: Array) -> Array:
        """Return the number of trips of each program."""
        _, most = signed_range(self.type.element.bits)
        if max(-int(low.min(initial=0)), int(high.max(initial=0))) > _FAR:  # the distance overflows
            low, high, by = (bound.astype(object) for bound in (low, high, by))
        upward = np.where(by > 0, by, 1)
        runs = low < high
        trips = np.where(runs, -((low - high) // upward), 0)
        last = low + (trips - 1) * upward
        for program in np.flatnonzero(runs & ((by <= 0) | (last > most - upward))):
            bounds = (int(bound[program]) for bound in (low, high, by))
            counters, error = self._laps(scope, *bounds)
            if error is not None:
                raise error
            trips[program] = sum(map(len, counters))
        counts: NDArray[np.int64] = np.minimum(trips, _FAR).astype(np.int64)
        return counts

    def _trip(
        self,
        values: list[Any],
        scope: Scope,
        carried: list[Any],
        index: Array,
        counter: Array,
        trip: int,
    ) -> list[Any]:
        """Run one trip for the programs in `index`; return the carried values of all programs."""
        body = self.body
        induction, *arguments = body.arguments
        every = len(index) == scope.programs
        inner = selected(values, body.outer, index, every=every)
        active = scope if every else scope.restricted(index)
        numbers = counter if every else counter[index]
        inner[induction] = Sum(0, (numbers,), int(numbers.min()), int(numbers.max()))
        for slot, value in zip(arguments, carried, strict=True):
            inner[slot] = value if every else select_programs(value, index)
        outcome = body.run(inner, active.at_iteration(trip))
        if every:
            return outcome
        return replaced(carried, outcome, index, scope.programs, self.types)

    def _once_in_doubt(self, values: list[Any], scope: Scope, unknown: Unknown) -> None:
        """Run the body once for any trip: counter and carried values are unknown."""
        body = self.body
        inner = list(values)
        induction, *arguments = body.arguments
        inner[induction] = unknown
        starts = [values[slot] for slot in self.initial]
        for slot, value in zip(arguments, starts, strict=True):
            inner[slot] = in_doubt(value, unknown)
        outcome = body.run(inner, scope.doubtful(unknown.reason))
        carried = [
            either(start, in_doubt(value, unknown), unknown)
            for start, value in zip(starts, outcome, strict=True)
        ]
        self._finish(values, scope, carried, -1)


def replaced(
    before: list[Any], after: list[Any], index: Array, programs: int, types: list[ValueType]
) -> list[Any]:
    """Return the values of all programs, with those of some programs replaced."""
    everyone = np.ones(programs, np.bool_)
    everyone[index] = False
    rest = np.flatnonzero(everyone)
    return [
        merge_programs([(rest, select_programs(old, rest)), (index, new)], programs, type_)
        for old, new, type_ in zip(before, after, types, strict=True)
    ]


def _uniform_integer(value: Any) -> int | None:
    if isinstance(value, Sum):
        if not value.terms:
            return value.constant
        if value.low == value.high:
            return value.low
        array: Any = value.terms[0]
        if len(value.terms) > 1:
            return None
        array = array + value.constant
    else:
        array = value
    first = array.flat[0]
    return int(first) if array.size == 1 or (array == first).all() else None


# -- while ------------------------------------------------------------------------------------


@semantics("scf.while")
def while_(op: Op, compiler: Compiler) -> Step:
    """Return the step of a loop that repeats while the first region's condition holds."""
    return _While(op, compiler).step


class _While:
    def __init__(self, op: Op, compiler: Compiler) -> None:
        self.op = op
        self.before = compiler.block(op.regions[0].blocks[0])
        self.after = compiler.block(op.regions[1].blocks[0])
        self.initial = slots_of(op.group("initial"))
        self.results = slots_of(op.results)
        self.initial_types = [value_type(value.type) for value in op.group("initial")]
        self.types = [value_type(value.type) for value in op.results]
        self.outer = self.before.outer | self.after.outer

    def step(self, values: list[Any], scope: Scope) -> None:
        programs = scope.programs
        trips: NDArray[np.int64] = np.zeros(programs, np.int64)
        carried = [values[slot] for slot in self.initial]
        results: list[Any] | None = None
        index = np.arange(programs)
        trip = 0
        while len(index):
            every = len(index) == programs
            inner = selected(values, self.outer, index, every=every)
            active = (scope if every else scope.restricted(index)).at_iteration(trip)
            version = scope.launch.memory.version
            current = carried if every else [select_programs(v, index) for v in carried]
            for slot, value in zip(self.before.arguments, current, strict=True):
                inner[slot] = value
            condition, *forwarded = self.before.run(inner, active)
            if isinstance(condition, Unknown):
                doubt = Unknown(condition.sources)
                self._once_in_doubt(values, scope, doubt, forwarded)
                return
            flags = np.broadcast_to(
                np.asarray(condition) if isinstance(condition, bool) else
                to_array(condition, None).reshape(-1),
                (len(index),),
            )  # fmt: skip
            if every:
                results = forwarded
            else:
                assert results is not None
                results = replaced(results, forwarded, index, programs, self.types)
            if not flags.any():
                break
            carried, index = self._second(carried, forwarded, inner, active, index, flags, programs)
            trips[index] += 1
            trip += 1
            if flags.all() and version == scope.launch.memory.version:
                after = carried if every else [select_programs(v, index) for v in carried]
                self._check_progress(current, after, active)
        for slot, value in zip(self.results, results or [], strict=True):
            values[slot] = value
        for observer in scope.launch.loop_observers:
            observer.loop(self.op, trips)

    def _second(
        self,
        carried: list[Any],
        forwarded: list[Any],
        inner: list[Any],
        active: Scope,
        index: Array,
        flags: Array,
        programs: int,
    ) -> tuple[list[Any], Array]:
        """Run the second region for programs that continue; return their values and indices."""
        if not flags.all():
            going = np.flatnonzero(flags)
            inner = selected(inner, self.after.outer, going, every=False)
            forwarded = [select_programs(value, going) for value in forwarded]
            active, index = active.restricted(going), index[going]
        for slot, value in zip(self.after.arguments, forwarded, strict=True):
            inner[slot] = value
        outcome = self.after.run(inner, active)
        if len(index) == programs:
            return outcome, index
        return replaced(carried, outcome, index, programs, self.initial_types), index

    def _check_progress(self, before: list[Any], after: list[Any], scope: Scope) -> None:
        """Let other programs run if a trip changed neither memory nor the carried values."""
        if not all(
            first is second or equal_constants(first, second)
            for first, second in zip(before, after, strict=True)
        ):
            return
        complaint = (
            f"the loop at {place(self.op)} in kernel {scope.launch.kernel!r} waits forever: a "
            f"trip of program {int(scope.linear[0])} changes neither memory nor any value, and "
            "no other program will"
        )
        if scope.launch.turns is None:
            raise Deadlock(complaint)
        scope.launch.turns.wait_for_change(complaint)

    def _once_in_doubt(
        self, values: list[Any], scope: Scope, unknown: Unknown, forwarded: list[Any]
    ) -> None:
        inner = list(values)
        for slot, value in zip(self.after.arguments, forwarded, strict=True):
            inner[slot] = in_doubt(value, unknown)
        self.after.run(inner, scope.doubtful(unknown.reason))
        for slot, value in zip(self.results, forwarded, strict=True):
            values[slot] = in_doubt(value, unknown)
        for observer in scope.launch.loop_observers:
            observer.loop(self.op, np.full(scope.programs, -1, np.int64))
