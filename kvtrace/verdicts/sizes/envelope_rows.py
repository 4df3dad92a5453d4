"""Rows of the size envelope: the range for which all claims are proven, and why it ends.

A range of sizes is safe only if every claim of every rule is proven for the whole range; if the
recorded launch breaks a claim, no range is safe. Bisection finds the largest range. The value
after its end is *bad* only if a claim is refuted there, by a counterexample that is checked
with exact integers: for `n * 4` in 32 bits, 536,870,911 is proven and 536,870,912 is bad.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, Final, Literal

from msgspec import Struct, structs

from kvtrace.converters.findings.envelope import EnvelopeRow
from kvtrace.ir import Op, source_stack
from kvtrace.recorded_calls.recorded import Call
from kvtrace.symbolic.prover import Interval
from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.binding import BoundCall, Budget
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.sizes.launch_numbers import holds_at, numbers_of
from kvtrace.verdicts.sizes.relations import Relations
from kvtrace.verdicts.sizes.sized import BUDGET, SIZE, OutOfTime, Sized, SizedCall, last_holding
from kvtrace.verdicts.sizes.sized_claims import COVERAGE, Claim, claims_of
from kvtrace.verdicts.sizes.wraps import (
    AssumedRanges,
    is_refuted,
    is_wrap_confirmed,
    overflow_text,
    refuting_program,
    rule_violation,
    wrapping_program,
)
from kvtrace.verdicts.verdict import Verdict

Kind = Literal[
    "overflow", "tensor", "rule", "grid", "argument", "constants", "none", "unknown", "unseen"
]

#: Nominal seconds of work on a row, after which it is unknown.
SECONDS_A_ROW: Final = 2.0

_FORMULAS: Final = Budget(lanes=0)


class ProvenRange(Struct, frozen=True):
    """The range `low` to `high` for which claims are proven, and the claims that end it.

    `limiting` is a claim that is not proven at `high + 1`, `lowest` one that is not proven
    at `low - 1`, each None if there is none. `wrapping` is the claim of the first integer that may
    wrap around, with the first value at which it does. `spent`: the time was used up.
    """

    low: int
    high: int
    limiting: Claim | None
    wrapping: tuple[Claim, int] | None
    spent: bool
    lowest: Claim | None = None


IsBad = Callable[[Claim, int], bool]


def unproven_claims(sized: Sized, claims: Sequence[Claim]) -> tuple[Claim, ...]:
    """Return the claims that are not proven for the recorded range, without those of coverage.

    Elements that a launch leaves, as the rest of a block, are no defect.

    Raises:
        OutOfTime: the time is up before all claims are decided.

    """
    bounds = [sized.between(*sized.recorded, solving=solving) for solving in (False, True)]
    return tuple(
        c for c in claims if c.group != COVERAGE and not any(c.holds(bound) for bound in bounds)
    )


def proven_range(
    sized: Sized, claims: Sequence[Claim], limits: Interval, is_bad: IsBad
) -> ProvenRange:
    """Return the largest range within `limits` for which all claims are proven.

    The solver is not used if linear reasoning ends the range before a value that `is_bad`. A claim
    for which no time remains ends the range at the recorded value.
    """
    return _RangeSearch(sized, is_bad).result(claims, limits)


class _RangeSearch:
    """The bisection for the range of sizes for which claims are proven."""

    def __init__(self, sized: Sized, is_bad: IsBad) -> None:
        self._sized = sized
        self._is_bad = is_bad
        self._sized_calls: dict[tuple[int, int, bool], SizedCall] = {}
        self._first, self._last = sized.recorded
        self._solving = False
        self.spent = False

    def result(self, claims: Sequence[Claim], limits: Interval) -> ProvenRange:
        """Return the range; each claim that is not proven for the range so far makes it smaller."""
        low, high = min(limits[0], self._first), max(limits[1], self._last)
        limiting: Claim | None = None
        lowest: Claim | None = None
        wrapping: tuple[Claim, int] | None = None
        for claim in [claim for claim in claims if not self._holds(claim, low, high)]:
            claim_high = self._farthest(claim, high)
            if claim_high < high and self._ends(claim, claim_high + 1):
                high, limiting = claim_high, claim
                if claim.group == "overflow":
                    wrapping = claim, high + 1
            claim_low = self._farthest(claim, low)
            if claim_low > low and self._ends(claim, claim_low - 1):
                low, lowest = claim_low, claim
        return ProvenRange(low, high, limiting, wrapping, self.spent, lowest)

    def _ends(self, claim: Claim, value: int) -> bool:
        """Return whether a claim that is not proven at a value ends the range there."""
        return claim.group != COVERAGE or self._is_bad(claim, value)

    def _holds(self, claim: Claim, low: int, high: int) -> bool:
        """Return whether a claim is proven for a range; False if the time is used up."""
        key = low, high, self._solving
        if key not in self._sized_calls:
            self._sized_calls[key] = self._sized.between(low, high, solving=self._solving)
        try:
            return claim.holds(self._sized_calls[key])
        except OutOfTime:
            self.spent = True
            return False

    def _farthest(self, claim: Claim, limit: int) -> int:
        """Return the value closest to `limit` up to which, or down to which, a claim is proven."""
        proven = self._bisected(claim, self._first if limit < self._first else self._last, limit)
        step = 1 if limit > proven else -1
        if proven == limit or (self._is_bad(claim, proven + step) and step > 0):
            return proven
        self._solving = True
        try:
            return self._bisected(claim, proven, limit)
        finally:
            self._solving = False

    def _bisected(self, claim: Claim, proven: int, limit: int) -> int:
        """Bisect between a value for which a claim is proven and `limit`, in wider steps first."""
        step = 1 if limit > proven else -1

        def holds_to(value: int) -> bool:
            return self._holds(claim, min(value, self._first), max(value, self._last))

        if proven == limit or holds_to(limit):
            return limit
        unproven, distance = limit, step
        while abs(distance) < abs(unproven - proven):  # most claims do not hold far beyond
            if not holds_to(proven + distance):
                unproven = proven + distance
                break
            proven, distance = proven + distance, distance * 16
        return last_holding(holds_to, proven, unproven)


def source_line(op: Op | None) -> tuple[str | None, int | None]:
    """Return file and line of an op's innermost source location; (None, None) if unknown."""
    frames = source_stack(op) if op is not None else ()
    return (frames[0].file, frames[0].line) if frames else (None, None)


class Kernel:
    """A kernel's claims and recorded verdicts, shared by all of its rows."""

    def __init__(self, relations: Relations) -> None:
        """Leave out the claims of coverage that recorded launches do not satisfy."""
        call = relations.call
        self.call = call
        self.claims = [
            claim
            for claim in claims_of(call)
            if claim.group != COVERAGE
            or claim.condition is None
            or relations.always_holds(claim.condition)
        ]
        self._verdicts: dict[str, list[Verdict]] = {}

    def as_recorded(self, claims: Sequence[Claim]) -> tuple[Claim, Verdict] | None:
        """Return a claim that the recorded launch breaks or leaves unknown, with the verdict."""
        rules = {rule: claim for claim in reversed(claims) for rule in claim.rules}
        missing = [rule for rule in rules if rule not in self._verdicts]
        self._verdicts |= {rule: [] for rule in missing}
        for verdict in judge(self.call, missing, _FORMULAS) if missing else ():
            self._verdicts.get(verdict.rule, []).append(verdict)
        verdicts = [verdict for rule in rules for verdict in self._verdicts[rule]]
        for outcome in ("violation", "unknown"):
            for verdict in verdicts:
                if verdict.verdict == outcome:
                    return structs.replace(rules[verdict.rule], op=verdict.op), verdict
        return None


class Subject:
    """The subject of a row (a size, or values of an index tensor), and the search of its range."""

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
        self.unknown: str | None = None
        """The reason that nothing is known of other values than the recorded one."""
        self._refutations: dict[tuple[Claim, int], tuple[str, str | None] | None] = {}

    def doubt(self, claim: Claim) -> str | None:  # noqa: ARG002
        """Return why a value that seems to refute a claim may not be bad, else None."""
        return None

    def launch(self, value: int) -> tuple[Call, AssumedRanges]:
        """Return the launch at a value, with the assumed ranges of its loads."""
        raise NotImplementedError

    def certain_ranges(self, ranges: AssumedRanges) -> AssumedRanges:
        """Return the ranges of the loads that depend on the subject; others are as recorded."""
        return ranges

    def runnable(self, call: Call, ranges: AssumedRanges) -> Call | None:
        """Return a launch with contents to run, None if it is too large."""
        raise NotImplementedError

    def refutation_by_run(self, claim: Claim, value: int) -> tuple[str, str | None] | None:  # noqa: ARG002
        """Return a message from a run at a value that refutes the claim, else None."""
        return None

    def end_reason(self) -> tuple[Kind, str]:
        """Return the kind and reason of the range's end at `end`, if no claim ends it earlier."""
        return "none", ""

    # -- search ----------------------------------------------------------------------------------

    def proves(self, proven: Interval) -> bool:
        """Return whether this launch's range surely ends no earlier than another launch's."""
        if self.unknown:
            return False
        if self.end <= proven[1] or self.sized.recorded[0] > proven[1]:
            return self.end > proven[1]
        first = max(proven[0], self.least, SIZE.low)
        bounded = self.sized.between(first, proven[1], solving=False)
        try:
            return all(claim.holds(bounded) for claim in self.kernel.claims)
        except OutOfTime:
            return False

    def row(self, broken: tuple[Claim, ...] | None = None) -> EnvelopeRow:
        """Return the row of the proven range.

        `broken` has the claims that are not proven for the recorded value; None: to be found.
        """
        claims = self.kernel.claims
        try:
            if broken is None:
                broken = unproven_claims(self.sized, claims)
        except OutOfTime:
            return self._row("unknown", reason=self._time_text())
        if self.unknown and not broken:
            row = self._row(
                "unknown", reason=self.unknown, contract=f"{self.name} = {self.recorded:,}"
            )
            return replace(row, low=self.recorded, high=self.recorded)
        limits = max(self.least, SIZE.low), self.end - 1
        if broken:
            row = self._broken_row(broken)
            if self.unknown:
                return row
            sound = [c for c in claims if c.group == "overflow" and c not in broken]
            return self._with_wrap(row, proven_range(self.sized, sound, limits, self.is_bad))
        proven = proven_range(self.sized, claims, limits, self.is_bad)
        row = replace(
            self._row_of(proven), low=proven.low, high=proven.high, **self._fields_below(proven)
        )
        return row if row.kind in ("overflow", COVERAGE) else self._with_wrap(row, proven)

    def _with_wrap(self, row: EnvelopeRow, proven: ProvenRange) -> EnvelopeRow:
        """Return a row with the first wrap if one is found, which replaces an unknown end."""
        defect = None if proven.wrapping is None else self._defect_at(*proven.wrapping)
        if proven.wrapping is None or defect is None or isinstance(defect, str):
            return row
        claim, value = proven.wrapping
        if row.reason is None:
            return replace(row, wraps_from=value, wrap=defect[0])
        file, line = source_line(claim.op)
        return replace(
            row, kind=claim.group, first_bad=value, what=defect[0], file=file, line=line,
            expression=defect[1],
        )  # fmt: skip

    def _fields_below(self, proven: ProvenRange) -> dict[str, Any]:
        """Return the fields of a row about the value below the proven range."""
        if proven.lowest is None:
            return {}
        value = proven.low - 1
        defect = self._defect_at(proven.lowest, value, is_searched=not proven.spent)
        if isinstance(defect, str):
            return {"below": defect, "below_kind": "unknown"}
        return {"last_bad": value, "below": defect[0], "below_kind": proven.lowest.group}

    def _row_of(self, proven: ProvenRange) -> EnvelopeRow:
        contract = self._contract_text(proven)
        if proven.limiting is None:
            return self._row_at_limit(contract)
        if proven.spent:
            return self._row("unknown", contract=contract, reason=self._time_text())
        return self._row_after_range(proven.limiting, proven.high + 1, contract)

    def _broken_row(self, broken: Sequence[Claim]) -> EnvelopeRow:
        recorded = self.kernel.as_recorded(broken)
        if recorded is None:
            claim = broken[0]
            reason = f"{claim.what} is decided for the recorded launch alone"
            return self._row("unknown", op=claim.op, reason=reason)
        claim, verdict = recorded
        what = f"as recorded, {verdict.message} ({verdict.rule})"
        if verdict.verdict == "unknown":
            return self._row("unknown", op=claim.op, reason=what)
        return self._row(claim.group, first_bad=self.recorded, what=what, op=claim.op)

    def _row_at_limit(self, contract: str | None) -> EnvelopeRow:
        kind, what = self.end_reason()
        if kind == "unknown":
            return self._row(kind, contract=contract, reason=what)
        bad = None if kind == "none" else self.end
        return self._row(kind, first_bad=bad, what=what, contract=contract)

    def _row_after_range(self, claim: Claim, value: int, contract: str | None) -> EnvelopeRow:
        """Return the row of a claim that is not proven at a value: bad if refuted, else unknown."""
        defect = self._defect_at(claim, value)
        if isinstance(defect, str):
            return self._row("unknown", op=claim.op, contract=contract, reason=defect)
        message, text = defect
        return self._row(
            claim.group, first_bad=value, what=message, op=claim.op, expression=text,
            contract=contract,
        )  # fmt: skip

    def _defect_at(
        self, claim: Claim, value: int, *, is_searched: bool = True
    ) -> tuple[str, str | None] | str:
        """Return the message and expression of a defect at a value, or why none is known."""
        refutation = self._refutation(claim, value) if is_searched else None
        if refutation is not None:
            return self.doubt(claim) or refutation
        return self.doubt(claim) or f"{claim.what} is not decided at {value:,}"

    def _row(self, kind: Kind, op: Op | None = None, **more: Any) -> EnvelopeRow:
        file, line = source_line(op)
        return EnvelopeRow(
            self.name, self.recorded, kind, file=file, line=line, along=self.along,
            basis=self.basis, **more,
        )  # fmt: skip

    @property
    def recorded(self) -> int:
        """The largest recorded value."""
        return self.sized.recorded[1]

    def _time_text(self) -> str:
        return f"its share of the work, {self.sized.clock.seconds:.2g} s, is used up"

    def _contract_text(self, proven: ProvenRange) -> str:
        if proven.low == proven.high:
            return f"{self.name} = {proven.high:,}"
        return f"{proven.low:,} <= {self.name} <= {proven.high:,}"

    # -- refutation ------------------------------------------------------------------------------

    def is_bad(self, claim: Claim, value: int) -> bool:
        """Return whether a claim is refuted at a value."""
        return self._refutation(claim, value) is not None

    def _refutation(self, claim: Claim, value: int) -> tuple[str, str | None] | None:
        """Return a message and the wrapping expression if a claim is refuted, else None; cached."""
        key = claim, value
        if key not in self._refutations:
            try:
                self._refutations[key] = self._find_refutation(claim, value)
            except OutOfTime:
                self._refutations[key] = None
        return self._refutations[key]

    def _find_refutation(self, claim: Claim, value: int) -> tuple[str, str | None] | None:
        """Return a message and expression if the launch at a value refutes a claim, else None."""
        if claim.group == "rule" and not claim.rules and claim.condition is None:
            return None  # a shift without a value, which may be any number
        return self.refutation_in(*self.launch(value), claim, value)

    def refutation_in(
        self, call: Call, ranges: AssumedRanges, claim: Claim, value: int
    ) -> tuple[str, str | None] | None:
        """Return a message and expression if a launch refutes a claim, else None."""
        if claim.use is not None:
            program = wrapping_program(call, ranges, claim.use)
            if program is None:
                return self.refutation_by_run(claim, value)
            run = self.runnable(call, ranges)
            is_wrapping = is_wrap_confirmed(run, claim.use, program)
            return overflow_text(call, claim.use) if is_wrapping else None
        if claim.condition is not None:
            bound = BoundCall(call, (), BUDGET)
            is_false = (
                claim.group == COVERAGE and holds_at(claim.condition, numbers_of(call)) is False
            )
            is_broken = is_false or is_refuted(bound, claim.condition, bound.given_of([]))
            return (claim.broken, None) if is_broken else None
        if claim.access is not None:
            outside = self._bounds_refutation(call, self.certain_ranges(ranges), claim.access)
            return outside or self.refutation_by_run(claim, value)
        return rule_violation(call, claim)

    def _bounds_refutation(
        self, call: Call, ranges: AssumedRanges, access_index: int
    ) -> tuple[str, None] | None:
        """Return a message if an access surely leaves its tensor, else None."""
        access = summarize(call.module).accesses[access_index]
        tensor = call.tensor_at(access.argument)
        if tensor is None:
            return None
        bound = BoundCall(call, (), BUDGET, ranges)
        claim, given = access.lies_within(*tensor.view_bytes), bound.active(access)
        is_outside = refuting_program(bound, claim, given, ranges) is not None
        return (f"the {access.kind} leaves {tensor.name}", None) if is_outside else None
