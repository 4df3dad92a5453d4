"""All launches of a kernel between two sizes as a single call, in which the size is a symbol.

The scalars, extents, strides and grid of a `SizedCall` are terms of one symbol, the size,
which lies in a range: with n as the size, `x.shape[0]` is `n` and `grid_x` is `cdiv(n, 1024)`.
Rules that decide claims by `bound.prove` prove them for every size in the range. A `SizedCall`
never refutes a claim: if a proof fails, only a launch at a single size can show a defect.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.recorded_calls.recorded import Call
from kvtrace.symbolic.conditions import Condition, at_least, in_order
from kvtrace.symbolic.functions import maximum
from kvtrace.symbolic.prover import (
    Decision,
    Given,
    Interval,
    Proven,
    Ranges,
    Unknown,
    follows,
    nominal_seconds,
    prove,
)
from kvtrace.symbolic.summary import Loop, Summary
from kvtrace.symbolic.terms import Atom, Substitution, Symbol, Term, as_term, program
from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.binding import BoundCall, Budget
from kvtrace.verdicts.replaying import without_contents
from kvtrace.verdicts.rules.table import default_rules
from kvtrace.verdicts.sizes.launch_numbers import Key, Number, Sizes, call_with, key_of

MOST: Final = 1 << 48
"""The largest size that is checked: no memory has more bytes."""
SIZE: Final = Symbol("scalar", ("size", 0, 0), 0, MOST)
BUDGET: Final = Budget(solver_seconds=0.2, solver_seconds_a_call=1.0, lanes=0, replay_lanes=0)


class OutOfTime(Exception):
    """Raised when a row has used up its share of the work."""


class Clock:
    """The work for one row, in nominal seconds."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = nominal_seconds() + seconds

    def remaining(self) -> float:
        """Return the remaining work."""
        return max(self._end - nominal_seconds(), 0.0)

    def solver_seconds(self) -> float:
        """Return the limit of the solver's work on the next claim.

        Raises:
            OutOfTime: no work remains.

        """
        remaining = self.remaining()
        if remaining <= 0:
            raise OutOfTime
        return min(remaining, BUDGET.solver_seconds)


class AssumedContents(Struct, frozen=True):
    """The assumed values of integer loads: numeric ranges, and bounds as terms from contracts."""

    ranges: Mapping[Key, Interval]
    bounds: Mapping[Key, tuple[Term, Term]]


class Sized:
    """The launches of a kernel in which one number is the symbol `SIZE`.

    `recorded` is the recorded launch's range: one size, or all values of a tensor. `values` has the
    loads of a tensor whose largest value is the size.
    """

    def __init__(
        self,
        call: Call,
        sizes: Sizes,
        contents: AssumedContents,
        clock: Clock,
        recorded: Interval,
        values: tuple[Key, ...] = (),
    ) -> None:
        """Prepare the terms; `contents` has values of all other loads."""
        self.recorded = recorded
        self.values = values
        self.call = call
        self.sizes = sizes
        self.contents = contents
        self.clock = clock
        self._terms: dict[Key, Term] = {key_of(n): term for n, term in sizes.terms.items()}
        self.open_tensors: frozenset[int] = frozenset()
        """Tensors of unknown extents, but at the recorded size."""
        self._replaced: dict[Condition | Term, Any] = {}
        self.summary = self._summary(summarize(call.module))
        self.facts = tuple(fact for fact in self._facts() if fact.decided is None)
        """Conditions that bound programs and contents by the size."""

    def between(self, low: int, high: int, *, solving: bool) -> SizedCall:
        """Return the launches whose size lies in a range, both bounds included.

        `solving`: the solver may be used.
        """
        return SizedCall(self, low, high, solving=solving)

    def numbers(self, size: int) -> dict[Number, int]:
        """Return all numbers at a size."""
        return {n: term.value({SIZE: size}) for n, term in self.sizes.terms.items()}

    def substitute(self, formula: Any) -> Any:
        """Return a term or condition in which numbers are replaced by terms of the size; cached."""
        result = self._replaced.get(formula)
        if result is None:
            terms: dict[Any, Term] = {
                atom: self._terms[atom.kind, atom.key]
                for atom in formula.atoms()
                if isinstance(atom, Symbol) and (atom.kind, atom.key) in self._terms
            }
            result = formula.substitute(Substitution(terms)) if terms else formula
            self._replaced[formula] = result
        return result

    def _facts(self) -> Iterator[Condition]:
        """Yield conditions that bound program ids and contents by the size."""
        for axis in range(3):
            last = self.sizes.terms["grid", axis, 0] - 1
            if last.constant is None:  # otherwise the range of program ids has it
                yield at_least(last - program(axis))
        for atom in in_order(a for a in _atoms_of(self.summary) if isinstance(a, Symbol)):
            key = atom.kind, atom.key
            if key in self.contents.bounds:
                low, high = self.contents.bounds[key]
                yield at_least(maximum(high, 0) - atom.term)
                yield at_least(atom.term + maximum(-low, 0))

    def end_bytes(self, position: int) -> Term | None:
        """Return the bytes from a tensor's data pointer to its view's end, None if unknown."""
        tensor = self.call.tensor_at(position)
        if tensor is None or tensor.view_bytes[1] > tensor.storage_bytes[1]:
            return None
        last = as_term(1)
        for axis in range(len(tensor.shape)):
            terms = self.sizes.terms
            size, stride = terms["shape", position, axis], terms["stride", position, axis]
            if size.constant == 0:
                return as_term(0)
            if stride.low >= 0:
                last = last + (size - 1) * stride
        return last * tensor.element.bytes

    def _summary(self, summary: Summary) -> Summary:
        loops = {loop: self._loop(loop) for loop in summary.loops}

        def substituted(position: Any, **terms: Any) -> Any:
            inside = tuple(loops.get(loop, loop) for loop in position.loops)
            return replace(position, guard=self.substitute(position.guard), loops=inside, **terms)

        return replace(
            summary,
            accesses=tuple(
                substituted(
                    access, offset=self.substitute(access.offset), mask=self.substitute(access.mask)
                )
                for access in summary.accesses
            ),
            loops=tuple(loops.values()),
            arithmetic=tuple(
                substituted(a, result=self.substitute(a.result)) for a in summary.arithmetic
            ),
            divisions=tuple(
                substituted(d, divisor=self.substitute(d.divisor)) for d in summary.divisions
            ),
        )

    def _loop(self, loop: Loop) -> Loop:
        return replace(
            loop, trips=self.substitute(loop.trips), running=self.substitute(loop.running),
            guard=self.substitute(loop.guard),
        )  # fmt: skip


class SizedCall(BoundCall):
    """The launches of a kernel with sizes in a range, bound as a single call."""

    def __init__(self, sized: Sized, low: int, high: int, *, solving: bool) -> None:
        """Bind the launches with sizes from `low` to `high`, both included."""
        self._solving = solving
        self.sized = sized
        self.low, self.high = low, high
        ends = [{SIZE: low}, {SIZE: high}]
        largest_numbers = sized.numbers(high)
        ranges: dict[Key, Interval] = dict(sized.contents.ranges)
        ranges.update(dict.fromkeys(sized.values, (low, high)))
        for number, term in sized.sizes.terms.items():
            at_ends = [term.value(end) for end in ends]
            bounds = min(at_ends), max(at_ends)
            ranges[key_of(number)] = bounds
            if number[0] == "grid":
                ranges["program", number[1]] = (0, max(bounds[1], 1) - 1)
        size = SIZE.kind, SIZE.key
        ranges[size] = (low, high)
        sizes = Ranges({size: (low, high)})
        for key, (lower, upper) in sized.contents.bounds.items():
            low_, high_ = sizes.interval(lower)[0], sizes.interval(upper)[1]
            ranges[key] = min(low_, 0), max(high_, 0)  # lanes that are masked off give 0
        call = without_contents(call_with(sized.call, largest_numbers))
        super().__init__(call, default_rules(), BUDGET, ranges)
        self.summary = sized.summary

    def prove(self, claim: Condition, given: Given) -> Decision:
        """Return Proven if a claim is proven for all sizes in the range, else Unknown."""
        claim = self.sized.substitute(claim)
        proof = follows(claim, given)
        seconds = self.seconds()
        if proof is None and seconds:
            decision = prove(claim, given, seconds=seconds, order=self.order)
            proof = decision if isinstance(decision, Proven) else None
        return Unknown("the claim is not decided for all sizes") if proof is None else proof

    def seconds(self) -> float:
        """Return the limit of the solver's work on the next claim, 0 if it is not used.

        Raises:
            OutOfTime: no work remains for the row.

        """
        seconds = self.sized.clock.solver_seconds()
        return seconds if self._solving else 0.0

    def proves(self, claim: Condition, given: Given) -> bool:
        """Return whether a claim is proven for all sizes in the range."""
        return isinstance(self.prove(claim, given), Proven)

    def given_of(self, conditions: Iterable[Condition]) -> Given:
        """Return conditions as terms of the size, with the facts about programs and contents."""
        return Given((*map(self.sized.substitute, conditions), *self.sized.facts), self.ranges)


def last_holding(holds: Callable[[int], bool], value: int, end: int) -> int:
    """Return the last value that holds between one that does and `end`, which does not."""
    while abs(end - value) > 1:
        middle = (value + end) // 2
        value, end = (middle, end) if holds(middle) else (value, middle)
    return value


def _atoms_of(summary: Summary) -> frozenset[Atom]:
    """Return the atoms of all formulas of a summary."""
    formulas: list[Term | Condition] = []
    for access in summary.accesses:
        formulas += (access.offset, access.active)
    for arithmetic in summary.arithmetic:
        formulas += (arithmetic.result, arithmetic.reached)
    for loop in summary.loops:
        formulas += (loop.trips, loop.running, loop.going_on)
    formulas += [division.divisor for division in summary.divisions]
    return frozenset().union(*(formula.atoms() for formula in formulas))
