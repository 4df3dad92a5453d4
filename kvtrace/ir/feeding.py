"""Backward slices: the ops whose integers determine a memory op's address, mask and execution.

The backward counterpart of `kvtrace.ir.data_dependence`: from an op's operands through all ops,
loops, branches and calls to the kernel's arguments. A slice ends at loads: contents of memory are
not the kernel's arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kvtrace.ir.flow import (
    backward,
    called,
    constant_of,
    counter_of,
    deciding,
    flow_of,
    returns,
    value_before,
)
from kvtrace.ir.integers import PREDICATES
from kvtrace.ir.model import Block, Module, Op, Value, number_of, once_per_module
from kvtrace.ir.ops import (
    BRANCHES,
    CALLS,
    COMBINING,
    FUNCTIONS,
    LOOPS,
    MEMORY,
    MIXING,
    MODULAR,
    MOVING,
    READING,
    UNSIGNED,
    WRITING,
    Kind,
    computing,
    mask_of,
    named,
    operator_of,
)
from kvtrace.ir.types import integer_bits
from kvtrace.ir.updates import data_of, update_of

_POSITIONS: Final = computing("program_id", "arange")
_TRACED: Final = MODULAR | MOVING | computing("<<")
_BITWISE: Final = computing("&", "|", "^")
_PASSING: Final = named(lambda row: row.kind is Kind.END) | LOOPS | BRANCHES
_IN_BITWISE: Final = _BITWISE | named(lambda row: row.kind is Kind.END)


def feeding(op: Op, module: Module) -> frozenset[int]:
    """Return the indices of the ops that determine a memory op's address and whether it runs."""
    slices = _slices(module)
    if op.index not in slices:
        data = data_of(op) if op.name in MEMORY else ()
        addresses = (value for value in op.operands if value not in data)
        slices[op.index] = _Slice(module, op).of_values_and_trips(addresses)
    return slices[op.index]


@once_per_module
def _slices(_module: Module) -> dict[int, frozenset[int]]:
    return {}


def feeding_execution(op: Op, module: Module) -> frozenset[int]:
    """Return the indices of the ops that determine whether a memory op runs, and in which lanes."""
    mask = mask_of(op)
    return _Slice(module, op).of_values_and_trips(() if mask is None else (mask,))


def loads_behind(op: Op, module: Module) -> frozenset[int]:
    """Return the indices of all loads that feed an op, also through other loads and atomics."""
    loads: set[int] = set()
    pending = [op]
    while pending:
        near = pending.pop()
        updates = data_of(near) if near is not op and near.name in WRITING else ()
        new_feeding = (feeding(near, module) | feeding_values(updates, module)) - loads
        new_loads = {index for index in new_feeding if module.ops[index].name in READING}
        loads |= new_loads
        pending += [module.ops[index] for index in new_loads]
    return frozenset(loads)


def feeding_values(values: Iterable[Value], module: Module) -> frozenset[int]:
    """Return the indices of the ops that feed values."""
    return _slice_of_values(values, module)[0]


def is_made_of_positions(values: Iterable[Value], module: Module) -> bool:
    """Return whether values are made of program ids, lanes or loop counters.

    Those that feed them by bounds of loops do not count, nor by conditions of data that is masked.
    """
    flow, values = flow_of(module), tuple(values)
    feeders = feeding_values(values, module)
    has_data = any(op.index in feeders and op.name in READING for op in module.ops)
    counters = {counter.id for op in module.ops if (counter := counter_of(op)) is not None}

    def through(current: Value) -> Sequence[Value]:
        op = current.owner
        if current.id in counters or (has_data and integer_bits(current.type) == 1):
            return ()
        if not isinstance(op, Op) or flow.origins(current):
            return flow.sources(current)
        return () if op.name in READING else op.operands

    return any(
        source.id in counters or (isinstance(source.owner, Op) and source.owner.name in _POSITIONS)
        for source in backward(values, through)
    )


def modular_ops(value: Value, module: Module, *, numbers: bool = False) -> list[Op]:
    """Return the sums, products, shifts and bit ops behind a value, up to ops that show a width.

    The search goes backward and ends at ops whose result depends on the operands' width; for
    `numbers` also at `&`, `|` and `^`, which take their operands' bits.

    Values are traced through ops that move elements, branches, loops and calls.
    """
    flow, ops = flow_of(module), []

    def through(current: Value) -> Sequence[Value]:
        op = current.owner
        if not isinstance(op, Op) or flow.origins(current) or op.name in COMBINING:
            return flow.sources(current)
        if op.name not in _TRACED or (numbers and op.name in _BITWISE):
            return ()
        ops.append(op)
        return op.operands

    for _ in backward((value,), through):
        pass
    return ops


def is_packing(op: Op) -> bool:
    """Return whether an op shifts an unsigned integer of fewer bits left, as packing does."""
    source = value_before(op.operand("left"), MOVING).owner if operator_of(op) == "<<" else None
    return isinstance(source, Op) and source.name in UNSIGNED and operator_of(source) == "cast"


def is_read_unsigned(value: Value, module: Module) -> bool:
    """Return whether no op reads an integer, or what is made of its bits, as a signed number.

    It is followed through modular ops, their reductions, loops and branches; False where the search
    ends elsewhere.
    """
    flow, pending, visited = flow_of(module), [value], {value.id}
    while pending:
        current = pending.pop()
        reached = list(flow.copies(current))
        for op in flow.uses(current):
            inside = {inner.name for inner in op.walk() if inner is not op}
            if _reads_unsigned(op, current):
                continue
            if op.name in _TRACED or (op.name in COMBINING and inside <= _IN_BITWISE):
                reached += op.results
            elif op.name not in _PASSING or current in deciding(op):
                return False
        pending += (copy for copy in reached if copy.id not in visited)
        visited.update(copy.id for copy in reached)
    return True


def _reads_unsigned(op: Op, value: Value) -> bool:
    """Return whether an op stores an integer, or takes its bits or the unsigned number of them."""
    if operator_of(op) == "compare":
        return PREDICATES[number_of(op, "predicate")][0] == "u"
    if op.name in WRITING:
        return value in data_of(op) and update_of(op) not in ("max", "min")
    if operator_of(op) == "&":  # with a mask that leaves no sign
        masks = (constant_of(value_before(operand, MOVING)) for operand in op.operands)
        return any(mask is not None and mask >= 0 for mask in masks)
    return op.name in UNSIGNED or op.name in MIXING


def feeding_values_and_trips(values: Iterable[Value], module: Module) -> frozenset[int]:
    """Return the indices of the ops that feed values, and of the loops whose counters do."""
    return frozenset().union(*_slice_of_values(values, module))


def _slice_of_values(values: Iterable[Value], module: Module) -> tuple[frozenset[int], ...]:
    """Return the indices of the ops that feed values, and of the loops; cached in the module."""
    values = tuple(values)
    key, slices = tuple(value.id for value in values), _slices_of_values(module)
    if key not in slices:
        sliced = _Slice(module)
        slices[key] = sliced.of_values(values), frozenset(sliced._loops)
    return slices[key]


@once_per_module
def _slices_of_values(_module: Module) -> dict[tuple[int, ...], tuple[frozenset[int], ...]]:
    return {}


class _Slice:
    """The backward slice of values of one module, collected into sets of ops and loops.

    With `op`, the slice has the ops that feed the branches, loops and calls around it, too.
    """

    def __init__(self, module: Module, op: Op | None = None) -> None:
        self._flow = flow_of(module)
        self._ops: set[int] = set()
        self._loops: set[int] = set()
        self._values: set[int] = set()
        self._reached: set[int] = set()
        self._queue: list[Value] = []
        if op is not None:
            self._add_control(op)

    def of_values_and_trips(self, values: Iterable[Value]) -> frozenset[int]:
        """Return the indices of ops that feed values, and of the loops whose counters do."""
        return self.of_values(values) | self._loops

    def of_values(self, values: Iterable[Value]) -> frozenset[int]:
        """Return the indices of the ops that feed values."""
        self._add_values(values)
        while self._queue:
            self._add_sources(self._queue.pop())
        return frozenset(self._ops)

    def _add_values(self, values: Iterable[Value]) -> None:
        """Queue the values that were not visited yet."""
        for value in values:
            if value.id not in self._values:
                self._values.add(value.id)
                self._queue.append(value)

    def _add_sources(self, value: Value) -> None:
        """Add the op or block that defines a value, and queue the values that feed it."""
        owner = value.owner
        if isinstance(owner, Op):
            self._add_result(owner, value)
        elif isinstance(owner, Block):
            self._add_values(self._flow.sources(value))
            around = owner.region.owner
            if around.name in LOOPS:
                self._loops.add(around.index)
                self._add_values(deciding(around))
            elif around.name in FUNCTIONS:
                self._add_entries(owner)

    def _add_result(self, op: Op, value: Value) -> None:
        """Add a result's op, the values that feed the result, and the op's own conditions."""
        if op.index not in self._ops:
            self._ops.add(op.index)
            self._add_control(op)
        if op.name in READING:
            return
        self._add_values(self._flow.sources(value))
        if op.name in LOOPS or op.name in BRANCHES:
            self._add_values(deciding(op))
        elif op.name in CALLS:
            self._add_values(op.operands)  # also unused parameters
            function = called(op, self._flow.module)
            for return_op in () if function is None else returns(function):
                self._add_control(return_op)
        else:
            for inner in op.walk() if op.regions else ():
                self._add_values(inner.operands)

    def _add_entries(self, block: Block) -> None:
        """Add the conditions of the jumps and calls to a block, which determine its arguments."""
        if block is block.region.blocks[0]:
            for caller in self._flow.callers(block.region.owner):
                self._add_control(caller)
        for jump in _jumps(block):
            if block in jump.successors:
                self._add_values(deciding(jump))
                self._add_control(jump)

    def _add_control(self, op: Op) -> None:
        """Add the conditions of the branches, loops and callers around an op."""
        parent, block = op.parent, op.block
        while parent is not None and block is not None and id(block) not in self._reached:
            self._reached.add(id(block))
            if parent.name in FUNCTIONS:
                for jump in _jumps(block):
                    if _decides(jump, block):
                        self._add_values(deciding(jump))
                for caller in self._flow.callers(parent):
                    self._add_control(caller)
            else:
                if parent.name in LOOPS:  # its counter is arithmetic, too
                    self._loops.add(parent.index)
                self._add_values(deciding(parent))
            block, parent = parent.block, parent.parent


def _jumps(block: Block) -> Iterator[Op]:
    """Return the jumps at the ends of all blocks of a block's region."""
    return (sibling.ops[-1] for sibling in block.region.blocks if sibling.ops[-1].successors)


def _decides(jump: Op, block: Block) -> bool:
    """Return whether a jump may lead either to a block or past it to an exit."""
    if len(jump.successors) < 2 or block not in _reachable(jump.successors):
        return False
    bypassing_blocks = _reachable(
        [successor for successor in jump.successors if successor is not block], without=block
    )
    return any(not successor.ops[-1].successors for successor in bypassing_blocks)


def _reachable(blocks: Iterable[Block], without: Block | None = None) -> set[Block]:
    """Return these blocks and all that are reachable from them without passing `without`."""
    reached: set[Block] = set()
    pending = list(blocks)
    while pending:
        block = pending.pop()
        if block not in reached and block is not without:
            reached.add(block)
            pending += block.ops[-1].successors
    return reached
