"""Integers of few bits: upper bits of sums that wrap around, and what stores cut."""

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
def halved_twice(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    first, other = tl.load(x + lanes), tl.load(x + lanes + BLOCK)
    tl.store(out + lanes, ((first >> 1) + other + (other >> 1)) >> 1, mask=lanes < n)


@triton.jit
def divided_twice(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    first, other = tl.load(x + lanes), tl.load(x + lanes + BLOCK)
    tl.store(out + lanes, (first // 2 + other + other // 2) // 2, mask=lanes < n)


@triton.jit
def fits_just(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    half, other = tl.load(x + lanes) >> 1, tl.load(x + lanes + BLOCK)
    tl.store(out + lanes, (half + other) >> 1, mask=lanes < n)


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
@pytest.mark.parametrize(
    "kernel",
    [halved, weighed, halved_twice, divided_twice, reduced_by],
    ids=lambda k: k.fn.__name__,
)
def test_upper_bits_of_a_narrow_sum_that_wraps_are_wrong(kernel, dtype):
    assert "violation" in of_narrow(kernel, dtype)
    assert of_narrow(kernel, dtype, n=1) <= {"proven"}  # the others are not stored


@pytest.mark.parametrize("kernel", [halved_wide, low_bits, fits_just], ids=lambda k: k.fn.__name__)
def test_bits_that_a_sum_has_may_be_stored(kernel):
    assert of_narrow(kernel, "u8") <= {"proven"}


@triton.jit
def cut(x, out, n, FORM: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    numbers = tl.load(x + lanes, mask=lanes < n, other=0)
    if FORM == "as it is":
        tl.store(out + lanes, numbers, mask=lanes < n)
    elif FORM == "scaled":
        tl.store(out + lanes, numbers * 3, mask=(lanes < n) & (numbers >= 0))
    elif FORM == "sum":
        tl.store(out, tl.sum(numbers, axis=0))
    elif FORM == "running sum":
        total = tl.zeros((), tl.int32)
        for i in range(n):
            total += tl.load(x + i)
            tl.store(out + i, total)
    elif FORM == "one for all":
        tl.store(out + lanes, tl.load(x + 40), mask=lanes < n)
    elif FORM == "greatest":
        tl.store(out, tl.max(numbers.to(tl.int8), axis=0))
    elif FORM == "lane":
        tl.store(out + lanes, lanes * 4, mask=lanes < n)
    elif FORM == "in the kernel":
        tl.store(out + lanes, numbers.to(out.dtype.element_ty), mask=lanes < n)
    elif FORM == "clamped":
        tl.store(out + lanes, tl.minimum(numbers * 3, 127), mask=lanes < n)
    elif FORM == "upper bits":
        tl.store(out + lanes, numbers * 1000 >> 8, mask=lanes < n)
    elif FORM == "packed":
        tl.store(out + lanes, (numbers & 15) | (numbers << 4), mask=lanes < n)
    elif FORM == "rest":
        tl.store(out + lanes, numbers * 1000 % 128, mask=lanes < n)
    elif FORM == "hash":
        tl.store(out + lanes, numbers * 1103515245 + 12345, mask=lanes < n)
    elif FORM == "below":
        tl.store(out + lanes, lanes - n, mask=lanes < n)
    elif FORM == "digits":
        digits = tl.zeros((), tl.int32)
        for _ in range(n):
            digits = digits * 3 + 1
        tl.store(out, digits)
    elif FORM == "random":
        tl.store(out + lanes, tl.randint(7, lanes), mask=lanes < n)


def cut_message(form, dtype="i8", n=50, source="i32", data=True):
    types = {"i32": np.int32, "i64": np.int64}
    numbers = np.arange(64, dtype=types[source]) * (5 if source == "i32" else 2**27)
    x = tensor(64, dtype=source, data=numbers if data else None)
    one = call(cut, (1,), x=x, out=tensor(64, dtype=dtype), n=n, FORM=form, BLOCK=64)
    violations = [v for v in overflow.judge(BoundCall(one)) if v.verdict == "violation"]
    return [f"{verdict.message}; lane {verdict.lane}" for verdict in violations]


@pytest.mark.parametrize(
    ("form", "where", "number", "kept", "lane"),
    [
        ("as it is", {}, 130, -126, (26,)),
        ("scaled", {}, 135, -121, (9,)),
        ("sum", {}, "6,125", -19, ()),
        ("running sum", {"dtype": "u8"}, 275, 19, ()),
        ("one for all", {}, 200, -56, ()),
        ("lane", {"data": False}, 128, -128, (32,)),
        ("below", {"data": False, "dtype": "u8"}, -50, 206, (0,)),
        ("below", {"data": False, "dtype": "u8", "n": 2}, -2, 254, (0,)),
        ("scaled", {"dtype": "u8"}, 270, 14, (18,)),
        ("digits", {"data": False, "n": 6}, 364, 108, ()),
        ("as it is", {"dtype": "i32", "source": "i64"}, "2,147,483,648", "-2,147,483,648", (16,)),
    ],
)
def test_stores_that_cast_to_fewer_bits_than_a_number_has_lose_the_others(
    form, where, number, kept, lane
):
    bits = 32 if "source" in where else 8
    text = f"the store to out keeps the low {bits} bits of {number}, which are {kept}; lane {lane}"

    assert cut_message(form, **where) == [text]


@pytest.mark.parametrize("dtype", ["i8", "u8"])
@pytest.mark.parametrize(
    "form",
    ["in the kernel", "clamped", "upper bits", "packed", "rest", "hash", "random", "greatest"],
)
def test_casts_that_are_meant_or_lose_nothing_are_no_finding(form, dtype):
    assert cut_message(form, dtype) == []


def test_what_is_stored_decides_whether_a_cast_loses_bits():
    assert cut_message("as it is", n=26) == []
    assert cut_message("as it is", dtype="u8") == []
    assert cut_message("as it is", dtype="i16") == []
    assert cut_message("as it is", data=False) == []  # not judged
    assert cut_message("below", dtype="u8", n=1, data=False) == []  # -1 has all bits
    assert cut_message("below", n=50, data=False) == []
    assert cut_message("digits", n=5, data=False) == []
    assert cut_message("digits", dtype="u8", n=6, data=False) == []  # a hash
