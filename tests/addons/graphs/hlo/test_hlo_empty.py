"""Axes of no elements and of one, and tensors of no axes, through every family of functions."""

import numpy as np
import pytest

from kvtrace.addons.graphs.hlo import ops, trace
from kvtrace.addons.graphs.hlo.errors import BadIndex
from tests.addons.graphs.hlo.agreement import agree

EMPTY = np.zeros((2, 0, 3), np.float32)
ONES = np.ones((1, 3, 1), np.float32)
SCALAR = np.array(2.5, np.float32)

PROGRAMS = {
    "sort": lambda x: (np.sort(x, axis=0), np.argsort(x, axis=-1), np.sort(x, axis=None)),
    "cumsum": lambda x: (np.cumsum(x), np.cumsum(x, axis=-1)),
    "einsum": lambda x: (np.einsum("abc->cab", x), np.einsum("abc,abd->cd", x, x)),
    "matmul": lambda x: (x @ np.swapaxes(x, -1, -2), np.outer(x, x)),
    "take": lambda x: (
        np.take(x, np.array([], np.int32), axis=0),
        x[np.zeros((0, 2), int)],
        x[[0]],
    ),
    "reductions": lambda x: (np.std(x, axis=0), np.sum(x, axis=(0, -1)), np.prod(x), np.all(x, 1)),
    "pad": lambda x: (np.pad(x, ((1, 1), (0, 2), (0, 0))), np.roll(x, 1, axis=1), np.flip(x)),
    "stack": lambda x: (np.stack([x, x], 1), np.tile(x, (2, 1, 2)), np.repeat(x, 2, axis=1)),
    "diagonals": lambda x: (np.diff(x, axis=0), np.tril(x), np.diagonal(x), np.trace(x)),
    "norms": lambda x: (np.linalg.norm(x), np.linalg.norm(x, axis=0)),
    "along": lambda x: np.take_along_axis(x, np.argsort(x, axis=0), axis=0),
    "scatter": lambda x: np.add.at(x, np.array([0, 0]), 1.0),
    "split": lambda x: np.split(x, 1, axis=1),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_functions_of_axes_of_no_or_one_element_equal_numpys(name):
    agree(PROGRAMS[name], EMPTY)
    agree(PROGRAMS[name], ONES)


def test_functions_of_scalars_equal_numpys():
    def program(x):
        made = x.reshape(1, 1), x[None], np.expand_dims(x, 0), x.ravel(), x[...]
        sums = np.sum(x), np.max(x), np.argmax(x), np.mean(x), np.std(x), np.cumsum(x)
        return *made, *sums, np.sort(x, axis=None), np.broadcast_to(x, (2,)), x * np.ones(3)

    def written(x):
        x += 1
        x[()] = x * 3

    agree(program, SCALAR)
    agree(written, SCALAR)
    agree(lambda x: ops.softmax(x[None]), SCALAR, numpy=lambda x: np.ones(1))


def test_taking_elements_of_an_empty_axis_is_refused():
    with pytest.raises(BadIndex, match="index 0 is out of bounds for axis 1 with size 0"):
        trace(lambda x: np.take(x, np.array([0]), axis=1)).specialize(EMPTY)
