"""Sums in a fixed order: the same bits whatever is beside them."""

import numpy as np

from kvtrace.evaluate.fixed_order import by_halves, product_by_terms


def test_a_sum_by_halves_does_not_depend_on_neighboring_elements() -> None:
    values = np.random.default_rng(0).standard_normal((512, 7)).astype(np.float32)

    alone = by_halves(np.add, values[:, :1], 0)
    beside = by_halves(np.add, values, 0)
    transposed = by_halves(np.add, np.ascontiguousarray(values.T), 1)

    assert alone[0] == beside[0] == transposed[0]
    assert (beside == transposed).all()


def test_a_sum_by_halves_adds_an_odd_element_in_the_next_round() -> None:
    ends = by_halves(np.add, np.array([1.0, 2.0, 4.0]), 0)

    assert ends == 7.0


def test_a_product_by_terms_adds_in_ascending_order_of_k() -> None:
    left = np.array([[[1e8, 1.0, -1e8]]], np.float32)

    assert product_by_terms(left, np.ones((1, 3, 1), np.float32))[0, 0, 0] == 0.0
