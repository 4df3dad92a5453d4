"""Rolling and differences, against NumPy and XLA."""

import numpy as np
import pytest

from kvtrace.addons.graphs.hlo import trace
from kvtrace.addons.graphs.hlo.errors import BadArgument
from tests.addons.graphs.hlo.agreement import agree, agree_on_all

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def test_diff_promotes_the_types_of_prepend_and_append():
    low = np.arange(6, dtype=np.float16) ** 2
    agree_on_all(lambda x: np.diff(x, prepend=np.float32(0.1)), [(low,)])
    agree_on_all(lambda x: np.diff(x, append=np.float32([0.1, 7])), [(low,)])

    graph = trace(lambda x: np.diff(x, prepend=np.float32(0))).specialize(low)
    assert [spec.dtype.name for spec in graph.outputs] == ["float32"]


def test_roll_adds_several_shifts_along_one_axis():
    agree(
        lambda x: (
            np.roll(x, (1, 2), axis=0),
            np.roll(x, (1, 2)),
            np.roll(x, [3], axis=(1, 2)),
            np.roll(x, (1, -2), axis=(2, 2)),
        ),
        X,
    )


def test_roll_refuses_shifts_that_do_not_fit_the_axes():
    with pytest.raises(BadArgument, match="3 shifts for 2 axes"):
        trace(lambda x: np.roll(x, (1, 2, 3), axis=(0, 1)))(X)
