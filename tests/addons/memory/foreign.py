"""Program of kernels that copy more elements than a tensor has, and of what becomes of them.

    python foreign.py all

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


CASES = (
    kernel_reads_all,
    kernel_reads_the_right_half,
    operator_reads_all,
    written_over,
    written_over_but_one,
    moved_on,
    nobody_reads,
    in_a_larger_storage,
    through_a_sum,
)

if __name__ == "__main__":
    for number, case in enumerate(CASES):
        BLOCK = 64 << number  # a variant of its own, so that its calls are its own, too
        with kvtrace.mark(case.__name__):
            case()
