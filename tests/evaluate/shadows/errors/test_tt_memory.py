"""Loads and stores whose pointers or masks are not certain are open in those lanes alone."""

import numpy as np
import pytest
import torch
import triton
import triton.language as tl

from kvtrace.evaluate.errors import Undecided
from kvtrace.evaluate.shadows.errors.analysis import Deviations, Radii
from tests.evaluate.shadows.errors.bounding import bounded

BLOCK = 16


@triton.jit
def gathered(x, y, z, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    further = (tl.exp(tl.load(x + lanes)) > 1.0).to(tl.int32)
    mask = tl.exp(tl.load(y + lanes)) > 1.0
    tl.store(out + lanes, tl.load(z + lanes + further, mask=mask, other=0.0))


@triton.jit
def scattered(x, z, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    further = (tl.exp(tl.load(x + lanes)) > 1.0).to(tl.int32)
    tl.store(out + lanes + further, tl.load(z + lanes))


@triton.jit
def added_twice(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.atomic_add(out + lanes % 2, tl.exp(tl.load(x + lanes)))


@triton.jit
def halves_added_twice(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.atomic_add(out + lanes % 2, tl.load(x + lanes) * 0.7)


@triton.jit
def stored_and_read_two_bytes_on(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.exp(tl.load(x + lanes)))
    between = (out.to(tl.pointer_type(tl.int8)) + 2).to(tl.pointer_type(tl.float32))
    tl.store(x + lanes, tl.load(between + lanes, mask=lanes < BLOCK - 1, other=0.0))


def numbers_with_an_uncertain_exponential(lane):
    """Return numbers, one with an exponential so near 1 that its direction is uncertain."""
    numbers = torch.full((BLOCK,), 0.5)
    numbers[lane] = 0.0
    return numbers


@pytest.mark.parametrize("analysis", [Radii, Deviations])
def test_a_load_has_no_bound_in_lanes_with_an_uncertain_pointer_or_mask(analysis):
    inputs = {
        "x": numbers_with_an_uncertain_exponential(3),
        "y": numbers_with_an_uncertain_exponential(5),
        "z": torch.rand(BLOCK + 1),
    }
    _, planes = bounded(analysis, gathered, inputs, torch.zeros(BLOCK), BLOCK=BLOCK)
    assert np.flatnonzero(np.isinf(planes["worst"])).tolist() == [3, 5]
    assert np.flatnonzero(planes["worst"]).tolist() == [3, 5]


@pytest.mark.parametrize("analysis", [Radii, Deviations])
def test_a_store_through_an_uncertain_pointer_is_undecided(analysis):
    inputs = {"x": numbers_with_an_uncertain_exponential(3), "z": torch.rand(BLOCK)}
    with pytest.raises(Undecided, match="writes depends on the device's roundings"):
        bounded(analysis, scattered, inputs, torch.zeros(BLOCK + 1), BLOCK=BLOCK)


@pytest.mark.parametrize("analysis", [Radii, Deviations])
def test_bounds_of_atomic_sums_include_operand_errors_and_roundings(analysis):
    x = torch.linspace(-1, 1, BLOCK)
    out = torch.zeros(2)
    values, planes = bounded(analysis, added_twice, {"x": x}, out, BLOCK=BLOCK)
    sums = x.double().exp().numpy().reshape(-1, 2).sum(0)
    of_exp = 2 * 2.0**-23 * sums / 2
    assert (planes["worst"] > of_exp + 2.0**-24 * sums).all()
    assert (planes["worst"] < 64 * 2.0**-23 * sums).all()
    assert (np.abs(values - sums) <= planes["worst"] * (2 if analysis is Radii else 1)).all()


@pytest.mark.parametrize("size", [1e-39, -3e-38, 1.0])
def test_bounds_of_atomic_sums_include_denormals_that_are_flushed(size):
    x, out = torch.full((BLOCK,), size), torch.zeros(2)
    values, planes = bounded(Deviations, halves_added_twice, {"x": x}, out, BLOCK=BLOCK)
    sums = (x.double() * float(np.float32(0.7))).numpy().reshape(-1, 2).sum(0)
    assert (np.abs(values - sums) <= planes["worst"]).all()
    assert (planes["worst"] < 8 * 3.6e-38 + 64 * 2.0**-24 * np.abs(sums)).all()


@pytest.mark.parametrize("analysis", [Radii, Deviations])
def test_a_load_between_two_elements_with_errors_is_undecided(analysis):
    x, out = torch.rand(BLOCK), torch.zeros(BLOCK)
    with pytest.raises(Undecided, match="not multiples of the elements' size"):
        bounded(analysis, stored_and_read_two_bytes_on, {"x": x}, out, BLOCK=BLOCK)
