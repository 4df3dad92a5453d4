"""The rule overflow: an integer that affects a memory access wraps around.

The claim is about uses where a wrap changes the result (see `widths`): an address' offset in active
lanes; a number that determines a mask, branch or loop, in all lanes; an index that is stored. So
wraps in lanes that are masked off, products that cancel, and hashes of which only low bits count
are not findings; a wrapped address that lands inside its tensor is. For i = 2^20 and stride = 2^12,
`i * stride` in 32 bits is 0 instead of 2^32. Uses that formulas do not decide are evaluated with
ideal numbers beside the actual ones (see `ideal`), without allocating tensors. A counterexample is
reported only if such an evaluation confirms it.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from msgspec.structs import replace

from kvtrace.evaluate import ScalarArgument
from kvtrace.ir import Module, Op
from kvtrace.ir.feeding import feeding, feeding_values
from kvtrace.ir.flow import counter_of, value_before
from kvtrace.ir.model import once_per_module
from kvtrace.ir.ops import COMBINING, SPREADING, effect_of, mask_of, operator_of
from kvtrace.ir.types import integer_bits
from kvtrace.symbolic.conditions import Opaque, in_order
from kvtrace.symbolic.expressions import operation_expression
from kvtrace.symbolic.hashes import is_hash, recurring_hashes
from kvtrace.symbolic.prover import Decision, Given, Proven, Refuted, follows
from kvtrace.symbolic.summary import Access, Arithmetic
from kvtrace.symbolic.terms import Symbol, Term, signed_range
from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.contents.loaded import depends_on
from kvtrace.verdicts.deciding import (
    STORED,
    is_truncated,
    stored_index,
    stored_part,
    unsigned_differences,
    unsigned_sums_of_cut,
)
from kvtrace.verdicts.ideal import followed
from kvtrace.verdicts.ideal_seen import Seen, VisibleWrap
from kvtrace.verdicts.replaying import NOT_REPRODUCED, WITNESS_LANES, holds_floats
from kvtrace.verdicts.rules.watched_values import ValueWatch, watched
from kvtrace.verdicts.verdict import RANK, Verdict
from kvtrace.verdicts.widths import Use, uses

if TYPE_CHECKING:
    from kvtrace.ir import Value
    from kvtrace.verdicts.binding import BoundCall

RULE: Final = "overflow"
_BITWISE: Final = ("<<", ">>", "&", "|", "^")
_DATA_KINDS: Final = ("content", "unknown")
_AFFECTED_TEXTS: Final = {
    "address": "the address of",
    "mask": "the mask of",
    "branch": "whether the branch is taken that leads to",
    "loop": "the loop around",
    "index": "the index that is stored by",
    "signed index": "the index that is stored by",
    "part": "the part of it that is stored by",
}

_CALLED: Final = "it is computed in a called function, or for its arguments"
_CUT: Final = "an operand was cut to fewer bits, and the result is read as an unsigned number"
_BELOW_ZERO: Final = (
    "a number below 0 is compared as a large unsigned one, which may be meant, as in range checks"
)
_UNSIGNED: Final = "it computes with unsigned integers that may be large"


class _Judgment(NamedTuple):
    """A verdict, the op that accesses memory, and the use that the verdict is on.

    Without a use the verdict is on all integers that the op depends on.
    """

    verdict: Verdict
    access: Op
    use: Use | None = None


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Return the worst verdict for each op that may wrap around with an effect on an access."""
    judgments = [*_judged_uses(bound), *_called_accesses(bound), *_doubtful_arithmetic(bound)]
    doubtful_accesses = {
        judgment.access for judgment in judgments if judgment.verdict.verdict != "proven"
    }
    worst: dict[int, _Judgment] = {}
    values: dict[int, set[Value]] = defaultdict(set)
    for judgment in judgments:
        verdict, access, use = judgment
        if (
            verdict.verdict == "proven"
            and access in doubtful_accesses
            and not (use is not None and bound.ranges.truth(use.right))
        ):
            continue  # the proof assumes active lanes that another use may have decided wrongly
        index = verdict.op.index
        values[index].update(access.operands if use is None else (use.value,))
        if index not in worst or _rank(verdict) > _rank(worst[index].verdict):
            worst[index] = judgment
    judged = _with_evaluation(bound, list(worst.values()), values)
    return [*judged, *_narrowed_stores(bound)]


def _rank(verdict: Verdict) -> int:
    return RANK.index(verdict.verdict)


def _judged_uses(bound: BoundCall) -> Iterator[_Judgment]:
    for use in filter(bound.has_use, uses(bound.call.module)):
        yield _Judgment(_judge_use(bound, use), use.access.op, use)


def _called_accesses(bound: BoundCall) -> Iterator[_Judgment]:
    """Yield unknown for accesses in called functions whose integers may wrap."""
    for access in bound.summary.accesses:
        wrapping = bound.may_wrap(access) if access.calls else None
        if wrapping is not None:
            yield _Judgment(_unknown(bound, wrapping[0], _CALLED), access.op)


def _doubtful_arithmetic(bound: BoundCall) -> Iterator[_Judgment]:
    """Yield unknown for accesses that depend on arithmetic whose formulas may be wrong."""
    verdicts = [
        _unknown(bound, arithmetic, _UNSIGNED)
        for arithmetic, contents in _arithmetic_on_least_numbers(bound.call.module)
        if any(_is_negative_unsigned(bound, content) for content in contents)
    ]
    verdicts += [
        _unknown(bound, a, _CUT, evaluating=False)
        for a in (bound.summary.arithmetic if unsigned_sums_of_cut(bound.call.module) else ())
        if not a.calls and _is_negative_cut(bound, a)
    ]
    for verdict in verdicts:
        for access in bound.summary.accesses:
            if verdict.op.index in feeding(access.op, bound.call.module):
                yield _Judgment(verdict, access.op)


@once_per_module
def _arithmetic_on_least_numbers(module: Module) -> Sequence[tuple[Arithmetic, list[Symbol]]]:
    """Return a kernel's arithmetic on loaded integers that may be the type's least, and these."""
    in_kernel = [each for each in summarize(module).arithmetic if not each.calls]
    found = ((each, each.result.symbols("content")) for each in in_kernel)
    least = ((each, [a for a in of if a.low == signed_range(each.bits)[0]]) for each, of in found)
    return [(arithmetic, contents) for arithmetic, contents in least if contents]


def _is_negative_unsigned(bound: BoundCall, content: Symbol) -> bool:
    """Return whether formulas have an integer from an unsigned tensor as negative.

    The IR does not distinguish unsigned integers, but the type of their tensor does.
    """
    tensors = bound.contents.sources(content)
    return any(tensor.dtype[0] == "u" for tensor in tensors) and bound.ranges.of(content)[0] < 0


def _is_negative_cut(bound: BoundCall, arithmetic: Arithmetic) -> bool:
    """Return whether formulas have a truncated operand as negative whose sum is read as unsigned.

    Of 200 that was truncated to 8 bits they have -56, twice of which fits 8 bits; 400 does not.
    """
    for value in unsigned_sums_of_cut(bound.call.module).get(arithmetic.op.index, ()):
        formula = bound.summary.values.get(value.id)
        if not isinstance(formula, Term) or bound.ranges.interval(formula)[0] < 0:
            return True
    return False


def wraps(bound: BoundCall, access: Access) -> bool:
    """Return whether integers that an access depends on may wrap around.

    For rules that use formulas: if nothing wraps, the kernel computes the access'
    `offset`, `mask` and `guard`; else these formulas prove nothing about the call. Sums of Booleans
    have the bit that is left in them. Unlike `bound.may_wrap`, this function ignores wraps that are
    masked off or cancel, and may use the solver, within the call's budget.
    """
    if access.calls:
        return bound.may_wrap(access) is not None
    return any(
        use.access.op is access.op and use.arithmetic.bits > 1 and not _is_proven_right(bound, use)
        for use in filter(bound.has_use, uses(bound.call.module))
    )


def _is_proven_right(bound: BoundCall, use: Use) -> bool:
    return isinstance(_decide_use(bound, use, _conditions_of(bound, use)), Proven)


def _conditions_of(bound: BoundCall, use: Use) -> Given:
    return bound.active(use.access) if use.exact_lanes else bound.given(use.place)


def _decide_use(bound: BoundCall, use: Use, given: Given) -> Decision:
    """Return the decision that no wrap changes a use's result; cached."""
    decision = bound.use_decisions.get(use)
    if decision is None:
        decision = follows(use.fits, given) or bound.prove(use.right, given)
        bound.use_decisions[use] = decision
    return decision


def _judge_use(bound: BoundCall, use: Use) -> Verdict:
    """Return proven by formulas, a violation that a replay of a program has shown, or unknown."""
    given = _conditions_of(bound, use)
    if given.is_impossible or not bound.programs:
        return _proven(bound, use, given, "interval")
    decision = None if _has_large_unsigned(bound, use) else _decide_use(bound, use, given)
    if isinstance(decision, Proven):
        return _proven(bound, use, given, decision.method)
    atoms = in_order(use.right.atoms())
    data = [a for a in atoms if isinstance(a, Symbol) and a.kind in _DATA_KINDS]
    missing = bound.unrecorded(data)
    if missing:  # the access itself is usually reported, too
        verdict = _unknown(bound, use.arithmetic, depends_on(missing), evaluating=False)
        return replace(verdict, unless=None if use.purpose in STORED else use.access.op)
    if data:
        point: dict[Symbol | Opaque, int] = dict.fromkeys(data, 0)
        return _unknown(bound, use.arithmetic, bound.doubts(point).reason)
    if decision is None:
        return _unknown(bound, use.arithmetic, "an argument is a large unsigned integer")
    if not isinstance(decision, Refuted):
        return _unknown(bound, use.arithmetic, decision.reason)
    doubts = bound.doubts(decision.model)
    if doubts:
        return _unknown(bound, use.arithmetic, doubts.reason)
    wrap = _replayed(bound, decision).visible_wrap(use.arithmetic.op.index)
    if wrap is None:
        return _unknown(bound, use.arithmetic, NOT_REPRODUCED)
    return _violation(bound, wrap, decision.method)


def _replayed(bound: BoundCall, decision: Refuted) -> Seen:
    """Return what a replay of a counterexample's program sees; cached by program."""
    replays: dict[int, Seen] = bound.memo.setdefault(_replayed, {})
    program = bound.program_of(decision.model)
    if program not in replays:
        replays[program], _ = followed(bound.call, (program,), WITNESS_LANES)
    return replays[program]


def _has_large_unsigned(bound: BoundCall, use: Use) -> bool:
    """Return whether a use has unsigned integers that formulas treat as negative numbers.

    They are loaded from tensors of unsigned types, or passed as scalars.
    """
    for atom in use.right.atoms():
        if not isinstance(atom, Symbol):
            continue
        if atom.kind == "content" and _is_negative_unsigned(bound, atom):
            return True
        if atom.kind == "scalar" and isinstance(atom.key, int):
            argument = bound.call.arguments[atom.key]
            if isinstance(argument, ScalarArgument) and isinstance(argument.value, int):
                low, high = bound.ranges.of(atom)
                if low == high != argument.value:
                    return True
    return False


# -- casts of stores -------------------------------------------------------------------------------


def _narrowed_stores(bound: BoundCall) -> Iterable[Verdict]:
    """Return a violation for each store whose own cast to fewer bits changes a number.

    `tl.store` casts to its tensor's type: of 300, 8 bits keep 44. The IR has the same op for
    `x.to(tl.int8)`, which may be meant, but the store's own is at the location of the store.
    """
    casts = _own_casts(bound.call.module)
    return filter(None, (_judge_cast(bound, access, cast) for access, cast in casts))


@once_per_module
def _own_casts(module: Module) -> Sequence[tuple[Access, Op]]:
    """Return the stores of a kernel that cast their value to fewer bits, and the casts."""
    accesses = {access.op: access for access in summarize(module).accesses}.values()
    return [(access, cast) for access in accesses if (cast := _own_cast(access.op))]


def _judge_cast(bound: BoundCall, access: Access, cast: Op) -> Verdict | None:
    """Return the violation of a store's cast, None on bits and hashes, of which a part is meant."""
    tensor = bound.call.tensor_at(access.argument)
    dtype = "" if tensor is None else tensor.dtype
    is_signed, is_unsigned = dtype in ("i8", "i16", "i32"), dtype in ("u8", "u16", "u32")
    module = bound.call.module
    feeders = feeding_values(cast.operands, module)
    carried = frozenset[int]() if is_signed else recurring_hashes(module)
    if not carried.isdisjoint(feeders) or any(
        is_hash(op) or (operator_of(op) in _BITWISE and integer_bits(op.results[0].type) != 1)
        for op in map(module.ops.__getitem__, feeders)
    ):
        return None
    bits = integer_bits(cast.results[0].type) or 64
    low, high = -1 << (bits - 1), (1 << (bits - is_signed)) - 1

    def test(numbers: Any) -> Any:
        is_below = (numbers < 0) & (numbers != -1) if is_unsigned else numbers < low  # -1: all bits
        return is_below | (numbers > high)

    mask = mask_of(access.op)
    make_watch = partial(ValueWatch, cast, cast.operand("source"), test, mask)
    watch, method, _ = watched(bound, make_watch, None, contents="all")
    if watch.witness is None:
        return None
    kept = (watch.number - low) % (1 << bits) + low if is_signed else watch.number % (1 << bits)
    place = f"the store to {tensor.name}" if tensor else "the store"
    message = f"{place} keeps the low {bits} bits of {watch.number:,}, which are {kept:,}"
    return bound.verdict(RULE, "violation", access, message, method).at(watch.witness)


def _own_cast(store: Op) -> Op | None:
    """Return the cast to fewer bits that a store makes of its value, None if there is none."""
    if effect_of(store) != "store":
        return None
    value, mask = value_before(store.operand("value"), SPREADING), mask_of(store)
    cast, masking = value.owner, None if mask is None else mask.owner
    if not isinstance(cast, Op) or not is_truncated(value) or cast.location != store.location:
        return None
    has_mask = not isinstance(masking, Op) or masking.index < cast.index
    return cast if cast.block is store.block and has_mask else None


# -- verdicts -----------------------------------------------------------------------------------


def _proven(bound: BoundCall, use: Use, given: Given, method: str) -> Verdict:
    text = operation_expression(use.arithmetic.op, bound.summary)
    message = f"{text} stays within {use.arithmetic.width} wherever that decides an access"
    if use.fits is not use.right and not follows(use.fits, given):
        message = f"no access depends on whether {text} stays within {use.arithmetic.width}"
    return bound.verdict(RULE, "proven", use.arithmetic, message, method, expression=text)


def _unknown(
    bound: BoundCall, arithmetic: Arithmetic, reason: str, *, evaluating: bool = True
) -> Verdict:
    text = operation_expression(arithmetic.op, bound.summary)
    message = f"whether {text} stays within {arithmetic.width} could not be decided: {reason}"
    return bound.verdict(
        RULE, "unknown", arithmetic, message, reason=reason, expression=text, evaluating=evaluating
    )


def _violation(bound: BoundCall, wrap: VisibleWrap, method: str) -> Verdict:
    module = bound.call.module
    op = module.ops[wrap.origin]
    text = operation_expression(op, bound.summary)
    if op.parent is not None and op.parent.name in COMBINING:
        text += f" in {operation_expression(op.parent, bound.summary)}"
    counter = counter_of(op)
    affected = (
        access
        for access in bound.summary.accesses
        if access.op is wrap.by
        or (counter is not None and any(loop.op is op for loop in access.loops))
    )
    access = next(affected, None)
    argument = None if access is None else bound.name_of(access)
    kind = None if access is None else access.kind
    target = f"{'an' if kind == 'atomic' else 'a'} {kind or 'memory access'}"
    target += f" of {argument}" if argument else ""
    bits = integer_bits((counter or op.results[0]).type) or 64
    if wrap.ideal == wrap.actual:
        wrap_text = f"{text} stays {wrap.ideal:,}, a step of 0, and the loop never ends"
    else:
        if wrap.ideal >= 1 << bits:  # the constant was an unsigned one
            text = re.sub(r"(?<=\+ )-\d+$", lambda found: str(int(found[0]) + (1 << bits)), text)
        cause = f"more than {bits} bits hold" if bits > 1 else "more than one bit holds"
        if signed_range(bits)[0] <= wrap.ideal < 0:
            cause = "which an unsigned number cannot be"
        wrap_text = f"{text} is {wrap.ideal:,}, {cause}, and wraps around to {wrap.actual:,}"
        if wrap.actual < 0 and wrap.ideal >= 1 << bits:
            wrap_text += f", or {wrap.actual + (1 << bits):,} as an unsigned number"
    message = f"{wrap_text}; it decides {_AFFECTED_TEXTS[wrap.purpose]} {target}"
    verdict = Verdict(
        RULE, "violation", op, message, method, access=kind, arg=argument, expression=text
    )
    return bound.timed(verdict.at(wrap.witness))


# -- evaluation -----------------------------------------------------------------------------------


def _with_evaluation(
    bound: BoundCall, worst: Sequence[_Judgment], values: Mapping[int, Iterable[Value]]
) -> list[Verdict]:
    """Return verdicts in which undecided ones are replaced by an evaluation, within the budget.

    Recorded floats are evaluated only if verdicts stay unknown without.

    Args:
        bound: the call.
        worst: the worst verdict on each op.
        values: by index of a verdict's op, the used values that depend on the op.

    """
    verdicts = [judgment.verdict for judgment in worst]
    if bound.lanes > bound.budget.lanes:
        return verdicts
    undecided = {verdict.op for verdict in verdicts if verdict.evaluating}
    for contents in ("integers", "all") if holds_floats(bound.call) else ("integers",):
        if any(verdict.verdict == "unknown" and verdict.op in undecided for verdict in verdicts):
            verdicts = _evaluated(bound, worst, values, contents)
    return verdicts


def _evaluated(
    bound: BoundCall, worst: Sequence[_Judgment], values: Mapping[int, Iterable[Value]],
    contents: str,
) -> list[Verdict]:  # fmt: skip
    """Return the verdicts, the undecided ones by an evaluation with contents that `run` takes.

    Each visible wrap is one violation, at the op that wrapped first.
    """
    seen, failure = followed(bound.call, None, bound.budget.lanes, contents)
    decided = [verdict for verdict, *_ in worst if not verdict.evaluating]
    violated = {verdict.op.index for verdict in decided if verdict.verdict == "violation"}
    shown = seen.visible_wraps.keys() - violated
    verdicts = [verdict for verdict in decided if verdict.op.index not in shown]
    verdicts += [
        _violation(bound, wrap, "evaluated")
        for index, wrap in seen.visible_wraps.items()
        if index in shown
    ]
    for verdict, access, _ in worst:
        index = verdict.op.index
        if not verdict.evaluating or seen.visible_wrap(index) is not None:
            continue  # it was decided before, or the wrap of the op or an operand is reported
        if failure is not None:
            reason = f"{verdict.reason}; evaluated: {failure}"
            verdicts.append(replace(verdict, reason=reason, evaluating=False))
        elif _may_be_missed(bound, seen, verdict.op, values[index]):
            verdicts.append(_unknown_after_evaluation(bound, verdict, access))
        else:
            message = f"{verdict.expression} stays within its width"
            if not seen.wrapped_ops.isdisjoint({index} | seen.reached.get(index, set())):
                message = f"{verdict.expression} wraps around where no access depends on it"
            proven = replace(verdict, verdict="proven", method="evaluated", message=message)
            verdicts.append(replace(proven, reason=None, evaluating=False))
    return verdicts


def _unknown_after_evaluation(bound: BoundCall, verdict: Verdict, access: Op) -> Verdict:
    """Return an unknown verdict whose reason says why the evaluation may have missed a wrap."""
    module = bound.call.module
    stored = stored_index(access, module) or stored_part(access, module)
    data = feeding_values(() if stored is None else (stored,), module)
    for feeders, unless in ((feeding(access, module), access), (data, None)):
        missing = bound.contents.read_by(feeders)
        if missing:
            unknown = verdict.because(depends_on(missing))
            return replace(unknown, evaluating=False, unless=unless)
    is_difference = verdict.op.index in unsigned_differences(module)
    reason = _BELOW_ZERO if is_difference else f"{verdict.reason}, which an evaluation did not see"
    unknown = verdict.because(reason)
    return replace(unknown, evaluating=False, unless=None)


def _may_be_missed(bound: BoundCall, seen: Seen, op: Op, values: Iterable[Value]) -> bool:
    """Return whether an evaluation may have missed a wrap of an op that values depend on.

    Ops between `op` and the values count, too: their wraps may also have been missed.
    """
    module = bound.call.module
    sources = {op.index} | feeding_values(values, module)
    earlier = feeding_values(op.operands, module)
    is_carried = op.index in earlier  # by a loop
    later = sources if is_carried else sources - earlier
    missed_wraps = seen.wrapped_ops if seen.blind else seen.wrapped_ops & seen.hidden
    return not (seen.hidden.isdisjoint(later) and missed_wraps.isdisjoint(sources))
