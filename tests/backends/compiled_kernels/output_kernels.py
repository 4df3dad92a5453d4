"""Kernels whose outputs are looked at."""

import triton
import triton.language as tl


@triton.jit
def logarithms(x, out, n, BLOCK: tl.constexpr):
    """The logarithm of 0 is an infinity, that of less is a NaN."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.log(tl.load(x + lanes, mask=lanes < n)), mask=lanes < n)


@triton.jit
def doubled(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)


@triton.jit
def inverted(x, n, BLOCK: tl.constexpr):
    """In place: 0 / 0 where it is 0."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n)
    tl.store(x + lanes, values / values, mask=lanes < n)


@triton.jit
def root_of_rows(x, out, BLOCK: tl.constexpr):
    """Through descriptors: the root of less than 0 is a NaN."""
    row = tl.program_id(0) * BLOCK
    out.store([row, 0], tl.sqrt(x.load([row, 0])))


@triton.jit
def summed(x, out, n, BLOCK: tl.constexpr):
    """All programs add to one float, in the order in which they come."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + lanes, mask=lanes < n, other=0.0), axis=0))


@triton.jit
def counted(x, out, n, BLOCK: tl.constexpr):
    """All programs add to one integer, whose sum is the same in any order."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + lanes, mask=lanes < n, other=0), axis=0))


def launched(kernel, *tensors):
    n = tensors[0].numel()
    kernel[(triton.cdiv(n, 256),)](*tensors, n, BLOCK=256)
