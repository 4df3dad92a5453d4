"""Calls compared with the conditions of their kernel: inside, or judged by themselves.

A call whose numbers satisfy the condition of an access has it inside, by the condition's proof.
What is not shown that way (the numbers are outside, or there is no condition) is judged as every
call is, by the rules out-of-bounds, out-of-view and overflow: a violation has a witness that was
run. So a condition that asks for more than it must is never an alarm by itself.
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
class HeldAgainst:
    """One access of a call: inside by its condition, outside of it, or open, and why.

    Outside of an exact condition the access leaves its tensor; outside of another it may.
    `reaches`: of a store, that the grid and its blocks go as far as its mask.
    """

    condition: AccessCondition
    standing: Standing
    reason: str | None = None
    reaches: bool = True


def held_against(call: Call) -> tuple[HeldAgainst, ...]:
    """Hold a call against the condition of each access, without deciding anything again.

    Raises:
        NoKernel: the call's module has no function to run.

    """
    numbers = _Numbers(call)
    return tuple(numbers.standing(found) for found in conditions_of(call.module))


def judged(
    call: Call, held: tuple[HeldAgainst, ...], budget: Budget | None = None
) -> tuple[Verdict, ...]:
    """Return the verdicts of ops that the conditions do not show to be inside.

    An address that wraps around may lie inside: so the arithmetic of the call is judged with them.
    """
    ops = {each.condition.op.index for each in held if each.standing != "inside"}
    if not ops:
        return ()
    return tuple(
        verdict
        for verdict in judge(call, RULES, budget)
        if verdict.op.index in ops or (verdict.rule == "overflow" and verdict.verdict != "proven")
    )


class _Numbers:
    """The numbers of a call: its scalars, its grid, and how far its tensors' views extend."""

    def __init__(self, call: Call) -> None:
        self._call = call
        self._ranges = BoundCall(call).ranges

    def standing(self, found: AccessCondition) -> HeldAgainst:
        """Hold the call against one condition."""
        if not all(self._call.grid):
            return HeldAgainst(found, "inside")
        if found.condition is None:
            return HeldAgainst(found, "open", found.reason)
        numbers: dict[Symbol, int] = {}
        for symbol in found.symbols:
            number = self._number(symbol)
            if number is None:
                return HeldAgainst(found, "open", "a number that it depends on was not recorded")
            numbers[symbol] = number
        for symbol, least in found.assumptions:
            number = self._number(symbol)
            if number is None or number < least:
                return HeldAgainst(found, "open", "it is not as assumed: see the assumptions")
        if not all(width.value(numbers) for width in found.widths):
            return HeldAgainst(found, "open", "arithmetic may leave its width")
        reaches = all(condition.value(numbers) for condition in found.reach)
        standing: Standing = "inside" if found.condition.value(numbers) else "outside"
        return HeldAgainst(found, standing, reaches=reaches)

    def _number(self, symbol: Symbol) -> int | None:
        position = symbol.key[0] if isinstance(symbol.key, tuple) else None
        if position is not None and symbol == extent(position):
            tensor = self._call.arguments[position]
            if not isinstance(tensor, TensorArgument):
                return None
            return max(0, min(tensor.view_bytes[1], tensor.storage_bytes[1]))
        low, high = self._ranges.of(
            Symbol(symbol.kind, symbol.key, -(1 << 64), 1 << 64)  # whatever is assumed of it
        )
        return low if low == high else None
