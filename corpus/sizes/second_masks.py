"""Second attack: masks, clamps, tails, block pointers, descriptors, grids of other sizes."""

# ruff: noqa: PIE808 - kernels are written as their authors write them

from functools import partial
from typing import Final

import numpy as np
import torch
import triton
import triton.language as tl

from corpus.case import Case
from corpus.questions.size_ranges import LANES, asking, blocks, cdiv, launched
from corpus.questions.sizes import INT32_MAX, Evaluation, Launch, Tensor

CASES: list[Case] = []
_asking: Final = partial(asking, CASES)


def _blocks_of(n: int) -> Launch:
    return launched(n, (n,), cdiv(n, 64))


def _other_symbol(v: Evaluation) -> None:
    v.access("x", LANES, v["m"] > LANES)


@_asking(
    "the mask lets m lanes through, and x has 10 elements",
    [
        ("second-other-symbol", True, 0, 10),
        ("second-other-symbol-one-more", False, 0, 11),
    ],
    (5, 7),
    lambda m: launched(m, (10,), 1, "m", n=10),
    _other_symbol,
    quantity="m",
)
@triton.jit
def other_symbol(x, y, n, m):
    i = tl.arange(0, 64)
    tl.store(y, tl.sum(tl.load(x + i, mask=i < m, other=0).to(tl.int32)) + n)


def _padded(v: Evaluation) -> None:
    i = blocks(v)
    v.access("x", i + 3, i < v["n"] - 3)


@_asking(
    "n - pad is compared, so i + pad wraps only where no lane is on",
    [("second-padded", True, 0, INT32_MAX)],
    (200, 500),
    lambda n: launched(n, (n,), cdiv(n, 64), pad=3),
    _padded,
)
@triton.jit
def padded(x, y, n, pad):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    value = tl.load(x + i + pad, mask=i < n - pad, other=0)
    tl.store(y + tl.program_id(0), tl.sum(value.to(tl.int32)))


def _padded_inside(v: Evaluation) -> None:
    i = v.i32(blocks(v) + 3)
    v.access("x", i, i < v["n"])


@_asking(
    "i + pad is compared, and wraps in the last block of all",
    [
        ("second-padded-inside", True, 0, 2**31 - 64),
        ("second-padded-inside-at-the-end", False, 0, INT32_MAX),
    ],
    (200, 500),
    lambda n: launched(n, (n,), cdiv(n, 64), pad=3),
    _padded_inside,
)
@triton.jit
def padded_inside(x, y, n, pad):
    i = tl.program_id(0) * 64 + tl.arange(0, 64) + pad
    value = tl.load(x + i, mask=i < n, other=0)
    tl.store(y + tl.program_id(0), tl.sum(value.to(tl.int32)))


def _chosen(v: Evaluation) -> None:
    v.access("x", np.where(v["n"] > LANES, LANES, 0))


@_asking(
    "lanes behind the end read element 0, which is missing if n = 0",
    [
        ("second-chosen-index", True, 1, INT32_MAX),
        ("second-chosen-index-from-0", False, 0, 1000),
    ],
    (5, 9),
    lambda n: launched(n, (n,), 1),
    _chosen,
)
@triton.jit(do_not_specialize=["n"])
def chosen(x, y, n):
    i = tl.arange(0, 64)
    value = tl.load(x + tl.where(i < n, i, 0))
    tl.store(y, tl.sum(value.to(tl.int32)))


def _chosen_pointer(v: Evaluation) -> None:
    i = blocks(v)
    v.access("x", np.where(i < v["n"], i, 0))


@_asking(
    "the pointer is chosen, not the index",
    [("second-chosen-pointer", True, 1, INT32_MAX)],
    (200, 500),
    _blocks_of,
    _chosen_pointer,
)
@triton.jit
def chosen_pointer(x, y, n):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    value = tl.load(tl.where(i < n, x + i, x))
    tl.store(y + tl.program_id(0), tl.sum(value.to(tl.int32)))


def _clamped(v: Evaluation) -> None:
    v.access("x", np.minimum(LANES, v["n"] - 1))


@_asking(
    "min(i, n - 1) is -1 if n = 0",
    [
        ("second-clamp", True, 1, INT32_MAX),
        ("second-clamp-from-0", False, 0, 1000),
    ],
    (5, 9),
    lambda n: launched(n, (n,), 1),
    _clamped,
)
@triton.jit(do_not_specialize=["n"])
def clamped(x, y, n):
    i = tl.minimum(tl.arange(0, 64), n - 1)
    tl.store(y, tl.sum(tl.load(x + i).to(tl.int32)))


def _reversed(v: Evaluation) -> None:
    i = blocks(v)
    v.access("x", v["n"] - 1 - i, i < v["n"])


@_asking(
    "n - 1 - i is 0 or more where i < n",
    [("second-reversed", True, 0, INT32_MAX)],
    (200, 500),
    _blocks_of,
    _reversed,
)
@triton.jit
def reversed_block(x, y, n):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    value = tl.load(x + n - 1 - i, mask=i < n, other=0)
    tl.store(y + tl.program_id(0), tl.sum(value.to(tl.int32)))


def _reversed_too_far(v: Evaluation) -> None:
    i = blocks(v)
    v.access("x", v["n"] - 1 - i, i <= v["n"])


@_asking(
    "lane n, of which there is none if 64 divides n, reads element -1",
    [("second-reversed-too-far", False, 1, 1000)],
    (64, 192),
    _blocks_of,
    _reversed_too_far,
)
@triton.jit(do_not_specialize=["n"])
def reversed_too_far(x, y, n):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    value = tl.load(x + n - 1 - i, mask=i <= n, other=0)
    tl.store(y + tl.program_id(0), tl.sum(value.to(tl.int32)))


def _tail(v: Evaluation) -> None:
    tail = v["n"] % 64
    v.access("x", v["n"] - tail + LANES, tail > LANES)


@_asking(
    "n - n % 64 + i is below n where i < n % 64",
    [("second-tail", True, 0, INT32_MAX)],
    (200, 500),
    lambda n: launched(n, (n,), 1),
    _tail,
)
@triton.jit
def tail_only(x, y, n):
    i, tail = tl.arange(0, 64), n % 64
    value = tl.load(x + n - tail + i, mask=i < tail, other=0)
    tl.store(y, tl.sum(value.to(tl.int32)))


def _full_tail(v: Evaluation) -> None:
    tail = v["n"] % 64 or 64
    v.access("x", v["n"] - tail + LANES, tail > LANES)


@_asking(
    "a tail of 0 counts as 64, also if n = 0",
    [
        ("second-full-tail", True, 1, INT32_MAX),
        ("second-full-tail-from-0", False, 0, 1000),
    ],
    (200, 500),
    lambda n: launched(n, (n,), 1),
    _full_tail,
)
@triton.jit(do_not_specialize=["n"])
def full_tail(x, y, n):
    i, tail = tl.arange(0, 64), n % 64
    if tail == 0:
        tail = 64
    value = tl.load(x + n - tail + i, mask=i < tail, other=0)
    tl.store(y, tl.sum(value.to(tl.int32)))


def _conditional(v: Evaluation) -> None:
    if v["n"] > 100:
        v.access("y", v.programs() + 1)


@_asking(
    "above 100 each program also stores into its neighbor's place",
    [
        ("second-conditional-store", True, 1, 100),
        ("second-conditional-store-one-more", False, 1, 101),
    ],
    (50, 60),
    lambda n: launched(n, (3,), 3),
    _conditional,
)
@triton.jit(do_not_specialize=["n"])
def conditional(x, y, n):
    value = tl.load(x + tl.program_id(0)).to(tl.int32)
    if n > 100:
        tl.store(y + tl.program_id(0) + 1, value)
    else:
        tl.store(y + tl.program_id(0), value)


def _split(v: Evaluation) -> None:
    count = int(v.i32(v["n"] + 255)) // 256
    for program in range(4):
        for k in v.trips(0, count, 1):
            i = v.i32(k * 256 + program * 64 + LANES)
            v.access("x", i, i < v["n"])


@_asking(
    "each of 4 programs reads every 4th block",
    [
        ("second-split-k", True, 1, INT32_MAX - 255),
        ("second-split-k-at-the-end", False, 1, INT32_MAX),
    ],
    (300, 700),
    lambda n: launched(n, (n,), 4),
    _split,
)
@triton.jit
def split(x, y, n):
    i, total = tl.program_id(0) * 64 + tl.arange(0, 64), 0
    for k in range(0, tl.cdiv(n, 64 * 4)):
        at = k * 256 + i
        total += tl.sum(tl.load(x + at, mask=at < n, other=0).to(tl.int32))
    tl.store(y + tl.program_id(0), total)


def _halves(v: Evaluation) -> None:
    half, row = v["d"] // 2, v.i32(v.programs() * v["d"])
    v.access("x", row + LANES, half > LANES)
    v.access("x", row + half + LANES, half > LANES)


def _rope_of(d: int) -> Launch:
    return launched(d, (3, d), 3, "d")


@_asking(
    "two halves of d // 2 are d at most",
    [("second-rope", True, 1, 128)],
    (6, 10),
    _rope_of,
    _halves,
    quantity="d",
)
@triton.jit(do_not_specialize=["d"])
def rope(x, y, d):
    i, half = tl.arange(0, 64), d // 2
    row = x + tl.program_id(0) * d
    left = tl.load(row + i, mask=i < half, other=0)
    right = tl.load(row + half + i, mask=i < half, other=0)
    tl.store(y + tl.program_id(0), tl.sum((left - right).to(tl.int32)))


def _halves_up(v: Evaluation) -> None:
    half, row = cdiv(v["d"], 2), v.i32(v.programs() * v["d"])
    v.access("x", row + half + LANES, half > LANES)


@_asking(
    "two halves of (d + 1) // 2 are d + 1 if d is odd, in the last row",
    [("second-rope-of-odd", False, 1, 100)],
    (6, 10),
    _rope_of,
    _halves_up,
    quantity="d",
)
@triton.jit(do_not_specialize=["d"])
def rope_up(x, y, d):
    i, half = tl.arange(0, 64), (d + 1) // 2
    row = x + tl.program_id(0) * d
    left = tl.load(row + i, mask=i < half, other=0)
    right = tl.load(row + half + i, mask=i < half, other=0)
    tl.store(y + tl.program_id(0), tl.sum((left - right).to(tl.int32)))


def _pairs(v: Evaluation) -> None:
    v.access("x", 2 * LANES, v["n"] > 2 * LANES)
    v.access("x", 2 * LANES + 1, v["n"] > 2 * LANES)


@_asking(
    "the partner of an odd n's last element is missing",
    [("second-pairs", False, 1, 100)],
    (6, 10),
    lambda n: launched(n, (n,), 1),
    _pairs,
)
@triton.jit(do_not_specialize=["n"])
def pairs(x, y, n):
    i = 2 * tl.arange(0, 64)
    left = tl.load(x + i, mask=i < n, other=0)
    right = tl.load(x + i + 1, mask=i < n, other=0)
    tl.store(y, tl.sum((left - right).to(tl.int32)))


def _window(v: Evaluation) -> None:
    i = blocks(v)
    for k in range(5):
        v.access("x", v.i32(i + k - 2), (i + k - 2 >= 0) & (i + k - 2 < v["n"]))


@_asking(
    "both ends are masked",
    [("second-window", True, 0, 2_147_483_584)],
    (200, 500),
    _blocks_of,
    _window,
)
@triton.jit
def window(x, y, n):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    total = tl.zeros((64,), tl.int32)
    for k in tl.static_range(5):
        at = i + (k - 2)
        total += tl.load(x + at, mask=(at >= 0) & (at < n), other=0).to(tl.int32)
    tl.store(y + tl.program_id(0), tl.sum(total))


def _block_rows(v: Evaluation) -> None:
    rows = v.i32(v.programs() * 16 + np.arange(16))
    v.access("x", rows * 8, rows < v["n"])
    v.access("x", rows * 8 + 7, rows < v["n"])


@_asking(
    "a block pointer has offsets of 64 bits in memory",
    [("second-block-pointer", True, 1, 1_000_000_000)],
    (20, 50),
    lambda n: launched(n, (n, 8), cdiv(n, 16)),
    _block_rows,
)
@triton.jit
def block_rows(x, y, n):
    block = tl.make_block_ptr(x, (n, 8), (8, 1), (tl.program_id(0) * 16, 0), (16, 8), (1, 0))
    value = tl.load(block, boundary_check=(0,), padding_option="zero")
    tl.store(y + tl.program_id(0), tl.sum(tl.sum(value.to(tl.int32), 1), 0))


def _unchecked_rows(v: Evaluation) -> None:
    rows = v.programs() * 16 + np.arange(16)
    v.access("x", rows * 8 + 7)


@_asking(
    "only columns are checked: the last block's rows leave x unless 16 divides n",
    [("second-block-pointer-unchecked", False, 1, 1000)],
    (16, 48),
    lambda n: launched(n, (n, 8), cdiv(n, 16)),
    _unchecked_rows,
)
@triton.jit(do_not_specialize=["n"])
def unchecked_rows(x, y, n):
    block = tl.make_block_ptr(x, (n, 8), (8, 1), (tl.program_id(0) * 16, 0), (16, 8), (1, 0))
    value = tl.load(block, boundary_check=(1,), padding_option="zero")
    tl.store(y + tl.program_id(0), tl.sum(tl.sum(value.to(tl.int32), 1), 0))


def _described(v: Evaluation) -> None:
    rows = v.i32(v.programs() * 16 + np.arange(16))
    v.access("x", rows * 16 + 15, rows < v["n"])


@_asking(
    "a descriptor checks rows by its own shape",
    [("second-descriptor", True, 1, 100_000_000)],
    (20, 50),
    lambda n: launched(n, (n, 16), cdiv(n, 16)),
    _described,
)
@triton.jit
def described(x, y, n):
    block = tl.make_tensor_descriptor(x, [n, 16], [16, 1], [16, 16])
    value = block.load([tl.program_id(0) * 16, 0])
    tl.store(y + tl.program_id(0), tl.sum(tl.sum(value.to(tl.int32), 1), 0))


def _described_up(v: Evaluation) -> None:
    rows = v.programs() * 16 + np.arange(16)
    v.access("x", rows * 16 + 15, rows < cdiv(v["n"], 4) * 4)


@_asking(
    "a descriptor of n rounded up to 4 rows reads behind the last one",
    [("second-descriptor-rounded-up", False, 1, 1000)],
    (20, 56),
    lambda n: launched(n, (n, 16), cdiv(n, 16)),
    _described_up,
)
@triton.jit(do_not_specialize=["n"])
def described_up(x, y, n):
    block = tl.make_tensor_descriptor(x, [tl.cdiv(n, 4) * 4, 16], [16, 1], [16, 16])
    value = block.load([tl.program_id(0) * 16, 0])
    tl.store(y + tl.program_id(0), tl.sum(tl.sum(value.to(tl.int32), 1), 0))


def _grouped(v: Evaluation) -> None:
    groups = cdiv(v["m"], 16)
    pid = v.programs()
    group_start = pid // 16 * 8
    size = np.minimum(groups - group_start, 8)
    row = group_start + pid % 16 % size
    v.access("x", v.i32((row * 16 + np.arange(16)) % v["m"] * 8) + 7)


@_asking(
    "groups of 8 rows of blocks, as in matrix products; rows are taken modulo m",
    [("second-grouped", True, 1, 10_000)],
    (20, 250),
    lambda m: Launch(
        (cdiv(m, 16) * 2,),
        {
            "x": Tensor((m, 8)),
            "y": Tensor((cdiv(m, 16) * 2,), torch.int32),
            "m": m,
            "n": 20,
        },
    ),
    _grouped,
    quantity="m",
)
@triton.jit
def grouped(x, y, m, n):
    pid = tl.program_id(0)
    rows, columns = tl.cdiv(m, 16), tl.cdiv(n, 16)
    first_row = pid // (8 * columns) * 8
    size = tl.minimum(rows - first_row, 8)
    row = first_row + pid % (8 * columns) % size
    i = (row * 16 + tl.arange(0, 16)) % m
    value = tl.load(x + i[:, None] * 8 + tl.arange(0, 8)[None, :])
    tl.store(y + pid, tl.sum(tl.sum(value.to(tl.int32), 1), 0))


def _square(v: Evaluation) -> None:
    rows, n = v.programs(), v["n"]
    for _ in v.trips(0, n, 64):
        v.access("x", rows * n)
        v.access("x", rows * n + n - 1)


@_asking(
    "the row is cast before it is multiplied by the stride",
    [("second-square", True, 1, 1_000_000)],
    (20, 50),
    lambda n: launched(n, (n, n), n),
    _square,
)
@triton.jit
def square(x, y, n):
    row, total = tl.program_id(0).to(tl.int64), 0
    for k in range(0, n, 64):
        i = k + tl.arange(0, 64)
        total += tl.sum(tl.load(x + row * n + i, mask=i < n, other=0).to(tl.int32))
    tl.store(y + row, total)


def _concatenated(v: Evaluation) -> None:
    i, n, total_size = blocks(v), v["n"], int(v.i32(v["n"] + v["m"]))
    v.access("x", i, i < n)
    v.access("z", i - n, (i >= n) & (i < total_size))


@_asking(
    "the second tensor begins behind the first",
    [
        ("second-concatenated", True, 0, 2_000_000_000),
        ("second-concatenated-at-the-end", False, 0, INT32_MAX),
    ],
    (200, 500),
    lambda n: Launch(
        (cdiv(n + 5, 64),),
        {
            "x": Tensor((n,)),
            "z": Tensor((5,)),
            "y": Tensor((cdiv(n + 5, 64),), torch.int32),
            "n": n,
            "m": 5,
        },
    ),
    _concatenated,
)
@triton.jit
def concatenated(x, z, y, n, m):
    i = tl.program_id(0) * 64 + tl.arange(0, 64)
    left = tl.load(x + i, mask=i < n, other=0)
    right = tl.load(z + i - n, mask=(i >= n) & (i < n + m), other=0)
    tl.store(y + tl.program_id(0), tl.sum((left + right).to(tl.int32)))
