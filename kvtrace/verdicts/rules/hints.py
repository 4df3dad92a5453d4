"""The rule wrong-hint: a kernel's promises to the compiler hold for the arguments of the call.

Promises are the signature's divisibility (arguments for which the kernel was specialized),
`tl.multiple_of`, `tl.max_contiguous`, `tl.max_constancy`, and `tl.assume`. Nothing checks promises,
and a broken promise gives wrong code. Triton's axis analysis defines the first four
(include/triton/Analysis/AxisInfo.h): along an axis, elements come in groups of `contiguity` that
count upwards by one, the first of each group is a multiple of `divisibility`, and groups of
`constancy` are all equal. Divisibility of pointers counts bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from kvtrace.evaluate import ScalarArgument, TensorArgument
from kvtrace.ir import Op
from kvtrace.symbolic.conditions import Condition, equal
from kvtrace.symbolic.expressions import value_expression
from kvtrace.symbolic.functions import remainder
from kvtrace.symbolic.prover import Decision, Proven, Refuted
from kvtrace.symbolic.summary import Assertion, Hint, Place
from kvtrace.symbolic.terms import Substitution, Symbol, Term, lane
from kvtrace.verdicts.replaying import NOT_REPRODUCED
from kvtrace.verdicts.rules.watched_values import Test, ValueWatch, evaluated
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.ir import Value
    from kvtrace.verdicts.binding import BoundCall

RULE: Final = "wrong-hint"
_ALIGNED: Final = 256
"""Storages are assumed to start at multiples of so many bytes."""


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Yield verdicts on a kernel's promises; on arguments only violations."""
    for hint in bound.summary.hints:
        if hint.position is not None:
            yield from _of_argument(bound, hint, hint.position)
        elif hint.term is not None:
            yield from _of_value(bound, hint, hint.term)
    for assumption in bound.summary.assumptions:
        yield _of_assumption(bound, assumption)


# -- arguments ----------------------------------------------------------------------------------


def _of_argument(bound: BoundCall, hint: Hint, position: int) -> Iterator[Verdict]:
    """Yield a violation if an argument's number breaks the divisibility it was compiled for."""
    if hint.what != "divisibility" or hint.numbers[0] <= 0 or position >= len(bound.call.arguments):
        return
    argument, number = bound.call.arguments[position], hint.numbers[0]
    if isinstance(argument, ScalarArgument):
        if not isinstance(argument.value, int) or hint.argument is not None:
            return
        value, unit = int(argument.value), ""
    else:
        assert isinstance(argument, TensorArgument)
        value, unit, number = argument.offset_bytes, " bytes", min(number, _ALIGNED)
    if value % number == 0:
        return  # as nearly always: Triton specialized the kernel for this argument
    what = f"{argument.name} a multiple of {number}{unit}"
    actual = f"{value}{unit} into its storage" if unit else f"{value}"
    message = f"the kernel was compiled for {what}, but it is {actual}"
    program = (0, 0, 0)
    yield Verdict(
        RULE, "violation", hint.op, message, "interval", arg=argument.name, program=program
    )


# -- values -------------------------------------------------------------------------------------


def _of_value(bound: BoundCall, hint: Hint, term: Term) -> Iterator[Verdict]:
    if hint.argument is not None:
        argument = bound.call.arguments[hint.argument]
        if not isinstance(argument, TensorArgument):
            return
        term = term + argument.offset_bytes
    name = value_expression(hint.value, bound.summary)
    place = Place(hint.op, hint.guard, hint.loops, ())
    for axis, number in enumerate(hint.numbers):
        if number <= 1:
            continue
        claim, test = _claim(bound, hint, term, axis, number)
        along = f" along axis {axis}" if len(hint.shape) > 1 else ""
        words = {
            "divisibility": f"multiples of {number}",
            "contiguity": f"groups of {number} that count upwards",
            "constancy": f"groups of {number} equal elements",
        }[hint.what]
        what = f"{name} is declared as {words}{along}"
        yield _decided(bound, place, claim, what, hint.value, test)


def _claim(
    bound: BoundCall, hint: Hint, term: Term, axis: int, number: int
) -> tuple[Condition, Test]:
    """Return a hint's promise along an axis, and a function that marks numbers that break it."""
    unit = hint.element_bytes or 1
    start = 0
    if hint.argument is not None:
        argument = bound.call.arguments[hint.argument]
        start = argument.offset_bytes if isinstance(argument, TensorArgument) else 0
    extent = hint.shape[axis] if axis < len(hint.shape) else 1
    place = lane(axis, extent)
    if hint.what == "divisibility":
        group = min(_group_of(bound, hint, term, axis, unit), extent)
        multiple = equal(remainder(term, number, floor=True))
        first = equal(remainder(place, group, floor=True))

        def indivisible(numbers: Any) -> Any:
            heads = _along(numbers, axis) % group == 0
            return ((numbers + start) % number != 0) & heads

        return ~first | multiple, indivisible
    step = unit if hint.what == "contiguity" else 0
    if extent == 1:
        return equal(Term({}), 0), lambda numbers: np.zeros(numbers.shape, bool)
    symbol = Symbol("lane", axis, 0, extent - 1)
    before = Substitution({symbol: place - 1})(term)
    inner = ~equal(remainder(place, number, floor=True))

    def uneven(numbers: Any) -> Any:
        numbers = numbers.astype(np.int64) if numbers.dtype == np.bool_ else numbers  # a mask
        rest = _along(numbers, axis) % number != 0
        return (numbers - np.roll(numbers, 1, axis + 1) != step) & rest

    return ~inner | equal(term - before - step), uneven


def _along(numbers: Any, axis: int) -> Any:
    """Return the index along a lane axis, to broadcast against (programs, *block)."""
    if numbers.ndim <= axis + 1:
        return np.zeros((1,) * numbers.ndim, np.int64)
    shape = [1] * numbers.ndim
    shape[axis + 1] = numbers.shape[axis + 1]
    return np.arange(numbers.shape[axis + 1]).reshape(shape)


def _group_of(bound: BoundCall, hint: Hint, term: Term, axis: int, unit: int) -> int:
    """Return the length of groups that count upwards: as another hint promises, or by the term."""
    for other in bound.summary.hints:
        if other.value is hint.value and other.what == "contiguity" and axis < len(other.numbers):
            return max(other.numbers[axis], 1)
    if axis >= len(hint.shape):
        return 1
    symbol = Symbol("lane", axis, 0, max(hint.shape[axis] - 1, 0))
    form = term.affine()
    if form is None or form[1].get(symbol) != unit:
        return 1
    alone = all(atom is symbol or symbol not in atom.within() for atom in term.atoms())
    return hint.shape[axis] if alone else 1


# -- assumptions --------------------------------------------------------------------------------


def _of_assumption(bound: BoundCall, assumption: Assertion) -> Verdict:
    value = assumption.op.operand("condition")
    what = f"{value_expression(value, bound.summary)} is assumed"
    return _decided(bound, assumption, assumption.condition, what, value, np.logical_not)


def _decided(
    bound: BoundCall, place: Place, claim: Condition, what: str, value: Value, test: Test
) -> Verdict:
    """Return the verdict on a promise; a counterexample is run."""
    given = bound.given(place)
    if bound.is_unreached(place, given):
        return _verdict("proven", place.op, f"{what}; no program reaches it", "interval")
    if bound.may_wrap(place) is not None:
        reason = "arithmetic that it depends on may overflow"
        return _unknown(place.op, what, reason)
    decision = bound.prove(claim, given)
    if isinstance(decision, Proven):
        return _verdict("proven", place.op, f"{what}, and this holds", decision.method, decision)
    if not isinstance(decision, Refuted):
        return _unknown(place.op, what, decision.reason, decision)
    doubts = bound.doubts(decision.model)
    if doubts:
        return _unknown(place.op, what, doubts.reason, decision)
    maker = value.owner if isinstance(value.owner, Op) else place.op
    watch = ValueWatch(maker, value, test)
    failure = evaluated(bound, watch, (bound.program_of(decision.model),))
    sighting = watch.sighting
    if sighting is None:
        reason = f"{NOT_REPRODUCED} ({failure})" if failure else NOT_REPRODUCED
        return _unknown(place.op, what, reason, decision)
    actual = "does not hold" if test is np.logical_not else f"an element is {sighting.number}"
    return Verdict(
        RULE,
        "violation",
        place.op,
        f"{what}, but {actual}",
        decision.method,
        program=sighting.program,
        iteration=sighting.iteration,
        lane=sighting.lane,
        solver_ns=decision.solver_ns or None,
    )


def _verdict(
    answer: Any, op: Op, message: str, method: str, decision: Decision | None = None
) -> Verdict:
    solver_ns = None if decision is None else decision.solver_ns or None
    return Verdict(RULE, answer, op, message, method, solver_ns=solver_ns)


def _unknown(op: Op, what: str, reason: str, decision: Decision | None = None) -> Verdict:
    solver_ns = None if decision is None else decision.solver_ns or None
    message = f"{what}; whether this holds could not be decided: {reason}"
    return Verdict(RULE, "unknown", op, message, reason=reason, solver_ns=solver_ns)
