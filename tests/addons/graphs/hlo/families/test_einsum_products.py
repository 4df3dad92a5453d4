import ml_dtypes
import numpy as np
import pytest

from kvtrace.addons.graphs.hlo import ops
from tests.addons.graphs.hlo.agreement import agree

RANDOM = np.random.default_rng(3)


def floats(*shape):
    return RANDOM.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ((3,), (3,)),
        ((3,), (3, 4)),
        ((2, 3), (3,)),
        ((2, 3), (3, 4)),
        ((5, 2, 3), (3, 4)),
        ((5, 2, 3), (5, 3, 4)),
        ((2, 3), (5, 3, 4)),
        ((3,), (5, 3, 4)),
        ((5, 2, 3), (3,)),
        ((1, 4, 2, 3), (5, 1, 3, 1)),
        ((2, 0), (0, 3)),
        ((0, 2), (2, 3)),
    ],
)
def test_matmul_equals_numpys(left, right):
    agree(
        lambda x, y: (x @ y, np.matmul(x, y), ops.matmul(x, y) * 1),
        floats(*left),
        floats(*right),
        numpy=lambda x, y: (x @ y,) * 3,
    )


def test_dot_and_outer_equal_numpys():
    x, y = floats(2, 3), floats(3, 4)
    batch = floats(5, 3, 2)
    agree(lambda x, y, b: (np.dot(x, y), np.dot(x, b), x.dot(y), np.dot(x, 2.0)), x, y, batch)
    agree(lambda x: np.outer(x, x), x)


@pytest.mark.parametrize(
    "dtype", [np.float16, ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, np.float64]
)
def test_products_of_floats_of_8_16_and_64_bits_are_close_to_exact(dtype):
    x, y = floats(4, 8).astype(dtype), floats(8, 3).astype(dtype)
    agree(lambda x, y: x @ y, x, y, numpy=lambda x, y: x.astype(np.float64) @ y.astype(np.float64))


def test_products_of_integers_and_bools_equal_numpys():
    x = RANDOM.integers(-3, 4, size=(3, 4)).astype(np.int32)
    agree(lambda x: (x @ x.T, (x > 0) @ (x.T > 0)), x)
