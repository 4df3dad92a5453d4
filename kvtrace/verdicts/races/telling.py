"""The verdicts of the rule `race`, as text."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate import TensorArgument
from kvtrace.ir import Op, source_stack
from kvtrace.ir.data_dependence import depending_on_data
from kvtrace.metrics.of_ops import kind_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.races.parts import parts_of
from kvtrace.verdicts.races.replay import Touch, Witness
from kvtrace.verdicts.replaying import program_at
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall

RULE: Final = "race"

#: Methods of a proof, the cheapest first.
_STRENGTH: Final = ("interval", "affine", "solver")
DOES: Final = {"load": "loads", "store": "stores to", "atomic": "updates"}


def proven(
    call: Call,
    op: Op,
    arg: str | None,
    method: str,
    why: Iterable[str] = (),
    assumption: str | None = None,
    solver_ns: int = 0,
) -> Verdict:
    """Return the verdict that an op races with no other program.

    Args:
        call: the call that was judged.
        op: the memory op.
        arg: name of the argument that it accesses; None: not known.
        method: how it was proven, for the column `method`.
        why: reasons why programs that access the same bytes do not race.
        assumption: condition under which the proof holds; None: always.
        solver_ns: time of the solver, ns.

    """
    kind = kind_of(op)
    message = f"{kind} races with no other program{scope_of(call, op, why)}"
    return Verdict(
        RULE, "proven", op, message, method, access=kind, arg=arg, solver_ns=solver_ns or None,
        assumption=assumption,
    )  # fmt: skip


def scope_of(call: Call, op: Op, why: Iterable[str]) -> str:
    """Say behind a proof why lanes or programs may meet, and for which contents it holds."""
    notes = list(dict.fromkeys(each for each in why if each))
    if call.recorded and op.index in depending_on_data(call.module):
        notes.append(f"for the recorded contents of {', '.join(call.recorded)}")
    return f" ({'; '.join(notes)})" if notes else ""


def names_of(bound: BoundCall, op: Op) -> str | None:
    """Return the names of the tensors that an op accesses, None where none is known."""
    places = (access.argument for access in bound.summary.accesses if access.op is op)
    names = {bound.call.arguments[place].name for place in places if place is not None}
    return ",".join(sorted(names)) or None


def strongest(methods: Iterable[str]) -> str:
    """Return the method of a proof of several parts: that of the part that took most."""
    return max(methods, key=_STRENGTH.index, default=_STRENGTH[0])


def unknown(
    op: Op,
    arg: str | None,
    reason: str,
    *,
    evaluating: bool,
    method: str | None = None,
    assumption: str | None = None,
    solver_ns: int = 0,
) -> Verdict:
    """Return the verdict that it is not known whether an op races.

    Args:
        op: the memory op.
        arg: name of the argument that it accesses; None: not known.
        reason: why it is not known.
        evaluating: whether an evaluation of the grid could decide it.
        method: what was tried, for the column `method`.
        assumption: condition under which the op does not race; None: none is known.
        solver_ns: time of the solver, ns.

    """
    kind = kind_of(op)
    return Verdict(
        RULE, "unknown", op, f"whether this {kind} races could not be decided: {reason}", method,
        reason=reason, access=kind, arg=arg, solver_ns=solver_ns or None, assumption=assumption,
        evaluating=evaluating,
    )  # fmt: skip


def violation(
    call: Call,
    witness: Witness,
    method: str,
    *,
    others: int = 0,
    solver_ns: int = 0,
    missed_by: Op | None = None,
) -> Verdict:
    """Return the violation of two programs that race.

    Args:
        call: the call that was judged.
        witness: the accesses of both programs, and the byte that they share.
        method: how it was found, for the column `method`.
        others: how many further ops race with the first.
        solver_ns: time of the solver, ns.
        missed_by: an atomic that would order the two if a barrier held all threads of its program.

    """
    first, second = witness.first, witness.second
    tensor = call.arguments[first.argument]
    assert isinstance(tensor, TensorArgument)
    one, other = (program_at(touch.program, call.grid) for touch in (first, second))
    place = f"byte {witness.byte - tensor.offset_bytes} of {tensor.name}"
    if first.op is second.op:
        verb = "update" if kind_of(first.op) == "atomic" else "store to"
        what = f"programs {one} and {other} both {verb} {place}"
    else:
        what = (
            f"program {one} {DOES[str(kind_of(first.op))]} {place}, which program {other} "
            f"{DOES[str(kind_of(second.op))]}{_where(call, first, second)}"
        )
    more = f"; it races with {others} more op{'' if others == 1 else 's'}" if others else ""
    atomics = _about_atomics(call, first.op, second.op, missed_by)
    return Verdict(
        RULE,
        "violation",
        first.op,
        f"{what}, and nothing orders them{atomics}{more}",
        method,
        access=kind_of(first.op),
        arg=tensor.name,
        program=one,
        iteration=first.iteration,
        lane=first.lane,
        address_offset=first.address_offset,
        solver_ns=solver_ns or None,
        other_program=other,
        other_op=second.op,
    )


def _where(call: Call, first: Touch, second: Touch) -> str:
    """Say at which line, and through which argument, the second program does it."""
    frames = source_stack(second.op)
    line = f" in line {frames[0].line}" if frames else ""
    if first.argument == second.argument:
        return line
    return f" through {call.arguments[second.argument].name}{line}"


def _about_atomics(call: Call, one: Op, other: Op, missed_by: Op | None) -> str:
    if missed_by is not None:
        frames = source_stack(missed_by)
        where = f" of line {frames[0].line}" if frames else ""
        return (
            f": the atomic{where} is of one thread and releases what that thread has done; other "
            "threads of its program may come later, since no barrier lies between"
        )
    parts = [parts_of(call.module).by_op[op.index] for op in (one, other)]
    if all(part.kind == "atomic" for part in parts) and not all(part.strong for part in parts):
        return ": their atomics hold within one program only (scope cta)"
    return ""
