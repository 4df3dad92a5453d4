"""Names and forms of the public interfaces that programs use around and inside of kernels."""

from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.compiler as ncc
import kvtrace.addons.neuron.older.language as nl
from tests.addons.neuron.conftest import Run

ROWS = np.arange(128 * 64, dtype=np.float32).reshape(128, 64)


# -- outside of kernels -----------------------------------------------------------------------


def test_an_array_is_cast_outside_of_kernels() -> None:
    values = np.array([[0.1, 2.5, -3.5], [200, 7, -1]])

    assert nl.static_cast(values, nl.bfloat16).dtype == ml_dtypes.bfloat16
    assert np.array_equal(nl.static_cast(values, np.float32), values.astype(np.float32))
    assert np.array_equal(nl.static_cast(values, nl.float16), values.astype(np.float16))
    assert nl.static_cast(values, nl.int8).tolist() == [[0, 2, -4], [127, 7, -1]]


def test_a_tile_is_cast_in_a_kernel(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=nl.int32, buffer=nl.shared_hbm)
        nl.store(out, value=nl.static_cast(nl.load(x), nl.int32))
        return out

    assert np.array_equal(run_older(kernel, ROWS).result, ROWS.astype(np.int32))


# -- names ------------------------------------------------------------------------------------


# -- views ------------------------------------------------------------------------------------


def test_reshape_accepts_its_shape_by_name(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        assert x.reshape(shape=(64, 128)).shape == x.reshape((64, 128)).shape == (64, 128)
        out = nl2.ndarray((128, 8, 8), x.dtype, buffer=nl2.shared_hbm)
        nisa2.dma_copy(out, x.reshape(shape=(128, 8, 8)))
        return out

    assert np.array_equal(run_newer(kernel, ROWS).result, ROWS.reshape(128, 8, 8))


# -- loops ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("bounds", "named", "expected"),
    [
        ((), {"start": 0, "stop": 3}, [0, 1, 2]),
        ((), {"start": 3}, [0, 1, 2]),
        ((), {"stop": 7, "start": 1, "step": 2}, [1, 3, 5]),
        ((1,), {"stop": 4}, [1, 2, 3]),
        ((3,), {"step": 2}, [0, 2]),
        ((1, 9, 3), {}, [1, 4, 7]),
    ],
)
@pytest.mark.parametrize("loop", [nl2.affine_range, nl2.sequential_range, nl2.static_range])
def test_loops_iterate_over_their_bounds(
    run_newer: Run, loop: Any, bounds: Any, named: Any, expected: list[int]
) -> None:
    def kernel(x: Any) -> list[int]:
        return [int(i) for i in loop(*bounds, **named)]

    assert run_newer(kernel, ROWS).result == expected


def test_a_loop_takes_directives_for_the_compiler(run_older: Run) -> None:
    def kernel(x: Any) -> list[int]:
        return [int(i) for i in nl.sequential_range(3, directives=ncc.no_reorder())]

    assert run_older(kernel, ROWS).result == [0, 1, 2]


# -- cumulative operations --------------------------------------------------------------------
