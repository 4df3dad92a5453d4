"""Constants of trees that tensors are filled with."""

from kvtrace.addons.invariance.trees import constants_of, exceeded_constants
from tests.addons.invariance.laws import X, number, plus, times


def test_constants_of_usual_magnitudes_are_drawn_with_their_negatives() -> None:
    formula = plus(times(X, number(0.375)), plus(number(1e-6), plus(number(1e30), number(1.0))))

    assert constants_of([formula]) == (-0.375, 0.375)


def test_constants_that_rows_may_lie_beyond_keep_their_sign() -> None:
    formula = plus(times(X, number(0.375)), plus(number(-1e4), plus(number(30.0), number(1e37))))

    assert exceeded_constants([formula]) == (-1e4, 30.0)
