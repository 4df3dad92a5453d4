"""Loops: a step too far, pointers moved too often, bounds that depend on the program."""

import triton
import triton.language as tl

from corpus.questions.defects import Samples, tensor

CASES = Samples("loops")


@triton.jit
def row_sum(x, out, columns, MORE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, columns + MORE, BLOCK):
        total += tl.load(x + row * columns + start + tl.arange(0, BLOCK))  # [load]
    tl.store(out + row, tl.sum(total, axis=0))


def sums(columns):
    return {"x": tensor(20, columns), "out": tensor(20), "columns": columns}


CASES.good("sum of rows", row_sum, sums(128), {"MORE": 0, "BLOCK": 32}, (20,))
CASES.bad(
    "loop one step too far", row_sum, sums(128), {"MORE": 1, "BLOCK": 32}, (20,),
    out_of_bounds="load",
)  # fmt: skip
CASES.bad(
    "loop whose last step is not whole", row_sum, sums(100), {"MORE": 0, "BLOCK": 32}, (20,),
    out_of_bounds="load",
)  # fmt: skip
CASES.good("loop that never runs", row_sum, sums(0), {"MORE": 0, "BLOCK": 32}, (20,))


@triton.jit
def walking(x, out, k, LEFT: tl.constexpr, BLOCK: tl.constexpr):
    """The pointer walks; the mask must count what is left."""
    lanes = tl.arange(0, BLOCK)
    place = x + tl.program_id(0) * k + lanes
    total = tl.zeros((BLOCK,), tl.float32)
    for step in range(tl.cdiv(k, BLOCK)):
        mask = lanes < k - step * BLOCK if LEFT else lanes < k
        total += tl.load(place, mask=mask, other=0.0)  # [load]
        place += BLOCK
    tl.store(out + tl.program_id(0), tl.sum(total, axis=0))


def walk(k):
    return {"x": tensor(7, k), "out": tensor(7), "k": k}


CASES.good("mask of what is left", walking, walk(100), {"LEFT": True, "BLOCK": 32}, (7,))
CASES.bad(
    "mask of the whole in every step",
    walking, walk(100), {"LEFT": False, "BLOCK": 32}, (7,), out_of_bounds="load",
)  # fmt: skip
CASES.good(
    "mask of the whole in every step, and the steps fit",
    walking, walk(128), {"LEFT": False, "BLOCK": 32}, (7,),
)  # fmt: skip


@triton.jit
def prefetching(x, out, steps, GUARD: tl.constexpr, BLOCK: tl.constexpr):
    """Each step loads what the next one uses."""
    lanes = tl.arange(0, BLOCK)
    following = tl.load(x + lanes)
    total = tl.zeros((BLOCK,), tl.float32)
    for step in range(steps):
        total += following
        ahead = (step + 1) * BLOCK + lanes
        if GUARD:
            following = tl.load(x + ahead, mask=ahead < steps * BLOCK, other=0.0)
        else:
            following = tl.load(x + ahead)  # [load]
    tl.store(out + lanes, total)


AHEAD = {"x": tensor(320), "out": tensor(32), "steps": 10}
CASES.good("prefetch, guarded", prefetching, AHEAD, {"GUARD": True, "BLOCK": 32}, (1,))
CASES.bad(
    "prefetch past the last step",
    prefetching, AHEAD, {"GUARD": False, "BLOCK": 32}, (1,), out_of_bounds="load",
)  # fmt: skip


@triton.jit
def while_loop(x, out, n, FAR: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    at = tl.program_id(0) * 0
    end = n + FAR
    while at < end:
        total += tl.load(x + at + lanes)  # [load]
        at += BLOCK
    tl.store(out + lanes, total)


WHILE = {"x": tensor(320), "out": tensor(32), "n": 320}
CASES.good("while", while_loop, WHILE, {"FAR": 0, "BLOCK": 32}, (1,))
CASES.bad(
    "while with <= for <", while_loop, WHILE, {"FAR": 1, "BLOCK": 32}, (1,), out_of_bounds="load"
)


@triton.jit
def causal(x, out, MORE: tl.constexpr, BLOCK: tl.constexpr):
    """As in attention: the row of tiles at hand sees those up to itself."""
    program = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for start in range(0, (program + 1 + MORE) * BLOCK, BLOCK):
        total += tl.load(x + start + lanes)  # [load]
    tl.store(out + program * BLOCK + lanes, total)


CAUSAL = {"x": tensor(320), "out": tensor(320)}
CASES.good("loop up to the program's own tile", causal, CAUSAL, {"MORE": 0, "BLOCK": 32}, (10,))
CASES.bad(
    "loop up to the tile after the program's own",
    causal, CAUSAL, {"MORE": 1, "BLOCK": 32}, (10,), out_of_bounds="load",
)  # fmt: skip


@triton.jit
def backwards(x, out, n, FROM: tl.constexpr):
    total = 0.0
    for at in range(n - FROM, -1, -1):
        total += tl.load(x + at)  # [load]
    tl.store(out, total)


BACK = {"x": tensor(50), "out": tensor(1), "n": 50}
CASES.good("downwards from the last", backwards, BACK, {"FROM": 1}, (1,))
CASES.bad(
    "downwards from one past the last", backwards, BACK, {"FROM": 0}, (1,), out_of_bounds="load"
)


@triton.jit
def nested(x, out, rows, columns, SWAPPED: tl.constexpr):
    total = 0.0
    for row in range(rows):
        for column in range(columns):
            place = column * columns + row if SWAPPED else row * columns + column
            total += tl.load(x + place)  # [load]
    tl.store(out, total)


NESTED = {"x": tensor(5, 9), "out": tensor(1), "rows": 5, "columns": 9}
CASES.good("loop in a loop", nested, NESTED, {"SWAPPED": False}, (1,))
CASES.bad(
    "loop in a loop, counters swapped", nested, NESTED, {"SWAPPED": True}, (1,),
    out_of_bounds="load",
)  # fmt: skip


@triton.jit
def twice_moved(x, out, steps, TWICE: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    place = x + lanes
    total = tl.zeros((BLOCK,), tl.float32)
    for step in range(steps):
        if TWICE:
            total += tl.load(place + step * BLOCK)  # [load]
        else:
            total += tl.load(place)
        place += BLOCK
    tl.store(out + lanes, total)


CASES.good("pointer moved once a step", twice_moved, AHEAD, {"TWICE": False, "BLOCK": 32}, (1,))
CASES.bad(
    "pointer moved twice a step",
    twice_moved, AHEAD, {"TWICE": True, "BLOCK": 32}, (1,), out_of_bounds="load",
)  # fmt: skip


@triton.jit
def matrix_product(a, b, c, m, n, k, LEFT: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr,
                   BK: tl.constexpr):  # fmt: skip
    """The tutorial's: rows and columns around the end, depth under a mask."""
    rows = (tl.program_id(0) * BM + tl.arange(0, BM)) % m
    columns = (tl.program_id(1) * BN + tl.arange(0, BN)) % n
    depth = tl.arange(0, BK)
    a_tile = a + rows[:, None] * k + depth[None, :]
    b_tile = b + depth[:, None] * n + columns[None, :]
    total = tl.zeros((BM, BN), tl.float32)
    for step in range(tl.cdiv(k, BK)):
        left = k - step * BK
        total = tl.dot(
            tl.load(a_tile, mask=depth[None, :] < left, other=0.0),
            tl.load(b_tile, mask=depth[:, None] < left + LEFT, other=0.0),  # [right factor]
            total,
        )
        a_tile += BK
        b_tile += BK * n
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    s = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (r[:, None] < m) & (s[None, :] < n)
    tl.store(c + r[:, None] * n + s[None, :], total, mask=mask)


def product(m, n, k):
    return {"a": tensor(m, k), "b": tensor(k, n), "c": tensor(m, n), "m": m, "n": n, "k": k}


PRODUCT = {"BM": 16, "BN": 16, "BK": 16}
CASES.good("matrix product", matrix_product, product(40, 50, 70), {"LEFT": 0, **PRODUCT}, (3, 4))
CASES.bad(
    "matrix product, the mask of one factor one too wide",
    matrix_product, product(40, 50, 70), {"LEFT": 1, **PRODUCT}, (3, 4),
    out_of_bounds="right factor",
)  # fmt: skip


@triton.jit
def triangular_pairs(x, out, n):
    """All pairs i < j: the inner loop begins after the outer one's counter."""
    total = 0.0
    for i in range(n):
        for j in range(i + 1, n):
            total += tl.load(x + j) * tl.load(x + j - i - 1)  # [load]
    tl.store(out, total)


CASES.good("pairs", triangular_pairs, BACK, {}, (1,))
