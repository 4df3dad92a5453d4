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

NEWER_BY_POSITION = {
    "activation": (lambda d, x, y: nisa2.activation(d, nl2.exp, x, y[:, 0:1], 0.5), (32, 24)),
    "tensor_reduce": (lambda d, x, y: nisa2.tensor_reduce(d, nl2.add, x, 1, True, True), (32, 1)),
    "tensor_copy": (lambda d, x, y: nisa2.tensor_copy(d, x, nisa2.scalar_engine), (32, 24)),
}
BY_POSITION_EXPECTED = {
    "activation": np.exp(0.5 * X + Y[:, :1]),
    "tensor_reduce": -X.sum(axis=1, keepdims=True),
    "tensor_copy": X,
}


@pytest.mark.parametrize("name", NEWER_BY_POSITION)
def test_newer_instructions_accept_operands_by_position(run_newer: Run, name: str) -> None:
    op, shape = NEWER_BY_POSITION[name]

    result = run_into(run_newer, op, shape, nl2.float32, X, Y)

    np.testing.assert_allclose(result, BY_POSITION_EXPECTED[name], rtol=1e-5, atol=1e-5)


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


@pytest.mark.parametrize("name", ["sum", "max", "min", "mean", "prod"])
def test_reductions_over_free_dimensions_equal_numpys(run_older: Run, name: str) -> None:
    source = (RANDOM.standard_normal((8, 6, 4)) * 0.5 + 1).astype(np.float32)
    reference = getattr(np, name)

    last = run_op(run_older, lambda x: getattr(nl, name)(x, axis=2), source)
    both = run_op(run_older, lambda x: getattr(nl, name)(x, axis=[1, 2]), source)

    assert np.allclose(last, reference(source, axis=2), rtol=1e-4, atol=1e-5)
    assert np.allclose(both[:, 0], reference(source, axis=(1, 2)), rtol=1e-4, atol=1e-5)


def test_selections_by_conditions_equal_numpys(run_older: Run) -> None:
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
