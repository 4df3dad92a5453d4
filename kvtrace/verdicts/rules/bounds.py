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

from kvtrace.evaluate import Observer, TensorArgument
from kvtrace.ir.data_dependence import depending_on_data
from kvtrace.metrics.of_ops import kind_of
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.conditions import Opaque
from kvtrace.symbolic.prover import (
    Given,
    Interval,
    Method,
    Point,
    Proven,
    Refuted,
    Unknown,
    follows,
    strongest,
)
from kvtrace.symbolic.summary import Access, Arithmetic
from kvtrace.symbolic.terms import Symbol
from kvtrace.verdicts.contents.loaded import depends_on
from kvtrace.verdicts.feeding import feeding
from kvtrace.verdicts.replaying import run
from kvtrace.verdicts.rules import overflow
from kvtrace.verdicts.rules.admitted import admitted
from kvtrace.verdicts.rules.assumptions import assumption_of
from kvtrace.verdicts.rules.evaluated import EvaluatedBounds, left
from kvtrace.verdicts.rules.farthest import with_farthest
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.evaluate.observe import Access as Evaluated
    from kvtrace.evaluate.observe import OutOfBounds
    from kvtrace.ir import Op
    from kvtrace.verdicts.binding import BoundCall
    from kvtrace.verdicts.concrete import Concrete

_KINDS: Final = ("load", "store", "atomic")
_NONE: Final = (
    "the kernel as compiled touches no memory; the compiler deletes a load whose value nobody uses"
)


#: An evaluation of one program, which shows a witness, ends after so many lanes.
_MOST_LANES = 1 << 25

#: It ends after so many batches of accesses if it has shown that.
_ENOUGH_BATCHES = 1 << 10


@dataclass(frozen=True, slots=True)
class _Inside:
    """An access stays inside its tensor; `reached`: whether any program gets there."""

    method: Method
    reached: bool = True
    solver_ns: int = 0


@dataclass(frozen=True, slots=True)
class _Outside:
    """An access leaves its storage (or only its view) at a point.

    `suspected`: why it may, where what is refuted is not its bounds but what they depend on.
    """

    access: Access
    rule: str
    refuted: Refuted
    suspected: str | None = None


@dataclass(frozen=True, slots=True)
class _Open:
    """It is not decided, and why; `evaluating` would tell, unless contents are missing."""

    reason: str
    evaluating: bool
    assumption: str | None = None
    solver_ns: int = 0
    names_tensors: bool = False


_Finding = _Inside | _Outside | _Open


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return one or more verdicts for each op that accesses memory."""
    by_op: dict[int, list[Access]] = {}
    for access in bound.summary.accesses:
        by_op.setdefault(access.op.index, []).append(access)
    witnesses = _Witnesses(bound)
    for accesses in by_op.values():
        yield from _verdicts(bound, accesses, witnesses)
    if not any(kind_of(op) in _KINDS for op in bound.call.module.ops):
        message = "no access is left to judge: as compiled for this call, it touches no memory"
        yield Verdict("out-of-bounds", "unknown", bound.call.module.main.op, message, reason=_NONE)


def concrete(bound: BoundCall, undecided: Sequence[Verdict]) -> Concrete | None:
    """Return an observer that decides ops by what an evaluation of the grid touches."""
    ops = {verdict.op.index for verdict in undecided if verdict.rule == "out-of-bounds"}
    return EvaluatedBounds(bound.call, ops) if ops else None


def _verdicts(
    bound: BoundCall, accesses: Sequence[Access], witnesses: _Witnesses
) -> Iterator[Verdict]:
    """Judge all accesses of one op: a pointer may go into several arguments."""
    findings = [_judged(bound, access) for access in accesses]
    op, kind, arg = accesses[0].op, accesses[0].kind, _names(bound, accesses)
    outside = [found for found in findings if isinstance(found, _Outside)]
    if outside:
        yield from witnesses.verdicts(op, outside, arg, kind)
        return
    taken = sum(found.solver_ns for found in findings if not isinstance(found, _Outside)) or None
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
    method = strongest(found.method for found in inside)
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
    symbols = [key for key in doubts if isinstance(key, Symbol)]
    if doubts and not bound.unrecorded(symbols):
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
        symbols = [key for key in bound.doubts(decision.model) if isinstance(key, Symbol)]
        if bound.unrecorded(symbols):
            return _unrecorded(bound, access, _view(tensor), symbols, decision.solver_ns)
        if not bound.doubts(decision.model):
            return _Outside(access, "out-of-bounds", decision, reason)
    return _Open(reason, evaluating=True, solver_ns=decision.solver_ns)


def _compared(bound: BoundCall, access: Access, tensor: TensorArgument, given: Given) -> _Finding:
    """Compare where an access goes with what its tensor spans."""
    storage, view = tensor.storage_bytes, _view(tensor)
    proof = follows(access.lies_within(view), given)
    if proof is not None:
        return _Inside(proof.method)
    decision = bound.prove(access.lies_within(storage), given)
    rule = "out-of-bounds"
    if isinstance(decision, Proven) and view != storage:
        taken = decision.solver_ns
        decision = bound.prove(access.lies_within(view), given)
        decision = replace(decision, solver_ns=decision.solver_ns + taken)
        rule = "out-of-view"
    if isinstance(decision, Proven):
        return _Inside(decision.method, solver_ns=decision.solver_ns)
    if isinstance(decision, Unknown):
        return _Open(decision.reason, evaluating=True, solver_ns=decision.solver_ns)
    doubts = bound.doubts(decision.model)
    if not doubts:
        return _Outside(access, rule, decision)
    return _open(bound, access, view, decision, doubts)


def _view(tensor: TensorArgument) -> Interval:
    """Return the byte limits of what a tensor's view has of its storage."""
    storage, view = tensor.storage_bytes, tensor.view_bytes
    return max(view[0], storage[0]), min(view[1], storage[1])


# -- what is not decided ------------------------------------------------------------------------


def _open(
    bound: BoundCall,
    access: Access,
    view: Interval,
    refuted: Refuted,
    doubts: Sequence[Symbol | Opaque],
) -> _Open:
    """Say why a counterexample is not a violation, and what would decide it."""
    symbols = [key for key in doubts if isinstance(key, Symbol)]
    if bound.unrecorded(symbols):
        return _unrecorded(bound, access, view, symbols, refuted.solver_ns)
    reason = bound.described_doubts(refuted.model)
    return _Open(reason, evaluating=True, solver_ns=refuted.solver_ns)


def _unrecorded(
    bound: BoundCall,
    access: Access,
    view: Interval,
    symbols: Iterable[Symbol],
    solver_ns: int = 0,
) -> _Open:
    """Say which tensor's contents would decide, and what they would have to be."""
    symbols = tuple(symbols)
    assumption = assumption_of(bound, access, view, symbols)
    reason = depends_on(bound.unrecorded(symbols))
    return _Open(reason, False, assumption, solver_ns, names_tensors=True)


def _names(bound: BoundCall, accesses: Iterable[Access]) -> str | None:
    indices = {access.argument for access in accesses if access.argument is not None}
    return ",".join(sorted({bound.call.arguments[index].name for index in indices})) or None


# -- witnesses ----------------------------------------------------------------------------------


class _Shown(KvtraceError):
    """Ends an evaluation that has shown what it was made for."""

    slug = "shown"


class _Enough(Observer):
    """Ends an evaluation of long loops once an op was seen to leave its tensor."""

    def __init__(self, seen: EvaluatedBounds, op: int) -> None:
        self._seen = seen
        self._op = op
        self._batches = 0

    def access(self, access: Evaluated) -> None:  # noqa: ARG002
        """Count a batch."""
        self._batches += 1
        if self._batches > _ENOUGH_BATCHES and self._seen.defects(self._op):
            raise _Shown("an access was seen to leave its tensor")


class _Witnesses:
    """Runs counterexamples; where the grid is small the whole of it, once for all of them."""

    def __init__(self, bound: BoundCall) -> None:
        self._bound = bound
        self._whole: EvaluatedBounds | None = None
        self._ended: str | None = None
        self._failure: str | None = None

    def verdicts(
        self, op: Op, found: Sequence[_Outside], arg: str | None, kind: str
    ) -> Iterator[Verdict]:
        """Return what a run shows of an op that is reported to leave its tensor."""
        access, refuted = found[0].access, found[0].refuted
        seen, counted = self._run(op, refuted.model)
        defects = seen.defects(op.index)
        if not defects:
            reason = found[0].suspected or "a counterexample to it did not show when it was run"
            reason += f" ({self._failure})" if self._failure else ""
            message = f"{kind} could not be decided: {reason}"
            yield Verdict(
                "out-of-bounds", "unknown", op, message, reason=reason, access=kind, arg=arg,
                solver_ns=refuted.solver_ns or None, evaluating=True,
            )  # fmt: skip
            return
        arguments = self._bound.call.arguments
        for defect in defects.values():
            whole = defect if counted else self._with_farthest(found, defect)
            shown = left(
                whole or defect, arguments, refuted.method, counted=counted,
                farthest=whole is not None,
            )  # fmt: skip
            if shown.verdict == "violation":
                shown = replace(shown, reason=admitted(self._bound, access, defect))
            yield replace(shown, solver_ns=refuted.solver_ns or None)

    def _with_farthest(self, found: Sequence[_Outside], defect: OutOfBounds) -> OutOfBounds | None:
        """Return a defect with the lane of the grid that goes farthest, None if it is not known."""
        first, *others = found
        if others or first.suspected or first.rule != defect.rule:
            return None
        if not self._bound.budget.replay_lanes:
            return None  # the program waits
        return with_farthest(self._bound, first.access, defect, first.refuted.model)

    def _run(self, op: Op, point: Point) -> tuple[EvaluatedBounds, bool]:
        """Return what was seen, and whether in all programs."""
        bound = self._bound
        if self._whole is None and bound.lanes <= bound.budget.replay_lanes:
            self._whole = EvaluatedBounds(bound.call)
            self._ended = run(bound.call, (self._whole,), contents="none", lanes=_MOST_LANES)
        if self._whole is not None and self._whole.defects(op.index):
            return self._whole, self._ended is None
        seen = EvaluatedBounds(bound.call, (op.index,))
        programs = (bound.program_of(point),)
        enough = _Enough(seen, op.index)
        self._failure = run(bound.call, (seen, enough), programs, lanes=_MOST_LANES)
        return seen, False
