"""Fast analysis, without formulas, of the values that may have undefined elements."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kvtrace.ir import Module, Op, Value
from kvtrace.ir.attributes import DenseArrayAttribute
from kvtrace.ir.flow import called, constant_of, flow_of, forward
from kvtrace.ir.model import number_of, once_per_module
from kvtrace.ir.ops import (
    BRANCHES,
    CALLS,
    FILLING,
    KINDS,
    LOOPS,
    READING,
    Kind,
    mask_of,
    operator_of,
)
from kvtrace.ir.types import integer_bits, shape_of
from kvtrace.symbolic.terms import signed_range


def leaves_lanes(op: Op) -> bool:
    """Return whether an op is a load or an atomic that leaves its masked lanes undefined."""
    row = KINDS.get(op.name)
    if row is None or op.name not in READING or row.has("shared") or not op.results:
        return False
    if row.has("other") and op.optional("other") is not None:
        return False
    checks = op.attributes.get("boundaryCheck")
    if isinstance(checks, DenseArrayAttribute) and checks.values and not number_of(op, "padding"):
        return True
    return mask_of(op) is not None


def limited_operand(op: Op) -> tuple[Value, int] | None:
    """Return an operand without whose limit an op has no value: 0 <= operand < limit; else None.

    That is a shift's amount, the index of a gather, and what a histogram counts. Devices differ
    there: some take an amount modulo the width, and a value modulo the bins.
    """
    kind = KINDS.get(op.name)
    if operator_of(op) in ("<<", ">>"):
        return op.operand("right"), integer_bits(op.results[0].type) or 64
    if kind is not None and kind.kind is Kind.PICKED and kind.has("index"):
        return op.operand("index"), shape_of(op.operand("source").type)[number_of(op, "axis")]
    if kind is not None and kind.kind is Kind.COUNT:
        return op.operand("source"), shape_of(op.results[0].type)[0]
    return None


def undefined_cause(op: Op) -> str | None:
    """Return why an op has no value, or may have none for its numbers; None if it has one.

    Compilers put what a register happens to hold there.
    """
    operator, limited = operator_of(op), limited_operand(op)
    if operator == "undefined":
        return "a loop's counter has none after the loop"
    if limited is not None:
        number, limit = constant_of(limited[0]), limited[1]
        if number is not None and 0 <= number < limit:
            return None
        if operator not in ("<<", ">>"):
            return f"an index outside of 0 to {limit - 1} has none"
        amount = "less than 0, or the width or more," if number is None else number
        return f"a shift by {amount} of {limit} bits has none"
    kind, bits = KINDS.get(op.name), integer_bits(op.results[0].type) if op.results else None
    if kind is None or not kind.has("source") or len(op.results) != 1 or operator:
        return None
    operand = op.optional("source")
    number = None if operand is None else constant_of(operand)
    if bits is None or not isinstance(number, float):
        return None
    low, high = signed_range(bits) if op.name.endswith("si") else (0, 2**bits - 1)
    return None if low - 1 < number < high + 1 else f"{number:g} has none in {bits} bits"


@once_per_module
def undefined_causes(module: Module) -> Mapping[Op, str]:
    """Return `undefined_cause` of each op that has one, in order."""
    return {op: cause for op in module.ops if (cause := undefined_cause(op))}


@once_per_module
def undefined_sources(module: Module) -> frozenset[Op]:
    """Return the ops that may leave elements without a value."""
    return frozenset(filter(leaves_lanes, module.ops)).union(undefined_causes(module))


@once_per_module
def tainted(module: Module) -> frozenset[int]:
    """Return the ids of the values that may have undefined elements, by forward data flow."""
    return reached_from(module, [op.results[0] for op in undefined_sources(module)])


def reached_from(module: Module, sources: Sequence[Value]) -> frozenset[int]:
    """Return the ids of the values that some values reach otherwise than by memory."""

    def affected_values(op: Op, value: Value) -> Sequence[Value]:
        if op.name in READING:
            return op.results if op.name in FILLING and value is op.optional("other") else ()
        if op.name in CALLS:
            return op.results if called(op, module) is None else ()
        return () if op.name in LOOPS or op.name in BRANCHES else op.results

    return frozenset(forward(flow_of(module), sources, affected_values)) if sources else frozenset()
