"""Laws of exponentials, logarithms and roots: each where it holds, and where it does not."""

import pytest

from kvtrace.addons.invariance.functions import is_never_negative, source_constant
from kvtrace.addons.invariance.trees import Tree
from tests.addons.invariance.laws import (
    X,
    Y,
    are_equal,
    element,
    exp,
    extreme,
    log,
    minus,
    number,
    op,
    over,
    plus,
    sqrt,
    times,
)

ONE, TWO, HALF = number(1.0), number(2.0), number(0.5)
LOG2_E, LN_2 = number(1.4426950408889634), number(0.6931471805599453)
SQUARE = times(X, X)
ABOVE_ONE = plus(SQUARE, ONE)


def exp2(of: Tree) -> Tree:
    return op("math.exp2", of)


def log2(of: Tree) -> Tree:
    return op("math.log2", of)


HOLDING = {
    "a difference of exponents": (exp(minus(X, Y)), over(exp(X), exp(Y))),
    "a sum of exponents": (exp(plus(X, Y)), times(exp(Y), exp(X))),
    "a negative exponent": (exp(minus(number(0.0), X)), over(ONE, exp(X))),
    "a multiple of an exponent": (exp(times(TWO, X)), times(exp(X), exp(X))),
    "an exponent multiplied out": (
        exp(times(minus(X, Y), HALF)), exp(minus(times(HALF, X), times(HALF, Y))),
    ),
    "base two": (exp(X), exp2(times(X, LOG2_E))),
    "base e": (exp2(X), exp(times(LN_2, X))),
    "logarithm of base two": (log(X), times(log2(X), LN_2)),
    "exp of log": (exp(log(ABOVE_ONE)), ABOVE_ONE),
    "exp of a negative log": (exp(minus(X, log(ABOVE_ONE))), over(exp(X), ABOVE_ONE)),
    "log of exp": (log(exp(X)), X),
    "log of exp, divided": (log(over(exp(X), ABOVE_ONE)), minus(X, log(ABOVE_ONE))),
    "log of an inverse": (log(over(ONE, ABOVE_ONE)), minus(number(0.0), log(ABOVE_ONE))),
    "a root squared": (times(sqrt(ABOVE_ONE), sqrt(ABOVE_ONE)), ABOVE_ONE),
    "a root of a multiple": (sqrt(times(number(4.0), ABOVE_ONE)), times(TWO, sqrt(ABOVE_ONE))),
    "an inverse root": (op("math.rsqrt", ABOVE_ONE), over(ONE, sqrt(ABOVE_ONE))),
    "tanh": (
        op("math.tanh", X), minus(ONE, over(TWO, plus(ONE, exp(times(TWO, X))))),
    ),
    "a decimal": (times(X, number(0.9)), times(X, minus(ONE, number(0.1)))),
}  # fmt: skip

BROKEN = {
    "a product of exponents": (exp(times(X, Y)), times(exp(X), exp(Y))),
    "a sum of exponentials": (exp(plus(X, Y)), plus(exp(X), exp(Y))),
    "the other base": (exp(X), exp2(X)),
    "the inverse scale": (exp(X), exp2(times(X, LN_2))),
    "a scale of four digits": (exp(X), exp2(times(X, number(1.4427)))),
    "the other logarithm": (log(X), log2(X)),
    "exp of log of a negative number": (exp(log(X)), X),
    "a square by a logarithm": (exp(times(TWO, log(X))), SQUARE),
    "log of a negative product": (log(times(X, Y)), plus(log(X), log(Y))),
    "log of a square": (log(SQUARE), times(TWO, log(X))),
    "log of a product that vanishes": (
        log(times(over(ONE, plus(ONE, exp(X))), over(ONE, plus(ONE, exp(Y))))),
        plus(log(over(ONE, plus(ONE, exp(X)))), log(over(ONE, plus(ONE, exp(Y))))),
    ),
    "log of a sum": (log(plus(ABOVE_ONE, ONE)), plus(log(ABOVE_ONE), log(ONE))),
    "root of a square": (sqrt(SQUARE), X),
    "root of a square, negative": (sqrt(SQUARE), minus(number(0.0), X)),
    "root of a negative number, squared": (times(sqrt(X), sqrt(X)), X),
    "roots of negative numbers": (sqrt(times(X, Y)), times(sqrt(X), sqrt(Y))),
    "eps outside of a root": (sqrt(plus(SQUARE, number(1e-6))), plus(sqrt(SQUARE), number(1e-3))),
    "tanh of half": (op("math.tanh", X), minus(ONE, over(TWO, plus(ONE, exp(X))))),
    "another decimal": (times(X, number(0.9)), times(X, minus(ONE, number(0.11)))),
}  # fmt: skip


@pytest.mark.parametrize("name", HOLDING)
def test_trees_equal_by_a_law_of_real_numbers_are_equal(name: str) -> None:
    assert are_equal(*HOLDING[name])


@pytest.mark.parametrize("name", BROKEN)
def test_trees_equal_only_for_some_real_numbers_are_unequal(name: str) -> None:
    assert not are_equal(*BROKEN[name])


def test_possibly_negative_trees_are_not_never_negative() -> None:
    never = (SQUARE, exp(X), plus(SQUARE, exp(Y)), over(SQUARE, exp(X)), op("math.absf", X),
             extreme("max or NaN", X, number(0.0)), extreme("max", X, number(0.0)))  # fmt: skip
    maybe = (X, times(X, Y), minus(SQUARE, exp(X)), log(exp(X)), op("math.tanh", SQUARE),
             number(-0.5), extreme("min", SQUARE, X), extreme("max", X, element(3)))  # fmt: skip

    assert [is_never_negative(each) for each in never] == [True] * len(never)
    assert [is_never_negative(each) for each in maybe] == [False] * len(maybe)


def test_constant_of_many_digits_is_not_taken_as_a_rounded_decimal() -> None:
    tenth, third = 0x3DCCCCCD, 0x3EAAAAAB

    assert source_constant("f32", tenth) == pow(10, -1, (1 << 31) - 1)
    assert source_constant("f32", third) is None
    assert source_constant("bf16", 0x3DCD) is None
