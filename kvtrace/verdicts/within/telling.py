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
    """Return the verdict that lanes of a store do not conflict.

    Args:
        call: the call that was judged.
        op: the store.
        arg: name of the argument that it stores to; None: not known.
        method: how it was proven, for the column `method`.
        why: reasons why lanes that store to the same bytes do not conflict.
        solver_ns: time of the solver, ns.

    """
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
    """Return the verdict that it is not known whether lanes of a store conflict.

    Args:
        op: the store.
        arg: name of the argument that it stores to; None: not known.
        reason: why it is not known.
        evaluating: whether an evaluation of the grid could decide it.
        method: what was tried, for the column `method`.
        solver_ns: time of the solver, ns.
        unless: leave the verdict out if this op's own verdict is unknown.

    """
    kind = kind_of(op)
    message = f"whether lanes of this {kind} conflict could not be decided: {reason}"
    return Verdict(
        RULE, "unknown", op, message, method, reason=reason, access=kind, arg=arg,
        solver_ns=solver_ns or None, evaluating=evaluating, unless=unless,
    )  # fmt: skip


def violation(
    call: Call, op: Op, found: Conflict, method: str, *, updates: bool, solver_ns: int = 0
) -> Verdict:
    """Return the violation of two lanes that conflict.

    Args:
        call: the call that was judged.
        op: the store.
        found: the lanes, the byte, and the values that they store.
        method: how it was found, for the column `method`.
        updates: whether the lanes store to what they load.
        solver_ns: time of the solver, ns.

    """
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
