"""Program of kernels that copy more than was written, or than a tensor has, and of what it becomes.

    python carried.py all

Each case is within a mark of its name. A tensor of 32 elements is copied as 64.
"""

import torch
import triton
import triton.language as tl

import kvtrace

BLOCK = 64


@triton.jit
def copied(source, target, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + lanes, tl.load(source + lanes, mask=lanes < n) * 2, mask=lanes < n)


@triton.jit
def filled(target, first, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(target + first + lanes, lanes.to(tl.float32), mask=lanes < n)


@triton.jit
def sum_spread(source, target, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    total = tl.sum(tl.load(source + lanes, mask=lanes < n, other=0.0))
    tl.store(target + lanes, lanes + total, mask=lanes < n)


@triton.jit
def by_table(source, table, target, BLOCK: tl.constexpr):
    lanes = tl.arange(0, 64)
    tl.store(target + lanes, tl.load(source + tl.load(table + lanes)))


@triton.jit
def moved(source, target, table, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, 16)
    row = tl.program_id(0)
    place = 16 * tl.load(table + row) + lanes
    tl.store(target + place, tl.load(source + 16 * row + lanes).to(tl.float32))
    tl.debug_barrier()
    tl.store(target + place, lanes.to(tl.float32), mask=lanes >= n)


@triton.jit
def halves(source, target, SHIFT: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, 32)
    tl.store(target + lanes, (tl.load(source + lanes) >> SHIFT) & 0xFFFF)


@triton.jit
def first(a, b, c, d):
    return a * c, b * c + d


@triton.jit
def scanned(a, b, target, BLOCK: tl.constexpr):
    lanes = tl.arange(0, 32)
    _, y = tl.associative_scan((tl.load(a + lanes), tl.load(b + lanes)), 0, first)
    tl.store(target + lanes, y)


@triton.jit
def kept(source, target, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, 32)
    tl.store(target + lanes, 2 * tl.load(source + lanes), mask=lanes < n)


@triton.jit
def swapped(source, target, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, 32)
    kept = tl.where(lanes < n, tl.load(source + lanes), 0.0)
    tl.store(target + lanes, tl.gather(kept, lanes ^ 1, 0))


def rows_moved(used):
    """Move rows of 16 elements, of which 10 are written; those from 12 on are replaced."""
    source, target = (
        torch.empty(64, device="cuda", dtype=torch.float16),
        torch.empty(64, device="cuda"),
    )
    source.view(4, 16)[:, :10] = 1
    moved[(4,)](source, target, torch.arange(3, -1, -1, device="cuda"), 12, BLOCK)
    target.view(4, 16)[:, used].sum()


def half_used(shift):
    source = torch.empty(64, device="cuda", dtype=torch.int16)
    source[::2] = 1
    halves[(1,)](source.view(torch.int32), torch.empty_like(source.view(torch.int32)), shift, BLOCK)


def drop_and_use():
    """Drop the padding at a first launch, and use what is missing at a second one."""
    for count in (24, 16):
        source = torch.empty(32, device="cuda")
        source[:count] = 1
        kept[(1,)](source, torch.empty_like(source), 24, BLOCK)


def dropped_and_swapped():
    source = torch.empty(32, device="cuda")
    source[:20] = 1
    swapped[(1,)](source, torch.empty_like(source), 20, BLOCK)


def first_of_scan():
    a = torch.empty(32, device="cuda")
    a[1:] = 1
    scanned[(1,)](a, torch.ones(32, device="cuda"), torch.empty_like(a), BLOCK)


def second_of_scan():
    a = torch.empty(32, device="cuda")
    a[0], a[2:] = 1, 1
    scanned[(1,)](a, torch.ones(32, device="cuda"), torch.empty_like(a), BLOCK)


def read_by_table():
    target = torch.empty(64, device="cuda")
    by_table[(1,)](torch.ones(60, device="cuda"), torch.arange(64, device="cuda"), target, BLOCK)
    target.sum()


def taken(source=None):
    """Return a tensor whose second half is made of what lies beyond another one."""
    source = torch.ones(32, device="cuda") if source is None else source
    target = torch.empty(64, device="cuda")
    copied[(1,)](source, target, 64, BLOCK)
    return target


def kernel_reads_all():
    copied[(1,)](taken(), torch.zeros(64, device="cuda"), 64, BLOCK)


def kernel_reads_the_right_half():
    copied[(1,)](taken(), torch.zeros(64, device="cuda"), 32, BLOCK)


def operator_reads_all():
    taken().sum()


def written_over():
    target = taken()
    filled[(1,)](target, 32, 32, BLOCK)
    target.sum()


def written_over_but_one():
    target = taken()
    filled[(1,)](target, 32, 31, BLOCK)
    target.sum()


def moved_on():
    torch.cat([taken(), torch.ones(64, device="cuda")])


def nobody_reads():
    taken()


def in_a_larger_storage():
    taken(torch.ones(64, device="cuda")[:32]).sum()


def through_a_sum():
    target = torch.empty(64, device="cuda")
    sum_spread[(1,)](torch.ones(32, device="cuda"), target, 64, BLOCK)
    target.sum()


CASES = {
    case.__name__: case
    for case in (
        kernel_reads_all, kernel_reads_the_right_half, operator_reads_all, written_over,
        written_over_but_one, moved_on, nobody_reads, in_a_larger_storage, through_a_sum,
        drop_and_use, dropped_and_swapped, first_of_scan, second_of_scan, read_by_table,
    )
} | {
    "written_rows": lambda: rows_moved(slice(10)),
    "replaced_rows": lambda: rows_moved(slice(12, 16)),
    "unwritten_rows": lambda: rows_moved(slice(11)),
    "written_halves": lambda: half_used(0),
    "unwritten_halves": lambda: half_used(8),
}  # fmt: skip

if __name__ == "__main__":
    for number, (name, case) in enumerate(CASES.items()):
        BLOCK = 64 << number  # a variant of its own, so that its calls are its own, too
        with kvtrace.mark(name):
            case()
