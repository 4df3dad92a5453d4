"""Numbers of tensors' elements, compared with NumPy's and torch's."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from kvtrace.capture.sample_numbers import numbers_of, values_of
from kvtrace.schema.element_values import LEVELS, stored_type
from kvtrace.schema.tables import TABLES

FLOATS = {
    "fp64": torch.float64,
    "fp32": torch.float32,
    "fp16": torch.float16,
    "bf16": torch.bfloat16,
    "fp8e5": torch.float8_e5m2,
    "fp8e4nv": torch.float8_e4m3fn,
    "fp8e4b8": torch.float8_e4m3fnuz,
    "fp8e5b16": torch.float8_e5m2fnuz,
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", FLOATS)
def test_elements_of_any_bytes_are_those_of_torch(name: str) -> None:
    codes = torch.arange(1 << 16, dtype=torch.int32).to(torch.uint16).view(torch.uint8)
    values = values_of(codes.numpy().tobytes(), name)
    expected = codes.view(FLOATS[name]).to(torch.float64).numpy()
    assert np.array_equal(values, expected, equal_nan=True)
    assert stored_type(name).itemsize == FLOATS[name].itemsize


@pytest.mark.parametrize("name", ["i8", "u8", "i16", "u16", "i32", "u32", "i64", "u64"])
def test_integers_are_read_with_their_sign(name: str) -> None:
    content = bytes(range(248, 256)) + bytes(range(8))
    dtype = f"{name[0]}{int(name[1:]) // 8}"
    values = values_of(content, name)
    assert values.tolist() == np.frombuffer(content, dtype).astype(float).tolist()


@pytest.mark.parametrize("name", ["i1", "u1"])
def test_flags_are_0_and_1(name: str) -> None:
    assert values_of(b"\0\1\xff", name).tolist() == [0, 1, 1]


def test_elements_of_an_unknown_type_are_not_read() -> None:
    assert stored_type("fp4") is None


@given(
    arrays.arrays(
        np.float32,
        st.integers(1, 40),
        elements=st.floats(width=32) | st.sampled_from([0.0, -0.0, 1.0, math.inf, -math.inf]),
    )
)
def test_numbers_are_those_of_numpy(values: "np.ndarray") -> None:
    numbers = numbers_of(values_of(values.tobytes(), "fp32"))
    wide = values.astype(np.float64)
    finite = wide[np.isfinite(wide)]
    assert numbers["sampled"] == len(values)
    assert numbers["nans"] == np.isnan(values).sum()
    assert numbers["infinities"] == np.isinf(values).sum()
    assert numbers["negative_infinities"] == np.isneginf(values).sum()
    assert numbers["zeros"] == (finite == 0).sum()
    assert numbers["negatives"] == (finite < 0).sum()
    if not len(finite):
        assert numbers["minimum"] is numbers["mean"] is numbers["deviation"] is None
        return
    assert (numbers["minimum"], numbers["maximum"]) == (finite.min(), finite.max())
    scale = np.abs(finite).max() * 1e-12
    assert numbers["mean"] == pytest.approx(finite.mean(), rel=1e-9, abs=scale)
    assert numbers["deviation"] == pytest.approx(finite.std(), rel=1e-6, abs=scale)


@given(arrays.arrays(np.float64, st.integers(1, 60), elements=st.floats(-1e6, 1e6)))
def test_quantiles_are_those_of_numpy_without_zeros(values: "np.ndarray") -> None:
    quantiles = numbers_of(values)["quantiles"]
    nonzero = values[values != 0]
    if not len(nonzero):
        assert quantiles is None
    else:
        assert quantiles == pytest.approx(np.quantile(nonzero, LEVELS), rel=1e-9, abs=1e-9)


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=6))
def test_sorted_is_said_of_unequal_elements_in_order(values: list[int]) -> None:
    order = numbers_of(np.array(values, np.float64))["sorted"]
    is_constant = len(set(values)) == 1
    assert (order == "ascending") == (values == sorted(values) and not is_constant)
    assert (order == "descending") == (values == sorted(values, reverse=True) and not is_constant)


def test_elements_with_a_nan_are_not_sorted() -> None:
    assert numbers_of(np.array([1.0, 2.0, math.nan]))["sorted"] is None


@pytest.mark.filterwarnings("error")
def test_numbers_that_overflow_are_null() -> None:
    numbers = numbers_of(np.array([1.7e308, 1.7e308, -1.7e308]))
    assert numbers["maximum"] == 1.7e308
    assert numbers["deviation"] is None


def test_the_format_names_the_levels_of_quantiles():
    (column,) = [c for c in TABLES["tensor_statistics"].columns if c.name == "quantiles"]

    assert ", ".join(f"{level:g}" for level in LEVELS) in column.meaning
