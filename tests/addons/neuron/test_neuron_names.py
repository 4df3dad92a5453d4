"""Public names that no other NKI test uses, against NumPy."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.isa as nisa
import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron import newer, older
from kvtrace.addons.neuron.errors import NkiError
from tests.addons.neuron.conftest import Run
from tests.addons.neuron.running_ops import RANDOM, X, Y, erf, run_into, run_op

WHOLE = RANDOM.integers(0, 2**12, (32, 24)).astype(np.int32)
SHIFTS = RANDOM.integers(0, 8, (32, 24)).astype(np.int32)
TRUTH = (np.abs(X) > 0.5).astype(np.float32)
OTHER = (np.abs(Y) > 0.5).astype(np.float32)


def gate(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


DERIVATIVES: dict[str, Callable[[Any], Any]] = {
    "erf_dx": erf,
    "silu_dx": lambda x: x * gate(x),
    "gelu_dx": lambda x: x / 2 * (1 + erf(x / np.sqrt(2))),
    "gelu_apprx_sigmoid_dx": lambda x: x * gate(1.702 * x),
}


@pytest.mark.parametrize("name", DERIVATIVES)
def test_derivatives_are_slopes_of_their_functions(run_older: Run, name: str) -> None:
    function = DERIVATIVES[name]
    wide, step = X.astype(np.float64), 1e-5
    slope = (function(wide + step) - function(wide - step)) / (2 * step)

    assert np.allclose(run_op(run_older, getattr(nl2, name), X), slope, rtol=1e-3, atol=1e-3)


def test_gelu_apprx_sigmoid_equals_its_formula(run_older: Run) -> None:
    result = run_op(run_older, nl.gelu_apprx_sigmoid, X)

    assert np.allclose(result, X * gate(1.702 * X.astype(np.float64)), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        *((name, WHOLE, SHIFTS) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")),
        *((name, WHOLE, SHIFTS) for name in ("left_shift", "right_shift")),
        *((name, TRUTH, OTHER) for name in ("logical_and", "logical_or", "logical_xor")),
        *((name, X, Y) for name in ("greater", "less_equal", "greater_equal", "equal")),
        ("power", np.abs(X), Y),
        ("fmod", X, Y),
    ],
)
def test_functions_of_two_tiles_equal_numpys(
    run_older: Run, name: str, one: Any, other: Any
) -> None:
    expected = getattr(np, name)(one, other)

    for language in (nl, nl2):
        result = run_op(run_older, getattr(language, name), one, other)
        assert np.allclose(result, expected, rtol=1e-6)


def test_functions_that_numpy_names_differently_equal_numpys(run_older: Run) -> None:
    assert np.array_equal(run_op(run_older, nl.mod, X, Y), np.remainder(X, Y))
    assert np.array_equal(run_op(run_older, nl.invert, WHOLE), ~WHOLE)
    assert np.array_equal(run_op(run_older, nl.logical_not, TRUTH), TRUTH == 0)
    largest, smallest = (run_op(run_older, op, X, Y) for op in (nl2.abs_max, nl2.abs_min))
    assert np.array_equal(largest, np.maximum(abs(X), abs(Y)))
    assert np.array_equal(smallest, np.minimum(abs(X), abs(Y)))


def test_copies_are_rounded_to_their_type(run_older: Run) -> None:
    source = X * 60

    def as_type(dtype: Any) -> Any:
        return run_op(run_older, lambda x: nl.copy(x, dtype=dtype), source).astype(np.float32)

    assert np.array_equal(as_type(nl.int16), np.rint(source))
    assert np.array_equal(as_type(nl.tfloat32), source)
    assert np.array_equal(as_type(nl.bool_), np.ones_like(X))
    assert (abs(as_type(nl.float8_e4m3) - source) <= abs(source) * 2**-4 + 2**-10).all()
    assert len({nl2.float8_e5m2_x4, nl2.float4_e2m1fn_x4, nl2.float8_e4m3fn_x4}) == 3


def test_views_of_older_tensors_equal_numpys(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        tile = nl.load(x).assert_shape((32, 24))
        assert (tile.ndim, tile.itemsize) == (2, 4)
        wide = nl.copy(nl.expand_dims(tile, 2).broadcast_to((32, 24, 3)))
        alike = nl.empty_like(wide)
        alike[...] = tile.expand_dims(2).broadcast_to((32, 24, 3)) * 2.0
        out = nl.ndarray(wide.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=wide + alike)
        with pytest.raises(NkiError, match="the shape is"):
            tile.assert_shape((24, 32))
        return out

    result = run_older(kernel, X).result
    assert np.array_equal(result, np.repeat(3 * X[:, :, None], 3, axis=2))


def test_views_of_newer_tensors_equal_numpys(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        view = x.reshape_dim(1, (4, 6)).permute((0, 2, 1))
        assert view.strides == (24, 1, 6)
        assert view.get_pattern() == [[24, 32], [1, 6], [6, 4]]
        same = view.expand_dim(3).squeeze_dim(3)
        tile = nl2.ndarray((32, 6, 4), dtype=x.dtype, buffer=nl2.sbuf)
        nisa2.dma_copy(dst=tile, src=same)
        flat = tile.flatten_dims(1, 2)
        thrice = flat.expand_dim(2).broadcast(2, 3)
        out = nl2.ndarray((32, 24, 3), dtype=x.dtype, buffer=nl2.shared_hbm)
        copied = nl2.empty_like(thrice)
        nisa2.tensor_copy(dst=copied, src=thrice)
        nisa2.dma_copy(dst=out, src=copied)
        return out

    expected = X.reshape(32, 4, 6).transpose(0, 2, 1).reshape(32, 24)
    assert np.array_equal(run_newer(kernel, X).result, np.repeat(expected[:, :, None], 3, axis=2))


def test_a_seed_restarts_the_random_numbers(run_older: Run) -> None:
    def kernel() -> Any:
        out = nl.ndarray((3, 64, 32), dtype=nl.float32, buffer=nl.shared_hbm)
        for index, seed in enumerate((7, 8, 7)):
            nl.random_seed(seed)
            nl.store(out[index], value=nl.rand((64, 32), dtype=nl.float32))
        return out

    first, second, again = run_older(kernel).result
    assert np.array_equal(first, again)
    assert not np.array_equal(first, second)
    assert first.min() >= 0
    assert first.max() < 1
    assert 0.4 < first.mean() < 0.6


def test_constants_and_identity_matrices_have_their_values(run_older: Run, run_newer: Run) -> None:
    def kernel() -> Any:
        out = nl.ndarray((32, 24), dtype=nl.float32, buffer=nl.shared_hbm)
        constant = nl.load(nl.shared_constant(X))
        one = nl.load(nl.shared_identity_matrix(32, dtype=nl.float32))
        nl.store(out, value=nl.copy(nl.matmul(one, constant)))
        return out

    assert np.allclose(run_older(kernel).result, X)

    def identity() -> Any:
        out = nl2.ndarray((8, 8), dtype=nl2.float32, buffer=nl2.shared_hbm)
        nisa2.dma_copy(dst=out, src=nl2.shared_identity_matrix(8, dtype=nl2.float32))
        return out

    assert np.array_equal(run_newer(identity).result, np.eye(8))


def test_programs_have_ids_in_their_grid(
    run_older: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    def kernel() -> Any:
        out = nl.ndarray((4, 1), dtype=nl.int32, buffer=nl.shared_hbm)
        nl.device_print("program", nl.program_id(0))
        index = nl.program_id(0)
        nl.store(out[index : index + 1, :], value=nl.full((1, 1), nl.program_ndim(), nl.int32))
        return out

    grid = (nl.spmd_dim(nl.nc(2), 2),)
    assert run_older(kernel, grid=grid).result.tolist() == [[1]] * 4
    assert capsys.readouterr().out.split() == [
        "program",
        *["0", "program", "1", "program", "2", "program", "3"],
    ]


def test_versions_follow_the_target(run_older: Run) -> None:
    def kernel() -> Any:
        assert nisa.get_nc_version() == nisa.nc_version.gen4
        assert nisa2.get_nc_version() > nisa2.nc_version.gen3
        return nl.shared_constant(X)

    assert np.array_equal(run_older(kernel, target="trn3").result, X)


def test_engines_and_modes_have_their_names() -> None:
    for isa in (nisa, nisa2):
        assert isa.vector_engine is isa.engine.vector
        assert isa.gpsimd_engine is isa.engine.gpsimd
        assert isa.unknown_engine is isa.engine.unknown
    assert nisa2.matmul_perf_mode.double_row.name == "double_row"
    assert nisa2.NkiValidationError is NkiError


def test_tensor_copy_dynamic_src_and_dst_copy_parts_of_tiles(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        tile = nl.load(x)
        result = nl.zeros((32, 24), dtype=x.dtype)
        result[0:32, 0:12] = nisa.tensor_copy_dynamic_src(tile[0:32, 12:24])
        result[0:32, 12:24] = nisa.tensor_copy_dynamic_dst(tile[0:32, 0:12])
        out = nl.ndarray((32, 24), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=result)
        return out

    assert np.array_equal(run_older(kernel, X).result, np.roll(X, 12, axis=1))


def test_a_register_is_stored_to_a_tensor(run_newer: Run) -> None:
    def kernel() -> Any:
        register = nisa2.register_alloc(5)
        assert isinstance(register, nisa2.VirtualRegister)
        tile = nl2.ndarray((1, 1), dtype=nl2.int32, buffer=nl2.sbuf)
        nisa2.register_store(tile, register)
        out = nl2.ndarray((1, 1), dtype=nl2.int32, buffer=nl2.shared_hbm)
        nisa2.dma_copy(dst=out, src=tile)
        return out

    assert run_newer(kernel).result.tolist() == [[5]]


def test_gather_flattened_selects_elements_within_partitions(run_older: Run) -> None:
    indices = RANDOM.integers(0, 24, (32, 10)).astype(np.uint32)

    result = run_op(run_older, nl.gather_flattened, X, indices)

    assert np.array_equal(result, np.take_along_axis(X, indices.astype(np.int64), axis=1))


def test_range_select_keeps_elements_within_the_bounds(run_newer: Run) -> None:
    bounds = np.repeat(np.array([[3, 9]], np.float32), 32, axis=0)

    def select(dst: Any, x: Any, limits: Any) -> None:
        top = nl2.ndarray((32, 1), dtype=nl2.float32, buffer=nl2.sbuf)
        nisa2.range_select(
            dst=dst, on_true_tile=x, comp_op0=nl2.greater_equal, comp_op1=nl2.less,
            bound0=limits[:, 0:1], bound1=limits[:, 1:2], reduce_cmd=nisa2.reduce_cmd.reset_reduce,
            reduce_res=top, reduce_op=nl2.maximum, range_start=0.0,
        )  # fmt: skip

    result = run_into(run_newer, select, (32, 24), nl2.float32, X, bounds)
    assert np.array_equal(result[:, 3:9], X[:, 3:9])
    assert (result[:, :3] < -1e38).all()
    assert (result[:, 9:] < -1e38).all()


def test_every_decorator_runs_a_kernel() -> None:
    def double(x: Any) -> Any:
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=nl.load(x) * 2.0)
        return out

    allocate, combine = older.compiler.enable_stack_allocator, older.compiler.force_auto_alloc
    plain = older.compiler.skip_middle_end_transformations(allocate(combine(double)))
    for decorate in (older.jit, older.baremetal, older.benchmark, older.profile):
        assert np.array_equal(decorate(plain)(X), 2 * X)
    assert np.array_equal(older.simulate_kernel(older.jit(double), X), 2 * X)

    def copied(x: Any) -> Any:
        out = nl2.ndarray(x.shape, dtype=x.dtype, buffer=nl2.shared_hbm)
        nisa2.dma_copy(dst=out, src=x)
        return out

    assert np.array_equal(newer.simulate(newer.jit(copied))(X), X)


def test_manual_placement_of_tensors_is_accepted(run_older: Run) -> None:
    placing = older.compiler

    def kernel(x: Any) -> Any:
        total = nl.zeros((32, 24), dtype=x.dtype, buffer=placing.sbuf.auto_alloc())
        for buffer in (placing.sbuf.mod_alloc(base_addr=0), placing.psum.auto_alloc()):
            part = nl.ndarray((32, 24), dtype=x.dtype, buffer=buffer)
            part[...] = nl.load(x)
            total[...] = total + part
        for memory in (placing.sbuf, placing.psum):
            assert memory.alloc(lambda *index: (0, 0)).space == memory.space
        assert placing.psum.mod_alloc(base_bank=0).space == "psum"
        out = nl.ndarray(x.shape, dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=total)
        return out

    assert np.array_equal(run_older(kernel, X).result, 2 * X)


def test_the_newer_language_has_where_and_no_reorder(run_older: Run) -> None:
    def choose(x: Any, y: Any) -> Any:
        with nl2.no_reorder():
            return nl2.where(nl2.greater(x, y), x, y)

    assert np.array_equal(run_op(run_older, choose, X, Y), np.maximum(X, Y))


@pytest.mark.parametrize("turns", [0, 3])
def test_a_loop_ends_when_its_register_holds_zero(run_newer: Run, turns: int) -> None:
    def kernel(x: Any) -> Any:
        total = nl2.zeros((32, 24), dtype=nl2.float32, buffer=nl2.sbuf)
        added = nl2.ndarray((32, 24), dtype=nl2.float32, buffer=nl2.sbuf)
        nisa2.dma_copy(dst=added, src=x)

        def body(left: Any) -> Any:
            nisa2.tensor_tensor(total, total, added, nl2.add)
            return nisa2.register_alloc(int(left) - 1)

        nl2.while_loop(nisa2.register_alloc(turns), body)
        out = nl2.ndarray((32, 24), dtype=nl2.float32, buffer=nl2.shared_hbm)
        nisa2.dma_copy(dst=out, src=total)
        return out

    assert np.allclose(run_newer(kernel, X).result, turns * X, rtol=1e-6)


@pytest.mark.parametrize("reverse", [False, True])
def test_bypass_skips_a_stage_of_an_instruction(run_newer: Run, reverse: bool) -> None:
    def first(dst: Any, x: Any) -> None:
        nisa2.tensor_scalar(dst, x, nl2.bypass, 9.0, reverse, nl2.subtract, 2.0)

    def second(dst: Any, x: Any) -> None:
        nisa2.tensor_scalar(dst, x, nl2.subtract, 2.0, False, nl2.bypass, 9.0, reverse)

    for op in (first, second):
        assert np.array_equal(run_into(run_newer, op, (32, 24), nl2.float32, X), X - np.float32(2))
