"""Races at all sizes of a range: addresses of two programs as digits of terms.

The gap between two programs' addresses is a sum of products of a coefficient, made of sizes, and a
factor that depends on the programs. If all other summands together are smaller than one
coefficient, a gap of 0 forces this coefficient's factor to be 0, as for digits of a number:
`(row - row') * columns + lane - lane' = 0` with lanes below `columns` forces `row = row'` at every
size. The forced equations have constant coefficients, which the prover decides.
"""

from __future__ import annotations

from collections.abc import Iterator
from math import gcd
from typing import TYPE_CHECKING

from kvtrace.evaluate import TensorArgument
from kvtrace.symbolic.conditions import Condition, at_least, conjunction, equal
from kvtrace.symbolic.prover import Given, Proven, follows, prove
from kvtrace.symbolic.terms import ZERO, Monomial, Term
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.copies import Question, two_programs
from kvtrace.verdicts.conflicts.outcomes import NoConflict
from kvtrace.verdicts.conflicts.race import ProgramPairs
from kvtrace.verdicts.sizes.sized import BUDGET, SizedCall
from kvtrace.verdicts.sizes.upper_bounds import varies

if TYPE_CHECKING:
    from kvtrace.recorded_calls.recorded import Call
    from kvtrace.symbolic.summary import Access


def racing_pairs(call: Call) -> list[tuple[int, int]]:
    """Return the pairs of accesses, by number, that race if they touch the same byte."""
    bound = BoundCall(call, (), BUDGET)
    numbers = {id(access): number for number, access in enumerate(bound.summary.accesses)}
    return [
        (numbers[id(one.access)], numbers[id(other.access)])
        for one, other in ProgramPairs(bound).clashing()
    ]


def pair_is_free(one: int, other: int, bound: SizedCall) -> bool:
    """Return whether two accesses are proven not to race at any size in the range."""
    if bound.programs <= 1:
        return True
    first, second = bound.summary.accesses[one], bound.summary.accesses[other]
    if _is_moved(bound, first, second):
        return False
    if _are_apart(bound, first, second):
        return True
    pairs = ProgramPairs(bound)
    sharers = {id(sharer.access): sharer for sharer in pairs.sharers}
    outcome = pairs.judged(sharers[id(first)], sharers[id(second)])
    return isinstance(outcome, NoConflict)


def _is_moved(bound: SizedCall, first: Access, second: Access) -> bool:
    """Return whether two tensors' distance in a shared storage may depend on the size."""
    places = {access.argument for access in (first, second) if access.argument is not None}
    if len(places) < 2:
        return False
    starts = set()
    for place in places:
        tensor = bound.call.arguments[place]
        starts.add(tensor.offset_bytes if isinstance(tensor, TensorArgument) else None)
    terms = bound.sized.terms
    grow = (terms[n] for n in terms if n[0] in ("shape", "stride") and n[1] in places)
    return len(starts) > 1 and any(term.constant is None for term in grow)


def _are_apart(bound: SizedCall, first: Access, second: Access) -> bool:
    place = first.argument if first.argument is not None else second.argument
    tensor = None if place is None else bound.call.arguments[place]
    if not isinstance(tensor, TensorArgument) or None in (first.argument, second.argument):
        return False
    sides = [_side(bound, access) for access in (first, second)]
    programs = two_programs(bound.call.grid)
    question = Question(sides[0], sides[1], programs, bound.ranges, tensor.storage.nbytes)
    if question.is_lost:
        return False
    width = max(first.element_bytes, second.element_bytes)
    forced = list(_forced(question.distance, width - 1, question.given))
    if not forced:
        return False
    same = conjunction(
        equal(axis.term, question.renamed(axis).term) for axis in programs.differing or ()
    )
    forced += [c for c in question.given.exact if bound.sized.size not in c.atoms()]
    given = Given(conjunction(forced).conjuncts(), question.given.ranges)
    return isinstance(prove(same, given, seconds=bound.seconds()), Proven)


def _side(bound: SizedCall, access: Access) -> tuple[Term, int, tuple[Condition, ...]]:
    assert access.argument is not None
    tensor = bound.call.arguments[access.argument]
    assert isinstance(tensor, TensorArgument)
    return access.offset + tensor.offset_bytes, access.element_bytes, bound.active(access).exact


def _forced(gap: Term, slack: int, given: Given) -> Iterator[Condition]:
    """Yield conditions that follow from a gap of at most `slack` bytes, if any are found."""
    digits = _digits(gap)
    if all(size.constant is not None for size in digits):
        yield at_least(gap + slack)
        yield at_least(slack - gap)
        return
    for size, digit in digits.items():
        if size.constant is not None:
            continue
        rest = gap - size * digit
        room = size * gcd(*digit.coefficients.values()) - slack - 1
        if follows(conjunction((at_least(room - rest), at_least(room + rest))), given) is not None:
            yield equal(digit)
            if rest.coefficients:
                yield from _forced(rest, slack, given)
            return


def _digits(gap: Term) -> dict[Term, Term]:
    """Return the factors of a gap that depend on programs, by their coefficient of sizes."""
    coefficients: dict[Monomial, Term] = {}
    for monomial, number in gap.coefficients.items():
        varying = tuple(atom for atom in monomial if varies(atom))
        sizes = tuple(atom for atom in monomial if not varies(atom))
        coefficients[varying] = coefficients.get(varying, ZERO) + Term({sizes: number})
    digits: dict[Term, Term] = {}
    for varying, coefficient in coefficients.items():
        if not coefficient.coefficients:
            continue
        factor = gcd(*coefficient.coefficients.values())
        size = Term({m: number // factor for m, number in coefficient.coefficients.items()})
        if size.coefficients[max(size.coefficients, key=len)] < 0:
            size, factor = -size, -factor
        digits[size] = digits.get(size, ZERO) + Term({varying: factor})
    return digits
