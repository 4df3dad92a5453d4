"""Laws of exponentials: each where it holds, and where it does not."""

import pytest

from kvtrace.addons.invariance.exponentials import source_constant
from kvtrace.addons.invariance.numbers import constant
from kvtrace.symbolic.trees.tree import Tree
from tests.addons.invariance.laws import (
    X,
    Y,
    are_equal,
    exp,
    library,
    log,
    minus,
    number,
    op,
    over,
    plus,
    times,
)

ONE, TWO, HALF = number(1.0), number(2.0), number(0.5)
LOG2_E, LN_2 = number(1.4426950408889634), number(0.6931471805599453)


def exp2(of: Tree) -> Tree:
    return op("math.exp2", of)


HOLDING = {
    "a difference of exponents": (exp(minus(X, Y)), over(exp(X), exp(Y))),
    "a sum of exponents": (exp(plus(X, Y)), times(exp(Y), exp(X))),
    "a negative exponent": (exp(minus(number(0.0), X)), over(ONE, exp(X))),
    "a multiple of an exponent": (exp(times(TWO, X)), times(exp(X), exp(X))),
    "an exponent multiplied out": (
        exp(times(minus(X, Y), HALF)), exp(minus(times(HALF, X), times(HALF, Y))),
    ),
    "a logarithm of exponentials": (
        exp(minus(X, log(plus(exp(X), exp(Y))))), over(exp(X), plus(exp(X), exp(Y))),
    ),
    "a hyperbolic tangent": (
        op("math.tanh", X), minus(over(TWO, plus(ONE, exp(times(number(-2.0), X)))), ONE),
    ),
    "base two": (exp(X), exp2(times(X, LOG2_E))),
    "base e": (exp2(X), exp(times(LN_2, X))),
    "a decimal": (times(X, number(0.9)), times(X, minus(ONE, number(0.1)))),
}  # fmt: skip

BROKEN = {
    "a product of exponents": (exp(times(X, Y)), times(exp(X), exp(Y))),
    "a sum of exponentials": (exp(plus(X, Y)), plus(exp(X), exp(Y))),
    "the other base": (exp(X), exp2(X)),
    "the inverse scale": (exp(X), exp2(times(X, LN_2))),
    "a scale of four digits": (exp(X), exp2(times(X, number(1.4427)))),
    "exp of log of a negative number": (exp(log(X)), X),
    "another decimal": (times(X, number(0.9)), times(X, minus(ONE, number(0.11)))),
}  # fmt: skip


@pytest.mark.parametrize("name", HOLDING)
def test_trees_equal_by_a_law_of_real_numbers_are_equal(name: str) -> None:
    assert are_equal(*HOLDING[name])


@pytest.mark.parametrize("name", BROKEN)
def test_trees_equal_only_for_some_real_numbers_are_unequal(name: str) -> None:
    assert not are_equal(*BROKEN[name])


def test_library_functions_obey_the_laws_of_their_own_names_alone() -> None:
    assert are_equal(library("__nv_expf", X), exp(X))
    assert are_equal(library("__ocml_exp2_f32", X), exp2(X))
    assert not are_equal(library("__nv_exp10f", X), exp(X))
    assert not are_equal(library("__nv_expm1f", X), exp(X))


def test_only_powers_vanish_at_minus_infinity() -> None:
    lowest, zero = number(float("-inf")), number(0.0)

    assert are_equal(library("__nv_exp10f", lowest), zero)
    assert are_equal(library("__nv_expf", lowest), zero)
    assert not are_equal(library("__nv_expm1f", lowest), zero)


def test_constant_of_many_digits_is_not_taken_as_a_rounded_decimal() -> None:
    tenth, third, root, pi = 0x3DCCCCCD, 0x3EAAAAAB, 0x3FB504F3, 0x40490FDB
    prime = (1 << 31) - 1

    assert source_constant("f32", tenth) == pow(10, -1, prime)
    assert source_constant("f32", third) == pow(3, -1, prime)
    assert source_constant("f32", root) == pow(constant("f32", 0x3F3504F3) or 0, -1, prime)
    assert source_constant("f32", pi) is None
    assert source_constant("bf16", 0x3DCD) is None
