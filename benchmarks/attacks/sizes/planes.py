"""Kernels of several dimensions: ties between arguments, grids, blocks, splits, windows, pages."""

import numpy as np
import torch
import triton
import triton.language as tl

from benchmarks.attacks.case import Case
from benchmarks.attacks.sizes.asking import INT32_MAX, Evaluation, Launch, Tensor, case, some

# ruff: noqa: ANN001, ANN201, D103 - kernels and models; the cases say what they are

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
    for first in v.trips(0, v["columns"], 128):
        i = v.i32(first + v.i32([0, 1, 126, 127]))
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
    for first in v.trips(0, v["columns"], 128):
        i = v.i32(first + v.i32([0, 1, 126, 127]))
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
    first = group * GROUP
    size = min(rows - first, GROUP)
    row = first + (program % (GROUP * columns)) % size
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
    first = program // (3 * columns) * 3
    size = np.minimum(cdiv(m, 16) - first, 3)
    if (size <= 0).any():
        v.reasons.add("divisor")
        return
    row = first + np.fmod(np.fmod(program, 3 * columns), size)
    column = np.fmod(program, 3 * columns) // size
    lanes = np.arange(16)
    am, bn = np.fmod(v.i32(row * 16 + lanes), m), np.fmod(v.i32(column * 16 + lanes), n)
    for step in v.trips(0, int(v.i32(inner + 15)) // 16, 1):
        for lane in range(16):
            k = int(v.i32(step * 16 + lane))
            v.access("a", v.i32(am * inner) + k, k < inner)
            v.access("b", int(v.i32(k * n)) + bn if k < inner else 0, k < inner)
    last = np.minimum(row * 16 + lanes, m - 1)
    v.access("c", v.i32(v.i32(v.i32(row * 16 + lanes) * n) + n - 1) * 0 + last * n)


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


@triton.jit
def split_inner(x, y, n, splits, BLOCK: tl.constexpr):
    part = tl.cdiv(n, splits)
    first = tl.program_id(0) * part
    end = min(first + part, n)
    total = 0.0
    for k in range(first, end, BLOCK):
        i = k + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + i, i < end, 0))
    tl.store(y + tl.program_id(0), total)


def split_inner_model(v: Evaluation) -> None:
    part = int(v.i32(int(v.i32(v["n"] + v["splits"])) - 1)) // v["splits"]
    for program in v.few("grid_x"):
        first = int(v.i32(program * part))
        end = min(int(v.i32(first + part)), v["n"])
        for k in v.trips(first, end, 32):
            i = v.i32(k + np.arange(32))
            v.access("x", i, i < end)
    v.access("y", v.programs())


def split_of(n: int, splits: int) -> Launch:
    single = torch.float32
    return Launch(
        (splits,),
        {"x": Tensor((n,), single), "y": Tensor((splits,), single), "n": n, "splits": splits},
        {"BLOCK": 32},
    )


CASES.append(
    case(
        "split-with-end",
        True,
        "the last part ends with the line",
        split_inner,
        ("n", 0, 1_000_000),
        (1001, 300),
        lambda n: split_of(n, 7),
        split_inner_model,
    )
)
CASES.append(
    case(
        "splits",
        True,
        "parts beyond the line are empty",
        split_inner,
        ("splits", 1, 1000),
        (3, 7),
        lambda s: split_of(1001, s),
        split_inner_model,
    )
)


@triton.jit
def split_without_end(x, y, n, splits, BLOCK: tl.constexpr):
    part = tl.cdiv(n, splits)
    first = tl.program_id(0) * part
    total = 0.0
    for k in range(first, first + part, BLOCK):
        i = k + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + i, i < first + part, 0))
    tl.store(y + tl.program_id(0), total)


def split_without_end_model(v: Evaluation) -> None:
    part = int(v.i32(int(v.i32(v["n"] + v["splits"])) - 1)) // v["splits"]
    for program in v.few("grid_x"):
        for k in v.trips(program * part, program * part + part, 32):
            i = v.i32(k + np.arange(32))
            v.access("x", i, i < program * part + part)


CASES.append(
    case(
        "split-without-end",
        False,
        "7 parts of cdiv(n, 7) are more than n",
        split_without_end,
        ("n", 7, 5000),
        (1001, 301),
        lambda n: split_of(n, 7),
        split_without_end_model,
    )
)


@triton.jit
def window(x, y, N, W, BM: tl.constexpr, BN: tl.constexpr):
    first = (tl.program_id(0) * BM - W) // BN * BN
    total = tl.zeros((BN,), tl.float32)
    for k in range(first, (tl.program_id(0) + 1) * BM, BN):
        i = k + tl.arange(0, BN)
        total += tl.load(x + i, i < N, 0)
    tl.store(y + tl.program_id(0) * BN + tl.arange(0, BN), total)


def window_model(v: Evaluation) -> None:
    for program in v.few("grid_x"):
        low = program * 32 - v["W"]
        v.i32(low)
        first = int(np.fix(low / 16)) * 16
        for k in v.trips(first, (program + 1) * 32, 16):
            i = k + np.arange(16)
            v.access("x", i, i < v["N"])


def window_of(w: int) -> Launch:
    single = torch.float32
    return Launch(
        (4,),
        {"x": Tensor((120,), single), "y": Tensor((4, 16), single), "N": 120, "W": w},
        {"BM": 32, "BN": 16},
    )


CASES.append(
    case(
        "window-truncated-to-zero",
        True,
        "(0 - 15) // 16 is 0, as in C",
        window,
        ("W", -10, 15),
        (3,),
        window_of,
        window_model,
    )
)
CASES.append(
    case(
        "window-before-the-line",
        False,
        "(0 - 16) // 16 is -1",
        window,
        ("W", 0, 16),
        (3,),
        window_of,
        window_model,
    )
)


@triton.jit
def causal(q, k, y, N, BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    d = tl.arange(0, D)
    batch = tl.program_id(1) * N * D
    query = tl.load(q + batch + rows[:, None] * D + d[None, :], rows[:, None] < N, 0)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BM, BN):
        columns = start + tl.arange(0, BN)
        key = tl.load(k + batch + columns[None, :] * D + d[:, None])
        total += tl.dot(query, key)
    tl.store(y + batch // D + rows, tl.max(total, 1), rows < N)


def causal_model(v: Evaluation) -> None:
    for batch in v.few("grid_y"):
        for program in v.few("grid_x"):
            for start in v.trips(0, (program + 1) * 32, 16):
                key = v.i32(v.i32(start + np.arange(16)) * 16)
                v.access("k", int(v.i32(v.i32(batch * v["N"]) * 16)) + key + 15)


def causal_of(n: int) -> Launch:
    half = torch.float16
    return Launch(
        (cdiv(n, 32), 3),
        {
            "q": Tensor((3, n, 16), half),
            "k": Tensor((3, n, 16), half),
            "y": Tensor((3, n), torch.float32),
            "N": n,
        },
        {"BM": 32, "BN": 16, "D": 16},
    )


CASES.append(
    case(
        "causal-keys-not-masked",
        False,
        "where 32 does not divide N, the last batch reads on",
        causal,
        ("N", 32, 2048),
        (64, 96),
        causal_of,
        causal_model,
    )
)


@triton.jit
def half_dim(x, y, size, BLOCK: tl.constexpr):
    row = tl.program_id(0) * size
    half = (size + 1) // 2
    i = tl.arange(0, BLOCK)
    upper = tl.load(x + row + half + i, i < half, 0)
    tl.store(y + row + i, upper, i < half)


def half_dim_model(v: Evaluation) -> None:
    half = int(v.i32(v["size"] + 1)) // 2
    i = np.arange(64)
    v.access("x", v.i32(v.programs() * v["size"]) + half + i, i < half)


def half_of(size: int) -> Launch:
    t = Tensor((5, size))
    return Launch((5,), {"x": t, "y": t, "size": size}, {"BLOCK": 64})


CASES.append(
    case(
        "rotary-odd-size",
        False,
        "of an odd size the last row's upper half is one too long",
        half_dim,
        ("size", 2, 64),
        (32, 18),
        half_of,
        half_dim_model,
    )
)


@triton.jit
def half_dim_masked(x, y, size, BLOCK: tl.constexpr):
    row = tl.program_id(0) * size
    half = size // 2
    i = tl.arange(0, BLOCK)
    upper = tl.load(x + row + half + i, i < half, 0)
    tl.store(y + row + i, upper, i < half)


def half_dim_masked_model(v: Evaluation) -> None:
    half = v["size"] // 2
    i = np.arange(64)
    v.access("x", v.i32(v.programs() * v["size"]) + half + i, i < half)


CASES.append(
    case(
        "rotary-size-rounded-down",
        True,
        "2 * (size // 2) <= size",
        half_dim_masked,
        ("size", 0, 128),
        (33, 18),
        half_of,
        half_dim_masked_model,
    )
)


@triton.jit
def blocks_checked(x, y, rows, columns, BLOCK: tl.constexpr):
    source = tl.make_block_ptr(
        x, (rows, columns), (columns, 1), (tl.program_id(0) * BLOCK, 0), (BLOCK, BLOCK), (1, 0)
    )
    target = tl.make_block_ptr(
        y, (rows, columns), (columns, 1), (tl.program_id(0) * BLOCK, 0), (BLOCK, BLOCK), (1, 0)
    )
    for _ in range(0, tl.cdiv(columns, BLOCK)):
        tl.store(target, tl.load(source, boundary_check=(0, 1)), boundary_check=(0, 1))
        source = tl.advance(source, (0, BLOCK))
        target = tl.advance(target, (0, BLOCK))


def blocks_checked_model(v: Evaluation) -> None:
    i = v.programs() * 16 + np.arange(16)
    for trip in v.trips(0, int(v.i32(v["columns"] + 15)) // 16, 1):
        for lane in (0, 15):
            j = trip * 16 + lane
            v.access("x", i * v["columns"] + j, (i < v["rows"]) & (j < v["columns"]))


def blocks_of(rows: int, columns: int) -> Launch:
    t = Tensor((rows, columns))
    return Launch(
        (cdiv(rows, 16),), {"x": t, "y": t, "rows": rows, "columns": columns}, {"BLOCK": 16}
    )


CASES.append(
    case(
        "block-pointers-checked",
        True,
        "both dimensions are checked",
        blocks_checked,
        ("columns", 0, 100_000),
        (33, 70),
        lambda c: blocks_of(37, c),
        blocks_checked_model,
    )
)


@triton.jit
def blocks_half_checked(x, y, rows, columns, BLOCK: tl.constexpr):
    source = tl.make_block_ptr(
        x, (rows, columns), (columns, 1), (tl.program_id(0) * BLOCK, 0), (BLOCK, BLOCK), (1, 0)
    )
    total = tl.zeros((BLOCK,), tl.float32)
    for _ in range(0, tl.cdiv(columns, BLOCK)):
        total += tl.sum(tl.load(source, boundary_check=(0,)).to(tl.float32), 1)
        source = tl.advance(source, (0, BLOCK))
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, total, i < rows)


def blocks_half_checked_model(v: Evaluation) -> None:
    i = v.programs() * 16 + np.arange(16)
    for trip in v.trips(0, int(v.i32(v["columns"] + 15)) // 16, 1):
        for lane in (0, 15):
            v.access("x", i * v["columns"] + trip * 16 + lane, i < v["rows"])


def half_checked_of(rows: int, columns: int) -> Launch:
    return Launch(
        (cdiv(rows, 16),),
        {
            "x": Tensor((rows, columns)),
            "y": Tensor((rows,), torch.float32),
            "rows": rows,
            "columns": columns,
        },
        {"BLOCK": 16},
    )


CASES.append(
    case(
        "block-pointers-half-checked",
        False,
        "the last row's last block reads past the tensor",
        blocks_half_checked,
        ("columns", 16, 4096),
        (32, 80),
        lambda c: half_checked_of(37, c),
        blocks_half_checked_model,
    )
)
CASES.append(
    case(
        "block-pointers-half-checked-rows",
        True,
        "16 divides the columns that were recorded",
        blocks_half_checked,
        ("rows", 1, 10_000),
        (33, 70),
        lambda r: half_checked_of(r, 32),
        blocks_half_checked_model,
    )
)


@triton.jit
def descriptor_copy(x, y, n, BLOCK: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [n + 1, 16], [16, 1], [BLOCK, 16])
    rows = tl.program_id(0) * BLOCK
    value = source.load([rows, 0])
    i = rows + tl.arange(0, BLOCK)
    at = y + i[:, None] * 16 + tl.arange(0, 16)[None, :]
    tl.store(at, value, i[:, None] < n)


def descriptor_model(v: Evaluation) -> None:
    i = v.programs() * 16 + np.arange(16)
    v.access("x", i * 16 + 15, i < v["n"] + 1)


def descriptor_of(n: int) -> Launch:
    t = Tensor((n, 16))
    return Launch((cdiv(n, 16),), {"x": t, "y": t, "n": n}, {"BLOCK": 16})


CASES.append(
    case(
        "descriptor-of-one-row-more",
        False,
        "row n is read where 16 does not divide n",
        descriptor_copy,
        ("n", 16, 4096),
        (32, 80),
        descriptor_of,
        descriptor_model,
    )
)


@triton.jit
def triangle(x, y, n, SIZE: tl.constexpr):
    row = tl.program_id(0)
    total = 0
    for column in range(0, row + 1):
        for k in range(column, row + 1):
            total += tl.load(x + row * (row + 1) // 2 + k).to(tl.int32)
    tl.store(y + row, total)


def triangle_model(v: Evaluation) -> None:
    row = v.programs()
    v.access("x", v.i32(row * (row + 1)) // 2 + row)
    v.access("y", row)


def triangle_of(n: int) -> Launch:
    return Launch(
        (n,),
        {"x": Tensor((n * (n + 1) // 2,)), "y": Tensor((n,), torch.int32), "n": n},
        {"SIZE": 1},
    )


CASES.append(
    case(
        "packed-triangle",
        True,
        "row * (row + 1) // 2 + row is the last of a row",
        triangle,
        ("grid_x", 1, 40_000),
        (5, 9),
        triangle_of,
        triangle_model,
    )
)


@triton.jit
def pages(cache, table, y, count, PAGE: tl.constexpr):
    for page in range(0, count):
        number = tl.load(table + tl.program_id(0) * count + page)
        i = tl.arange(0, PAGE)
        value = tl.load(cache + number * PAGE + i)
        tl.store(y + (tl.program_id(0) * count + page) * PAGE + i, value)


def pages_model(v: Evaluation) -> None:
    if not v["count"]:
        return
    v.access("table", v.programs() * v["count"] + v["count"] - 1)
    last = v.i32(v.i32(v.programs() * v["count"]) + v["count"] - 1)
    v.access("y", v.i32(v.i32(last * 16) + 15))


def pages_of(count: int) -> Launch:
    numbers = [(3 * i) % 11 for i in range(4 * count)] if count < 100 else None
    return Launch(
        (4,),
        {
            "cache": Tensor((11, 16)),
            "table": Tensor((4, count), torch.int32, numbers),
            "y": Tensor((4, count, 16)),
            "count": count,
        },
        {"PAGE": 16},
    )


CASES.append(
    case(
        "pages-of-a-table",
        True,
        "pages are those that were recorded",
        pages,
        ("count", 0, 100_000),
        (5, 9),
        pages_of,
        pages_model,
    )
)


@triton.jit
def differences(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    after = tl.load(x + i + 1, i < n - 1, 0)
    tl.store(y + i, after - tl.load(x + i, i < n - 1, 0), i < n - 1)


def differences_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * 128 + np.arange(128))
    v.access("x", v.i32(i + 1) * (i < v["n"] - 1), i < v["n"] - 1)
    v.access("y", i, i < v["n"] - 1)


def differences_of(n: int) -> Launch:
    return Launch(
        (cdiv(n, 128),), {"x": Tensor((n,)), "y": Tensor((n - 1,)), "n": n}, {"BLOCK": 128}
    )


CASES.append(
    case(
        "differences",
        True,
        "n - 1 results",
        differences,
        ("n", 1, 1_000_000),
        (301, 70),
        differences_of,
        differences_model,
    )
)


@triton.jit
def boundaries(offsets, y, batch, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    end = tl.load(offsets + i + 1, i <= batch, 0)
    tl.store(y + i, end - tl.load(offsets + i, i < batch, 0), i < batch)


def boundaries_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * 128 + np.arange(128))
    v.access("offsets", i + 1, i <= v["batch"])


def boundaries_of(batch: int) -> Launch:
    return Launch(
        (cdiv(batch, 128),),
        {
            "offsets": Tensor((batch + 1,), torch.int32),
            "y": Tensor((batch,), torch.int32),
            "batch": batch,
        },
        {"BLOCK": 128},
    )


CASES.append(
    case(
        "ends-of-a-batch",
        False,
        "the mask admits i = batch unless 128 divides it",
        boundaries,
        ("batch", 128, 4000),
        (128, 256),
        boundaries_of,
        boundaries_model,
    )
)


@triton.jit
def two_lengths(x, y, n, m, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, i < n, 0), i < n)


def two_lengths_model(v: Evaluation) -> None:
    i = v.i32(v.programs() * 128 + np.arange(128))
    v.access("x", i, i < v["n"])
    v.access("y", i, i < v["n"])


def two_lengths_of(n: int) -> Launch:
    return Launch((2,), {"x": Tensor((n,)), "y": Tensor((200,)), "n": n, "m": 200}, {"BLOCK": 128})


CASES.append(
    case(
        "store-of-a-fixed-tensor",
        False,
        "y has 200 elements whatever n is",
        two_lengths,
        ("n", 1, 256),
        (200, 90),
        two_lengths_of,
        two_lengths_model,
    )
)
CASES.append(
    case(
        "store-of-a-fixed-tensor-below",
        True,
        "n up to 200",
        two_lengths,
        ("n", 0, 200),
        (150, 90),
        two_lengths_of,
        two_lengths_model,
    )
)


@triton.jit
def columns_grid(x, y, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = (row[:, None] < rows) & (column[None, :] < columns)
    tl.store(
        y + column[None, :] * rows + row[:, None],
        tl.load(x + row[:, None] * columns + column[None, :], inside, 0),
        inside,
    )


def columns_grid_model(v: Evaluation) -> None:
    if v["grid_y"] > 65_535:
        v.reasons.add("grid")
    row = v.i32(v.programs("grid_y") * 16 + np.arange(16)).reshape(-1, 1)
    for program in v.few("grid_x"):
        column = program * 16 + np.arange(16)
        inside = (row < v["rows"]) & (column < v["columns"])
        v.access("x", v.i32(row * v["columns"]) + column, inside)
        v.access("y", v.i32(column * v["rows"]) + row, inside)


def transposed_of(rows: int) -> Launch:
    return Launch(
        (cdiv(37, 16), cdiv(rows, 16)),
        {"x": Tensor((rows, 37)), "y": Tensor((37, rows)), "rows": rows, "columns": 37},
        {"BLOCK": 16},
    )


CASES.append(
    case(
        "transpose",
        True,
        "to the last grid_y",
        columns_grid,
        ("rows", 0, 1_048_560),
        (50, 70),
        transposed_of,
        columns_grid_model,
    )
)


@triton.jit
def chunk_state(x, h, T, BT: tl.constexpr, KV: tl.constexpr):
    chunk, batch = tl.program_id(0), tl.program_id(1)
    chunks = tl.cdiv(T, BT)
    i = tl.arange(0, KV)
    total = tl.zeros((KV,), tl.float32)
    for t in range(chunk * BT, min(chunk * BT + BT, T)):
        total += tl.load(x + (batch * T + t).to(tl.int64) * KV + i).to(tl.float32)
    tl.store(h + (batch * chunks + chunk) * KV + i, total)


def chunk_state_model(v: Evaluation) -> None:
    chunks = int(v.i32(v["T"] + 31)) // 32
    for batch in v.few("grid_y"):
        chunk = some(v["grid_x"])
        ends = np.minimum(v.i32(v.i32(chunk * 32) + 32), v["T"])
        v.access("x", v.i32(int(v.i32(batch * v["T"])) + ends - 1) * 1024 + 1023)
        v.access("h", v.i32(v.i32(v.i32(batch * chunks + chunk) * 1024) + 1023))


def chunks_of(t: int) -> Launch:
    return Launch(
        (cdiv(t, 32), 3),
        {"x": Tensor((3, t, 1024)), "h": Tensor((3, cdiv(t, 32), 1024), torch.float32), "T": t},
        {"BT": 32, "KV": 1024},
    )


# 3 * chunks * 1024 <= 2^31: chunks <= 699,050
CASES.append(
    case(
        "chunk-states",
        True,
        "states fit 32 bits, inputs have 64",
        chunk_state,
        ("T", 0, 32 * 699_050),
        (50, 70),
        chunks_of,
        chunk_state_model,
    )
)
CASES.append(
    case(
        "chunk-states-wrap",
        False,
        "(batch * chunks + chunk) * 1024 wraps",
        chunk_state,
        ("T", 0, 32 * 699_051),
        (50, 70),
        chunks_of,
        chunk_state_model,
    )
)


@triton.jit
def early(x, y, n):
    if tl.program_id(0) >= n:
        return
    tl.store(y + tl.program_id(0), tl.load(x + n - 1 - tl.program_id(0)))


def early_model(v: Evaluation) -> None:
    program = v.programs()
    v.access("x", v["n"] - 1 - program, program < v["n"])


def early_of(n: int) -> Launch:
    t = Tensor((n,))
    return Launch((100,), {"x": t, "y": t, "n": n})


CASES.append(
    case(
        "early-return",
        True,
        "programs beyond n return",
        early,
        ("n", -5, 1_000_000),
        (40, 70),
        early_of,
        early_model,
    )
)


@triton.jit
def compacted(x, y, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i, i < n, 0)
    keep = (value > 0) & (i < n)
    place = tl.cumsum(keep.to(tl.int32), 0) - 1
    tl.store(y + place, value, keep)


def compacted_model(v: Evaluation) -> None:
    i = np.arange(128)
    v.access("x", i, i < v["n"])
    v.access("y", np.minimum(i, v["n"] - 1), i < v["n"])  # the most that a count can be


def compacted_of(n: int) -> Launch:
    t = Tensor((n,))
    return Launch((1,), {"x": t, "y": t, "n": n}, {"BLOCK": 128})


CASES.append(
    case(
        "compacted",
        True,
        "a count of kept elements is at most n",
        compacted,
        ("n", 0, 128),
        (40, 70),
        compacted_of,
        compacted_model,
    )
)


@triton.jit
def shifted_power(x, y, level):
    size = 1 << level
    i = tl.program_id(0)
    tl.store(y + i, tl.load(x + (size + i) // 2 * 2 - size // 2))


def shifted_power_model(v: Evaluation) -> None:
    if not 0 <= v["level"] < 32:
        v.reasons.add("shift")
        return
    size = int(v.i32(1 << v["level"]))
    v.access("x", (size + v.programs()) // 2 * 2 - size // 2)


def level_of(level: int) -> Launch:
    return Launch((10,), {"x": Tensor((600,)), "y": Tensor((10,)), "level": level})


CASES.append(
    case(
        "level-of-a-tree",
        True,
        "2^level // 2 + 9 is inside",
        shifted_power,
        ("level", 1, 10),
        (5,),
        level_of,
        shifted_power_model,
    )
)
CASES.append(
    case(
        "level-of-a-tree-above",
        False,
        "2^11 // 2 is past the end",
        shifted_power,
        ("level", 1, 11),
        (5,),
        level_of,
        shifted_power_model,
    )
)
