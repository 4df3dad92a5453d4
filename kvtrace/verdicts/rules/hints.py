"""The rule wrong-hint: a kernel's promise to the compiler is broken by arguments of the call.

Promises are the signature's divisibility (arguments for which the kernel was specialized),
`tl.multiple_of`, `tl.max_contiguous`, `tl.max_constancy`, and `tl.assume`. Nothing checks promises,
and a broken promise gives wrong code. Triton's axis analysis defines the first four
(include/triton/Analysis/AxisInfo.h): along an axis, elements come in groups of `contiguity` that
count upwards by one, the first of each group is a multiple of `divisibility`, and groups of
`constancy` are all equal. Divisibility of pointers counts bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np

from kvtrace.evaluate import ScalarArgument, TensorArgument
from kvtrace.ir import Op, Value
from kvtrace.symbolic.conditions import Condition, equal
from kvtrace.symbolic.expressions import value_expression
from kvtrace.symbolic.functions import remainder
from kvtrace.symbolic.prover import Proven, Refuted
from kvtrace.symbolic.summary import Assertion, Hint, Place
from kvtrace.symbolic.terms import Substitution, Symbol, Term, lane
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.replaying import NOT_REPRODUCED
from kvtrace.verdicts.rules.watched_values import Test, ValueWatch, evaluated
from kvtrace.verdicts.unknown_fields import RULE_FIELDS, unknown_text
from kvtrace.verdicts.verdict import Verdict

RULE: Final = "wrong-hint"
_STORAGE_ALIGNMENT: Final = 256
"""Assumed alignment of storages, in bytes."""
_SHARED_ALIGNMENT: Final = 16
"""Bytes modulo which the launches of one call have equal pointers (`capture/_hot_key.h`)."""


def judge(bound: BoundCall) -> Iterable[Verdict]:
    """Yield the verdicts on a kernel's promises; on its arguments only violations."""
    for hint in bound.summary.hints:
        if hint.position is not None:
            yield from _judge_argument(bound, hint, hint.position)
        elif hint.term is not None:
            yield from _judge_value(bound, hint, hint.term)
    for assumption in bound.summary.assumptions:
        yield _judge_assumption(bound, assumption)


# -- arguments ----------------------------------------------------------------------------------


def _judge_argument(bound: BoundCall, hint: Hint, position: int) -> Iterator[Verdict]:
    """Yield the violation if an argument is not divisible by the number it was compiled for."""
    if hint.what != "divisibility" or hint.numbers[0] <= 0 or position >= len(bound.call.arguments):
        return
    argument, divisor = bound.call.arguments[position], hint.numbers[0]
    if isinstance(argument, ScalarArgument):
        if not isinstance(argument.value, int) or hint.argument is not None:
            return
        actual_value, unit = int(argument.value), ""
    else:
        assert isinstance(argument, TensorArgument)
        actual_value, unit, divisor = (
            argument.address,
            " bytes",
            min(divisor, _STORAGE_ALIGNMENT),
        )
    if actual_value % divisor == 0:
        # as nearly always: Triton specialized the kernel for this argument
        unknown = unknown_text(RULE_FIELDS[RULE], (argument,))
        if unknown and divisor > 1:
            subject = f"{argument.name} was compiled as a multiple of {divisor}{unit}"
            yield _unknown(bound, _place(hint), subject, unknown)
        return
    promise = f"{argument.name} a multiple of {divisor}{unit}"
    actual = f"{actual_value}{unit} into its storage" if unit else f"{actual_value}"
    if isinstance(argument, TensorArgument) and argument.storage_phase:
        actual = f"{actual_value % _SHARED_ALIGNMENT} bytes past one"
    message = f"the kernel was compiled for {promise}, but it is {actual}"
    yield bound.verdict(
        RULE, "violation", _place(hint), message, "interval", arg=argument.name, program=(0, 0, 0)
    )


def _place(hint: Hint) -> Place:
    return Place(hint.op, hint.guard, hint.loops, ())


# -- values -------------------------------------------------------------------------------------


def _judge_value(bound: BoundCall, hint: Hint, term: Term) -> Iterator[Verdict]:
    if hint.argument is not None:
        tensor = bound.call.tensor_at(hint.argument)
        if tensor is None:
            return
        term = term + tensor.address
    name = value_expression(hint.value, bound.summary)
    place = _place(hint)
    for axis, number in enumerate(hint.numbers):
        if number <= 1:
            continue
        claim, test = _claim_and_test(bound, hint, term, axis, number)
        axis_text = f" along axis {axis}" if len(hint.shape) > 1 else ""
        promise = {
            "divisibility": f"multiples of {number}",
            "contiguity": f"groups of {number} that count upwards",
            "constancy": f"groups of {number} equal elements",
        }[hint.what]
        subject = f"{name} is declared as {promise}{axis_text}"
        verdict = _judge_promise(bound, place, claim, subject, hint.value, test)
        depends_on_start = hint.argument is not None and hint.what == "divisibility"
        if verdict.verdict == "proven" and depends_on_start and number > _SHARED_ALIGNMENT:
            shared = f"modulo {_SHARED_ALIGNMENT} bytes"
            reason = f"the addresses of a call's launches are known to be alike only {shared}"
            verdict = _unknown(bound, place, subject, reason)
        elif verdict.verdict == "proven" and depends_on_start:
            missing = unknown_text(
                RULE_FIELDS[RULE], bound.call.arguments[hint.argument or 0 :][:1]
            )
            verdict = verdict if missing is None else _unknown(bound, place, subject, missing)
        yield verdict


def _claim_and_test(
    bound: BoundCall, hint: Hint, term: Term, axis: int, number: int
) -> tuple[Condition, Test]:
    """Return a hint's promise along an axis, and a test that marks numbers that break it."""
    unit = hint.element_bytes or 1
    tensor = bound.call.tensor_at(hint.argument)
    start_bytes = 0 if tensor is None else tensor.address
    extent = hint.shape[axis] if axis < len(hint.shape) else 1
    place = lane(axis, extent)
    if hint.what == "divisibility":
        group_length = min(_group_length(bound, hint, term, axis, unit), extent)
        is_multiple = equal(remainder(term, number, floor=True))
        is_group_start = equal(remainder(place, group_length, floor=True))

        def indivisible(numbers: Any) -> Any:
            group_starts = _axis_index(numbers, axis) % group_length == 0
            return ((numbers + start_bytes) % number != 0) & group_starts

        return ~is_group_start | is_multiple, indivisible
    step = unit if hint.what == "contiguity" else 0
    if extent == 1:
        return equal(Term({}), 0), lambda numbers: np.zeros(numbers.shape, bool)
    symbol = Symbol("lane", axis, 0, extent - 1)
    previous = Substitution({symbol: place - 1})(term)
    is_inner = ~equal(remainder(place, number, floor=True))

    def uneven(numbers: Any) -> Any:
        numbers = numbers.astype(np.int64) if numbers.dtype == np.bool_ else numbers  # a mask
        rest = _axis_index(numbers, axis) % number != 0
        return (numbers - np.roll(numbers, 1, axis + 1) != step) & rest

    return ~is_inner | equal(term - previous - step), uneven


def _axis_index(numbers: Any, axis: int) -> Any:
    """Return each lane's index along an axis, to broadcast against (programs, *block)."""
    if numbers.ndim <= axis + 1:
        return np.zeros((1,) * numbers.ndim, np.int64)
    shape = [1] * numbers.ndim
    shape[axis + 1] = numbers.shape[axis + 1]
    return np.arange(numbers.shape[axis + 1]).reshape(shape)


def _group_length(bound: BoundCall, hint: Hint, term: Term, axis: int, unit: int) -> int:
    """Return the length of ascending groups that another hint promises, or that the term has."""
    for other_hint in bound.summary.hints:
        if (
            other_hint.value is hint.value
            and other_hint.what == "contiguity"
            and axis < len(other_hint.numbers)
        ):
            return max(other_hint.numbers[axis], 1)
    if axis >= len(hint.shape):
        return 1
    symbol = Symbol("lane", axis, 0, max(hint.shape[axis] - 1, 0))
    form = term.affine()
    if form is None or form[1].get(symbol) != unit:
        return 1
    is_separate = all(atom is symbol or symbol not in atom.within() for atom in term.atoms())
    return hint.shape[axis] if is_separate else 1


# -- assumptions --------------------------------------------------------------------------------


def _judge_assumption(bound: BoundCall, assumption: Assertion) -> Verdict:
    value = assumption.op.operand("condition")
    subject = f"{value_expression(value, bound.summary)} is assumed"
    return _judge_promise(bound, assumption, assumption.condition, subject, value, np.logical_not)


def _judge_promise(
    bound: BoundCall, place: Place, claim: Condition, subject: str, value: Value, test: Test
) -> Verdict:
    """Return the verdict on a promise; a counterexample is replayed."""
    given = bound.given(place)
    if bound.is_unreached(place, given):
        return _proven(bound, place, f"{subject}; no program reaches it", "interval")
    if bound.may_wrap(place) is not None:
        return _unknown(bound, place, subject, "arithmetic that it depends on may overflow")
    decision = bound.prove(claim, given)
    if isinstance(decision, Proven):
        return _proven(bound, place, f"{subject}, and this holds", decision.method)
    if not isinstance(decision, Refuted):
        return _unknown(bound, place, subject, decision.reason)
    doubts = bound.doubts(decision.model)
    if doubts:
        return _unknown(bound, place, subject, doubts.reason)
    op = value.owner if isinstance(value.owner, Op) else place.op
    watch = ValueWatch(op, value, test)
    failure = evaluated(bound, watch, (bound.program_of(decision.model),))
    if watch.witness is None:
        reason = f"{NOT_REPRODUCED} ({failure})" if failure else NOT_REPRODUCED
        return _unknown(bound, place, subject, reason)
    actual = "does not hold" if test is np.logical_not else f"an element is {watch.number}"
    message = f"{subject}, but {actual}"
    return bound.verdict(RULE, "violation", place, message, decision.method).at(watch.witness)


def _proven(bound: BoundCall, place: Place, message: str, method: str) -> Verdict:
    return bound.verdict(RULE, "proven", place, message, method)


def _unknown(bound: BoundCall, place: Place, subject: str, reason: str) -> Verdict:
    message = f"{subject}; whether this holds could not be decided: {reason}"
    return bound.verdict(RULE, "unknown", place, message, reason=reason)
