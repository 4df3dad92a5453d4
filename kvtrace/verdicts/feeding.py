"""Which ops' integers a memory op's address, mask and execution are made of.

The backward counterpart of `kvtrace.ir.data_dependence`: from an op's operands through all ops,
loops, branches and calls to the kernel's arguments. It ends at loads: what memory holds is not the
kernel's arithmetic.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kvtrace.ir import Block, Module, Op, Value
from kvtrace.ir.flow import called as called
from kvtrace.ir.flow import deciding, flow_of, returns
from kvtrace.ir.memo import once_per_module
from kvtrace.ir.ops import BRANCHES, CALLS, FUNCTIONS, LOOPS, MEMORY, READING, data_of


def feeding(op: Op, module: Module) -> frozenset[int]:
    """Return the indices of the ops that decide where a memory op goes and whether it runs."""
    slices = _slices(module)
    if op.index not in slices:
        slices[op.index] = _Slice(module).of(op)
    return slices[op.index]


@once_per_module
def _slices(_module: Module) -> dict[int, frozenset[int]]:
    return {}


def loads_behind(op: Op, module: Module) -> frozenset[int]:
    """Return the indices of all ops that read memory on which another depends, through any."""
    found: set[int] = set()
    waiting = [op]
    while waiting:
        ops = feeding(waiting.pop(), module) - found
        reading = {index for index in ops if module.ops[index].name in READING}
        found |= reading
        waiting += [module.ops[index] for index in reading]
    return frozenset(found)


def feeding_values(values: Iterable[Value], module: Module) -> frozenset[int]:
    """Return the indices of the ops that values are made of."""
    return _Slice(module).of_values(values)


def feeding_values_and_trips(values: Iterable[Value], module: Module) -> frozenset[int]:
    """Return the indices of the ops that values are made of, and of the loops they count."""
    return _Slice(module).of_values_and_trips(values)


class _Slice:
    def __init__(self, module: Module) -> None:
        self._flow = flow_of(module)
        self._ops: set[int] = set()
        self._loops: set[int] = set()
        self._values: set[int] = set()
        self._reached: set[int] = set()
        self._queue: list[Value] = []

    def of(self, op: Op) -> frozenset[int]:
        """Follow everything that an op depends on, the counters of loops around it included."""
        self._execution(op)
        data = data_of(op) if op.name in MEMORY else ()
        return self.of_values_and_trips(value for value in op.operands if value not in data)

    def of_values_and_trips(self, values: Iterable[Value]) -> frozenset[int]:
        """Follow everything that values are made of, the counters of their loops included."""
        return self.of_values(values) | self._loops

    def of_values(self, values: Iterable[Value]) -> frozenset[int]:
        """Follow everything that values are made of."""
        self._want(values)
        while self._queue:
            self._follow(self._queue.pop())
        return frozenset(self._ops)

    def _want(self, values: Iterable[Value]) -> None:
        for value in values:
            if value.id not in self._values:
                self._values.add(value.id)
                self._queue.append(value)

    def _follow(self, value: Value) -> None:
        owner = value.owner
        if isinstance(owner, Op):
            self._result(owner, value)
        elif isinstance(owner, Block):
            self._want(self._flow.sources(value))
            around = owner.region.owner
            if around.name in LOOPS:
                self._loops.add(around.index)
                self._want(deciding(around))
            elif around.name in FUNCTIONS:
                self._entering(owner)

    def _result(self, op: Op, value: Value) -> None:
        """A result depends on what it is made of, on what its regions do, and that the op runs."""
        if op.index not in self._ops:
            self._ops.add(op.index)
            self._execution(op)
        if op.name in READING:
            return
        self._want(self._flow.sources(value))
        if op.name in LOOPS or op.name in BRANCHES:
            self._want(deciding(op))
        elif op.name in CALLS:
            self._want(op.operands)  # also what the function makes nothing of
            function = called(op, self._flow.module)
            for end in () if function is None else returns(function):
                self._execution(end)
        else:
            for inner in op.walk() if op.regions else ():
                self._want(inner.operands)

    def _entering(self, block: Block) -> None:
        """Which values a block's arguments are depends on the jumps or calls that lead to it."""
        if block is block.region.blocks[0]:
            for caller in self._flow.callers(block.region.owner):
                self._execution(caller)
        for jump in _jumps(block):
            if block in jump.successors:
                self._want(deciding(jump))
                self._execution(jump)

    def _execution(self, op: Op) -> None:
        """Whether an op runs depends on the branches and loops around it, and on who calls."""
        parent, block = op.parent, op.block
        while parent is not None and block is not None and id(block) not in self._reached:
            self._reached.add(id(block))
            if parent.name in FUNCTIONS:
                for jump in _jumps(block):
                    if _decides(jump, block):
                        self._want(deciding(jump))
                for caller in self._flow.callers(parent):
                    self._execution(caller)
            else:
                if parent.name in LOOPS:  # its counter is arithmetic, too
                    self._loops.add(parent.index)
                self._want(deciding(parent))
            block, parent = parent.block, parent.parent


def _jumps(block: Block) -> Iterator[Op]:
    """Return all jumps between the blocks that a block is one of."""
    return (each.ops[-1] for each in block.region.blocks if each.ops[-1].successors)


def _decides(jump: Op, block: Block) -> bool:
    """Whether a jump decides if a block is reached: it may lead there, and to an end without it."""
    if len(jump.successors) < 2 or block not in _after(jump.successors):
        return False
    around = _after([each for each in jump.successors if each is not block], without=block)
    return any(not each.ops[-1].successors for each in around)


def _after(blocks: Iterable[Block], without: Block | None = None) -> set[Block]:
    """Return all blocks that are reached from some, these included."""
    found: set[Block] = set()
    waiting = list(blocks)
    while waiting:
        each = waiting.pop()
        if each not in found and each is not without:
            found.add(each)
            waiting += each.ops[-1].successors
    return found
