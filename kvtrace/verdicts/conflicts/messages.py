"""Texts of the verdicts on races and conflicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Final

from kvtrace.evaluate import TensorArgument
from kvtrace.ir import Op, source_stack
from kvtrace.ir.data_dependence import depending_on_data
from kvtrace.metrics.of_ops import kind_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.conflicts.outcomes import ShownConflict, Touch, Witness
from kvtrace.verdicts.conflicts.parts import parts_of
from kvtrace.verdicts.replaying import program_at
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.verdicts.binding import BoundCall

RACE: Final = "race"
RACE_WITHIN: Final = "race-within-program"
LANE_CONFLICT: Final = "lane-conflict"

_PROVEN: Final = {
    RACE: "{kind} races with no other program",
    RACE_WITHIN: "{kind} races with no other lane of its program",
    LANE_CONFLICT: "no two lanes of this {kind} conflict",
}
_UNKNOWN: Final = {
    RACE: "whether this {kind} races could not be decided",
    RACE_WITHIN: "whether this {kind} races within its program could not be decided",
    LANE_CONFLICT: "whether lanes of this {kind} conflict could not be decided",
}
_VERBS: Final = {"load": "loads", "store": "stores to", "atomic": "updates"}


def proven(
    rule: str,
    bound: BoundCall,
    op: Op,
    method: str,
    why: Iterable[str] = (),
    *,
    solver_ns: int = 0,
    assumption: str | None = None,
) -> Verdict:
    """Return the verdict that an op conflicts with no other op, nor its lanes with each other.

    Args:
        rule: id of the rule.
        bound: the call that was judged.
        op: the memory op.
        method: how it was proven, for the column `method`.
        why: reasons why programs or lanes that access the same bytes do not conflict.
        solver_ns: time of the solver, ns.
        assumption: condition under which the proof holds; None: always.

    """
    kind = kind_of(op)
    message = f"{_PROVEN[rule].format(kind=kind)}{_scope(bound.call, op, why)}"
    return Verdict(
        rule, "proven", op, message, method, access=kind, arg=_names(bound, op),
        solver_ns=solver_ns or None, assumption=assumption,
    )  # fmt: skip


def _scope(call: Call, op: Op, why: Iterable[str]) -> str:
    """Return the notes of a proof: reasons why actors may meet, and the contents it holds for."""
    notes = list(dict.fromkeys(reason for reason in why if reason))
    if call.recorded and op.index in depending_on_data(call.module):
        notes.append(f"for the recorded contents of {', '.join(call.recorded)}")
    return f" ({'; '.join(notes)})" if notes else ""


def _names(bound: BoundCall, op: Op) -> str | None:
    """Return the names of the tensors that an op accesses; None: no argument is known."""
    numbers = (access.argument for access in bound.summary.accesses if access.op is op)
    names = {bound.call.arguments[number].name for number in numbers if number is not None}
    return ",".join(sorted(names)) or None


def unknown(
    rule: str,
    bound: BoundCall,
    op: Op,
    reason: str,
    *,
    evaluating: bool,
    method: str | None = None,
    solver_ns: int = 0,
    assumption: str | None = None,
    unless: Op | None = None,
) -> Verdict:
    """Return the verdict `unknown` of an op.

    Args:
        rule: id of the rule.
        bound: the call that was judged.
        op: the memory op.
        reason: why no verdict was reached.
        evaluating: whether an evaluation of the grid could decide the op.
        method: the method that was tried, for the column `method`.
        solver_ns: time of the solver, ns.
        assumption: condition under which the op does not race; None: none is known.
        unless: leave the verdict out if this op's own verdict is unknown.

    """
    kind = kind_of(op)
    message = f"{_UNKNOWN[rule].format(kind=kind)}: {reason}"
    return Verdict(
        rule, "unknown", op, message, method, reason=reason, access=kind, arg=_names(bound, op),
        solver_ns=solver_ns or None, assumption=assumption, evaluating=evaluating, unless=unless,
    )  # fmt: skip


def race(
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
        method: how the race was found, for the column `method`.
        others: how many further ops race with the first.
        solver_ns: time of the solver, ns.
        missed_by: an atomic that would order the two if a barrier held all threads of its program.

    """
    first, second = witness.first, witness.second
    one, other = (program_at(touch.program, call.grid) for touch in (first, second))
    byte = _byte_of_tensor(call, witness)
    if first.op is second.op:
        verb = "update" if kind_of(first.op) == "atomic" else "store to"
        what = f"programs {one} and {other} both {verb} {byte}"
    else:
        what = (
            f"program {one} {_verb(first)} {byte}, which program {other} "
            f"{_verb(second)}{_elsewhere(call, first, second)}"
        )
    more = f"; it races with {others} more op{'' if others == 1 else 's'}" if others else ""
    atomics = _about_atomics(call, first.op, second.op, missed_by)
    message = f"{what}, and nothing orders them{atomics}{more}"
    return _violation(RACE, call, witness, message, method, solver_ns)


def race_within(call: Call, op: Op, shown: ShownConflict, solver_ns: int = 0) -> Verdict:
    """Return the violation of two lanes of a program that race, those of `op` first."""
    witness = shown.witness.seen_from(op)
    mine, other = witness.first, witness.second
    first = "former" if witness is shown.witness else "latter"
    compiled = " in the code that it was compiled to"
    if call.compiled is None:
        compiled = " (recorded without TTGIR: in any layout that gives them to different threads)"
    no_order = f"and no barrier orders them{compiled}"
    if shown.is_pipelined:
        no_order = "and the loop was pipelined so that a load is started in an earlier trip"
    elif shown.is_across:
        no_order = "and no barrier holds both: they are of different CTAs of the program"
    message = (
        f"{_lane(mine)} of program {program_at(mine.program, call.grid)} {_verb(mine)} "
        f"{_byte_of_tensor(call, witness)}, which {_lane(other)} {_verb(other)} "
        f"{_where(mine, other)}; "
        f"the {first} comes first in the kernel, {no_order}: run in both orders, the program "
        "leaves different results"
    )
    return _violation(RACE_WITHIN, call, witness, message, shown.method, solver_ns)


def lane_conflict(
    call: Call,
    witness: Witness,
    values: tuple[Any, Any],
    method: str,
    *,
    is_update: bool,
    updates: bool,
    solver_ns: int = 0,
) -> Verdict:
    """Return the violation of two lanes of a store that conflict.

    Args:
        call: the call that was judged.
        witness: the lanes, and the first byte that both store to.
        values: the values that the lanes store.
        method: how the conflict was found, for the column `method`.
        is_update: whether the second lane stores another value if it runs after the first.
        updates: whether the lanes store to where they load from.
        solver_ns: time of the solver, ns.

    """
    one, byte = witness.first, _byte_of_tensor(call, witness)
    lanes = f"lanes {one.lane} and {witness.second.lane}"
    what = f"{lanes} of program {program_at(one.program, call.grid)}"
    first, second = (f"{value:g}" if isinstance(value, float) else str(value) for value in values)
    if is_update:
        message = (
            f"{what} both load and store {byte} without an atomic: {first} is stored, but "
            f"{second} if one runs after the other; an atomic such as tl.atomic_add loses no update"
        )
    else:
        message = f"{what} both store to {byte}, {first} and {second}, and nothing orders them"
        if updates:
            message += "; they update a value in place, which needs an atomic (tl.atomic_add)"
    return _violation(LANE_CONFLICT, call, witness, message, method, solver_ns)


def _violation(
    rule: str, call: Call, witness: Witness, message: str, method: str, solver_ns: int
) -> Verdict:
    first, second = witness.first, witness.second
    return Verdict(
        rule,
        "violation",
        first.op,
        message,
        method,
        access=kind_of(first.op),
        arg=call.arguments[first.argument].name,
        program=program_at(first.program, call.grid),
        iteration=first.iteration,
        lane=first.lane,
        address_offset=first.address_offset,
        solver_ns=solver_ns or None,
        other_program=program_at(second.program, call.grid),
        other_op=second.op,
    )


def _byte_of_tensor(call: Call, witness: Witness) -> str:
    tensor = call.arguments[witness.first.argument]
    assert isinstance(tensor, TensorArgument)
    return f"byte {witness.byte - tensor.offset_bytes} of {tensor.name}"


def _verb(touch: Touch) -> str:
    return _VERBS[str(kind_of(touch.op))]


def _lane(touch: Touch) -> str:
    """Return the name of an access's lane; every thread loads a scalar, one thread stores it."""
    if touch.lane:
        return f"lane {touch.lane}"
    return "every thread" if kind_of(touch.op) == "load" else "one thread"


def _where(mine: Touch, other: Touch) -> str:
    """Return the line of the other lane's access, and the access's trip if the trips differ."""
    frames = source_stack(other.op)
    line = f"in line {frames[0].line}" if frames else "elsewhere"
    if mine.iteration == other.iteration:
        return line
    return f"{line} in trip {other.iteration}, not {mine.iteration}"


def _elsewhere(call: Call, first: Touch, second: Touch) -> str:
    """Return the line of the second program's access, and the argument if the arguments differ."""
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
            f": the atomic{where} is done by one thread and releases only that thread's accesses; "
            "other threads of the program may come later, since no barrier holds them"
        )
    parts = [parts_of(call.module).by_op[op.index] for op in (one, other)]
    if all(part.kind == "atomic" for part in parts) and not all(part.strong for part in parts):
        return ": their atomics have scope cta, which orders accesses of one program only"
    return ""
