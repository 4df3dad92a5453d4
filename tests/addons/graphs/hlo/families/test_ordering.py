import ml_dtypes
import numpy as np
import pytest

from kvtrace.addons.graphs.hlo import ops, trace
from kvtrace.addons.graphs.hlo.errors import BadArgument, ShapeMismatch
from tests.addons.graphs.hlo.agreement import agree

RANDOM = np.random.default_rng(5)
WITH_NAN = np.array([[3.0, np.nan, -1.0, np.inf], [2.0, 2.0, -np.inf, np.nan]], np.float32)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16", "int32", "uint8", "bool"])
def test_sorts_equal_numpys(dtype):
    x = RANDOM.integers(0, 2 if dtype == "bool" else 6, size=(3, 4, 5))
    x = x.astype(getattr(ml_dtypes, dtype, dtype))

    def program(x):
        return np.sort(x), np.sort(x, axis=0), np.sort(x, axis=None), np.sort(x, 1)

    def positions(x):
        return np.argsort(x, kind="stable"), np.argsort(x, axis=1, kind="stable")

    agree(program, x)
    agree(positions, x)


def test_nan_is_sorted_last():
    agree(lambda x: (np.sort(x), np.argsort(x), np.argsort(-x, axis=0)), WITH_NAN)
    nan = -WITH_NAN  # of the other sign
    agree(lambda x: np.argsort(x, kind="stable"), nan)


def test_the_sort_method_sorts_in_place():
    def program(x):
        x[0].sort()
        x.sort(axis=0)

    graph = agree(program, RANDOM.normal(size=(4, 5)).astype(np.float32))
    assert graph.aliases == {"x": "x"}


def by_hand(x, k, axis, ascending):
    order = np.argsort(x if ascending else -x.astype(np.float64), axis=axis, kind="stable")
    order = np.take(order, range(k), axis=axis)
    return np.take_along_axis(x, order, axis), order


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "int32", "uint8"])
def test_topk_returns_the_extremes_and_their_positions(dtype):
    x = RANDOM.permutation(60).reshape(3, 4, 5).astype(getattr(ml_dtypes, dtype, dtype))
    for k, axis, ascending in ((2, 0, False), (3, -1, False), (4, 1, True), (0, 0, False)):
        graph = agree(ops.topk, x, k, axis, ascending, numpy=by_hand)
        assert graph.outputs[1].dtype == np.uint32
    ties = np.array([3, 1, 3, 3], np.int32)
    agree(lambda x: ops.topk(x, 2), ties, numpy=lambda x: by_hand(x, 2, 0, False))


@pytest.mark.parametrize("dtype", ["float32", "float16", "int32", "bool"])
def test_cumulative_sums_equal_numpys(dtype):
    x = (RANDOM.integers(0, 3, size=(3, 4)) % (2 if dtype == "bool" else 3)).astype(dtype)

    def program(x):
        return np.cumsum(x), np.cumsum(x, axis=0), x.cumsum(-1)

    agree(program, x)


def test_cumulative_sums_of_no_elements_and_of_another_type_equal_numpys():
    x = RANDOM.normal(size=(4, 5)).astype(np.float32)
    agree(lambda x: (np.cumsum(x[:0], axis=0), np.cumsum(x, dtype=np.float64)), x)


def test_topk_and_sorts_with_bad_arguments_are_refused():
    with pytest.raises(ShapeMismatch, match="topk of 9 elements along axis 0, which has 2"):
        trace(lambda x: ops.topk(x, 9)).specialize(WITH_NAN)
    with pytest.raises(BadArgument, match="order names fields"):
        trace(lambda x: np.sort(x, order="name")).specialize(WITH_NAN)
