"""Quotients and remainders of sums by constants: those of integers, with terms kept separate."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.evaluate.sums import divide_signed, remainder_signed
from kvtrace.evaluate.types import value_type
from kvtrace.evaluate.values import Sum, constant_sum, to_array
from kvtrace.ir.types import IntegerType, TensorType

LANES = value_type(TensorType((4, 2), IntegerType(64)))


def sum_of(constant: int, *terms: np.ndarray[Any, Any]) -> Sum:
    low = constant + sum(int(term.min()) for term in terms)
    high = constant + sum(int(term.max()) for term in terms)
    return Sum(constant, terms, low, high)


def digits(value: Sum, divisor: int) -> tuple[Any, Any]:
    return tuple(
        function(value, constant_sum(divisor), LANES)
        for function in (divide_signed, remainder_signed)
    )


@pytest.mark.parametrize("divisor", [64, 1024, 4096])
def test_a_program_and_its_lanes_stay_separate_terms(divisor):
    programs = 1024 * np.arange(100).reshape(-1, 1)
    lanes = np.arange(1024).reshape(1, -1)

    for part in digits(sum_of(2048, programs, lanes), divisor):
        assert all(1 in term.shape for term in part.terms)


@given(
    st.integers(-100, 100),
    st.lists(st.integers(-50, 50), min_size=3, max_size=3),
    st.lists(st.integers(0, 50), min_size=4, max_size=4),
    st.lists(st.integers(0, 8), min_size=2, max_size=2),
    st.integers(1, 40),
    st.integers(1, 12),
)
def test_digits_of_sums_are_those_of_integers(constant, first, second, third, divisor, scale):
    value = sum_of(
        constant,
        scale * np.array(first).reshape(3, 1, 1),
        np.array(second).reshape(1, 4, 1),
        np.array(third).reshape(1, 1, 2),
    )
    value = Sum(value.constant - min(value.low, 0), value.terms, 0, value.high - min(value.low, 0))
    exact = to_array(value, LANES)

    quotient, remainder = digits(value, divisor)

    for part, expected in ((quotient, exact // divisor), (remainder, exact % divisor)):
        numbers = np.broadcast_to(to_array(part, LANES), exact.shape)
        assert np.array_equal(numbers, expected)
        if isinstance(part, Sum):
            assert part.low <= numbers.min() <= numbers.max() <= part.high


@pytest.mark.parametrize(("constant", "shift"), [(0, -(1 << 63)), (-(1 << 63), 1 << 62)])
def test_parts_beyond_int64_that_cancel_are_divided_as_their_sum(constant, shift):
    programs = np.array([0, 10]).reshape(2, 1, 1) + shift
    lanes = np.array([0, 7]).reshape(1, 1, 2) + shift
    value = Sum(constant, (programs, lanes), 0, 17)

    quotient, remainder = digits(value, 3)

    assert to_array(quotient, LANES).tolist() == [[[0, 2]], [[3, 5]]]
    assert to_array(remainder, LANES).tolist() == [[[0, 1]], [[1, 2]]]
