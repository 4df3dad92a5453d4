"""The verdicts of the rule `lane-conflict`, as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from kvtrace.ir import Op
from kvtrace.metrics.of_ops import kind_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.races.telling import scope_of
from kvtrace.verdicts.replaying import program_at
from kvtrace.verdicts.verdict import Verdict
from kvtrace.verdicts.within.two_orders import Conflict

RULE: Final = "lane-conflict"


def proven(
    call: Call, op: Op, arg: str | None, method: str, why: Iterable[str] = (), solver_ns: int = 0
) -> Verdict:
    """Say that lanes of a store do not conflict; `why` where they may meet all the same."""
    kind = kind_of(op)
    message = f"no two lanes of this {kind} conflict{scope_of(call, op, why)}"
    return Verdict(
        RULE, "proven", op, message, method, access=kind, arg=arg, solver_ns=solver_ns or None
    )


def unknown(
    op: Op,
    arg: str | None,
    reason: str,
    *,
    evaluating: bool,
    method: str | None = None,
    solver_ns: int = 0,
    unless: Op | None = None,
) -> Verdict:
    """Say why it is not known whether lanes of a store conflict."""
    kind = kind_of(op)
    message = f"whether lanes of this {kind} conflict could not be decided: {reason}"
    return Verdict(
        RULE, "unknown", op, message, method, reason=reason, access=kind, arg=arg,
        solver_ns=solver_ns or None, evaluating=evaluating, unless=unless,
    )  # fmt: skip


def violation(
    call: Call, op: Op, found: Conflict, method: str, *, updates: bool, solver_ns: int = 0
) -> Verdict:
    """Show two lanes that conflict; `updates`: they store to what they load."""
    tensor = call.arguments[found.argument]
    program, kind = program_at(found.program, call.grid), kind_of(op)
    place = f"byte {found.byte - getattr(tensor, 'offset_bytes', 0)} of {tensor.name}"
    one, other = found.lanes
    what = f"lanes {one} and {other} of program {program}"
    first, second = map(_shown, found.values)
    if found.is_update:
        message = (
            f"{what} both load and store {place} without an atomic: {first} is stored, and "
            f"{second} if one comes after the other; tl.atomic_add and the like lose no update"
        )
    else:
        message = f"{what} both store to {place}, {first} and {second}, and nothing orders them"
        if updates:
            message += "; they update what they load, which takes an atomic (tl.atomic_add)"
    return Verdict(
        RULE,
        "violation",
        op,
        message,
        method,
        access=kind,
        arg=tensor.name,
        program=program,
        iteration=found.iteration,
        lane=one,
        address_offset=found.address_offset,
        solver_ns=solver_ns or None,
        other_program=program,
        other_op=op,
    )


def _shown(number: Any) -> str:
    return f"{number:g}" if isinstance(number, float) else str(number)
