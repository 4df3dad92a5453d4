import ml_dtypes
import numpy as np
import pytest

from kvtrace.addons.graphs.hlo import ops
from tests.addons.graphs.hlo.agreement import agree, agree_on_all, words

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.5, 3.5, -2.5, np.inf, -np.inf, np.nan, 1e-3, 20.0]
FLOATS = {
    "float32": np.array(SPECIAL + [1e30, -1e30, 1e-30], np.float32),
    "float64": np.array(SPECIAL + [1e200, 1e-200]),
    "float16": np.array(SPECIAL, np.float16),
    "bfloat16": np.array(SPECIAL, np.float32).astype(ml_dtypes.bfloat16),
}
INTEGERS = {
    name: np.array([0, 1, 2, 3, 7, 100, 127] + ([] if name[0] == "u" else [-1, -2, -100]), name)
    for name in ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
}


def of_floats(name):
    """NumPy's function, computed in float64 where NumPy has no such type itself."""

    def apply(x, *rest):
        function = getattr(np, name)
        return function(*(np.asarray(a).astype(np.float64) for a in (x, *rest)))

    return apply


UNARY = words(
    "exp expm1 log log1p log2 sqrt square reciprocal sin cos tan tanh "
    "arctan absolute negative positive "
    "sign ceil floor rint trunc isnan isinf isfinite signbit logical_not"
)


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_float_equal_numpys(name):
    function = getattr(np, name)
    cases = list(FLOATS.values())
    if name in ("sin", "cos", "tan"):  # far from zero, reduction of the angle differs
        cases = [x[np.abs(x.astype(np.float64)) < 1e4] for x in cases]
    agree_on_all(function, [(x,) for x in cases], numpy=of_floats(name))


@pytest.mark.parametrize(
    "name",
    words("exp sqrt sin absolute negative sign ceil rint trunc isnan invert logical_not square"),
)
def test_functions_of_one_integer_equal_numpys(name):
    function = getattr(np, name)
    cases = list(INTEGERS.values())
    if name in ("exp", "sqrt", "sin"):
        cases = [np.abs(x[x < 20]) for x in cases]
    # NumPy makes float16 of int8.
    agree_on_all(function, [(x,) for x in cases], tolerance=(1e-3, 1e-3))


BINARY = words(
    "add subtract multiply divide floor_divide remainder power maximum minimum "
    "logaddexp arctan2 copysign equal not_equal less "
    "less_equal greater greater_equal logical_and logical_or logical_xor"
)


@pytest.mark.parametrize("name", BINARY)
def test_functions_of_two_floats_equal_numpys(name):
    function = getattr(np, name)
    cases = []
    for dtype, x in FLOATS.items():
        if dtype in ("float16", "bfloat16"):
            x = x[np.isfinite(x.astype(np.float32)) & (np.abs(x.astype(np.float32)) < 20)]
        if name in ("floor_divide", "remainder"):
            x = x[~(np.abs(x.astype(np.float64)) > 1e4)]
        cases.append((x[:, None], x[None, :]))
    agree_on_all(function, cases, numpy=of_floats(name))


@pytest.mark.parametrize(
    "name",
    words(
        "add subtract multiply divide floor_divide remainder maximum minimum "
        "bitwise_and bitwise_or bitwise_xor equal less logical_and"
    ),
)
def test_functions_of_two_integers_equal_numpys(name):
    function = getattr(np, name)
    agree_on_all(function, [(x[:, None], x[None, :]) for x in INTEGERS.values()])


def test_shifts_beyond_the_width_and_of_negative_numbers_equal_numpys():
    distances = np.array([[0, 1, 3, 7]])
    cases = [(x[:, None], distances.astype(x.dtype)) for x in INTEGERS.values()]
    agree_on_all(lambda x, y: (x << y, x >> y), cases)


def test_powers_by_small_exponents_and_of_integers_equal_numpys():
    x = np.array([0.5, 1.0, 2.0, 3.0], np.float32)
    whole = np.array([0, 1, 2, 3, -2], np.int32)
    agree(lambda x: (x**2, x**-1, x**0.5, x**3, 2**x, x**1), x)
    agree(lambda n: (n**2, n**3, n**0, np.power(2, abs(n))), whole)


@pytest.mark.parametrize("dtype", ["float8_e4m3fn", "float8_e5m2"])
def test_functions_of_8_bit_floats_equal_numpys(dtype):
    x = np.array([0.0, 0.5, 1.0, -1.5, 2.0, -3.0]).astype(getattr(ml_dtypes, dtype))

    def scaled(x):
        return x.astype(np.float32) * 2.0, x + x, x * x, np.maximum(x, 0)

    agree(scaled, x)


def test_round_and_clip_equal_numpys():
    x = np.array([0.125, 0.5, 1.5, -2.345, 123.456, np.nan, np.inf, -np.inf], np.float32)
    whole = np.array([-3, 5, 12], np.int32)
    agree(lambda x: (np.round(x, 2), x.round(), np.round(x, -1)), x)
    agree(lambda x: (np.clip(x, -1, 1), x.clip(0, None), np.clip(x, max=2.0)), x)
    agree(lambda n: (n.clip(0, 10), n.round()), whole)


def test_activations_equal_their_formulas():
    x = np.linspace(-6, 6, 25, dtype=np.float32)
    agree(ops.sigmoid, x, numpy=lambda x: 1 / (1 + np.exp(-x)))
    agree(ops.silu, x, numpy=lambda x: x / (1 + np.exp(-x)))
    agree(ops.relu, x, numpy=lambda x: np.maximum(x, 0))
    agree(
        ops.gelu,
        x,
        numpy=lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
    )


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0, 2), (1, 1)])
def test_elementwise_functions_accept_tensors_of_no_or_one_element(shape):
    x = np.ones(shape, np.float32)
    agree(lambda x: (x + 1, np.exp(x), x == x, -x, np.where(x > 0, x, 0)), x)


def test_operators_accept_arrays_and_scalars_on_both_sides():
    x = np.array([1.5, -2.0, 3.0], np.float32)
    n = np.array([1, -2, 3], np.int32)
    agree(lambda x: (1 + x, 1 - x, 2 * x, 1 / x, 7 // x, 7 % x, 2.0**x, -x, +x, abs(x)), x)
    agree(lambda n: (6 & n, 6 | n, 6 ^ n, 1 << abs(n), 64 >> abs(n), ~n, divmod(n, 2)), n)
    agree(lambda x: (x < 1, x <= 1, x > 1, x >= 1, x == 1, x != 1), x)
    agree(lambda x: (np.float64(2.0) * x, x * np.float64(0.5), np.float32(2) + x), x)


def test_ufuncs_accept_out_and_dtype():
    x = np.array([1.0, 4.0, -9.0], np.float32)
    n = np.array([1, 2, 3], np.int32)

    def into(x):
        result = np.zeros_like(x)
        np.sqrt(abs(x), out=result)
        np.add(result, x, out=x)
        return result

    agree(into, x)
    agree(lambda n: np.add(n, n, dtype=np.float32), n)
