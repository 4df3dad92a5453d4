"""Kernels about memory: missing masks, shared storages, order between programs."""

import triton
import triton.language as tl


@triton.jit
def unmasked_double(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes) * 2, mask=lanes < n)


@triton.jit
def shifted_copy(x, out, shift, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes + shift, mask=lanes < n), mask=lanes < n)


@triton.jit
def copy_tile(x, out, rows, columns, x_stride, out_stride, BM: tl.constexpr, BN: tl.constexpr):
    """Row mask forgotten."""
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    c = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (c[None, :] < columns) & (r[:, None] < rows + BM)
    values = tl.load(x + r[:, None] * x_stride + c[None, :], mask=mask)
    tl.store(out + r[:, None] * out_stride + c[None, :], values, mask=mask)


@triton.jit
def gather_rows(index, x, out, columns, BLOCK: tl.constexpr):
    pid = tl.program_id(0)
    row = tl.load(index + pid)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    values = tl.load(x + row * columns + lanes, mask=mask, other=0.0)
    tl.store(out + pid * columns + lanes, values, mask=mask)


@triton.jit
def in_place_scale(x, n, factor, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n)
    tl.store(x + lanes, values * factor, mask=lanes < n)


@triton.jit
def running_total(x, total, n, BLOCK: tl.constexpr):
    """Each program adds to what the one before it left: right only in program order."""
    pid = tl.program_id(0)
    lanes = pid * BLOCK + tl.arange(0, BLOCK)
    before = tl.load(total + pid)
    tl.store(total + pid + 1, before + tl.sum(tl.load(x + lanes, mask=lanes < n, other=0)))


@triton.jit
def histogram_by_atomics(x, counts, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    tl.atomic_add(counts + tl.load(x + lanes, mask=mask, other=0), 1, mask=mask)


@triton.jit
def atomic_of_each_kind(
    x, add, largest, smallest, any_bit, all_bits, parity, n, BLOCK: tl.constexpr
):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    values = tl.load(x + lanes, mask=mask, other=0)
    slot = lanes % 4
    tl.atomic_add(add + slot, values.to(tl.float32), mask=mask)
    tl.atomic_max(largest + slot, values, mask=mask)
    tl.atomic_min(smallest + slot, values, mask=mask)
    tl.atomic_or(any_bit + slot, values, mask=mask)
    tl.atomic_and(all_bits + slot, values, mask=mask)
    tl.atomic_xor(parity + slot, values, mask=mask)


@triton.jit
def append(x, counter, out, n, BLOCK: tl.constexpr):
    """Positive values take the next free places, in whatever order: old values of an atomic."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    values = tl.load(x + lanes, mask=mask, other=-1)
    wanted = mask & (values > 0)
    counters = counter + tl.zeros([BLOCK], dtype=tl.int32)
    place = tl.atomic_add(counters, 1, mask=wanted)
    tl.store(out + place, values, mask=wanted)


@triton.jit
def last_block_sum(x, partial, counter, out, n, BLOCK: tl.constexpr, PROGRAMS: tl.constexpr):
    """The last program to finish adds up what all have left."""
    pid = tl.program_id(0)
    lanes = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + pid, tl.sum(tl.load(x + lanes, mask=lanes < n, other=0.0)))
    if tl.atomic_add(counter, 1) == PROGRAMS - 1:
        tl.store(out, tl.sum(tl.load(partial + tl.arange(0, PROGRAMS))))


@triton.jit
def never_released(lock):
    while tl.atomic_cas(lock, 0, 1) != 0:
        pass


@triton.jit
def far_index(x, out, stride, BLOCK: tl.constexpr):
    """An offset that is computed in 32 bits and wraps."""
    lanes = tl.arange(0, BLOCK)
    offset = (tl.program_id(0) + 1) * stride + lanes
    tl.store(out + tl.program_id(0) * BLOCK + lanes, offset)
    tl.load(x + offset.to(tl.int64) % 16)


@triton.jit
def unknown_branch(flag, x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    values = tl.load(x + lanes, mask=mask)
    if tl.load(flag) > 0:
        values = values + 1
        tl.store(out + lanes, values, mask=mask)
    tl.store(out + n + lanes, values, mask=mask)


@triton.jit
def masked_by_data(keep, x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    wanted = (lanes < n) & (tl.load(keep + lanes, mask=lanes < n, other=0) != 0)
    tl.store(out + lanes, tl.load(x + lanes, mask=wanted, other=0.0), mask=lanes < n)


@triton.jit
def masked_by_data_alone(keep, x, out, n, BLOCK: tl.constexpr):
    """Nothing but the data keeps the last block inside."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    wanted = tl.load(keep + lanes) != 0
    tl.store(out + lanes, tl.load(x + lanes, mask=wanted, other=0.0), mask=lanes < n)


@triton.jit
def negated_mask(keep, x, out, n, BLOCK: tl.constexpr):
    """What is known of a mask must not be taken for what is known of its opposite."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    wanted = (lanes < n) & (tl.load(keep + lanes, mask=lanes < n, other=0) != 0)
    tl.store(out + lanes, tl.load(x + lanes, mask=not wanted, other=0.0), mask=lanes < n)


@triton.jit
def atomic_sum(x, out, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + lanes % 8, tl.load(x + lanes))


@triton.jit
def grid_barrier(x, arrived, out, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    """All programs leave a value, wait for all others, and read their neighbour's."""
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    tl.store(x + pid * BLOCK + lanes, lanes + pid * 100)
    tl.debug_barrier()
    tl.atomic_add(arrived, 1)
    while tl.atomic_add(arrived, 0) < PROGRAMS:
        pass
    neighbor = (pid + 1) % PROGRAMS
    tl.store(out + pid * BLOCK + lanes, tl.load(x + neighbor * BLOCK + lanes))


@triton.jit
def waits_for_a_while(flags, out, tries, HOW: tl.constexpr, SET: tl.constexpr):
    """All programs but the last wait for the next one's flag, so many tries."""
    pid = tl.program_id(0)
    last = tl.num_programs(0) - 1
    seen = 0
    if pid < last:
        if HOW == "while":
            while (tl.atomic_cas(flags + pid + 1, 0, 0) == 0) & (seen < tries):
                seen += 1
        elif HOW == "volatile":
            while (tl.load(flags + pid + 1, volatile=True) == 0) & (seen < tries):
                seen += 1
        else:
            seen = tries
            for _ in range(tries):
                if tl.atomic_add(flags + pid + 1, 0) != 0:
                    seen = 0
    if (pid < last) | SET:
        tl.atomic_xchg(flags + pid, 1)
    tl.store(out + pid, seen < tries)


@triton.jit
def fails_after_waiting(x, flag, n):
    """Program 0 waits for program 1, which fails."""
    if tl.program_id(0) == 0:
        while tl.atomic_add(flag, 0) == 0:
            pass
    else:
        tl.device_assert(tl.load(x) > n, "too small")
        tl.atomic_xchg(flag, 1)


@triton.jit
def masked_copies(a, b, c, d, n_a, n_b, n_c, n_d, shift, step, BLOCK: tl.constexpr):
    """Copies two tensors into two others; all may overlap."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    first = tl.load(a + at, mask=at < n_a, other=0)
    second = tl.load(b + at + shift, mask=(at < n_b) & (at % 3 < 2), other=0)
    tl.store(c + at * step, first, mask=at < n_c)
    tl.store(d + at + shift, second, mask=at >= n_d)


@triton.jit
def copy_or_seven(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n, other=7))


@triton.jit
def counted_before(counts, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.atomic_add(counts + lanes, 1, mask=lanes < n))
