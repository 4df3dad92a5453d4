"""A condition that wraps around leads programs where ideal numbers never get."""

import pytest
import triton
import triton.language as tl

from kvtrace.verdicts.judge import judge
from tests.verdicts.calls import call, tensor


@triton.jit
def led_astray(out, stride, n, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """Ideal numbers are never negative here; those of 32 bits are, from program 32,768 on."""
    lanes = tl.arange(0, BLOCK)
    row = tl.program_id(0) * stride
    if HOW == "branch":
        if row < 0:
            tl.store(out + n + lanes, 1.0)
    elif HOW == "mask":
        tl.store(out + n + lanes, 1.0, mask=(row + lanes * 0) < 0)
    elif HOW == "loop":
        for trip in range(tl.minimum(0 - row, 3)):
            tl.store(out + n + trip + lanes, 1.0)
    elif HOW == "while":
        left = tl.minimum(0 - row, 3)
        while left > 0:
            tl.store(out + n + left + lanes, 1.0)
            left -= 1
    elif HOW == "nested":
        if row < 0:  # noqa: SIM102
            if row + stride < stride:
                tl.store(out + n + lanes, 1.0, mask=lanes < n)
    elif HOW == "by way of a branch":
        far = 0
        if row < 0:
            far = n
        tl.store(out + far + lanes, 1.0)
    elif HOW == "selected":
        tl.store(out + tl.where(row < 0, n, 0) + lanes, 1.0)
    elif HOW == "widened":
        if row.to(tl.int64) < 0:
            tl.store(out + n + lanes, 1.0)
    elif HOW == "divided":
        if row // 4 < 0:
            tl.store(out + n + lanes, 1.0)
    else:
        if (row >= 0) == 0:
            tl.store(out + n + lanes, 1.0)


WAYS = ("branch", "mask", "loop", "while", "nested", "by way of a branch", "selected", "widened",
        "divided", "negated")  # fmt: skip


def led(how, programs):
    return call(led_astray, (programs,), out=tensor(64), stride=65_536, n=64, HOW=how, BLOCK=64)


@pytest.mark.parametrize("how", WAYS)
def test_an_access_behind_a_condition_that_wraps_is_not_called_unreached(how):
    found = [each for each in judge(led(how, 40_000)) if each.rule == "out-of-bounds"]

    assert "proven" not in {each.verdict for each in found}


@pytest.mark.parametrize("how", WAYS)
def test_an_access_behind_a_false_condition_without_wraps_is_unreached(how):
    found = [each for each in judge(led(how, 100)) if each.rule == "out-of-bounds"]

    assert {each.verdict for each in found} <= {"proven"}


@triton.jit
def compared_with_a_product(out, stride, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    near = (tl.program_id(0) + n) % 8
    tl.store(out + lanes, 1.0, mask=near + lanes * 0 > tl.program_id(0) * stride)


def test_the_operand_that_wraps_is_named_and_not_the_other():
    launch = call(compared_with_a_product, (40_000,), out=tensor(64), stride=65_536, n=64, BLOCK=64)
    other, product = (each for each in judge(launch) if each.rule == "overflow")

    assert (other.verdict, product.verdict) == ("proven", "violation")
    assert other.message.startswith("program_id(0) + n stays within 32 bits")
    assert product.message.startswith("program_id(0) * stride is 2,621,374,464, more than 32 bits")
