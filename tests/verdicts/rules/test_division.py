"""Divisors that can be zero are found, those that cannot are proven not to be."""

import numpy as np
import triton
import triton.language as tl

from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.rules.division import judge
from tests.verdicts.calls import call, tensor


def verdicts(of_call):
    return list(judge(BoundCall(of_call)))


@triton.jit
def by_difference(out, first, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, 1000 // (lanes - first))


def test_a_zero_divisor_has_program_and_lane():
    (found,) = verdicts(call(by_difference, (4,), out=tensor(64), first=37, BLOCK=16))

    assert found.verdict == "violation"
    assert (found.program, found.lane) == ((2, 0, 0), (5,))
    assert found.expression == "1000 // (lanes - first)"


def test_a_divisor_that_no_lane_makes_zero_is_proven_for_any_grid():
    for programs in (4, 10_000_000):
        (found,) = verdicts(call(by_difference, (programs,), out=tensor(64), first=-1, BLOCK=16))
        assert found.verdict == "proven"


@triton.jit
def guarded(out, groups):
    if groups > 0:
        tl.store(out + tl.program_id(0) % groups, 1)


def test_a_branch_that_is_not_taken_divides_by_nothing():
    (zero,) = verdicts(call(guarded, (4,), out=tensor(8), groups=0))
    (some,) = verdicts(call(guarded, (4,), out=tensor(8), groups=3))

    assert zero.verdict == some.verdict == "proven"
    assert "no program reaches it" in zero.message


@triton.jit
def by_count(counts, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, 1000 % tl.load(counts + lanes))


def test_recorded_counts_decide_and_others_are_named():
    numbers = np.arange(8, dtype=np.int32)

    def judged(data):
        counts = tensor(8, dtype="i32", data=data)
        (found,) = verdicts(call(by_count, (1,), counts=counts, out=tensor(8), BLOCK=8))
        return found

    assert judged(numbers).verdict == "violation"
    assert judged(numbers).lane == (0,)
    assert judged(numbers + 1).verdict == "proven"
    assert judged(None).verdict == "unknown"
    assert "the contents of counts" in judged(None).reason
    assert "(set KVTRACE_TENSORS=int)" in judged(None).reason


@triton.jit
def of_products(out, a, b):
    tl.store(out + tl.program_id(0), 7 // (a * b))


def test_a_zero_divisor_from_a_product_that_wraps_around_is_a_violation():
    (found,) = verdicts(call(of_products, (1,), out=tensor(8), a=65_536, b=65_536))

    assert found.verdict == "violation"
    assert found.method == "evaluated"
