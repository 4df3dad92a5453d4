"""Kernels about memory: masks, block pointers, descriptors, atomics; and about random numbers."""

import triton
import triton.language as tl


@triton.jit
def masked_copy(x, out, n, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n), mask=lanes < n)


@triton.jit
def with_other(x, out, n, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n, other=1))


@triton.jit
def hinted_copy(x, out, N: tl.constexpr):
    lanes = tl.max_contiguous(tl.multiple_of(tl.program_id(0) * N + tl.arange(0, N), N), N)
    tl.assume(tl.program_id(0) >= 0)
    first = tl.load(x + lanes, cache_modifier=".cg")
    second = tl.load(x + lanes, eviction_policy="evict_first")
    third = tl.load(x + lanes, volatile=True)
    chosen = tl.where(lanes % 3 == 0, first, tl.where(lanes % 3 == 1, second, third))
    tl.store(out + lanes, chosen, cache_modifier=".cs")
    tl.debug_barrier()
    tl.store(out + lanes, chosen, eviction_policy="evict_last")


@triton.jit
def scalar_copy(x, out):
    tl.store(out + tl.program_id(0), tl.load(x + tl.program_id(0)))


@triton.jit
def indirect(index, x, out, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    place = tl.load(index + lanes)
    tl.store(out + place, tl.load(x + lanes))


@triton.jit
def block_pointers(
    x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr, PADDING: tl.constexpr
):
    """Blocks of a matrix, step by step along its columns, to the transposed place."""
    source = tl.make_block_ptr(
        x, (rows, columns), (columns, 1), (tl.program_id(0) * BM, 0), (BM, BN), (1, 0)
    )
    target = tl.make_block_ptr(
        out, (columns, rows), (rows, 1), (0, tl.program_id(0) * BM), (BN, BM), (1, 0)
    )
    for _ in range(tl.cdiv(columns, BN)):
        block = tl.load(source, boundary_check=(0, 1), padding_option=PADDING)
        tl.store(target, tl.trans(block), boundary_check=(0, 1))
        source = tl.advance(source, (0, BN))
        target = tl.advance(target, (BN, 0))


@triton.jit
def block_pointer_padding(x, out, rows, columns, B: tl.constexpr, PADDING: tl.constexpr):
    source = tl.make_block_ptr(x, (rows, columns), (columns, 1), (0, 0), (B, B), (1, 0))
    block = tl.load(source, boundary_check=(0, 1), padding_option=PADDING)
    tl.store(out + tl.arange(0, B)[:, None] * B + tl.arange(0, B)[None, :], block)


@triton.jit
def descriptor_copy(
    x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr, PADDING: tl.constexpr
):
    source = tl.make_tensor_descriptor(
        x, [rows, columns], [columns, 1], [BM, BN], padding_option=PADDING
    )
    block = source.load([tl.program_id(0) * BM, tl.program_id(1) * BN])
    target = tl.make_tensor_descriptor(out, [rows + 8, columns + 16], [columns + 16, 1], [BM, BN])
    target.store([tl.program_id(0) * BM, tl.program_id(1) * BN], block)


@triton.jit
def descriptor_of_three(x, out, B: tl.constexpr, N: tl.constexpr):
    source = tl.make_tensor_descriptor(x, [3, 5, N], [5 * N, N, 1], [1, B, N])
    target = tl.make_tensor_descriptor(out, [3, 5, N], [5 * N, N, 1], [1, B, N])
    target.store([tl.program_id(0), 2, 0], source.load([tl.program_id(0), 2, 0]))


@triton.jit
def descriptor_reduction(x, out, KIND: tl.constexpr, B: tl.constexpr, N: tl.constexpr):
    block = tl.load(
        x + tl.program_id(0) * B * N + tl.arange(0, B)[:, None] * N + tl.arange(0, N)[None, :]
    )
    target = tl.make_tensor_descriptor(out, [B, N], [N, 1], [B, N])
    if KIND == "add":
        target.atomic_add([0, 0], block)
    elif KIND == "min":
        target.atomic_min([0, 0], block)
    elif KIND == "max":
        target.atomic_max([0, 0], block)
    elif KIND == "and":
        target.atomic_and([0, 0], block)
    elif KIND == "or":
        target.atomic_or([0, 0], block)
    else:
        tl.static_assert(KIND == "xor")
        target.atomic_xor([0, 0], block)


@triton.jit
def descriptor_rows(x, rows, out, column, R: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    """Rows by index, one block to the right of the left edge."""
    source = tl.make_tensor_descriptor(x, [M, 4 * N], [4 * N, 1], [1, N])
    block = source.gather(tl.load(rows + tl.arange(0, R)), column)
    tl.store(out + tl.arange(0, R)[:, None] * N + tl.arange(0, N)[None, :], block)


@triton.jit
def descriptor_rows_back(x, rows, out, column, R: tl.constexpr, M: tl.constexpr, N: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [M, 4 * N], [4 * N, 1], [1, N])
    block = tl.load(x + tl.arange(0, R)[:, None] * N + tl.arange(0, N)[None, :])
    target.scatter(block, tl.load(rows + tl.arange(0, R)), column)


@triton.jit
def atomic(x, memory, old, NAME: tl.constexpr, N: tl.constexpr):
    """Every lane has an address of its own, so that old values are certain."""
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    before = getattr(tl, NAME)(memory + lanes, tl.load(x + lanes), mask=lanes % 3 != 1)
    tl.store(old + lanes, before, mask=lanes % 3 != 1)


@triton.jit
def contended(x, memory, NAME: tl.constexpr, N: tl.constexpr, SLOTS: tl.constexpr):
    """Many lanes and programs share an address; nobody looks at old values."""
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    getattr(tl, NAME)(memory + lanes % SLOTS, tl.load(x + lanes), sem="relaxed", scope="gpu")


@triton.jit
def scalar_atomics(x, memory, NAME: tl.constexpr):
    getattr(tl, NAME)(memory, tl.load(x + tl.program_id(0)))


@triton.jit
def swapped(expected, wanted, memory, old, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    before = tl.atomic_cas(memory + lanes, tl.load(expected + lanes), tl.load(wanted + lanes))
    tl.store(old + lanes, before)


@triton.jit
def locked_sum(x, lock, total):
    """A spin lock around a sum that is not atomic."""
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    tl.store(total, tl.load(total) + tl.load(x + tl.program_id(0)))
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def random_numbers(out, seed, first, NAME: tl.constexpr, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    tl.store(out + lanes, getattr(tl, NAME)(seed, first + lanes))


@triton.jit
def four_random_numbers(out, seed, first, NAME: tl.constexpr, N: tl.constexpr):
    lanes = tl.program_id(0) * N + tl.arange(0, N)
    a, b, c, d = getattr(tl, NAME)(seed, first + lanes)
    tl.store(out + lanes * 4, a)
    tl.store(out + lanes * 4 + 1, b)
    tl.store(out + lanes * 4 + 2, c)
    tl.store(out + lanes * 4 + 3, d)


@triton.jit
def uniform(x, out, N: tl.constexpr):
    lanes = tl.arange(0, N)
    tl.store(out + lanes, tl.uint_to_uniform_float(tl.load(x + lanes)))


@triton.jit
def dimensions(out, SIZE: tl.constexpr):
    """Where each program is, and how many there are."""
    x, y, z = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    linear = x + tl.num_programs(0) * (y + tl.num_programs(1) * z)
    tl.store(out + linear, x + 10 * y + 100 * z + 1000 * tl.num_programs(2))
