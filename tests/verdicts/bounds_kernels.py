"""Kernels with one access each that is in question."""

import triton
import triton.language as tl


@triton.jit
def copy(source, result, size, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = index < size
    tl.store(result + index, tl.load(source + index, mask=mask), mask=mask)


@triton.jit
def copy_narrow(source, result, size, BLOCK: tl.constexpr):
    index = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = index < size
    tl.store(result + index, tl.load(source + index, mask=mask), mask=mask)


@triton.jit
def fill(result, BLOCK: tl.constexpr):
    index = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    tl.store(result + index, index)


@triton.jit
def rows_of(table, ids, result, width, WIDTH: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    column = tl.arange(0, WIDTH)
    chosen = tl.load(ids + row)
    inside = (column < width)[None, :] & (row >= 0)[:, None]
    values = tl.load(table + chosen[:, None] * width + column[None, :], mask=inside)
    tl.store(result + row[:, None] * width + column[None, :], values, mask=inside)


@triton.jit
def walk_back(source, result, step, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for trip in range(8):
        total += tl.load(source + lanes + trip * step)
    tl.store(result + lanes, total)


@triton.jit
def sum_until(source, counts, result, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    total = tl.zeros([BLOCK], dtype=tl.float32)
    for trip in range(tl.load(counts + tl.program_id(0))):
        total += tl.load(source + trip * BLOCK + lanes)
    tl.store(result + tl.program_id(0) * BLOCK + lanes, total)


@triton.jit
def gather_by_floats(source, places, result, BLOCK: tl.constexpr):
    lanes = tl.arange(0, BLOCK)
    where = tl.load(places + lanes).to(tl.int32)
    tl.store(result + lanes, tl.load(source + where))


@triton.jit
def row_of_largest(table, ids, result, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """One row, by the largest of several recorded numbers."""
    chosen = tl.max(tl.load(ids + tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)), axis=0)
    column = tl.arange(0, WIDTH)
    row = tl.load(table + chosen * WIDTH + column)
    tl.store(result + tl.program_id(0) * WIDTH + column, row)


@triton.jit
def counted_rows(rows, table, result, count, WIDTH: tl.constexpr):
    """A loop that carries a place, counted on by what is loaded, and a sum."""
    place = tl.program_id(0)
    total = 0.0
    number = 0
    while number < count:
        total += tl.load(table + place)
        place = tl.load(rows + place) * WIDTH
        number += 1
    tl.store(result + place, total)


@triton.jit
def copy_one_more(source, result, size, BLOCK: tl.constexpr):
    i = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    values = tl.load(source + i, mask=i < size + 1)
    tl.store(result + i, values, mask=i < size)


@triton.jit
def tile(source, result, rows, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    place = row[:, None] * columns + column[None, :]
    inside = (row <= rows)[:, None] & (column < columns)[None, :]
    tl.store(result + place, tl.load(source + place, mask=inside), mask=inside)


@triton.jit
def looked_up(source, table, result, size, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """A table is read at a float of [0, 1], scaled; the float is clamped first."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(source + i, mask=i < size)
    scaled = tl.minimum(tl.maximum(x, 0.0), 1.0) * (STEPS - 1)
    place = tl.minimum(scaled.to(tl.int32), STEPS - 2)
    low = tl.load(table + place, mask=i < size)
    tl.store(result + i, low + tl.load(table + place + 1, mask=i < size), mask=i < size)


@triton.jit
def clamped_place(source, table, result, LAST: tl.constexpr, KIND: tl.constexpr):
    """The last place of a table is a float's limit, in other ways of writing a clamp."""
    i = tl.arange(0, 64)
    x = tl.load(source + i)
    if KIND == "clamp":
        x = tl.clamp(x, 0.0, LAST)
    elif KIND == "after a sum":
        x = tl.clamp(x, 0.0, 1.0) * (LAST - 1) + 1.0
    elif KIND == "keeps NaN":
        x = tl.clamp(x, 0.0, LAST, propagate_nan=tl.PropagateNan.ALL)
    elif KIND == "floor":
        x = tl.math.floor(tl.minimum(LAST, tl.maximum(x, 0.0)))
    elif KIND == "one side":
        x = tl.maximum(x, 0.0)
    elif KIND == "rounded up":  # 0.1 * LAST is 10 for the last LAST, rounded
        x = tl.clamp(x, 0.0, 0.1) * LAST
    tl.store(result + i, tl.load(table + x.to(tl.int32)))


@triton.jit
def neighbors(source, image, result, width, height, AGAIN: tl.constexpr, BLOCK: tl.constexpr):
    """Bilinear sampling: a pixel and the next one, of which each is masked by its own place."""
    i = tl.arange(0, BLOCK)
    x = tl.math.floor(tl.load(source + i)).to(tl.int32)
    y = tl.math.floor(tl.load(source + BLOCK + i)).to(tl.int32)
    right = x + 1
    inside = (right < width) & (y >= 0) & (y < height)
    if AGAIN == "both":
        inside = (right >= 0) & inside
    elif AGAIN == "either":
        inside = (right >= 0) | inside
    elif AGAIN == "upwards":
        inside = (right >= 0) & (y >= 0) & (y < height)
    tl.store(result + i, tl.load(image + y * width + right, mask=inside, other=0.0))


@triton.jit
def embedded(indices, table, result, count, width, LEVELS: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.arange(0, BLOCK)
    column = tl.arange(0, 2 * BLOCK)
    index = tl.load(indices + row, mask=row < count, other=0)
    if LEVELS == 2:
        index = tl.load(indices + index)
    place = index[:, None] * width + column[None, :]
    if LEVELS:
        mask = (row < count)[:, None] & (column < width)[None, :]
        tl.store(result + row[:, None] * width + column[None, :], tl.load(table + place, mask=mask))
    else:
        tl.store(result + row[:, None] * 8 + column[None, :], tl.load(table + place % 32))
