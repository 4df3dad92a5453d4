"""Rows of the size envelope: up to where all claims are proven at once, and what ends it.

A range of sizes is fine only where every claim of every rule is proven for all of it: those that
the recorded launch breaks make that no range is. The first bad value is what comes after the
greatest proven one, and is shown by itself: a claim is refuted there, by a point that is checked
with exact integers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

from kvtrace.evaluate import TensorArgument
from kvtrace.ir import Module
from kvtrace.ir.memo import once_per_module
from kvtrace.symbolic.conditions import Opaque
from kvtrace.symbolic.expressions import operation_expression
from kvtrace.symbolic.prover import Interval, Refuted, prove
from kvtrace.symbolic.terms import Atom, Symbol
from kvtrace.symbolic.walk import summarise
from kvtrace.verdicts.binding import BoundCall, Budget
from kvtrace.verdicts.ideal import followed
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.sizes.sized import BUDGET, Sized, SizedCall, Spent
from kvtrace.verdicts.sizes.sized_claims import Claim, claims_of
from kvtrace.verdicts.verdict import Verdict
from kvtrace.verdicts.widths import Use

if TYPE_CHECKING:
    from kvtrace.ir import Op
    from kvtrace.recorded_calls.recorded import Call

Kind = Literal["overflow", "tensor", "rule", "grid", "argument", "constants", "none", "unknown"]

NOT_COVERED: Final = "the grid and the block size no longer cover every element"

#: After so long a row is unknown.
SECONDS_A_ROW: Final = 2.0

_FORMULAS: Final = Budget(lanes=0)

#: What running a program to show a wrap may take.
_MOST_LANES: Final = 1 << 18

Supposed = Mapping[tuple[str, Any], Interval]


@dataclass(frozen=True)
class Row:
    """One quantity of a kernel, and where it ends.

    Attributes:
        quantity: its name; of an index tensor, "values of NAME".
        recorded: its (greatest) recorded value.
        kind: what ends it: an overflow; a tensor that is left; another rule; the grid's limit; an
            argument that no longer fits its type, so that the kernel is compiled again; constants
            (a block no longer covers it); nothing up to `MOST`; or it is unknown, for `reason`.
        first_bad: the first value that is not fine, or, by an argument or constants, no longer this
            variant's; None where there is none, or it is unknown.
        what: what happens there.
        op: the access, and `expression` the arithmetic that wraps around.
        contract: for which values all rules are proven, if for any.
        along: what was assumed to grow along, and what to stay.
        basis: how many recorded launches that is assumed by.
        reason: why it is unknown, or why no value is promised to be fine.
        fine: both ends of the contract's values.
        last_bad: the greatest value below them that is bad, or, by constants, no longer this
            variant's; None where there is none, or it is unknown.
        below: what happens there, or why it is unknown what is below.
        below_kind: what ends the range there, as `kind` does above.

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
    basis: str = ""
    reason: str | None = None
    fine: Interval | None = None
    last_bad: int | None = None
    below: str = ""
    below_kind: Kind = "none"


@dataclass(frozen=True)
class Searched:
    """Up to where claims are proven.

    `low` to `high` is where all claims hold that hold as recorded; `broken` are the others.
    `limiting` is a claim that is not proven one further, None if none is, and `lowest` one that is
    not proven one below; `wrapping` is the first integer that may wrap around, with the greatest
    value at which it does not.
    """

    low: int
    high: int
    broken: tuple[Claim, ...]
    limiting: Claim | None
    wrapping: tuple[int, Claim] | None
    spent: bool
    lowest: Claim | None = None


IsBad = Callable[[Claim, int], bool]


def broken_of(sized: Sized, claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Return the claims that are not proven of what was recorded.

    Raises:
        Spent: the time is up before all were asked.

    """
    bounds = [sized.between(*sized.recorded, solving=solving) for solving in (False, True)]
    return tuple(c for c in claims if not any(c.holds(bound) for bound in bounds))


def searched(
    sized: Sized,
    claims: Sequence[Claim],
    broken: tuple[Claim, ...],
    limits: Interval,
    is_bad: IsBad,
) -> Searched:
    """Return the greatest range within `limits` in which all claims but the broken are proven.

    Where linear reasoning ends it at a value that `is_bad`, a solver is not asked for more. A claim
    that there is no time for ends it at what was recorded.
    """
    sound = [claim for claim in claims if claim not in broken]
    if broken:  # no range is promised, and what is left to say is where integers wrap around
        sound = [claim for claim in sound if claim.group == "overflow"]
    return _Search(sized, is_bad).found(sound, broken, limits)


class _Search:
    def __init__(self, sized: Sized, is_bad: IsBad) -> None:
        self._sized = sized
        self._is_bad = is_bad
        self._bound: dict[tuple[int, int, bool], SizedCall] = {}
        self._first, self._last = sized.recorded
        self._solving = False
        self.spent = False

    def found(
        self, sound: Sequence[Claim], broken: tuple[Claim, ...], limits: Interval
    ) -> Searched:
        low, high = min(limits[0], self._first), max(limits[1], self._last)
        limiting: Claim | None = None
        lowest: Claim | None = None
        wrapping: tuple[int, Claim] | None = None
        for claim in [each for each in sound if not self._holds(each, low, high)]:
            most = self._greatest(claim, high)
            if most < high:
                high, limiting = most, claim
                if claim.group == "overflow":
                    wrapping = (most, claim)
            least = self._lowest(claim, low)
            if least > low:
                low, lowest = least, claim
        return Searched(low, high, broken, limiting, wrapping, self.spent, lowest)

    def _holds(self, claim: Claim, low: int, high: int) -> bool:
        """Tell whether a claim is proven in a range; not where the time is up."""
        key = low, high, self._solving
        if key not in self._bound:
            self._bound[key] = self._sized.between(low, high, solving=self._solving)
        try:
            return claim.holds(self._bound[key])
        except Spent:
            self.spent = True
            return False

    def _by_solver(self, claim: Claim, low: int, high: int) -> bool:
        self._solving = True
        try:
            return self._holds(claim, low, high)
        finally:
            self._solving = False

    def _greatest(self, claim: Claim, high: int) -> int:
        """Return the greatest value, at most `high`, up to which a claim is proven."""
        good = self._up(claim, self._last, high)
        if good == high or self._is_bad(claim, good + 1):
            return good
        self._solving = True
        try:
            return self._up(claim, good, high)
        finally:
            self._solving = False

    def _up(self, claim: Claim, good: int, high: int) -> int:
        """Return the greatest value by bisection; the claim is proven up to `good`."""
        bad = high + 1
        if good >= high or self._holds(claim, self._first, high):
            return high
        step = 1
        while good + step < bad:  # most that are not proven farther are not proven at all
            if not self._holds(claim, self._first, good + step):
                bad = good + step
                break
            good, step = good + step, step * 16
        while bad - good > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if self._holds(claim, self._first, middle) else (good, middle)
        return good

    def _lowest(self, claim: Claim, low: int) -> int:
        """Return the lowest value, at least `low`, from which a claim is proven."""
        good, bad = self._first, low - 1
        if good <= low or self._holds(claim, low, self._last):
            return low
        if self._by_solver(claim, low, self._last):
            return low
        good = self._down(claim, good, bad)
        if self._is_bad(claim, good - 1):
            return good
        self._solving = True
        try:
            return self._down(claim, good, bad)
        finally:
            self._solving = False

    def _down(self, claim: Claim, good: int, bad: int) -> int:
        """Bisect for the lowest value, above `bad`, from which a claim is proven as from `good`."""
        if not self._holds(claim, good - 1, self._last):
            return good
        good -= 1
        while good - bad > 1:
            middle = (good + bad) // 2
            good, bad = (middle, bad) if self._holds(claim, middle, self._last) else (good, middle)
        return good


# -- what is shown at one size --------------------------------------------------------------------


def refuted(call: Call, supposed: Supposed, use: Use) -> int | None:
    """Return a program in which an integer wraps around, for sure; None: it is not known to."""
    bound = BoundCall(call, (), BUDGET, supposed)
    given = bound.active(use.access) if use.exact_lanes else bound.given(use.place)
    decision = prove(use.right, given, seconds=BUDGET.solver_seconds, order=bound.order)
    if not isinstance(decision, Refuted) or doubts_of(bound, decision, supposed):
        return None
    return bound.program_of(decision.model)


def doubts_of(bound: BoundCall, decision: Refuted, supposed: Supposed) -> list[Symbol | Opaque]:
    """Return what a counterexample is based on besides the launch, and ranges of the row."""
    return [
        key
        for key in bound.doubts(decision.model).keys
        if isinstance(key, Opaque) or (key.kind, key.key) not in supposed
    ]


def is_shown(call: Call | None, use: Use, program: int) -> bool:
    """Run a program in which an integer wraps around; whether it shows, as far as that is run.

    A run that is too long, or a launch that is too large to be made (None), shows nothing, and what
    was decided is kept.
    """
    if call is None:
        return True
    seen, failure = followed(call, (program,), _MOST_LANES)
    op = use.arithmetic.op.index
    return failure is not None or not seen.shown.keys().isdisjoint(
        seen.reached.get(op, set()) | {op}
    )


def wraps_of(call: Call, use: Use) -> tuple[str, str]:
    """Return what happens, and the expression that leaves its width."""
    arithmetic = use.arithmetic
    text = operation_expression(arithmetic.op, summarise(call.module))
    argument = use.access.argument
    of = "" if argument is None else f" of {call.arguments[argument].name}"
    decides = "" if use.purpose == "address" else f" (by its {use.purpose})"
    what = (
        f"{text} does not fit into {arithmetic.bits} bits, for the {use.access.kind}{of}{decides}"
    )
    return what, text


# -- rows -----------------------------------------------------------------------------------------


class Kernel:
    """What all rows of a kernel share: its claims, and what its recorded launch breaks."""

    def __init__(self, call: Call) -> None:
        self.call = call
        self.claims = claims_of(call)
        self._verdicts: dict[str, list[Verdict]] = {}

    def as_recorded(self, claims: Sequence[Claim]) -> tuple[Claim, Verdict] | None:
        """Return a claim that the recorded launch breaks, or that is not decided of it either."""
        rules = {rule: claim for claim in reversed(claims) for rule in claim.rules}
        missing = [rule for rule in rules if rule not in self._verdicts]
        self._verdicts |= {rule: [] for rule in missing}
        for verdict in judge(self.call, missing, _FORMULAS) if missing else ():
            self._verdicts.get(verdict.rule, []).append(verdict)
        found = [verdict for rule in rules for verdict in self._verdicts[rule]]
        for answer in ("violation", "unknown"):
            for verdict in found:
                if verdict.verdict == answer:
                    return replace(rules[verdict.rule], op=verdict.op), verdict
        return None


class Subject:
    """What a row is about: a size, or the values of an index tensor, as both are searched."""

    def __init__(
        self, kernel: Kernel, name: str, sized: Sized, along: tuple[str, ...], basis: str,
        least: int, end: int,
    ) -> None:  # fmt: skip
        """Only values from `least` on and before `end` are checked."""
        self.kernel = kernel
        self.name = name
        self.sized = sized
        self.along = along
        self.basis = basis
        self.least = least
        self.end = end
        self._seen: dict[tuple[Claim, int], tuple[str, str | None] | None] = {}

    def doubt(self, claim: Claim) -> str | None:  # noqa: ARG002
        """Return why what is shown at a value may not be bad."""
        return None

    def launch(self, value: int) -> tuple[Call, Supposed]:
        """Return the launch at a value, and what loads give there."""
        raise NotImplementedError

    def at(self, value: int) -> SizedCall:
        """Return the launch at a value, as claims are asked of it."""
        return self.sized.between(value, value, solving=True)

    def chosen(self, value: int) -> Supposed:
        """Return what loads give there by the row's own subject; all others give what they gave."""
        raise NotImplementedError

    def filled(self, value: int) -> Call | None:
        """Return the launch at a value, with contents to run; None: it is too large."""
        raise NotImplementedError

    def ended(self) -> tuple[Kind, str]:
        """Return what ends it if no claim does."""
        raise NotImplementedError

    # -- searching -------------------------------------------------------------------------------

    def rows(self, broken: tuple[Claim, ...] | None = None) -> list[Row]:
        """Return what ends the values that are fine, and where an integer first wraps around.

        `broken`: the claims that are not proven of what was recorded, if that is known.
        """
        claims = self.kernel.claims
        try:
            if broken is None:
                broken = broken_of(self.sized, claims)
        except Spent:
            return [self._row("unknown", reason=self._too_long())]
        limits = max(self.least, self.sized.size.low), self.end - 1
        found = searched(self.sized, claims, broken, limits, self.is_bad)
        if found.low == limits[0] > self.least and not found.broken:
            found = self.below_zero(found)
        ends = found.low, found.high
        rows = [
            replace(row, fine=ends, **self._below(found)) if row.contract else row
            for row in self._rows(found)
        ]
        is_told = found.wrapping is None or found.limiting is found.wrapping[1]
        if found.wrapping is not None and (found.broken or not is_told):
            row = self._bad(found.wrapping[1], found.wrapping[0] + 1, None)
            rows += [row] if row.first_bad is not None else []
        return rows

    def below_zero(self, found: Searched) -> Searched:
        """Return what was found, with what is proven of values below zero."""
        raise NotImplementedError

    def _below(self, found: Searched) -> dict[str, Any]:
        """Return what happens one below the values that are fine."""
        if found.lowest is None:
            return {}
        value = found.low - 1
        shown = None if found.spent else self._shown(found.lowest, value)
        if shown is None:
            reason = f"{found.lowest.what} is not decided at {value:,}"
            return {"below": reason, "below_kind": "unknown"}
        doubt = self.doubt(found.lowest)
        if doubt is not None:
            return {"below": doubt, "below_kind": "unknown"}
        return {"last_bad": value, "below": shown[0], "below_kind": found.lowest.group}

    def _rows(self, found: Searched) -> list[Row]:
        if found.broken:
            return [self._broken(found)]
        contract = self._contract(found)
        if found.limiting is None:
            return [self._at_end(contract)]
        if found.spent:
            return [self._row("unknown", contract=contract, reason=self._too_long())]
        return [self._bad(found.limiting, found.high + 1, contract)]

    def _broken(self, found: Searched) -> Row:
        known = self.kernel.as_recorded(found.broken)
        if known is None:
            claim = found.broken[0]
            reason = f"{claim.what} is decided for the recorded launch alone"
            return self._row("unknown", op=claim.op, reason=reason)
        claim, verdict = known
        if verdict.verdict == "unknown":
            reason = f"as recorded, {verdict.message} ({verdict.rule})"
            return self._row("unknown", op=claim.op, reason=reason)
        what = f"as recorded, {verdict.message} ({verdict.rule})"
        return self._row(claim.group, first_bad=self.recorded, what=what, op=claim.op)

    def _at_end(self, contract: str | None) -> Row:
        kind, what = self.ended()
        bad = None if kind == "none" else self.end
        return self._row(kind, first_bad=bad, what=what, contract=contract)

    def _bad(self, claim: Claim, value: int, contract: str | None) -> Row:
        """Return the row of a claim that is not proven at a value: bad, or not decided."""
        shown = self._shown(claim, value)
        if shown is None:
            reason = f"{claim.what} is not decided at {value:,}"
            return self._row("unknown", op=claim.op, contract=contract, reason=reason)
        doubt = self.doubt(claim)
        if doubt is not None:
            return self._row("unknown", op=claim.op, contract=contract, reason=doubt)
        what, text = shown
        return self._row(
            claim.group, first_bad=value, what=what, op=claim.op, expression=text,
            contract=contract,
        )  # fmt: skip

    def _row(self, kind: Kind, **more: Any) -> Row:
        return Row(self.name, self.recorded, kind, along=self.along, basis=self.basis, **more)

    @property
    def recorded(self) -> int:
        """The greatest recorded value."""
        return self.sized.recorded[1]

    def _too_long(self) -> str:
        return f"its share of the time, {self.sized.clock.seconds:.2g} s, was spent"

    def _contract(self, found: Searched) -> str:
        if found.low == found.high:
            return f"{self.name} = {found.high:,}"
        return f"{found.low:,} <= {self.name} <= {found.high:,}"

    # -- showing ---------------------------------------------------------------------------------

    def is_bad(self, claim: Claim, value: int) -> bool:
        """Whether a claim is seen not to hold at a value."""
        return self._shown(claim, value) is not None

    def _shown(self, claim: Claim, value: int) -> tuple[str, str | None] | None:
        """Return what goes wrong at a value, and the expression that wraps; None: unknown."""
        key = claim, value
        if key not in self._seen:
            try:
                self._seen[key] = self._show(claim, value)
            except Spent:
                self._seen[key] = None
        return self._seen[key]

    def _show(self, claim: Claim, value: int) -> tuple[str, str | None] | None:
        if claim.group == "rule" and not claim.rules:
            return None  # undefined, which no rule reports
        call, supposed = self.launch(value)
        if claim.use is not None:
            program = refuted(call, supposed, claim.use)
            if program is None:
                return self.by_run(claim, value)
            return wraps_of(call, claim.use) if self._wraps(claim.use, value, program) else None
        if claim.group == "constants":
            holds = claim.holds(self.at(value))
            return None if holds else (NOT_COVERED, None)
        if claim.access is not None:
            left = self._left(call, self.chosen(value), claim.access)
            return left or self.by_run(claim, value)
        return broken_by(call, claim)

    def _wraps(self, use: Use, value: int, program: int) -> bool:
        return is_shown(self.filled(value), use, program)

    def by_run(self, claim: Claim, value: int) -> tuple[str, str | None] | None:
        """Return what a launch at a value shows where its contents are known; None: nothing."""
        raise NotImplementedError

    def _left(self, call: Call, supposed: Supposed, number: int) -> tuple[str, None] | None:
        """Refute that an access stays inside its tensor."""
        access = summarise(call.module).accesses[number]
        tensor = None if access.argument is None else call.arguments[access.argument]
        if not isinstance(tensor, TensorArgument):
            return None
        claim = access.lies_within(*tensor.view_bytes)
        bound = BoundCall(call, (), BUDGET, supposed)
        given = bound.active(access)
        decision = prove(claim, given, seconds=BUDGET.solver_seconds, order=bound.order)
        if not isinstance(decision, Refuted) or doubts_of(bound, decision, supposed):
            return None
        return f"the {access.kind} leaves {tensor.name}", None


def broken_by(call: Call, claim: Claim) -> tuple[str, str | None] | None:
    """Return what a rule finds in a launch, by formulas and one program."""
    op = claim.op if claim.use is None else claim.use.arithmetic.op
    for verdict in judge(call, claim.rules, BUDGET):
        if verdict.verdict == "violation" and op in (call.module.main.op, verdict.op):
            return f"{verdict.rule}: {verdict.message}", None
    return None


def contents_of(call: Call) -> dict[tuple[str, Any], Interval]:
    """Return the recorded range of what each load of integers gives, where it is known."""
    bound = BoundCall(call)
    found = ((s, bound.contents.range_of(s)) for s in loaded_symbols(call.module))
    return {(s.kind, s.key): ends for s, ends in found if ends is not None}


@once_per_module
def loaded_symbols(module: Module) -> list[Symbol]:
    """Return what loads give that decides where, whether or how often memory is accessed."""
    atoms: set[Atom] = set()
    for access in summarise(module).accesses:
        atoms |= access.offset.atoms() | access.active.atoms()
    found = (a for a in atoms if isinstance(a, Symbol) and a.kind == "content")
    return sorted(found, key=lambda symbol: symbol.order)
