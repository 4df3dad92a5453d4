"""All launches of a kernel between two sizes as one call: one number is a symbol.

A `SizedCall` is a call whose scalars, extents, strides and grid are terms of one symbol, the size,
which lies in a range: with n as the size, `x.shape[0]` is `n` and `grid_x` is `cdiv(n, 1024)`.
Rules that decide claims by `bound.prove` prove them for every size in the range. A `SizedCall`
never refutes a claim: if a proof fails, a launch at one size has to show why.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

from kvtrace.evaluate import Storage, TensorArgument
from kvtrace.symbolic.conditions import Condition, at_least
from kvtrace.symbolic.functions import maximum
from kvtrace.symbolic.prover import (
    Decision,
    Given,
    Interval,
    Proven,
    Ranges,
    Unknown,
    follows,
    prove,
)
from kvtrace.symbolic.summary import Loop, Summary
from kvtrace.symbolic.terms import Substitution, Symbol, Term, as_term, program
from kvtrace.symbolic.walk import summarize
from kvtrace.verdicts.binding import BoundCall, Budget
from kvtrace.verdicts.rules.table import default_rules
from kvtrace.verdicts.sizes.growth import Terms
from kvtrace.verdicts.sizes.launch_numbers import Number, call_with

if TYPE_CHECKING:
    from kvtrace.evaluate import Argument
    from kvtrace.recorded_calls.recorded import Call

MOST: Final = 1 << 48
"""Greatest size that is checked: no memory has more bytes."""
SIZE: Final = Symbol("scalar", ("size", 0, 0), 0, MOST)
BELOW_ZERO: Final = Symbol("scalar", ("size", 0, 0), -MOST, -1)
"""A negative size, as scalars and strides may be: most formulas assume sizes from 0."""
BUDGET: Final = Budget(solver_seconds=0.2, solver_seconds_a_call=1.0, lanes=0, replay_lanes=0)

Key = tuple[str, Any]
"""A symbol's kind and key."""


class OutOfTime(Exception):
    """The processor time for a row is used up."""


class Clock:
    """Processor time for one row: unlike real time, it does not depend on the machine's load."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.thread_time() + seconds

    def remaining(self) -> float:
        """Return the remaining seconds."""
        return max(self._end - time.thread_time(), 0.0)

    def solver_seconds(self) -> float:
        """Return the seconds that the solver may take for one claim.

        Raises:
            OutOfTime: no time remains.

        """
        remaining = self._end - time.thread_time()
        if remaining <= 0:
            raise OutOfTime
        return min(remaining, BUDGET.solver_seconds)


@dataclass(frozen=True)
class AssumedContents:
    """Assumed values of integer loads: numeric ranges, and ends as terms, by contract."""

    ranges: Mapping[Key, Interval]
    ends: Mapping[Key, tuple[Term, Term]]


class Sized:
    """The launches of a kernel with one number as a symbol: `SIZE`, or `BELOW_ZERO`.

    `recorded` is the recorded launch's range: one size, or all values of a tensor. `values` are the
    loads of a tensor whose greatest value is the size.
    """

    def __init__(
        self,
        call: Call,
        terms: Terms,
        contents: AssumedContents,
        clock: Clock,
        recorded: Interval,
        values: tuple[Key, ...] = (),
        size: Symbol = SIZE,
    ) -> None:
        """`contents`: values of all other loads; `size`: the symbol in `terms`."""
        self.size = size
        self.recorded = recorded
        self.values = values
        self.call = call
        self.terms = terms
        self.contents = contents
        self.clock = clock
        self._sizes: dict[Key, Term] = {key_of(number): term for number, term in terms.items()}
        self._replaced: dict[Condition | Term, Any] = {}
        self.summary = self._summary(summarize(call.module))
        self.facts = tuple(fact for fact in self._facts() if fact.decided is None)
        """Conditions that bound programs and contents by the size."""

    def between(self, low: int, high: int, *, solving: bool) -> SizedCall:
        """Return the launches whose size lies in a range, both ends included.

        `solving`: a solver may be asked.
        """
        return SizedCall(self, low, high, solving=solving)

    def numbers(self, size: int) -> dict[Number, int]:
        """Return all numbers at a size."""
        return {number: term.value({self.size: size}) for number, term in self.terms.items()}

    def at(self, formula: Any) -> Any:
        """Return a term or a condition with its numbers replaced by terms of the size."""
        result = self._replaced.get(formula)
        if result is None:
            terms: dict[Any, Term] = {
                atom: self._sizes[atom.kind, atom.key]
                for atom in formula.atoms()
                if isinstance(atom, Symbol) and (atom.kind, atom.key) in self._sizes
            }
            result = formula.substitute(Substitution(terms)) if terms else formula
            self._replaced[formula] = result
        return result

    def _facts(self) -> Iterator[Condition]:
        for axis in range(3):
            last = self.terms["grid", axis, 0] - 1
            if last.constant is None:  # else its range shows it
                yield at_least(last - program(axis))
        for access in self.summary.accesses:
            for atom in access.offset.atoms() | access.active.atoms():
                if isinstance(atom, Symbol) and (atom.kind, atom.key) in self.contents.ends:
                    low, high = self.contents.ends[atom.kind, atom.key]
                    yield at_least(maximum(high, 0) - atom.term)
                    yield at_least(atom.term + maximum(-low, 0))

    def end(self, place: int) -> Term | None:
        """Return the bytes from a tensor's data pointer to its view's end; None: not a tensor."""
        tensor = self.call.arguments[place]
        if not isinstance(tensor, TensorArgument):
            return None
        if tensor.view_bytes[1] > tensor.storage_bytes[1]:
            return None
        last = as_term(1)
        for axis in range(len(tensor.shape)):
            size, step = self.terms["shape", place, axis], self.terms["stride", place, axis]
            if size.constant == 0:
                return as_term(0)
            if step.low >= 0:
                last = last + (size - 1) * step
        return last * tensor.element.bytes

    def _summary(self, summary: Summary) -> Summary:
        loops = {loop: self._loop(loop) for loop in summary.loops}

        def placed(place: Any, **terms: Any) -> Any:
            inside = tuple(loops.get(loop, loop) for loop in place.loops)
            return replace(place, guard=self.at(place.guard), loops=inside, **terms)

        return replace(
            summary,
            accesses=tuple(
                placed(access, offset=self.at(access.offset), mask=self.at(access.mask))
                for access in summary.accesses
            ),
            loops=tuple(loops.values()),
            arithmetic=tuple(placed(a, result=self.at(a.result)) for a in summary.arithmetic),
            divisions=tuple(placed(d, divisor=self.at(d.divisor)) for d in summary.divisions),
        )

    def _loop(self, loop: Loop) -> Loop:
        return replace(
            loop, trips=self.at(loop.trips), running=self.at(loop.running),
            guard=self.at(loop.guard),
        )  # fmt: skip


class SizedCall(BoundCall):
    """The launches of a kernel whose size lies in a range, bound as one call."""

    def __init__(self, sized: Sized, low: int, high: int, *, solving: bool) -> None:
        """Both ends are included."""
        self._solving = solving
        self.sized = sized
        self.low, self.high = low, high
        most, least = sized.numbers(high), sized.numbers(low)
        ranges: dict[Key, Interval] = dict(sized.contents.ranges)
        ranges.update(dict.fromkeys(sized.values, (low, high)))
        for number, value in most.items():
            ends = min(value, least[number]), max(value, least[number])
            ranges[key_of(number)] = ends
            if number[0] == "grid":
                ranges["program", number[1]] = (0, max(ends[1], 1) - 1)
        size = sized.size.kind, sized.size.key
        ranges[size] = (low, high)
        sizes = Ranges({size: (low, high)})
        for key, (first, last) in sized.contents.ends.items():  # lanes that are masked off give 0
            ranges[key] = (
                min(sizes.interval(first)[0], 0),
                max(sizes.interval(last)[1], 0),
            )
        call = without_contents(call_with(sized.call, most))
        super().__init__(call, default_rules(), BUDGET, ranges)
        self.summary = sized.summary

    def between(self, low: int, high: int) -> SizedCall:
        """Return the launches of another range of sizes, with or without a solver as this one."""
        return self.sized.between(low, high, solving=self._solving)

    def prove(self, claim: Condition, given: Given) -> Decision:
        """Return Proven if a proof holds for all sizes in the range, else Unknown."""
        claim = self.sized.at(claim)
        proof = follows(claim, given)
        seconds = self.seconds()
        if proof is None and seconds:
            decision = prove(claim, given, seconds=seconds, order=self.order)
            proof = decision if isinstance(decision, Proven) else None
        return Unknown("it is not decided for all sizes") if proof is None else proof

    def seconds(self) -> float:
        """Return the seconds that a solver may take for one claim: 0 without a solver.

        Raises:
            OutOfTime: no time remains for the row.

        """
        seconds = self.sized.clock.solver_seconds()
        return seconds if self._solving else 0.0

    def proves(self, claim: Condition, given: Given) -> bool:
        """Return whether a claim is proven for all sizes in the range."""
        return isinstance(self.prove(claim, given), Proven)

    def given_of(self, conditions: Iterable[Condition]) -> Given:
        """Return conditions as terms of the size, with the bounds of programs and contents."""
        return Given((*map(self.sized.at, conditions), *self.sized.facts), self.ranges)


def key_of(number: Number) -> Key:
    """Return the kind and key of a number's symbol."""
    kind, place, axis = number
    if kind == "grid":
        return "programs", place
    return "scalar", place if kind == "scalar" else (place, kind, axis)


def without_contents(call: Call) -> Call:
    """Return a call without contents; tensors that shared a storage still do."""
    storages: dict[int, Storage] = {}

    def bare(argument: Argument) -> Argument:
        if not isinstance(argument, TensorArgument):
            return argument
        storage = storages.setdefault(id(argument.storage), Storage(argument.storage.nbytes))
        return replace(argument, storage=storage)

    return replace(call, arguments=tuple(map(bare, call.arguments)), recorded=())
