"""The type in which a dot multiplies, from the IR that Triton makes."""

import pytest
import triton
import triton.language as tl

from kvtrace.ir import parse
from kvtrace.metrics.of_ops import factor_type
from tests.support.compile_ttir import compile_generic


@triton.jit
def product(a, b, c, PRECISION: tl.constexpr):
    row, column = tl.arange(0, 32)[:, None], tl.arange(0, 32)[None, :]
    x, y = tl.load(a + row * 32 + column), tl.load(b + row * 32 + column)
    tl.store(c + row * 32 + column, tl.dot(x, y, input_precision=PRECISION))


@triton.jit
def scaled_product(a, a_scale, b, b_scale, out, LEFT: tl.constexpr, RIGHT: tl.constexpr):
    m, k, groups = tl.arange(0, 32), tl.arange(0, 64), tl.arange(0, 2)
    left = tl.load(a + m[:, None] * 64 + k[None, :])
    right = tl.load(b + k[:, None] * 32 + m[None, :])
    left_scale = tl.load(a_scale + m[:, None] * 2 + groups[None, :])
    right_scale = tl.load(b_scale + m[:, None] * 2 + groups[None, :])
    total = tl.dot_scaled(left, left_scale, LEFT, right, right_scale, RIGHT)
    tl.store(out + m[:, None] * 32 + m[None, :], total)


def dot_of(text):
    (dot,) = [op for op in parse(text).ops if op.name.startswith("tt.dot")]
    return dot


@pytest.mark.parametrize(
    ("stored", "precision", "expected"),
    [
        ("fp32", "tf32", "tf32"),
        ("fp32", "tf32x3", "tf32x3"),
        ("fp32", "ieee", "f32"),
        ("bf16", "tf32", "bf16"),
        ("fp8e4nv", "ieee", "f8E4M3FN"),
        ("i8", "ieee", "i8"),
    ],
)
def test_the_type_of_a_dots_factors_determines_its_peak_rate(stored, precision, expected):
    result = "*i32" if stored == "i8" else "*fp32"
    signature = {"a": f"*{stored}", "b": f"*{stored}", "c": result, "PRECISION": "constexpr"}
    assert factor_type(dot_of(compile_generic(product, signature, {"PRECISION": precision}))) == (
        expected
    )


def test_scaled_factors_have_the_type_that_they_are_packed_in():
    pointers = dict.fromkeys(("a", "a_scale", "b", "b_scale"), "*u8") | {"out": "*fp32"}
    signature = pointers | {"LEFT": "constexpr", "RIGHT": "constexpr"}
    text = compile_generic(scaled_product, signature, {"LEFT": "e4m3", "RIGHT": "e5m2"})
    assert factor_type(dot_of(text)) in ("f8E4M3FN", "f8E5M2")
