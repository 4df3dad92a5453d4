"""Kernels whose loops Triton pipelines in several ways: persistent ones, stores, `while`."""

import triton
import triton.language as tl

SIGNATURE = {
    "a": "*fp16", "b": "*fp16", "out": "*fp16", "m": "i32", "n": "i32", "k": "i32",
}  # fmt: skip


@triton.jit
def persistent(
    a, b, out, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, FLAT: tl.constexpr
):
    """Tiles of a product, one after the other; loops may be made one."""
    left = tl.make_tensor_descriptor(a, [m, k], [k, 1], [BM, BK])
    right = tl.make_tensor_descriptor(b, [n, k], [k, 1], [BN, BK])
    result = tl.make_tensor_descriptor(out, [m, n], [n, 1], [BM, BN])
    rows, columns = tl.cdiv(m, BM), tl.cdiv(n, BN)
    for tile in tl.range(tl.program_id(0), rows * columns, 132, flatten=FLAT):
        row, column = tile % rows * BM, tile // rows * BN
        total = tl.zeros((BM, BN), tl.float32)
        for inner in range(tl.cdiv(k, BK)):
            x, y = left.load([row, inner * BK]), right.load([column, inner * BK])
            total = tl.dot(x, y.T, total)
        result.store([row, column], total.to(tl.float16))


@triton.jit
def while_there_are_rows(
    a, b, out, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, FLAT: tl.constexpr
):
    """Tiles as long as there are some, each with a second product of the same factor."""
    tile, inner = tl.program_id(0), tl.arange(0, BK)
    if tile > m:
        return
    while tile < n:
        rows, columns = tile * BM + tl.arange(0, BM), tile * BN + tl.arange(0, BN)
        total = tl.zeros((BM, BN), tl.float32)
        for start in range(0, k, BK):
            x = tl.load(a + rows[:, None] * k + (start + inner)[None, :])
            y = tl.load(b + columns[None, :] * k + (start + inner)[:, None])
            if start > 64:
                x = x * 2
            total = tl.dot(x, y, total)
            if FLAT:
                total = tl.dot(x, y * 2, total)
        tl.store(out + rows[:, None] * n + columns[None, :], total.to(tl.float16))
        tile += 132


@triton.jit
def streamed(
    a, b, out, m, n, k, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, FLAT: tl.constexpr
):
    """Blocks that are read and written by descriptors."""
    source = tl.make_tensor_descriptor(a, [m, k], [k, 1], [BM, BK])
    result = tl.make_tensor_descriptor(out, [m, k], [k, 1], [BM, BK])
    for block in tl.range(0, tl.cdiv(k, BK), num_stages=3):
        x = source.load([0, block * BK])
        result.store([0, block * BK], x * 2)
        if FLAT:
            result.store([BM, block * BK], x + 1)


@triton.jit
def from_trip_to_trip(x, n, HOW: tl.constexpr, STAGES: tl.constexpr, BLOCK: tl.constexpr):
    """Each trip loads what the one before has stored, by the same lanes; or what none stores."""
    lanes = tl.arange(0, BLOCK)
    for trip in tl.range(0, n, num_stages=STAGES):
        here = tl.load(x + trip * BLOCK + lanes)
        if HOW == "in place":
            tl.store(x + trip * BLOCK + lanes, here + 1)
        elif HOW == "apart":
            tl.store(x + (trip + n) * BLOCK + lanes, here + 1)
        elif HOW == "far":
            tl.store(x + (trip + 3) * BLOCK + lanes, here + 1)
        else:
            tl.store(x + (trip + 1) * BLOCK + lanes, here + 1)


@triton.jit
def products_in_a_row(x, w, n, SIDE: tl.constexpr):
    """Each trip multiplies the tile that the one before has stored."""
    rows, columns = tl.arange(0, SIDE)[:, None], tl.arange(0, SIDE)[None, :]
    weights = tl.load(w + rows * SIDE + columns)
    for trip in range(n):
        tile = x + trip * SIDE * SIDE + rows * SIDE + columns
        tl.store(tile + SIDE * SIDE, tl.dot(tl.load(tile), weights).to(tl.float16))
