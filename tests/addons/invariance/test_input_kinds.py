"""Numbers that tensors hold where versions are compared."""

import ml_dtypes
import numpy as np
import pytest

from kvtrace.addons.invariance.input_kinds import INPUTS, Inputs, numbers_of

_TYPES = {
    "fp16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16),
    "fp32": np.dtype(np.float32), "fp64": np.dtype(np.float64),
}  # fmt: skip


def drawn(inputs: Inputs, dtype: str = "fp32", *constants: float, seed: int = 1) -> np.ndarray:
    numbers = numbers_of(inputs, (4, 16), _TYPES[dtype], seed, constants or (0.375, -0.375))
    return numbers.astype(np.float64)


@pytest.mark.parametrize("dtype", _TYPES)
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


def test_whole_rows_lie_beyond_each_constant() -> None:
    rows = drawn("numbers beyond the constants", "fp32", -1e4, 30.0)

    assert (rows[::2] < -1e4).all()
    assert (rows[1::2] > 30).all()


def test_operands_cancel_to_the_last_digit_beside_small_ones() -> None:
    first, second = (drawn("operands that cancel", seed=seed) for seed in (1, 2))

    sums = first + second
    assert (sums == 0).any()
    assert (np.abs(first)[sums == 0] > 1e4).all()
    assert ((np.abs(first) > 1e4) & (np.abs(second) < 10)).any()


def test_zeros_of_two_tensors_are_at_independent_places() -> None:
    first, second = (drawn("zeros in one tensor", seed=seed) == 0 for seed in (1, 2))

    assert {(False, True), (True, False), (True, True)} <= {
        *zip(first.flat, second.flat, strict=True)
    }


def test_constants_of_the_kernels_are_drawn() -> None:
    assert set(drawn("constants of the kernels").flat) == {-0.375, 0.375}


@pytest.mark.parametrize("dtype", _TYPES)
def test_numbers_right_beside_constants_are_drawn(dtype: str) -> None:
    numbers = drawn("numbers beside the constants", dtype)
    eps = float(ml_dtypes.finfo(_TYPES[dtype]).eps)

    assert (np.abs(numbers) != 0.375).all()
    assert (np.abs(np.abs(numbers) - 0.375) < eps).all()
    assert {*np.sign(np.abs(numbers) - 0.375).flat} == {-1, 1}


@pytest.mark.parametrize("dtype", _TYPES)
def test_twice_some_of_the_numbers_up_to_the_largest_is_infinite(dtype: str) -> None:
    with np.errstate(over="ignore"):
        doubled = drawn("numbers up to the largest", dtype).astype(_TYPES[dtype]) * 2

    assert {-np.inf, np.inf} < {*doubled.astype(np.float64).flat}


@pytest.mark.parametrize("shape", [(4, 16), (2, 3, 5, 4)])
def test_infinite_tiles_fill_half_of_each_row_and_column(shape: tuple[int, ...]) -> None:
    numbers = numbers_of("-infinities in tiles", shape, _TYPES["fp32"], 1)
    is_infinite = (numbers == -np.inf).reshape(-1, shape[-1])

    assert (is_infinite.mean(0) == 1 / 2).all()
    assert (is_infinite.mean(1) == 1 / 2).all()
    assert is_infinite[0, : shape[-1] // 2].all()


@pytest.mark.parametrize("shape", [(), (1,), (7,)])
def test_infinite_tiles_of_a_vector_begin_with_it(shape: tuple[int, ...]) -> None:
    numbers = np.ravel(numbers_of("-infinities in tiles", shape, _TYPES["fp32"], 1))
    half = -(-numbers.size // 2)

    assert (numbers[:half] == -np.inf).all()
    assert np.isfinite(numbers[half:]).all()
