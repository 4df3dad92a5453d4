"""Which memory ops depend on what tensors hold: in address or mask, or in whether they are reached.

A forward flow of "comes from memory" through the values of a module. What the flow does not follow
exactly counts as coming from memory.
"""

from collections.abc import Sequence

from kvtrace.ir import Module, Op, Value
from kvtrace.ir.flow import around, called, deciding, flow_of, forward, jumps
from kvtrace.ir.memo import once_per_module
from kvtrace.ir.ops import BRANCHES, CALLS, LOOPS, MEMORY, READING, data_of
from kvtrace.ir.types import FloatType, TensorType


@once_per_module
def depending_on_data(module: Module) -> frozenset[int]:
    """Return the indices of the ops whose address, mask or execution depends on contents."""
    return _Dependence(module).found()


@once_per_module
def leading_integers(module: Module) -> frozenset[int]:
    """Return the indices of the ops that read integers which lead to other data.

    They select what is read, written or run, or are compared with other integers of memory, as
    numbers of sequences are that say which data belong together.
    """
    reading = [op for op in module.ops if op.name in READING and _reads_integers(op)]
    together = _Dependence(module, reading)
    together.found()
    leading = set()
    for read in reading:
        alone = _Dependence(module, [read])
        depending = alone.found()
        if any(
            op.name in MEMORY
            or alone.is_doubtful(op)
            or (op.name == "arith.cmpi" and all(v.id in together.reached for v in op.operands))
            for op in module.ops
            if op.index in depending
        ):
            leading.add(read.index)
    return frozenset(leading)


class _Dependence:
    def __init__(self, module: Module, reading: Sequence[Op] | None = None) -> None:
        self._module = module
        if reading is None:
            reading = [op for op in module.ops if op.name in READING]
        self._sources = {value for op in reading for value in op.results}
        self.reached: set[int] = set()
        self._flow = flow_of(module)
        self._doubtful: set[Op] = set()
        """Ops of which data decide what of them runs, or how often."""

    def found(self) -> frozenset[int]:
        """Follow what memory gives until nothing changes."""
        sources = set(self._sources)
        while True:
            self.reached = forward(self._flow, sources, self._onwards)
            more = self._of_calls() - sources
            if not more:
                break
            sources |= more
        return frozenset(
            op.index
            for op in self._module.ops
            if self.is_doubtful(op)
            or any(value.id in self.reached for value in op.operands if value not in _data(op))
        )

    def _onwards(self, op: Op, value: Value) -> Sequence[Value]:
        owner = op.parent if op.name == "scf.condition" else op
        if owner is not None and value in deciding(owner):
            return self._doubted(owner)
        if op.name in LOOPS or op.name in BRANCHES or op.name in READING:
            return ()
        return op.results if op.name not in CALLS or called(op, self._module) is None else ()

    def _doubted(self, op: Op) -> list[Value]:
        """Data decide what of an op runs: all that it gives, or that its loop carries, is theirs.

        A jump on data casts doubt on its whole function.
        """
        if op.successors:
            if op.parent is not None:
                self._doubtful.add(op.parent)
            return [value for block, _ in jumps(op) for value in block.arguments]
        self._doubtful.add(op)
        regions = op.regions if op.name in LOOPS else ()
        carried = (v for region in regions for block in region.blocks for v in block.arguments)
        return [*carried, *op.results]

    def _of_calls(self) -> set[Value]:
        """Cast doubt on functions called where data decide, and return what such calls give."""
        given: set[Value] = set()
        for op in self._module.ops:
            function = called(op, self._module) if op.name in CALLS else None
            if function is not None:
                if self.is_doubtful(op):
                    self._doubtful.add(function)
                if function in self._doubtful:
                    given.update(op.results)
        return given

    def is_doubtful(self, op: Op) -> bool:
        """Whether data decide whether an op runs, or how often."""
        return any(owner in self._doubtful for owner in around(op))


def _reads_integers(op: Op) -> bool:
    types = (value.type for value in op.results)
    elements = (each.element if isinstance(each, TensorType) else each for each in types)
    return not all(isinstance(each, FloatType) for each in elements)


def _data(op: Op) -> Sequence[Value]:
    return data_of(op) if op.name in MEMORY else ()
