"""Determinism of a kernel: whether it gives the same bits when it runs again, in any order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from kvtrace.ir.flow import flow_of
from kvtrace.verdicts.judge import judge

if TYPE_CHECKING:
    from kvtrace.ir import Op
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.symbolic.summary import Access

Answer = Literal["proven", "depends", "unknown"]

FREE: Final = frozenset({"fadd"})
"""Atomic updates whose result depends on their order."""
_EXACT: Final = frozenset({"and", "or", "xor", "add", "max", "min", "umax", "umin"})
"""Atomic updates of integers that leave the same in any order."""


@dataclass(frozen=True, slots=True)
class Determinism:
    """The verdict whether launches on equal inputs give equal bits; `op` may break this."""

    answer: Answer
    reason: str | None = None
    op: Op | None = None


def determinism_of(call: Call) -> Determinism:
    """Return whether a call gives the same bits in any order of its programs.

    Proven if nothing depends on that order: no float atomics, no atomic whose old value is used,
    and no race by the rule `race`. The verdict is for one variant, for which the compiler has fixed
    the order of the sums inside a program.
    """
    from kvtrace.symbolic.walk import summarize

    found: Determinism | None = None
    for access in summarize(call.module).accesses:
        if access.kind == "atomic":
            each = _of_update(access, call)
            if each is not None and (found is None or each.answer == "depends"):
                found = each
    if found is not None and found.answer == "depends":
        return found
    for verdict in judge(call, ["race"]):
        if verdict.verdict == "violation":
            return Determinism("depends", verdict.message, verdict.op)
        if verdict.verdict == "unknown" and found is None:
            found = Determinism("unknown", verdict.message, verdict.op)
    return found or Determinism("proven")


def _of_update(access: Access, call: Call) -> Determinism | None:
    """Return the verdict on an atomic update that may depend on an order, else None."""
    used = bool(flow_of(call.module).uses(access.op.results[0])) if access.op.results else False
    if access.operator in FREE:
        text = "an atomic sum of floats, which rounds in the order in which programs come"
        return Determinism("depends", text, access.op)
    if used:
        text = "the old value of an atomic update, which depends on which programs came before"
        return Determinism("unknown", text, access.op)
    if access.operator in _EXACT:
        return None
    return Determinism("unknown", f"an atomic {access.operator or 'update'}", access.op)
