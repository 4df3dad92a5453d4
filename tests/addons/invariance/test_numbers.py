"""Arithmetic of trees modulo a prime: what maxima, choices and infinities become."""

import numpy as np
import pytest

from kvtrace.addons.invariance.numbers import (
    PRIME,
    TRUTHS,
    Numbers,
    chosen,
    constant,
    difference_of,
    extreme,
    infinite,
    inverse,
    product_of,
    sum_of,
)

MINUS_INFINITY = 0xFF800000


def number(value: int) -> Numbers:
    return np.array([value], np.uint64)


def infinity() -> Numbers:
    bits = constant("f32", MINUS_INFINITY)
    assert bits is not None
    return number(bits)


@pytest.mark.parametrize("least", [True, False])
@pytest.mark.parametrize("nans", [True, False])
def test_maximum_is_commutative_and_associative(least: bool, nans: bool) -> None:
    def of(a: Numbers, b: Numbers) -> Numbers:
        return extreme(a, b, least=least, nans=nans)

    a, b, c = number(7), number(PRIME - 4), number(12_345)

    assert of(of(a, b), c) == of(a, of(c, b))
    assert of(of(a, b), c) != of(of(a, b), b)
    assert of(a, b) != extreme(a, b, least=not least, nans=nans)
    assert of(a, b) != extreme(a, b, least=least, nans=not nans)


def test_maximum_with_minus_infinity_is_the_other_operand() -> None:
    other = number(99)

    assert extreme(other, infinity(), least=False, nans=True) == other
    assert extreme(other, infinity(), least=True, nans=True) != other


def test_negated_maximum_is_the_minimum_of_negatives() -> None:
    zero, a, b = number(0), number(5), number(8)
    least = extreme(difference_of(zero, a), difference_of(zero, b), least=True, nans=False)

    assert difference_of(zero, least) == extreme(a, b, least=False, nans=False)


def test_exponential_of_minus_infinity_is_zero() -> None:
    shifted = infinite("-", [infinity(), number(3)], number(77))

    assert infinite("exp", [shifted], number(55)) == 0
    assert infinite("-", [infinity(), infinity()], number(0)) not in (0, infinity())


def test_choice_depends_on_both_of_its_branches() -> None:
    a, b, unsure = number(5), number(8), number(1_000_003)

    assert chosen(number(1), a, b) == a
    assert chosen(number(0), a, b) == b
    assert chosen(unsure, a, a) == a
    assert chosen(unsure, a, b) != chosen(unsure, a, number(9))
    assert chosen(TRUTHS["^"](unsure, number(1)), b, a) == chosen(unsure, a, b)


def test_constants_have_their_exact_value_in_the_field() -> None:
    half, two = constant("f32", 0x3F000000), constant("f32", 0x40000000)
    assert half is not None
    assert two is not None

    assert product_of(number(half), number(two)) == 1
    assert sum_of(number(half), number(half)) == 1
    assert inverse(number(two)) == half
    assert constant("f32", 0x7FC00000) is None
