"""Stores of which all programs store the same value."""

import triton
import triton.language as tl

from kvtrace.symbolic.prover.digits import Common
from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.conflicts.same_values import store_same_value
from kvtrace.verdicts.conflicts.sharers import sharers_of
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
    first, second = (s for s in sharers_of(bound) if s.role.writes)
    common = Common(first.side, second.side)
    return store_same_value(bound, first, second, common)


def test_one_constant_is_the_same_in_all_programs():
    assert alike("rtne")


def test_a_constant_rounded_in_two_ways_is_not_the_same():
    assert not alike("rtz")


@triton.jit
def overlapping(x, out, n, SHIFT: tl.constexpr):
    """Blocks of 64 that begin every 60 elements, the last one shifted back."""
    i = tl.minimum(tl.program_id(0) * 60, n - 64) + tl.arange(0, 64)
    tl.store(out + i, tl.load(x + i * SHIFT) * 2)


@triton.jit
def offset_by_program(x, out, n, SHIFT: tl.constexpr):
    i = tl.program_id(0) * 60 + tl.arange(0, 64)
    tl.store(out + i, tl.load(x + i + tl.program_id(0) * SHIFT))


def is_alike(kernel, shift, **tensors):
    bound = BoundCall(call(kernel, (4,), **tensors, n=200, SHIFT=shift))
    (store,) = (s for s in sharers_of(bound) if s.role.writes)
    return store_same_value(bound, store, store, Common(store.side, store.side))


def test_a_value_that_follows_from_the_address_is_the_same_at_equal_addresses():
    assert is_alike(overlapping, 3, x=tensor(900), out=tensor(300))
    assert is_alike(offset_by_program, 0, x=tensor(900), out=tensor(300))


def test_a_value_that_also_depends_on_the_program_is_not_the_same():
    assert not is_alike(offset_by_program, 1, x=tensor(900), out=tensor(300))


def test_a_value_loaded_from_where_it_is_stored_is_not_the_same():
    both = tensor(300)

    assert not is_alike(overlapping, 1, x=both, out=both)


@triton.jit
def masked(x, out, n, SHIFT: tl.constexpr):
    """All programs load and store the same lanes; SHIFT more are stored than loaded."""
    lanes = tl.arange(0, 256)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n + SHIFT)


@triton.jit
def masked_by_address(x, out, n, SHIFT: tl.constexpr):
    i = tl.program_id(0) * 60 + tl.arange(0, 64)
    numbers = tl.load(x + i, mask=i < n)
    tl.store(out + i, tl.where(i < n - SHIFT, numbers + 1, numbers), mask=i < n)


@triton.jit
def masked_by_program(x, out, n, SHIFT: tl.constexpr):
    """The lanes that a program leaves undefined are those of its number."""
    i, limit = tl.arange(0, 256), n + tl.program_id(0)
    numbers = tl.load(x + i, mask=i < limit)
    tl.store(out + i, numbers, mask=i < n + SHIFT)


@triton.jit
def filled_by_program(x, out, n, SHIFT: tl.constexpr):
    i, limit = tl.arange(0, 256), n + tl.program_id(0)
    tl.store(out + i, tl.load(x + i, mask=i < limit, other=0.0), mask=i < n + SHIFT)


@triton.jit
def summed(x, out, n, SHIFT: tl.constexpr):
    """The sum takes the undefined lanes, too."""
    i = tl.arange(0, 256)
    tl.store(out, tl.sum(tl.load(x + i, mask=i < n)))


def test_lanes_that_are_left_undefined_count_where_they_are_stored():
    tensors = {"x": tensor(900), "out": tensor(300)}

    assert is_alike(masked, 0, **tensors)
    assert is_alike(masked, -1, **tensors)
    assert not is_alike(masked, 1, **tensors)
    assert is_alike(masked_by_address, 9, **tensors)
    assert not is_alike(summed, 0, **tensors)


def test_masks_of_loads_may_depend_on_the_program_where_no_stored_lane_does():
    tensors = {"x": tensor(900), "out": tensor(300)}

    assert is_alike(masked_by_program, 0, **tensors)
    assert not is_alike(masked_by_program, 1, **tensors)
    assert not is_alike(filled_by_program, 1, **tensors)
