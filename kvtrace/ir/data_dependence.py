"""Dependence of ops' addresses, masks and execution on the contents of tensors.

A forward taint analysis: values loaded from memory are tainted, and taint flows through the values
of a module. Values that the analysis cannot follow exactly count as tainted. Example: in
`i = load(p); x = load(q + i)`, the second load's address is tainted, the first one's is not.
"""

from collections.abc import Collection, Iterable, Sequence

from kvtrace.ir import Module, Op, Value
from kvtrace.ir.flow import called, deciding, enclosing_ops, flow_of, forward, jumps
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import BRANCHES, CALLS, LOOPS, MEMORY, READING, SHARED_READS
from kvtrace.ir.types import FloatType, TensorType
from kvtrace.ir.updates import data_of


@once_per_module
def depending_on_data(module: Module) -> frozenset[int]:
    """Return the indices of ops whose address, mask or execution depends on tensor contents."""
    return _Taint(module, _loaded(_reading(module))).dependent_ops()


@once_per_module
def leading_integers(module: Module) -> frozenset[int]:
    """Return the indices of ops that load integers which select other data.

    Such integers are in addresses, masks or branches, or are compared with other loaded integers,
    as sequence numbers that decide which data belong together.
    """
    loads = [op for op in _reading(module) if _reads_integers(op)]
    all_loads = _Taint(module, _loaded(loads))
    all_loads.dependent_ops()
    leading = set()
    for load in loads:
        taint = _Taint(module, _loaded([load]))
        dependent = taint.dependent_ops()
        if any(
            op.name in MEMORY
            or taint.is_doubtful(op)
            or (op.name == "arith.cmpi" and all(v.id in all_loads.tainted for v in op.operands))
            for op in module.ops
            if op.index in dependent
        ):
            leading.add(load.index)
    return frozenset(leading)


class _Taint:
    """Taint of the values that are computed from some values."""

    def __init__(self, module: Module, sources: Collection[Value]) -> None:
        self._module = module
        self._sources = frozenset(sources)
        #: Ids of the tainted values.
        self.tainted: set[int] = set()
        self._flow = flow_of(module)
        #: Ops whose regions' or blocks' execution depends on tainted values.
        self._doubtful: set[Op] = set()

    def dependent_ops(self) -> frozenset[int]:
        """Propagate taint to the fixpoint; return the indices of ops that tainted values affect."""
        sources = set(self._sources)
        while True:
            self.tainted = forward(self._flow, sources, self._onwards)
            added = self._call_results() - sources
            if not added:
                break
            sources |= added
        return frozenset(
            op.index
            for op in self._module.ops
            if self.is_doubtful(op)
            or any(value.id in self.tainted for value in op.operands if value not in _data(op))
        )

    def _onwards(self, op: Op, value: Value) -> Sequence[Value]:
        """Return the values that an op taints if one of its operands is tainted."""
        owner = op.parent if op.name == "scf.condition" else op
        if owner is not None and value in deciding(owner):
            return self._values_decided_by(owner)
        if op.name in LOOPS or op.name in BRANCHES or op.name in READING:
            return ()
        return op.results if op.name not in CALLS or called(op, self._module) is None else ()

    def _values_decided_by(self, op: Op) -> list[Value]:
        """Mark an op's execution as doubtful; return its results and its loop's carried values.

        A jump marks its whole function, and the arguments of its target blocks are returned.
        """
        if op.successors:
            if op.parent is not None:
                self._doubtful.add(op.parent)
            return [value for block, _ in jumps(op) for value in block.arguments]
        self._doubtful.add(op)
        regions = op.regions if op.name in LOOPS else ()
        carried = (v for region in regions for block in region.blocks for v in block.arguments)
        return [*carried, *op.results]

    def _call_results(self) -> set[Value]:
        """Mark functions with a doubtful call as doubtful; return all results of their calls."""
        results: set[Value] = set()
        for op in self._module.ops:
            function = called(op, self._module) if op.name in CALLS else None
            if function is not None:
                if self.is_doubtful(op):
                    self._doubtful.add(function)
                if function in self._doubtful:
                    results.update(op.results)
        return results

    def is_doubtful(self, op: Op) -> bool:
        """Return whether tainted values decide if, or how often, an op is executed."""
        return any(owner in self._doubtful for owner in enclosing_ops(op))


def _reading(module: Module) -> list[Op]:
    """Return the ops that load; what copies bring to shared memory is not followed there."""
    return [op for op in module.ops if op.name in READING | SHARED_READS]


def _loaded(reading: Iterable[Op]) -> set[Value]:
    return {value for op in reading for value in op.results}


def _reads_integers(op: Op) -> bool:
    types = (value.type for value in op.results)
    elements = (type_.element if isinstance(type_, TensorType) else type_ for type_ in types)
    return not all(isinstance(element, FloatType) for element in elements)


def _data(op: Op) -> Sequence[Value]:
    return data_of(op) if op.name in MEMORY else ()
