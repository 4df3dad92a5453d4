"""The rule overflow: integers that decide memory accesses stay within their width.

Each use that shows a wrapped value (see `widths`) is claimed not to see one: an address' offset in
the lanes that are active, what masks, branches and loops are decided by wherever it is computed, an
index that is stored. So a wrap in lanes that are masked off, products that cancel, and hashes of
which only low bits count are not findings; one that lands inside its tensor is. Tensors are never
allocated. What formulas do not decide is evaluated with ideal numbers beside the actual ones (see
`ideal`), and so is each counterexample, which must show before it is reported.
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
from kvtrace.verdicts.ideal_seen import Seen, Shown
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
#: An evaluation of one program, which shows a wrap, ends after so many lanes.
_MOST_LANES: Final = 1 << 25


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return a verdict for each arithmetic op that may wrap around and whose width shows."""
    found: dict[int, tuple[Verdict, Op]] = {}
    used: dict[int, set[Value]] = defaultdict(set)
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
            continue  # which lanes run may be decided wrongly, and with it what is proven
        used[verdict.op.index].update(op.operands if use is None else (use.value,))
        known = found.get(verdict.op.index)
        if known is None or _RANK.index(verdict.verdict) > _RANK.index(known[0].verdict):
            found[verdict.op.index] = verdict, op
    return _evaluated(bound, list(found.values()), used)


def _is_of_large_unsigned(bound: BoundCall, arithmetic: Arithmetic) -> bool:
    """Whether it computes, in their width, with unsigned integers that formulas have as negative.

    Nothing in the IR tells them from signed ones, but their tensor's type does.
    """
    low, _ = signed_range(arithmetic.bits)
    return any(
        atom.low == low
        and bound.ranges.of(atom)[0] < 0
        and any(tensor.dtype[0] == "u" for tensor in bound.contents.sources(atom))
        for atom in arithmetic.result.symbols("content")
    )


class _Replays:
    """Runs programs of a call, each once."""

    def __init__(self, bound: BoundCall) -> None:
        self._bound = bound
        self._seen: dict[int, Seen] = {}

    def shown(self, use: Use, program: int) -> Shown | None:
        """Run a program (linear id); give a wrap that makes a use's number another, if it shows."""
        if program not in self._seen:
            self._seen[program] = replayed(self._bound.call, program)
        seen = self._seen[program]
        origins = seen.reached.get(use.arithmetic.op.index, set()) | {use.arithmetic.op.index}
        return next((shown for op, shown in seen.shown.items() if op in origins), None)


def replayed(call: Call, program: int) -> Seen:
    """Run a program (linear id) and follow ideal numbers in it."""
    return followed(call, (program,), _MOST_LANES)[0]


def wraps(bound: BoundCall, access: Access) -> bool:
    """Tell whether arithmetic that an access depends on may wrap around: it is not ruled out.

    For rules that reason about ideal integers: where nothing wraps, the access' `offset`,
    `mask` and `guard` are what the kernel computes; else nothing may be claimed of them for the
    whole call. Unlike `bound.may_wrap`, it follows where wrapped numbers are used: those that are
    masked off, or cancel, are left out; and it may ask the solver, within the call's budget.
    """
    if access.calls:
        return bound.may_wrap(access) is not None
    return any(
        use.access.op is access.op and not _is_right(bound, use) for use in uses(bound.call.module)
    )


def _in_function(bound: BoundCall, access: Access) -> Verdict | None:
    """Uses are not followed through functions that are called."""
    found = bound.may_wrap(access)
    if found is None:
        return None
    arithmetic, _ = found
    reason = "it is computed in a function that is called, or for one"
    return _unknown(bound, arithmetic, reason, 0, evaluating=True)


def _is_right(bound: BoundCall, use: Use) -> bool:
    return isinstance(_decided(bound, use, _given(bound, use)), Proven)


def _given(bound: BoundCall, use: Use) -> Given:
    return bound.active(use.access) if use.exact_lanes else bound.given(use.place)


def _decided(bound: BoundCall, use: Use, given: Given) -> Decision:
    """Decide whether nothing shows: mostly, all numbers fit, and that is plain to see."""
    found = bound.of_uses.get(use)
    if found is None:
        found = follows(use.fits, given) or bound.prove(use.right, given)
        bound.of_uses[use] = found
    return found


def _judged(bound: BoundCall, use: Use, replays: _Replays) -> Verdict | None:
    given = _given(bound, use)
    if given.is_impossible or not bound.programs:
        return _proven(bound, use, "interval")
    loose = [a for a in use.right.atoms() if isinstance(a, Symbol) and a.kind in _DATA]
    if loose or _is_read_otherwise(bound, use):
        return _of_data(bound, use, given, loose)
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


def _is_read_otherwise(bound: BoundCall, use: Use) -> bool:
    """Whether a number is, to the kernel, another than the signed one that formulas have.

    So are large unsigned integers: those of tensors of them, and those passed by value.
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


def _of_data(bound: BoundCall, use: Use, given: Given, loose: Sequence[Symbol]) -> Verdict | None:
    """Prove what depends on contents, or on what is not followed, whatever these are; or evaluate.

    It may follow from their ranges, from masks and branches, or from what was recorded.
    """
    if loose and not _is_read_otherwise(bound, use):
        decision = _decided(bound, use, given)
        if isinstance(decision, Proven):
            return _proven(bound, use, decision.method, decision.solver_ns)
    missing = bound.unrecorded(loose)
    if missing:  # mostly, the size that the tensor would need is reported for the access itself
        found = _unknown(bound, use.arithmetic, depends_on(missing), 0)
        return replace(found, unless=None if use.purpose == "index" else use.access.op)
    model: dict[Symbol | Opaque, int] = dict.fromkeys(loose, 0)
    reason = bound.doubts(model).reason if loose else "an argument is a large unsigned integer"
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
    bound: BoundCall, shown: Shown, method: str, solver_ns: int | None = None
) -> Verdict:
    module = bound.call.module
    op = next(each for each in module.ops if each.index == shown.origin)
    text = operation_expression(op, bound.summary)
    counter = counter_of(op)
    access = next(
        (
            each
            for each in bound.summary.accesses
            if each.op is shown.by or (counter is not None and _is_in(each, op))
        ),
        None,
    )
    argument = None
    if access is not None and access.argument is not None:
        argument = bound.call.arguments[access.argument].name
    kind = "memory access" if access is None else access.kind
    target = f"a {kind}" if argument is None else f"a {kind} of {argument}"
    bits = integer_bits((counter or op.results[0]).type)
    happens = f"{text} is {shown.ideal:,}, more than {bits} bits hold, and wraps around to "
    happens += f"{shown.actual:,}"
    if shown.ideal == shown.actual:
        happens = f"{text} stays {shown.ideal:,}, a step of 0, and the loop never ends"
    return Verdict(
        RULE,
        "violation",
        op,
        f"{happens}; it decides {_DECIDES[shown.purpose]} {target}",
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
    return any(each.op is loop for each in access.loops)


def _evaluated(
    bound: BoundCall, found: list[tuple[Verdict, Op]], used: Mapping[int, Iterable[Value]]
) -> list[Verdict]:
    """Evaluate the grid for what no formula decides, where that can be and is affordable.

    With each verdict comes the op that accesses memory there; `used` has the values that each
    verdict's op (by index) is a part of, where their widths show.
    """
    verdicts = [verdict for verdict, _ in found]
    open_ones = [pair for pair in found if pair[0].evaluating]
    if not open_ones or bound.lanes > bound.budget.lanes:
        return verdicts
    seen, failure = followed(bound.call, None, bound.budget.lanes)
    settled = [verdict for verdict in verdicts if not verdict.evaluating]
    known = {v.op.index for v in settled if v.verdict == "violation"}
    settled = [v for v in settled if v.op.index not in seen.shown or v.verdict == "violation"]
    shown = [each for index, each in seen.shown.items() if index not in known]
    settled += [_violation(bound, each, "evaluated") for each in shown]
    for verdict, access in open_ones:
        index = verdict.op.index
        if index in seen.shown or not seen.shown.keys().isdisjoint(seen.reached.get(index, ())):
            continue  # it, or what it takes, has wrapped around, which is reported
        if failure is not None:
            reason = f"{verdict.reason}; evaluated: {failure}"
            settled.append(replace(verdict, reason=reason, evaluating=False))
        elif _is_hidden(bound, seen, verdict.op, used[index]):
            settled.append(_hidden(bound, verdict, access))
        else:
            message = f"{verdict.expression} stays within its width wherever that decides an access"
            proven = replace(verdict, verdict="proven", method="evaluated", message=message)
            settled.append(replace(proven, reason=None, evaluating=False))
    return settled


def _hidden(bound: BoundCall, verdict: Verdict, access: Op) -> Verdict:
    """Say that an evaluation did not see all."""
    missing = bound.contents.read_by(feeding(access, bound.call.module))
    reason = (
        depends_on(missing) if missing else f"{verdict.reason}, which an evaluation did not see"
    )
    message = verdict.message.replace(verdict.reason or "", reason)
    unless = access if missing else None
    return replace(verdict, reason=reason, message=message, evaluating=False, unless=unless)


def _is_hidden(bound: BoundCall, seen: Seen, op: Op, values: Iterable[Value]) -> bool:
    """Whether a wrap of what goes into some values, an op among it, may show where it was not seen.

    Other ops on the way from it to the values count too: it is they that may have wrapped, or whose
    numbers nobody has seen.
    """
    module = bound.call.module
    made_of = {op.index} | feeding_values(values, module)
    before = feeding_values(op.operands, module)
    on_the_way = made_of if op.index in before else made_of - before  # else a loop carries it
    unseen = seen.wrapped_ops if seen.blind else seen.wrapped_ops & seen.hidden
    return not (seen.hidden.isdisjoint(on_the_way) and unseen.isdisjoint(made_of))
