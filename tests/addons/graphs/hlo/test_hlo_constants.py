import ml_dtypes
import numpy as np
import pytest

from kvtrace.addons.graphs.hlo import trace
from kvtrace.addons.graphs.hlo.dtypes import BOOL, FLOATS, INTEGERS, highest, lowest
from tests.addons.graphs.hlo import xla

SHAPES = [(), (1,), (3,), (2, 0), (2, 3, 4), (5, 7)]


@pytest.mark.parametrize("dtype", [BOOL, *INTEGERS, *FLOATS], ids=str)
def test_arrays_from_outside_reach_xla_bit_by_bit(dtype):
    random = np.random.default_rng(3)
    arrays = [random.integers(0, 2 if dtype == BOOL else 12, size=shape) for shape in SHAPES]
    with np.errstate(all="ignore"):
        arrays = [np.asarray(a).astype(dtype) for a in (*arrays, [highest(dtype), lowest(dtype)])]
    graph = trace(lambda: arrays).specialize()

    for results in (graph.evaluate(), xla.run(graph.to_stablehlo())):
        for result, array in zip(results, arrays, strict=True):
            assert (result.dtype, result.shape) == (array.dtype, array.shape)
            assert result.tobytes() == array.tobytes()


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
def test_infinities_nan_and_signed_zeros_reach_xla_unchanged(dtype):
    numbers = [np.inf, -np.inf, np.nan, 0.0, -0.0, 1e-3, float(ml_dtypes.finfo(dtype).max)]
    array = np.array(numbers).astype(dtype)
    graph = trace(lambda: (array, *[np.full(2, n).astype(dtype) for n in numbers])).specialize()

    whole, *uniform = xla.run(graph.to_stablehlo())

    np.testing.assert_array_equal(whole.astype(np.float64), array.astype(np.float64))
    signs = np.signbit(whole.astype(np.float64)) == np.signbit(array.astype(np.float64))
    assert signs[~np.isnan(array.astype(np.float64))].all()
    for number, result in zip(array, uniform, strict=True):
        np.testing.assert_array_equal(result.astype(np.float64), np.float64(number))


def test_big_endian_and_strided_arrays_are_constants_of_equal_values():
    big = np.arange(40, dtype=">f4")
    strided = np.arange(40, dtype=np.int32).reshape(5, 8)[::2, ::-3]
    graph = trace(lambda: strided).specialize()

    np.testing.assert_array_equal(xla.run(graph.to_stablehlo())[0], strided)
    graph = trace(lambda x: x + big).specialize(np.zeros(40, np.float32))
    results = xla.run(graph.to_stablehlo(), np.zeros(40, np.float32))
    np.testing.assert_array_equal(results[0], np.arange(40))
    argument = big.copy()
    trace(lambda x: x.fill(3)).specialize(argument).run(argument)
    np.testing.assert_array_equal(argument, 3)
    assert argument.dtype == big.dtype


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float8_e5m2", "float8_e4m3"])
def test_float64_is_rounded_once_to_8_bits_as_by_xla(name):
    steps = np.arange(1, 200) / 64
    numbers = np.concatenate([steps, steps + 2.0**-45, steps - 2.0**-45, [np.nan, np.inf, -0.0]])
    graph = trace(lambda x: x.astype(np.dtype(getattr(ml_dtypes, name)))).specialize(numbers)
    (ours,), (theirs,) = graph.evaluate(numbers), xla.run(graph.to_stablehlo(), numbers)
    np.testing.assert_array_equal(ours.astype(np.float32), theirs.astype(np.float32))
