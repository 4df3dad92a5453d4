"""Program of kernels that leave memory unwritten, and of twins that do not.

    python planted.py wrong|right

Each case allocates, launches and reads on its own; a mark has its name. `right` repairs what makes
the case wrong, and nothing else.
"""

import sys

import torch
import triton
import triton.language as tl

import kvtrace

BLOCK = 64


@triton.jit
def rows_copied(source, target, columns, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, WIDTH)
    inside = lanes < columns
    values = tl.load(source + row * columns + lanes, mask=inside)
    tl.store(target + row * columns + lanes, values, mask=inside)


@triton.jit
def doubled(source, target, n, written, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(source + lanes, mask=lanes < n)
    tl.store(target + lanes, values * 2, mask=lanes < written)


@triton.jit
def scaled_and_shifted(source, target, n, written, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(source + lanes, mask=lanes < n)
    tl.store(target + lanes, values * 2.0 + 1.0, mask=lanes < written)


@triton.jit
def doubled_until(source, target, n, programs, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    if program >= programs:
        return
    lanes = program * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + lanes, tl.load(source + lanes, mask=lanes < n), mask=lanes < n)


@triton.jit
def added_atomically(source, target, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(target + lanes, tl.load(source + lanes, mask=lanes < n), mask=lanes < n)


@triton.jit
def normalized(source, target, scales, columns, STORES: tl.constexpr, WIDTH: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, WIDTH)
    values = tl.load(source + row * columns + lanes, mask=lanes < columns, other=0.0)
    scale = 1 / (1 + tl.sum(values * values))
    if STORES:
        tl.store(scales + row, scale)
    tl.store(target + row * columns + lanes, values * scale, mask=lanes < columns)


@triton.jit
def tiles(source, target, rows, columns, last, M: tl.constexpr, N: tl.constexpr):
    row = tl.program_id(0) * M + tl.arange(0, M)[:, None]
    column = tl.program_id(1) * N + tl.arange(0, N)[None, :]
    inside = (row < rows) & (column < columns)
    values = tl.load(source + row * columns + column, mask=inside)
    tl.store(target + row * columns + column, values, mask=inside & (column < last))


@triton.jit
def spread(source, target, n, step, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + lanes * step, tl.load(source + lanes, mask=lanes < n), mask=lanes < n)


@triton.jit
def partial_sums(source, partial, n, splits, BLOCK: tl.constexpr):
    split = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    for begin in range(split * BLOCK, n, splits * BLOCK):
        total += tl.load(source + begin + lanes, mask=begin + lanes < n, other=0.0)
    tl.store(partial + split, tl.sum(total))


@triton.jit
def summed(partial, target, splits, WIDTH: tl.constexpr):
    lanes = tl.arange(0, WIDTH)
    tl.store(target, tl.sum(tl.load(partial + lanes, mask=lanes < splits, other=0.0)))


@triton.jit
def scattered(source, index, target, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    places = tl.load(index + lanes, mask=lanes < n, other=0)
    tl.store(target + places, tl.load(source + lanes, mask=lanes < n), mask=lanes < n)


@triton.jit
def accumulated(source, target, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(target + lanes, mask=lanes < n)
    total += tl.load(source + lanes, mask=lanes < n)
    tl.store(target + lanes, total, mask=lanes < n)


def grid(n):
    return (triton.cdiv(n, BLOCK),)


def width(n):
    return triton.next_power_of_2(n)


def read(target):
    """A kernel that reads all of a tensor."""
    n = target.numel()
    doubled[grid(n)](target, torch.empty_like(target), n, n, BLOCK=BLOCK)


def row_left_out(x, wrong):
    rows, columns = x.shape
    target = torch.empty_like(x)
    rows_copied[(rows - wrong,)](x, target, columns, WIDTH=width(columns))
    read(target)


def grid_too_small(x, wrong):
    n, target = x.numel(), torch.empty_like(x)
    programs = n // BLOCK if wrong else triton.cdiv(n, BLOCK)
    doubled[(programs,)](x, target, n, n, BLOCK=BLOCK)
    read(target)


def mask_too_narrow(x, wrong):
    n, target = x.numel(), torch.empty_like(x)
    doubled[grid(n)](x, target, n, n - 3 * wrong, BLOCK=BLOCK)
    read(target)


def early_exit(x, wrong):
    n, target = x.numel(), torch.empty_like(x)
    doubled_until[grid(n)](x, target, n, grid(n)[0] - wrong, BLOCK=BLOCK)
    read(target)


def not_zeroed(x, wrong):
    n = x.numel()
    target = torch.empty_like(x) if wrong else torch.zeros_like(x)
    added_atomically[grid(n)](x, target, n, BLOCK=BLOCK)


def stale_buffer(x, wrong):
    """A buffer for the longest request holds a shorter one, and the longest is read."""
    n = x.numel()
    buffer = torch.empty(2 * n, dtype=x.dtype, device=x.device)
    doubled[grid(n)](x, buffer, n, n, BLOCK=BLOCK)
    if not wrong:
        doubled[grid(n)](x, buffer[n:], n, n, BLOCK=BLOCK)
    read(buffer)


def branch_not_taken(x, wrong):
    rows, columns = x.shape
    scales = torch.empty(rows, dtype=x.dtype, device=x.device)
    normalized[(rows,)](
        x, torch.empty_like(x), scales, columns, STORES=not wrong, WIDTH=width(columns)
    )
    read(scales)


def columns_left_out(x, wrong):
    rows, columns = x.shape
    target = torch.empty_like(x)
    blocks = triton.cdiv(rows, 16), triton.cdiv(columns, 32)
    tiles[blocks](x, target, rows, columns, columns - 2 * wrong, M=16, N=32)
    read(target)


def every_second(x, wrong):
    n, step = x.numel(), 2
    target = torch.empty(n * step, dtype=x.dtype, device=x.device)
    spread[grid(n)](x, target, n, step, BLOCK=BLOCK)
    if not wrong:
        spread[grid(n)](x, target[1:], n, step, BLOCK=BLOCK)
    read(target)


def split_left_out(x, wrong):
    splits = 7
    partial = torch.empty(splits, dtype=torch.float32, device=x.device)
    partial_sums[(splits - wrong,)](x, partial, x.numel(), splits, BLOCK=BLOCK)
    summed[(1,)](partial, torch.empty(1, device=x.device), splits, WIDTH=8)


def half_copied(x, wrong):
    target = torch.empty_like(x)
    rows = len(x) - wrong
    target[:rows].copy_(x[:rows])
    read(target)


def read_by_torch(x, wrong):
    n, target = x.numel(), torch.empty_like(x)
    doubled[grid(n)](x, target, n, n - wrong, BLOCK=BLOCK)
    target.sum()


def holes_in_index(x, wrong):
    n, target = x.numel(), torch.empty_like(x)
    index = torch.arange(n, dtype=torch.int32).flip(0)
    if wrong:
        index[5] = index[6]
    scattered[grid(n)](x, index.to(x.device), target, n, BLOCK=BLOCK)
    read(target)


def in_place(x, wrong):
    n = x.numel()
    target = torch.empty_like(x) if wrong else torch.zeros_like(x)
    accumulated[grid(n)](x, target, n, BLOCK=BLOCK)


def second_kernel_too_late(x, wrong):
    """Two kernels write halves; what reads both comes before the second one, or after it."""
    n = x.numel()
    target = torch.empty(2 * n, dtype=x.dtype, device=x.device)
    doubled[grid(n)](x, target, n, n, BLOCK=BLOCK)
    if wrong:
        read(target)
    doubled[grid(n)](x, target[n:], n, n, BLOCK=BLOCK)
    if not wrong:
        read(target)


def read_by_the_evaluator(x, wrong):
    """The evaluator adds products by an operator of PyTorch, on the buffer itself."""
    n = x.numel()
    buffer, target = torch.empty_like(x), torch.empty_like(x)
    doubled[grid(n)](x, buffer, n, n - wrong, BLOCK=BLOCK)
    scaled_and_shifted[grid(n)](buffer, target, n, n, BLOCK=BLOCK)
    read(buffer)


CASES = (
    row_left_out, grid_too_small, mask_too_narrow, early_exit, not_zeroed, stale_buffer,
    branch_not_taken, columns_left_out, every_second, split_left_out, half_copied, read_by_torch,
    holes_in_index, in_place, second_kernel_too_late, read_by_the_evaluator,
)  # fmt: skip
SHAPES = (((5, 43), torch.float32), ((3, 70), torch.float32), ((9, 31), torch.float16),
          ((17, 29), torch.float32))  # fmt: skip


def main(how: str) -> None:
    """Run all cases at all shapes."""
    for case in CASES:
        for number, (shape, dtype) in enumerate(SHAPES):
            x = torch.ones(shape, dtype=dtype, device="cuda")
            with kvtrace.mark(f"{case.__name__} {number}"):
                case(x, how == "wrong")


if __name__ == "__main__":
    main(sys.argv[1])
