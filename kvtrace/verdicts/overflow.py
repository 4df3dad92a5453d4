"""The rule overflow: integers that decide memory accesses stay within their width.

Each use that shows a wrapped value (see `widths`) is claimed not to see one: an address' offset in
the lanes that are active, what masks, branches and loops are decided by wherever it is computed, an
index that is stored. So a wrap in lanes that are masked off, products that cancel, and hashes of
which only low bits count are no findings; one that lands inside its tensor is. Tensors are never
allocated. What formulas do not decide is evaluated with ideal numbers beside the actual ones (see
`ideal`), and so is each counterexample, which must show before it is reported.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from kvtrace.evaluate import ScalarArgument
from kvtrace.symbolic.conditions import Opaque
from kvtrace.symbolic.decide import Decision, Given, Proven, Refuted, prove
from kvtrace.symbolic.expressions import operation_expression
from kvtrace.symbolic.summary import Access, Arithmetic
from kvtrace.symbolic.terms import Symbol
from kvtrace.symbolic.walk_types import integer_bits
from kvtrace.verdicts.ideal import Ideals, Shown
from kvtrace.verdicts.replaying import run
from kvtrace.verdicts.verdict import Verdict
from kvtrace.verdicts.widths import Use, uses

if TYPE_CHECKING:
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

#: An evaluation of one program, which shows a wrap, ends after so many lanes.
_MOST_LANES: Final = 1 << 25


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Give a verdict for each arithmetic op that may wrap around and whose width shows."""
    found: dict[int, Verdict] = {}
    verdicts = [_judged(bound, use) for use in uses(bound.summary)]
    verdicts += [_in_function(bound, access) for access in bound.summary.accesses if access.calls]
    for verdict in verdicts:
        if verdict is None:
            continue
        known = found.get(verdict.op.index)
        if known is None or _RANK.index(verdict.verdict) > _RANK.index(known.verdict):
            found[verdict.op.index] = verdict
    return _evaluated(bound, list(found.values()))


def replayed(bound: BoundCall, program: int) -> dict[int, Shown]:
    """Run a program (linear id); give the wraps that show in it, by the op that wraps around."""
    watch = Ideals(bound.call.module)
    run(bound.call, (), (program,), lanes=_MOST_LANES, instrument=watch)
    return watch.shown


def wraps(bound: BoundCall, access: Access) -> list[Arithmetic]:
    """Give arithmetic that an access hangs on and whose wrapping around is not ruled out.

    For rules that reason about ideal integers: where this gives nothing, the access' `offset`,
    `mask` and `guard` are what the kernel computes; else nothing may be claimed of them for the
    whole call. Unlike `bound.may_wrap`, it follows where wrapped numbers are used: those that are
    masked off, or cancel, are left out; and it may ask the solver, within the call's budget.
    """
    if access.calls:
        found = bound.may_wrap(access)
        return [] if found is None else [found[0]]
    return [
        use.arithmetic
        for use in uses(bound.summary)
        if use.access.op is access.op and not _is_right(bound, use)
    ]


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
    return prove(use.fits, given) or bound.decide(use.right, given)


def _judged(bound: BoundCall, use: Use) -> Verdict | None:
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
    if bound.doubts(decision.model):
        reason = bound.described_doubts(decision.model)
        return _unknown(bound, use.arithmetic, reason, decision.solver_ns, evaluating=True)
    shown = replayed(bound, bound.program_of(decision.model))
    if not shown:
        reason = "a counterexample to it did not show when it was run"
        return _unknown(bound, use.arithmetic, reason, decision.solver_ns, evaluating=True)
    seen = shown.get(use.arithmetic.op.index) or shown[min(shown)]
    return _violation(bound, seen, decision.method, decision.solver_ns)


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
    """Judge by ranges what hangs on contents, or on what is not followed; else by evaluation."""
    if loose and given.ranges.truth(use.right) and not _is_read_otherwise(bound, use):
        return _proven(bound, use, "interval")
    if bound.unrecorded(loose):
        return None  # what the tensor would have to hold is said of the access itself
    model: dict[Symbol | Opaque, int] = dict.fromkeys(loose, 0)
    reason = bound.described_doubts(model) if loose else "an argument is a large unsigned integer"
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
    access = next((each for each in bound.summary.accesses if each.op is shown.by), None)
    argument = None
    if access is not None and access.argument is not None:
        argument = bound.call.arguments[access.argument].name
    kind = "memory access" if access is None else access.kind
    target = f"a {kind}" if argument is None else f"a {kind} of {argument}"
    bits = integer_bits(op.results[0].type)
    return Verdict(
        RULE,
        "violation",
        op,
        f"{text} is {shown.ideal:,}, more than {bits} bits hold, and wraps around to "
        f"{shown.actual:,}; it decides {_DECIDES[shown.purpose]} {target}",
        method,
        access=None if access is None else access.kind,
        arg=argument,
        program=shown.program,
        iteration=shown.iteration,
        lane=shown.lane,
        expression=text,
        solver_ns=solver_ns or None,
    )


def _evaluated(bound: BoundCall, verdicts: list[Verdict]) -> list[Verdict]:
    """Evaluate the grid for what no formula decides, where that can be and is affordable."""
    open_ones = [verdict for verdict in verdicts if verdict.evaluating]
    if not open_ones or bound.lanes > bound.budget.lanes:
        return verdicts
    watch = Ideals(bound.call.module)
    failure = run(bound.call, (), lanes=bound.budget.lanes, instrument=watch)
    settled = [verdict for verdict in verdicts if not verdict.evaluating]
    known = {v.op.index for v in settled if v.verdict == "violation"}
    shown = [each for index, each in watch.shown.items() if index not in known]
    settled = [v for v in settled if v.op.index not in watch.shown or v.verdict == "violation"]
    settled += [_violation(bound, each, "evaluated") for each in shown]
    for verdict in open_ones:
        index = verdict.op.index
        if watch.shown and index in watch.reached:
            continue  # what it takes has wrapped around, which is said
        if failure is not None:
            reason = f"{verdict.reason}; evaluated: {failure}"
            settled.append(replace(verdict, reason=reason, evaluating=False))
        elif not _is_hidden(watch, index):
            message = f"{verdict.expression} stays within its width wherever that decides an access"
            proven = replace(verdict, verdict="proven", method="evaluated", message=message)
            settled.append(replace(proven, reason=None, evaluating=False))
        # else it hangs on contents, which is said of the access itself
    return settled


def _is_hidden(watch: Ideals, index: int) -> bool:
    """Whether a wrap of an op may show where it was not seen."""
    return index in watch.hidden or (index in watch.wrapped_ops and watch.blind)
