"""Candidates whose kernels read memory that is unwritten, or written at the same time."""

import numpy as np
import torch
import triton
import triton.language as tl


@triton.jit
def add_rows(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.atomic_add(out + row, tl.sum(tl.load(x + row * n + i, mask=i < n, other=0.0), 0))


@triton.jit
def add_without_atomics(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    partial = tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0)
    tl.store(out, tl.load(out) + partial)


@triton.jit
def count(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(x + i, mask=i < n, other=0)
    tl.store(out + index, tl.load(out + index, mask=i < n) + 1.0, mask=i < n)


@triton.jit
def last_one_adds(x, parts, counter, out, n, programs, BLOCK: tl.constexpr, MANY: tl.constexpr):
    me = tl.program_id(0)
    i = me * BLOCK + tl.arange(0, BLOCK)
    tl.store(parts + me, tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0))
    ticket = tl.atomic_add(counter, 1, sem="relaxed")
    if ticket == programs - 1:
        all_parts = tl.arange(0, MANY)
        tl.store(out, tl.sum(tl.load(parts + all_parts, mask=all_parts < programs, other=0.0), 0))


@triton.jit
def through_memory(x, scratch, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.store(scratch + row * n + i, tl.load(x + row * n + i, mask=i < n), mask=i < n)
    tl.store(out + row * n + i, 2 * tl.load(scratch + row * n + n - 1 - i, mask=i < n), mask=i < n)


@triton.jit
def no_other(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    tl.store(out + row, tl.sum(tl.load(x + row * n + i, mask=i < n), 0))


@triton.jit
def read_beyond(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    v = tl.load(x + row * n + i)
    tl.store(out + row, tl.sum(tl.where(i < n, v, 0.0), 0))


@triton.jit
def waits(x, out, flags, n, BLOCK: tl.constexpr):
    me = tl.program_id(0)
    i = me * BLOCK + tl.arange(0, BLOCK)
    before = tl.load(out + me - 1, mask=me > 0, other=0.0)
    tl.store(out + me, before + tl.sum(tl.load(x + i, mask=i < n, other=0.0), 0))


def _row_sums(x, out):
    x = x.contiguous()
    add_rows[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


def _by_rows(kernel, x, out):
    x = x.contiguous()
    kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
    return out


def adds_to_resized(x):
    """Return row_sum(x); wrong: added to memory of `resize_`, which is not zeroed."""
    return _row_sums(x, torch.empty(0, dtype=x.dtype, device=x.device).resize_(x.shape[0]))


def adds_to_numpy_memory(x):
    """Return row_sum(x); wrong: added to memory of numpy.empty, which is not zeroed."""
    return _row_sums(x, torch.from_numpy(np.empty(x.shape[0], np.float32)))


def adds_to_storage(x):
    """Return row_sum(x); wrong: added to a new storage, which is not zeroed."""
    storage = torch.UntypedStorage(4 * x.shape[0], device=x.device)
    out = torch.empty(0, dtype=x.dtype, device=x.device).set_(storage, 0, (x.shape[0],))
    return _row_sums(x, out)


def adds_to_view_of_bytes(x):
    """Return row_sum(x); wrong: added to an empty tensor of bytes, viewed as floats."""
    raw = torch.empty(4 * x.shape[0], dtype=torch.uint8, device=x.device)
    return _row_sums(x, raw.view(torch.float32))


def unprotected_sum(x):
    """Return total(x); wrong: programs add to one number without atomics."""
    x = x.contiguous()
    out = torch.zeros((), dtype=x.dtype, device=x.device)
    add_without_atomics[(triton.cdiv(x.numel(), 256),)](x, out, x.numel(), BLOCK=256)
    return out


def unprotected_counts(x, bins):
    """Return histogram(x, bins); wrong: counted without atomics, so that counts are lost."""
    out = torch.zeros(bins.shape[0], device=x.device)
    x = x.contiguous()
    count[(x.numel(),)](x, out, x.numel(), BLOCK=1)
    return out


def relaxed_counter(x):
    """Return total(x); wrong: a relaxed counter does not make the other programs' parts visible."""
    x = x.contiguous()
    n = x.numel()
    programs = triton.cdiv(n, 256)
    parts = torch.empty(programs, dtype=x.dtype, device=x.device)
    counter = torch.zeros((), dtype=torch.int32, device=x.device)
    out = torch.empty((), dtype=x.dtype, device=x.device)
    last_one_adds[(programs,)](
        x, parts, counter, out, n, programs, BLOCK=256, MANY=triton.next_power_of_2(programs)
    )
    return out


def no_barrier(x):
    """Return reverse(x); wrong: no barrier between stores and loads of different threads."""
    x = x.contiguous()
    out, scratch = torch.empty_like(x), torch.empty_like(x)
    n = x.shape[1]
    through_memory[(x.shape[0],)](x, scratch, out, n, BLOCK=triton.next_power_of_2(n))
    return out


def undefined_lanes(x):
    """Return row_sum(x); wrong: adds lanes that a masked load leaves undefined."""
    return _by_rows(no_other, x, torch.empty(x.shape[0], dtype=x.dtype, device=x.device))


def reads_beyond(x):
    """Return row_sum(x); wrong: the last row's loads are beyond the tensor."""
    return _by_rows(read_beyond, x, torch.empty(x.shape[0], dtype=x.dtype, device=x.device))


def order_of_programs(x):
    """Return total(x); wrong: each program reads the sum that the previous program stores."""
    x = x.contiguous()
    n = x.numel()
    programs = triton.cdiv(n, 256)
    sums = torch.zeros(programs, dtype=x.dtype, device=x.device)
    waits[(programs,)](x, sums, sums, n, BLOCK=256)
    return sums[-1]
