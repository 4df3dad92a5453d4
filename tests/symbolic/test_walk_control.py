"""Loops, branches, calls and pointers that are chosen: what summaries say is what is touched."""

import pytest
import torch
import triton
import triton.language as tl

from kvtrace.symbolic.walk import summarize
from tests.kernels.launching import bind, compile_for
from tests.symbolic.predicting import compared


@triton.jit
def advancing_pointers(x, out, rows, columns, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    source = x + tl.program_id(0) * rows * columns + lanes
    target = out + tl.program_id(0) * rows * columns + lanes
    for _ in range(rows):
        inner = source
        for column in range(0, columns, BLOCK):
            value = tl.load(inner, mask=lanes + column < columns)
            tl.store(target + column, value, mask=lanes < columns - column)
            inner += BLOCK
        source += columns
        target += columns


@triton.jit
def strided_range(x, out, first, n, step, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    count = 0
    for start in range(first, n, step):
        value = tl.load(x + start + lanes, mask=start + lanes < n)
        tl.store(out + count * BLOCK + lanes, value)
        count += 1
    tl.store(out + count * BLOCK + lanes, count)


@triton.jit
def persistent(x, out, tiles, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    for tile in range(tl.program_id(0), tiles, tl.num_programs(0)):
        tl.store(out + tile * BLOCK + lanes, tl.load(x + tile * BLOCK + lanes))


@triton.jit
def grouped(x, out, rows, columns, GROUP: tl.constexpr, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    row_blocks, column_blocks = tl.cdiv(rows, BLOCK), tl.cdiv(columns, BLOCK)
    in_group = GROUP * column_blocks
    first = pid // in_group * GROUP
    size = min(row_blocks - first, GROUP)
    row = first + (pid % in_group) % size
    column = (pid % in_group) // size
    r = row * BLOCK + tl.arange(0, BLOCK)
    c = column * BLOCK + tl.arange(0, BLOCK)
    place = r[:, None] * columns + c[None, :]
    mask = (r[:, None] < rows) & (c[None, :] < columns)
    tl.store(out + place, tl.load(x + (r % rows)[:, None] * columns + c[None, :] % columns), mask)


@triton.jit
def two_remainders(out, BLOCK: tl.constexpr):
    r = tl.arange(0, BLOCK) % 7
    tl.store(out + r[:, None] * 8 + r[None, :], 1)


@triton.jit
def previous(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    before = lanes + 3
    for i in range(n):
        tl.store(out + i * BLOCK + lanes, tl.load(x + before))
        before = i * 2 + lanes


@triton.jit
def counting_while(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    i = 0
    place = out
    while i < n:
        tl.store(place + lanes, tl.load(x + i + lanes, mask=i + lanes < n))
        place += BLOCK
        i += BLOCK


@triton.jit
def chosen_pointers(x, y, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    pid = tl.program_id(0)
    if pid % 2 == 0:  # noqa: SIM108
        source = x + pid
    else:
        source = y + 2 * pid
    either = tl.where(lanes < n, source + lanes, x + lanes)
    tl.store(out + pid * BLOCK + lanes, tl.load(either))


@triton.jit
def branches(x, out, n, m, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    if pid >= n:
        return
    lanes = tl.arange(0, BLOCK)
    offset = 0
    if m > 2:
        offset = 4 * pid
        if m > 3:
            tl.store(out + lanes, 1)
        else:
            tl.store(out + lanes + 1, 1)
    if pid + m == 4:
        return
    tl.store(out + 2 * BLOCK + offset + lanes, tl.load(x + offset + lanes))


@triton.jit(noinline=True)
def _called(x, at, n):
    if at > n:
        return at - n
    tl.store(x + at, 1)
    return at + tl.load(x + at).to(tl.int32) * 0


@triton.jit
def calls(x, out, n):
    pid = tl.program_id(0)
    first = _called(x, pid, n)
    for i in range(2):
        first = _called(out, pid * 2 + i, n + i)
    second = _called(out, pid + 1, n)
    tl.store(out + 20 + pid, first + second, mask=pid < n)


@triton.jit
def gathered(index, x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    rows = tl.load(index + lanes, mask=mask, other=0)
    tl.store(out + lanes, tl.load(x + rows * 2, mask=mask), mask=mask)
    unfilled = tl.load(index + lanes, mask=mask)
    tl.store(x + unfilled * 2, 1, mask=mask & (unfilled > 3))


@triton.jit
def rearranged(out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    square = tl.reshape(lanes, (BLOCK // 8, 8))
    tl.store(out + tl.trans(square) * 2, 1)
    pair = tl.join(lanes, lanes * 3)
    tl.store(out + pair, 2)
    left, right = tl.split(tl.reshape(lanes, (BLOCK // 2, 2)))
    tl.store(out + left * right, 3)
    tl.store(out + tl.reshape(tl.cat(left, right, can_reorder=True), (2, BLOCK // 2)), 4)
    flat = tl.reshape(square[:, None, :] + tl.zeros((1, 2, 1), tl.int32), (2 * BLOCK,))
    tl.store(out + flat, 5)
    tl.store(out + tl.gather(lanes * 2, (lanes + 3) % BLOCK, 0), 6)
    tl.store(out + tl.interleave(lanes, lanes + BLOCK), 7)


@triton.jit
def reduced(out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK) * 3 + n
    tl.store(out + tl.max(lanes, 0), 1)
    tl.store(out + tl.min(lanes, 0), 1)
    tl.store(out + tl.sum(lanes, 0), 1)
    grid = lanes[:, None] + tl.arange(0, 4)[None, :]
    tl.store(out + tl.max(grid, 1), 1)
    tl.store(out + tl.sum(grid, 0), 1)


@triton.jit
def of_unsigned(out, n, m, BLOCK: tl.constexpr):
    a, b = n.to(tl.uint32), m.to(tl.uint32)
    lanes = tl.arange(0, BLOCK).to(tl.uint32)
    tl.store(out + (lanes + a) // b, 1)
    tl.store(out + (lanes - 5) % 11, 1, mask=lanes - 5 < b)
    tl.store(out + ((lanes - 5) >> 28), 1)
    tl.store(out + tl.minimum(lanes - 5, a), 1)
    tl.store(out + (lanes & 12 | 1), 1, mask=(lanes ^ 3) > a)
    tl.store(out + (lanes << 1), 1)
    tl.store(out + (lanes.to(tl.uint8) + 250).to(tl.int32), 1)


def numbers(count):
    return torch.arange(count, dtype=torch.int32)


CASES = {
    advancing_pointers: [({"x": numbers(400), "out": numbers(400), "rows": 5, "columns": 37},
                          {"BLOCK": 16}, (2,))],
    strided_range: [
        ({"x": numbers(200), "out": numbers(400), "first": f, "n": n, "step": s}, {"BLOCK": 16},
         (1,))
        for f, n, s in ((0, 100, 16), (3, 100, 9), (90, 40, 7), (1, 1, 1))
    ],
    persistent: [({"x": numbers(320), "out": numbers(320), "tiles": 10}, {"BLOCK": 32}, (g,))
                 for g in (1, 3, 12)],
    grouped: [
        ({"x": numbers(r * c), "out": numbers(r * c), "rows": r, "columns": c},
         {"GROUP": 2, "BLOCK": 16}, (triton.cdiv(r, 16) * triton.cdiv(c, 16),))
        for r, c in ((80, 48), (50, 33), (16, 100))
    ],
    two_remainders: [({"out": numbers(64)}, {"BLOCK": 16}, (1,))],
    previous: [({"x": numbers(64), "out": numbers(320), "n": n}, {"BLOCK": 16}, (1,))
               for n in (0, 1, 9)],
    counting_while: [({"x": numbers(100), "out": numbers(128), "n": n}, {"BLOCK": 16}, (1,))
                     for n in (0,)],
    chosen_pointers: [({"x": numbers(80), "y": numbers(80), "out": numbers(128), "n": 11},
                       {"BLOCK": 16}, (5,))],
    branches: [({"x": numbers(80), "out": numbers(100), "n": n, "m": m}, {"BLOCK": 16}, (5,))
               for n, m in ((3, 1), (4, 3), (5, 4))],
    calls: [({"x": numbers(64), "out": numbers(64), "n": 3}, {}, (6,))],
    gathered: [({"index": numbers(70).flip(0).contiguous(), "x": numbers(200), "out": numbers(70),
                 "n": 70}, {"BLOCK": 32}, (3,))],
    rearranged: [({"out": numbers(4096)}, {"BLOCK": 64}, (1,))],
    reduced: [({"out": numbers(4096), "n": 7}, {"BLOCK": 16}, (1,))],
    of_unsigned: [({"out": numbers(4096), "n": n, "m": 3}, {"BLOCK": 16}, (1,)) for n in (9, 0)],
}  # fmt: skip


@pytest.mark.parametrize(
    ("kernel", "number"),
    [(kernel, number) for kernel, cases in CASES.items() for number in range(len(cases))],
    ids=lambda part: part if isinstance(part, int) else part.__name__,
)
def test_summary_predicts_the_evaluators_accesses(kernel, number):
    arguments, constexprs, grid = CASES[kernel][number]
    module = compile_for(kernel, arguments, constexprs)

    outcome = compared(summarize(module), bind(kernel, arguments), grid)

    honest = {"unknown: the trips of a while loop"} if kernel is counting_while else set()
    assert outcome
    assert set(outcome.values()) <= {"same", *honest}
