"""Bounds by elimination, and what a certificate of one is good for."""

import pytest

from kvtrace.symbolic.conditions import at_least, less
from kvtrace.symbolic.functions import quotient, remainder
from kvtrace.symbolic.terms import Symbol, Term, lane, program, programs
from kvtrace.verdicts.sizes.certificate import Certifier, is_reached
from kvtrace.verdicts.sizes.upper_bounds import Elimination, exact_quotient
from tests.support.replacing import replace


def size(index):
    return Symbol("scalar", index, 0, 2**31 - 1).term


N, STRIDE, COUNT = size(0), size(1), Symbol("scalar", 2, 1, 2**31 - 1).term
INDEX = program(0) * 128 + lane(0, 128)
MASK = less(INDEX, N)


def bounds(term, *given):
    return Elimination([condition.term for condition in given]).bounds(term)


def test_the_bounds_of_a_masked_index_are_its_mask_and_the_grid():
    found = {bound.limit for bound in bounds(INDEX, MASK)}

    assert found == {N - 1, programs(0) * 128 - 1}


def test_a_factor_of_unknown_sign_gives_no_bound():
    signed = Symbol("scalar", 3, -(2**31), 2**31 - 1).term

    assert bounds(program(0) * signed) == ()
    assert bounds(program(0) * STRIDE)


def test_bounds_that_are_found_are_certified():
    place = quotient(INDEX, COUNT) * STRIDE + remainder(INDEX, COUNT)
    for term in (INDEX, INDEX * STRIDE, place, -place, -INDEX):
        found = bounds(term, MASK)
        assert found
        assert all(Certifier([MASK]).certifies(term, bound) for bound in found)


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param(lambda b: replace(b, limit=b.limit - 1), id="a limit one less"),
        pytest.param(lambda b: replace(b, scale=2 * b.scale), id="another scale"),
        pytest.param(lambda b: replace(b, steps=b.steps[1:]), id="a step left out"),
        pytest.param(lambda b: replace(b, limit=INDEX, steps=()), id="a limit that varies"),
    ],
)
def test_a_wrong_bound_is_not_certified(wrong):
    for bound in bounds(INDEX * STRIDE, MASK):
        assert Certifier([MASK]).certifies(INDEX * STRIDE, bound)
        assert not Certifier([MASK]).certifies(INDEX * STRIDE, wrong(bound))


def test_a_bound_by_a_fact_that_is_not_given_is_not_certified():
    by_mask = next(bound for bound in bounds(INDEX, MASK) if bound.limit == N - 1)

    assert Certifier([MASK]).certifies(INDEX, by_mask)
    assert not Certifier([]).certifies(INDEX, by_mask)
    assert not Certifier([less(INDEX, N + 1)]).certifies(INDEX, by_mask)


def test_a_bound_with_a_negative_factor_is_not_certified():
    (bound,) = [b for b in bounds(INDEX, MASK) if b.limit == N - 1]
    (step,) = bound.steps
    negative = replace(step, factor=-step.factor)
    limit = INDEX + negative.factor * negative.fact
    assert not Certifier([MASK]).certifies(INDEX, replace(bound, limit=limit, steps=(negative,)))


def test_bounds_that_are_reached_are_told_apart_from_others():
    assert is_reached(INDEX, bounds(INDEX, MASK), (MASK,), ())
    unreached = tuple(replace(b, limit=b.limit + 1) for b in bounds(INDEX, MASK))
    assert not is_reached(INDEX, unreached, (MASK,), ())
    # Not more than every second element is active.
    halved = at_least(N - INDEX * 2 - 1)
    assert not is_reached(INDEX, bounds(INDEX, MASK), (MASK, halved), ())


def test_polynomials_are_divided_by_monomials():
    assert exact_quotient(N * STRIDE * 6, STRIDE * 3) == N * 2
    assert exact_quotient((N + COUNT) * STRIDE, N + COUNT) is None
    assert exact_quotient(N * 3, Term({}) + STRIDE) is None
    assert exact_quotient(N * 3, STRIDE * 2) is None
