"""Rows of the size envelope, and how a row's integers are decided to wrap around, or not."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Literal

from kvtrace.symbolic.conditions import Opaque
from kvtrace.symbolic.decide import Proven, Refuted, decide_given, prove
from kvtrace.symbolic.expressions import operation_expression
from kvtrace.symbolic.linear import Interval
from kvtrace.symbolic.summary import Arithmetic
from kvtrace.symbolic.terms import Symbol
from kvtrace.symbolic.walk import summarise
from kvtrace.verdicts.binding import BoundCall, Budget
from kvtrace.verdicts.growth import Relations
from kvtrace.verdicts.ideal import followed
from kvtrace.verdicts.widths import Use

if TYPE_CHECKING:
    from kvtrace.calls.recorded import Call
    from kvtrace.ir import Op

Kind = Literal["overflow", "tensor", "grid", "argument", "constants", "none", "unknown"]

#: Sizes beyond are not looked at: no memory has as many bytes.
MOST: Final = 1 << 48
#: After so long a row is unknown.
SECONDS_A_ROW: Final = 2.0
_SECONDS: Final = 0.2
BUDGET: Final = Budget(solver_seconds=_SECONDS, solver_seconds_a_call=1.0, lanes=0)

#: What running a program to show a wrap may take.
_MOST_LANES: Final = 1 << 18
_MOST_RUNS: Final = 3
TOO_LONG: Final = f"it was not decided within {SECONDS_A_ROW:g} s"

Supposed = Mapping[tuple[str, Any], Interval]


@dataclass(frozen=True)
class Row:
    """One quantity of a kernel, and where it ends.

    Attributes:
        quantity: its name; of an index tensor, "values of NAME".
        recorded: its (greatest) recorded value.
        kind: what ends it: an overflow; a tensor that is left; the grid's limit; an argument that
            no longer fits its type, so that the kernel is compiled anew; constants (a block no
            longer covers it); nothing up to `MOST`; or it is unknown, for `reason`.
        first_bad: the first value that is not fine, or, by an argument or constants, no longer this
            variant's; None where there is none, or it is unknown.
        what: what happens there, in words.
        op: the access, and `expression` the arithmetic that wraps around.
        contract: under which values it is fine.
        along: what was taken to grow along, and what was taken to stay.
        below: "all" if all sizes below were proven at once, "last" if the one before was.

    """

    quantity: str
    recorded: int
    kind: Kind
    first_bad: int | None = None
    what: str = ""
    op: Op | None = None
    expression: str | None = None
    contract: str | None = None
    along: tuple[str, ...] = ()
    below: Literal["all", "last"] | None = None
    reason: str | None = None


@dataclass(frozen=True)
class Found:
    """Uses of a launch that wrap around, with a program, and those of which it is not known."""

    wrapping: tuple[tuple[Use, int], ...]
    open: tuple[tuple[Op, str], ...]


class Spent(Exception):
    """A row took too long; never leaves this file."""


class Clock:
    """What is left of the time for one row."""

    def __init__(self) -> None:
        self._end = time.monotonic() + SECONDS_A_ROW

    def left(self) -> float:
        """Return what the solver may take for one claim.

        Raises:
            Spent: nothing is left.

        """
        left = self._end - time.monotonic()
        if left <= 0:
            raise Spent
        return min(left, _SECONDS)


def judged(
    call: Call, supposed: Supposed, all_uses: Sequence[Use], clock: Clock, *, one: bool
) -> Found:
    """Decide each use of a launch; `one`: stop at the first that wraps around."""
    bound = BoundCall(call, (), BUDGET, supposed)
    wrapping: list[tuple[Use, int]] = []
    undecided: list[tuple[Op, str]] = []
    for use in all_uses:
        clock.left()
        given = bound.active(use.access) if use.exact_lanes else bound.given(use.place)
        if given.is_impossible or prove(use.fits, given) is not None:
            continue
        decision = decide_given(use.right, given, budget=clock.left(), order=bound.order)
        if isinstance(decision, Proven):
            continue
        if isinstance(decision, Refuted):
            doubts = doubts_of(bound, decision, supposed)
            if not doubts:
                wrapping.append((use, bound.program_of(decision.model)))
                if one:
                    break
                continue
            undecided.append((use.access.op, bound.described_doubts(decision.model)))
        else:
            undecided.append((use.access.op, decision.reason))
    undecided += [
        (access.op, "it is computed in a function that is called")
        for access in bound.summary.accesses
        if access.calls and bound.may_wrap(access) is not None
    ]
    return Found(tuple(wrapping), tuple(undecided))


def doubts_of(bound: BoundCall, refuted: Refuted, supposed: Supposed) -> list[Symbol | Opaque]:
    """Return what a counterexample rests on besides the launch, and ranges that the row names."""
    return [
        key
        for key in bound.doubts(refuted.model)
        if isinstance(key, Opaque) or (key.kind, key.key) not in supposed
    ]


def first_where(holds: Callable[[int], bool], low: int, high: int) -> int:
    """Return the first value above `low` where something holds; it does at `high`."""
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def shown_by(call: Call | None, found: Found) -> Use | str:
    """Run programs of a launch that wrap around; give the first use that shows, or why none does.

    A run that is too long, or a launch that is too large to be made (None), shows nothing, and what
    was decided stands.
    """
    if call is None:
        return found.wrapping[0][0]
    for use, program in found.wrapping[:_MOST_RUNS]:
        seen, failure = followed(call, (program,), _MOST_LANES)
        op = use.arithmetic.op.index
        if not seen.shown.keys().isdisjoint(seen.reached.get(op, set()) | {op}):
            return use
        if failure is not None:
            return use
    return "what was decided to wrap around did not show when it was run"


def wraps_of(relations: Relations, use: Use) -> tuple[str, str]:
    """Return what happens, and the expression that leaves its width."""
    arithmetic: Arithmetic = use.arithmetic
    text = operation_expression(arithmetic.op, summarise(relations.call.module))
    argument = use.access.argument
    of = "" if argument is None else f" of {relations.call.arguments[argument].name}"
    decides = "" if use.purpose == "address" else f" (by its {use.purpose})"
    what = f"{text} leaves {arithmetic.bits} bits, for the {use.access.kind}{of}{decides}"
    return what, text


def contents_of(call: Call) -> dict[tuple[str, Any], Interval]:
    """Return the recorded range of what each load of integers gives, where it is known."""
    bound = BoundCall(call)
    symbols = {
        atom
        for access in bound.summary.accesses
        for part in (access.offset, access.active)
        for atom in part.atoms()
        if isinstance(atom, Symbol) and atom.kind == "content"
    }
    ranges = {(s.kind, s.key): bound.contents.range_of(s) for s in symbols}
    return {key: found for key, found in ranges.items() if found is not None}
