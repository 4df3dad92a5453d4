"""How far two versions may be off by roundings, by their bounds."""

from typing import Any

import pytest
import triton
import triton.language as tl
from triton.language.extra import libdevice

from kvtrace.addons.invariance.input_kinds import Inputs
from kvtrace.addons.invariance.stores import stored_elements
from kvtrace.addons.invariance.version_values import (
    Bounds,
    VersionCalls,
    error_bounds,
    versions_differ,
)
from kvtrace.recorded_calls.reading import calls_of
from tests.addons.invariance.conftest import Recorded
from tests.addons.invariance.inputs import tensor

N = 64


@triton.jit
def _expm1(x, y, NEW: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    tl.store(y + at, libdevice.expm1(value) if NEW else tl.exp(value) - 1.0)


@triton.jit
def _softmax(x, y, NEW: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    power = tl.exp(value if NEW else value - tl.max(value))
    tl.store(y + at, power / tl.sum(power))


@triton.jit
def _variance(x, y, NEW: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    value = tl.load(x + at)
    mean = tl.sum(value) / N
    apart = value - mean
    var = tl.sum(value * value) / N - mean * mean if NEW else tl.sum(apart * apart) / N
    tl.store(y + at, apart * 0 + var)


@triton.jit
def _factored(x, y, NEW: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    p, q, r = tl.load(x + at), tl.load(x + (at + 1) % N), tl.load(x + (at + 2) % N)
    tl.store(y + at, q * (p - r) if NEW else q * p - q * r)


@pytest.fixture
def bounds(recorded: Recorded) -> Any:
    def of(kernel: Any, inputs: Inputs, versions: tuple[int, int] = (0, 1)) -> Bounds:
        x = tensor(N, seed=1)
        runs = recorded(lambda: [kernel[(1,)](x, x.clone(), NEW=new, N=N) for new in versions])
        first, second = calls_of(runs.trace, *runs.runs)
        found = error_bounds(inputs, VersionCalls(first, second, 1, [(0, 0), (1, 1)]))
        assert found is not None
        return found

    return of


def test_cancellation_in_the_first_version_explains_a_difference(bounds: Any) -> None:
    assert bounds(_expm1, "small numbers").explains
    assert not bounds(_expm1, "small numbers", (1, 0)).explains


def test_overflow_in_the_second_version_is_lost_accuracy(bounds: Any) -> None:
    assert bounds(_softmax, "random numbers").accuracy("random numbers") == "as exact"
    assert bounds(_softmax, "numbers around 10,000").accuracy("numbers around 10,000") == "lost"
    assert bounds(_softmax, "huge numbers").accuracy("huge numbers") is None


def test_overflow_with_the_right_sign_is_as_exact_as_another_overflow(bounds: Any) -> None:
    """`q * p - q * r` is NaN, or of the wrong sign, where `q * (p - r)` is beyond all numbers."""
    huge: Inputs = "huge numbers"

    assert bounds(_factored, huge).accuracy(huge) == "as exact"
    assert bounds(_factored, huge, (1, 0)).accuracy(huge) is None


def test_one_pass_variance_is_less_exact_than_two_passes(bounds: Any) -> None:
    far: Inputs = "numbers around 10,000"

    assert bounds(_variance, far).accuracy(far) is None
    assert bounds(_variance, far, (1, 0)).accuracy(far) == "as exact"


@triton.jit
def _scaled(x, y, NEW: tl.constexpr, N: tl.constexpr):
    at = tl.arange(0, N)
    tl.store(y + at, tl.load(x + at * 0) * (2.0 if NEW else 3.0))


@pytest.mark.parametrize(("x_size", "y_size"), [(1 << 30, N), (1, 1 << 30), (1 << 40, 1 << 40)])
def test_tensors_that_repeat_an_element_are_not_filled(
    recorded: Recorded, x_size: int, y_size: int
) -> None:
    """Random numbers for 2^30 elements would take 8.6 GB, though one is stored."""
    x, y = tensor(1, seed=1).expand(x_size), tensor(1, seed=2).expand(y_size)
    runs = recorded(lambda: [_scaled[(1,)](x, y, NEW=new, N=1) for new in (0, 1)])
    first, second = calls_of(runs.trace, *runs.runs)
    assert versions_differ(VersionCalls(first, second, 1, [(0, 0), (1, 1)])) is None
    mask = stored_elements(first, 1)
    assert (mask is None) == (y_size > N)
