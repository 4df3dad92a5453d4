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
def test_every_kind_of_inputs_exists_for_every_float_type(inputs: Inputs, dtype: str) -> None:
    numbers = drawn(inputs, dtype)

    assert numbers.shape == (4, 16)
    assert np.isfinite(numbers).all() == ("NaN" not in inputs and "infinities" not in inputs)


@pytest.mark.parametrize(("dtype", "limit"), [("fp16", 88), ("fp32", 88), ("fp64", 709)])
def test_exponentials_overflow_for_few_numbers_up_to_the_limit(dtype: str, limit: float) -> None:
    sizes = np.abs(drawn("numbers up to the limit of exp", dtype))

    assert (sizes < limit).mean() > 0.9
    assert sizes.max() > limit * 0.75


def test_large_numbers_have_finite_squares_but_infinite_fourth_powers() -> None:
    with np.errstate(over="ignore", under="ignore"):
        large, minute = (
            np.abs(drawn(kind).astype(np.float32)) ** np.float32(2)
            for kind in ("large numbers", "minute numbers")
        )

        assert np.isfinite(large).all()
        assert np.isinf(large**2).mean() > 0.5
        assert (minute > 0).all()
        assert (minute**2 == 0).mean() > 0.5


def test_inputs_include_constants_that_the_kernel_compares_with() -> None:
    formula = plus(times(X, number(0.375)), plus(number(1e-6), plus(number(1e30), number(1.0))))

    assert constants_of([formula]) == (-0.375, 0.375)
    assert set(drawn("constants of the kernels").flat) == {-0.375, 0.375}
