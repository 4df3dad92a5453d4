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
def padded_sum(x, out, n, BLOCK: tl.constexpr):
    """Sums whole blocks: lanes of the padding matter in the others."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + lanes)
    tl.store(out + lanes, value + tl.sum(value), mask=lanes < n)


@triton.jit
def padded_choice(x, out, n, BLOCK: tl.constexpr):
    """What lies in the padding decides what is stored."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, 1.0, mask=(lanes < n) & (tl.load(x + lanes) > 0))


@triton.jit
def chosen_sum(x, out, n, BLOCK: tl.constexpr):
    """What lies in the padding is replaced before it is summed."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes) * 2
    tl.store(out + tl.program_id(0), tl.sum(tl.where(lanes < n, values, 0.0)))


@triton.jit
def masked_integers(x, out, n, BLOCK: tl.constexpr):
    """Integers of the padding are made 0 by the bits of a mask before they are summed."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes) & -(lanes < n).to(tl.int32)
    tl.store(out + tl.program_id(0), tl.sum(values))


@triton.jit
def multiplied_integers(x, out, n, BLOCK: tl.constexpr):
    """Integers of the padding are multiplied by 0."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = (lanes < n).to(tl.int64) * tl.load(x + lanes)
    tl.store(out + tl.program_id(0), tl.sum(values))


@triton.jit
def chosen_bits(x, out, n, BLOCK: tl.constexpr):
    """Bits of the integers are kept before the padding."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes) & tl.where(lanes < n, 15, 0)
    tl.store(out + tl.program_id(0), tl.sum(values))


@triton.jit
def masked_by_one_more(x, out, n, BLOCK: tl.constexpr):
    """The mask of the bits keeps the first lane of the padding."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes) & -(lanes <= n).to(tl.int32)
    tl.store(out + tl.program_id(0), tl.sum(values))


@triton.jit
def multiplied_floats(x, out, n, BLOCK: tl.constexpr):
    """Floats times 0 are no 0 where they are NaN or infinite."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes).to(tl.float32, bitcast=True) * (lanes < n).to(tl.float32)
    tl.store(out + tl.program_id(0), tl.sum(values))


@triton.jit
def chosen_otherwise(x, out, n, BLOCK: tl.constexpr):
    """What lies before the padding is replaced."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.where(lanes < n, 0.0, tl.load(x + lanes)))


@triton.jit
def chosen_by_data(x, out, n, BLOCK: tl.constexpr):
    """What is read decides where it is replaced."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes)
    tl.store(out + lanes, tl.where(values > n, values, 0.0))


@triton.jit
def chosen_by_masked_data(x, out, n, BLOCK: tl.constexpr):
    """What is read decides a choice before the padding only."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.where((lanes < n) & (tl.load(x + lanes) > 0), 1.0, 0.0))


@triton.jit
def chosen_in_trips(x, out, lens, BLOCK: tl.constexpr):
    """Loaded numbers decide how many whole blocks are read, and what of the last one is used."""
    row = tl.program_id(0)
    n = tl.load(lens + row)
    total = tl.zeros([BLOCK], tl.float32)
    for block in range(tl.cdiv(n, BLOCK)):
        lanes = block * BLOCK + tl.arange(0, BLOCK)
        total += tl.where(lanes < n, tl.load(x + row * 256 + lanes), 0.0)
    tl.store(out + row * BLOCK + tl.arange(0, BLOCK), total)


@triton.jit
def chosen_in_pages(x, out, lens, table, BLOCK: tl.constexpr, COLUMNS: tl.constexpr):
    """As `chosen_in_trips`, of sums of rows in pages that a table places."""
    row = tl.program_id(0)
    n = tl.load(lens + row)
    columns = tl.arange(0, COLUMNS)
    total = tl.zeros([BLOCK], tl.float32)
    for block in range(tl.cdiv(n, BLOCK)):
        lanes = block * BLOCK + tl.arange(0, BLOCK)
        places = tl.load(table + row * 2 + block) * BLOCK + tl.arange(0, BLOCK)
        values = tl.load(x + places[:, None] * COLUMNS + columns[None, :])
        total += tl.where(lanes < n, tl.sum(values, 1), 0.0)
    tl.store(out + row * BLOCK + tl.arange(0, BLOCK), total)


@triton.jit
def chosen_if(x, out, flag, n, BLOCK: tl.constexpr):
    """A loaded number decides whether anything is read, an argument what of it is used."""
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    if tl.load(flag) > 0:
        total += tl.where(lanes < n, tl.load(x + lanes), 0.0)
    tl.store(out + lanes, total)


@triton.jit
def summed_if(x, out, flag, n, BLOCK: tl.constexpr):
    """As `chosen_if`, but all that is read is used."""
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], tl.float32)
    if tl.load(flag) > 0:
        total += tl.load(x + lanes)
    tl.store(out + lanes, total)


@triton.jit
def chosen_by_length(x, out, lens, BLOCK: tl.constexpr):
    """Loaded numbers decide what is used, and not what is read."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + row * BLOCK + lanes)
    tl.store(out + row * BLOCK + lanes, tl.where(lanes < tl.load(lens + row), values + values, 0.0))


@triton.jit
def chosen_by_wrapped(x, out, n, BLOCK: tl.constexpr):
    """The integers that choose wrap around, and are small again in every fourth lane."""
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes)
    tl.store(out + lanes, tl.where(lanes * (1 << 30) < n, values + values, 0.0))


@triton.jit
def sorted_choice(x, out, n, BLOCK: tl.constexpr):
    """What a choice keeps goes through more ops than are followed."""
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.sort(tl.where(lanes < n, tl.load(x + lanes), 0.0)))


@triton.jit
def merged_with_wrapped(x, out, n, BLOCK: tl.constexpr):
    """Integers that wrap around, but decide nothing, are beside what is loaded."""
    lanes = tl.arange(0, BLOCK)
    loaded = tl.load(x + lanes, mask=lanes < n, other=0).to(tl.int32, bitcast=True)
    tl.store(out + lanes, (loaded & 15) | (lanes * 1073741824), mask=lanes < n)


@triton.jit
def stored_by_wrapped(x, out, n, BLOCK: tl.constexpr):
    """The store's mask is of integers that wrap around."""
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes) * 2.0, mask=lanes * 1073741824 < n)


@triton.jit
def summed_by_wrapped(x, out, n, BLOCK: tl.constexpr):
    """As `chosen_by_wrapped`, and summed."""
    lanes = tl.arange(0, BLOCK)
    tl.store(out, tl.sum(tl.where(lanes * (1 << 30) < n, tl.load(x + lanes), 0.0)))


@triton.jit
def chosen_while(x, out, flags, n, BLOCK: tl.constexpr):
    """A loop that ends at the first flag that is not set."""
    lanes = tl.arange(0, BLOCK)
    block = 0
    total = tl.zeros([BLOCK], tl.float32)
    while tl.load(flags + block) > 0:
        total += tl.where(lanes < n, tl.load(x + block * BLOCK + lanes), 0.0)
        block += 1
    tl.store(out + lanes, total)


@triton.jit
def own_after_choice(x, out, n, BLOCK: tl.constexpr):
    """Each program reads what it stored itself."""
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes)
    tl.store(out + lanes, tl.where(lanes < n, values + values, 0.0))
    tl.store(x + lanes, tl.full([BLOCK], 1.0, tl.float32))
    tl.debug_barrier()
    tl.store(out + BLOCK + lanes, tl.load(x + lanes))


@triton.jit
def own_after_trips(x, out, n, BLOCK: tl.constexpr):
    """The first trip reads what nobody stored; what is copied then is computed of it."""
    lanes = tl.arange(0, BLOCK)
    for _ in range(n):
        values = tl.load(x + lanes)
        tl.debug_barrier()
        tl.store(x + lanes, values + 1)
        tl.debug_barrier()
    tl.store(out + lanes, tl.load(x + lanes))


@triton.jit
def own_in_part(x, out, n, BLOCK: tl.constexpr):
    """The copy has its own elements, and others that nobody stored."""
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes)
    tl.store(out + lanes, tl.where(lanes < 0, values + values, 0.0))
    tl.store(x + lanes, tl.full([BLOCK], 1.0, tl.float32), mask=lanes < n)
    tl.debug_barrier()
    tl.store(out + BLOCK + lanes, tl.load(x + lanes))


@triton.jit
def own_copy(x, out, n, BLOCK: tl.constexpr):
    """It copies what it has copied before."""
    lanes = tl.arange(0, BLOCK)
    tl.store(x + lanes, tl.load(x + lanes))
    tl.debug_barrier()
    tl.store(out + lanes, tl.load(x + lanes))


@triton.jit
def copy_of_copy(x, out, n, BLOCK: tl.constexpr):
    """As `own_copy`, of another tensor."""
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes))
    tl.debug_barrier()
    tl.store(out + BLOCK + lanes, tl.load(out + lanes))


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
def sums_of_rows(x, out, n, BLOCK: tl.constexpr):
    rows = tl.arange(0, 8)
    values = tl.load(x + rows[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :])
    tl.store(out + rows, tl.sum(values, 1), mask=rows < n)


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


@triton.jit
def most_printed(x, out, n, BLOCK: tl.constexpr):
    most = tl.max(tl.load(x + tl.arange(0, BLOCK)), 0)
    tl.device_print("most", most)
    tl.store(out, most, mask=n < 0)


@triton.jit
def list_of_nodes(following, values, out, n, END: tl.constexpr):
    """A list that ends at a node, or after n nodes."""
    node, total = 0, 0.0
    for _ in range(n):
        is_node = node != END
        total += tl.load(values + node, mask=is_node, other=0.0)
        node = tl.load(following + node, mask=is_node, other=END)
    tl.store(out, total)


@triton.jit
def packed(x, out, other, n, KIND: tl.constexpr, STEP: tl.constexpr, BLOCK: tl.constexpr):
    """Pack several numbers into each element of `out`, in the kinds of the test."""
    lanes = tl.arange(0, BLOCK)
    place = out + tl.program_id(0) * STEP + lanes
    if KIND == "words":
        tl.store(place, (tl.load(place) & ~0xFFFF) | (tl.load(x + lanes) & 0xFFFF))
        tl.store(place, (tl.load(place) & 0xFFFF) | (tl.load(x + BLOCK + lanes) << 16))
    elif KIND == "shifted in":
        for i in tl.static_range(4):
            tl.store(place, (tl.load(place) << 2) | (tl.load(x + i * BLOCK + lanes) & 3))
    elif KIND == "joined":
        tl.store(place, tl.load(place) | tl.load(x + lanes))
    elif KIND == "in a loop":
        for i in range(n):
            low = (tl.load(x + i * BLOCK + lanes) & 15).to(tl.int32) << 4 * i
            tl.store(place, (tl.load(place) & ~(15 << 4 * i)) | low)
    else:
        tl.store(place, (tl.load(place) & 0xF0) | (tl.load(x + lanes) & 15))
        if KIND != "low":
            old = tl.load(place)
            if KIND == "read between":
                tl.store(other + tl.program_id(0) * STEP + lanes, old)
            tl.store(place, (old & 0x0F) | (tl.load(x + BLOCK + lanes) << 4))
