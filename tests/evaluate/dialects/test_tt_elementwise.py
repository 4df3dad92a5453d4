"""Dependent grids and approximate division of Triton 3.9, in compiled kernels."""

import numpy as np
import pytest

from kvtrace.evaluate import ScalarArgument, Storage, TensorArgument, evaluate
from kvtrace.evaluate.shadows.errors.analysis import Deviations, Radii
from kvtrace.ir import parse
from kvtrace.recorded_calls.recorded import Call
from kvtrace.verdicts.judge import judge
from tests.kernels.triton39 import text_of

SIZE = 300
X = np.linspace(1, 3, SIZE, dtype=np.float32)
Y = np.full(SIZE, 7, np.float32)


def arguments(*arrays):
    """Return the arguments of the kernel `dependent`, and the array that it stores to."""
    out = np.zeros(SIZE, np.float32)
    held = [
        TensorArgument(
            name, Storage(array.nbytes, array.view(np.uint8)), 0, "fp32", array.shape, (1,)
        )
        for name, array in zip(("x", "y", "out"), (*arrays, out), strict=True)
    ]
    return (*held, ScalarArgument("size", SIZE)), out


def radii_of(instrument, *arrays):
    given, out = arguments(*arrays)
    evaluate(parse(text_of("dependent")), given, (2,), instrument=instrument)
    return out, id(given[2].storage)


def test_a_dependent_launch_without_predecessor_does_not_wait():
    given, out = arguments(X, Y)
    evaluate(parse(text_of("dependent")), given, (2, 1, 1))
    np.testing.assert_array_equal(out, X / Y)


def test_a_launch_that_waits_for_an_earlier_kernel_is_judged_without_it():
    given, _ = arguments(X, Y)
    verdicts = judge(Call(0, "dependent", (2, 1, 1), parse(text_of("dependent")), given, ()))
    assert {each.verdict for each in verdicts if each.rule == "out-of-bounds"} == {"proven"}
    assert "unknown" not in {each.verdict for each in verdicts}


def test_bound_of_an_approximate_quotient_is_at_least_two_units():
    radii = Radii(parse(text_of("dependent")))
    out, storage = radii_of(radii, X, Y)
    result = radii.memory.planes.by_storage[storage][2]["worst"]
    units = result / np.spacing(out)
    assert (units >= 2).all()
    assert (units < 5).all()


@pytest.mark.parametrize("divisor", [2.0**127, 2.0**-127, 0.0, np.inf])
def test_approximate_quotients_by_very_large_or_small_divisors_have_no_bound(divisor):
    """Divisors above 2^126 make `div.approx` return 0; below 2^-126 it has no stated error."""
    y = np.where(np.arange(SIZE) == 5, np.float32(divisor), Y)
    radii = Radii(parse(text_of("dependent")))
    _, storage = radii_of(radii, X, y)
    result = radii.memory.planes.by_storage[storage][2]["worst"]
    np.testing.assert_array_equal(np.isfinite(result), np.arange(SIZE) != 5)

    deviations = Deviations(parse(text_of("dependent")))
    _, storage = radii_of(deviations, X, y)
    deviations.memory.finish()
    _, _, planes = deviations.memory.planes.by_storage[storage]
    np.testing.assert_array_equal(np.isfinite(planes["worst"]), np.arange(SIZE) != 5)
