"""Which memory ops hang on what tensors hold: in address or mask, or in whether they are reached.

A forward flow of "comes from memory" through the values of a module, to a fixed point. What the
flow does not follow exactly counts as coming from memory.
"""

import weakref
from collections.abc import Iterable, Sequence

from kvtrace.ir import Module, Op, Value

_READING = frozenset(
    {
        "tt.load",
        "tt.descriptor_load",
        "tt.descriptor_gather",
        "tt.atomic_rmw",
        "tt.atomic_cas",
    }
)

#: Operands of memory ops that are data and neither address nor mask, by position.
_DATA = {
    "tt.load": (2,),
    "tt.store": (1,),
    "tt.atomic_rmw": (1,),
    "tt.atomic_cas": (1, 2),
    "tt.descriptor_store": (1,),
    "tt.descriptor_scatter": (3,),
    "tt.descriptor_reduce": (1,),
}
_CALLS = ("tt.call", "func.call")


def hanging_on_data(module: Module) -> frozenset[int]:
    """Give the indices of the ops whose address, mask or execution hangs on tensors' contents."""
    if module not in _known:
        _known[module] = _hanging(module)
    return _known[module]


_known: weakref.WeakKeyDictionary[Module, frozenset[int]] = weakref.WeakKeyDictionary()


def _hanging(module: Module) -> frozenset[int]:
    flow = _Flow(module)
    flow.settle()
    return frozenset(
        op.index
        for op in module.ops
        if flow.reached_by_data(op)
        or flow.any(v for i, v in enumerate(op.operands) if i not in _DATA.get(op.name, ()))
    )


class _Flow:
    def __init__(self, module: Module) -> None:
        self._module = module
        self._from_memory: set[int] = set()
        self._doubtful: set[int] = set()
        self._changed = True

    def settle(self) -> None:
        """Follow all ops until nothing changes."""
        while self._changed:
            self._changed = False
            for op in self._module.ops:
                self._follow(op)

    def any(self, values: Iterable[Value]) -> bool:
        """Whether one of the values comes from memory."""
        return any(value.id in self._from_memory for value in values)

    def reached_by_data(self, op: Op) -> bool:
        """Whether data decide if (or how often) the op runs."""
        while (parent := op.parent) is not None:
            if parent.index in self._doubtful:
                return True
            op = parent
        return False

    def _follow(self, op: Op) -> None:
        if op.name in _READING:
            self._mark(op.results)
        elif op.name == "scf.for":
            self._loop(op, op.operands[:3], op.operands[3:])
        elif op.name == "scf.while":
            self._while(op)
        elif op.name == "scf.if":
            self._if(op)
        elif op.name in _CALLS:
            self._call(op)
        elif op.successors:
            self._branch(op)
        elif self.any(op.operands):
            self._mark(op.results)

    def _mark(self, values: Iterable[Value]) -> None:
        fresh = {value.id for value in values} - self._from_memory
        self._from_memory |= fresh
        self._changed = self._changed or bool(fresh)

    def _doubt(self, op: Op) -> None:
        if op.index not in self._doubtful:
            self._doubtful.add(op.index)
            self._changed = True

    def _pass(self, given: Sequence[Value], *taking: Sequence[Value]) -> None:
        """What is given at a position is taken at it, in each of several lists."""
        for targets in taking:
            self._mark(
                target
                for source, target in zip(given, targets, strict=False)
                if self.any((source,))
            )

    def _loop(self, op: Op, bounds: Sequence[Value], initial: Sequence[Value]) -> None:
        block = op.regions[0].blocks[0]
        carried = block.arguments[1:]
        self._pass(initial, carried, op.results)
        self._pass(block.ops[-1].operands, carried, op.results)
        if self.any(bounds):
            self._doubt(op)
            self._mark((*block.arguments, *op.results))

    def _while(self, op: Op) -> None:
        before, after = (region.blocks[0] for region in op.regions)
        condition, *forwarded = before.ops[-1].operands
        self._pass(op.operands, before.arguments)
        self._pass(after.ops[-1].operands, before.arguments)
        self._pass(forwarded, after.arguments, op.results)
        if self.any((condition,)):
            self._doubt(op)
            self._mark((*before.arguments, *after.arguments, *op.results))

    def _if(self, op: Op) -> None:
        for region in op.regions:
            for block in region.blocks:
                self._pass(block.ops[-1].operands, op.results)
        if self.any(op.operands):
            self._doubt(op)
            self._mark(op.results)

    def _branch(self, op: Op) -> None:
        """A jump on data casts doubt on the whole function; so do data that it carries along."""
        if self.any(op.operands):
            for target in op.successors:
                self._mark(target.arguments)
            if op.parent is not None:
                self._doubt(op.parent)

    def _call(self, op: Op) -> None:
        callee = getattr(op.attributes.get("callee"), "value", None)  # the attribute is a symbol
        function = self._module.functions.get(str(callee))
        if function is None:
            self._mark(op.results)
            return
        blocks = function.body.blocks
        self._pass(op.operands, blocks[0].arguments)
        for block in blocks:
            if not block.ops[-1].successors:
                self._pass(block.ops[-1].operands, op.results)
        if self.reached_by_data(op):
            self._doubt(function.op)
        if function.op.index in self._doubtful:
            self._mark(op.results)
