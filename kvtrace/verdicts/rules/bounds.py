"""The rules out-of-bounds and out-of-view: each access stays inside its tensor.

Claimed of an access whose lane is reached and active, for all programs, lanes and trips at once:
its first byte is not before the start of the tensor's view, its last not past its end; and, more
weakly, the same of the storage. The view is what its shape and strides span, holes included, cut to
the storage, as in evaluation (`TensorArgument.view_bytes`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate import TensorArgument
from kvtrace.ir.data_dependence import depending_on_data
from kvtrace.ir.ops import effect_of
from kvtrace.symbolic.prover import (
    Given,
    Interval,
    Method,
    Proven,
    Refuted,
    Unknown,
    follows,
    strongest,
)
from kvtrace.symbolic.summary import Access, Arithmetic
from kvtrace.verdicts.contents.loaded import depends_on
from kvtrace.verdicts.feeding import feeding
from kvtrace.verdicts.rules import overflow
from kvtrace.verdicts.rules.assumptions import assumption_of
from kvtrace.verdicts.rules.bounds_witnesses import Outside, Witnesses
from kvtrace.verdicts.rules.evaluated import EvaluatedBounds
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.ir import Op
    from kvtrace.verdicts.binding import BoundCall, Doubts
    from kvtrace.verdicts.concrete import Concrete

_NONE: Final = (
    "the kernel as compiled touches no memory; the compiler deletes a load whose value nobody uses"
)


@dataclass(frozen=True, slots=True)
class _Inside:
    """An access stays inside its tensor; `reached`: whether any program gets there."""

    method: Method
    reached: bool = True
    solver_ns: int = 0


@dataclass(frozen=True, slots=True)
class _Open:
    """It is not decided, and why; `evaluating` would tell, unless contents are missing."""

    reason: str
    evaluating: bool
    assumption: str | None = None
    solver_ns: int = 0
    names_tensors: bool = False


_Finding = _Inside | Outside | _Open


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return one or more verdicts for each op that accesses memory."""
    by_op: dict[int, list[Access]] = {}
    for access in bound.summary.accesses:
        by_op.setdefault(access.op.index, []).append(access)
    witnesses = Witnesses(bound)
    for accesses in by_op.values():
        yield from _verdicts(bound, accesses, witnesses)
    if not any(effect_of(op) is not None for op in bound.call.module.ops):
        message = "no access is left to judge: as compiled for this call, it touches no memory"
        yield Verdict("out-of-bounds", "unknown", bound.call.module.main.op, message, reason=_NONE)


def concrete(bound: BoundCall, undecided: Sequence[Verdict]) -> Concrete | None:
    """Return an observer that decides ops by what an evaluation of the grid touches."""
    ops = {verdict.op.index for verdict in undecided if verdict.rule == "out-of-bounds"}
    return EvaluatedBounds(bound.call, ops) if ops else None


def _verdicts(
    bound: BoundCall, accesses: Sequence[Access], witnesses: Witnesses
) -> Iterator[Verdict]:
    """Judge all accesses of one op: a pointer may go into several arguments."""
    findings = [_judged(bound, access) for access in accesses]
    op, kind, arg = accesses[0].op, accesses[0].kind, _names(bound, accesses)
    outside = [found for found in findings if isinstance(found, Outside)]
    if outside:
        yield from witnesses.verdicts(op, outside, arg, kind)
        return
    taken = sum(found.solver_ns for found in findings if not isinstance(found, Outside)) or None
    unsettled = [found for found in findings if isinstance(found, _Open)]
    if unsettled:
        reason = unsettled[0].reason
        evaluable = _is_evaluable(bound, op)
        if not evaluable and not any(found.names_tensors for found in unsettled):
            reason += f"; {bound.missing_contents(op)}"
        yield Verdict(
            "out-of-bounds",
            "unknown",
            op,
            f"{kind} could not be decided: {reason}",
            reason=reason,
            access=kind,
            arg=arg,
            solver_ns=taken,
            assumption=next((each.assumption for each in unsettled if each.assumption), None),
            evaluating=evaluable and all(found.evaluating for found in unsettled),
        )
        return
    inside = [found for found in findings if isinstance(found, _Inside)]
    method = strongest([found.method for found in inside])
    scope = "in every program" if any(found.reached for found in inside) else (
        "no program reaches it"
    )  # fmt: skip
    if bound.call.recorded and op.index in depending_on_data(bound.call.module):
        scope += f"; for the recorded contents of {', '.join(bound.call.recorded)}"
    yield Verdict(
        "out-of-bounds",
        "proven",
        op,
        f"{kind} stays inside its tensor for this call ({scope})",
        method,
        access=kind,
        arg=arg,
        solver_ns=taken,
    )


def _is_evaluable(bound: BoundCall, op: Op) -> bool:
    """Whether an evaluation could tell where an op goes: it depends on none, or some exist."""
    return bool(bound.call.recorded) or op.index not in depending_on_data(bound.call.module)


def _judged(bound: BoundCall, access: Access) -> _Finding:
    given = bound.active(access)
    if bound.is_unreached(access, given):
        return _Inside("interval", reached=False)
    if access.argument is None:
        reason = access.unknown or "its address comes from no argument"
        return _Open(reason, evaluating=True)
    tensor = bound.call.arguments[access.argument]
    if not isinstance(tensor, TensorArgument):
        return _Open(f"argument {tensor.name} is a pointer that was not recorded", evaluating=False)
    wrapping = bound.may_wrap(access)
    if wrapping is not None and not _is_ideal(bound, access, wrapping[1]):
        return _wrapping(bound, access, tensor, *wrapping)
    if given.is_impossible:
        return _Inside("interval", reached=False)
    return _compared(bound, access, tensor, given)


def _is_ideal(bound: BoundCall, access: Access, decision: Refuted | Unknown) -> bool:
    """Tell whether no number that wraps around shows in an access, although one may be computed.

    Not asked, since it may take the solver long, of what formulas do not follow, or of
    contents that were all recorded, and an evaluation tells.
    """
    if bound.contents.read_by(feeding(access.op, bound.call.module)):
        return not overflow.wraps(bound, access)  # an evaluation would not tell
    if isinstance(decision, Unknown):
        return False
    doubts = bound.doubts(decision.model)
    if doubts and not doubts.unrecorded:
        return False
    return not overflow.wraps(bound, access)


def _wrapping(
    bound: BoundCall,
    access: Access,
    tensor: TensorArgument,
    arithmetic: Arithmetic,
    decision: Refuted | Unknown,
) -> _Finding:
    """Judge an access whose ideal address may not be the one that the kernel computes."""
    reason = (
        f"arithmetic that its address depends on ({arithmetic.op.name}) may leave its "
        f"{arithmetic.bits} bits"
    )
    if isinstance(decision, Refuted):
        doubts = bound.doubts(decision.model)
        if doubts.unrecorded:
            return _unrecorded(bound, access, _view(tensor), doubts, decision.solver_ns)
        if not doubts:
            return Outside(access, "out-of-bounds", decision, reason)
    return _Open(reason, evaluating=True, solver_ns=decision.solver_ns)


def _compared(bound: BoundCall, access: Access, tensor: TensorArgument, given: Given) -> _Finding:
    """Compare where an access goes with what its tensor spans."""
    storage, view = tensor.storage_bytes, _view(tensor)
    proof = follows(access.lies_within(*view), given)
    if proof is not None:
        return _Inside(proof.method)
    decision = bound.prove(access.lies_within(*storage), given)
    rule = "out-of-bounds"
    if isinstance(decision, Proven) and view != storage:
        taken = decision.solver_ns
        decision = bound.prove(access.lies_within(*view), given)
        decision = replace(decision, solver_ns=decision.solver_ns + taken)
        rule = "out-of-view"
    if isinstance(decision, Proven):
        return _Inside(decision.method, solver_ns=decision.solver_ns)
    if isinstance(decision, Unknown):
        return _Open(decision.reason, evaluating=True, solver_ns=decision.solver_ns)
    doubts = bound.doubts(decision.model)
    if not doubts:
        return Outside(access, rule, decision)
    if doubts.unrecorded:
        return _unrecorded(bound, access, view, doubts, decision.solver_ns)
    return _Open(doubts.reason, evaluating=True, solver_ns=decision.solver_ns)


def _view(tensor: TensorArgument) -> Interval:
    """Return the byte limits of what a tensor's view has of its storage."""
    storage, view = tensor.storage_bytes, tensor.view_bytes
    return max(view[0], storage[0]), min(view[1], storage[1])


def _unrecorded(
    bound: BoundCall, access: Access, view: Interval, doubts: Doubts, solver_ns: int
) -> _Open:
    """Say which tensor's contents would decide, and what they would have to be."""
    assumption = assumption_of(bound, access, view, doubts.symbols)
    reason = depends_on(doubts.unrecorded)
    return _Open(reason, False, assumption, solver_ns, names_tensors=True)


def _names(bound: BoundCall, accesses: Iterable[Access]) -> str | None:
    indices = {access.argument for access in accesses if access.argument is not None}
    return ",".join(sorted({bound.call.arguments[index].name for index in indices})) or None
