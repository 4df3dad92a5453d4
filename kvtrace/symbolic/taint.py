"""Fast analysis, without formulas, of the values that may have undefined elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kvtrace.ir.attributes import DenseArrayAttribute
from kvtrace.ir.flow import called, flow_of, forward
from kvtrace.ir.memo import once_per_module
from kvtrace.ir.ops import BRANCHES, CALLS, FILLING, LOOPS, READING, mask_of
from kvtrace.symbolic.walk_types import number_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from kvtrace.ir import Module, Op, Value


def leaves_lanes(op: Op) -> bool:
    """Return whether an op is a load that leaves its masked lanes undefined."""
    if op.name not in FILLING or op.optional("other") is not None:
        return False
    checks = op.attributes.get("boundaryCheck")
    if isinstance(checks, DenseArrayAttribute) and checks.values and not number_of(op, "padding"):
        return True
    return mask_of(op) is not None


@once_per_module
def tainted(module: Module) -> frozenset[int]:
    """Return the ids of the values that may have undefined elements, by forward data flow."""

    def affected_values(op: Op, value: Value) -> Sequence[Value]:
        if op.name in READING:
            return op.results if op.name in FILLING and value is op.optional("other") else ()
        if op.name in CALLS:
            return op.results if called(op, module) is None else ()
        return () if op.name in LOOPS or op.name in BRANCHES else op.results

    sources = [op.results[0] for op in module.ops if leaves_lanes(op)]
    return frozenset(forward(flow_of(module), sources, affected_values)) if sources else frozenset()
