"""Kernels with parts of loops, windows, causal blocks, block pointers and descriptors."""

# ruff: noqa: PIE808 - kernels are written as their authors write them

import numpy as np
import torch
import triton
import triton.language as tl

from corpus.case import Case
from corpus.questions.sizes import Evaluation, Launch, Tensor, case
from corpus.sizes.products import cdiv

CASES: list[Case] = []


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
    chunk = int(v.i32(int(v.i32(v["n"] + v["splits"])) - 1)) // v["splits"]
    for program in v.few("grid_x"):
        chunk_start = int(v.i32(program * chunk))
        chunk_end = min(int(v.i32(chunk_start + chunk)), v["n"])
        for k in v.trips(chunk_start, chunk_end, 32):
            i = v.i32(k + np.arange(32))
            v.access("x", i, i < chunk_end)
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
    chunk = int(v.i32(int(v.i32(v["n"] + v["splits"])) - 1)) // v["splits"]
    for program in v.few("grid_x"):
        for k in v.trips(program * chunk, program * chunk + chunk, 32):
            i = v.i32(k + np.arange(32))
            v.access("x", i, i < program * chunk + chunk)


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
        window_start = int(np.fix(low / 16)) * 16
        for k in v.trips(window_start, (program + 1) * 32, 16):
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
