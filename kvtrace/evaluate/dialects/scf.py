"""`scf`: structured control flow over a batch of programs.

If programs disagree, a branch or trip runs for the programs that take it: their values are selected
by index and the results scattered back. If a condition is unknown, both branches run in doubt.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kvtrace.evaluate.branches import (
    doubtful_value,
    equal_constants,
    selected,
    unknown_branch_value,
    with_replaced_programs,
)
from kvtrace.evaluate.compiler import CompiledBlock, Compiler, slots_of
from kvtrace.evaluate.errors import Deadlock, TooLarge, UnsupportedOp
from kvtrace.evaluate.known import KNOWN_TRIPS
from kvtrace.evaluate.registry import Step, place, semantics
from kvtrace.evaluate.scope import Scope
from kvtrace.evaluate.types import value_type
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
    """Return the step of a branch: each program runs the region that its condition selects."""
    condition_slot = op.operand("condition").id
    results = slots_of(op.results)
    types = [value_type(value.type) for value in op.results]
    branches = [
        compiler.block(region.blocks[0]) if region.blocks else None for region in op.regions
    ]
    branches += [None] * (2 - len(branches))

    def run_branch(branch: CompiledBlock | None, values: list[Any], scope: Scope) -> None:
        if branch is None:
            return
        for slot, value in zip(results, branch.run(values, scope), strict=True):
            values[slot] = value

    def run_both(values: list[Any], scope: Scope, unknown: Unknown) -> None:
        doubtful = scope.doubtful(unknown.reason)
        outcomes = [branch.run(list(values), doubtful) for branch in branches if branch is not None]
        for position, slot in enumerate(results):
            from_then, from_else = outcomes[0][position], outcomes[1][position]
            values[slot] = unknown_branch_value(from_then, from_else, unknown)

    def run_divided(values: list[Any], scope: Scope, takes_then: Array) -> None:
        branch_results: list[tuple[Array, list[Any]]] = []
        indices = np.flatnonzero(takes_then), np.flatnonzero(~takes_then)
        for branch, index in zip(branches, indices, strict=True):
            if branch is not None:
                inner = selected(values, branch.outer, index, every=False)
                branch_results.append((index, branch.run(inner, scope.restricted(index))))
        for position, slot in enumerate(results):
            result_parts = [(index, outcome[position]) for index, outcome in branch_results]
            values[slot] = merge_programs(result_parts, scope.programs, types[position])

    def step(values: list[Any], scope: Scope) -> None:
        condition = values[condition_slot]
        if isinstance(condition, Unknown):
            run_both(values, scope, condition)
            return
        if isinstance(condition, bool):
            run_branch(branches[0 if condition else 1], values, scope)
            return
        takes_then = to_array(condition, None).reshape(-1)
        if takes_then.all():
            run_branch(branches[0], values, scope)
        elif not takes_then.any():
            run_branch(branches[1], values, scope)
        else:
            run_divided(values, scope, takes_then)

    return step


# -- for --------------------------------------------------------------------------------------


_MOST_TRIPS: Final = 1 << 20
"""The most trips of a loop whose counter wraps around, which may never end."""
_FIRST_TRIPS: Final = 1 << 10
"""The number of trips that run if there are more, so that their accesses are reported."""
_FAR: Final = 1 << 62


@semantics("scf.for")
def for_(op: Op, compiler: Compiler) -> Step:
    """Return the step of a loop that counts from a lower to an upper bound and carries values.

    The counter wraps around at its width, as on a device.
    """
    if "unsignedCmp" in op.attributes:
        raise UnsupportedOp(f"the loop at {place(op)} compares unsigned integers")
    return _For(op, compiler).step


class _For:
    def __init__(self, op: Op, compiler: Compiler) -> None:
        self.op = op
        self.body = compiler.block(op.regions[0].blocks[0])
        self.integer = compiler.integer
        self.own_results = set(self.body.operands) - self.body.outer - {*self.body.arguments}
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
        uniform_bounds = [_uniform_integer(bound) for bound in bounds]
        if all(number is not None for number in uniform_bounds):
            low, high, step_size = (int(number) for number in uniform_bounds if number is not None)
            self._run_uniform(values, scope, *self._counter_ranges(scope, low, high, step_size))
            return
        self._run_by_program(values, scope, bounds)

    def _finish(self, values: list[Any], scope: Scope, carried: list[Any], trips: Any) -> None:
        for slot, value in zip(self.results, carried, strict=True):
            values[slot] = value
        if scope.launch.loop_observers:
            counts = np.array(np.broadcast_to(np.asarray(trips, np.int64), (scope.programs,)))
            for observer in scope.launch.loop_observers:
                observer.loop(self.op, counts)

    def _counter_ranges(
        self, scope: Scope, low: int, high: int, step_size: int
    ) -> tuple[list[range], Deadlock | TooLarge | None]:
        """Return the counters as ranges, one per wraparound, and no error.

        If there are too many, return the first trips, and the error to raise after them.
        """
        bits = self.type.element.bits
        if not wraps_around(low, high, step_size, bits):
            return [range(low, high, step_size)] if low < high else [], None
        loop = f"the loop at {place(self.op)} in kernel {scope.launch.kernel!r}"
        if step_size == 0:
            complaint = f"{loop} never ends: it counts from {low:,} to {high:,} in steps of 0"
            return [range(low, low + 1)], Deadlock(complaint)
        ranges: list[range] = []
        trips = 0
        for counter_range in counter_ranges(low, high, step_size, bits):
            ranges.append(counter_range)
            trips += len(counter_range)
            if trips > _MOST_TRIPS:
                break
        else:
            return ranges, None
        lowest, highest = signed_range(bits)
        last_before, first_after = (highest, lowest) if step_size > 0 else (lowest, highest)
        complaint = (
            f"{loop}, which counts from {low:,} to {high:,} in steps of {step_size:,}, passes "
            f"{last_before:,} and continues near {first_after:,}: it needs more than "
            f"{_MOST_TRIPS:,} trips, the limit for such loops; fix its bounds"
        )
        return [ranges[0][:_FIRST_TRIPS]], TooLarge(complaint)

    def _run_uniform(
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
        for trip, counter in enumerate(chain.from_iterable(counters)):
            inner.iteration = trip
            known = self.integer if trip < KNOWN_TRIPS else constant_sum
            values[induction] = known(counter)
            for slot, value in zip(arguments, carried, strict=True):
                values[slot] = value
            carried = []  # a reference keeps memory from being used again
            carried = body.run(values, inner)
            for slot in self.own_results:
                values[slot] = None
        if error is not None:
            raise error
        self._finish(values, scope, carried, trips)

    def _run_by_program(self, values: list[Any], scope: Scope, bounds: list[Any]) -> None:
        programs = scope.programs
        low, high, step_size = (
            np.broadcast_to(to_array(bound, self.type).astype(np.int64), (programs,))
            for bound in bounds
        )
        trips = self._trips(scope, low, high, step_size)
        carried = [values[slot] for slot in self.initial]
        scope.launch.afford(int(trips.max(initial=0)) * (1 + len(self.body.steps)), 1)
        for trip in range(int(trips.max(initial=0))):
            index = np.flatnonzero(trips > trip)
            counter = (low + trip * step_size).astype(self.type.element.value).astype(np.int64)
            carried = self._trip(values, scope, carried, index, counter, trip)
        self._finish(values, scope, carried, trips)

    def _trips(self, scope: Scope, low: Array, high: Array, step_size: Array) -> Array:
        """Return the number of trips of each program, at most 2**62."""
        _, highest = signed_range(self.type.element.bits)
        if max(-int(low.min(initial=0)), int(high.max(initial=0))) > _FAR:  # the distance overflows
            low, high, step_size = (bound.astype(object) for bound in (low, high, step_size))
        upward = np.where(step_size > 0, step_size, 1)
        runs = low < high
        trips = np.where(runs, -((low - high) // upward), 0)
        last = low + (trips - 1) * upward
        for program in np.flatnonzero(runs & ((step_size <= 0) | (last > highest - upward))):
            bounds = (int(bound[program]) for bound in (low, high, step_size))
            counters, error = self._counter_ranges(scope, *bounds)
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
        active_counters = counter if every else counter[index]
        low, high = int(active_counters.min()), int(active_counters.max())
        inner[induction] = Sum(0, (active_counters,), low, high)
        for slot, value in zip(arguments, carried, strict=True):
            inner[slot] = value if every else select_programs(value, index)
        outcome = body.run(inner, active.at_iteration(trip))
        if every:
            return outcome
        return with_replaced_programs(carried, outcome, index, scope.programs, self.types)

    def _once_in_doubt(self, values: list[Any], scope: Scope, unknown: Unknown) -> None:
        """Run the body once with unknown counter and carried values, as its trips are unknown."""
        body = self.body
        inner = list(values)
        induction, *arguments = body.arguments
        inner[induction] = unknown
        starts = [values[slot] for slot in self.initial]
        for slot, value in zip(arguments, starts, strict=True):
            inner[slot] = doubtful_value(value, unknown)
        outcome = body.run(inner, scope.doubtful(unknown.reason))
        carried = [
            unknown_branch_value(start, doubtful_value(value, unknown), unknown)
            for start, value in zip(starts, outcome, strict=True)
        ]
        self._finish(values, scope, carried, -1)


def _uniform_integer(value: Any) -> int | None:
    if isinstance(value, Sum):
        if not value.terms:
            return value.constant
        if value.low == value.high:
            return value.low
        if len(value.terms) > 1:
            return None
        array: Any = value.terms[0] + value.constant
    else:
        array = value
    first_element = array.flat[0]
    return int(first_element) if array.size == 1 or (array == first_element).all() else None


LONG_LOOP: Final = 1 << 14
"""Trips of a `while` after which observers are told, as it may never end; about a second."""

# -- while ------------------------------------------------------------------------------------


@semantics("scf.while")
def while_(op: Op, compiler: Compiler) -> Step:
    """Return the step of a loop that repeats while the condition of its first region holds."""
    return _While(op, compiler).step


class _Earlier(NamedTuple):
    """The values that a loop carries after a trip, and the version of the memory then."""

    trip: int
    version: int
    values: list[Any]


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
        earlier: _Earlier | None = None
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
                self._once_in_doubt(values, scope, Unknown(condition.sources), forwarded)
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
                results = with_replaced_programs(results, forwarded, index, programs, self.types)
            if not flags.any():
                break
            carried, index = self._run_second_region(
                carried, forwarded, inner, active, index, flags, programs
            )
            trips[index] += 1
            trip += 1
            if not flags.all():
                earlier = None
                continue
            after = carried if every else [select_programs(v, index) for v in carried]
            for known in (_Earlier(trip - 1, version, current), earlier):
                if known is not None and known.version == scope.launch.memory.version:
                    self._check_progress(known, after, active, trip)
            if trip & (trip - 1) == 0:  # a later trip of any period finds this one
                earlier = _Earlier(trip, scope.launch.memory.version, after)
                self._tell(trip, active)
        for slot, value in zip(self.results, results or [], strict=True):
            values[slot] = value
        for observer in scope.launch.loop_observers:
            observer.loop(self.op, trips)

    def _run_second_region(
        self,
        carried: list[Any],
        forwarded: list[Any],
        inner: list[Any],
        active: Scope,
        index: Array,
        flags: Array,
        programs: int,
    ) -> tuple[list[Any], Array]:
        """Run the second region where flags are true; return all values, and these programs."""
        if not flags.all():
            continuing = np.flatnonzero(flags)
            inner = selected(inner, self.after.outer, continuing, every=False)
            forwarded = [select_programs(value, continuing) for value in forwarded]
            active, index = active.restricted(continuing), index[continuing]
        for slot, value in zip(self.after.arguments, forwarded, strict=True):
            inner[slot] = value
        outcome = self.after.run(inner, active)
        if len(index) == programs:
            return outcome, index
        return with_replaced_programs(carried, outcome, index, programs, self.initial_types), index

    def _check_progress(self, earlier: _Earlier, after: list[Any], scope: Scope, trip: int) -> None:
        """Wait for other programs if memory and carried values are those after an earlier trip."""
        if not all(
            old is new or equal_constants(old, new)
            for old, new in zip(earlier.values, after, strict=True)
        ):
            return
        program, trips = int(scope.linear[0]), trip - earlier.trip
        what = "a trip" if trips == 1 else f"a sequence of {trips:,} trips"
        complaint = (
            f"the loop at {place(self.op)} in kernel {scope.launch.kernel!r} waits forever: "
            f"{what} of program {program} changes neither memory nor any value, and "
            "no other program will"
        )
        if scope.launch.turns is None:
            raise Deadlock(complaint)
        scope.launch.turns.wait_for_change(complaint)

    def _tell(self, trip: int, scope: Scope) -> None:
        """Pass a loop of many trips to observers while the loop runs."""
        if trip == LONG_LOOP:
            for observer in scope.launch.observers:
                observer.long_loop(self.op, trip)

    def _once_in_doubt(
        self, values: list[Any], scope: Scope, unknown: Unknown, forwarded: list[Any]
    ) -> None:
        """Run the second region once, as its trips are unknown; the results are unknown."""
        inner = list(values)
        for slot, value in zip(self.after.arguments, forwarded, strict=True):
            inner[slot] = doubtful_value(value, unknown)
        self.after.run(inner, scope.doubtful(unknown.reason))
        for slot, value in zip(self.results, forwarded, strict=True):
            values[slot] = doubtful_value(value, unknown)
        for observer in scope.launch.loop_observers:
            observer.loop(self.op, np.full(scope.programs, -1, np.int64))
