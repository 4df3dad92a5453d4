"""Values of libdevice where good guesses differ from an H100 (Triton 3.6)."""

import numpy as np
import pytest

from kvtrace.evaluate.dialects.libdevice import library_function

INF, NAN = float("inf"), float("nan")
CASES = [
    ("__nv_roundf", [[0.49999997, -0.49999997, 8388609, 2.5]], [0.0, -0.0, 8388609, 3.0]),
    ("__nv_round", [[0.49999999999999994, 4503599627370497.0]], [0.0, 4503599627370497.0]),
    ("__nv_fast_fdividef", [[1, 2.0**127, INF], [2.0**127] * 3], [0.0, 0.0, NAN]),
    ("__nv_fast_powf", [[-2, 0, 2], [2, 0, 3]], [NAN, NAN, 8.0]),
    ("__nv_fast_sinf", [[1e10, 1e20]], [0.0, 0.0]),
    ("__nv_fast_cosf", [[1e10, -1e10]], [1.0, 1.0]),
    ("__nv_sinpi", [[-0.0, 1, -1, 1e300]], [-0.0, 0.0, -0.0, 0.0]),
    ("__nv_cospi", [[0.5, -1.5, 1.7e308]], [0.0, 0.0, 1.0]),
    ("__nv_erff", [[-0.0, 1e-40]], [-0.0, 0.0]),
    ("__nv_normcdfinv", [[0.5]], [0.0]),
    ("__nv_remainder", [[1e308, -1e308, 5], [1.5e308, 1.5e308, 0]], [-5e307, 5e307, NAN]),
    ("__nv_dadd_rd", [[2.5, 0, 0], [-2.5, -0.0, 0]], [-0.0, -0.0, 0.0]),
    ("__nv_fma_rn", [[1.0, 2.0], [-0.0, 0.5], [-0.0, -1.0]], [-0.0, 0.0]),
    ("__nv_fma_rd", [[1.0, 2.0], [0.0, 0.5], [-0.0, -1.0]], [-0.0, -0.0]),
    ("__nv_cbrtf", [[1e-40, 8]], [NAN, 2.0]),
    ("__nv_floorf", [[-1e-40, -0.5]], [-0.0, -1.0]),
]


@pytest.mark.parametrize(("symbol", "operands", "right"), CASES)
def test_special_values_are_those_of_the_device(symbol, operands, right):
    dtype = np.float32 if symbol.endswith("f") else np.float64

    with np.errstate(all="ignore"):
        result = library_function(symbol)(*(np.array(operand, dtype) for operand in operands))

    np.testing.assert_array_equal(result, np.array(right, dtype))
    numbers = ~np.isnan(result)
    assert np.signbit(result[numbers]).tolist() == np.signbit(np.array(right)[numbers]).tolist()


@pytest.mark.parametrize(
    ("symbol", "dtype", "right"),
    [
        ("__nv_float2ll_rn", np.float32, -(2**63)),
        ("__nv_double2int_rz", np.float64, -(2**31)),
        ("__nv_llrint", np.float64, -(2**63)),
        ("__nv_float2int_rn", np.float32, 0),
    ],
)
def test_nan_becomes_the_highest_bit_alone_or_zero(symbol, dtype, right):
    assert library_function(symbol)(np.array([NAN], dtype)).tolist() == [right]


def test_ocml_keeps_denormals():
    small = np.array([1e-40], np.float32)

    assert library_function("__ocml_tanh_f32")(small).any()
    assert not library_function("__nv_tanhf")(small).any()
