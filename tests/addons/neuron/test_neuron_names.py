"""Public names that no other NKI test uses, against NumPy."""

from typing import Any

import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.isa as nisa
import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron import newer, older
from tests.addons.neuron.conftest import Run
from tests.addons.neuron.running_ops import RANDOM, X, Y, run_into, run_op

WHOLE = RANDOM.integers(0, 2**12, (32, 24)).astype(np.int32)
SHIFTS = RANDOM.integers(0, 8, (32, 24)).astype(np.int32)
TRUTH = (np.abs(X) > 0.5).astype(np.float32)
OTHER = (np.abs(Y) > 0.5).astype(np.float32)


@pytest.mark.parametrize(
    ("name", "one", "other"),
    [
        *((name, WHOLE, SHIFTS) for name in ("bitwise_and", "bitwise_or", "bitwise_xor")),
        *((name, WHOLE, SHIFTS) for name in ("left_shift", "right_shift")),
        *((name, TRUTH, OTHER) for name in ("logical_and", "logical_or", "logical_xor")),
        *((name, X, Y) for name in ("greater", "less_equal", "greater_equal", "equal")),
        ("power", np.abs(X), Y),
    ],
)
def test_functions_of_two_tiles_equal_numpys(
    run_older: Run, name: str, one: Any, other: Any
) -> None:
    expected = getattr(np, name)(one, other)

    for language in (nl, nl2):
        result = run_op(run_older, getattr(language, name), one, other)
        assert np.allclose(result, expected, rtol=1e-6)


def test_copies_are_rounded_to_their_type(run_older: Run) -> None:
    source = X * 60

    def as_type(dtype: Any) -> Any:
        return run_op(run_older, lambda x: nl.copy(x, dtype=dtype), source).astype(np.float32)

    assert np.array_equal(as_type(nl.int16), np.rint(source))
    assert np.array_equal(as_type(nl.tfloat32), source)
    assert np.array_equal(as_type(nl.bool_), np.ones_like(X))
    assert (abs(as_type(nl.float8_e4m3) - source) <= abs(source) * 2**-4 + 2**-10).all()
    assert len({nl2.float8_e5m2_x4, nl2.float4_e2m1fn_x4, nl2.float8_e4m3fn_x4}) == 3


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


def test_programs_have_ids_in_their_grid(run_older: Run) -> None:
    def kernel() -> Any:
        out = nl.ndarray((4, 1), dtype=nl.int32, buffer=nl.shared_hbm)
        index = nl.program_id(0)
        nl.store(out[index : index + 1, :], value=nl.full((1, 1), nl.program_ndim(), nl.int32))
        return out

    grid = (nl.spmd_dim(nl.nc(2), 2),)
    assert run_older(kernel, grid=grid).result.tolist() == [[1]] * 4


def test_versions_follow_the_target(run_older: Run) -> None:
    def kernel() -> Any:
        assert nisa.get_nc_version() == nisa.nc_version.gen4
        assert nisa2.get_nc_version() > nisa2.nc_version.gen3
        return nl.shared_constant(X)

    assert np.array_equal(run_older(kernel, target="trn3").result, X)


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


@pytest.mark.parametrize("reverse", [False, True])
def test_bypass_skips_a_stage_of_an_instruction(run_newer: Run, reverse: bool) -> None:
    def first(dst: Any, x: Any) -> None:
        nisa2.tensor_scalar(dst, x, nl2.bypass, 9.0, reverse, nl2.subtract, 2.0)

    def second(dst: Any, x: Any) -> None:
        nisa2.tensor_scalar(dst, x, nl2.subtract, 2.0, False, nl2.bypass, 9.0, reverse)

    for op in (first, second):
        assert np.array_equal(run_into(run_newer, op, (32, 24), nl2.float32, X), X - np.float32(2))
