"""The rules out-of-bounds and out-of-view: an access leaves its tensor's storage or view.

The claim for all programs, active lanes and trips at once: the access's first byte is not before
the start of the tensor's view, and its last byte is not past the view's end. The weaker claim is
the same for the storage. The view is the span of the tensor's shape and strides, holes included,
cut to the storage, as in evaluation (`TensorArgument.view_bytes`). Where loaded integers decide,
the condition that makes the access safe is proven, as `0 <= index < 1000`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from msgspec import Struct

from kvtrace.evaluate import TensorArgument
from kvtrace.ir import Op
from kvtrace.ir.data_dependence import depending_on_data
from kvtrace.ir.feeding import feeding
from kvtrace.ir.memory_sites import memory_sites
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
from kvtrace.symbolic.terms import Symbol
from kvtrace.verdicts.binding import BoundCall, Doubts
from kvtrace.verdicts.concrete import Concrete
from kvtrace.verdicts.contents.loaded import depends_on
from kvtrace.verdicts.rules import overflow
from kvtrace.verdicts.rules.bounds_witnesses import Outside, Witnesses
from kvtrace.verdicts.rules.evaluated import (
    RULE,
    EvaluatedBounds,
    inside_verdict,
    undecided_verdict,
)
from kvtrace.verdicts.verdict import Verdict


def assumption_of(
    bound: BoundCall, access: Access, limits: Interval, symbols: Iterable[Symbol]
) -> str | None:
    """Return a condition on loaded integers that keeps an access within byte limits, else None.

    The condition is proven to suffice, and to exclude overflow of the address. None if there is no
    such proof, or if the address is not affine in exactly one loaded value.
    """
    form = bound.ranges.form(access.offset)
    summands = [atom for monomial in form.coefficients if len(monomial) == 1 for atom in monomial]
    loaded = [s for s in dict.fromkeys(symbols) if s.kind == "content" and s in summands]
    if not loaded:
        loaded = [s for s in summands if isinstance(s, Symbol) and s.kind == "content"]
    names = {tensor.name for symbol in loaded for tensor in bound.contents.sources(symbol)}
    if len(loaded) != 1 or len(names) != 1:
        return None
    symbol = loaded[0]
    index_range = _safe_range(bound, access, limits, symbol, form.coefficients[symbol,])
    if index_range is None or not _is_sufficient(bound, access, limits, symbol, index_range):
        return None
    return f"{index_range[0]} <= {names.pop()} < {index_range[1] + 1}"


def _is_sufficient(
    bound: BoundCall, access: Access, limits: Interval, symbol: Symbol, index_range: Interval
) -> bool:
    """Return whether an access is proven safe if every loaded value lies in a range."""
    ranges = bound.ranges.supposing({(symbol.kind, symbol.key): index_range})
    claims = [(access.lies_within(*limits), bound.active(access))]
    claims += [(op.stays_in_width, bound.given(op)) for op in bound.arithmetic_of(access)]
    return all(follows(claim, Given(given.exact, ranges)) for claim, given in claims)


def _safe_range(
    bound: BoundCall, access: Access, limits: Interval, symbol: Symbol, factor: int
) -> Interval | None:
    """Return the range of a symbol for which an access is inside for all others, else None."""
    other_bytes = bound.active(access).bounds(access.offset - symbol.term * factor)
    if other_bytes is None:
        return None
    limits_of_factor = limits[0] - other_bytes[0], limits[1] - access.element_bytes - other_bytes[1]
    if factor < 0:
        limits_of_factor = -limits_of_factor[1], -limits_of_factor[0]
    factor = abs(factor)
    low, high = -(-limits_of_factor[0] // factor), limits_of_factor[1] // factor
    return (low, high) if low <= high else None


_NO_ACCESS: Final = (
    "the kernel as compiled touches no memory; the compiler deletes loads whose values are not used"
)


class _InsideTensor(Struct, frozen=True):
    """An access that stays inside its tensor; `reached`: a program may reach it."""

    method: Method
    reached: bool = True


class _UndecidedAccess(Struct, frozen=True):
    """An access that formulas do not decide; `evaluating`: an evaluation may decide it."""

    reason: str
    evaluating: bool
    assumption: str | None = None
    names_tensors: bool = False


_Finding = _InsideTensor | Outside | _UndecidedAccess


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return the verdicts on each memory op, or a single unknown one if there is no memory op."""
    by_op: dict[int, list[Access]] = {}
    for access in bound.summary.accesses:
        by_op.setdefault(access.op.index, []).append(access)
    witnesses = Witnesses(bound)
    for accesses in by_op.values():
        yield from _verdicts_on_op(bound, accesses, witnesses)
    if not memory_sites(bound.call.module):
        message = "nothing to judge: the kernel as compiled for this call accesses no memory"
        yield Verdict(RULE, "unknown", bound.call.module.main.op, message, reason=_NO_ACCESS)


def concrete(bound: BoundCall, undecided: Sequence[Verdict]) -> Concrete | None:
    """Return an observer that decides ops by evaluating the grid, None if none is undecided."""
    ops = {verdict.op.index for verdict in undecided if verdict.rule == RULE}
    return EvaluatedBounds(bound.call, ops) if ops else None


def _verdicts_on_op(
    bound: BoundCall, accesses: Sequence[Access], witnesses: Witnesses
) -> Iterator[Verdict]:
    """Yield the verdicts on an op from all its accesses, one per argument it may point into."""
    findings = [_judge_access(bound, access) for access in accesses]
    op, kind, arg = accesses[0].op, accesses[0].kind, bound.names_of(accesses)
    outside = [finding for finding in findings if isinstance(finding, Outside)]
    undecided = [finding for finding in findings if isinstance(finding, _UndecidedAccess)]
    if outside:
        yield from witnesses.verdicts(op, outside, arg, kind)
    elif undecided:
        reason = undecided[0].reason
        is_evaluable = _is_evaluable(bound, op)
        if not is_evaluable and not any(finding.names_tensors for finding in undecided):
            reason += f"; {bound.missing_contents(op)}"
        yield undecided_verdict(
            op, kind, arg, reason,
            assumption=next(filter(None, (finding.assumption for finding in undecided)), None),
            evaluating=is_evaluable and all(finding.evaluating for finding in undecided),
        )  # fmt: skip
    else:
        inside = [finding for finding in findings if isinstance(finding, _InsideTensor)]
        method = strongest([finding.method for finding in inside])
        is_reached = any(finding.reached for finding in inside)
        yield inside_verdict(bound.call, op, kind, arg, method, is_reached=is_reached)


def _is_evaluable(bound: BoundCall, op: Op) -> bool:
    """Return whether an op's address depends on no contents, or any contents were recorded."""
    return bool(bound.call.recorded) or op.index not in depending_on_data(bound.call.module)


def _judge_access(bound: BoundCall, access: Access) -> _Finding:
    given = bound.active(access)
    if bound.is_unreached(access, given):
        return _InsideTensor("interval", reached=False)
    if access.argument is None:
        reason = access.unknown or "its address comes from no argument"
        return _UndecidedAccess(reason, evaluating=True)
    tensor = bound.call.tensor_at(access.argument)
    if tensor is None:
        name = bound.call.arguments[access.argument].name
        reason = f"argument {name} is a pointer that was not recorded"
        return _UndecidedAccess(reason, evaluating=False)
    possible_wrap = bound.may_wrap(access)
    if possible_wrap is not None and (
        _is_left_to_evaluation(bound, access, possible_wrap[1]) or overflow.wraps(bound, access)
    ):
        return _judge_wrapping_access(bound, access, tensor, *possible_wrap)
    if given.is_impossible:
        return _InsideTensor("interval", reached=False)
    return _compare_ranges(bound, access, tensor, given)


def _is_left_to_evaluation(bound: BoundCall, access: Access, wrap: Refuted | Unknown) -> bool:
    """Return whether an evaluation decides an access, so that no proof of its integers is tried.

    All contents that it depends on were recorded, and formulas do not cover its arithmetic, or the
    point where that wraps assumes untracked values alone.
    """
    if bound.contents.read_by(feeding(access.op, bound.call.module)):
        return False  # some contents were not recorded
    if isinstance(wrap, Unknown):
        return True
    doubts = bound.doubts(wrap.model)
    return bool(doubts) and not doubts.unrecorded


def _judge_wrapping_access(
    bound: BoundCall,
    access: Access,
    tensor: TensorArgument,
    arithmetic: Arithmetic,
    decision: Refuted | Unknown,
) -> _Finding:
    """Judge an access whose integers may wrap around."""
    reason = (
        f"arithmetic that its address depends on ({arithmetic.op.name}) may not fit into "
        f"{arithmetic.bits} bits"
    )
    if isinstance(decision, Refuted):
        doubts = bound.doubts(decision.model)
        if doubts.unrecorded:
            return _unrecorded(bound, access, _view(tensor), doubts)
        if not doubts:
            return Outside(access, RULE, decision, reason)
    return _UndecidedAccess(reason, evaluating=True)


def _compare_ranges(
    bound: BoundCall, access: Access, tensor: TensorArgument, given: Given
) -> _Finding:
    """Compare the bytes of an access with its tensor's view and storage."""
    storage, view = tensor.storage_bytes, _view(tensor)
    proof = follows(access.lies_within(*view), given)
    if proof is not None:
        return _InsideTensor(proof.method)
    decision = bound.prove(access.lies_within(*storage), given)
    rule = RULE
    if isinstance(decision, Proven) and view != storage:
        decision = bound.prove(access.lies_within(*view), given)
        rule = "out-of-view"
    if isinstance(decision, Proven):
        return _InsideTensor(decision.method)
    if isinstance(decision, Unknown):
        return _UndecidedAccess(decision.reason, evaluating=True)
    doubts = bound.doubts(decision.model)
    if not doubts:
        return Outside(access, rule, decision)
    if doubts.unrecorded:
        return _unrecorded(bound, access, view, doubts)
    return _UndecidedAccess(doubts.reason, evaluating=True)


def _view(tensor: TensorArgument) -> Interval:
    """Return the first and end byte of a tensor's view, cut to the storage."""
    storage, view = tensor.storage_bytes, tensor.view_bytes
    return max(view[0], storage[0]), min(view[1], storage[1])


def _unrecorded(
    bound: BoundCall, access: Access, view: Interval, doubts: Doubts
) -> _UndecidedAccess:
    """Return the undecided access, naming unrecorded tensors and a sufficient condition."""
    assumption = assumption_of(bound, access, view, doubts.symbols)
    reason = depends_on(doubts.unrecorded)
    return _UndecidedAccess(reason, False, assumption, names_tensors=True)
