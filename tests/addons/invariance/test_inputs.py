"""Numbers that tensors hold where versions are compared."""

import numpy as np
import pytest

from kvtrace.addons.invariance.inputs import INPUTS, Inputs, constants_of, numbers_of
from kvtrace.evaluate.arguments import Storage, TensorArgument
from tests.addons.invariance.laws import X, number, plus, times

_BYTES = {"fp16": 2, "bf16": 2, "fp32": 4, "fp64": 8}


def drawn(inputs: Inputs, dtype: str = "fp32") -> np.ndarray:
    storage = Storage(64 * _BYTES[dtype])
    tensor = TensorArgument("x", storage, 0, dtype, (4, 16), (16, 1))
    return numbers_of(inputs, tensor, 1, (0.375, -0.375)).astype(np.float64)


@pytest.mark.parametrize("dtype", _BYTES)
@pytest.mark.parametrize("inputs", INPUTS)
def test_each_kind_has_numbers_of_each_type(inputs: Inputs, dtype: str) -> None:
    numbers = drawn(inputs, dtype)

    assert numbers.shape == (4, 16)
    assert np.isfinite(numbers).all() == ("NaN" not in inputs and "infinities" not in inputs)


@pytest.mark.parametrize(("dtype", "limit"), [("fp16", 88), ("fp32", 88), ("fp64", 709)])
def test_exponentials_of_some_overflow_and_of_most_do_not(dtype: str, limit: float) -> None:
    sizes = np.abs(drawn("numbers up to the limit of exp", dtype))

    assert (sizes < limit).mean() > 0.9
    assert sizes.max() > limit * 0.75


def test_squares_of_large_numbers_are_numbers_and_their_squares_are_not() -> None:
    with np.errstate(over="ignore", under="ignore"):
        large, minute = (
            np.abs(drawn(kind).astype(np.float32)) ** np.float32(2)
            for kind in ("large numbers", "minute numbers")
        )

        assert np.isfinite(large).all()
        assert np.isinf(large**2).mean() > 0.5
        assert (minute > 0).all()
        assert (minute**2 == 0).mean() > 0.5


def test_constants_that_numbers_are_compared_with_are_drawn() -> None:
    formula = plus(times(X, number(0.375)), plus(number(1e-6), plus(number(1e30), number(1.0))))

    assert constants_of([formula]) == (-0.375, 0.375)
    assert set(drawn("constants of the kernels").flat) == {-0.375, 0.375}
