"""Kernels over rows and columns, with flat grids, and products of matrices."""

# ruff: noqa: PIE808 - kernels are written as their authors write them

import numpy as np
import torch
import triton
import triton.language as tl

from corpus.case import Case
from corpus.questions.sizes import Evaluation, Launch, Tensor, case

CASES: list[Case] = []


def cdiv(value: int, by: int) -> int:
    return -(-value // by)


@triton.jit
def add_row(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    for first in range(0, columns, BLOCK):
        i = first + tl.arange(0, BLOCK)
        value = tl.load(x + row * columns + i, i < columns, 0)
        tl.store(y + row * columns + i, value, i < columns)


def add_row_model(v: Evaluation) -> None:
    start = v.i32(v.programs() * v["columns"])
    for block_start in v.trips(0, v["columns"], 128):
        i = v.i32(block_start + v.i32([0, 1, 126, 127]))
        v.access("x", start + i, i < v["columns"])  # two additions to a pointer, of 64 bits


def rows_of(rows: int) -> Launch:
    t = Tensor((rows, 300))
    return Launch((rows,), {"x": t, "y": t, "columns": 300}, {"BLOCK": 128})


def columns_of(columns: int) -> Launch:
    t = Tensor((7, columns))
    return Launch((7,), {"x": t, "y": t, "columns": columns}, {"BLOCK": 128})


# 300 * (rows - 1) fits up to 7,158,279 rows, 6 * columns up to 357,913,941 columns
CASES.append(
    case(
        "rows-below-int32",
        True,
        "row * 300 fits",
        add_row,
        ("x.shape[0]", 1, 7_158_279),
        (5, 9),
        rows_of,
        add_row_model,
    )
)
CASES.append(
    case(
        "rows-above-int32",
        False,
        "row * 300 wraps in the last row",
        add_row,
        ("x.shape[0]", 1, 7_158_280),
        (5, 9),
        rows_of,
        add_row_model,
    )
)
CASES.append(
    case(
        "columns-below-int32",
        True,
        "6 * columns fits",
        add_row,
        ("columns", 0, 357_913_941),
        (300, 250),
        columns_of,
        add_row_model,
    )
)
CASES.append(
    case(
        "columns-above-int32",
        False,
        "6 * columns wraps",
        add_row,
        ("columns", 0, 357_913_942),
        (300, 250),
        columns_of,
        add_row_model,
    )
)


@triton.jit
def add_row_64(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    for first in range(0, columns, BLOCK):
        i = first + tl.arange(0, BLOCK)
        value = tl.load(x + row * columns + i, i < columns, 0)
        tl.store(y + row * columns + i, value, i < columns)


def add_row_64_model(v: Evaluation) -> None:
    start = v.programs() * v["columns"]
    for block_start in v.trips(0, v["columns"], 128):
        i = v.i32(block_start + v.i32([0, 1, 126, 127]))
        v.access("x", start + i, i < v["columns"])


CASES.append(
    case(
        "rows-of-64-bits",
        True,
        "the row is widened before the product",
        add_row_64,
        ("x.shape[0]", 1, 100_000_000),
        (5, 9),
        rows_of,
        add_row_64_model,
    )
)


@triton.jit
def late_64(x, y, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    start = (row * columns).to(tl.int64)
    i = tl.arange(0, BLOCK)
    tl.store(y + start + i, tl.load(x + start + i, i < columns, 0), i < columns)


def late_64_model(v: Evaluation) -> None:
    start = v.i32(v.programs() * v["columns"])
    i = np.arange(512)
    v.access("x", start + i, i < v["columns"])


def late_of(rows: int) -> Launch:
    return Launch((rows,), rows_of(rows).arguments, {"BLOCK": 512})


CASES.append(
    case(
        "widened-after-the-product",
        False,
        "row * columns has wrapped before",
        late_64,
        ("x.shape[0]", 1, 8_000_000),
        (5, 9),
        late_of,
        late_64_model,
    )
)


@triton.jit
def flat_heads(x, y, tokens, HEADS: tl.constexpr, SIZE: tl.constexpr):
    token = tl.program_id(0) // HEADS
    head = tl.program_id(0) % HEADS
    i = tl.arange(0, SIZE)
    at = (token * HEADS + head) * SIZE + i
    tl.store(y + at, tl.load(x + (head * tokens + token) * SIZE + i))


def flat_heads_model(v: Evaluation) -> None:
    program = v.programs()
    token, head = program // 6, program % 6
    i = np.arange(16)
    v.access("y", v.i32(v.i32((token * 6 + head) * 16) + i))
    v.access("x", v.i32(v.i32(v.i32(v.i32(head * v["tokens"]) + token) * 16) + i))


def heads_of(tokens: int) -> Launch:
    return Launch(
        (6 * tokens,),
        {"x": Tensor((6, tokens, 16)), "y": Tensor((tokens, 6, 16)), "tokens": tokens},
        {"HEADS": 6, "SIZE": 16},
    )


CASES.append(
    case(
        "token-and-head-of-a-flat-grid",
        True,
        "quotient and remainder of one program id",
        flat_heads,
        ("tokens", 1, 22_369_621),
        (5, 9),
        heads_of,
        flat_heads_model,
    )
)
CASES.append(
    case(
        "token-and-head-above-int32",
        False,
        "96 * tokens wraps",
        flat_heads,
        ("tokens", 1, 22_369_622),
        (5, 9),
        heads_of,
        flat_heads_model,
    )
)


@triton.jit
def product(
    a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr
):
    program = tl.program_id(0)
    rows, columns = tl.cdiv(M, BM), tl.cdiv(N, BN)
    group = program // (GROUP * columns)
    first_row = group * GROUP
    size = min(rows - first_row, GROUP)
    row = first_row + (program % (GROUP * columns)) % size
    column = (program % (GROUP * columns)) // size
    am = (row * BM + tl.arange(0, BM)) % M
    bn = (column * BN + tl.arange(0, BN)) % N
    k = tl.arange(0, BK)
    total = tl.zeros((BM, BN), tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        left = tl.load(
            a + am[:, None] * K + (step * BK + k)[None, :], (step * BK + k)[None, :] < K, 0
        )
        right = tl.load(
            b + (step * BK + k)[:, None] * N + bn[None, :], (step * BK + k)[:, None] < K, 0
        )
        total += tl.dot(left, right)
    cm = row * BM + tl.arange(0, BM)
    cn = column * BN + tl.arange(0, BN)
    tl.store(
        c + cm[:, None] * N + cn[None, :],
        total.to(tl.float16),
        (cm[:, None] < M) & (cn[None, :] < N),
    )


def product_model(v: Evaluation) -> None:
    m, n, inner = v["M"], v["N"], v["K"]
    program = v.programs()
    columns = cdiv(n, 16)
    group_start = program // (3 * columns) * 3
    size = np.minimum(cdiv(m, 16) - group_start, 3)
    if (size <= 0).any():
        v.reasons.add("divisor")
        return
    row = group_start + np.fmod(np.fmod(program, 3 * columns), size)
    column = np.fmod(program, 3 * columns) // size
    lanes = np.arange(16)
    am, bn = np.fmod(v.i32(row * 16 + lanes), m), np.fmod(v.i32(column * 16 + lanes), n)
    for step in v.trips(0, int(v.i32(inner + 15)) // 16, 1):
        for lane in range(16):
            k = int(v.i32(step * 16 + lane))
            v.access("a", v.i32(am * inner) + k, k < inner)
            v.access("b", int(v.i32(k * n)) + bn if k < inner else 0, k < inner)
    row_index = np.minimum(row * 16 + lanes, m - 1)
    v.access("c", v.i32(v.i32(v.i32(row * 16 + lanes) * n) + n - 1) * 0 + row_index * n)


def product_of(m: int, n: int, k: int) -> Launch:
    half = torch.float16
    return Launch(
        (cdiv(m, 16) * cdiv(n, 16),),
        {
            "a": Tensor((m, k), half),
            "b": Tensor((k, n), half),
            "c": Tensor((m, n), half),
            "M": m,
            "N": n,
            "K": k,
        },
        {"BM": 16, "BN": 16, "BK": 16, "GROUP": 3},
    )


CASES.append(
    case(
        "grouped-product-rows",
        True,
        "the order of the grid covers each block once",
        product,
        ("M", 1, 300),
        (70, 38),
        lambda m: product_of(m, 40, 24),
        product_model,
    )
)
CASES.append(
    case(
        "grouped-product-inner",
        True,
        "the remainder of K is masked",
        product,
        ("K", 0, 3000),
        (70, 38),
        lambda k: product_of(34, 40, k),
        product_model,
    )
)


@triton.jit
def product_whole(a, b, c, M, K, BM: tl.constexpr, BK: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    total = tl.zeros((BM,), tl.float32)
    for step in range(0, tl.cdiv(K, BK)):
        k = step * BK + tl.arange(0, BK)
        left = tl.load(a + m[:, None] * K + k[None, :], m[:, None] < M, 0)
        total += tl.sum(left * tl.load(b + k)[None, :], 1)
    tl.store(c + m, total, m < M)


def product_whole_model(v: Evaluation) -> None:
    m = v.programs() * 16 + np.arange(16)
    for step in v.trips(0, cdiv(v["K"], 16), 1):
        for lane in (0, 15):
            k = step * 16 + lane
            v.access("a", v.i32(m * v["K"]) + k, m < v["M"])
            v.access("b", k)


def whole_of(k: int) -> Launch:
    single = torch.float32
    return Launch(
        (3,),
        {
            "a": Tensor((34, k), single),
            "b": Tensor((k,), single),
            "c": Tensor((34,), single),
            "M": 34,
            "K": k,
        },
        {"BM": 16, "BK": 16},
    )


CASES.append(
    case(
        "inner-size-not-masked",
        False,
        "16 does not divide each K",
        product_whole,
        ("K", 16, 4096),
        (64, 96),
        whole_of,
        product_whole_model,
    )
)
