"""What counts as storing the same in all programs."""

import triton
import triton.language as tl

from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.races.digits import Common
from kvtrace.verdicts.races.same_values import store_the_same
from kvtrace.verdicts.races.sharers import sharers_of
from tests.verdicts.calls import call, tensor


@triton.jit
def stored_twice(x, out, ROUNDED: tl.constexpr):
    """One number in one place, twice; the second may be rounded in another way."""
    number = tl.load(x)
    tl.store(out, number.to(tl.float8e5, fp_downcast_rounding="rtne"))
    tl.store(out, number.to(tl.float8e5, fp_downcast_rounding=ROUNDED))


def alike(rounded):
    one = call(stored_twice, (4,), x=tensor(1), out=tensor(1, dtype="fp8e5"), ROUNDED=rounded)
    bound = BoundCall(one)
    first, second = (s for s in sharers_of(bound) if s.part.writes)
    common = Common(first.side, second.side)
    return store_the_same(bound, first, second, common)


def test_one_number_is_the_same_everywhere():
    assert alike("rtne")


def test_a_number_that_is_rounded_in_two_ways_is_not_one():
    assert not alike("rtz")
