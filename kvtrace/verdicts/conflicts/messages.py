"""Texts of the verdicts on races and conflicts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any, Final

from kvtrace.evaluate import TensorArgument
from kvtrace.evaluate.scope import program_at
from kvtrace.ir import Op
from kvtrace.ir.data_dependence import depending_on_data
from kvtrace.ir.memory_sites import memory_sites
from kvtrace.ir.model import line_text
from kvtrace.ir.ops import effect_of
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.outcomes import ConfirmedConflict, Touch, Witness
from kvtrace.verdicts.conflicts.parts import roles_of
from kvtrace.verdicts.contents.loaded import depends_on
from kvtrace.verdicts.verdict import Verdict

RACE: Final = "race"
RACE_WITHIN: Final = "race-within-program"
LANE_CONFLICT: Final = "lane-conflict"

_PROVEN_TEXTS: Final = {
    RACE: "{kind} races with no other program",
    RACE_WITHIN: "{kind} races with no other lane of its program",
    LANE_CONFLICT: "no two lanes of this {kind} conflict",
}
_UNKNOWN_TEXTS: Final = {
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
    """Return the verdict that an op, or two lanes of it, does not conflict under a rule.

    Args:
        rule: id of the rule.
        bound: the call that was judged.
        op: the memory op.
        method: how it was proven, for the column `method`.
        why: reasons why programs or lanes that access the same bytes do not conflict.
        solver_ns: time of the solver, ns.
        assumption: condition under which the proof holds; None: always.

    """
    kind = effect_of(op)
    message = f"{_PROVEN_TEXTS[rule].format(kind=kind)}{_proof_notes(bound.call, op, why)}"
    return Verdict(
        rule, "proven", op, message, method, access=kind, arg=_names_of(bound, op),
        solver_ns=solver_ns or None, assumption=assumption,
    )  # fmt: skip


def _proof_notes(call: Call, op: Op, why: Iterable[str]) -> str:
    """Return the reasons and recorded contents of a proof in parentheses, "" if there are none."""
    notes = list(dict.fromkeys(reason for reason in why if reason))
    if call.recorded and op.index in depending_on_data(call.module):
        notes.append(f"for the recorded contents of {', '.join(call.recorded)}")
    return f" ({'; '.join(notes)})" if notes else ""


def _names_of(bound: BoundCall, op: Op) -> str | None:
    """Return the comma-separated names of the tensors that an op accesses, None if unknown."""
    positions = (access.argument for access in bound.summary.accesses if access.op is op)
    names = {bound.call.arguments[position].name for position in positions if position is not None}
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
    """Return the verdict that no rule could decide, with its reason.

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
    kind = effect_of(op)
    message = f"{_UNKNOWN_TEXTS[rule].format(kind=kind)}: {reason}"
    return Verdict(
        rule, "unknown", op, message, method, reason=reason, access=kind, arg=_names_of(bound, op),
        solver_ns=solver_ns or None, assumption=assumption, evaluating=evaluating, unless=unless,
    )  # fmt: skip


def race(
    call: Call,
    witness: Witness,
    method: str,
    *,
    others: int = 0,
    solver_ns: int = 0,
    unordering_release: Op | None = None,
    unrecorded: Sequence[TensorArgument] = (),
) -> Verdict:
    """Return the violation of two programs that race.

    Args:
        call: the call that was judged.
        witness: the accesses of both programs, and the byte that they share.
        method: how the race was found, for the column `method`.
        others: number of further ops that race with the op.
        solver_ns: time of the solver, ns.
        unordering_release: an atomic that would order the two if a barrier held all its threads.
        unrecorded: tensors whose contents decide whether both store the same value.

    """
    first, second = witness.first, witness.second
    first_program, second_program = (
        program_at(touch.program, call.grid) for touch in (first, second)
    )
    byte = _byte_text(call, witness)
    if first.op is second.op:
        verb = "update" if effect_of(first.op) == "atomic" else "store to"
        subject = f"programs {first_program} and {second_program} both {verb} {byte}"
    else:
        subject = (
            f"program {first_program} {_verb_of(first)} {byte}, which program {second_program} "
            f"{_verb_of(second)}{_second_location(call, first, second)}"
        )
    others_text = f"; it races with {others} more op{'' if others == 1 else 's'}" if others else ""
    atomics = _atomics_text(call, first.op, second.op, unordering_release)
    condition = (
        f"; they race if the two values differ: {depends_on(unrecorded)}" if unrecorded else ""
    )
    message = f"{subject}, and nothing orders them{atomics}{others_text}{condition}"
    return _violation(RACE, call, witness, message, method, solver_ns)


def race_within(call: Call, op: Op, shown: ConfirmedConflict, solver_ns: int = 0) -> Verdict:
    """Return the violation of two lanes of a program that race, the lane of `op` first."""
    witness = shown.witness.ordered_for(op)
    own, other = witness.first, witness.second
    own_order = "former" if witness is shown.witness else "latter"
    compiled = " in the code that it was compiled to"
    if call.compiled is None:
        compiled = " (recorded without TTGIR: in any layout that gives them to different threads)"
    no_order = f"and no barrier orders them{compiled}"
    if shown.is_pipelined:
        no_order = "and the loop was pipelined so that a load is started in an earlier trip"
    elif shown.is_across:
        no_order = "and no barrier holds both: they are of different CTAs of the program"
    message = (
        f"{_lane_name(own)} of program {program_at(own.program, call.grid)} {_verb_of(own)} "
        f"{_byte_text(call, witness)}, which {_lane_name(other)} {_verb_of(other)} "
        f"{_other_location(own, other)}; "
        f"the {own_order} comes first in the kernel, {no_order}: run in both orders, the program "
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
    """Return the violation of two lanes of a store that write different values to a byte.

    Args:
        call: the call that was judged.
        witness: the lanes, and the first byte that both store to.
        values: the values that the lanes store, in the lanes' order.
        method: how the conflict was found, for the column `method`.
        is_update: whether the second lane stores another value if it runs after the first.
        updates: whether the lanes store to where they load from.
        solver_ns: time of the solver, ns.

    """
    touch, byte = witness.first, _byte_text(call, witness)
    lanes = f"lanes {touch.lane} and {witness.second.lane}"
    subject = f"{lanes} of program {program_at(touch.program, call.grid)}"
    first, second = (f"{value:g}" if isinstance(value, float) else str(value) for value in values)
    if is_update:
        message = (
            f"{subject} both load and store {byte} without an atomic: {first} is stored, but "
            f"{second} if one runs after the other; an atomic such as tl.atomic_add loses no update"
        )
    else:
        message = f"{subject} both store to {byte}, {first} and {second}, and nothing orders them"
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
        access=effect_of(first.op),
        arg=call.arguments[first.argument].name,
        program=program_at(first.program, call.grid),
        iteration=first.iteration,
        lane=first.lane,
        address_offset=first.address_offset,
        solver_ns=solver_ns or None,
        other_program=program_at(second.program, call.grid),
        other_op=second.op,
    )


def _byte_text(call: Call, witness: Witness) -> str:
    tensor = call.tensor(witness.first.argument)
    return f"byte {witness.byte - tensor.offset_bytes} of {tensor.name}"


def _verb_of(touch: Touch) -> str:
    return _VERBS[str(effect_of(touch.op))]


def _lane_name(touch: Touch) -> str:
    """Return the name of an access's lane, or of the threads that access a scalar."""
    if touch.lane:
        return f"lane {touch.lane}"
    return "every thread" if effect_of(touch.op) == "load" else "one thread"


def _other_location(own_touch: Touch, other_touch: Touch) -> str:
    """Return the line of the other lane's access, with its trip if that differs."""
    line = line_text(other_touch.op, "in").lstrip() or "elsewhere"
    if own_touch.iteration == other_touch.iteration:
        return line
    return f"{line} in trip {other_touch.iteration}, not {own_touch.iteration}"


def _second_location(call: Call, first: Touch, second: Touch) -> str:
    """Return the argument (if another) and line of the second program's access."""
    line = line_text(second.op, "in")
    if first.argument == second.argument:
        return line
    return f" through {call.arguments[second.argument].name}{line}"


def _atomics_text(call: Call, left: Op, right: Op, unordering_release: Op | None) -> str:
    """Return a phrase that says why atomics do not order the ops, "" if they are not involved."""
    if unordering_release is not None:
        line = line_text(unordering_release, "of")
        return (
            f": the atomic{line} is done by one thread and releases only that thread's accesses; "
            "other threads of the program may come later, since no barrier holds them"
        )
    roles = [roles_of(call.module).by_op[op.index] for op in (left, right)]
    if all(role.kind == "atomic" for role in roles) and not all(role.strong for role in roles):
        return ": their atomics have scope cta, which orders accesses of one program only"
    return _missing_order_text(call, left, right)


def _missing_order_text(call: Call, first: Op, second: Op) -> str:
    """Return a phrase that says what an atomic after the first op, or before the second, lacks."""
    sites = [s for s in memory_sites(call.module) if s.kind == "atomic"]
    roles, arguments = roles_of(call.module).by_op, range(len(call.arguments))
    handed = [
        (roles[to.op.index], roles[back.op.index])
        for to, back in product(sites, sites)
        if back.result_used and back.op.index < second.index and roles[to.op.index].changes
        if any(to.reaches(argument) and back.reaches(argument) for argument in arguments)
    ]
    later = [(to, back) for to, back in handed if to.op.index > first.index]
    if any(to.releases and back.acquires for to, back in later):
        return ""
    for to, back in later:
        if to.releases:
            return f": the atomic{line_text(back.op, 'in')} does not acquire what others released"
        return f": the atomic{line_text(to.op, 'in')} does not release what comes before it"
    early = [to.op for to, back in handed if to.op is not back.op and to.releases and back.acquires]
    if early and effect_of(second) == "load":
        return f": the atomic{line_text(early[-1], 'in')} releases before the {effect_of(first)}"
    return ""
