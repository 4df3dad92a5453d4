"""Ops against references in float64 that are written independently."""

import inspect
import math
from typing import Any

import numpy as np
import pytest

import kvtrace.addons.neuron.newer.isa as nisa2
import kvtrace.addons.neuron.newer.language as nl2
import kvtrace.addons.neuron.older.isa as nisa
import kvtrace.addons.neuron.older.language as nl
from kvtrace.addons.neuron.requirements.elementwise import ACTIVATIONS
from tests.addons.neuron.conftest import Run
from tests.addons.neuron.running_ops import (
    COLUMN,
    RANDOM,
    Function,
    X,
    Y,
    elementwise,
    erf,
    run_into,
    run_op,
)

PLACES = np.arange(32)[:, None] * 3 + np.arange(24) + 7

NEWER_BY_POSITION = {
    "activation": (lambda d, x, y: nisa2.activation(d, nl2.exp, x, y[:, 0:1], 0.5), (32, 24)),
    "tensor_reduce": (lambda d, x, y: nisa2.tensor_reduce(d, nl2.add, x, 1, True, True), (32, 1)),
    "tensor_copy": (lambda d, x, y: nisa2.tensor_copy(d, x, nisa2.scalar_engine), (32, 24)),
    "dropout": (lambda d, x, y: nisa2.dropout(d, data=x, prob=0.0), (32, 24)),
    "iota": (lambda d, x, y: nisa2.iota(d, [[12, 2], [1, 12]], 7, 3), (32, 24)),
    "affine_select": (
        lambda d, x, y: nisa2.affine_select(d, [[-1, 24]], 0, 1, x, -9.0, nl2.greater_equal),
        (32, 24),
    ),
    "select_reduce": (lambda d, x, y: nisa2.select_reduce(d, y, x, -9.0, None), (32, 24)),
}
BY_POSITION_EXPECTED = {
    "activation": np.exp(0.5 * X + Y[:, :1]),
    "tensor_reduce": -X.sum(axis=1, keepdims=True),
    "tensor_copy": X,
    "dropout": X,
    "iota": PLACES,
    "affine_select": np.where(np.arange(32)[:, None] >= np.arange(24), X, -9),
    "select_reduce": np.where(Y > 0, X, -9),
}


@pytest.mark.parametrize("name", NEWER_BY_POSITION)
def test_newer_instructions_accept_operands_by_position(run_newer: Run, name: str) -> None:
    op, shape = NEWER_BY_POSITION[name]
    other = (Y > 0).astype(np.uint8) if name == "select_reduce" else Y

    result = run_into(run_newer, op, shape, nl2.float32, X, other)

    np.testing.assert_allclose(result, BY_POSITION_EXPECTED[name], rtol=1e-5, atol=1e-5)


def test_registers_accumulate_activations_until_they_are_reset(run_newer: Run) -> None:
    def op(sums: Any, x: Any, y: Any) -> None:
        tile = nl2.ndarray((32, 24), nl2.float32, buffer=nl2.sbuf)
        commands = nisa2.reduce_cmd
        first = {"reduce_op": nl2.add, "reduce_cmd": commands.reset_reduce}
        again = {"reduce_op": nl2.add, "reduce_cmd": commands.reduce}
        nisa2.activation(tile, nl2.copy, y, **again)
        nisa2.activation(tile, nl2.copy, x, **first)
        nisa2.activation(tile, nl2.square, y, **again, reduce_res=sums[:, 0:1])
        nisa2.activation(tile, nl2.exp, y, reduce_cmd=commands.idle, reduce_res=sums[:, 1:2])

    sums = run_into(run_newer, op, (32, 2), nl2.float32, X, Y)

    expected = X.sum(axis=1) + (Y * Y).sum(axis=1)
    np.testing.assert_allclose(sums, np.stack([expected] * 2, axis=1), rtol=1e-4)


def test_instructions_have_the_published_signatures() -> None:
    newer = [*inspect.signature(nisa2.tensor_copy).parameters]
    assert newer == ["dst", "src", "engine", "name"]
    assert [*inspect.signature(nl.load).parameters] == ["src", "mask", "dtype"]


UNARY: dict[str, Function] = {
    "exp": elementwise(math.exp),
    "sin": elementwise(math.sin),
    "cos": elementwise(math.cos),
    "tan": elementwise(math.tan),
    "tanh": elementwise(math.tanh),
    "arctan": elementwise(math.atan),
    "square": lambda x: x * x,
    "abs": abs,
    "sign": np.sign,
    "negative": lambda x: -x,
    "reciprocal": lambda x: 1 / x,
    "floor": elementwise(math.floor),
    "ceil": elementwise(math.ceil),
    "trunc": elementwise(math.trunc),
    "relu": lambda x: np.where(x > 0, x, 0),
    "sigmoid": lambda x: 1 / (1 + np.exp(-x)),
    "silu": lambda x: x / (1 + np.exp(-x)),
    "softplus": lambda x: np.log(1 + np.exp(x)),
    "mish": lambda x: x * np.tanh(np.log(1 + np.exp(x))),
    "erf": erf,
    "gelu": lambda x: x / 2 * (1 + erf(x / math.sqrt(2))),
    "gelu_apprx_tanh": lambda x: (
        x / 2 * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    ),
}
UNARY_OF_POSITIVE: dict[str, Function] = {
    "log": elementwise(math.log),
    "sqrt": elementwise(math.sqrt),
    "rsqrt": lambda x: 1 / np.sqrt(x),
}


@pytest.mark.parametrize("name", [*UNARY, *UNARY_OF_POSITIVE])
def test_functions_of_one_tile_equal_numpys(run_older: Run, run_newer: Run, name: str) -> None:
    source = X if name in UNARY else np.abs(X) + 0.1
    expected = (UNARY | UNARY_OF_POSITIVE)[name](source.astype(np.float64))

    result = run_op(run_older, getattr(nl, name), source)
    assert np.allclose(result, expected, rtol=2e-5, atol=1e-6)
    if name not in ACTIVATIONS:
        return
    by_instruction = run_into(
        run_newer,
        lambda dst, x: nisa2.activation(dst=dst, op=getattr(nl2, name), data=x),
        source.shape,
        nl2.float32,
        source,
    )
    assert np.array_equal(by_instruction, result)


@pytest.mark.parametrize(
    "name", ["add", "subtract", "multiply", "divide", "maximum", "minimum", "less", "not_equal"]
)
def test_functions_of_two_tiles_equal_numpys(run_older: Run, name: str) -> None:
    expected = getattr(np, name)(X, Y)

    assert np.array_equal(run_op(run_older, getattr(nl, name), X, Y), expected)
    column = run_op(run_older, getattr(nl, name), X, COLUMN)
    assert np.array_equal(column, getattr(np, name)(X, COLUMN))
    swapped = run_op(run_older, lambda x: getattr(nl, name)(2.0, x), X)
    assert np.array_equal(swapped, getattr(np, name)(np.float32(2), X))


def test_bitwise_ops_of_integers_equal_numpys(run_older: Run) -> None:
    a = RANDOM.integers(0, 1000, (16, 8)).astype(np.int32)
    b = RANDOM.integers(0, 9, (16, 8)).astype(np.int32)

    assert np.array_equal(run_op(run_older, lambda x, y: (x & y) | (x ^ 3), a, b), (a & b) | a ^ 3)
    assert np.array_equal(run_op(run_older, lambda x, y: x << y, a, b), a << b)
    assert np.array_equal(run_op(run_older, lambda x: ~x, a), ~a)


def test_results_are_rounded_to_their_type(run_older: Run) -> None:
    source = np.array([[2.5, 3.5, -1.5, 300.0, -300.0, 0.4]], np.float32)

    rounded = run_op(run_older, lambda x: nl.copy(x, dtype=nl.int8), source)

    assert rounded.tolist() == [[2, 4, -2, 127, -128, 0]]


def test_instructions_apply_two_operations_with_columns(run_older: Run, run_newer: Run) -> None:
    expected = (COLUMN - X.astype(np.float64)) * 3

    result = run_op(
        run_older,
        lambda x, c: nisa.tensor_scalar(
            x, nl.subtract, c, reverse0=True, op1=nl.multiply, operand1=3.0
        ),
        X,
        COLUMN,
    )
    assert np.allclose(result, expected, rtol=1e-5, atol=1e-6)
    into = run_into(
        run_newer,
        lambda dst, x, c, y: nisa2.scalar_tensor_tensor(
            dst=dst, data=x, op0=nl2.multiply, operand0=c, op1=nl2.add, operand1=y
        ),
        X.shape,
        nl2.float32,
        X,
        COLUMN,
        Y,
    )
    assert np.allclose(into, X * COLUMN + Y, rtol=1e-5, atol=1e-6)


def test_activation_scales_and_shifts(run_older: Run) -> None:
    result = run_op(
        run_older,
        lambda x, c: nisa.activation(nl.exp, x, bias=c, scale=0.5),
        X,
        COLUMN,
    )

    assert np.allclose(result, np.exp(X * 0.5 + COLUMN), rtol=1e-5)


def test_instructions_write_a_second_result(run_older: Run) -> None:
    def both(x: Any) -> Any:
        total = nl.ndarray((32, 1), dtype=nl.float32)
        nisa.activation_reduce(nl.exp, x, reduce_op=np.add, reduce_res=total)
        greatest = nl.ndarray((32, 1), dtype=nl.float32)
        nisa.tensor_scalar_reduce(
            data=x, op0=nl.multiply, operand0=2.0, reduce_op=np.max, reduce_res=greatest
        )
        return total + greatest

    expected = np.exp(X).sum(axis=1, keepdims=True) + 2 * X.max(axis=1, keepdims=True)
    assert np.allclose(run_op(run_older, both, X), expected, rtol=1e-5)


@pytest.mark.parametrize(("reverse0", "reverse1"), [(False, False), (True, False), (True, True)])
def test_a_scan_carries_along_the_free_dimension(
    run_older: Run, reverse0: bool, reverse1: bool
) -> None:
    carry, expected = COLUMN[:, 0].astype(np.float64), np.empty(X.shape)
    for index in range(X.shape[1]):
        inner = carry - X[:, index] if reverse0 else X[:, index] - carry
        carry = Y[:, index] - inner if reverse1 else inner - Y[:, index]
        expected[:, index] = carry

    result = run_op(
        run_older,
        lambda x, y, c: nisa.tensor_tensor_scan(
            x, y, c, np.subtract, np.subtract, reverse0, reverse1
        ),
        X,
        Y,
        COLUMN,
    )

    assert np.allclose(result, expected, rtol=1e-4, atol=1e-4)


def test_bn_aggr_combines_statistics_of_parts(run_older: Run, run_newer: Run) -> None:
    source = RANDOM.standard_normal((16, 700)).astype(np.float32) * 3 + 5
    expected = np.stack([source.mean(axis=1), source.var(axis=1)], axis=1)

    def older(x: Any) -> Any:
        parts = nl.ndarray((nl.par_dim(16), 12), dtype=nl.float32)
        parts[0:16, 0:6] = nisa.bn_stats(x[:, 0:512])
        parts[0:16, 6:12] = nisa.bn_stats(x[:, 512:700])
        return nisa.bn_aggr(parts)

    def newer(dst: Any, x: Any) -> None:
        parts = nl2.ndarray((16, 12), dtype=nl2.float32, buffer=nl2.sbuf)
        nisa2.bn_stats(dst=parts[:, 0:6], data=x[:, 0:512])
        nisa2.bn_stats(dst=parts[:, 6:12], data=x[:, 512:700])
        nisa2.bn_aggr(dst=dst, data=parts)

    assert np.allclose(run_op(run_older, older, source), expected, rtol=1e-4)
    assert np.allclose(
        run_into(run_newer, newer, (16, 2), nl2.float32, source), expected, rtol=1e-4
    )


def test_softmax_and_rms_norm_equal_their_formulas(run_older: Run) -> None:
    powers = np.exp(X - X.max(axis=1, keepdims=True))
    assert np.allclose(
        run_op(run_older, lambda x: nl.softmax(x, axis=1), X),
        powers / powers.sum(axis=1, keepdims=True),
        rtol=1e-5,
    )
    assert np.allclose(
        run_op(run_older, lambda x, w: nl.rms_norm(x, w, axis=1, n=24), X, Y),
        X * Y / np.sqrt((X * X).mean(axis=1, keepdims=True) + 1e-6),
        rtol=1e-4,
        atol=1e-6,
    )


@pytest.mark.parametrize("name", ["sum", "max", "min", "mean", "prod", "var"])
def test_reductions_over_free_dimensions_equal_numpys(run_older: Run, name: str) -> None:
    source = (RANDOM.standard_normal((8, 6, 4)) * 0.5 + 1).astype(np.float32)
    reference = getattr(np, name)

    last = run_op(run_older, lambda x: getattr(nl, name)(x, axis=2), source)
    both = run_op(run_older, lambda x: getattr(nl, name)(x, axis=[1, 2]), source)

    assert np.allclose(last, reference(source, axis=2), rtol=1e-4, atol=1e-5)
    assert np.allclose(both[:, 0], reference(source, axis=(1, 2)), rtol=1e-4, atol=1e-5)


def test_searches_equal_numpy(run_older: Run) -> None:
    order = -np.sort(-X, axis=1)

    assert np.array_equal(run_op(run_older, lambda x: nisa.max8(src=x), X), order[:, :8])
    indices = run_op(run_older, lambda x: nisa.nc_find_index8(data=x, vals=nisa.max8(src=x)), X)
    assert np.array_equal(np.take_along_axis(X, indices.astype(np.int64), axis=1), order[:, :8])
    left = run_op(
        run_older,
        lambda x: nisa.nc_match_replace8(data=x, vals=nisa.max8(src=x), imm=-9.0),
        X,
    )
    assert np.array_equal(left, np.where(order[:, 7:8] <= X, np.float32(-9), X))


def test_selections_by_conditions_and_predicates_equal_numpys(
    run_older: Run, run_newer: Run
) -> None:
    assert np.array_equal(
        run_op(run_older, lambda x, y: nl.where(x > y, x, 0.0), X, Y),
        np.where(np.less(Y, X), X, 0),
    )
    p, f = nl.mgrid[0:32, 0:24]
    selected = run_op(
        run_older,
        lambda x: nisa.affine_select(pred=p >= f, on_true_tile=x, on_false_value=-5.0),
        X,
    )
    assert np.array_equal(selected, np.where(np.tri(32, 24), X, np.float32(-5)))
    predicate = (X > 0).astype(np.uint8)

    def predicated(dst: Any, x: Any, chosen: Any) -> None:
        nisa2.memset(dst=dst, value=7.0)
        nisa2.tensor_copy_predicated(dst=dst, src=x, predicate=chosen)

    result = run_into(run_newer, predicated, X.shape, nl2.float32, X, predicate)
    assert np.array_equal(result, np.where(X > 0, X, np.float32(7)))


def test_partitions_are_reduced_and_shuffled(run_older: Run) -> None:
    total = run_op(run_older, lambda x: nisa.tensor_partition_reduce(np.add, x), X)
    assert np.allclose(total, X.sum(axis=0, keepdims=True), rtol=1e-4, atol=1e-5)

    def reversed_rows(x: Any) -> Any:
        moved = nl.ndarray((nl.par_dim(32), 24), dtype=nl.float32)
        nisa.nc_stream_shuffle(src=x, dst=moved, shuffle_mask=list(range(31, -1, -1)))
        return moved

    assert np.array_equal(run_op(run_older, reversed_rows, X), X[::-1])


def test_loads_transpose_tensors_in_device_memory(run_older: Run) -> None:
    def kernel(x: Any) -> Any:
        out = nl.ndarray((24, 32), dtype=x.dtype, buffer=nl.shared_hbm)
        nl.store(out, value=nl.load_transpose2d(x) + nisa.dma_transpose(x))
        return out

    assert np.array_equal(run_older(kernel, X).result, 2 * X.T)
