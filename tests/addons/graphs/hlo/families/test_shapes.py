import numpy as np
import pytest

from kvtrace.addons.graphs.hlo import ops, trace
from kvtrace.addons.graphs.hlo.errors import BadArgument
from tests.addons.graphs.hlo.agreement import agree

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
EMPTY = np.zeros((2, 0, 4), np.float32)
ONES = np.ones((1, 3, 1), np.float32)
MATRIX = np.arange(20, dtype=np.int32).reshape(4, 5)

CASES = {
    "reshape": lambda x: (x.reshape(-1), np.reshape(x, (x.shape[2], -1, 1)) if x.size else x),
    "ravel": lambda x: (np.ravel(x), x.ravel(), x.flatten()),
    "transpose": lambda x: (x.T, np.transpose(x, (1, 0, 2)), x.transpose(2, 0, 1), x.transpose()),
    "swapaxes": lambda x: (np.swapaxes(x, 0, -1), x.swapaxes(1, 2), x.mT),
    "moveaxis": lambda x: (
        np.moveaxis(x, 0, -1),
        np.moveaxis(x, (0, 1), (-1, 0)),
    ),
    "expand_dims": lambda x: (np.expand_dims(x, 0), np.expand_dims(x, (-1, 1)), x[:, None]),
    "squeeze": lambda x: (np.squeeze(x), x[:, :1].squeeze(1) if x.shape[1] else x),
    "broadcast_to": lambda x: (np.broadcast_to(x, (5, *x.shape)), np.broadcast_to(x[:1], x.shape)),
    "concatenate": lambda x: (np.concatenate([x, x], -1), np.concatenate((x, x), axis=None)),
    "stack": lambda x: (
        np.stack([x, x]),
        np.stack([x, x], axis=-1),
    ),
    "split": lambda x: (
        *np.split(x, 1, axis=-1),
        *np.split(x, x.shape[0], axis=0),
        *np.split(x, [1, 3], 2),
    ),
    "tile": lambda x: (np.tile(x, 2), np.tile(x, (2, 1, 3)), np.tile(x, (2, 1, 1, 1))),
    "repeat": lambda x: (
        np.repeat(x, 2),
        np.repeat(x, 3, axis=1),
        x.repeat(2, -1),
    ),
    "flip": lambda x: (np.flip(x), np.flip(x, 1), np.flip(x, (0, -1))),
    "roll": lambda x: (np.roll(x, 2), np.roll(x, -1, axis=1), np.roll(x, (1, 2), axis=(0, 2))),
    "copy": lambda x: (x.copy(), np.copy(x)),
    "diff": lambda x: (
        np.diff(x),
        np.diff(x, n=2, axis=-1),
        np.diff(x, axis=0),
        np.diff(x, prepend=0.0),
    ),
    "pad": lambda x: (np.pad(x, 1), np.pad(x, ((1, 2), (0, 1), (0, 0)), constant_values=3)),
}


@pytest.mark.parametrize("name", CASES)
def test_functions_that_move_elements_equal_numpys(name):
    for x in (X, ONES, EMPTY):
        agree(CASES[name], x)


def test_padding_with_the_elements_at_the_edge_equals_numpys():
    agree(lambda x: np.pad(x, ((1, 2), (2, 0), (3, 3)), mode="edge"), X)
    for settings in ({"mode": "wrap"}, {"constant_values": ((1, 2),) * 3}):
        with pytest.raises(BadArgument, match=r"np\.pad"):
            trace(lambda x, settings: np.pad(x, 1, **settings)).specialize(X, settings)


def test_triangles_and_diagonals_equal_numpys():
    for k in (-2, 0, 1):
        agree(lambda m, k: (np.tril(m, k), np.triu(m, k), np.diag(m, k), np.trace(m, k)), MATRIX, k)
    agree(lambda v: (np.diag(v), np.diag(v, 2), np.diag(v, -1)), MATRIX[0])
    agree(lambda x: (np.diagonal(x), np.diagonal(x, 1, 1, 2), np.trace(x), np.tril(x)), X)
    agree(lambda m: np.diag(m, 7), MATRIX)


def test_created_tensors_equal_numpys():
    v = np.array([1.0, 2.0, 3.0], np.float32)
    agree(
        lambda v: (np.zeros_like(v), np.ones_like(v), np.full_like(v, 7), np.empty_like(v) * 0), v
    )
    agree(lambda v: v + np.zeros(3, np.float32), v)
    agree(
        lambda: (ops.arange(2, 9, 3), ops.arange(0, 1, 0.25)),
        numpy=lambda: (np.arange(2, 9, 3), np.arange(0, 1, 0.25)),
    )
    agree(
        lambda: (
            ops.zeros((2, 3)),
            ops.full((2,), 1.5),
            ops.ones(3, "bfloat16"),
            ops.constant([[1, 2]]),
        ),
        numpy=lambda: (np.zeros((2, 3)), np.full(2, 1.5), np.ones(3), np.array([[1, 2]])),
    )


def test_where_equals_numpys():
    agree(lambda x: (np.where(x > 5, x, -1.0), np.where(x[0] > 5, x, 0)), X)


def test_conversions_equal_numpys():
    x = np.array([-1.5, 0.0, 2.7], np.float32)
    agree(
        lambda x: (
            x.astype(np.int32),
            x.astype(bool),
            x.astype("float16"),
            np.astype(x, np.float64),
        ),
        x,
    )
