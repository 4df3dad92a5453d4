"""Precision that a kernel gives away: sums kept in 16 bits, factors of dots cut to tf32."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kvtrace.evaluate.dialects.tt_dot import dot_form
from kvtrace.ir import Module, Op
from kvtrace.ir.flow import flow_of, terminator
from kvtrace.ir.model import Value
from kvtrace.ir.ops import COMBINING, LOOPS, computing, operator_of

_ADDING: Final = computing("+")
_DOTS: Final = computing("dot")
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
                if isinstance(made, Op) and (made.name in _ADDING or made.name in _DOTS):
                    carried = set(flow.copies(value))
                    if any(_before_casts(each) in carried for each in made.operands):
                        yield value.owner


def _before_casts(value: Value) -> Value:
    """Return what a value was before it was converted, as often as that was done."""
    while isinstance(value.owner, Op) and operator_of(value.owner) == "cast":
        value = value.owner.operand("source")
    return value


def _is_narrow(value: Value) -> bool:
    return str(getattr(value.type, "element", value.type)) in _NARROW
