"""Hashes and random numbers are meant to wrap; what is computed beside them is not."""

import numpy as np
import pytest
import triton
import triton.language as tl

from kvtrace.verdicts.binding import BoundCall
from kvtrace.verdicts.judge import judge
from kvtrace.verdicts.rules import overflow
from tests.verdicts.calls import call, tensor


def verdicts(of_call):
    return {each.verdict for each in judge(of_call)}


def overflows(of_call):
    return {each.verdict for each in overflow.judge(BoundCall(of_call))}


@triton.jit
def sampled(scores, out, seed, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    noise = tl.rand(seed, row * BLOCK + lanes)
    _, index = tl.max(tl.load(scores + lanes) + noise, axis=0, return_indices=True)
    tl.store(out + row * stride, row * BLOCK + index)


@triton.jit
def dropped(x, out, seed, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    if tl.rand(seed, row) > 0.5:
        tl.store(out + row * stride, tl.load(x))


@triton.jit
def sampled_of_64_bits(x, out, seed, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    low, high, _, _ = tl.randint4x(seed, row)
    low = low.to(tl.uint32, bitcast=True).to(tl.uint64)
    high = high.to(tl.uint32, bitcast=True).to(tl.uint64)
    if ((high << 32) | low).to(tl.float64) > 1e18:
        tl.store(out + row * stride, tl.load(x))


@triton.jit
def dropped_in_a_loop(x, out, seed, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    open_ = True
    for trip in range(4):
        if open_:
            tl.store(out + row * stride + trip, tl.load(x))
            open_ = tl.rand(seed, row * 4 + trip) > 0.5


@triton.jit
def shifted(x, out, seed, stride, BLOCK: tl.constexpr):
    """Steps of xorshift, and a rotation: they lose no bits."""
    row = tl.program_id(0)
    number = (row + 1).to(tl.uint32)
    number ^= number << 13
    number ^= number >> 17
    number ^= number << 5
    number = (number << 29) | (number >> 3)
    tl.store(out + row * stride, tl.load(x + number % 64))


RANDOM = (sampled, dropped, sampled_of_64_bits, dropped_in_a_loop, shifted)


def drawn(kernel, programs, stride):
    out = tensor(programs, stride, dtype="i8")  # never allocated
    return call(kernel, (programs,), **{kernel.arg_names[0]: tensor(64)}, out=out, seed=7,
                stride=stride, BLOCK=64)  # fmt: skip


@pytest.mark.parametrize("kernel", RANDOM, ids=lambda kernel: kernel.fn.__name__)
def test_random_numbers_are_meant_to_wrap_around(kernel):
    assert verdicts(drawn(kernel, 100, 100)) == {"proven"}


@pytest.mark.parametrize("kernel", RANDOM, ids=lambda kernel: kernel.fn.__name__)
def test_an_address_beside_random_numbers_still_wraps_around(kernel):
    found = overflow.judge(BoundCall(drawn(kernel, 40, 1 << 26)))

    assert {v.expression for v in found if v.verdict == "violation"} == {"row * stride"}


@triton.jit
def far_score(x, out, stride, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    scores = ((lanes + 1) * stride).to(tl.float32)
    tl.store(out, tl.argmax(scores, axis=0) + tl.program_id(0))


def test_a_score_that_selects_an_index_does_not_feed_its_width():
    made = call(far_score, (1,), x=tensor(4), out=tensor(1, dtype="i32"), stride=2**30, BLOCK=8)

    assert verdicts(made) == {"proven"}


@triton.jit
def far_value(x, out, stride, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    scores = ((lanes + 1) * stride).to(tl.float32)
    value, _ = tl.max(scores, axis=0, return_indices=True)
    place = value.to(tl.int64)
    tl.store(out + place, 1.0, mask=place < 100)


@triton.jit
def by_way_of_floats(x, out, stride, BLOCK: tl.constexpr):
    place = ((tl.program_id(0) + 1) * stride).to(tl.float32).to(tl.int64)
    tl.store(out + place, 1.0, mask=place < 100)


@triton.jit
def masked_by_floats(x, out, stride, BLOCK: tl.constexpr):
    place = (tl.program_id(0) + 1) * stride
    tl.store(out + place.to(tl.int64) % 100, 1.0, mask=place.to(tl.float32) < 100.0)


@triton.jit
def odd_stride(x, out, stride, BLOCK: tl.constexpr):
    place = (tl.program_id(0) + stride) * 65_537
    tl.store(out + (place.to(tl.float32).to(tl.int64) & 63), 1.0)


@triton.jit
def half_a_hash(x, out, stride, BLOCK: tl.constexpr):
    """Bits of a product that is not mixed with its own, but with another number."""
    place = ((tl.program_id(0) + stride) * 65_537) ^ 3
    tl.store(out + place, 1.0)


@pytest.mark.parametrize(
    "kernel", [far_value, by_way_of_floats, masked_by_floats, odd_stride, half_a_hash],
    ids=lambda kernel: kernel.fn.__name__,
)  # fmt: skip
def test_a_wrap_that_passes_through_floats_is_not_missed(kernel):
    made = call(kernel, (3,), x=tensor(4), out=tensor(100), stride=2**30, BLOCK=8)

    assert overflows(made) - {"proven"}


@triton.jit
def keyed(x, out, stride, BLOCK: tl.constexpr):
    """Murmur's last steps, of a number that has itself wrapped."""
    place = tl.program_id(0) * stride
    key = place.to(tl.uint32) * 0x85EBCA6B
    key = (key ^ (key >> 13)) * 0xC2B2AE35
    key = key ^ (key >> 16)
    tl.store(out + (key % 64).to(tl.int32), 1.0)
    tl.store(out + place, 1.0)


def test_a_wrapped_hash_input_that_is_also_an_address_is_found():
    made = call(keyed, (40_000,), x=tensor(4), out=tensor(40_000, 65_536, dtype="i8"),
                stride=65_536, BLOCK=8)  # fmt: skip

    assert "violation" in overflows(made)


@triton.jit
def murmured(keys, out, slots, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    key = tl.load(keys + lanes).to(tl.uint32) * 0x85EBCA6B
    key = (key ^ (key >> 13)) * 0xC2B2AE35
    key = key ^ (key >> 16)
    if tl.max((key >> 8).to(tl.float32) * 5.9604645e-08, axis=0) > 0.5:
        tl.store(out + (key % slots.to(tl.uint32)).to(tl.int32), 1.0)


def test_a_hash_that_is_compared_as_a_float_is_judged():
    held = tensor(8, dtype="i32", data=np.arange(1000, 1008, dtype=np.int32))
    made = call(murmured, (1,), keys=held, out=tensor(100), slots=100, BLOCK=8)

    assert overflows(made) <= {"proven"}
