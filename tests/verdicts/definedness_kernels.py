"""Kernels whose masked loads leave lanes without a value."""

import triton
import triton.language as tl


@triton.jit
def weighed(x, weight, out, n, BLOCK: tl.constexpr):
    """The lanes without a value are multiplied by zeros."""
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n)
    weights = tl.load(weight + lanes, mask=lanes < n, other=0.0)
    tl.store(out, tl.sum(values * weights, axis=0))


@triton.jit
def product(a, b, c, depth, LEFT: tl.constexpr, BLOCK: tl.constexpr):
    """One of the factors, or none of them, has zeros past the depth."""
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros((BLOCK, BLOCK), tl.float32)
    for start in range(0, depth, BLOCK):
        along = start + lanes
        inside = along < depth
        rows = lanes[:, None] * depth + along[None, :]
        columns = along[:, None] * BLOCK + lanes[None, :]
        if LEFT:
            left = tl.load(a + rows, mask=inside[None, :], other=0.0)
        else:
            left = tl.load(a + rows, mask=inside[None, :])
        total += tl.dot(left, tl.load(b + columns, mask=inside[:, None]))
    tl.store(c + lanes[:, None] * BLOCK + lanes[None, :], total)


@triton.jit
def prefetched(x, out, n, steps, BLOCK: tl.constexpr):
    """What the next trip works on is loaded in this one; the last of it is never used."""
    lanes = tl.arange(0, BLOCK)
    following = tl.load(x + lanes)
    for step in range(steps):
        values = following
        place = (step + 1) * BLOCK + lanes
        following = tl.load(x + place, mask=place < n)
        tl.store(out + step * BLOCK + lanes, values)


@triton.jit
def transposed(x, out, rows, columns, BLOCK: tl.constexpr):
    """The mask of what is stored is that of what was loaded, with its axes exchanged."""
    r, c = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    values = tl.load(x + r * columns + c, mask=(r < rows) & (c < columns))
    tl.store(out + r * rows + c, tl.trans(values), mask=(r < columns) & (c < rows))


@triton.jit
def by_turns(x, y, out, n, m, steps, BLOCK: tl.constexpr):
    """Two values that change places: each is undefined where one of them was."""
    lanes = tl.arange(0, BLOCK)
    one = tl.load(x + lanes, mask=lanes < n)
    two = tl.load(y + lanes, mask=lanes < m)
    for _ in range(steps):
        one, two = two, one + two
    tl.store(out + lanes, one, mask=lanes < n)


@triton.jit
def mask_from_memory(x, wanted, out, n, OTHER: tl.constexpr, BLOCK: tl.constexpr):
    """A lane is loaded if a flag is set that may have no value."""
    lanes = tl.arange(0, BLOCK)
    if OTHER:
        flags = tl.load(wanted + lanes, mask=lanes < n, other=0)
    else:
        flags = tl.load(wanted + lanes, mask=lanes < n)
    values = tl.load(x + lanes, mask=flags > 0, other=0.0)
    tl.store(out + lanes, values, mask=lanes < n)


@triton.jit(noinline=True)
def twice(value):
    return value * 2


@triton.jit
def by_function(x, out, n, WHOLE: tl.constexpr):
    """A number goes through a function that is called from two places."""
    at = tl.program_id(0)
    value = twice(twice(tl.load(x + at, mask=at < n)))
    if WHOLE:
        tl.store(out + at, value)
    else:
        tl.store(out + at, value, mask=at < n)


@triton.jit(noinline=True)
def put_sum(x, out, n, steps, MASKS: tl.constexpr):
    total = 0
    for at in range(steps):
        total += tl.load(x + at, mask=at < n)
    if MASKS:
        tl.store(out, 1, mask=total > 0)
    else:
        tl.store(out, total)


@triton.jit
def sums(x, out, n, first, second, MASKS: tl.constexpr):
    put_sum(x, out, n, first, MASKS)
    put_sum(x, out + 1, n, second, MASKS)


@triton.jit
def chosen_by_data(x, wanted, out, n, BLOCK: tl.constexpr):
    """Lanes without a value are stored where a flag says so."""
    lanes = tl.arange(0, BLOCK)
    flags = tl.load(wanted + lanes)
    values = tl.load(x + lanes, mask=lanes < n)
    tl.store(out + lanes, tl.where(flags > 0, values, 0.0))


@triton.jit
def until(x, out, n, limit, BLOCK: tl.constexpr):
    """How long a loop runs depends on lanes that may have no value."""
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n)
    total = tl.sum(values, axis=0)
    steps = 0
    while total < limit:
        total += 1.0
        steps += 1
    tl.store(out, steps)


@triton.jit
def masked_from(starts, out, BLOCK: tl.constexpr):
    """A mask by a number that is loaded."""
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, 1.0, mask=lanes >= tl.load(starts))


@triton.jit
def guarded(x, out, n, SIDE: tl.constexpr, BLOCK: tl.constexpr):
    """A mask by the program, which is false or true in all of them."""
    at = tl.program_id(0)
    lanes = at * BLOCK + tl.arange(0, BLOCK)
    if SIDE == "far":
        mask = lanes < -n
    elif SIDE == "never reached":
        mask = lanes < n
        n = n * 0
    else:
        mask = lanes < n
    if at < n:
        tl.store(out + lanes, tl.load(x + lanes, mask=mask, other=0.0), mask=mask)


@triton.jit
def straddling(x, out, n, BLOCK: tl.constexpr):
    """A branch for the block that n cuts, which there is none of where n is a multiple of BLOCK."""
    first = tl.program_id(0) * BLOCK
    lanes = first + tl.arange(0, BLOCK)
    if first + BLOCK <= n:
        tl.store(out + lanes, tl.load(x + lanes))
    elif first < n:
        tl.store(out + lanes, tl.load(x + lanes, mask=lanes < n), mask=lanes < n)


@triton.jit
def straddling_masked(x, out, n, BLOCK: tl.constexpr):
    """That branch, with a mask that nothing fulfills."""
    first = tl.program_id(0) * BLOCK
    lanes = first + tl.arange(0, BLOCK)
    if first + BLOCK > n:  # noqa: SIM102
        if first < n:
            tl.store(out + lanes, 1.0, mask=lanes < 0)


@triton.jit
def shares(x, out, rows, KEPT: tl.constexpr, BLOCK: tl.constexpr):
    """Each row by its sum: rows outside are all zero, so 0 / 0, and may or may not be stored."""
    r, c = tl.arange(0, BLOCK)[:, None], tl.arange(0, BLOCK)[None, :]
    values = tl.load(x + r * BLOCK + c, mask=r < rows, other=0.0)
    values = values / tl.sum(values, axis=1)[:, None]
    if KEPT:
        tl.store(out + r * BLOCK + c, values)
    else:
        tl.store(out + r * BLOCK + c, values, mask=r < rows)


@triton.jit
def half(x, out, BLOCK: tl.constexpr):
    """Halves cannot hold what floats do."""
    lanes = tl.arange(0, BLOCK)
    tl.store(out + lanes, (tl.load(x + lanes) * 2).to(tl.float16))


@triton.jit
def softmax(x, out, BLOCK: tl.constexpr):
    """A row of minus infinities has no softmax."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(x + lanes)
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + lanes, powers / tl.sum(powers, axis=0))


@triton.jit
def canceling(first, second, x, out, n, DECIDES: tl.constexpr, BLOCK: tl.constexpr):
    """A difference of two loads: 0 where the same number is in lanes that have none."""
    lanes = tl.arange(0, BLOCK)
    one = tl.load(first + lanes, mask=lanes < n)
    other = tl.load(second + lanes, mask=lanes < n)
    if DECIDES == "address":
        tl.store(out + lanes, tl.load(x + (one - other)))
    elif DECIDES == "mask":
        tl.store(out + lanes, 1.0, mask=one == other)
    else:
        tl.store(out + lanes, tl.load(x + (one - other), mask=lanes < n, other=0.0))


@triton.jit
def limited(x, out, n, BLOCK: tl.constexpr, FORM: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n)
    if FORM == "below":
        tl.store(out + lanes, tl.minimum(values, 0.0))
    elif FORM == "sum below":
        tl.store(out, tl.sum(tl.minimum(values, 0.0)))
    else:
        tl.store(out + lanes, tl.abs(values) - values)


@triton.jit
def cancelling_itself(first, x, out, n, BLOCK: tl.constexpr):
    """The same of one place: the compiler makes one load of both."""
    lanes = tl.arange(0, BLOCK)
    one = tl.load(first + lanes, mask=lanes < n)
    other = tl.load(first + lanes, mask=lanes < n)
    tl.store(out + lanes, tl.load(x + (one - other)))


@triton.jit
def cancelling_lanes(first, x, out, n, BLOCK: tl.constexpr):
    """The largest number less the smallest, of lanes that may all have none."""
    lanes = tl.arange(0, BLOCK)
    one = tl.load(first + lanes, mask=lanes < n)
    tl.store(out, tl.load(x + (tl.max(one, 0) - tl.min(one, 0))))


@triton.jit
def counter_after_loop(x, out, n, KEPT: tl.constexpr):
    kept = -1
    for trip in range(n):
        tl.store(out, tl.load(x + trip))
        kept = trip
    tl.store(out + 1, kept if KEPT else trip)


@triton.jit
def shifted(x, out, n, BITS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.where(at < n, tl.load(x + at) << BITS, at))


@triton.jit
def constant_as_integer(x, out, NUMBER: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at) + tl.full((BLOCK,), NUMBER, tl.float32).to(tl.int32))


@triton.jit
def counted(x, out, n, m, MASKED: tl.constexpr, BINS: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    values = tl.load(x + lanes, mask=lanes < n)
    counts = tl.histogram(values & (BINS - 1), BINS, mask=lanes < m if MASKED else None)
    tl.store(out + tl.arange(0, BINS), counts)


@triton.jit
def reversed_rows(x, out, n, first, AXIS: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows, lanes = tl.arange(0, ROWS)[:, None], tl.arange(0, BLOCK)[None, :]
    values = tl.load(x + rows * BLOCK + lanes, mask=lanes < n)
    tl.store(out + rows * BLOCK + lanes, tl.flip(values, AXIS), mask=lanes >= first)


@triton.jit
def two_sources(x, y, out, n, m, COUNTS: tl.constexpr, BLOCK: tl.constexpr):
    lanes, trip = tl.arange(0, BLOCK), 0
    value = tl.load(x + lanes, mask=lanes < n)
    for trip in range(n):
        value += trip
    if COUNTS:
        value += trip
    value += tl.load(y + lanes, mask=lanes < m)
    tl.store(out + lanes, value, mask=lanes < n)


@triton.jit
def of_each_head(x, out, n, heads, TRIPS: tl.constexpr, BLOCK: tl.constexpr):
    """A loop that is unrolled, of which only the first `heads` trips load and store."""
    i = tl.arange(0, BLOCK)
    for head in tl.static_range(TRIPS):
        inside = (i < n) & (head < heads)
        tl.store(out + head * n + i, tl.load(x + head * n + i, mask=inside, other=0.0), mask=inside)


@triton.jit
def remainders(x, out, n, FORM: tl.constexpr, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    mask = lanes < n
    if FORM == "added" or FORM == "added to some":
        value = tl.atomic_add(x + lanes, 1, mask=mask)
        tl.store(out + lanes, value, mask=mask | (FORM == "added"))
        return
    value = tl.load(x + lanes, mask=mask)
    if FORM == "and mask":
        value = value & -mask.to(tl.int32)
    else:
        value = value & -(lanes < n + 1).to(tl.int32)
    tl.store(out + lanes, value)


@triton.jit
def shifted_by_data(x, amounts, out, n, FORM: tl.constexpr, BLOCK: tl.constexpr):
    """Shifts by data: as they are, with those that have no value dropped, or where memory is."""
    at = tl.arange(0, BLOCK)
    amount = tl.load(amounts + at, mask=at < n, other=0)
    values = tl.load(x + at)
    if FORM == "left":
        tl.store(out + at, values << amount, mask=at < n)
    elif FORM == "right of unsigned":
        tl.store(out + at, (values.to(tl.uint32) >> amount).to(tl.int32), mask=at < n)
    elif FORM == "chosen":
        fits = (amount >= 0) & (amount < 32)
        tl.store(out + at, tl.where(fits, values >> amount, 0), mask=at < n)
    elif FORM == "wide":
        tl.store(out + at, (values.to(tl.int64) << amount.to(tl.int64)).to(tl.int32), mask=at < n)
    elif FORM == "of bits":
        tl.store(out + at, values << (amount & 31), mask=at < n)
    elif FORM == "address":
        tl.store(out + at, tl.load(x + (1 << amount)), mask=at < n)
    elif FORM == "address of few":
        tl.store(out + at, tl.load(x + (1 << amount), mask=amount < 5, other=0), mask=at < n)


@triton.jit
def shifted_by_argument(x, out, n, amount, FORM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    if FORM == "address":
        tl.store(out + at, tl.load(x + at + (n << amount)))
    elif FORM == "index":
        tl.store(out + at, at << amount)
    elif FORM == "rotation":
        values = tl.load(x + at).to(tl.uint32)
        tl.store(out + at, ((values << amount) | (values >> (32 - amount))).to(tl.int32))
    elif FORM == "bit of a mask":
        keep = (n >> (at + amount)) & 1
        tl.store(out + at, tl.load(x + at, mask=keep != 0, other=0))
    elif FORM == "counted":
        count = tl.zeros((BLOCK,), tl.int32)
        for bit in range(amount):
            count += (tl.load(x + at) >> bit) & 1
        tl.store(out + at, count)


@triton.jit
def gathered_by_data(x, index, y, out, n, FORM: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    places = tl.load(index + at, mask=at < n, other=0)
    values = tl.gather(tl.load(x + at), places, 0)
    if FORM == "chosen":
        values = tl.where((places >= 0) & (places < BLOCK), values, 0)
    if FORM == "address":
        tl.store(out + at, tl.load(y + values))
    else:
        tl.store(out + at, values, mask=at < n)


@triton.jit
def counted_in_bins(x, out, n, MASKED: tl.constexpr, BINS: tl.constexpr, BLOCK: tl.constexpr):
    at = tl.arange(0, BLOCK)
    values = tl.load(x + at, mask=at < n, other=0)
    counts = tl.histogram(values, BINS, mask=(values >= 0) & (values < BINS) if MASKED else None)
    tl.store(out + tl.arange(0, BINS), counts)
