"""Which ops' integers a memory op's address, mask and execution are made of.

The backward counterpart of `kvtrace.passes.data_dependence`: from an op's operands through all ops,
loops, branches and calls to the kernel's arguments. It ends at loads: what memory holds is no
arithmetic of the kernel's.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator
from typing import Final

from kvtrace.ir import Block, Module, Op, Value

#: Ops that read memory: what they give is no arithmetic of the kernel's.
READING: Final = frozenset(
    {
        "tt.load",
        "tt.descriptor_load",
        "tt.descriptor_gather",
        "tt.atomic_rmw",
        "tt.atomic_cas",
    }
)
#: Operands of memory ops that are data and neither address nor mask, by position.
_DATA: Final = {
    "tt.load": (2,),
    "tt.store": (1,),
    "tt.atomic_rmw": (1,),
    "tt.atomic_cas": (1, 2),
    "tt.descriptor_store": (1,),
    "tt.descriptor_scatter": (3,),
    "tt.descriptor_reduce": (1,),
}
CALLS: Final = ("tt.call", "func.call")
_FUNCTIONS: Final = ("tt.func", "func.func")


def feeding(op: Op, module: Module) -> frozenset[int]:
    """Give the indices of the ops that decide where a memory op goes and whether it runs."""
    slices = _slices.setdefault(module, {})
    if op.index not in slices:
        slices[op.index] = _Slice(module).of(op)
    return slices[op.index]


def loads_behind(op: Op, module: Module) -> frozenset[int]:
    """Give the indices of all ops that read memory on which another depends, through any others."""
    found: set[int] = set()
    waiting = [op]
    while waiting:
        ops = feeding(waiting.pop(), module) - found
        reading = {index for index in ops if module.ops[index].name in READING}
        found |= reading
        waiting += [module.ops[index] for index in reading]
    return frozenset(found)


_slices: weakref.WeakKeyDictionary[Module, dict[int, frozenset[int]]] = weakref.WeakKeyDictionary()


def feeding_values(values: Iterable[Value], module: Module) -> frozenset[int]:
    """Give the indices of the ops that values are made of."""
    return _Slice(module).of_values(values)


class _Slice:
    def __init__(self, module: Module) -> None:
        self._module = module
        self._ops: set[int] = set()
        self._values: set[int] = set()
        self._reached: set[int] = set()
        self._queue: list[Value] = []

    def of(self, op: Op) -> frozenset[int]:
        """Follow everything that an op hangs on."""
        self._execution(op)
        deciding = (v for i, v in enumerate(op.operands) if i not in _DATA.get(op.name, ()))
        return self.of_values(deciding)

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
        if isinstance(value.owner, Op):
            self._result(value.owner, value.position)
        elif isinstance(value.owner, Block):
            self._argument(value.owner, value)

    def _result(self, op: Op, place: int) -> None:
        """A result depends on the op's operands, on what its regions yield, and that it runs."""
        if op.index not in self._ops:
            self._ops.add(op.index)
            self._execution(op)
        if op.name in READING:
            return
        if op.name == "scf.for":
            self._want((*op.operands[:3], op.operands[3 + place], _end(op, 0).operands[place]))
        elif op.name == "scf.while":
            self._want((_end(op, 0).operands[0], _end(op, 0).operands[1 + place]))
        elif op.name == "scf.if":
            self._want(op.operands)
            self._want(_end(op, region).operands[place] for region in range(len(op.regions)))
        else:
            self._want(op.operands)
            function = self._called(op) if op.name in CALLS else None
            for inner in (op if function is None else function).walk():
                self._want(inner.operands)

    def _argument(self, block: Block, value: Value) -> None:
        """A block's argument depends on what its op is given, yields, or jumps with."""
        owner, place = block.region.owner, value.position
        if owner.name == "scf.for":
            self._want(owner.operands[:3])
            if place:  # not the loop's own counter
                self._want((owner.operands[2 + place], _end(owner, 0).operands[place - 1]))
        elif owner.name == "scf.while":
            if block.region is owner.regions[0]:
                self._want((owner.operands[place], _end(owner, 1).operands[place]))
            else:
                self._want((_end(owner, 0).operands[1 + place],))
        elif owner.name not in _FUNCTIONS:
            self._want(owner.operands)
        elif block is owner.regions[0].blocks[0]:
            for op in self._module.ops:
                if op.name in CALLS and self._called(op) is owner:
                    self._want(op.operands)
                    self._execution(op)
        else:
            for op in _jumps(block):
                if block in op.successors:
                    self._want(op.operands)
                    self._execution(op)

    def _execution(self, op: Op) -> None:
        """Whether an op runs depends on the branches and loops around it, and on who calls."""
        parent, block = op.parent, op.block
        while parent is not None and block is not None and id(block) not in self._reached:
            self._reached.add(id(block))
            if parent.name == "scf.if":
                self._want(parent.operands[:1])
            elif parent.name == "scf.for":
                self._want(parent.operands[:3])
            elif parent.name == "scf.while":
                self._want(_end(parent, 0).operands[:1])
            elif parent.name in _FUNCTIONS:
                for jump in _jumps(block):
                    if _decides(jump, block):
                        self._want(jump.operands[:1])
                for caller in self._module.ops:
                    if caller.name in CALLS and self._called(caller) is parent:
                        self._execution(caller)
            block, parent = parent.block, parent.parent

    def _called(self, op: Op) -> Op | None:
        return called(op, self._module)


def called(op: Op, module: Module) -> Op | None:
    """Give the function that a call is of; None: it is not in the module."""
    callee = getattr(op.attributes.get("callee"), "value", None)
    function = module.functions.get(str(callee))
    return None if function is None else function.op


def _end(op: Op, region: int) -> Op:
    """Return what ends a region of one block: what it yields, or whether a loop goes on."""
    return op.regions[region].blocks[0].ops[-1]


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
