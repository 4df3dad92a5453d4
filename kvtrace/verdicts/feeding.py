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
            self._result(value.owner)
        elif isinstance(value.owner, Block):
            self._argument(value.owner, value)

    def _result(self, op: Op) -> None:
        """A result hangs on the op's operands, on what its regions yield, and that it runs."""
        if op.index in self._ops:
            return
        self._ops.add(op.index)
        self._execution(op)
        if op.name in READING:
            return
        self._want(op.operands)
        for inner in op.walk() if op.regions else ():
            self._want(inner.operands)
        if op.name in CALLS:
            function = self._called(op)
            for inner in () if function is None else function.walk():
                self._want(inner.operands)

    def _argument(self, block: Block, value: Value) -> None:
        """A block's argument hangs on what its op is given, yields, or jumps with."""
        owner = block.region.owner
        if owner.name == "scf.for":
            self._want(owner.operands[:3])
            place = next(i for i, each in enumerate(block.arguments) if each.id == value.id)
            if place:  # not the loop's own counter
                self._want((owner.operands[2 + place], block.ops[-1].operands[place - 1]))
            return
        if owner.name in _FUNCTIONS:
            for op in self._module.ops:
                if op.name in CALLS and self._called(op) is owner:
                    self._want(op.operands)
                    self._execution(op)
            for op in _jumps(owner):
                self._want(op.operands)
            return
        self._want(owner.operands)
        for inner in owner.walk():
            if inner.parent is owner and not inner.results:
                self._want(inner.operands if inner.name.startswith(("scf.", "cf.")) else ())

    def _execution(self, op: Op) -> None:
        """Whether an op runs hangs on the branches and loops around it, and on who calls."""
        parent = op.parent
        while parent is not None and parent.index not in self._reached:
            self._reached.add(parent.index)
            if parent.name == "scf.if":
                self._want(parent.operands[:1])
            elif parent.name == "scf.for":
                self._want(parent.operands[:3])
            elif parent.name == "scf.while":
                self._want(parent.regions[0].blocks[0].ops[-1].operands[:1])
            elif parent.name in _FUNCTIONS:
                for jump in _jumps(parent):
                    self._want(jump.operands)
                for caller in self._module.ops:
                    if caller.name in CALLS and self._called(caller) is parent:
                        self._execution(caller)
            parent = parent.parent

    def _called(self, op: Op) -> Op | None:
        return called(op, self._module)


def called(op: Op, module: Module) -> Op | None:
    """Give the function that a call is of; None: it is not in the module."""
    callee = getattr(op.attributes.get("callee"), "value", None)
    function = module.functions.get(str(callee))
    return None if function is None else function.op


def _jumps(function: Op) -> Iterator[Op]:
    return (op for op in function.walk() if op.successors)
