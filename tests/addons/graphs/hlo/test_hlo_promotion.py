import itertools
from fractions import Fraction

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import mutually_broadcastable_shapes

from kvtrace.addons.graphs.hlo import trace
from kvtrace.addons.graphs.hlo.dtypes import (
    BOOL,
    FLOAT8,
    FLOATS,
    INTEGERS,
    highest,
    is_float,
    lowest,
    promote,
)
from tests.addons.graphs.hlo.agreement import agree
from tests.support.thorough import usually

ALL = (BOOL, *INTEGERS, *FLOATS)


def values(dtype):
    """Some numbers that a type holds, its extremes included."""
    bounds = [highest(dtype), lowest(dtype)]
    numbers = [float(bound) for bound in bounds if np.isfinite(float(bound))]
    if is_float(dtype):
        step = ml_dtypes.finfo(dtype).eps
        numbers += [1.0, 1.0 + float(step), 0.5]
    return [Fraction(number) for number in numbers]


def test_promotion_is_symmetric_and_equals_numpys_for_integers():
    for left, right in itertools.product(ALL, ALL):
        result = promote(left, right)
        assert result == promote(right, left)
        kinds = {left in FLOATS, right in FLOATS}
        if kinds == {False}:
            numpys = np.promote_types(left, right)
            assert result == (np.int64 if numpys == np.float64 else numpys)
        elif kinds == {True, False}:
            assert result == (left if left in FLOATS else right)


def test_two_floats_make_one_that_holds_the_values_of_both():
    for left, right in itertools.product(FLOATS, FLOATS):
        result = promote(left, right)
        for dtype in (left, right):
            for number in values(dtype):
                if dtype == result or (dtype in FLOAT8 and abs(number) >= 65504):
                    continue
                rounded = np.asarray(float(number)).astype(result)
                assert Fraction(float(rounded)) == number, (left, right, result, number)


@pytest.mark.parametrize(
    ("dtype", "scalar", "result"),
    [
        ("float32", 2, "float32"),
        ("float32", 2.5, "float32"),
        ("float32", True, "float32"),
        ("float32", np.float64(2.5), "float32"),
        ("float32", np.int64(2), "float32"),
        ("bfloat16", 2.5, "bfloat16"),
        ("float16", 2, "float16"),
        ("float8_e5m2", 2.0, "float8_e5m2"),
        ("int8", 2, "int8"),
        ("int8", 2.5, "float32"),
        ("uint16", True, "uint16"),
        ("int64", np.float64(0.5), "float32"),
        ("bool", 2, "int32"),
        ("bool", 2.5, "float32"),
        ("bool", True, "bool"),
        ("float32", np.array(1.0), "float64"),
        ("float16", np.float32(1.0), "float32"),
    ],
)
def test_scalars_of_python_are_weak_and_arrays_are_not(dtype, scalar, result):
    from kvtrace.addons.graphs.hlo.arguments import dtype_of

    x = np.ones(2).astype(dtype_of(dtype))
    for program in (lambda x: x + scalar, lambda x: scalar + x, lambda x: np.add(x, scalar)):
        assert trace(program).specialize(x).outputs[0].dtype.name == result


@given(
    mutually_broadcastable_shapes(num_shapes=2, max_dims=3, min_side=0, max_side=3),
    st.sampled_from([d for d in ALL if d not in FLOAT8]),
    st.sampled_from([d for d in ALL if d not in FLOAT8]),
)
@settings(max_examples=usually(8, thorough=30), deadline=None)
def test_binary_functions_promote_operands_of_any_two_types(shapes, left, right):
    x, y = (
        np.asarray(np.arange(int(np.prod(shape))).reshape(shape) % 5).astype(dtype)
        for shape, dtype in zip(shapes.input_shapes, (left, right), strict=True)
    )

    def program(x, y):
        return x + y, x * y, np.maximum(x, y), x <= y, x / (y + 1), np.where(x > 1, x, y)

    def by_numpy(x, y):
        together = promote(left, right)  # which NumPy does otherwise, or not at all
        return program(x.astype(together), y.astype(together))

    agree(program, x, y, numpy=by_numpy, tolerance=(1e-2, 1e-2))
