"""Second attack: loops that count down, halve, wrap at their end, or step by a symbol."""

# ruff: noqa: PIE808 - kernels are written as their authors write them

from functools import partial
from typing import Final

import numpy as np
import triton
import triton.language as tl

from corpus.case import Case
from corpus.questions.size_ranges import LANES, asking, cdiv, launched
from corpus.questions.sizes import INT32_MAX, Evaluation, between

CASES: list[Case] = []
_asking: Final = partial(asking, CASES)


def _one(n: int) -> object:
    return launched(n, (n,), 1)


def _from_64(v: Evaluation) -> None:
    for k in v.trips(64, v["n"] - 63, 64):
        v.access("x", k + LANES)


@_asking(
    "k + 63 < n wherever k < n - 63, and k never counts past n",
    [("second-full-blocks", True, 0, INT32_MAX)],
    (200, 400),
    _one,
    _from_64,
)
@triton.jit
def full_blocks(x, y, n):
    total = 0
    for k in range(64, n - 63, 64):
        total += tl.sum(tl.load(x + k + tl.arange(0, 64)).to(tl.int32))
    tl.store(y, total)


def _from_64_one_more(v: Evaluation) -> None:
    for k in v.trips(64, v["n"] - 62, 64):
        v.access("x", k + LANES)


@_asking(
    "n = 127 reads its element 127",
    [("second-full-blocks-one-more", False, 0, 1000)],
    (200, 400),
    _one,
    _from_64_one_more,
)
@triton.jit
def full_blocks_one_more(x, y, n):
    total = 0
    for k in range(64, n - 62, 64):
        total += tl.sum(tl.load(x + k + tl.arange(0, 64)).to(tl.int32))
    tl.store(y, total)


def _down(v: Evaluation) -> None:
    v.access("x", between(0, v["n"] - 1))


@_asking(
    "counts down to 0 and is compiled to a loop that counts up from -1",
    [("second-down-to-0", True, 1, INT32_MAX)],
    (5, 9),
    _one,
    _down,
)
@triton.jit
def down_to_0(x, y, n):
    total = 0
    for k in range(n - 1, -1, -1):
        total += tl.load(x + k).to(tl.int32)
    tl.store(y, total)


def _down_by_3(v: Evaluation) -> None:
    n = v["n"]
    if n > 1:
        v.access("x", np.array([n - 4, (n - 2) % 3 + 1 - 3]))


@_asking(
    "the last trip has k = 1, 2 or 3 and reads k - 3",
    [("second-down-by-3", False, 4, 1000)],
    (7, 13),
    _one,
    _down_by_3,
)
@triton.jit
def down_by_3(x, y, n):
    total = 0
    for k in range(n - 1, 0, -3):
        total += tl.load(x + k - 3).to(tl.int32)
    tl.store(y, total)


def _halves(v: Evaluation) -> None:
    s = v["n"]
    while s > 1:
        s //= 2
        v.access("x", s)


@_asking(
    "s // 2 < n",
    [("second-halving", True, 1, INT32_MAX)],
    (5, 9),
    _one,
    _halves,
)
@triton.jit
def halving(x, y, n):
    s, total = n, 0
    while s > 1:
        s = s // 2
        total += tl.load(x + s).to(tl.int32)
    tl.store(y, total)


def _halves_up(v: Evaluation) -> None:
    s = v["n"]
    while s > 1:
        s = int(v.i32(s + 1)) // 2
        v.access("x", s)


@_asking(
    "s + 1 wraps only where n = 2^31 - 1",
    [
        ("second-halving-up", True, 1, INT32_MAX - 1),
        ("second-halving-up-at-the-end", False, 1, INT32_MAX),
    ],
    (5, 9),
    _one,
    _halves_up,
)
@triton.jit
def halving_up(x, y, n):
    s, total = n, 0
    while s > 1:
        s = (s + 1) // 2
        total += tl.load(x + s).to(tl.int32)
    tl.store(y, total)


def _grid_stride(v: Evaluation) -> None:
    for program in range(4):
        for k in v.trips(program * 64, v["n"], v["grid_x"] * 64):
            v.access("x", k + LANES, k + LANES < v["n"])


@_asking(
    "the counter passes 2^31 - 1 once n is within 256 of it",
    [
        ("second-grid-stride", True, 1, 2**31 - 256),
        ("second-grid-stride-at-the-end", False, 1, INT32_MAX),
    ],
    (200, 500),
    lambda n: launched(n, (n,), 4),
    _grid_stride,
)
@triton.jit
def grid_stride(x, y, n):
    total = 0
    for k in range(tl.program_id(0) * 64, n, tl.num_programs(0) * 64):
        i = k + tl.arange(0, 64)
        total += tl.sum(tl.load(x + i, mask=i < n, other=0).to(tl.int32))
    tl.store(y + tl.program_id(0), total)


def _rounded_up(v: Evaluation) -> None:
    count = int(v.i32(v["n"] + 63)) // 64
    for k in v.trips(0, count, 1):
        i = v.i32(k * 64 + LANES)
        v.access("x", i, i < v["n"])


@_asking(
    "cdiv adds 63 before it divides",
    [
        ("second-rounded-up", True, 1, INT32_MAX - 63),
        ("second-rounded-up-at-the-end", False, 1, INT32_MAX),
    ],
    (200, 500),
    _one,
    _rounded_up,
)
@triton.jit
def rounded_up(x, y, n):
    total = 0
    for k in range(0, tl.cdiv(n, 64)):
        i = k * 64 + tl.arange(0, 64)
        total += tl.sum(tl.load(x + i, mask=i < n, other=0).to(tl.int32))
    tl.store(y, total)


def _chunks(v: Evaluation) -> None:
    for program in v.few("grid_x"):
        start = int(v.i32(program * 1000))
        chunk_end = min(int(v.i32(start + 1000)), v["n"])
        v.access("x", between(start, chunk_end - 1))


@_asking(
    "the last chunk's end is above 2^31 - 1 before it is cut to n",
    [
        ("second-chunks", True, 1, 2_147_483_000),
        ("second-chunks-at-the-end", False, 1, INT32_MAX),
    ],
    (1500, 4200),
    lambda n: launched(n, (n,), cdiv(n, 1000)),
    _chunks,
)
@triton.jit
def chunks(x, y, n):
    start = tl.program_id(0) * 1000
    end = tl.minimum(start + 1000, n)
    total = 0
    for k in range(start, end):
        total += tl.load(x + k).to(tl.int32)
    tl.store(y + tl.program_id(0), total)


def _search(v: Evaluation) -> None:
    low, high = 0, v["n"]
    while low < high:
        middle = int(v.i32(low + high)) // 2
        if middle < 0:
            return
        v.access("x", middle)
        low = middle + 1


@_asking(
    "low + high is almost 2 n",
    [
        ("second-search", True, 1, 2**30),
        ("second-search-at-the-end", False, 1, INT32_MAX),
    ],
    (9, 21),
    _one,
    _search,
)
@triton.jit
def search(x, y, n):
    low, high = 0, n
    while low < high:
        middle = (low + high) // 2
        if tl.load(x + middle) < 1:
            low = middle + 1
        else:
            high = middle
    tl.store(y, low)


def _careful_search(v: Evaluation) -> None:
    low, high = 0, v["n"]
    while low < high:
        middle = low + int(v.i32(high - low)) // 2
        v.access("x", middle)
        low = middle + 1


@_asking(
    "low + (high - low) // 2 is below high",
    [("second-careful-search", True, 1, INT32_MAX)],
    (9, 21),
    _one,
    _careful_search,
)
@triton.jit
def careful_search(x, y, n):
    low, high = 0, n
    while low < high:
        middle = low + (high - low) // 2
        if tl.load(x + middle) < 1:
            low = middle + 1
        else:
            high = middle
    tl.store(y, low)


def _triangle(v: Evaluation) -> None:
    n = v["n"]
    rows = between(0, n - 1)
    row_start = v.i32(rows * n)
    v.access("x", row_start + rows)
    v.access("x", row_start + n - 1)


@_asking(
    "row * n is (n - 1) * n at most, and columns are added to the pointer",
    [
        ("second-nested", True, 1, 46_341),
        ("second-nested-one-more", False, 1, 46_342),
    ],
    (3, 7),
    lambda n: launched(n, (n, n), 1),
    _triangle,
)
@triton.jit
def nested(x, y, n):
    total = 0
    for row in range(0, n):
        for column in range(row, n):
            total += tl.load(x + row * n + column).to(tl.int32)
    tl.store(y, total)


def _down_to_m(v: Evaluation) -> None:
    if v["n"] > v["m"]:
        v.access("x", v["n"])


@_asking(
    "the first trip reads element n, and there is one if n > m",
    [
        ("second-down-to-m", True, 0, 20),
        ("second-down-to-m-one-more", False, 0, 21),
    ],
    (5, 9),
    lambda n: launched(n, (n,), 1, m=20),
    _down_to_m,
)
@triton.jit
def down_to_m(x, y, n, m):
    total = 0
    for k in range(n, m, -1):
        total += tl.load(x + k).to(tl.int32)
    tl.store(y, total)


def _by_s(v: Evaluation) -> None:
    for k in v.trips(0, v["n"], v["s"]):
        v.access("x", k)


@_asking(
    "a step of 0 never ends; one of any other size counts to n - 1 + s at most",
    [
        ("second-step-of-s", True, 1, INT32_MAX),
        ("second-step-of-0", False, 0, 100),
    ],
    (2, 3),
    lambda s: launched(s, (10,), 1, "s", n=10),
    _by_s,
    quantity="s",
)
@triton.jit(do_not_specialize=["s"])
def by_s(x, y, n, s):
    total = 0
    for k in range(0, n, s):
        total += tl.load(x + k).to(tl.int32)
    tl.store(y, total)


def _moving(v: Evaluation) -> None:
    count = int(v.i32(v["n"] + 63)) // 64
    for k in v.trips(0, count, 1):
        v.access("x", k * 64 + LANES, v["n"] - k * 64 > LANES)


@_asking(
    "the pointer has 64 bits, and what is left is masked",
    [("second-moving-pointer", True, 1, INT32_MAX - 63)],
    (200, 500),
    _one,
    _moving,
)
@triton.jit
def moving(x, y, n):
    lane = tl.arange(0, 64)
    pointer, total = x + lane, 0
    for k in range(0, tl.cdiv(n, 64)):
        total += tl.sum(tl.load(pointer, mask=lane < n - k * 64, other=0).to(tl.int32))
        pointer += 64
    tl.store(y, total)


def _moving_one_more(v: Evaluation) -> None:
    for k in v.trips(0, (v["n"] + 63) // 64, 1):
        v.access("x", k * 64 + LANES, v["n"] - k * 64 >= LANES)


@_asking(
    "<= where < is meant: element n is read where n is not a multiple of 64",
    [("second-moving-pointer-one-more", False, 1, 1000)],
    (64, 192),
    _one,
    _moving_one_more,
)
@triton.jit(do_not_specialize=["n"])
def moving_one_more(x, y, n):
    lane = tl.arange(0, 64)
    pointer, total = x + lane, 0
    for k in range(0, tl.cdiv(n, 64)):
        total += tl.sum(tl.load(pointer, mask=lane <= n - k * 64, other=0).to(tl.int32))
        pointer += 64
    tl.store(y, total)


def _causal(v: Evaluation) -> None:
    for program in v.few("grid_x"):
        key_end = min(int(v.i32((program + 1) * 64)), v["n"])
        for k in v.trips(0, key_end, 64):
            v.access("x", k + LANES, k + LANES < v["n"])


@_asking(
    "(program + 1) * 64 is 2^31 in the last program",
    [
        ("second-causal", True, 1, 2**31 - 64),
        ("second-causal-at-the-end", False, 1, INT32_MAX),
    ],
    (130, 330),
    lambda n: launched(n, (n,), cdiv(n, 64)),
    _causal,
)
@triton.jit
def causal(x, y, n):
    end = tl.minimum((tl.program_id(0) + 1) * 64, n)
    total = 0
    for k in range(0, end, 64):
        i = k + tl.arange(0, 64)
        total += tl.sum(tl.load(x + i, mask=i < n, other=0).to(tl.int32))
    tl.store(y + tl.program_id(0), total)


def _wide(v: Evaluation) -> None:
    for k in range(0, v["n"], max(64, v["n"] // 6400 * 64)):
        v.access("x", k + LANES, k + LANES < v["n"])


@_asking(
    "the counter has 64 bits, as its end has",
    [("second-wide-counter", True, 1, INT32_MAX)],
    (200, 500),
    _one,
    _wide,
)
@triton.jit
def wide(x, y, n):
    total = 0
    for k in range(0, n.to(tl.int64), 64):
        i = k + tl.arange(0, 64)
        total += tl.sum(tl.load(x + i, mask=i < n, other=0).to(tl.int32))
    tl.store(y, total)
