"""Kernels whose programs meet in memory, racing or not."""

import triton
import triton.language as tl


@triton.jit
def split_k(
    a, b, c, rows, columns, depth, a_stride, b_stride, c_stride,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPLIT: tl.constexpr, HOW: tl.constexpr,
):  # fmt: skip
    """A product whose depth is split between programs: HOW says how they join their parts."""
    pid = tl.program_id(0)
    part = tl.program_id(1)
    across = tl.cdiv(columns, BN)
    r = pid // across * BM + tl.arange(0, BM)
    q = pid % across * BN + tl.arange(0, BN)
    k = part * BK + tl.arange(0, BK)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(tl.cdiv(depth, BK * SPLIT)):
        d = k + step * BK * SPLIT
        left_mask = (r[:, None] < rows) & (d[None, :] < depth)
        right_mask = (d[:, None] < depth) & (q[None, :] < columns)
        left = tl.load(a + r[:, None] * a_stride + d[None, :], mask=left_mask, other=0.0)
        right = tl.load(b + d[:, None] * b_stride + q[None, :], mask=right_mask, other=0.0)
        total = tl.dot(left, right, total)
    mask = (r[:, None] < rows) & (q[None, :] < columns)
    place = c + r[:, None] * c_stride + q[None, :]
    if HOW == "atomic":
        tl.atomic_add(place, total, mask=mask)
    elif HOW == "store":
        tl.store(place, total, mask=mask)
    else:
        tl.store(place, tl.load(place, mask=mask, other=0.0) + total, mask=mask)


@triton.jit
def grouped_product(
    a, b, c, rows, columns, depth, a_stride, b_stride, c_stride,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
):  # fmt: skip
    """A product with programs in groups of rows, for the cache's sake."""
    pid = tl.program_id(0)
    down = tl.cdiv(rows, BM)
    across = tl.cdiv(columns, BN)
    in_group = GROUP * across
    group = pid // in_group
    first = group * GROUP
    size = min(down - first, GROUP)
    row = first + (pid % in_group) % size
    column = (pid % in_group) // size
    r = (row * BM + tl.arange(0, BM)) % rows
    q = (column * BN + tl.arange(0, BN)) % columns
    k = tl.arange(0, BK)
    left = a + r[:, None] * a_stride + k[None, :]
    right = b + k[:, None] * b_stride + q[None, :]
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(tl.cdiv(depth, BK)):
        x = tl.load(left, mask=k[None, :] < depth - step * BK, other=0.0)
        y = tl.load(right, mask=k[:, None] < depth - step * BK, other=0.0)
        total = tl.dot(x, y, total)
        left += BK
        right += BK * b_stride
    r = row * BM + tl.arange(0, BM)
    q = column * BN + tl.arange(0, BN)
    mask = (r[:, None] < rows) & (q[None, :] < columns)
    tl.store(c + r[:, None] * c_stride + q[None, :], total, mask=mask)


@triton.jit
def copy_tiles(x, out, n, STEP: tl.constexpr, BLOCK: tl.constexpr):
    """Tiles begin STEP elements apart: they overlap where that is less than BLOCK."""
    lanes = tl.program_id(0) * STEP + tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n) + tl.program_id(0)
    tl.store(out + lanes, values, mask=lanes < n)


@triton.jit
def shifted(x, out, shift, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes + shift, mask=lanes + shift < n, other=0.0)
    tl.store(out + lanes, values, mask=lanes < n)


@triton.jit
def copy_rows(x, out, columns, x_stride, out_stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    tl.store(
        out + row * out_stride + lanes, tl.load(x + row * x_stride + lanes, mask=mask), mask=mask
    )


@triton.jit
def copy_rows_persistently(x, out, rows, columns, stride, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    for row in tl.range(tl.program_id(0), rows, tl.num_programs(0)):
        tl.store(
            out + row * stride + lanes, tl.load(x + row * stride + lanes, mask=mask), mask=mask
        )


@triton.jit
def row_gradient(
    x, dy, dw, lock, stride, columns, GROUP: tl.constexpr, LOCKS: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Rows of one group add to one row of `dw` under a lock; right if LOCKS is GROUP."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    own = row % GROUP
    lock += row % LOCKS
    count = lock + LOCKS
    dw = dw + own * columns + lanes
    part = tl.load(x + row * stride + lanes, mask=mask, other=0.0)
    part *= tl.load(dy + row * stride + lanes, mask=mask, other=0.0)
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    if tl.load(count) == 0:
        tl.atomic_xchg(count, 1)
    else:
        part += tl.load(dw, mask=mask)
    tl.store(dw, part, mask=mask)
    tl.debug_barrier()
    tl.atomic_xchg(lock, 0)


@triton.jit
def released_too_early(lock, total):
    while tl.atomic_cas(lock, 0, 1) == 1:
        pass
    before = tl.load(total)
    tl.atomic_xchg(lock, 0)
    tl.store(total, before + 1)


@triton.jit
def last_block(x, partial, counter, out, n, PROGRAMS: tl.constexpr, ORDER: tl.constexpr,
               BLOCK: tl.constexpr):  # fmt: skip
    """The last program to finish adds up what all have left."""
    pid = tl.program_id(0)
    lanes = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + pid, tl.sum(tl.load(x + lanes, mask=lanes < n, other=0.0)))
    tl.debug_barrier()
    if tl.atomic_add(counter, 1, sem=ORDER) == PROGRAMS - 1:
        tl.store(out, tl.sum(tl.load(partial + tl.arange(0, PROGRAMS))))


@triton.jit
def first_block(x, partial, counter, out, n, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    """As last_block, but the first one that finishes does not wait for the others."""
    pid = tl.program_id(0)
    lanes = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(partial + pid, tl.sum(tl.load(x + lanes, mask=lanes < n, other=0.0)))
    if tl.atomic_add(counter, 1) == 0:
        tl.store(out, tl.sum(tl.load(partial + tl.arange(0, PROGRAMS))))


@triton.jit
def hand_over(flag, x, out, ORDER: tl.constexpr, BLOCK: tl.constexpr):
    """Each program waits for the flag of the one before it, and goes on from what that left."""
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + pid * BLOCK + lanes)
    if pid > 0:
        while tl.atomic_add(flag + pid - 1, 0, sem=ORDER) == 0:
            pass
        values += tl.load(out + (pid - 1) * BLOCK + lanes)
    tl.store(out + pid * BLOCK + lanes, values)
    tl.debug_barrier()
    tl.atomic_xchg(flag + pid, 1)


@triton.jit
def without_waiting(flag, x, out, BLOCK: tl.constexpr):
    """As hand_over, but nobody looks at the flag: right only in program order."""
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + pid * BLOCK + lanes)
    tl.atomic_add(flag, 0)
    if pid > 0:
        values += tl.load(out + (pid - 1) * BLOCK + lanes)
    tl.store(out + pid * BLOCK + lanes, values)
    tl.debug_barrier()
    tl.atomic_xchg(flag, 1)


@triton.jit
def histogram(x, counts, n, SCOPE: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    bins = tl.load(x + lanes, mask=mask, other=0)
    tl.atomic_add(counts + bins, 1, mask=mask, scope=SCOPE)


@triton.jit
def scatter(x, index, out, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = lanes < n
    places = tl.load(index + lanes, mask=mask, other=0)
    tl.store(out + places, tl.load(x + lanes, mask=mask), mask=mask)


@triton.jit
def mark_done(x, out, done, n, BLOCK: tl.constexpr):
    """All programs leave the same number at one place."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n), mask=lanes < n)
    tl.store(done, n)


@triton.jit
def mark_last(x, out, done, n, BLOCK: tl.constexpr):
    """All programs leave their own number at one place."""
    pid = tl.program_id(0)
    lanes = pid * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n), mask=lanes < n)
    tl.store(done, pid)


@triton.jit
def zero_then_count(x, counts, n, BLOCK: tl.constexpr):
    """Program 0 clears what all then add to."""
    pid = tl.program_id(0)
    if pid == 0:
        tl.store(counts, 0)
    lanes = pid * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(counts, tl.sum(tl.load(x + lanes, mask=lanes < n, other=0)))


@triton.jit
def tickets(counter, x, out, tiles, BLOCK: tl.constexpr):
    """Programs take tiles by drawing numbers."""
    lanes = tl.arange(0, BLOCK)
    tile = tl.atomic_add(counter, 1)
    while tile < tiles:
        values = tl.load(x + tile * BLOCK + lanes)
        tl.store(out + tile * BLOCK + lanes, values)
        tile = tl.atomic_add(counter, 1)


@triton.jit
def halves_of_words(x, out, BLOCK: tl.constexpr):
    """Even programs write words, odd ones half words into the same storage."""
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    if pid % 2 == 0:
        tl.store(out + pid * BLOCK + lanes, tl.load(x + lanes))
    else:
        halves = out.to(tl.pointer_type(tl.int16))
        tl.store(halves + pid * BLOCK * 2 + lanes, lanes.to(tl.int16))


@triton.jit
def two_axes(x, out, rows, columns, stride, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    q = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (r[:, None] < rows) & (q[None, :] < columns)
    place = r[:, None] * stride + q[None, :]
    tl.store(out + place, tl.load(x + place, mask=mask) + tl.program_id(0), mask=mask)


@triton.jit
def transposed_in_place(x, rows, columns, BM: tl.constexpr, BN: tl.constexpr):
    r = tl.program_id(0) * BM + tl.arange(0, BM)
    q = tl.program_id(1) * BN + tl.arange(0, BN)
    mask = (r[:, None] < rows) & (q[None, :] < columns)
    tile = tl.load(x + r[:, None] * columns + q[None, :], mask=mask)
    tl.store(x + q[None, :] * rows + r[:, None], tile, mask=mask)


@triton.jit
def scaled_in_place(x, n, BLOCK: tl.constexpr):
    lanes = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + lanes, tl.load(x + lanes, mask=lanes < n) * 2, mask=lanes < n)


@triton.jit
def less_at_target(x, target, columns, BLOCK: tl.constexpr):
    """As a gradient of cross entropy does: a row is written, and one of its elements again."""
    row = x + tl.program_id(0) * columns
    lanes = tl.arange(0, BLOCK)
    values = tl.load(row + lanes, mask=lanes < columns)
    tl.store(row + lanes, values * 2, mask=lanes < columns)
    chosen = row + tl.load(target + tl.program_id(0))
    tl.store(chosen, tl.load(chosen) - 1)


@triton.jit
def locked_sum(lock, total, KIND: tl.constexpr):
    """Adds under a lock that is one (swap, exchange), or is not quite."""
    if KIND == "exchange":
        while tl.atomic_xchg(lock, 1) != 0:
            pass
    elif KIND == "shut in a relaxed way":
        while tl.atomic_cas(lock, 0, 1, sem="relaxed") != 0:
            pass
    elif KIND == "nobody waits":
        tl.atomic_cas(lock, 0, 1)
    else:
        while tl.atomic_cas(lock, 0, 1) != 0:
            pass
    tl.store(total, tl.load(total) + 1)
    if KIND == "opened in a relaxed way":
        tl.atomic_xchg(lock, 0, sem="relaxed")
    elif KIND == "opened by a store":
        tl.store(lock, 0)
    elif KIND == "opened within one program":
        tl.atomic_xchg(lock, 0, scope="cta")
    else:
        tl.atomic_xchg(lock, 0)


@triton.jit
def of_one_kind(kinds, index, out, BLOCK: tl.constexpr):
    """Programs of kind -1 store where index says."""
    if tl.load(kinds + tl.program_id(0)) == -1:
        tl.store(out + tl.load(index + tl.arange(0, BLOCK)), tl.program_id(0))


@triton.jit
def rows_to_slots(x, slots, cache, WIDTH: tl.constexpr):
    """Each program stores a row at its slot, wherever that is."""
    lanes = tl.arange(0, WIDTH)
    slot = tl.load(slots + tl.program_id(0)).to(tl.int64)
    tl.store(cache + slot * WIDTH + lanes, tl.load(x + tl.program_id(0) * WIDTH + lanes))


@triton.jit
def _sum_and_own(one, other):
    return one + other + tl.program_id(0)


@triton.jit
def passes_on(x, out, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """All programs store to the same places: HOW says what."""
    lanes = tl.arange(0, BLOCK)
    if HOW == "first":
        tl.store(out, tl.load(x))
    elif HOW == "doubled":
        flag = tl.load(x + 3)
        if flag > 0:
            tl.store(out, flag * 2)
    elif HOW == "row":
        tl.store(out + lanes, tl.load(x + lanes))
    elif HOW == "sum":
        tl.store(out, tl.sum(tl.load(x + lanes), axis=0))
    elif HOW == "filled":
        tl.store(out + lanes, tl.load(x + lanes, mask=lanes < 5, other=0))
    elif HOW == "scanned":
        tl.store(out + lanes, tl.cumsum(tl.load(x + lanes), axis=0))
    elif HOW == "sorted":
        tl.store(out + lanes, tl.sort(tl.load(x + lanes)))
    elif HOW == "woven":
        row = tl.load(x + lanes)
        tl.store(out + tl.arange(0, 2 * BLOCK), tl.interleave(row, -row))
    elif HOW == "gathered":
        row = tl.load(x + lanes)
        tl.store(out + lanes, tl.gather(row, (row + 3) % BLOCK, axis=0))
    elif HOW == "counted":
        tl.store(out + lanes, tl.histogram(tl.load(x + lanes), BLOCK))
    elif HOW == "multiplied":
        row = tl.load(x + lanes).to(tl.float32)
        square = row[:, None] + row[None, :]
        tl.store(out + lanes[:, None] * BLOCK + lanes[None, :], tl.dot(square, square).to(tl.int32))
    elif HOW == "own scanned":
        tl.store(out + lanes, tl.cumsum(tl.load(x + lanes) + tl.program_id(0), axis=0))
    elif HOW == "shifted scan":
        tl.store(out + (lanes + tl.program_id(0)) % BLOCK, tl.cumsum(lanes * 0 + 1, axis=0))
    elif HOW == "shifted weave":
        row = tl.interleave(
            tl.full((BLOCK // 2,), 1, tl.int32), tl.full((BLOCK // 2,), 2, tl.int32)
        )
        tl.store(out + (lanes + tl.program_id(0)) % BLOCK, row)
    elif HOW == "shifted counts":
        row = tl.histogram(tl.full((BLOCK,), 1, tl.int32), BLOCK)
        tl.store(out + (lanes + tl.program_id(0)) % BLOCK, row)
    elif HOW == "own reduced":
        tl.store(out, tl.reduce(tl.load(x + lanes), 0, _sum_and_own))
    elif HOW == "unfilled":
        tl.store(out + lanes, tl.load(x + lanes, mask=lanes < 5))
    elif HOW == "unfilled scanned":
        tl.store(out + lanes, tl.cumsum(tl.load(x + lanes, mask=lanes < 5), axis=0))
    elif HOW == "own":
        tl.store(out, tl.load(x + tl.program_id(0)))
    elif HOW == "turned":
        row = tl.load(x + lanes)
        places = out + lanes[:, None] * BLOCK + lanes[None, :]
        tl.store(places, row[:, None] + tl.zeros((BLOCK, BLOCK), row.dtype))
        tl.store(places, row[None, :] + tl.zeros((BLOCK, BLOCK), row.dtype))
    elif HOW == "shifted":
        tl.store(out + (lanes + tl.program_id(0)) % BLOCK, tl.load(x + lanes))
    elif HOW == "volatile":
        tl.store(out, tl.load(x, volatile=True))


@triton.jit
def reads_back(x, starts, out, n, HOW: tl.constexpr, BLOCK: tl.constexpr):
    """All programs store a table, of which each loads an entry: HOW says what is wrong with it."""
    pid = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    row = tl.load(x + lanes)
    table = tl.cumsum(row) - row
    if HOW == "early":
        first = tl.load(starts + pid)
        tl.store(starts + lanes, table, mask=lanes < n)
    else:
        if HOW == "others' part":
            tl.store(starts + lanes, table, mask=lanes < pid)
        elif HOW == "own number":
            tl.store(starts + lanes, table + pid, mask=lanes < n)
        elif HOW == "perhaps":
            if tl.load(x + pid) > 0:
                tl.store(starts + lanes, table, mask=lanes < n)
        elif HOW == "another one":
            tl.store(starts + lanes, table, mask=lanes < n)
            tl.store(starts + pid, pid)
        elif HOW == "shifted":
            tl.store(starts + lanes + pid, table, mask=lanes < n)
        else:
            tl.store(starts + lanes, table, mask=lanes < n)
        first = tl.load(starts + pid + (1 if HOW == "next" else 0))
    tl.store(out + (first if HOW == "address" else pid) * BLOCK + lanes, first + lanes)


@triton.jit
def to_chosen_starts(out, chosen, starts, BLOCK: tl.constexpr):
    """Each program stores a block that begins where an index, chosen by another, says."""
    first = tl.load(starts + tl.load(chosen + tl.program_id(0)))
    tl.store(out + first + tl.arange(0, BLOCK), tl.program_id(0))


@triton.jit
def far_rows(x, out, step):
    """Rows so far apart that the bytes of their places exceed 64 bits."""
    row = tl.program_id(0).to(tl.int64) * step
    tl.store(out + row + row, 1.0 * tl.program_id(0))


@triton.jit
def by_wide_index(index, x, out, OF_X: tl.constexpr):
    place = tl.load(index + tl.program_id(0))
    tl.store(out + place, tl.load(x + place) if OF_X else place)


@triton.jit
def stores_doubled(x, out):
    tl.store(out, tl.load(x + tl.program_id(0)) * 2 + 1)


@triton.jit
def stores_one_number(x, out, counter, HOW: tl.constexpr):
    """All programs store a number that runs in two orders do not show to differ."""
    program = tl.program_id(0)
    if HOW == "data":
        number = tl.argmax(tl.load(x + program * 4 + tl.arange(0, 4)), 0)
    if HOW == "drawn":
        number = (tl.atomic_add(counter, 1) == 0) & (program == 5)
    if HOW == "rounded":
        number = tl.exp(program * 0.0)
    tl.store(out, number)


@triton.jit
def ping_pong(box, flags, out, TRIPS: tl.constexpr, USE: tl.constexpr):
    """Two programs hand each other a number each trip, which they add up or use otherwise."""
    own = tl.program_id(0)
    other = 1 - own
    number = own
    lanes = tl.arange(0, 256)
    many = lanes
    for trip in range(TRIPS):
        tl.store(box + (trip % 2) * 2 + own, number)
        tl.atomic_xchg(flags + own, trip + 1)
        while tl.atomic_add(flags + other, 0) < trip + 1:
            pass
        got = tl.load(box + (trip % 2) * 2 + other)
        if USE == "in a scalar":
            number += got
        if USE == "in a block":
            many += got
        if USE == "in a condition" and got + number > 2:
            tl.store(out + own * 256 + lanes, lanes)
    tl.store(out + 512 + own, number)
    if USE == "in a block":
        tl.store(out + own * 256 + lanes, many)
