"""Dependence of ops' addresses, masks and execution on the contents of tensors.

A forward taint analysis: values loaded from memory are tainted, and taint flows through the values
of a module. Values that the analysis cannot follow exactly count as tainted. Example: in
`i = load(p); x = load(q + i)`, the second load's address is tainted, the first one's is not.
"""

from collections.abc import Collection, Iterable, Sequence
from typing import Final

from kvtrace.ir import Module, Op, Value
from kvtrace.ir.flow import called, deciding, enclosing_ops, flow_of, forward, jumps
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import BRANCHES, CALLS, KINDS, LOOPS, MEMORY, READING, named
from kvtrace.ir.types import FloatType, PointerType, TensorType
from kvtrace.ir.updates import data_of

#: Ops that may use a value in ways that this analysis does not follow: addresses as numbers,
#: assembly, which may access memory, and functions in regions, which may branch.
_NOT_FOLLOWED: Final = named(lambda row: row.operator in ("ptr_to_int", "inline_asm", "map"))


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
    loads = [op for op in module.ops if op.name in READING and _reads_integers(op)]
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


@once_per_module
def parameters_deciding_work(module: Module) -> frozenset[int]:
    """Return the positions of the kernel's parameters that decide what work a launch does.

    Some address (but for the pointer that it begins at), mask, branch or loop bound depends on such
    a parameter, so that launches with other values of it may do other work. Others only change
    numbers that are computed, as a scale or a seed of random numbers does. A value that is stored
    counts as deciding where contents of tensors decide, since a load may read it again.
    """
    parameters = module.main.arguments
    if any(op.name in _NOT_FOLLOWED or op.name not in KINDS for op in module.ops):
        return frozenset(range(len(parameters)))
    reads_again = contents_decide_work(module)
    deciding_parameters = set()
    for position, parameter in enumerate(parameters):
        if isinstance(parameter.type, PointerType):
            continue
        taint = _Taint(module, {parameter})
        if taint.decides_work() or (reads_again and taint.is_stored()):
            deciding_parameters.add(position)
    return frozenset(deciding_parameters)


@once_per_module
def contents_decide_work(module: Module) -> bool:
    """Return whether an address, mask, branch or loop bound depends on contents of tensors."""
    return _Taint(module, _loaded(_reading(module))).decides_work()


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

    def decides_work(self) -> bool:
        """Return whether a memory op's address, mask or execution depends on tainted values."""
        dependent = self.dependent_ops()
        return any(
            op.name in MEMORY or self.is_doubtful(op)
            for op in self._module.ops
            if op.index in dependent
        )

    def is_stored(self) -> bool:
        """Return whether tainted values are stored to memory."""
        self.dependent_ops()
        return any(
            value.id in self.tainted
            for op in self._module.ops
            if op.name in MEMORY
            for value in _data(op)
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
    return [op for op in module.ops if op.name in READING]


def _loaded(reading: Iterable[Op]) -> set[Value]:
    return {value for op in reading for value in op.results}


def _reads_integers(op: Op) -> bool:
    types = (value.type for value in op.results)
    elements = (type_.element if isinstance(type_, TensorType) else type_ for type_ in types)
    return not all(isinstance(element, FloatType) for element in elements)


def _data(op: Op) -> Sequence[Value]:
    return data_of(op) if op.name in MEMORY else ()
