"""What counts as storing the same in all programs."""

import triton
import triton.language as tl

from kvtrace.verdicts.races.same_values import stored_alike
from tests.verdicts.calls import call, tensor


@triton.jit
def stored_twice(x, out, ROUNDED: tl.constexpr):
    """One number in one place, twice; the second may be rounded in another way."""
    number = tl.load(x)
    tl.store(out, number.to(tl.float8e5, fp_downcast_rounding="rtne"))
    tl.store(out, number.to(tl.float8e5, fp_downcast_rounding=ROUNDED))


def alike(rounded):
    one = call(stored_twice, (4,), x=tensor(1), out=tensor(1, dtype="fp8e5"), ROUNDED=rounded)
    stores = [op for op in one.module.ops if op.name == "tt.store"]
    assert len(stores) == 2
    return stored_alike(stores, ())


def test_one_number_is_the_same_everywhere():
    assert alike("rtne") == "everywhere"


def test_a_number_that_is_rounded_in_two_ways_is_not_one():
    assert alike("rtz") is None
