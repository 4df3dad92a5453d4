"""Kernels with one planted inefficiency each, and good ones, with the launches that show it.

`# here` marks the line that advice must name.
"""

import torch
import triton
import triton.language as tl


@triton.jit
def by_columns(x, out, rows, columns, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for column in range(columns):
        value = tl.load(x + lanes * columns + column, mask=lanes < rows)  # here
        tl.store(out + column * rows + lanes, value, mask=lanes < rows)


@triton.jit
def mostly_masked(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + lanes, mask=lanes < columns)  # here
    tl.store(out + row * columns + lanes, value * 2, mask=lanes < columns)


@triton.jit
def too_large_a_tile(x, out, ROWS: tl.constexpr, COLUMNS: tl.constexpr):  # here
    at = tl.arange(0, ROWS)[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    start = tl.program_id(0) * ROWS * COLUMNS
    value = tl.load(x + start + at)
    total = tl.sum(value, 0)
    value = value * tl.sum(value, 1)[:, None] + total[None, :]
    tl.store(out + start + at, tl.sort(value))


@triton.jit
def few_warps(x, y, out, BLOCK: tl.constexpr):  # here
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left, right = tl.load(x + lanes), tl.load(y + lanes)
    total = tl.sum(left * right)
    tl.store(out + lanes, (left - total) * (right + total))


@triton.jit
def weighed_again(x, weights, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        total += tl.load(x + lanes, mask=lanes < n, other=0.0)  # here
    tl.store(out + row, tl.sum(total) * tl.load(weights + row))


@triton.jit
def a_few_more(x, out, BLOCK: tl.constexpr):  # here
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.exp(tl.load(x + lanes)))


@triton.jit
def for_each_size(x, out, n: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * n, mask=lanes < n)


def empty(*shape):
    return torch.zeros(shape)


def show_uncoalesced():
    by_columns[(8,)](empty(1024, 64), empty(64, 1024), 1024, 64, BLOCK=128)


def show_masked_off():
    mostly_masked[(256,)](empty(256, 300), empty(256, 300), 300, BLOCK=1024)


def show_spills():
    too_large_a_tile[(4,)](empty(4, 256, 64), empty(4, 256, 64), 256, 64, num_warps=1)


def show_low_occupancy():
    x = empty(16 * 16384)
    few_warps[(16,)](x, x.clone(), empty(16 * 16384), BLOCK=16384, num_warps=8)


def show_redundant_load():
    weighed_again[(2000,)](empty(65536), empty(2000), empty(2000), 65536, BLOCK=1024)


def show_tail_wave():
    n = 2300 * 256
    a_few_more[(2300,)](empty(n), empty(n), BLOCK=256, num_warps=4)


def show_recompiles():
    for n in (100, 101, 102, 103, 104):
        for_each_size[(1,)](empty(128), empty(128), n, BLOCK=128)


#: rule → what shows it, and the kernel whose line is marked (None: no line).
PLANTED = {
    "uncoalesced": (show_uncoalesced, by_columns),
    "masked-off": (show_masked_off, mostly_masked),
    "spills": (show_spills, too_large_a_tile),
    "low-occupancy": (show_low_occupancy, few_warps),
    "redundant-load": (show_redundant_load, weighed_again),
    "tail-wave": (show_tail_wave, a_few_more),
    "recompiles": (show_recompiles, None),
}


# -- good kernels ---------------------------------------------------------------------------------


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + lanes, mask=lanes < n) + tl.load(y + lanes, mask=lanes < n)
    tl.store(out + lanes, total, mask=lanes < n)


@triton.jit
def gelu(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + lanes, mask=lanes < n)
    tl.store(out + lanes, value * 0.5 * (1 + tl.erf(value * 0.7071)), mask=lanes < n)


@triton.jit
def softmax(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + lanes, mask=lanes < columns, other=float("-inf"))
    value = tl.exp(value - tl.max(value))
    tl.store(out + row * columns + lanes, value / tl.sum(value), mask=lanes < columns)


@triton.jit
def rms_norm(x, weight, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + lanes, mask=lanes < columns, other=0.0)
    scale = tl.rsqrt(tl.sum(value * value) / columns + 1e-5)
    weight = tl.load(weight + lanes, mask=lanes < columns)
    tl.store(out + row * columns + lanes, value * scale * weight, mask=lanes < columns)


@triton.jit
def silu_product(gate, up, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(gate + lanes, mask=lanes < n)
    value = value * tl.sigmoid(value) * tl.load(up + lanes, mask=lanes < n)
    tl.store(out + lanes, value, mask=lanes < n)


@triton.jit
def row_sums(x, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, columns, BLOCK):
        lanes = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * columns + lanes, mask=lanes < columns, other=0.0)
    tl.store(out + row, tl.sum(total))


@triton.jit
def matmul(a, b, out, n, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    columns = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK, BLOCK], tl.float32)
    for start in range(0, n, 32):
        inner = start + tl.arange(0, 32)
        left = tl.load(a + rows[:, None] * n + inner[None, :])
        total += tl.dot(left, tl.load(b + inner[:, None] * n + columns[None, :]))
    tl.store(out + rows[:, None] * n + columns[None, :], total)


@triton.jit
def embed(words, table, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    word = tl.load(words + row)
    value = tl.load(table + word * columns + lanes, mask=lanes < columns)
    tl.store(out + row * columns + lanes, value, mask=lanes < columns)


@triton.jit
def rotate(x, cos, sin, out, HALF: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, HALF)
    c, s = tl.load(cos + row * HALF + lanes), tl.load(sin + row * HALF + lanes)
    even = tl.load(x + row * 2 * HALF + lanes)
    odd = tl.load(x + row * 2 * HALF + HALF + lanes)
    tl.store(out + row * 2 * HALF + lanes, even * c - odd * s)
    tl.store(out + row * 2 * HALF + HALF + lanes, odd * c + even * s)


@triton.jit
def scale_rows(x, factors, out, columns, BLOCK: tl.constexpr):
    row = tl.program_id(1)
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + row * columns + lanes, mask=lanes < columns)
    tl.store(out + row * columns + lanes, value * tl.load(factors + row), mask=lanes < columns)


def run_good_ones():
    n = 1000 * 1024
    x, y, out = empty(n), empty(n), empty(n)
    square = empty(256, 256)
    add[(1000,)](x, y, out, n, BLOCK=1024)
    gelu[(1000,)](x, out, n, BLOCK=1024)
    softmax[(512,)](x, out, 1000, BLOCK=1024)
    rms_norm[(512,)](x, y, out, 1000, BLOCK=1024)
    silu_product[(1000,)](x, y, out, n, BLOCK=1024)
    row_sums[(512,)](x, out, 2000, BLOCK=1024)
    matmul[(4, 4)](square, square.clone(), empty(256, 256), 256, BLOCK=64)
    words = torch.randint(1000, (512,), dtype=torch.int32)
    embed[(512,)](words, x, out, 1000, BLOCK=1024)
    rotate[(512,)](x, y, y.clone(), out, HALF=64)
    scale_rows[(4, 250)](x, y, out, 4096, BLOCK=1024)
