"""Precision that a kernel gives away: sums in 16 bits, numbers rounded on the way, tf32."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kvtrace.evaluate.dialects.tt_dot import dot_form
from kvtrace.evaluate.types import value_type
from kvtrace.ir import Module, Op
from kvtrace.ir.flow import flow_of, terminator
from kvtrace.ir.model import Value
from kvtrace.ir.ops import COMBINING, KINDS, LOOPS, Kind, computing, operator_of

_ADDING: Final = computing("+")
_DOTS: Final = computing("dot")
_ELEMENT_BY_ELEMENT: Final = (Kind.ELEMENTWISE, Kind.SPREAD, Kind.REARRANGED)
_WIDE_BITS: Final = 32
_NARROW: Final = frozenset({"f16", "bf16"})


def uses_tf32(module: Module) -> bool:
    """Whether a dot cuts its float32 factors to tf32."""
    return any(dot_form(op).tf32 for op in module.ops if op.name in _DOTS)


def narrow_sums(module: Module) -> Iterator[Op]:
    """Give ops that add to a sum kept in 16 bits, in a loop or a reduction.

    Where a loop's sum is wide, and is rounded to 16 bits in each of its rounds, that is the op that
    rounds.
    """
    flow = flow_of(module)
    for op in module.ops:
        if op.name in COMBINING and _is_narrow(op.results[0]):
            if any(inner.name in _ADDING for inner in op.walk() if inner is not op):
                yield op
        elif op.name in LOOPS:
            for value in terminator(op, len(op.regions) - 1).operands:
                if not isinstance(value.owner, Op) or not _is_narrow(value):
                    continue
                made = _before_casts(value).owner
                adds = isinstance(made, Op) and (made.name in _ADDING or made.name in _DOTS)
                if adds and _is_made_of(made, set(flow.copies(value))):
                    yield value.owner


def foreign_roundings(module: Module) -> Iterator[Op]:
    """Give ops that round to a narrow type of floats which none of the kernel's tensors has."""
    types = [value_type(value.type) for value in module.main.arguments]
    held = {type_.element.name for type_ in types if type_.pointer or type_.descriptor}
    for op in module.ops:
        if operator_of(op) == "cast":
            target = value_type(op.results[0].type).element
            if target.kind == "f" and target.bits < _WIDE_BITS and target.name not in held:
                yield op


def _is_made_of(op: object, carried: set[Value]) -> bool:
    """Whether an op's operands come of carried values, element by element."""
    waiting = list(op.operands) if isinstance(op, Op) else []
    seen: set[int] = set()
    while waiting:
        value = waiting.pop()
        if value in carried:
            return True
        made = value.owner
        if value.id in seen or not isinstance(made, Op):
            continue
        seen.add(value.id)
        if KINDS.get(made.name) is not None and KINDS[made.name].kind in _ELEMENT_BY_ELEMENT:
            waiting += made.operands
    return False


def _before_casts(value: Value) -> Value:
    """Return what a value was before it was converted, as often as that was done."""
    while isinstance(value.owner, Op) and operator_of(value.owner) == "cast":
        value = value.owner.operand("source")
    return value


def _is_narrow(value: Value) -> bool:
    return str(getattr(value.type, "element", value.type)) in _NARROW
