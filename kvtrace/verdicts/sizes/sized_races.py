"""Races at all sizes of a range, decided by the digits of two programs' addresses.

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
    """Return the index pairs of accesses that race if they touch the same byte."""
    bound = BoundCall(call, (), BUDGET)
    indices = {id(access): index for index, access in enumerate(bound.summary.accesses)}
    return [
        (indices[id(left.access)], indices[id(right.access)])
        for left, right in ProgramPairs(bound).clashing()
    ]


def is_pair_free(left_index: int, right_index: int, bound: SizedCall) -> bool:
    """Return whether two accesses provably do not race at any size in the range."""
    if bound.programs <= 1:
        return True
    left, right = bound.summary.accesses[left_index], bound.summary.accesses[right_index]
    if _is_moved(bound, left, right):
        return False
    if _are_apart(bound, left, right):
        return True
    pairs = ProgramPairs(bound)
    sharers = {id(sharer.access): sharer for sharer in pairs.sharers}
    outcome = pairs.judged(sharers[id(left)], sharers[id(right)])
    return isinstance(outcome, NoConflict)


def _is_moved(bound: SizedCall, left: Access, right: Access) -> bool:
    """Return whether the distance of two tensors in a storage may depend on the size."""
    positions = {access.argument for access in (left, right) if access.argument is not None}
    if len(positions) < 2:
        return False
    offsets = set()
    for position in positions:
        tensor = bound.call.arguments[position]
        offsets.add(tensor.offset_bytes if isinstance(tensor, TensorArgument) else None)
    terms = bound.sized.sizes.upper
    size_terms = (terms[n] for n in terms if n[0] in ("shape", "stride") and n[1] in positions)
    return len(offsets) > 1 and any(term.constant is None for term in size_terms)


def _are_apart(bound: SizedCall, left: Access, right: Access) -> bool:
    """Return whether the digits of both addresses exclude that two programs meet."""
    position = left.argument if left.argument is not None else right.argument
    tensor = None if position is None else bound.call.arguments[position]
    if not isinstance(tensor, TensorArgument) or None in (left.argument, right.argument):
        return False
    sides = [_side(bound, access) for access in (left, right)]
    programs = two_programs(bound.call.grid)
    question = Question(sides[0], sides[1], programs, bound.ranges, tensor.storage.nbytes)
    if question.is_lost:
        return False
    width = max(left.element_bytes, right.element_bytes)
    equations = list(_implied_conditions(question.distance, width - 1, question.given))
    if not equations:
        return False
    same_program = conjunction(
        equal(axis.term, question.renamed(axis).term) for axis in programs.differing or ()
    )
    equations += [c for c in question.given.exact if bound.sized.size not in c.atoms()]
    given = Given(conjunction(equations).conjuncts(), question.given.ranges)
    return isinstance(prove(same_program, given, seconds=bound.seconds()), Proven)


def _side(bound: SizedCall, access: Access) -> tuple[Term, int, tuple[Condition, ...]]:
    assert access.argument is not None
    tensor = bound.call.arguments[access.argument]
    assert isinstance(tensor, TensorArgument)
    return access.offset + tensor.offset_bytes, access.element_bytes, bound.active(access).exact


def _implied_conditions(gap: Term, slack: int, given: Given) -> Iterator[Condition]:
    """Yield conditions implied by a gap of at most `slack` bytes; none if none are found."""
    digits = _digits(gap)
    if all(size.constant is not None for size in digits):
        yield at_least(gap + slack)
        yield at_least(slack - gap)
        return
    for size, digit in digits.items():
        if size.constant is not None:
            continue
        other_digits = gap - size * digit
        limit = size * gcd(*digit.coefficients.values()) - slack - 1
        if (
            follows(
                conjunction((at_least(limit - other_digits), at_least(limit + other_digits))), given
            )
            is not None
        ):
            yield equal(digit)
            if other_digits.coefficients:
                yield from _implied_conditions(other_digits, slack, given)
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
