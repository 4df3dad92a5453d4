"""Names and keywords that public kernels use and the reference documents."""

from typing import Any

import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa
import kvtrace.addons.neuron.newer.language as nl
import kvtrace.addons.neuron.older.compiler as compiler
import kvtrace.addons.neuron.older.language as older_nl
from kvtrace.addons.neuron.errors import NkiError
from tests.addons.neuron.conftest import Run
from tests.addons.neuron.running_ops import X, Y, run_op

ROWS = np.random.default_rng(7).standard_normal((16, 24), np.float32)


@pytest.mark.parametrize("name", ["exp", "square", "relu", "negative"])
def test_unary_ops_accept_their_operand_by_name(run_older: Run, name: str) -> None:
    by_name = run_op(run_older, lambda x: getattr(older_nl, name)(x=x), X)
    assert np.array_equal(by_name, run_op(run_older, getattr(older_nl, name), X))


@pytest.mark.parametrize("name", ["add", "subtract", "maximum", "less"])
def test_binary_ops_accept_operands_by_name(run_older: Run, name: str) -> None:
    op = getattr(older_nl, name)
    expected = run_op(run_older, lambda x, y: op(x, y), X, Y)
    for call in (lambda x, y: op(x=x, y=y), lambda x, y: op(x, y=y), lambda x, y: op(y=y, x=x)):
        assert np.array_equal(run_op(run_older, call, X, Y), expected)


def test_a_missing_operand_is_an_error(run_older: Run) -> None:
    with pytest.raises(NkiError, match=r"nl\.add has 2 operands, dtype and mask"):
        run_op(run_older, lambda x: older_nl.add(x=x), X)
    with pytest.raises(NkiError, match=r"nl\.exp has 1 operand, dtype and mask"):
        run_op(run_older, lambda x: older_nl.exp(z=x), X)


def test_none_adds_the_second_axis_of_a_reduced_tile(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        tile = older_nl.load(x)
        column = older_nl.sum(tile, axis=1)[:, None]
        assert column.shape == (16, 1)
        assert older_nl.sum(tile, axis=1)[0:8, None].shape == (8, 1)
        assert older_nl.sum(tile, axis=1, keepdims=True)[:, None].shape == (16, 1, 1)
        out = older_nl.ndarray(x.shape, x.dtype, buffer=older_nl.shared_hbm)
        older_nl.store(out, value=tile / column)
        return out

    result = run_older(kernel, ROWS).result
    assert np.allclose(result, ROWS / ROWS.sum(axis=1, keepdims=True), rtol=1e-5)


def test_memories_are_builtin_names_in_kernels(run_newer: Run) -> None:
    def copied(x: Any) -> Any:
        tile = sbuf.view(dtype=x.dtype, size=x.shape)  # type: ignore[name-defined]  # noqa: F821
        out = nl.ndarray(x.shape, x.dtype, buffer=shared_hbm)  # type: ignore[name-defined]  # noqa: F821
        nisa.dma_copy(tile, x)
        nisa.dma_copy(out, tile)
        return out

    assert np.array_equal(run_newer(copied, ROWS).result, ROWS)
    with pytest.raises(NameError):
        copied(ROWS)  # outside of kernels they are not there


def test_no_reorder_of_the_older_compiler_is_accepted(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        out = older_nl.ndarray(x.shape, x.dtype, buffer=older_nl.shared_hbm)
        with compiler.no_reorder():
            older_nl.store(out, value=older_nl.load(x))
        return out

    assert np.array_equal(run_older(kernel, ROWS).result, ROWS)


def test_an_identity_matrix_is_written_to_dst(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        tile = nl.ndarray((16, 16), nl.float32, buffer=nl.sbuf)
        result = nl.shared_identity_matrix(16, dtype=nl.float32, dst=tile)
        assert result is tile
        out = nl.ndarray((16, 16), nl.float32, buffer=nl.shared_hbm)
        nisa.dma_copy(out, tile)
        return out

    assert np.array_equal(run_newer(kernel, ROWS).result, np.eye(16))


def test_a_broadcast_can_be_of_another_type(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        wide = nl.broadcast_to(nl.load(x)[:, 0:1], (16, 24), dtype=nl.float16)
        out = nl.ndarray((16, 24), nl.float16, buffer=nl.shared_hbm)
        nisa.dma_copy(out, wide)
        return out

    expected = np.broadcast_to(ROWS[:, :1], ROWS.shape).astype(np.float16)
    assert np.array_equal(run_newer(kernel, ROWS).result, expected)


def test_assignments_to_parts_of_tensors_write_their_elements(run_newer: Run) -> None:
    def kernel(x: Any) -> Any:
        tile, sums = nl.load(x), nl.zeros((16, 3), nl.float32, buffer=nl.sbuf)
        for index in nl.affine_range(3):
            sums[0:16, index : index + 1] = nl.sum(tile, axis=1, keepdims=True)
        sums[:, 2:3] = tile[:, 0:1]
        out = nl.ndarray((16, 4), nl.float32, buffer=nl.shared_hbm)
        out[:, 0:3] = sums
        out[:, 3:4] = 2.0
        return out

    outcome = run_newer(kernel, ROWS)

    total = ROWS.sum(axis=1, keepdims=True)
    expected = np.concatenate([total, total, ROWS[:, :1], np.full((16, 1), 2)], axis=1)
    assert np.allclose(outcome.result, expected, rtol=1e-5)
    assert outcome.recorder.findings == []
