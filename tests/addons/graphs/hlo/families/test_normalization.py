import ml_dtypes
import numpy as np
import pytest

from kvtrace.addons.graphs.hlo import ops, trace
from kvtrace.addons.graphs.hlo.errors import BadArgument
from tests.addons.graphs.hlo.agreement import agree

RANDOM = np.random.default_rng(13)
X = RANDOM.normal(size=(3, 4, 5)).astype(np.float32) * 5
WEIGHT = RANDOM.normal(size=5).astype(np.float32)


def softmax(x, axis=-1):
    x = x.astype(np.float64)
    powers = np.exp(x - x.max(axis=axis, keepdims=True))
    return powers / powers.sum(axis=axis, keepdims=True)


def layer_norm(x, weight, bias, eps=1e-5, axis=-1):
    x = x.astype(np.float64)
    normal = (x - x.mean(axis, keepdims=True)) / np.sqrt(x.var(axis, keepdims=True) + eps)
    return normal * weight + bias


def rms_norm(x, weight, eps=1e-6, axis=-1):
    x = x.astype(np.float64)
    return x / np.sqrt((x**2).mean(axis, keepdims=True) + eps) * weight


@pytest.mark.parametrize("dtype", [np.float32, np.float16, ml_dtypes.bfloat16, np.float64])
def test_normalization_layers_equal_their_formulas(dtype):
    x, weight = X.astype(dtype), WEIGHT.astype(dtype)

    def program(x, w):
        norms = ops.layer_norm(x, w, w), ops.rms_norm(x, w), ops.rms_norm(x)
        return ops.softmax(x), ops.softmax(x, axis=0), ops.log_softmax(x), *norms

    def by_hand(x, w):
        w = w.astype(np.float64)
        norms = layer_norm(x, w, w), rms_norm(x, w), rms_norm(x, 1)
        return softmax(x), softmax(x, 0), np.log(softmax(x)), *norms

    graph = agree(program, x, weight, numpy=by_hand)
    assert {output.dtype for output in graph.outputs} == {np.dtype(dtype)}


def test_softmax_and_layer_norm_of_large_values_do_not_overflow():
    x = np.array([[1e4, 1e4 - 1, -1e4], [-np.inf, 0, 0]], np.float32)
    agree(
        lambda x: (ops.softmax(x), ops.layer_norm(x[:1], axis=(0, 1))),
        x,
        numpy=lambda x: (softmax(x), layer_norm(x[:1], 1, 0, axis=(0, 1))),
    )


def test_euclidean_norms_equal_numpys():
    agree(
        lambda x: (
            np.linalg.norm(x),
            np.linalg.norm(x, keepdims=True),
            np.linalg.norm(x, axis=-1),
            np.linalg.norm(x, 2, axis=1, keepdims=True),
            np.linalg.norm(x, axis=(0, 2)),
            np.linalg.norm(x[0, 0], 2),
        ),
        X,
    )
    agree(lambda n: np.linalg.norm(n), np.array([[1, -2], [3, 4]], np.int32))


@pytest.mark.parametrize("order", [2, 1, "fro", np.inf])
def test_norms_of_other_orders_are_refused(order):
    with pytest.raises(BadArgument, match=f"norm of order {order}"):
        trace(lambda x: np.linalg.norm(x, order)).specialize(X[0])
