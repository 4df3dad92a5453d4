"""Bit patterns and values of every float format, against independent implementations."""

import math
import struct

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kvtrace.ir.floats import FORMATS, bits_from_float, float_from_bits

PEERS = {
    "f16": np.float16,
    "bf16": ml_dtypes.bfloat16,
    "f8E5M2": ml_dtypes.float8_e5m2,
    "f8E4M3": ml_dtypes.float8_e4m3,
    "f8E3M4": ml_dtypes.float8_e3m4,
    "f8E4M3FN": ml_dtypes.float8_e4m3fn,
    "f8E5M2FNUZ": ml_dtypes.float8_e5m2fnuz,
    "f8E4M3FNUZ": ml_dtypes.float8_e4m3fnuz,
    "f8E4M3B11FNUZ": ml_dtypes.float8_e4m3b11fnuz,
    "f8E8M0FNU": ml_dtypes.float8_e8m0fnu,
    "f6E2M3FN": ml_dtypes.float6_e2m3fn,
    "f6E3M2FN": ml_dtypes.float6_e3m2fn,
    "f4E2M1FN": ml_dtypes.float4_e2m1fn,
}


@pytest.mark.parametrize("name", PEERS)
def test_every_pattern_decodes_as_in_ml_dtypes_and_round_trips(name: str) -> None:
    width = FORMATS[name].width
    patterns = np.arange(1 << width, dtype=np.uint16 if width == 16 else np.uint8)
    with np.errstate(invalid="ignore"):
        expected = patterns.view(PEERS[name]).astype(np.float64)
    for bits, value in zip(patterns.tolist(), expected.tolist(), strict=True):
        decoded = float_from_bits(bits, name)
        if math.isnan(value):
            assert math.isnan(decoded)
            continue
        assert decoded == value
        assert math.copysign(1, decoded) == math.copysign(1, value)
        assert bits_from_float(decoded, name) == bits


@given(st.integers(0, (1 << 32) - 1))
def test_f32_patterns(bits: int) -> None:
    (value,) = struct.unpack("<f", struct.pack("<I", bits))
    decoded = float_from_bits(bits, "f32")
    if math.isnan(value):
        assert math.isnan(decoded)
    else:
        assert decoded == value
        assert bits_from_float(decoded, "f32") == bits


@given(st.floats(allow_nan=False))
def test_f64_bits_equal_the_hosts(value: float) -> None:
    (bits,) = struct.unpack("<Q", struct.pack("<d", value))
    assert bits_from_float(value, "f64") == bits
    assert float_from_bits(bits, "f64") == value


@pytest.mark.parametrize("name", ["f16", "bf16", "f8E5M2", "f8E4M3FN", "f8E4M3FNUZ", "f4E2M1FN"])
@given(value=st.floats(allow_nan=False, width=32))
def test_rounding_is_to_nearest_even(name: str, value: float) -> None:
    with np.errstate(over="ignore"):
        peer = np.float32(value).astype(PEERS[name])
    rounded = float_from_bits(bits_from_float(value, name), name)
    expected = float(peer)
    assert rounded == expected or (math.isnan(rounded) and math.isnan(expected))


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_f32_rounding_equals_the_hosts(value: float) -> None:
    with np.errstate(over="ignore"):
        assert float_from_bits(bits_from_float(value, "f32"), "f32") == float(np.float32(value))
