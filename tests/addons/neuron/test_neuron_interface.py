"""Names and forms of the public interfaces that programs use around and inside of kernels."""

from dataclasses import dataclass
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.compiler as ncc
import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron import newer
from kvtrace.addons.neuron.errors import NkiError
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


# -- classes that kernels pass around ---------------------------------------------------------


class Sizes(nl2.NKIObject):
    rows: int
    columns: int = 64
    count = 3


class Named(Sizes):
    name: str = "x"

    def __post_init__(self) -> None:
        self.total = self.rows * self.columns


@dataclass
class Plain(nl2.NKIObject):
    rows: int
    columns: int = 64


def test_fields_are_set_by_position_and_by_name() -> None:
    sizes = Named(2, name="y")

    assert (sizes.rows, sizes.columns, sizes.name, sizes.total) == (2, 64, "y", 128)
    assert Sizes(rows=1, columns=2).columns == 2
    assert vars(Plain(1, columns=3)) == {"rows": 1, "columns": 3}
    assert nl2.NKIObject(free=1).free == 1  # type: ignore[attr-defined]


def test_every_field_is_set_exactly_once() -> None:
    with pytest.raises(TypeError, match="two values for rows"):
        Sizes(1, rows=2)
    with pytest.raises(TypeError, match="2 fields, not 3"):
        Sizes(1, 2, 3)
    with pytest.raises(TypeError, match="no value for rows"):
        Sizes()


# -- names ------------------------------------------------------------------------------------


def test_modes_and_types_are_in_their_documented_modules() -> None:
    assert newer.isa.constants.oob_mode is nisa2.oob_mode
    assert newer.isa.constants.dge_mode.hwdge is nisa2.dge_mode.hwdge
    assert nisa2.dma_engine.gpsimd_dma is not nisa2.dma_engine.dma
    assert newer.dtype.float8_e4m3fn_x4 is nl2.float8_e4m3fn_x4
    with pytest.raises(AttributeError, match=r"does not implement nki\.dtype\.complex64;"):
        newer.dtype.complex64  # noqa: B018


def test_predicates_distinguish_memories(run_newer: Run) -> None:
    kinds = (nl2.is_sbuf, nl2.is_psum, nl2.is_hbm, nl2.is_on_chip)
    answers = {
        str(memory): [kind(memory) for kind in kinds]
        for memory in (nl2.sbuf, nl2.psum, nl2.private_hbm, nl2.shared_hbm)
    }

    assert answers == {
        "sbuf": [True, False, False, True],
        "psum": [False, True, False, True],
        "private_hbm": [False, False, True, False],
        "shared_hbm": [False, False, True, False],
    }
    assert run_newer(lambda x: nl2.is_hbm(x.buffer), ROWS).result is True


# -- views ------------------------------------------------------------------------------------


def test_reshape_accepts_its_shape_by_name(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        assert x.reshape(shape=(64, 128)).shape == x.reshape((64, 128)).shape == (64, 128)
        out = nl2.ndarray((128, 8, 8), x.dtype, buffer=nl2.shared_hbm)
        nisa2.dma_copy(out, x.reshape(shape=(128, 8, 8)))
        return out

    assert np.array_equal(run_newer(kernel, ROWS).result, ROWS.reshape(128, 8, 8))


def test_dimensions_are_rearranged_by_name(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        tile = nl2.ndarray((128, 64), x.dtype, buffer=nl2.sbuf)
        nisa2.dma_copy(tile, x)
        turned = tile.rearrange(("b", ("h", "w")), ("b", "w", "h"), {"h": 4})
        assert turned.shape == (128, 16, 4)
        assert tile.is_contiguous()
        assert not turned.is_contiguous()
        out = nl2.ndarray((128, 16, 4), x.dtype, nl2.shared_hbm)
        nisa2.dma_copy(out, turned)
        return out

    expected = ROWS.reshape(128, 4, 16).transpose(0, 2, 1)
    assert np.array_equal(run_newer(kernel, ROWS).result, expected)


@pytest.mark.parametrize(
    ("source", "target", "sizes"),
    [
        (("b", ("h", "w")), ("b", "h"), {"h": 4}),
        (("b", ("h", "w")), ("b", "h", "w"), None),
        (("b", ("h", "w")), ("b", "h", "w"), {"h": 5}),
        (("b", "b"), ("b", "b"), None),
    ],
)
def test_patterns_that_do_not_fit_are_refused(
    run_newer: Run, source: Any, target: Any, sizes: Any
) -> None:
    def kernel(x: Any) -> None:
        x.rearrange(source, target, sizes)

    with pytest.raises(NkiError, match="dimensions"):
        run_newer(kernel, ROWS)


def test_select_accepts_indices_in_tensors(run_newer: Run) -> None:
    def kernel(x: Any, rows: Any) -> Any:
        indices = nl2.ndarray((5, 1), nl2.int32, buffer=nl2.sbuf)
        nisa2.dma_copy(indices, rows)
        out = nl2.ndarray((6, 64), x.dtype, buffer=nl2.shared_hbm)
        chosen = x.vector_select(0, indices)
        assert chosen.shape == (5, 64)
        assert chosen.is_indirect()
        nisa2.dma_copy(out[0:5], chosen)
        nisa2.dma_copy(out[5], x.select(0, indices[1:2]))
        return out

    rows = np.array([[3], [90], [0], [127], [3]], np.int32)

    expected = ROWS[[3, 90, 0, 127, 3, 90]]
    outcome = run_newer(kernel, ROWS, rows)
    assert np.array_equal(outcome.result, expected)
    assert outcome.recorder.findings == []


def test_a_selected_index_out_of_bounds_is_reported(run_newer: Run) -> None:
    def kernel(x: Any, rows: Any) -> None:
        tile = nl2.ndarray((1, 64), x.dtype, buffer=nl2.sbuf)
        nisa2.dma_copy(tile, x.vector_select(0, rows))

    outcome = run_newer(kernel, ROWS, np.array([[128]], np.int32))

    assert [finding.rule for finding in outcome.recorder.findings] == ["out-of-bounds"]


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


def test_a_tensor_of_zeros_is_made_like_another_by_name(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        zeros = nl2.zeros_like(x=x, buffer=nl2.shared_hbm)
        alike = nl2.empty_like(x=zeros)
        return zeros, alike.shape, alike.dtype

    zeros, shape, dtype = run_newer(kernel, ROWS).result
    assert np.array_equal(zeros, 0 * ROWS)
    assert (shape, dtype) == (ROWS.shape, ROWS.dtype)


def test_a_loop_takes_directives_for_the_compiler(run_older: Run) -> None:
    def kernel(x: Any) -> list[int]:
        return [int(i) for i in nl.sequential_range(3, directives=ncc.no_reorder())]

    assert run_older(kernel, ROWS).result == [0, 1, 2]


@pytest.mark.parametrize("in_register", [False, True])
def test_a_function_is_called_with_each_number_of_a_loop(run_newer: Run, in_register: bool) -> None:
    def kernel(x: Any) -> Any:
        out = nl2.ndarray(x.shape, x.dtype, buffer=nl2.shared_hbm)

        def body(i: Any) -> None:
            tile = nl2.ndarray((32, 64), x.dtype, buffer=nl2.sbuf)
            rows = x.reshape(4, 32, 64)
            nisa2.dma_copy(tile, rows.select(0, i))
            nisa2.dma_copy(out.reshape(4, 32, 64).select(0, i), tile)

        end = nisa2.register_alloc(4) if in_register else 4
        nl2.fori_loop(0, end, body)
        return out

    outcome = run_newer(kernel, ROWS)

    assert np.array_equal(outcome.result, ROWS)
    assert outcome.recorder.findings == []
    assert [loop.trips for loop in outcome.recorder.loops] == [[4]]


# -- cumulative operations --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        (nl2.add, np.cumsum),
        (nl2.maximum, np.maximum.accumulate),
        (nl2.minimum, np.minimum.accumulate),
        (nl2.multiply, np.cumprod),
    ],
)
def test_a_cumulative_op_runs_along_the_free_dimension(
    run_newer: Run, op: Any, expected: Any
) -> None:
    def kernel(x: Any) -> Any:
        tile = nl2.load(x)
        out = nl2.ndarray((2, 128, 16), x.dtype, buffer=nl2.shared_hbm)
        nisa2.tensor_scalar_cumulative(tile, tile, nl2.add, op, 0.5)
        nisa2.dma_copy(out[0], tile)
        nisa2.tensor_scalar_cumulative(
            tile, nl2.load(x), nl2.add, op, 0.5, 2.0, nisa2.reduce_cmd.load_reduce
        )
        nisa2.dma_copy(out[1], tile)
        return out

    x = np.random.default_rng(0).random((128, 16), np.float32)
    loaded = np.concatenate([np.full((128, 1), 2, np.float32), x + 0.5], axis=1)

    outcome = run_newer(kernel, x)

    both = [expected(x + np.float32(0.5), axis=1), expected(loaded, axis=1)[:, 1:]]
    assert np.allclose(outcome.result, both, rtol=1e-5)
    assert outcome.recorder.findings == []


def test_a_cumulative_op_from_registers_is_an_error(run_newer: Run) -> None:
    def kernel(x: Any) -> None:
        tile = nl2.load(x)
        command = nisa2.reduce_cmd.reduce
        nisa2.tensor_scalar_cumulative(tile, tile, nl2.add, nl2.add, 0.5, reduce_cmd=command)

    with pytest.raises(NkiError, match="reset_reduce or load_reduce"):
        run_newer(kernel, ROWS)
