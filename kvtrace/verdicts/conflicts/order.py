"""Which memory ops of a program can follow each other with no barrier between them, by its TTIR.

A barrier is what the kernel itself asks for. Ops that combine or move elements across lanes may be
compiled to code with a barrier in it, or to code with none: a path through one is `doubtful`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, replace

from kvtrace.evaluate.compiler import attribute
from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.flow import enclosing_ops, flow_of, forward, jumps
from kvtrace.ir.memo import once_per_module
from kvtrace.ir.model import Region
from kvtrace.ir.ops import (
    BARRIERS,
    BRANCHES,
    CALLS,
    FUNCTIONS,
    KINDS,
    LOOPS,
    MEMORY,
    READING,
    Kind,
    effect_of,
)

_RELAXED = 1
"""tt.MemSemantic of an atomic that orders nothing else."""
_CROSSING = (Kind.REDUCTION, Kind.SCAN, Kind.COUNT, Kind.PRODUCT, Kind.PICKED)


@dataclass(frozen=True, order=True)
class Path:
    """A way from one op to another without a barrier.

    `turn`: the outermost loop, as its number among those around the first op from outside in, that
    begins another trip on the way; how many there are, where none does. `once`: it does so once.
    `doubtful`: it is through an op that may be a barrier; `nested`: in a loop or branch that the
    first op is not in, and that PTX may have a way past.
    """

    turn: int
    once: bool
    doubtful: bool
    nested: bool = False

    def turning(self, loop: int | None) -> Path:
        """Return the path as it continues in another trip of a loop."""
        if loop is None or loop > self.turn:
            return self
        return replace(self, turn=loop, once=loop < self.turn)


def loops_around(op: Op) -> tuple[Op, ...]:
    """Return the loops that an op is in, outermost first."""
    return tuple(each for each in enclosing_ops(op) if each.name in LOOPS)[::-1]


class Order:
    """The paths between the ops of one kernel.

    `entered` are the loops that surely run, `decided` the branches whose condition is known.
    `barriers_hold` False: a barrier of the kernel's own holds only a part of a program's threads,
    and a path through it is doubtful; so is one past an atomic that acquires or releases, if
    `releases_may_hold`: Triton may compile it with barriers.
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
        self._moving = _moving(module)
        self._memory = tuple(op for op in module.ops if op.name in MEMORY)
        self._positions: dict[Op, tuple[tuple[Op, ...], int]] = {}
        self._kept: dict[Block, tuple[Op, ...]] = {}
        self._after: dict[Op, Mapping[int, frozenset[Path]]] = {}

    def paths(self, first: Op, second: Op) -> frozenset[Path]:
        """Return how the second op can follow the first."""
        if first not in self._after:
            self._after[first] = self._followed(first)
        return self._after[first].get(second.index, frozenset())

    def between(self, first: Op, second: Op) -> Iterator[Op]:
        """Yield memory ops that are done wherever both of two are, those in the text between them.

        Of ops that are in one loop, one of them need not be done between the other two.
        """
        blocks = [_outermost(op).block for op in (first, second)]
        for op in self._memory:
            if not first.index < op.index < second.index or _outermost(op).block not in blocks:
                continue
            inside = [each for each in enclosing_ops(op) if each.name not in FUNCTIONS]
            if all(each.name in LOOPS and each.index in self._entered for each in inside):
                yield op

    def _followed(self, start: Op) -> Mapping[int, frozenset[Path]]:
        chain = {loop: number for number, loop in enumerate(loops_around(start))}
        found: dict[int, set[Path]] = defaultdict(set)
        outer = set(enclosing_ops(start))
        may_hold = self._releases_may_hold and _acquires_or_releases(start)
        first = Path(len(chain), True, may_hold or start.index in self._moving)
        waiting = [(op, first) for op in self._next(start)]
        seen = set(waiting)
        while waiting:
            op, path = waiting.pop()
            if op.name in BARRIERS and self._barriers_hold:
                continue
            if self._releases_may_hold and _acquires_or_releases(op):
                path = replace(path, doubtful=True)
            if op.name in MEMORY:
                found[op.index].add(path)
            if op.index in self._moving or op.name in BARRIERS:
                nested = any(each not in outer for each in enclosing_ops(op))
                path = replace(path, doubtful=True, nested=path.nested or nested)
            for each, turned in self._onwards(op):
                state = each, path.turning(None if turned is None else chain.get(turned))
                if state not in seen:
                    seen.add(state)
                    waiting.append(state)
        return {index: frozenset(paths) for index, paths in found.items()}

    def _onwards(self, op: Op) -> Iterator[tuple[Op, Op | None]]:
        """Yield the ops that can come next, each with the loop that begins another trip."""
        if op.name in LOOPS:
            yield self._first(op.regions[0]), None
            if op.index not in self._entered:
                yield from ((each, None) for each in self._next(op))
        elif op.name in BRANCHES:
            taken = self._taken(op)
            regions = [each for n, each in enumerate(op.regions) if taken in (None, n)]
            for region in regions:
                if region.blocks:
                    yield self._first(region), None
            passed = len(op.regions) == 1 if taken is None else not regions
            if passed or not all(region.blocks for region in regions):
                yield from ((each, None) for each in self._next(op))
        elif op.successors:
            yield from ((self._ops(block)[0], None) for block, _ in jumps(op))
        elif KINDS.get(op.name) is not None and KINDS[op.name].kind is Kind.END:
            yield from self._ended(op)
        else:
            yield from ((each, None) for each in self._next(op))

    def _taken(self, op: Op) -> int | None:
        """Return the region of a branch that runs, if it is known."""
        truth = self._decided.get(op.index)
        return None if truth is None else int(not truth)

    def _ended(self, end: Op) -> Iterator[tuple[Op, Op | None]]:
        around_ = end.parent
        if around_ is None or around_.name not in LOOPS | BRANCHES:
            return
        regions = around_.regions
        region = next(n for n, each in enumerate(regions) if end.block in each.blocks)
        if around_.name in LOOPS and region < len(regions) - 1:  # what decides on another trip
            yield self._first(regions[region + 1]), None
        elif around_.name in LOOPS:
            yield self._first(regions[0]), around_
        if around_.name in BRANCHES or len(regions) == 1 or region < len(regions) - 1:
            yield from ((each, None) for each in self._next(around_))

    def _first(self, region: Region) -> Op:
        return self._ops(region.blocks[0])[0]

    def _next(self, op: Op) -> Iterator[Op]:
        """Yield the op that matters after one in its block; a block's end always does."""
        if op.block is not None and op is not op.block.ops[-1]:
            yield next(each for each in self._ops(op.block) if each.index > op.index)

    def _ops(self, block: Block) -> tuple[Op, ...]:
        """Return the ops of a block that matter here."""
        if block not in self._kept:
            self._kept[block] = tuple(op for op in block.ops if self._matters(op, block))
        return self._kept[block]

    def _matters(self, op: Op, block: Block) -> bool:
        return (
            op is block.ops[-1]
            or op.name in BARRIERS
            or op.name in MEMORY
            or op.index in self._moving
            or (
                op.name in LOOPS | BRANCHES
                and any(self._matters(inner, inner.block or block) for inner in _inside(op))
            )
        )


def _acquires_or_releases(op: Op) -> bool:
    return effect_of(op) is not None and attribute(op, "sem", _RELAXED) != _RELAXED


def _outermost(op: Op) -> Op:
    """Return the op of the kernel's own body that an op is in, or is."""
    return [op, *(each for each in enclosing_ops(op) if each.name not in FUNCTIONS)][-1]


def _inside(op: Op) -> Iterator[Op]:
    """Yield the ops in the regions of one, except for what ends them."""
    for region in op.regions:
        for block in region.blocks:
            yield from block.ops[:-1]


@once_per_module
def _moving(module: Module) -> frozenset[int]:
    """Return the indices of the ops that may be compiled to code with a barrier."""
    flow = flow_of(module)
    loaded = [value for op in module.ops if op.name in READING for value in op.results]

    def onwards(op: Op, value: Value) -> tuple[Value, ...]:
        del value
        return () if op.name in LOOPS or op.name in BRANCHES else op.results

    data = forward(flow, loaded, onwards)
    found = set()
    for op in module.ops:
        row = KINDS.get(op.name)
        crosses = row is None or op.name in CALLS or row.kind in _CROSSING
        moves = row is not None and row.kind is Kind.REARRANGED
        if crosses or (moves and any(value.id in data for value in op.operands)):
            found.add(op.index)
        if effect_of(op) == "atomic" and any(map(flow.uses, op.results)):
            found.add(op.index)  # its result may be handed to all threads
    return frozenset(found)
