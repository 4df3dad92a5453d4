"""Flow of values through a module: loops, branches, blocks and calls.

Some values are copies of other values: values that a loop carries, that a region yields, and that
a jump or a call passes. `Flow.origins` returns the values that a value may be a copy of. All other
values are computed by their op from its operands. `deciding` returns the values that decide whether
the regions of an op run, or how often. Example: in `for i in range(n): x = x + 1`, the origins of
the loop's `x` are the initial value and the result of `x + 1`; `n` decides the loop.

An analysis is a function of one op or one value, applied by `forward` or `backward`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence

from kvtrace.ir.attributes import (
    DenseArrayAttribute,
    DenseAttribute,
    FloatAttribute,
    IntegerAttribute,
)
from kvtrace.ir.model import Block, Module, Op, Region, Value, attribute, once_per_module
from kvtrace.ir.ops import (
    BRANCHES,
    CALLS,
    CONSTANTS,
    FUNCTIONS,
    KINDS,
    LOOPS,
    PARTITIONING,
    Kind,
)


class Flow:
    """The flow of values through one module, created by `flow_of`."""

    def __init__(self, module: Module) -> None:
        self.module = module
        self._origins: dict[int, list[Value]] = defaultdict(list)
        self._copies: dict[int, list[Value]] = defaultdict(list)
        self._uses: dict[int, list[Op]] = defaultdict(list)
        self._callers: dict[Op, list[Op]] = defaultdict(list)
        for op in module.ops:
            for value in dict.fromkeys(op.operands):
                self._uses[value.id].append(op)
            if op.name in CALLS and (function := called(op, module)) is not None:
                self._callers[function].append(op)
            for sources, targets in _passing(op, module):
                for source, target in zip(sources, targets, strict=False):
                    if source not in self._origins[target.id]:
                        self._origins[target.id].append(source)
                        self._copies[source.id].append(target)

    def origins(self, value: Value) -> Sequence[Value]:
        """Return the values that a value may be a copy of; none if its op computes the value."""
        return self._origins.get(value.id, ())

    def copies(self, value: Value) -> Sequence[Value]:
        """Return the values that may be copies of a value."""
        return self._copies.get(value.id, ())

    def uses(self, value: Value) -> Sequence[Op]:
        """Return the ops that use a value as an operand, in the module's order."""
        return self._uses.get(value.id, ())

    def callers(self, function: Op) -> Sequence[Op]:
        """Return the ops that call a function."""
        return self._callers.get(function, ())

    def is_called_once(self, op: Op) -> bool:
        """Return whether there is one way of calls from the kernel to an op's function.

        What a summary has of an op is otherwise that of one of the calls.
        """
        *_, function = op, *enclosing_ops(op)
        callers = self.callers(function)
        return not callers or (len(callers) == 1 and self.is_called_once(callers[0]))

    def sources(self, value: Value) -> Sequence[Value]:
        """Return the values that a value is copied or computed from: origins, else operands.

        For a loop's counter, the loop's bounds; for an argument of a reduction's region, the op's
        operands.
        """
        origins = self.origins(value)
        if origins:
            return origins
        owner = value.owner
        if isinstance(owner, Op):
            return owner.operands
        if owner is None or owner.region.owner.name in FUNCTIONS:
            return ()
        owning_op = owner.region.owner
        return deciding(owning_op) if owning_op.name in LOOPS else owning_op.operands


@once_per_module
def flow_of(module: Module) -> Flow:
    """Return the flow of values through a module; cached by module."""
    return Flow(module)


def deciding(op: Op) -> tuple[Value, ...]:
    """Return the operands that decide which region runs, how often, or where a jump goes."""
    if op.name == "scf.for":
        return (*op.group("first"), *op.group("end"), *op.group("step"))
    if op.name == "scf.while":
        return (terminator(op, 0).operand("condition"),)
    row = KINDS.get(op.name)
    if row is None or row.kind not in (Kind.BRANCH, Kind.JUMP, Kind.END):
        return ()
    return tuple(
        value
        for name in ("condition", "selector")
        if name in row.operands
        for value in op.group(name)
    )


def counter_of(op: Op) -> Value | None:
    """Return the counter of a counted loop, or None for other ops."""
    row = KINDS.get(op.name)
    if row is None or row.kind is not Kind.LOOP or not row.has("step"):
        return None
    return op.regions[0].blocks[0].arguments[0]


def value_before(value: Value, moving: Collection[str]) -> Value:
    """Return the value that ops named in `moving` moved: the first `source` made by another op."""
    while isinstance(value.owner, Op) and value.owner.name in moving:
        source = value.owner.optional("source")
        if source is None:
            break
        value = source
    return value


def terminator(op: Op, region: int) -> Op:
    """Return the last op of a region with one block."""
    return op.regions[region].blocks[0].ops[-1]


def called(op: Op, module: Module) -> Op | None:
    """Return the function that a call op calls, or None if the module does not have its body."""
    callee = getattr(op.attributes.get("callee"), "value", None)
    function = module.functions.get(str(callee))
    return None if function is None or not function.body.blocks else function.op


def jumps(op: Op) -> list[tuple[Block, tuple[Value, ...]]]:
    """Return (target block, passed values) for each block that a terminator may jump to."""
    if op.name == "cf.cond_br":
        first, second = op.successors
        return [(first, op.group("first")), (second, op.group("second"))]
    return [(target, op.operands) for target in op.successors]


def returns(function: Op) -> list[Op]:
    """Return the ops that return from a function."""
    ends = (block.ops[-1] for block in function.regions[0].blocks)
    return [end for end in ends if not end.successors]


def enclosing_ops(op: Op) -> Iterator[Op]:
    """Yield the ops that contain an op, innermost first, up to its function."""
    parent = op.parent
    while parent is not None and parent.name not in FUNCTIONS:
        yield parent
        parent = parent.parent
    if parent is not None:
        yield parent


def captured(partitions: Op) -> Sequence[Value]:
    """Return the values that the arguments of partitions' blocks are copies of."""
    if not partitions.operands and partitions.parent is not None:
        partitions = partitions.parent  # before Triton 3.7
    return partitions.operands if partitions.name in PARTITIONING else ()


def partition_of(op: Op) -> Region | None:
    """Return the region around an op that some warps of a program run; None: all of them do."""
    block = op.block
    while block is not None:
        owner = block.region.owner
        if owner.name in PARTITIONING:
            return block.region
        block = owner.block
    return None


def leading_to(block: Block) -> list[Block]:
    """Return the blocks of a region from which jumps can reach a block, in text order."""
    blocks = block.region.blocks
    leading: set[Block] = set()
    newest = {block}
    while newest:
        newest = {other for other in blocks if not newest.isdisjoint(other.ops[-1].successors)}
        newest -= leading
        leading |= newest
    return [other for other in blocks if other in leading]


def _passing(op: Op, module: Module) -> Iterator[tuple[Sequence[Value], Sequence[Value]]]:
    """Yield (values, copies of the values) for an op; both sequences have the same order."""
    if op.name == "scf.for":
        inner = op.regions[0].blocks[0].arguments[1:]
        for sources in (op.group("initial"), terminator(op, 0).group("passed")):
            yield sources, inner
            yield sources, op.results
    elif op.name == "scf.while":
        before, after = (region.blocks[0] for region in op.regions)
        forwarded = terminator(op, 0).group("passed")
        yield op.group("initial"), before.arguments
        yield terminator(op, 1).group("passed"), before.arguments
        yield forwarded, after.arguments
        yield forwarded, op.results
    elif op.name in BRANCHES:
        for region in op.regions:
            for block in region.blocks:
                if not block.ops[-1].successors:
                    yield block.ops[-1].operands, op.results
    elif op.name in PARTITIONING:
        for region in op.regions:
            yield captured(op), region.blocks[0].arguments
        if op.results:
            yield terminator(op, 0).operands, op.results
    elif op.name in CALLS:
        function = called(op, module)
        if function is not None:
            yield op.operands, function.regions[0].blocks[0].arguments
            for end in returns(function):
                yield end.operands, op.results
    elif op.successors:
        for block, sources in jumps(op):
            yield sources, block.arguments


def forward(
    flow: Flow, sources: Iterable[Value], onwards: Callable[[Op, Value], Iterable[Value]]
) -> set[int]:
    """Return the ids of the sources and of all values reached through copies and `onwards`.

    `onwards(op, value)` returns the values reached through an op that uses a reached value.
    """
    pending = list(sources)
    reached_ids = {value.id for value in pending}
    while pending:
        value = pending.pop()
        successors = [*flow.copies(value)]
        for op in flow.uses(value):
            successors += onwards(op, value)
        for successor in successors:
            if successor.id not in reached_ids:
                reached_ids.add(successor.id)
                pending.append(successor)
    return reached_ids


def backward(
    values: Iterable[Value], through: Callable[[Value], Iterable[Value]]
) -> Iterator[Value]:
    """Yield values and all values that they are computed from, each once.

    `through` returns the values that a value is computed from.
    """
    pending = list(dict.fromkeys(values))
    reached_ids = {value.id for value in pending}
    while pending:
        value = pending.pop()
        yield value
        for part in through(value):
            if part.id not in reached_ids:
                reached_ids.add(part.id)
                pending.append(part)


def constant_of(value: Value) -> int | float | None:
    """Return the number of a constant, or of a constant tensor with equal elements; else None.

    Integers are signed; Booleans are 0 and 1.
    """
    op = value.owner
    if not isinstance(op, Op) or op.name not in CONSTANTS:
        return None
    attribute = op.attributes.get("value")
    if isinstance(attribute, DenseAttribute):
        return attribute.values[0] if attribute.is_splat else None
    return attribute.value if isinstance(attribute, IntegerAttribute | FloatAttribute) else None


def warps_of(op: Op) -> int:
    """Return the number of warps that run an op: its partition's, or all of a program's."""
    region = partition_of(op)
    if region is not None and (holder := region.owner).parent is not None:
        counts = holder.parent.attributes.get("partitionNumWarps")
        if isinstance(counts, DenseArrayAttribute) and len(counts.values) == len(holder.regions):
            return int(counts.values[holder.regions.index(region)])
    return _of_module(op, "ttg.num-warps", 1)


def threads_of(op: Op) -> int:
    """Return the number of threads that run an op."""
    return warps_of(op) * _of_module(op, "ttg.threads-per-warp", 32)


def _of_module(op: Op, name: str, default: int) -> int:
    while op.parent is not None:
        op = op.parent
    return int(attribute(op, name, default))
