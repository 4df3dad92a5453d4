"""Verdicts on launches by formulas, without a run: at other sizes, and on recorded calls.

If a recorded call's numbers satisfy the condition of an access, the access is inside, by the
condition's proof. All other accesses (the numbers violate it, or there is no condition) are judged
by the rules out-of-bounds, out-of-view and overflow, as in every call: a violation has a witness
that was run. So a condition that is too strict causes no false positive.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import product
from typing import Final, Literal

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.evaluate.grid_limits import grid_problem
from kvtrace.ir.types import integer_bits
from kvtrace.recorded_calls.recorded import Call
from kvtrace.symbolic.terms import Symbol, signed_range
from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.binding import BoundCall, Budget
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.sizes.condition import AccessCondition, conditions_of, extent
from kvtrace.verdicts.sizes.launch_numbers import (
    Ambiguous,
    Number,
    Numbers,
    call_with,
    holds_at,
    launch_at,
)
from kvtrace.verdicts.sizes.relations import Relations
from kvtrace.verdicts.sizes.sized_claims import (
    ENDLESS,
    NOT_COVERED,
    ending_loops,
    is_defined,
    rules_of_sizes,
    uncertain_values,
)
from kvtrace.verdicts.sizes.unwritten import Gap, gap_at, growing_outputs, wholly_written
from kvtrace.verdicts.sizes.wraps import is_refuted
from kvtrace.verdicts.verdict import Verdict

Limit = Literal["grid", "argument", "constants"]
_VIOLATION: Final = 4

#: No grid is evaluated: production sizes have too many programs.
_BUDGET = Budget(lanes=0, replay_lanes=0)


class AtSize(Struct, frozen=True):
    """The verdicts on a launch at a size that was not recorded.

    `limit` is the reason why this variant has no such launch, `reason` why the launch was not
    judged. `along` names the numbers that grow with the size, and `base` the other sizes if
    recorded launches differ in them: those of the launch with the worst verdicts.
    """

    along: tuple[str, ...] = ()
    limit: str | None = None
    verdicts: tuple[Verdict, ...] = ()
    reason: str | None = None
    base: str = ""


def at_worst(relations: Relations, sizes: Mapping[str, int], calls: Sequence[Call]) -> AtSize:
    """Judge launches at given sizes, the other sizes being those of each of some recorded launches.

    Returns the worst: one with a violation, one that was not judged, one with an unknown verdict.
    """
    others = [n for n in relations.sizes if relations.name(n) not in sizes]
    different: dict[tuple[int, ...], Relations] = {}
    for base in (relations.of(call) for call in calls):
        if base.base.keys() == relations.base.keys():
            different.setdefault(tuple(base.base[n] for n in others), base)
    judged: list[AtSize] = []
    outputs = wholly_written([base.call for base in different.values()], relations.outputs)
    for values, base in different.items():
        names = zip(map(relations.name, others), values, strict=True)
        text = ", ".join(f"{name} = {value:,}" for name, value in names)
        at = replace(at_size(base, sizes), base=text if len(different) > 1 else "")
        if at.limit is None and at.reason is None:
            at = replace(at, verdicts=(*at.verdicts, *_unwritten(base, outputs, sizes)))
        judged.append(at)
        if _gravity(judged[-1]) == _VIOLATION:
            break
    return max(judged, key=_gravity)


def _unwritten(
    relations: Relations, outputs: Iterable[int], sizes: Mapping[str, int]
) -> Iterator[Verdict]:
    """Yield a violation for an output that a launch at sizes does not write wholly."""
    size_of = {n: sizes[name] for name in sizes if (n := relations.number(name))}
    growing = growing_outputs(relations, outputs, size_of)
    gap = gap_at(relations, growing, size_of)
    if isinstance(gap, Gap):
        yield Verdict("unwritten", "violation", gap.op, gap.text)


def _gravity(judged: AtSize) -> int:
    verdicts = {verdict.verdict for verdict in judged.verdicts}
    signs = judged.limit is None, "unknown" in verdicts, judged.reason, "violation" in verdicts
    return max((place for place, sign in enumerate(signs, start=1) if sign), default=0)


def at_size(
    relations: Relations, sizes: Mapping[str, int], rules: Sequence[str] | None = None
) -> AtSize:
    """Judge a launch at other sizes by formulas; numbers that depend on a size change with it.

    Args:
        relations: the relations of the recorded launches of a variant.
        sizes: values by the name of a scalar, an extent ("x.shape[0]") or an axis ("grid_x").
        rules: ids of the rules to judge by; None: all that a size may break.

    """
    size_of = {n: sizes[name] for name in sizes if (n := relations.number(name))}
    for number, size in list(size_of.items()):
        formula = relations.follows(number)
        if formula is None:
            continue
        equal = relations.number(formula)
        if equal is not None and size_of.get(equal, size) == size:
            size_of[equal] = size_of.pop(number)
        else:
            name = relations.name(number)
            return AtSize(reason=f"{name} was {formula}: it follows from that number")
    deciding = relations.deciding_numbers()
    others = (n for n in relations.base if n in deciding or n[0] == "shape")
    for other, given in product(others, size_of):
        reason = None if other in size_of else relations.unknown_growth(other, given)
        if reason is not None:
            return AtSize(reason=f"{reason}, or give both")
    try:
        numbers, at = launch_at(relations, size_of)
    except Ambiguous as error:
        return AtSize(reason=str(error))
    return _judged(relations, at.along, numbers, rules)


def _judged(
    relations: Relations, along: tuple[str, ...], numbers: Numbers, rules: Sequence[str] | None
) -> AtSize:
    """Judge a launch with given numbers."""
    call = call_with(relations.call, numbers)
    limit = limit_of(relations, numbers)
    if limit is not None and limit[0] in ("grid", "argument"):
        return AtSize(along, limit[1])
    verdicts = judge(call, rules_of_sizes() if rules is None else rules, _BUDGET)
    respecialized = _respecialized(relations, numbers)
    verdicts = [v for v in verdicts if v.rule != "wrong-hint" or v.arg not in respecialized]
    limits = ([] if limit is None else [limit[1]]) + list(respecialized.values())
    verdicts += (*_uncertain_values(call), *_endless_loops(call))
    return AtSize(along, ", and ".join(limits) or None, tuple(verdicts))


def _endless_loops(call: Call) -> Iterator[Verdict]:
    """Yield a violation for each `while` loop that surely never ends."""
    bound = BoundCall(call, (), _BUDGET)
    for loop, progress in ending_loops(call.module):
        if is_refuted(bound, progress, bound.given_of([])):
            yield Verdict("overflow", "violation", loop.op, ENDLESS)


def _uncertain_values(call: Call) -> Iterator[Verdict]:
    """Yield an unknown verdict for each op that feeds an access and may have another value."""
    bound = BoundCall(call, (), _BUDGET)
    for _, reason, op, place, condition in uncertain_values(call.module):
        if not is_defined(place, condition, bound):
            yield Verdict("out-of-bounds", "unknown", op, f"undefined: {reason}", reason=reason)


def _respecialized(relations: Relations, numbers: Mapping[Number, int]) -> dict[str, str]:
    """Return, by scalar, a message if the divisor of this variant does not divide the new value."""
    reasons = {}
    for hint in summarize(relations.call.module).hints:
        if hint.position is None or hint.argument is not None or hint.what != "divisibility":
            continue
        value, divisor = numbers.get(("scalar", hint.position, 0)), hint.numbers[0]
        if value is not None and divisor > 0 and value % divisor:
            name = relations.call.arguments[hint.position].name
            reasons[name] = (
                f"{name} is {value:,}, not a multiple of {divisor}: Triton compiles another variant"
            )
    return reasons


# -- limits of a launch ---------------------------------------------------------------------------


def limit_of(relations: Relations, numbers: Mapping[Number, int]) -> tuple[Limit, str] | None:
    """Return the kind and reason why this variant has no launch with these numbers, or None."""
    refusal = refusal_of(relations, numbers)
    if refusal is not None:
        return refusal
    for condition in (c for access in conditions_of(relations.call.module) for c in access.reach):
        if relations.always_holds(condition) and holds_at(condition, numbers) is False:
            return "constants", NOT_COVERED
    return None


def refusal_of(relations: Relations, numbers: Mapping[Number, int]) -> tuple[Limit, str] | None:
    """Return why no launch, or only another variant, can have these numbers, or None."""
    x, y, z = (numbers["grid", axis, 0] for axis in range(3))
    is_hip = relations.call.module.target.startswith("hip")
    problem = grid_problem((x, y, z), "hip" if is_hip else "cuda")
    if problem is not None:
        return "grid", problem
    parameters = relations.call.module.main.arguments
    for number, value in numbers.items():
        if number[0] == "shape" and value < 0:
            return "argument", f"{relations.name(number)} is {value:,}, and no extent is negative"
        if number[0] != "scalar" or value == relations.base[number]:
            continue
        low, high = signed_range(bits := integer_bits(parameters[number[1]].type) or 64)
        if not low <= value <= high:
            return (
                "argument",
                f"{relations.name(number)} no longer fits into {bits} bits: Triton compiles again",
            )
    return None


# -- recorded calls -------------------------------------------------------------------------------

Standing = Literal["inside", "outside", "open"]
RULES: Final = ("out-of-bounds", "out-of-view", "overflow")


class ComparedAccess(Struct, frozen=True):
    """An access of a call compared with its condition: inside, outside or open (for `reason`).

    If it violates an exact condition, the access leaves its tensor; else it may.
    `reaches`: the grid and its blocks cover all elements that a store's mask admits.
    """

    condition: AccessCondition
    standing: Standing
    reason: str | None = None
    reaches: bool = True


def compared_accesses(call: Call) -> tuple[ComparedAccess, ...]:
    """Compare a call's numbers with the condition of each access, without further proofs.

    Raises:
        NoKernel: the call's module has no function to run.

    """
    numbers = _CallNumbers(call)
    return tuple(numbers.compared(condition) for condition in conditions_of(call.module))


def judge_others(call: Call, accesses: tuple[ComparedAccess, ...]) -> tuple[Verdict, ...]:
    """Return the verdicts on the ops that are not inside by their conditions, and on overflows.

    Overflows are included since a wrapped address may lie inside.
    """
    ops = {access.condition.op.index for access in accesses if access.standing != "inside"}
    if not ops:
        return ()
    return tuple(
        verdict
        for verdict in judge(call, RULES)
        if verdict.op.index in ops or (verdict.rule == "overflow" and verdict.verdict != "proven")
    )


class _CallNumbers:
    """The scalars and grid of a call, and its tensors' extents in bytes."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._ranges = BoundCall(call).ranges

    def compared(self, access: AccessCondition) -> ComparedAccess:
        """Compare the call's numbers with the condition of one access."""
        if not all(self._call.grid):
            return ComparedAccess(access, "inside")
        if access.condition is None:
            return ComparedAccess(access, "open", access.reason)
        numbers: dict[Symbol, int] = {}
        for symbol in access.symbols:
            number = self._number(symbol)
            if number is None:
                reason = "a number in its condition was not recorded"
                return ComparedAccess(access, "open", reason)
            numbers[symbol] = number
        for symbol, minimum in access.assumptions:
            number = self._number(symbol)
            if number is None or number < minimum:
                return ComparedAccess(
                    access, "open", "the call violates the condition's assumptions"
                )
        if not all(width.value(numbers) for width in access.widths):
            return ComparedAccess(access, "open", "the arithmetic of the address may overflow")
        reaches = all(condition.value(numbers) for condition in access.reach)
        standing: Standing = "inside" if access.condition.value(numbers) else "outside"
        return ComparedAccess(access, standing, reaches=reaches)

    def _number(self, symbol: Symbol) -> int | None:
        position = symbol.key[0] if isinstance(symbol.key, tuple) else None
        if position is not None and symbol == extent(position):
            tensor = self._call.tensor_at(position)
            if tensor is None:
                return None
            return max(0, min(tensor.view_bytes[1], tensor.storage_bytes[1]))
        low, high = self._ranges.of(
            Symbol(symbol.kind, symbol.key, -(1 << 64), 1 << 64)  # without its assumptions
        )
        return low if low == high else None
