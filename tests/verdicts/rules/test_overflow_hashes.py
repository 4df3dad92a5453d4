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


# -- hashes without large constants ---------------------------------------------------------------


@triton.jit
def masked(x, out, n, SIZE: tl.constexpr):
    h = tl.zeros((), tl.int32)
    for k in range(n):
        h = h * 31 + tl.load(x + k)
    tl.store(out + (h & (SIZE - 1)), 1)


@triton.jit
def remainder_of_two(x, out, n, SIZE: tl.constexpr):
    h = tl.zeros((), tl.uint32)
    for k in range(n):
        h = h * 31 + tl.load(x + k).to(tl.uint32)
    tl.store(out + h % SIZE, 1)


@triton.jit
def remainder_of_61(x, out, n, SIZE: tl.constexpr):
    h = tl.zeros((), tl.uint32)
    for k in range(n):
        h = h * 31 + tl.load(x + k).to(tl.uint32)
    tl.store(out + h % 61, 1)


@triton.jit
def signed_remainder(x, out, n, SIZE: tl.constexpr):
    h = tl.zeros((), tl.int32)
    for k in range(n):
        h = h * 31 + tl.load(x + k)
    tl.store(out + (h % 61 + 61) % 61 + tl.abs(h) % 61, 1)


@triton.jit
def of_bernstein(x, out, n, SIZE: tl.constexpr):
    h = tl.full((8,), 5381, tl.uint32)
    for k in range(n):
        h = ((h << 5) + h) ^ tl.load(x + tl.arange(0, 8) + k).to(tl.uint32)
    tl.store(out + h % 61, 1)


@triton.jit
def of_jenkins(x, out, n, SIZE: tl.constexpr):
    h = tl.zeros((), tl.uint32)
    for k in range(n):
        h += tl.load(x + k).to(tl.uint32)
        h += h << 10
        h ^= h >> 6
    h += h << 3
    h ^= h >> 11
    h += h << 15
    tl.store(out + (h & (SIZE - 1)), 1)


@triton.jit
def stored(x, out, n, SIZE: tl.constexpr):
    h = (tl.program_id(0) + 5381).to(tl.uint32)
    for k in range(n):
        h = h * 33 + tl.load(x + k).to(tl.uint32)
    tl.store(out + tl.program_id(0), h)


@triton.jit
def of_three_words(x, out, n, SIZE: tl.constexpr):
    first = x + tl.arange(0, 8)
    a, b = tl.load(first).to(tl.uint32), tl.load(first + 1).to(tl.uint32)
    c = tl.load(first + 2).to(tl.uint32)
    tl.store(out + ((a * 257 + b) * 257 + c) % 61, 1)


@triton.jit
def hashed_twice(x, out, n, SIZE: tl.constexpr):
    key = tl.load(x + tl.program_id(0)).to(tl.uint32)
    for k in range(4):
        tl.store(out + (key * 31 + 7 + k * (key * 17 + 3)) % SIZE, 1)


def hashed_call(kernel, n):
    keys = np.random.default_rng(n).integers(-(2**30), 2**31 - 1, 2048, np.int32)
    return call(kernel, (4,), x=tensor(2048, dtype="i32", data=keys),
                out=tensor(128, dtype="u32"), n=n, SIZE=64)  # fmt: skip


SMALL = (masked, remainder_of_two, remainder_of_61, signed_remainder, of_bernstein, of_jenkins,
         stored, of_three_words, hashed_twice)  # fmt: skip


@pytest.mark.parametrize("n", [20, 1500])
@pytest.mark.parametrize("kernel", SMALL, ids=lambda kernel: kernel.fn.__name__)
def test_a_hash_with_a_small_constant_is_meant_to_wrap_around(kernel, n):
    assert overflows(hashed_call(kernel, n)) <= {"proven"}


@triton.jit
def used_as_it_is(x, out, n, SIZE: tl.constexpr):
    h = tl.zeros((), tl.int32)
    for k in range(n):
        h = h * 31 + tl.load(x + k)
    tl.store(out + h, 1, mask=h < 128)


@triton.jit
def rows_of_positions(x, out, n, SIZE: tl.constexpr):
    row = (tl.program_id(0) + 200_000_000).to(tl.uint32)
    tl.store(out + row * 33 % 61, 1)


@triton.jit
def stored_with_its_sign(x, out, n, SIZE: tl.constexpr):
    place = tl.program_id(0)
    for k in range(n):
        place = place * 50_257 + tl.load(x + k)
    tl.store(out.to(tl.pointer_type(tl.int32)) + tl.program_id(0), place)


@triton.jit
def scaled_by_an_argument(x, out, n, SIZE: tl.constexpr):
    place = tl.load(x).to(tl.uint32) * (n * 3_000_000).to(tl.uint32)
    tl.store(out + place % 61, 1)


@triton.jit
def doubled(x, out, n, SIZE: tl.constexpr):
    step = tl.full((), 1, tl.uint32)
    for _ in range(n + 20):
        step = step << 1
    tl.store(out + step % 61, 1)


@pytest.mark.parametrize(
    "kernel", [used_as_it_is, rows_of_positions, scaled_by_an_argument, doubled],
    ids=lambda kernel: kernel.fn.__name__,
)  # fmt: skip
def test_what_is_no_hash_still_wraps_around(kernel):
    assert "violation" in overflows(hashed_call(kernel, 23))


def test_a_number_of_a_signed_tensor_is_no_hash():
    made = hashed_call(stored_with_its_sign, 20)
    signed = call(stored_with_its_sign, (4,), x=made.arguments[0], out=tensor(128, dtype="i32"),
                  n=20, SIZE=64)  # fmt: skip

    assert "violation" in overflows(signed)


@triton.jit
def hashed_in_rounds(keys, x, out, size, FORM: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    h = lanes if FORM != "keys" else tl.load(keys + lanes)
    if FORM == "wide":
        z = h.to(tl.int64) * -7046029254386353131
        z = (z ^ (z >> 30)) * -4658895280553007687
        z = (z ^ (z >> 27)) * -7723592293110705685
        place = (z ^ (z >> 31)) & 63
    else:
        h = (h ^ (h >> 16)) * 0x45D9F3B
        h = (h ^ (h >> 16)) * 0x45D9F3B
        h = lanes * 0x45D9F3B if FORM == "unmixed" else h ^ (h >> 16)  # which is not negative
        place = h & 63 if FORM == "bits" else h % size
    tl.store(out + lanes, tl.load(x + place, mask=place >= 0))


@pytest.mark.parametrize(
    ("form", "answers"),
    [
        ("bits", {"proven"}),
        ("rest", {"proven"}),
        ("keys", {"proven"}),
        ("wide", {"proven"}),
        ("unmixed", {"violation"}),
    ],
)
def test_signed_hashes_of_several_rounds_may_wrap(form, answers):
    keys = tensor(1024, dtype="i32", data=np.arange(1024, dtype=np.int32) * -104729)
    made = call(hashed_in_rounds, (1,), keys=keys, x=tensor(97), out=tensor(1024), size=97,
                FORM=form, BLOCK=1024)  # fmt: skip

    assert overflows(made) == answers or (answers == {"proven"} and not overflows(made))
    assert "violation" not in verdicts(made) or form == "unmixed"


@triton.jit
def hashed_after_a_difference(keys, x, out, low, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    h = (tl.load(keys + lanes) - low).to(tl.uint32)
    h ^= h >> 16
    h *= 0x85EBCA6B
    h ^= h >> 13
    tl.store(out + lanes, tl.load(x + h % 97))


def test_a_difference_below_zero_may_be_hashed():
    keys = tensor(64, dtype="i32", data=np.arange(64, dtype=np.int32))
    made = call(hashed_after_a_difference, (1,), keys=keys, x=tensor(97), out=tensor(64), low=5,
                BLOCK=64)  # fmt: skip

    assert overflows(made) <= {"proven"}
    assert verdicts(made) == {"proven"}


@triton.jit
def bits_of(values):
    values = values - ((values >> 1) & 0x55555555)
    values = (values & 0x33333333) + ((values >> 2) & 0x33333333)
    return (((values + (values >> 4)) & 0x0F0F0F0F) * 0x01010101) >> 24


@triton.jit
def with_digits_added(x, y, out, FORM: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes)
    if FORM == "counted bits":
        place = bits_of(values)
    elif FORM == "of positions":
        place = bits_of(lanes * 65535)
    elif FORM == "masked":
        place = bits_of(values) & 0x3F
    elif FORM == "halves":
        place = ((values & 0x00FF00FF) * 0x00010001) >> 16
    elif FORM == "of 64 bits":
        wide = values.to(tl.int64) * 0x0F0F0F0F & 0x0F0F0F0F0F0F0F0F
        place = (wide * 0x0101010101010101) >> 56
    elif FORM == "whole product":
        place = (values & 0x0F0F0F0F) * 0x01010101
    elif FORM == "other shift":
        place = ((values & 0x0F0F0F0F) * 0x01010101) >> 16
    elif FORM == "no digits":
        place = (values * 0x01010101) >> 24
    elif FORM == "large digits":
        place = ((values & 0x7F7F7F7F) * 0x01010101) >> 24
    elif FORM == "other factor":
        place = ((values & 0x0F0F0F0F) * 0x01010100) >> 24
    tl.store(out + lanes, tl.load(y + place))


@pytest.mark.parametrize(
    ("form", "answer"),
    [
        *((form, "proven") for form in ("counted bits", "of positions", "masked", "halves")),
        ("of 64 bits", "proven"),
        *((form, "violation") for form in ("whole product", "other shift", "no digits")),
        *((form, "violation") for form in ("large digits", "other factor")),
    ],
)
def test_a_product_that_adds_up_masked_digits_is_meant_to_wrap_around(form, answer):
    numbers = np.array([0, 1, -1, 0x0F0F0F0F, 2**31 - 1, -(2**31), 12345678, 0x0A0B0C0D], np.int32)
    made = call(with_digits_added, (1,), x=tensor(8, dtype="i32", data=numbers), y=tensor(1 << 10),
                out=tensor(8), FORM=form, BLOCK=8)  # fmt: skip

    assert (overflows(made) <= {"proven"}) if answer == "proven" else "violation" in overflows(made)
    assert ("violation" in verdicts(made)) == (answer == "violation")
