"""Comparison of recorded calls with their kernel's conditions; other accesses are judged.

If a call's numbers satisfy the condition of an access, the access is inside, by the condition's
proof. All other accesses (the numbers violate it, or there is no condition) are judged by the
rules out-of-bounds, out-of-view and overflow, as in every call: a violation has a witness that was
run. So a condition that is too strict causes no false positive.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal

from kvtrace.evaluate import TensorArgument
from kvtrace.symbolic.terms import Symbol
from kvtrace.verdicts.binding import BoundCall, Budget
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.sizes.condition import AccessCondition, conditions_of, extent
from kvtrace.verdicts.verdict import Verdict

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call

Standing = Literal["inside", "outside", "open"]
RULES: Final = ("out-of-bounds", "out-of-view", "overflow")


@dataclass(frozen=True, slots=True)
class ComparedAccess:
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


def judge_others(
    call: Call, accesses: tuple[ComparedAccess, ...], budget: Budget | None = None
) -> tuple[Verdict, ...]:
    """Return the verdicts on the ops that are not inside by their conditions, and on overflows.

    Overflows are included since a wrapped address may lie inside.
    """
    ops = {access.condition.op.index for access in accesses if access.standing != "inside"}
    if not ops:
        return ()
    return tuple(
        verdict
        for verdict in judge(call, RULES, budget)
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
            tensor = self._call.arguments[position]
            if not isinstance(tensor, TensorArgument):
                return None
            return max(0, min(tensor.view_bytes[1], tensor.storage_bytes[1]))
        low, high = self._ranges.of(
            Symbol(symbol.kind, symbol.key, -(1 << 64), 1 << 64)  # without its assumptions
        )
        return low if low == high else None
