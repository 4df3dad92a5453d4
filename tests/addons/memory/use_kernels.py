"""Kernels that use all, some or none of what they read, by lanes, indices or bits."""

import triton
import triton.language as tl


@triton.jit
def gathered_within(x, values, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    index = tl.load(x + lanes)
    tl.store(out + lanes, tl.load(values + index, mask=lanes < n, other=0.0))


@triton.jit
def scattered_within(x, values, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    index = tl.load(x + lanes)
    tl.store(out + index, tl.load(values + lanes), mask=lanes < n)


@triton.jit
def rows_within(x, values, out, n, BLOCK: tl.constexpr):
    """Rows of 4 elements, whose places wrap around for some indices of the padding."""
    row = tl.arange(0, BLOCK)
    at = tl.load(x + row)[:, None] * 4 + tl.arange(0, 4)[None, :]
    is_inside = (row < n)[:, None]
    place = row[:, None] * 4 + tl.arange(0, 4)[None, :]
    tl.store(out + place, tl.load(values + at, mask=is_inside, other=0.0), mask=is_inside)


@triton.jit
def gathered_by_one_more(x, values, out, n, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    index = tl.load(x + lanes)
    tl.store(out + lanes, tl.load(values + index, mask=lanes < n + 1, other=0.0))


@triton.jit
def gathered_by_block(x, values, out, n, BLOCK: tl.constexpr):
    """The index decides which elements lie within the bounds of the block."""
    first = tl.max(tl.load(x + tl.arange(0, BLOCK)), 0)
    block = tl.make_block_ptr(values, (n,), (1,), (first,), (BLOCK,), (0,))
    tl.store(out + tl.arange(0, BLOCK), tl.load(block, boundary_check=(0,), padding_option="zero"))


@triton.jit
def pairs(x, bits, out, n, TAKEN: tl.constexpr, BLOCK: tl.constexpr):
    """Two elements of 16 bits are read at once, and some bits of them are taken."""
    lanes = tl.arange(0, BLOCK)
    pair = tl.load(x.to(tl.pointer_type(tl.int32)) + lanes, mask=lanes < n, other=0)
    if TAKEN == "low":
        taken = pair & 0xFFFF
    elif TAKEN == "high":
        taken = pair >> 16
    elif TAKEN == "low after a sum":
        taken = (3 * pair + lanes) & 0xFFFF
    elif TAKEN == "low as a float":
        taken = (pair << 16).to(tl.float32, bitcast=True)
    elif TAKEN == "first and last byte":
        taken = (pair | 0x00010001) & -16776961
    elif TAKEN == "by data":
        taken = pair & tl.load(bits)
    else:
        taken = pair.to(tl.float32)
    tl.store(out + lanes, taken, mask=lanes < n)


@triton.jit
def window_of_ring(x, out, n, SLOTS: tl.constexpr, SUMMED: tl.constexpr, BLOCK: tl.constexpr):
    """Sums the last n slots of a ring, backward and around its end, or keeps the first of them."""
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for trip in range(n):
        slot = tl.load(x + (SLOTS - trip) % SLOTS * BLOCK + lanes)
        total += slot if SUMMED else tl.where(trip < 1, slot, 0.0)
    tl.store(out + lanes, total)


@triton.jit
def tiles_past_diagonal(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK,), tl.float32)
    for tile in range(tl.minimum(tl.program_id(0) + 2, n // BLOCK)):
        column = tile * BLOCK + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + row[:, None] * n + column[None, :]), 1)
    tl.store(out + row, total)


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
def sums_of_rows(x, out, n, BLOCK: tl.constexpr):
    rows = tl.arange(0, 8)
    values = tl.load(x + rows[:, None] * BLOCK + tl.arange(0, BLOCK)[None, :])
    tl.store(out + rows, tl.sum(values, 1), mask=rows < n)


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
