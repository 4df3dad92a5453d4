"""Barriers between two memory ops of a program, read from its TTIR and from the PTX made of it.

A barrier in the kernel's source (`tl.debug_barrier`) holds the threads of one CTA. In a program
that was compiled to several CTAs (num_ctas) the threads of the other CTAs continue.

An `Order` has the paths between memory ops on which the TTIR has no barrier. Only a barrier of the
kernel's source ends a path. Ops that combine or move elements across lanes may or may not be
compiled to code with a barrier: a path through such an op is `is_doubtful`. Example: in `store;
reduce; load` in a loop, the load follows the store on a doubtful path in the same trip, and the
store follows the load in the next trip.

A pipelined loop breaks the order of its ops: loads may start before the store of an earlier trip.
In

    for k in tl.range(0, n, num_stages=3):
        tl.store(x + k + 1, tl.load(x + k) + 1)

the load of trip 1 starts before the loop, and reads the value that `x[1]` had before trip 0 stored
to it. Triton pipelines innermost loops with requested stages, and in other loops the loads that
lead to a matrix product. It does not look for stores to the same tensor.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from itertools import takewhile
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.flow import counter_of, deciding, enclosing_ops, flow_of, forward, jumps
from kvtrace.ir.locations import version_numbers
from kvtrace.ir.model import Region, attribute, once_per_module
from kvtrace.ir.ops import (
    BARRIERS,
    BRANCHES,
    CALLS,
    FUNCTIONS,
    KINDS,
    LOOP_STAGES,
    LOOP_UNROLLING,
    LOOPS,
    MEMORY,
    READING,
    Kind,
    effect_of,
)
from kvtrace.recorded_calls.recorded import Call
from kvtrace.schema.cached_property import cached_property
from kvtrace.symbolic.conditions import Condition
from kvtrace.symbolic.prover import Proven
from kvtrace.symbolic.summary import Access, Loop
from kvtrace.symbolic.terms import Symbol
from kvtrace.verdicts.binding import BoundCall

_RELAXED = 1
"""tt.MemSemantic of an atomic that orders nothing else."""
_CROSS_LANE_KINDS = (Kind.REDUCTION, Kind.SCAN, Kind.COUNT, Kind.PRODUCT, Kind.PICKED)


class Path(Struct, frozen=True, order=True):
    """A path of execution from one op to another on which no barrier lies.

    `turn` is the outermost loop that begins another trip on the path, by its position among the
    loops around the first op, outermost first (their count if no loop does). `once`: that loop
    begins only one further trip. `is_doubtful`: an op on the path may be compiled with a barrier.
    `nested`: such an op is in a loop or branch that is not around the first op, and the PTX may
    have a path around that.
    """

    turn: int
    once: bool
    is_doubtful: bool
    nested: bool = False

    def continued(self, loop: int | None) -> Path:
        """Return the path extended by another trip of a loop (None: of no loop)."""
        if loop is None or loop > self.turn:
            return self
        return replace(self, turn=loop, once=loop < self.turn)


def loops_around(op: Op) -> tuple[Op, ...]:
    """Return the loops around an op, outermost first."""
    return tuple(parent for parent in enclosing_ops(op) if parent.name in LOOPS)[::-1]


class Order:
    """The paths between the memory ops of a kernel on which no barrier lies.

    `entered` has the indices of loops that take at least one trip, `decided` the truth of known
    branch conditions. `barriers_hold` False: a barrier of the kernel's source holds only a part of
    a program's threads, so a path through it is doubtful. With `releases_may_hold`, a path past an
    atomic that acquires or releases is doubtful too: Triton may compile the atomic with barriers.
    """

    def __init__(
        self,
        module: Module,
        entered: Collection[int],
        decided: Mapping[int, bool],
        *,
        barriers_hold: bool = True,
        releases_may_hold: bool = True,
    ) -> None:
        self._releases_may_hold = releases_may_hold
        self._barriers_hold = barriers_hold
        self._entered = frozenset(entered)
        self._decided = decided
        self._maybe_barriers = _maybe_barriers(module)
        self._memory = tuple(op for op in module.ops if op.name in MEMORY)
        self._positions: dict[Op, tuple[tuple[Op, ...], int]] = {}
        self._relevant_ops: dict[Block, tuple[Op, ...]] = {}
        self._after: dict[Op, Mapping[int, frozenset[Path]]] = {}

    def paths(self, first: Op, second: Op) -> frozenset[Path]:
        """Return the paths from the first op to the second, empty if a barrier lies on each."""
        if first not in self._after:
            self._after[first] = self._paths_from(first)
        return self._after[first].get(second.index, frozenset())

    def between(self, first: Op, second: Op) -> Iterator[Op]:
        """Yield the memory ops between two ops in the text that run whenever both run.

        In a common loop, such an op may also run before or after both.
        """
        blocks = [_outermost(op).block for op in (first, second)]
        for op in self._memory:
            if not first.index < op.index < second.index or _outermost(op).block not in blocks:
                continue
            parents = [parent for parent in enclosing_ops(op) if parent.name not in FUNCTIONS]
            if all(parent.name in LOOPS and parent.index in self._entered for parent in parents):
                yield op

    def _paths_from(self, start: Op) -> Mapping[int, frozenset[Path]]:
        loop_positions = {loop: depth for depth, loop in enumerate(loops_around(start))}
        paths_to: dict[int, set[Path]] = defaultdict(set)
        enclosing = set(enclosing_ops(start))
        may_have_barrier = self._releases_may_hold and _acquires_or_releases(start)
        start_path = Path(
            len(loop_positions), True, may_have_barrier or start.index in self._maybe_barriers
        )
        pending = [(op, start_path) for op in self._next_in_block(start)]
        states = set(pending)
        while pending:
            op, path = pending.pop()
            if op.name in BARRIERS and self._barriers_hold:
                continue
            if self._releases_may_hold and _acquires_or_releases(op):
                path = replace(path, is_doubtful=True)
            if op.name in MEMORY:
                paths_to[op.index].add(path)
            if op.index in self._maybe_barriers or op.name in BARRIERS:
                nested = any(next_op not in enclosing for next_op in enclosing_ops(op))
                path = replace(path, is_doubtful=True, nested=path.nested or nested)
            for next_op, repeated_loop in self._next_ops(op):
                state = (
                    next_op,
                    path.continued(
                        None if repeated_loop is None else loop_positions.get(repeated_loop)
                    ),
                )
                if state not in states:
                    states.add(state)
                    pending.append(state)
        return {index: frozenset(paths_) for index, paths_ in paths_to.items()}

    def _next_ops(self, op: Op) -> Iterator[tuple[Op, Op | None]]:
        """Yield the ops that may run next, each with the loop that begins another trip, or None."""
        if op.name in LOOPS:
            yield self._first_relevant(op.regions[0]), None
            if op.index not in self._entered:
                yield from ((next_op, None) for next_op in self._next_in_block(op))
        elif op.name in BRANCHES:
            region_taken = self._region_taken(op)
            regions = [next_op for n, next_op in enumerate(op.regions) if region_taken in (None, n)]
            for region in regions:
                if region.blocks:
                    yield self._first_relevant(region), None
            can_skip = len(op.regions) == 1 if region_taken is None else not regions
            if can_skip or not all(region.blocks for region in regions):
                yield from ((next_op, None) for next_op in self._next_in_block(op))
        elif op.successors:
            yield from ((self._relevant_of(block)[0], None) for block, _ in jumps(op))
        elif KINDS.get(op.name) is not None and KINDS[op.name].kind is Kind.END:
            yield from self._ops_after_region(op)
        else:
            yield from ((next_op, None) for next_op in self._next_in_block(op))

    def _region_taken(self, op: Op) -> int | None:
        """Return the index of the region that a branch runs, None if its condition is unknown."""
        truth = self._decided.get(op.index)
        return None if truth is None else int(not truth)

    def _ops_after_region(self, last_op: Op) -> Iterator[tuple[Op, Op | None]]:
        """Yield the ops that may run after the last op of a region, each with a repeated loop."""
        parent = last_op.parent
        if parent is None or parent.name not in LOOPS | BRANCHES:
            return
        regions = parent.regions
        region = next(n for n, next_op in enumerate(regions) if last_op.block in next_op.blocks)
        if parent.name in LOOPS and region < len(regions) - 1:  # the condition region
            yield self._first_relevant(regions[region + 1]), None
        elif parent.name in LOOPS:
            yield self._first_relevant(regions[0]), parent
        if parent.name in BRANCHES or len(regions) == 1 or region < len(regions) - 1:
            yield from ((next_op, None) for next_op in self._next_in_block(parent))

    def _first_relevant(self, region: Region) -> Op:
        return self._relevant_of(region.blocks[0])[0]

    def _next_in_block(self, op: Op) -> Iterator[Op]:
        """Yield the next relevant op of the same block, if the op is not the block's last."""
        if op.block is not None and op is not op.block.ops[-1]:
            yield next(later for later in self._relevant_of(op.block) if later.index > op.index)

    def _relevant_of(self, block: Block) -> tuple[Op, ...]:
        if block not in self._relevant_ops:
            self._relevant_ops[block] = tuple(
                op for op in block.ops if self._is_relevant(op, block)
            )
        return self._relevant_ops[block]

    def _is_relevant(self, op: Op, block: Block) -> bool:
        return (
            op is block.ops[-1]
            or op.name in BARRIERS
            or op.name in MEMORY
            or op.index in self._maybe_barriers
            or (
                op.name in LOOPS | BRANCHES
                and any(self._is_relevant(inner, inner.block or block) for inner in _inner_ops(op))
            )
        )


def _acquires_or_releases(op: Op) -> bool:
    return effect_of(op) is not None and attribute(op, "sem", _RELAXED) != _RELAXED


def _outermost(op: Op) -> Op:
    """Return the outermost loop or branch around an op, or the op itself."""
    return [op, *(parent for parent in enclosing_ops(op) if parent.name not in FUNCTIONS)][-1]


def _inner_ops(op: Op) -> Iterator[Op]:
    """Yield the ops in an op's regions, except for the last op of each block."""
    for region in op.regions:
        for block in region.blocks:
            yield from block.ops[:-1]


@once_per_module
def _maybe_barriers(module: Module) -> frozenset[int]:
    """Return the indices of the ops that Triton may compile to code with a barrier."""
    flow = flow_of(module)
    loaded = [value for op in module.ops if op.name in READING for value in op.results]

    def onwards(op: Op, value: Value) -> tuple[Value, ...]:
        del value
        return () if op.name in LOOPS or op.name in BRANCHES else op.results

    loaded_data = forward(flow, loaded, onwards)
    indices = set()
    for op in module.ops:
        kind_row = KINDS.get(op.name)
        crosses_lanes = kind_row is None or op.name in CALLS or kind_row.kind in _CROSS_LANE_KINDS
        rearranges = kind_row is not None and kind_row.kind is Kind.REARRANGED
        if crosses_lanes or (rearranges and any(value.id in loaded_data for value in op.operands)):
            indices.add(op.index)
        if effect_of(op) == "atomic" and any(map(flow.uses, op.results)):
            indices.add(op.index)  # its result may be handed to all threads
    return frozenset(indices)


#: From this version on Triton compiles a barrier before a release and behind an acquire (its PTX).
_BARRIERS_AROUND_RELEASES: Final = (3, 9)


class PairOrder(Struct, frozen=True):
    """An order of the ops of a pair with no barrier between; `is_reversed`: the second op first.

    `trips` are those of the common loops that may be in different trips, outermost first. In the
    first of these loops the earlier op is in an earlier trip, or in the trip directly before if
    `once`. `is_doubtful`: the compiled code may have a barrier that the kernel's source lacks.
    """

    is_reversed: bool
    trips: tuple[Symbol, ...]
    once: bool
    is_doubtful: bool


def common_loops(left: Access, right: Access) -> list[Loop]:
    """Return the loops around both accesses, outermost first."""
    pairs = zip(left.loops, right.loops, strict=False)
    return [loop for loop, other in takewhile(lambda pair: pair[0].op is pair[1].op, pairs)]


class Barriers:
    """The barriers between memory ops of one call, in its TTIR and PTX."""

    def __init__(self, bound: BoundCall) -> None:
        self._bound = bound
        compiled = bound.call.compiled
        self._in_ptx = None if compiled is None else compiled.barriers
        self.several_blocks = (bound.call.ctas or 1) > 1

    @property
    def are_around_releases(self) -> bool | None:
        """Atomics that release or acquire are compiled with barriers; None: unknown."""
        triton = version_numbers(self._bound.call.triton)
        if triton is None or self.several_blocks:
            return None
        return triton >= _BARRIERS_AROUND_RELEASES

    @cached_property
    def order(self) -> Order:
        """The paths between memory ops on which the TTIR has no barrier."""
        return Order(
            self._bound.call.module,
            self._loops_with_trips(),
            self._known_conditions(),
            barriers_hold=not self.several_blocks,
            releases_may_hold=self.are_around_releases is not False,
        )

    def separate(self, first: Op, second: Op) -> bool | None:
        """Return whether the PTX has a barrier on each path between two ops; None without PTX."""
        if self._in_ptx is None:
            return None
        return self._in_ptx.separate(first, second, self.order.between(first, second))

    def hold_back(self, first: Op, second: Op) -> bool | None:
        """Return whether every thread does the first op before any thread does the second.

        None: the code between the ops may or may not have a barrier.
        """
        is_separated = self.separate(first, second)
        if is_separated:
            return True
        paths = self.order.paths(first, second)
        if not paths:
            return True
        if self._bound.call.compiled is None:
            return None if all(path.is_doubtful for path in paths) else False
        # PTX has a path around a nested loop or branch that the program may never take.
        may_be_skipped = all(path.is_doubtful and path.nested for path in paths)
        return None if is_separated is None or may_be_skipped else False

    # -- orders of a pair ------------------------------------------------------------------------

    def separate_trips(self, left: Access, right: Access) -> tuple[Symbol, ...]:
        """Return the trip symbols of common loops whose trips may differ between accesses."""
        return tuple(loop.trip for loop in common_loops(left, right) if self._may_repeat(loop))

    def _may_repeat(self, loop: Loop) -> bool:
        takes_several_trips = self._bound.ranges.of(loop.trip)[1] > 0
        return takes_several_trips or not self._bound.has_ideal_trips(loop.op)

    def orders(self, left: Access, right: Access) -> list[PairOrder]:
        """Return the orders in which two ops can run with no barrier between them."""
        if left.calls or right.calls:
            return [PairOrder(False, self.separate_trips(left, right), False, True)]
        orders = [PairOrder(False, *order) for order in self._orders_from(left, right)]
        if left is not right:
            orders += (PairOrder(True, *order) for order in self._orders_from(right, left))
        return orders

    def _orders_from(
        self, earlier: Access, later: Access
    ) -> Iterator[tuple[tuple[Symbol, ...], bool, bool]]:
        """Yield trips, `once` and doubt of each way in which the second op follows the first."""
        is_separated = self.separate(earlier.op, later.op)
        if is_separated:
            return
        loops = common_loops(earlier, later)
        once: dict[tuple[int, bool, bool], bool] = {}
        for path in self.order.paths(earlier.op, later.op):
            key = min(path.turn, len(loops)), path.is_doubtful, path.nested
            once[key] = once.get(key, True) and (path.once or path.turn >= len(loops))
        for (turn, is_doubtful, nested), one_turn in sorted(once.items()):
            if turn < len(loops):
                if not self._may_repeat(loops[turn]):
                    continue
            elif earlier is later:
                continue
            if is_doubtful and (not once.get((turn, False, False), True)):
                continue  # implied by a path that is not doubtful
            trips = tuple(loop.trip for loop in loops[turn:] if self._may_repeat(loop))
            if self._bound.call.compiled is not None:
                # The PTX does not show in which trip of a loop a barrier is, or whether it has the
                # loop.
                is_doubtful = is_separated is None or (is_doubtful and (nested or bool(loops)))
            yield trips, one_turn, is_doubtful

    def _loops_with_trips(self) -> frozenset[int]:
        """Return the indices of the loops that take at least one trip whenever they are reached."""
        loop_trips = [(loop.op, loop.trips) for loop in self._bound.summary.loops]
        maybe_empty = {
            op.index
            for op, trip_count in loop_trips
            if self._bound.ranges.interval(trip_count)[0] < 1
        }
        with_trips = {op for op, _ in loop_trips if op.index not in maybe_empty}
        return frozenset(op.index for op in with_trips if self._bound.has_ideal_trips(op))

    def _known_conditions(self) -> Mapping[int, bool]:
        """Return the truth of branch conditions that the call's numbers decide, by op index."""
        truths = {}
        for op in self._bound.call.module.ops:
            values = deciding(op) if op.name in BRANCHES else ()
            condition = self._bound.summary.values.get(values[0].id) if len(values) == 1 else None
            truth = self._truth(condition) if isinstance(condition, Condition) else None
            if truth is not None and self._bound.are_ideal(values):
                truths[op.index] = truth
        return truths

    def _truth(self, condition: Condition) -> bool | None:
        """Return whether a condition holds, by recorded integers where it reads some; or None."""
        truth = self._bound.ranges.truth(condition)
        if truth is None and self._bound.by_contents.is_about(condition.atoms()):
            anywhere = self._bound.given_of(())
            for answer, claim in ((True, condition), (False, ~condition)):
                if isinstance(self._bound.prove(claim, anywhere), Proven):
                    return answer
        return truth


def may_be_pipelined(call: Call, loop: Op) -> bool:
    """Return whether loads of a loop may start in earlier trips, by its TTIR and options."""
    if counter_of(loop) is None:
        return False
    stages = attribute(loop, LOOP_STAGES, None)
    if stages is not None:
        return int(stages) > 1
    return call.stages != 1 and any(_is_product(op) for op in loop.walk())


def trips_started_early(call: Call, load: Op, loop: Op) -> int:
    """Return how many trips before its own trip a load surely starts, according to the TTGIR.

    One trip less is counted, since a trip's last copy may come after the trip's stores.
    """
    if call.compiled is None or int(attribute(loop, LOOP_UNROLLING, 1)) > 1:
        return 0
    return max(call.compiled.ahead.get(load.index, 0) - 1, 0)


def _is_product(op: Op) -> bool:
    row = KINDS.get(op.name)
    return row is not None and row.kind is Kind.PRODUCT
