import ml_dtypes
import numpy as np
import pytest

from tests.addons.graphs.hlo.agreement import agree, agree_on_all, words

RANDOM = np.random.default_rng(11)
SHAPES = [(2, 3, 4), (3, 1, 5), (1,)]


def floats(shape):
    return RANDOM.normal(size=shape).astype(np.float32)


@pytest.mark.parametrize(
    "name", words("sum prod max min mean var std any all argmax argmin count_nonzero")
)
def test_reductions_over_axes_equal_numpys(name):
    function = getattr(np, name)

    def program(x):
        several = [(0, -1)] if x.ndim > 1 and not name.startswith("arg") else []
        axes = [None, 0, -1, *several]
        return [function(x, axis=axis, keepdims=kept) for axis in axes for kept in (False, True)]

    agree_on_all(program, [(floats(shape),) for shape in SHAPES])


@pytest.mark.parametrize("name", words("sum prod max min any all argmax count_nonzero"))
def test_reductions_of_integers_and_bools_equal_numpys(name):
    function = getattr(np, name)
    cases = []
    for dtype in ("int32", "uint8", "int64", "bool"):
        x = RANDOM.integers(0, 3, size=(3, 4)).astype(dtype)
        cases.append((np.minimum(x, 1) if dtype == "uint8" and name == "prod" else x,))
    agree_on_all(lambda x: (function(x), function(x, axis=1)), cases)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16, np.float64])
def test_sums_of_floats_of_16_and_64_bits_are_close_to_exact(dtype):
    x = RANDOM.normal(size=(64, 33)).astype(dtype)

    def exact(x):
        x = x.astype(np.float64)
        return x.sum(axis=0), x.mean(axis=0), x.var(axis=0), x.max(axis=0)

    agree(lambda x: (x.sum(axis=0), x.mean(axis=0), x.var(axis=0), x.max(axis=0)), x, numpy=exact)


def test_reductions_of_no_elements_equal_numpys():
    x = np.zeros((0, 3), np.float32)
    agree(lambda x: (x.sum(axis=0), x.prod(axis=0), np.any(x), np.all(x), x.max(axis=1)), x)


def test_an_extreme_of_elements_with_nan_is_nan():
    x = np.array([[1.0, np.nan, 3.0, np.nan], [3.0, 1.0, 3.0, 1.0]], np.float32)
    agree(lambda x: (x.max(1), x.min(1), x.argmax(1), x.argmin(1), np.argmax(x)), x)


def test_reductions_accept_initial_dtype_and_ddof():
    x = floats((3, 4))
    agree(lambda x: (np.sum(x, axis=0, initial=2.0), np.max(x, axis=0, initial=0.0)), x)
    agree(lambda x: np.sum(x, dtype=np.float64), x)
    agree(lambda x: (np.var(x, ddof=1), np.std(x, axis=0, ddof=1, keepdims=True)), x)


def test_reductions_are_methods_and_accept_out():
    x = floats((3, 4))

    def program(x):
        total = np.zeros_like(x[0])
        x.sum(axis=0, out=total)
        return total, x.mean(), x.std(0), x.argmin(1), x.any(), x.all(axis=-1), x.prod(), x.min()

    agree(program, x)


def test_the_mean_of_integers_is_float32():
    n = RANDOM.integers(-5, 5, size=(4, 5)).astype(np.int32)
    graph = agree(lambda n: (np.mean(n), np.var(n, axis=0), np.std(n)), n)
    assert {spec.dtype.name for spec in graph.outputs} == {"float32"}
