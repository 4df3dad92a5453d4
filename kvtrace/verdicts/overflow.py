"""The rule overflow: integers that decide memory accesses stay within their width.

Each use that shows a wrapped value (see `widths`) is claimed not to see one: an address' offset in
the lanes that are active, what masks, branches and loops are decided by wherever it is computed.
So a wrap in lanes that are masked off, products that cancel, and hashes of which only low bits
count are no findings; one that lands inside its tensor is. Tensors are never allocated. A
counterexample is run, and must show the wrapped number, before it is reported.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.evaluate.instrument import Instrument
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Unknown, to_array
from kvtrace.symbolic.conditions import Opaque
from kvtrace.symbolic.decide import Decision, Given, Point, Proven, Refuted, prove
from kvtrace.symbolic.expressions import operation_expression
from kvtrace.symbolic.functions import wrapped
from kvtrace.symbolic.summary import Access, Arithmetic, Loop
from kvtrace.symbolic.terms import Symbol
from kvtrace.verdicts.replaying import program_at
from kvtrace.verdicts.values import ValueWatch, completed, evaluated
from kvtrace.verdicts.verdict import Verdict
from kvtrace.verdicts.widths import Use, uses

if TYPE_CHECKING:
    from kvtrace.evaluate.registry import Step
    from kvtrace.ir import Op
    from kvtrace.verdicts.binding import BoundCall

RULE: Final = "overflow"
_DATA: Final = ("content", "unknown")
_RANK: Final = ("proven", "unknown", "violation")
_DECIDES: Final = {
    "address": "the address of",
    "mask": "the mask of",
    "branch": "whether the branch is taken that leads to",
    "loop": "the loop around",
}


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
    op = use.arithmetic.op
    if given.is_impossible or not bound.programs:
        return _proven(bound, use, "interval")
    loose = [a for a in use.right.atoms() if isinstance(a, Symbol) and a.kind in _DATA]
    if loose:
        return _of_data(bound, use, given, loose)
    decision = _decided(bound, use, given)
    if isinstance(decision, Proven):
        return _proven(bound, use, decision.method, decision.solver_ns)
    if not isinstance(decision, Refuted):
        return _unknown(bound, use.arithmetic, decision.reason, decision.solver_ns, evaluating=True)
    if bound.doubts(decision.model):
        reason = bound.described_doubts(decision.model)
        return _unknown(bound, use.arithmetic, reason, decision.solver_ns, evaluating=True)
    ideal = use.term.value(completed(bound, decision.model, use.term))
    actual = wrapped(ideal, use.arithmetic.bits, signed=True).low
    failure = _replayed(bound, op, bound.program_of(decision.model), actual)
    if ideal == actual or failure is not None:
        why = failure or "it is the other side of a comparison"
        reason = f"a counterexample to it did not show when it was run ({why})"
        return _unknown(bound, use.arithmetic, reason, decision.solver_ns)
    return _violation(bound, use, decision, ideal, actual)


def _of_data(bound: BoundCall, use: Use, given: Given, loose: Sequence[Symbol]) -> Verdict | None:
    """Judge by ranges what hangs on contents, or on what is not followed; else by evaluation."""
    if given.ranges.truth(use.right):
        return _proven(bound, use, "interval")
    if bound.unrecorded(loose):
        return None  # what the tensor would have to hold is said of the access itself
    model: dict[Symbol | Opaque, int] = dict.fromkeys(loose, 0)
    reason = bound.described_doubts(model)
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


def _violation(bound: BoundCall, use: Use, refuted: Refuted, ideal: int, actual: int) -> Verdict:
    access, arithmetic, model = use.access, use.arithmetic, refuted.model
    text = operation_expression(arithmetic.op, bound.summary)
    argument = None if access.argument is None else bound.call.arguments[access.argument].name
    target = f"a {access.kind}" if argument is None else f"a {access.kind} of {argument}"
    return Verdict(
        RULE,
        "violation",
        arithmetic.op,
        f"{text} is {ideal:,}, more than {arithmetic.bits} bits hold, and wraps around to "
        f"{actual:,}; it decides {_DECIDES[use.purpose]} {target}",
        refuted.method,
        access=access.kind,
        arg=argument,
        program=_program(model),
        iteration=_iteration(model, access.loops if use.exact_lanes else use.place.loops),
        lane=_lane(model, access.shape if use.exact_lanes else arithmetic.shape),
        expression=text,
        solver_ns=refuted.solver_ns or None,
    )


def _program(model: Point) -> tuple[int, int, int]:
    numbers = {
        key.key: number
        for key, number in model.items()
        if isinstance(key, Symbol) and key.kind == "program"
    }
    return numbers.get(0, 0), numbers.get(1, 0), numbers.get(2, 0)


def _iteration(model: Point, loops: Sequence[Loop]) -> int:
    return model.get(loops[-1].trip, 0) if loops else 0


def _lane(model: Point, shape: Sequence[int]) -> tuple[int, ...]:
    return tuple(
        model.get(Symbol("lane", axis, 0, extent - 1), 0) if extent > 1 else 0
        for axis, extent in enumerate(shape)
    )


# -- runs ---------------------------------------------------------------------------------------


def _replayed(bound: BoundCall, op: Op, program: int, number: int) -> str | None:
    """Run a program until an op gives a number; say why, if it does not."""
    watch = ValueWatch(op, op.results[0], lambda numbers: numbers == number)
    failure = evaluated(bound, watch, (program,))
    return None if watch.sighting is not None else failure or "the number was not seen"


class _Wide(Instrument):
    """Computes sums and products in 64 bits, too, and keeps where that makes a difference.

    `wraps` has by op the first such (program, iteration, lane) with both numbers; `hidden` the ops
    that were not seen with all numbers, as they hang on contents that were not recorded.
    """

    def __init__(self, ops: Collection[int]) -> None:
        super().__init__()
        self._ops = frozenset(ops)
        self.hidden: set[int] = set()
        self.wraps: dict[int, tuple[int, int, tuple[int, ...], int, int]] = {}

    def wrapped(self, op: Op, step: Step) -> Step:
        """Stand around the op."""
        combine = _WIDE.get(op.name)
        if op.index not in self._ops:
            return step
        slots = [value.id for value in op.operands]
        result, type_ = op.results[0].id, value_type(op.results[0].type)

        def watched(values: list[Any], scope: Any) -> None:
            given = [values[slot] for slot in slots]
            step(values, scope)
            if combine is None or any(isinstance(v, Unknown) for v in (*given, values[result])):
                self.hidden.add(op.index)
                return
            wide = [to_array(value, type_).astype(np.int64) for value in given]
            ideal = combine(*wide)
            actual = np.broadcast_to(to_array(values[result], type_), ideal.shape)
            places = np.argwhere(ideal != actual)
            if len(places) and op.index not in self.wraps:
                first, *lane = map(int, places[0])
                number = first if len(scope.linear) > 1 else 0
                trips = np.broadcast_to(np.asarray(scope.iteration), len(scope.linear))
                where = (int(scope.linear[number]), int(trips[number]), tuple(lane))
                at = tuple(places[0])
                self.wraps[op.index] = (*where, int(ideal[at]), int(actual[at]))

        return watched


_WIDE: Final[Mapping[str, Callable[..., Any]]] = {
    "arith.addi": np.add,
    "arith.subi": np.subtract,
    "arith.muli": np.multiply,
}


def _evaluated(bound: BoundCall, verdicts: list[Verdict]) -> list[Verdict]:
    """Evaluate the grid for what no formula decides, where that can be and is affordable."""
    ops = {verdict.op.index for verdict in verdicts if verdict.evaluating}
    if not ops or bound.lanes > bound.budget.lanes:
        return verdicts
    wide = _Wide(ops)
    failure = evaluated(bound, wide)
    settled = []
    for verdict in verdicts:
        index = verdict.op.index
        if index not in ops:
            settled.append(verdict)
        elif index in wide.wraps:
            settled.append(_seen(bound, verdict, wide.wraps[index]))
        elif failure is not None:
            reason = f"{verdict.reason}; evaluated: {failure}"
            settled.append(replace(verdict, reason=reason, evaluating=False))
        elif index not in wide.hidden:
            message = f"{verdict.expression} stays within its width in every program"
            proven = replace(verdict, verdict="proven", method="evaluated", message=message)
            settled.append(replace(proven, reason=None, evaluating=False))
        # else it hangs on contents, which is said of the access itself
    return settled


def _seen(
    bound: BoundCall, verdict: Verdict, where: tuple[int, int, tuple[int, ...], int, int]
) -> Verdict:
    linear, iteration, lane, ideal, actual = where
    message = (
        f"{verdict.expression} is {ideal:,}, more than its type holds, and wraps around to "
        f"{actual:,}; memory accesses depend on it"
    )
    return replace(
        verdict,
        verdict="violation",
        message=message,
        method="evaluated",
        reason=None,
        evaluating=False,
        program=program_at(linear, bound.call.grid),
        iteration=iteration,
        lane=lane,
    )
