"""Bounds of two formulas' distance: which are derived, of what, and that they hold."""

import re

import numpy as np
import pytest

from kvtrace.addons.invariance.rounding_bounds import bound_text
from kvtrace.evaluate.dialects import load_dialects
from kvtrace.symbolic.conditions import at_least
from kvtrace.symbolic.terms import as_term
from kvtrace.symbolic.trees.tree import Tree, bound, tree
from tests.addons.invariance.laws import X, Y, exp, log, minus, number, op, over, plus, times, where

COUNT = 64
LANE = bound(0, COUNT).term
LANES = tree("element", ("x", LANE * 4, "f32", ""))
BELOW_50 = tree("condition", (at_least(as_term(49) - LANE),))
MASKED = tree("element", ("x", LANE * 4, "f32", ""), (BELOW_50, number(float("-inf"))))
THIRD, HALF = number(0.3), number(0.5)

OF_ITS_VALUE = "of its value"
OF_ITS_TERMS = "of the sum of its terms' magnitudes"


@pytest.fixture(autouse=True)
def ops() -> None:
    load_dialects(["arith.addf", "math.exp"])


def reduced(name: str, elements: Tree) -> Tree:
    combination = op(name, tree("combined", (0,)), tree("combined", (1,)))
    return tree("reduction", ("tt.reduce", COUNT, 0, 0), (combination, elements))


def total(elements: Tree) -> Tree:
    return reduced("arith.addf", elements)


def powers(largest: Tree) -> Tree:
    return exp(minus(MASKED, largest))


def looped(trips: int, following: Tree) -> Tree:
    """Return the tree of a loop that carries one number, which begins with 0."""
    return tree("loop", (as_term(trips), 0, False, ((),)), (number(0.0), following))


CARRIED = tree("carried", (0, 0, ()))
MAXIMUM = reduced("arith.maxnumf", MASKED)
FLOORED = op("arith.maxnumf", MAXIMUM, number(-3e38))
MEAN = over(total(LANES), number(COUNT))
VARIANCE = plus(times(minus(X, MEAN), minus(X, MEAN)), number(1e-5))

BOUNDED = {
    "a scaled sum": (total(times(LANES, THIRD)), times(total(LANES), THIRD), OF_ITS_TERMS),
    "multiples of one number": (times(X, number(3.0)), plus(plus(X, X), X), OF_ITS_VALUE),
    "a loop of three trips": (looped(3, plus(CARRIED, X)), times(X, number(3.0)), OF_ITS_TERMS),
    "a softmax under a mask": (
        over(powers(MAXIMUM), total(powers(MAXIMUM))),
        times(powers(MAXIMUM), over(number(1.0), total(powers(MAXIMUM)))), OF_ITS_VALUE,
    ),
    "a maximum with a floor": (powers(MAXIMUM), powers(FLOORED), OF_ITS_VALUE),
    "a root of a variance": (
        times(X, op("math.rsqrt", VARIANCE)), over(X, op("math.sqrt", VARIANCE)),
        "where no divisor or root is below 2^-5",
    ),
    "a logarithm": (
        plus(log(total(powers(MAXIMUM))), X), plus(X, log(total(powers(FLOORED)))),
        "(and 1 for a logarithm)",
    ),
    "factored out": (plus(times(X, HALF), times(Y, HALF)), times(plus(X, Y), HALF), OF_ITS_TERMS),
}  # fmt: skip

UNBOUNDED = {
    "digits that the first version keeps": (
        times(plus(X, Y), THIRD), plus(times(X, THIRD), times(Y, THIRD)),
    ),
    "a constant that is subtracted first": (
        total(minus(LANES, HALF)), minus(total(LANES), number(COUNT / 2)),
    ),
    "a condition that roundings decide": (
        X, where("ogt", (plus(X, times(Y, THIRD)), number(1.0)), X, Y),
    ),
    "a function without a rule": (X, op("math.floor", times(X, THIRD))),
    "a divisor that may be zero": (over(X, minus(X, X)), over(X, minus(X, X))),
    "infinities that are not of a mask": (
        minus(number(float("-inf")), number(float("-inf"))), number(0.0),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", BOUNDED)
def test_a_bound_is_derived_and_says_of_what(name: str) -> None:
    before, after, expected = BOUNDED[name]

    text = bound_text([(before,), (after,)])

    assert text is not None
    assert expected in text


@pytest.mark.parametrize("name", UNBOUNDED)
def test_no_bound_is_derived(name: str) -> None:
    assert bound_text([(tree_,) for tree_ in UNBOUNDED[name]]) is None


def test_the_bound_of_a_scaled_sum_holds_for_numbers_that_cancel() -> None:
    text = bound_text([(BOUNDED["a scaled sum"][0],), (BOUNDED["a scaled sum"][1],)])
    match = re.search(r"within (\S+) of", text or "")
    assert match is not None
    random = np.random.default_rng(0)
    x = random.choice([-1.0, 1.0], (2_000, COUNT)) * 2.0 ** random.uniform(-15, 15, (2_000, COUNT))
    x = x.astype(np.float32)
    third = np.float32(0.3)

    inside = np.add.accumulate(x * third, axis=1, dtype=np.float32)[:, -1]
    outside = np.add.accumulate(x, axis=1, dtype=np.float32)[:, -1] * third

    magnitudes = np.abs(x.astype(np.float64) * third).sum(axis=1)
    shares = np.abs(inside.astype(np.float64) - outside) / magnitudes
    assert 0 < shares.max() <= float(match[1])


def test_a_last_rounding_of_both_versions_is_left_out() -> None:
    half = [
        tree("op", ("arith.truncf", (), "f16", 0), (form,))
        for form in (times(times(X, Y), X), times(X, times(Y, X)))
    ]

    text = bound_text([(half[0],), (half[1],)])

    assert text is not None
    assert text.startswith("each element, before it is rounded to f16, within 2.4e-07 of its value")
