"""Upper bits of 8- and 16-bit sums, which are wrong where the sum wraps around."""

import numpy as np
import pytest
import triton
import triton.language as tl

from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.rules import overflow
from tests.verdicts.calls import call, tensor


@triton.jit
def halved(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, (tl.load(x + lanes) + tl.load(x + lanes + BLOCK)) >> 1, mask=lanes < n)


@triton.jit
def weighed(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    mean = (tl.load(x + lanes) * 3 + tl.load(x + lanes + BLOCK)) >> 2
    tl.store(out + lanes, mean, mask=lanes < n)


@triton.jit
def reduced_by(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    rest = (tl.load(x + lanes) + tl.load(x + lanes + BLOCK)) % 100
    tl.store(out + lanes, rest, mask=lanes < n)


@triton.jit
def halved_wide(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    total = tl.load(x + lanes).to(tl.uint32) + tl.load(x + lanes + BLOCK)
    tl.store(out + lanes, total >> 1, mask=lanes < n)


@triton.jit
def low_bits(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    total = tl.load(x + lanes) + tl.load(x + lanes + BLOCK)
    tl.store(out + lanes, total % 16 + total, mask=lanes < n)


def of_narrow(kernel, dtype, n=64):
    numpy_type = {"u8": np.uint8, "u16": np.uint16}[dtype]
    numbers = np.full(128, np.iinfo(numpy_type).max // 3 * 2, numpy_type)
    numbers[0] = 1
    x, out = tensor(128, dtype=dtype, data=numbers), tensor(64, dtype=dtype)
    narrow = call(kernel, (1,), x=x, out=out, n=n, BLOCK=64)
    return {verdict.verdict for verdict in overflow.judge(BoundCall(narrow))}


@pytest.mark.parametrize("dtype", ["u8", "u16"])
@pytest.mark.parametrize("kernel", [halved, weighed, reduced_by], ids=lambda k: k.fn.__name__)
def test_upper_bits_of_a_narrow_sum_that_wraps_are_wrong(kernel, dtype):
    assert "violation" in of_narrow(kernel, dtype)
    assert of_narrow(kernel, dtype, n=1) <= {"proven"}  # the others are not stored


@pytest.mark.parametrize("kernel", [halved_wide, low_bits], ids=lambda k: k.fn.__name__)
def test_bits_that_a_sum_has_may_be_stored(kernel):
    assert of_narrow(kernel, "u8") <= {"proven"}
