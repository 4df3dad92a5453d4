"""Second attack: misplaced casts, unsigned integers, shifts, bits, C's division."""

from functools import partial
from typing import Final

import numpy as np
import torch
import triton
import triton.language as tl

from corpus.case import Case
from corpus.questions.size_ranges import LANES, asking, blocks, cdiv, launched
from corpus.questions.sizes import INT32_MAX, Array, Evaluation, Launch, Tensor, some

CASES: list[Case] = []
_asking: Final = partial(asking, CASES)


def _blocks_of(n: int) -> Launch:
    return launched(n, (n,), cdiv(n, 64))


def _c_remainder(a: Array, b: int) -> Array:
    return np.fmod(a, b)


def _cast_after(v: Evaluation) -> None:
    rows = v.programs()
    v.access("x", v.i32(rows * 4096) + np.array([0, 4095]), rows < v["n"])


@_asking(
    "the product has wrapped before it is cast",
    [
        ("second-cast-after-product", True, 1, 524_288),
        ("second-cast-after-product-one-more", False, 1, 524_289),
    ],
    (3, 5),
    lambda n: launched(n, (n, 4096), n),
    _cast_after,
)
@triton.jit
def cast_after(x, y, n):
    row = tl.program_id(0)
    i = (row * 4096).to(tl.int64) + tl.arange(0, 4096)
    value = tl.load(x + i, mask=row < n, other=0)
    tl.store(y + row, tl.sum(value.to(tl.int32)))


def _cast_before(v: Evaluation) -> None:
    rows = v.programs()
    v.access("x", rows * 4096 + np.array([0, 4095]), rows < v["n"])


@_asking(
    "the product has 64 bits",
    [("second-cast-before-product", True, 1, INT32_MAX)],
    (3, 5),
    lambda n: launched(n, (n, 4096), n),
    _cast_before,
)
@triton.jit
def cast_before(x, y, n):
    row = tl.program_id(0)
    i = row.to(tl.int64) * 4096 + tl.arange(0, 4096)
    value = tl.load(x + i, mask=row < n, other=0)
    tl.store(y + row, tl.sum(value.to(tl.int32)))


def _unsigned_rows(v: Evaluation) -> None:
    rows = v.programs()
    if (rows * 4096 >= 2**32).any():
        v.reasons.add("wraps")
    v.access("x", rows * 4096 % 2**32 + np.array([0, 4095]), rows < v["n"])


@_asking(
    "an unsigned product of 32 bits reaches 2^32 - 1, and a pointer takes it as it is",
    [
        ("second-unsigned-rows", True, 1, 1_048_576),
        ("second-unsigned-rows-one-more", False, 1, 1_048_577),
    ],
    (3, 5),
    lambda n: launched(n, (n, 4096), n),
    _unsigned_rows,
)
@triton.jit
def unsigned_rows(x, y, n):
    row = tl.program_id(0)
    i = row.to(tl.uint32) * 4096 + tl.arange(0, 4096).to(tl.uint32)
    value = tl.load(x + i, mask=row < n, other=0)
    tl.store(y + row, tl.sum(value.to(tl.int32)))


def _unsigned_compare(v: Evaluation) -> None:
    k = blocks(v) - 1
    v.access("x", k, k % 2**32 < v["n"])


@_asking(
    "-1 is 2^32 - 1 where it is compared",
    [("second-unsigned-compare", True, 0, INT32_MAX)],
    (200, 500),
    _blocks_of,
    _unsigned_compare,
)
@triton.jit
def unsigned_compare(x, y, n):
    k = tl.program_id(0) * 64 + tl.arange(0, 64) - 1
    value = tl.load(x + k, mask=k.to(tl.uint32) < n.to(tl.uint32), other=0)
    tl.store(y + tl.program_id(0), tl.sum(value.to(tl.int32)))


def _unsigned_last(v: Evaluation) -> None:
    v.access("x", LANES, (v["n"] - 1) % 2**32 >= LANES)


@_asking(
    "n - 1 is 2^32 - 1 where n = 0, and every lane is let through",
    [
        ("second-unsigned-last", True, 1, INT32_MAX),
        ("second-unsigned-last-from-0", False, 0, 1000),
    ],
    (5, 9),
    lambda n: launched(n, (n,), 1),
    _unsigned_last,
)
@triton.jit(do_not_specialize=["n"])
def unsigned_last(x, y, n):
    k = tl.arange(0, 64)
    last = (n - 1).to(tl.uint32)
    value = tl.load(x + k, mask=k.to(tl.uint32) <= last, other=0)
    tl.store(y, tl.sum(value.to(tl.int32)))


def _shifted(v: Evaluation) -> None:
    v.access("x", v.i32(v.i32(v["n"] * 8) + np.arange(8)))


@_asking(
    "n << 3 leaves 32 bits at 2^28",
    [
        ("second-shift", True, 1, 2**28 - 1),
        ("second-shift-one-more", False, 1, 2**28),
    ],
    (3, 5),
    lambda n: launched(n, (8 * n + 8,), 1),
    _shifted,
)
@triton.jit
def shifted(x, y, n):
    value = tl.load(x + (n << 3) + tl.arange(0, 8))
    tl.store(y, tl.sum(value.to(tl.int32)))


def _clamped_by_sign(v: Evaluation) -> None:
    i = blocks(v)
    v.access("x", np.maximum(i - 3, 0), i < v["n"])


@_asking(
    "t & ~(t >> 31) is max(t, 0)",
    [("second-clamp-by-sign", True, 0, INT32_MAX)],
    (200, 500),
    _blocks_of,
    _clamped_by_sign,
)
@triton.jit
def clamped_by_sign(x, y, n):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    t = i - 3
    value = tl.load(x + (t & ~(t >> 31)), mask=i < n, other=0)
    tl.store(y + tl.program_id(0), tl.sum(value.to(tl.int32)))


def _toward_zero(v: Evaluation) -> None:
    i = blocks(v)
    v.access("x", ((i - 3) / 4).astype(np.int64), i < v["n"])


@_asking(
    "-3 // 4 is 0 on a device",
    [("second-division-toward-0", True, 0, INT32_MAX)],
    (200, 500),
    _blocks_of,
    _toward_zero,
)
@triton.jit
def toward_zero(x, y, n):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    value = tl.load(x + (i - 3) // 4, mask=i < n, other=0)
    tl.store(y + tl.program_id(0), tl.sum(value.to(tl.int32)))


def _last_block(v: Evaluation) -> None:
    n = v["n"]
    i = v.i32(int((n - 1) / 64) * 64 + LANES)
    v.access("x", i, i < n)


@_asking(
    "(0 - 1) // 64 is 0 on a device, where the mask is off",
    [("second-last-block", True, 0, INT32_MAX)],
    (200, 500),
    lambda n: launched(n, (n,), 1),
    _last_block,
)
@triton.jit
def last_block(x, y, n):
    i = (n - 1) // 64 * 64 + tl.arange(0, 64)
    value = tl.load(x + i, mask=i < n, other=0)
    tl.store(y, tl.sum(value.to(tl.int32)))


def _rest(v: Evaluation) -> None:
    v.access("x", _c_remainder(np.arange(16) - v["m"], 8) + 7)


@_asking(
    "the remainder of a negative number is -7 to 0 on a device",
    [("second-remainder-of-negative", True, 0, INT32_MAX)],
    (5, 9),
    lambda m: launched(m, (15,), 1, "m"),
    _rest,
    quantity="m",
)
@triton.jit(do_not_specialize=["m"])
def rest(x, y, m):
    value = tl.load(x + (tl.arange(0, 16) - m) % 8 + 7)
    tl.store(y, tl.sum(value.to(tl.int32)))


def _signed_rest(v: Evaluation) -> None:
    v.access("x", _c_remainder(8 + np.arange(16) - v["m"], 8))


@_asking(
    "a remainder is negative once m is above 8",
    [
        ("second-remainder", True, 0, 8),
        ("second-remainder-one-more", False, 0, 9),
    ],
    (3, 5),
    lambda m: launched(m, (8,), 1, "m"),
    _signed_rest,
    quantity="m",
)
@triton.jit(do_not_specialize=["m"])
def signed_rest(x, y, m):
    value = tl.load(x + (8 + tl.arange(0, 16) - m) % 8)
    tl.store(y, tl.sum(value.to(tl.int32)))


def _wrapped_around(v: Evaluation) -> None:
    v.access("x", (v.programs() * 7 + LANES) % v["n"])


@_asking(
    "a remainder by n is below n",
    [("second-remainder-by-n", True, 1, INT32_MAX)],
    (20, 50),
    lambda n: launched(n, (n,), 3),
    _wrapped_around,
)
@triton.jit
def wrapped_around(x, y, n):
    value = tl.load(x + (tl.program_id(0) * 7 + tl.arange(0, 64)) % n)
    tl.store(y + tl.program_id(0), tl.sum(value.to(tl.int32)))


def _anded(v: Evaluation) -> None:
    v.access("x", LANES & (v["n"] - 1))


@_asking(
    "i & (n - 1) is n - 1 at most, unless n is 0 and it is i",
    [
        ("second-and", True, 1, INT32_MAX),
        ("second-and-from-0", False, 0, 1000),
    ],
    (8, 20),
    lambda n: launched(n, (n,), 1),
    _anded,
)
@triton.jit(do_not_specialize=["n"])
def anded(x, y, n):
    value = tl.load(x + (tl.arange(0, 64) & (n - 1)))
    tl.store(y, tl.sum(value.to(tl.int32)))


def _neighbor(v: Evaluation) -> None:
    i = blocks(v)
    v.access("x", i ^ 1, i < v["n"])


@_asking(
    "the neighbor of the last element is missing if n is odd",
    [("second-neighbor", False, 1, 1000)],
    (8, 20),
    _blocks_of,
    _neighbor,
)
@triton.jit(do_not_specialize=["n"])
def neighbor(x, y, n):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    value = tl.load(x + (i ^ 1), mask=i < n, other=0)
    tl.store(y + tl.program_id(0), tl.sum(value.to(tl.int32)))


def _masked_neighbor(v: Evaluation) -> None:
    i = blocks(v) ^ 1
    v.access("x", i, i < v["n"])


@_asking(
    "the neighbor itself is masked",
    [("second-masked-neighbor", True, 0, INT32_MAX)],
    (8, 20),
    _blocks_of,
    _masked_neighbor,
)
@triton.jit(do_not_specialize=["n"])
def masked_neighbor(x, y, n):
    i = (tl.program_id(0) * 64 + tl.arange(0, 64)) ^ 1
    value = tl.load(x + i, mask=i < n, other=0)
    tl.store(y + tl.program_id(0), tl.sum(value.to(tl.int32)))


def _in_16_bits(v: Evaluation) -> None:
    i = blocks(v)
    v.access("x", i.astype(np.int16).astype(np.int64), i < v["n"])


@_asking(
    "element 32768 is -32768 in 16 bits",
    [
        ("second-16-bits", True, 0, 32_768),
        ("second-16-bits-one-more", False, 0, 32_769),
    ],
    (200, 500),
    _blocks_of,
    _in_16_bits,
)
@triton.jit
def in_16_bits(x, y, n):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    value = tl.load(x + i.to(tl.int16), mask=i < n, other=0)
    tl.store(y + tl.program_id(0), tl.sum(value.to(tl.int32)))


def _threefold(v: Evaluation) -> None:
    i = blocks(v)
    on = i < v["n"]
    v.access("x", v.i32(np.where(on, i * 3, 0)) + 2, on)


@_asking(
    "3 (n - 1) has 32 bits, and the pointer has 64 when 2 is added",
    [
        ("second-threefold", True, 0, 715_827_883),
        ("second-threefold-one-more", False, 0, 715_827_884),
    ],
    (200, 500),
    lambda n: launched(n, (n, 3), cdiv(n, 64)),
    _threefold,
)
@triton.jit
def threefold(x, y, n):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    value = tl.load(x + i * 3 + 2, mask=i < n, other=0)
    tl.store(y + tl.program_id(0), tl.sum(value.to(tl.int32)))


def _dilated(v: Evaluation) -> None:
    count = int(v.i32(v["n"] - 2 * v["d"]))  # if 2 d alone wraps, the difference is right
    if count > 0:
        v.access("x", LANES + int(v.i32(2 * v["d"])), count > LANES)


@_asking(
    "n - 2 d leaves 32 bits at 2^30 + 31; before, it is negative and no lane is on",
    [
        ("second-dilation", True, 0, 2**30 + 30),
        ("second-dilation-one-more", False, 0, 2**30 + 31),
    ],
    (3, 5),
    lambda d: launched(d, (60,), 1, "d", n=60),
    _dilated,
    quantity="d",
)
@triton.jit(do_not_specialize=["d"])
def dilated(x, y, n, d):
    i = tl.arange(0, 64)
    value = tl.load(x + i + 2 * d, mask=i < n - 2 * d, other=0)
    tl.store(y, tl.sum(value.to(tl.int32)))


def _both_signs(v: Evaluation) -> None:
    v.access("x", 31 + (np.arange(16) - 8) * v["s"])


@_asking(
    "from the middle, a stride of 4 leaves x below and one of -5 on both sides",
    [
        ("second-stride-of-both-signs", True, -4, 3),
        ("second-stride-of-both-signs-up", False, -4, 4),
        ("second-stride-of-both-signs-down", False, -5, 3),
    ],
    (2, 3),
    lambda s: launched(s, (64,), 1, "s"),
    _both_signs,
    quantity="s",
)
@triton.jit(do_not_specialize=["s"])
def both_signs(x, y, s):
    value = tl.load(x + 31 + (tl.arange(0, 16) - 8) * s)
    tl.store(y, tl.sum(value.to(tl.int32)))


def _stride_m(v: Evaluation) -> None:
    rows = v.programs()
    v.access("x", v.i32(rows * 3001) + np.array([0, 1, 1500, 3000]))


@_asking(
    "row * m has 32 bits, and the pointer has 64 when lanes are added",
    [
        ("second-two-symbols", True, 1, 715_590),
        ("second-two-symbols-one-more", False, 1, 715_591),
    ],
    (3, 5),
    lambda n: Launch(
        (n,),
        {"x": Tensor((n, 3001)), "y": Tensor((n,), torch.int32), "n": n, "m": 3001},
    ),
    _stride_m,
)
@triton.jit
def stride_m(x, y, n, m):
    row, lane = tl.program_id(0), tl.arange(0, 4096)
    value = tl.load(x + row * m + lane, mask=(lane < m) & (row < n), other=0)
    tl.store(y + row, tl.sum(value.to(tl.int32)))


def _rows_and_columns(v: Evaluation) -> None:
    i = blocks(v)
    on = i < v["n"]
    row, column = i // 7, i % 7
    v.access("x", np.where(on, row * 7 + column, 0), on)


@_asking(
    "i // m * m + i % m is i",
    [("second-quotient-and-remainder", True, 0, INT32_MAX)],
    (200, 500),
    lambda n: Launch(
        (cdiv(n, 64),),
        {"x": Tensor((n,)), "y": Tensor((cdiv(n, 64),), torch.int32), "n": n, "m": 7},
    ),
    _rows_and_columns,
)
@triton.jit
def rows_and_columns(x, y, n, m):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    value = tl.load(x + i // m * m + i % m, mask=i < n, other=0)
    tl.store(y + tl.program_id(0), tl.sum(value.to(tl.int32)))


def _transposed(v: Evaluation) -> None:
    n, i = v["n"], some(v["n"])
    v.access("x", i % 7 * (n // 7) + i // 7)


@_asking(
    "6 (n // 7) + (n - 1) // 7 is below n, whatever n % 7 is",
    [("second-transposed", True, 1, 60)],
    (14, 28),
    lambda n: Launch((1,), {"x": Tensor((n,)), "y": Tensor((1,), torch.int32), "n": n, "m": 7}),
    _transposed,
)
@triton.jit(do_not_specialize=["n"])
def transposed(x, y, n, m):
    i = tl.arange(0, 64)
    value = tl.load(x + i % m * (n // m) + i // m, mask=i < n, other=0)
    tl.store(y, tl.sum(value.to(tl.int32)))


def _transposed_up(v: Evaluation) -> None:
    n, i = v["n"], some(v["n"])
    v.access("x", i % 7 * cdiv(n, 7) + i // 7)


@_asking(
    "n = 8: its lane 6 reads element 12",
    [("second-transposed-up", False, 1, 60)],
    (14, 28),
    lambda n: Launch((1,), {"x": Tensor((n,)), "y": Tensor((1,), torch.int32), "n": n, "m": 7}),
    _transposed_up,
)
@triton.jit(do_not_specialize=["n"])
def transposed_up(x, y, n, m):
    i = tl.arange(0, 64)
    value = tl.load(x + i % m * tl.cdiv(n, m) + i // m, mask=i < n, other=0)
    tl.store(y, tl.sum(value.to(tl.int32)))
