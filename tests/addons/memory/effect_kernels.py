"""Kernels that store less than all of their output, or read what they have not stored."""

import triton
import triton.language as tl


@triton.jit
def copied_rows(x, out, rows, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    if row < rows:
        lanes = row * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + lanes, tl.load(x + lanes))


@triton.jit
def copied(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n), mask=lanes < n)


@triton.jit
def left_early(x, out, last, BLOCK: tl.constexpr):
    program = tl.program_id(0)
    if program == last:
        return
    lanes = program * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes))


@triton.jit
def accumulated(x, total, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(total + lanes, tl.load(total + lanes) + tl.load(x + lanes))


@triton.jit
def scaled_in_place(x, n, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    """A row for each program, in blocks; every block is read and then stored."""
    row = tl.program_id(0) * n
    for block in range(COUNT):
        lanes = block * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(x + row + lanes, mask=lanes < n)
        tl.store(x + row + lanes, 2 * value, mask=lanes < n)


@triton.jit
def columns(x, out, stride, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + rows * stride, tl.load(x + rows))


@triton.jit
def pairs(x, out, BLOCK: tl.constexpr):
    """The even elements and the odd ones, by two stores."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + lanes)
    tl.store(out + 2 * lanes, value)
    tl.store(out + 2 * lanes + 1, -value)


@triton.jit
def tile(x, out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    row = tl.program_id(0) * BM + tl.arange(0, BM)[:, None]
    column = tl.program_id(1) * BN + tl.arange(0, BN)[None, :]
    is_inside = (row < rows) & (column < columns)
    tl.store(
        out + row * columns + column, tl.load(x + row * columns + column, is_inside), is_inside
    )


@triton.jit
def triangle(x, out, n, B: tl.constexpr):
    row, column = tl.arange(0, B)[:, None], tl.arange(0, B)[None, :]
    is_below = (column <= row) & (row < n)
    tl.store(out + row * n + column, tl.load(x + row * n + column, is_below), is_below)


@triton.jit
def scattered(index, x, out, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + tl.load(index + lanes), tl.load(x + lanes))


@triton.jit
def masked_by_count(count, x, out, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes), mask=lanes < tl.load(count))


@triton.jit
def stored_if(flag, x, out, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if tl.load(flag + tl.program_id(0)) > 0:
        tl.store(out + lanes, tl.load(x + lanes))


@triton.jit
def added(x, total, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(total + lanes % 32, tl.load(x + lanes))


@triton.jit
def past_the_extents(out, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    target = tl.make_tensor_descriptor(out, [rows, columns], [columns, 1], [BM, BN])
    target.store([tl.program_id(0) * BM, tl.program_id(1) * BN], tl.full((BM, BN), 1.0, tl.float32))


@triton.jit
def stored_block_by_block(out, n, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    pointer = out + tl.program_id(0) * n + tl.arange(0, BLOCK)
    for _ in range(COUNT):
        tl.store(pointer, 1.0)
        pointer += BLOCK


@triton.jit
def through_scratch(x, scratch, out, BLOCK: tl.constexpr):
    """What a program stored is read by it again, with the elements before it."""
    base = tl.program_id(0) * BLOCK
    lanes = tl.arange(0, BLOCK)
    tl.store(scratch + base + lanes, tl.load(x + base + lanes))
    tl.debug_barrier()
    tl.store(out + base + lanes, tl.load(scratch + base + lanes - 1, mask=base + lanes > 0))


@triton.jit
def shifted_in_loop(x, BLOCK: tl.constexpr, COUNT: tl.constexpr):
    """Each trip reads what the trip before it stored."""
    base = tl.program_id(0) * BLOCK * (COUNT + 1)
    lanes = tl.arange(0, BLOCK)
    for block in range(COUNT):
        value = tl.load(x + base + block * BLOCK + lanes)
        tl.store(x + base + (block + 1) * BLOCK + lanes, value)
        tl.debug_barrier()


@triton.jit
def appended(flags, counter, out, BLOCK: tl.constexpr):
    """Stores to slots: a program's slot depends on the order, all slots together do not."""
    slot = tl.atomic_add(counter, 1)
    tl.store(out + slot, tl.load(flags + tl.program_id(0)))


@triton.jit
def by_assembly(x, out, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    value = tl.inline_asm_elementwise(
        "ld.global.b32 $0, [$1];", "=r,l", [(x + lanes).to(tl.int64)], tl.int32, False, 1
    )
    tl.store(out + lanes, value)


@triton.jit
def divided(x, out, n, INNER: tl.constexpr, OUTER: tl.constexpr, BLOCK: tl.constexpr):
    """A transposition of two axes, with an element's number divided as by Inductor."""
    element = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inner, middle, outer = element % INNER, element // INNER % OUTER, element // (INNER * OUTER)
    place = inner + INNER * (outer + (n // (INNER * OUTER)) * middle)
    tl.store(out + place, tl.load(x + element, mask=element < n), mask=element < n)


@triton.jit
def divided_in_loop(x, out, n, INNER: tl.constexpr, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    """Rows of padding between rows, over the trips of a loop."""
    for block in range(COUNT):
        element = block * BLOCK + tl.arange(0, BLOCK)
        place = tl.program_id(0) * 8192 + element % INNER + (INNER + 3) * (element // INNER)
        tl.store(out + place, tl.load(x + element, mask=element < n), mask=element < n)


@triton.jit
def divided_in_place(x, n, INNER: tl.constexpr, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    """Each trip reads the row before the one that it stores, which the trip before stored."""
    for block in range(COUNT):
        element = block * BLOCK + tl.arange(0, BLOCK)
        place = element % INNER + (INNER + 3) * (element // INNER)
        value = tl.load(x + place, mask=element < n)
        tl.store(x + place + INNER + 3, value, mask=element < n)
        tl.debug_barrier()


@triton.jit
def cross_entropy(targets, logits, loss, n, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    """A row is left alone where its target says so; its gradient is stored in place."""
    row = tl.program_id(0)
    target = tl.load(targets + row)
    if target == -100:
        return
    total = 0.0
    for block in range(COUNT):
        lanes = block * BLOCK + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(logits + row * n + lanes, mask=lanes < n, other=0.0))
    for block in range(COUNT):
        lanes = block * BLOCK + tl.arange(0, BLOCK)
        value = tl.load(logits + row * n + lanes, mask=lanes < n, other=0.0)
        tl.store(logits + row * n + lanes, value / total, mask=lanes < n)
    tl.store(loss + row, total)


@triton.jit
def padded(x, out, n, BLOCK: tl.constexpr):
    """Loads whole blocks, and masks only the store."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes) * 2 + 1, mask=lanes < n)


@triton.jit
def chosen_by_data(x, out, n, BLOCK: tl.constexpr):
    """What is read decides where it is replaced."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes)
    tl.store(out + lanes, tl.where(values > n, values, 0.0))


@triton.jit
def stored_by_table(table, BLOCK: tl.constexpr):
    """Stores where the addresses in a table point."""
    place = tl.load(table + tl.program_id(0)).to(tl.pointer_type(tl.float32))
    tl.store(place + tl.arange(0, BLOCK), 1.0)


@triton.jit
def exchanged(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_xchg(out + lanes, tl.load(x + lanes, mask=lanes < n), mask=lanes < n)


@triton.jit
def exchanged_and_kept(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n)
    tl.store(x + lanes, tl.atomic_xchg(out + lanes, values, mask=lanes < n), mask=lanes < n)


@triton.jit
def exchanged_and_read(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_xchg(out + lanes, tl.load(x + lanes, mask=lanes < n), mask=lanes < n)
    tl.store(x + lanes, tl.load(out + lanes, mask=lanes < n), mask=lanes < n)


@triton.jit
def flipped(x, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.flip(tl.load(x + lanes), 0), mask=lanes >= n)


@triton.jit
def running_sums(x, out, n, BLOCK: tl.constexpr):
    total = tl.zeros((BLOCK,), tl.float32)
    for row in range(4):
        lanes = tl.arange(0, BLOCK)
        total += tl.cumsum(tl.load(x + row * BLOCK + lanes), 0)
    tl.store(out + tl.arange(0, BLOCK), total, mask=tl.arange(0, BLOCK) < n)
