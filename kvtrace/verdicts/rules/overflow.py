"""The rule overflow: integers that decide memory accesses stay within their width.

The claim is about uses where a wrap changes the result (see `widths`): an address' offset in active
lanes; a number that decides a mask, branch or loop, in all lanes; an index that is stored. So wraps
in lanes that are masked off, products that cancel, and hashes of which only low bits count are not
findings; a wrapped address that lands inside its tensor is. For i = 2^20 and stride = 2^12, `i *
stride` in 32 bits is 0 instead of 2^32. Uses that formulas do not decide are evaluated with ideal
numbers beside the actual ones (see `ideal`), without allocating tensors. A counterexample is
reported only if such an evaluation confirms it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate import ScalarArgument
from kvtrace.ir.flow import counter_of
from kvtrace.symbolic.conditions import Opaque
from kvtrace.symbolic.expressions import operation_expression
from kvtrace.symbolic.prover import Decision, Given, Proven, Refuted, follows
from kvtrace.symbolic.summary import Access, Arithmetic
from kvtrace.symbolic.terms import Symbol, signed_range
from kvtrace.symbolic.walk_types import integer_bits
from kvtrace.verdicts.contents.loaded import depends_on
from kvtrace.verdicts.feeding import feeding, feeding_values
from kvtrace.verdicts.ideal import followed
from kvtrace.verdicts.ideal_seen import Seen, VisibleWrap
from kvtrace.verdicts.replaying import NOT_REPRODUCED
from kvtrace.verdicts.verdict import Verdict
from kvtrace.verdicts.widths import Use, uses

if TYPE_CHECKING:
    from kvtrace.ir import Op, Value
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.verdicts.binding import BoundCall

RULE: Final = "overflow"
_DATA: Final = ("content", "unknown")
_RANK: Final = ("proven", "unknown", "violation")
_DECIDES: Final = {
    "address": "the address of",
    "mask": "the mask of",
    "branch": "whether the branch is taken that leads to",
    "loop": "the loop around",
    "index": "the index that is stored by",
}

_UNSIGNED: Final = "it computes with unsigned integers that may be large"
#: An evaluation of a witness's program ends after so many lanes.
_MOST_LANES: Final = 1 << 25


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return the worst verdict for each op that may wrap around where that changes a result."""
    worst: dict[int, tuple[Verdict, Op]] = {}
    values: dict[int, set[Value]] = defaultdict(set)
    replays = _Replays(bound)
    judged: list[tuple[Use | None, Op, Verdict | None]] = [
        (use, use.access.op, _judged(bound, use, replays)) for use in uses(bound.call.module)
    ]
    judged += [
        (None, access.op, _in_function(bound, access))
        for access in bound.summary.accesses
        if access.calls
    ]
    judged += [
        (None, access.op, _unknown(bound, arithmetic, _UNSIGNED, 0, evaluating=True))
        for arithmetic in bound.summary.arithmetic
        if not arithmetic.calls and _is_of_large_unsigned(bound, arithmetic)
        for access in bound.summary.accesses
        if arithmetic.op.index in feeding(access.op, bound.call.module)
    ]
    doubtful = {op for _, op, verdict in judged if verdict is None or verdict.verdict != "proven"}
    for use, op, verdict in judged:
        if verdict is None:
            continue
        if (
            verdict.verdict == "proven"
            and op in doubtful
            and not (use is not None and bound.ranges.truth(use.right))
        ):
            continue  # the proof assumes active lanes that another use may have decided wrongly
        values[verdict.op.index].update(op.operands if use is None else (use.value,))
        before = worst.get(verdict.op.index)
        if before is None or _RANK.index(verdict.verdict) > _RANK.index(before[0].verdict):
            worst[verdict.op.index] = verdict, op
    return _evaluated(bound, list(worst.values()), values)


def _is_of_large_unsigned(bound: BoundCall, arithmetic: Arithmetic) -> bool:
    """Return whether an op computes with loaded unsigned integers that formulas have as negative.

    The IR does not distinguish unsigned integers, but the type of their tensor does.
    """
    low, _ = signed_range(arithmetic.bits)
    return any(
        atom.low == low
        and bound.ranges.of(atom)[0] < 0
        and any(tensor.dtype[0] == "u" for tensor in bound.contents.sources(atom))
        for atom in arithmetic.result.symbols("content")
    )


class _Replays:
    """Cached runs of a call's programs with ideal numbers."""

    def __init__(self, bound: BoundCall) -> None:
        self._bound = bound
        self._seen: dict[int, Seen] = {}

    def shown(self, use: Use, program: int) -> VisibleWrap | None:
        """Run a program (linear id); return a wrap that changes a use's number, or None."""
        if program not in self._seen:
            self._seen[program] = replayed(self._bound.call, program)
        seen = self._seen[program]
        origins = seen.reached.get(use.arithmetic.op.index, set()) | {use.arithmetic.op.index}
        return next((shown for op, shown in seen.shown.items() if op in origins), None)


def replayed(call: Call, program: int) -> Seen:
    """Return the wraps seen in a run of a program (linear id) with ideal numbers."""
    return followed(call, (program,), _MOST_LANES)[0]


def wraps(bound: BoundCall, access: Access) -> bool:
    """Return whether arithmetic that an access depends on may wrap around.

    For rules that reason about ideal integers: if nothing wraps, the kernel computes the access'
    `offset`, `mask` and `guard`; else these formulas prove nothing about the call. Unlike
    `bound.may_wrap`, this function ignores wraps that are masked off or cancel, and may ask the
    solver, within the call's budget.
    """
    if access.calls:
        return bound.may_wrap(access) is not None
    return any(
        use.access.op is access.op and not _is_right(bound, use) for use in uses(bound.call.module)
    )


def _in_function(bound: BoundCall, access: Access) -> Verdict | None:
    """Return unknown if an access in a called function may wrap: uses are not followed there."""
    wrapping = bound.may_wrap(access)
    if wrapping is None:
        return None
    arithmetic, _ = wrapping
    reason = "it is computed in a called function, or for its arguments"
    return _unknown(bound, arithmetic, reason, 0, evaluating=True)


def _is_right(bound: BoundCall, use: Use) -> bool:
    return isinstance(_decided(bound, use, _given(bound, use)), Proven)


def _given(bound: BoundCall, use: Use) -> Given:
    return bound.active(use.access) if use.exact_lanes else bound.given(use.place)


def _decided(bound: BoundCall, use: Use, given: Given) -> Decision:
    """Return the cached decision that wraps change no use; mostly because all numbers fit."""
    decision = bound.use_decisions.get(use)
    if decision is None:
        decision = follows(use.fits, given) or bound.prove(use.right, given)
        bound.use_decisions[use] = decision
    return decision


def _judged(bound: BoundCall, use: Use, replays: _Replays) -> Verdict | None:
    given = _given(bound, use)
    if given.is_impossible or not bound.programs:
        return _proven(bound, use, "interval")
    data = [a for a in use.right.atoms() if isinstance(a, Symbol) and a.kind in _DATA]
    if data or _has_large_unsigned(bound, use):
        return _of_data(bound, use, given, data)
    decision = _decided(bound, use, given)
    if isinstance(decision, Proven):
        return _proven(bound, use, decision.method, decision.solver_ns)
    if not isinstance(decision, Refuted):
        return _unknown(bound, use.arithmetic, decision.reason, decision.solver_ns, evaluating=True)
    doubts = bound.doubts(decision.model)
    if doubts:
        return _unknown(bound, use.arithmetic, doubts.reason, decision.solver_ns, evaluating=True)
    shown = replays.shown(use, bound.program_of(decision.model))
    if shown is None:
        reason = NOT_REPRODUCED
        return _unknown(bound, use.arithmetic, reason, decision.solver_ns, evaluating=True)
    return _violation(bound, shown, decision.method, decision.solver_ns)


def _has_large_unsigned(bound: BoundCall, use: Use) -> bool:
    """Return whether a use has unsigned integers that formulas read as negative numbers.

    They are loaded from tensors of unsigned types, or passed by value.
    """
    for atom in use.right.atoms():
        if not isinstance(atom, Symbol):
            continue
        if atom.kind == "content" and any(
            tensor.dtype[0] == "u" for tensor in bound.contents.sources(atom)
        ):
            return bound.ranges.of(atom)[0] < 0
        if atom.kind == "scalar" and isinstance(atom.key, int):
            argument = bound.call.arguments[atom.key]
            if isinstance(argument, ScalarArgument) and isinstance(argument.value, int):
                low, high = bound.ranges.of(atom)
                if low == high != argument.value:
                    return True
    return False


def _of_data(bound: BoundCall, use: Use, given: Given, data: Sequence[Symbol]) -> Verdict | None:
    """Return the verdict on a use that depends on contents or unknown values.

    A proof may follow from ranges, masks and branches, or recorded contents; else the verdict is
    unknown, and an evaluation may decide it.
    """
    if data and not _has_large_unsigned(bound, use):
        decision = _decided(bound, use, given)
        if isinstance(decision, Proven):
            return _proven(bound, use, decision.method, decision.solver_ns)
    missing = bound.unrecorded(data)
    if missing:  # mostly the access itself is reported, with the contents that it needs
        verdict = _unknown(bound, use.arithmetic, depends_on(missing), 0)
        return replace(verdict, unless=None if use.purpose == "index" else use.access.op)
    model: dict[Symbol | Opaque, int] = dict.fromkeys(data, 0)
    reason = bound.doubts(model).reason if data else "an argument is a large unsigned integer"
    return _unknown(bound, use.arithmetic, reason, 0, evaluating=True)


# -- verdicts -----------------------------------------------------------------------------------


def _proven(bound: BoundCall, use: Use, method: str, solver_ns: int = 0) -> Verdict:
    text = operation_expression(use.arithmetic.op, bound.summary)
    return Verdict(
        RULE,
        "proven",
        use.arithmetic.op,
        f"{text} stays within {use.arithmetic.bits} bits wherever that decides an access",
        method,
        expression=text,
        solver_ns=solver_ns or None,
    )


def _unknown(
    bound: BoundCall,
    arithmetic: Arithmetic,
    reason: str,
    solver_ns: int,
    *,
    evaluating: bool = False,
) -> Verdict:
    text = operation_expression(arithmetic.op, bound.summary)
    return Verdict(
        RULE,
        "unknown",
        arithmetic.op,
        f"whether {text} stays within {arithmetic.bits} bits could not be decided: {reason}",
        reason=reason,
        expression=text,
        solver_ns=solver_ns or None,
        evaluating=evaluating,
    )


def _violation(
    bound: BoundCall, shown: VisibleWrap, method: str, solver_ns: int | None = None
) -> Verdict:
    module = bound.call.module
    op = module.ops[shown.origin]
    text = operation_expression(op, bound.summary)
    counter = counter_of(op)
    access = next(
        (
            access
            for access in bound.summary.accesses
            if access.op is shown.by or (counter is not None and _is_in(access, op))
        ),
        None,
    )
    argument = None
    if access is not None and access.argument is not None:
        argument = bound.call.arguments[access.argument].name
    kind = "memory access" if access is None else access.kind
    target = f"a {kind}" if argument is None else f"a {kind} of {argument}"
    bits = integer_bits((counter or op.results[0]).type)
    wrap = f"{text} is {shown.ideal:,}, more than {bits} bits hold, and wraps around to "
    wrap += f"{shown.actual:,}"
    if shown.ideal == shown.actual:
        wrap = f"{text} stays {shown.ideal:,}, a step of 0, and the loop never ends"
    return Verdict(
        RULE,
        "violation",
        op,
        f"{wrap}; it decides {_DECIDES[shown.purpose]} {target}",
        method,
        access=None if access is None else access.kind,
        arg=argument,
        program=shown.program,
        iteration=shown.iteration,
        lane=shown.lane,
        expression=text,
        solver_ns=solver_ns or None,
    )


def _is_in(access: Access, loop: Op) -> bool:
    return any(other.op is loop for other in access.loops)


def _evaluated(
    bound: BoundCall, judged: list[tuple[Verdict, Op]], values: Mapping[int, Iterable[Value]]
) -> list[Verdict]:
    """Return verdicts after an evaluation of the grid, if the budget allows, of undecided ones.

    Args:
        bound: the call.
        judged: the verdicts, each with the op that accesses memory.
        values: by index of a verdict's op, the used values that the op is part of.

    """
    verdicts = [verdict for verdict, _ in judged]
    undecided = [pair for pair in judged if pair[0].evaluating]
    if not undecided or bound.lanes > bound.budget.lanes:
        return verdicts
    seen, failure = followed(bound.call, None, bound.budget.lanes)
    settled = [verdict for verdict in verdicts if not verdict.evaluating]
    violated = {v.op.index for v in settled if v.verdict == "violation"}
    settled = [v for v in settled if v.op.index not in seen.shown or v.verdict == "violation"]
    shown_wraps = [shown for index, shown in seen.shown.items() if index not in violated]
    settled += [_violation(bound, shown, "evaluated") for shown in shown_wraps]
    for verdict, access in undecided:
        index = verdict.op.index
        if index in seen.shown or not seen.shown.keys().isdisjoint(seen.reached.get(index, ())):
            continue  # the op or an operand has wrapped around, which is reported
        if failure is not None:
            reason = f"{verdict.reason}; evaluated: {failure}"
            settled.append(replace(verdict, reason=reason, evaluating=False))
        elif _is_hidden(bound, seen, verdict.op, values[index]):
            settled.append(_hidden(bound, verdict, access))
        else:
            message = f"{verdict.expression} stays within its width wherever that decides an access"
            proven = replace(verdict, verdict="proven", method="evaluated", message=message)
            settled.append(replace(proven, reason=None, evaluating=False))
    return settled


def _hidden(bound: BoundCall, verdict: Verdict, access: Op) -> Verdict:
    """Return an unknown verdict whose reason says what an evaluation did not see."""
    missing = bound.contents.read_by(feeding(access, bound.call.module))
    reason = (
        depends_on(missing) if missing else f"{verdict.reason}, which an evaluation did not see"
    )
    message = verdict.message.replace(verdict.reason or "", reason)
    unless = access if missing else None
    return replace(verdict, reason=reason, message=message, evaluating=False, unless=unless)


def _is_hidden(bound: BoundCall, seen: Seen, op: Op, values: Iterable[Value]) -> bool:
    """Return whether an evaluation may have missed a wrap of an op that some values depend on.

    Ops between `op` and the values count, too: they may have wrapped, or their numbers are hidden.
    """
    module = bound.call.module
    sources = {op.index} | feeding_values(values, module)
    before = feeding_values(op.operands, module)
    is_carried = op.index in before  # by a loop
    between = sources if is_carried else sources - before
    unseen = seen.wrapped_ops if seen.blind else seen.wrapped_ops & seen.hidden
    return not (seen.hidden.isdisjoint(between) and unseen.isdisjoint(sources))
