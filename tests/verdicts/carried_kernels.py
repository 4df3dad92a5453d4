"""Kernels whose loops carry integers that no formula says: searches, counts, compaction."""

import triton
import triton.language as tl


@triton.jit
def search(table, x, out, n, BLOCK: tl.constexpr):
    """Find the sequence that a program's first token belongs to, as ragged batches do."""
    token = tl.program_id(0) * BLOCK
    left = 0
    right = n
    while left < right:
        middle = (left + right) // 2
        if tl.load(table + middle) <= token:
            left = middle + 1
        else:
            right = middle
    tl.store(out + tl.program_id(0), tl.load(x + left))


@triton.jit
def search_of_last(table, x, out, n, BLOCK: tl.constexpr):
    """The same with both ends inside, and the middle rounded up."""
    token = tl.program_id(0) * BLOCK
    left = 0
    right = n - 1
    while left < right:
        middle = (left + right + 1) // 2
        if tl.load(table + middle) <= token:
            left = middle
        else:
            right = middle - 1
    tl.store(out + tl.program_id(0), tl.load(x + left))


@triton.jit
def search_by_lanes(table, x, out, n, STEPS: tl.constexpr, BLOCK: tl.constexpr):
    """Each lane searches for so many steps, past its end, too: what it finds may be n + 1."""
    token = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    left = tl.zeros((BLOCK,), tl.int32)
    right = tl.zeros((BLOCK,), tl.int32) + n
    for _ in range(STEPS):
        middle = (left + right) // 2
        below = tl.load(table + middle, mask=middle < n, other=0) <= token
        left = tl.where(below, middle + 1, left)
        right = tl.where(below, right, middle)
    tl.store(out + token, tl.load(x + left))


@triton.jit
def compact(source, buffer, out, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    """Gather what is large at a row's beginning, and read that, as vLLM's top-k does."""
    row = tl.program_id(0)
    found = tl.zeros((), dtype=tl.uint32)
    for i in range((COUNT + BLOCK - 1) // BLOCK):
        lanes = i * BLOCK + tl.arange(0, BLOCK)
        inside = lanes < COUNT
        value = tl.load(source + row * COUNT + lanes, mask=inside, other=0.0)
        large = (value > 0.5) & inside
        place = tl.cast(tl.cumsum(large) - 1 + found, tl.int32)
        found += tl.sum(large)
        tl.store(buffer + row * COUNT + tl.where(large, place, -1), value, mask=large)
    total = 0.0
    many = tl.cast(found, tl.int32)
    for i in range(tl.cast((found + BLOCK - 1) // BLOCK, tl.int32)):
        lanes = i * BLOCK + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(buffer + row * COUNT + lanes, mask=lanes < many, other=0.0))
    tl.store(out + row, total)


@triton.jit
def compact_from_behind(source, buffer, out, COUNT: tl.constexpr, BLOCK: tl.constexpr):
    """The same with sums from behind."""
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    inside = lanes < COUNT
    value = tl.load(source + row * COUNT + lanes, mask=inside, other=0.0)
    large = (value > 0.5) & inside
    place = tl.cumsum(large.to(tl.int32), reverse=True) - 1
    tl.store(buffer + row * COUNT + place, value, mask=large)
    tl.store(out + row, 0.0)


@triton.jit
def until_found(source, table, out, n, MOST: tl.constexpr):
    """A loop that ends when something is found, or after so many trips."""
    row = tl.program_id(0)
    best = 0
    tries = 0
    found = 0
    while found == 0:
        value = tl.load(source + row * MOST + tries)
        if value > 0.9:
            found = 1
        is_new = value > 0.5
        best = tl.where(is_new, 1, best + 1)
        tries += 1
        if tries >= MOST:
            found = 1
    tl.store(out + row, tl.load(table + best))


@triton.jit
def clamped(table, x, out, n, BLOCK: tl.constexpr):
    """A place that follows what is loaded, and is kept inside."""
    place = 0
    for _ in range(BLOCK):
        place = min(place + tl.load(table + place) % 70, n - 1)
        place = max(place, 0)
    tl.store(out + tl.program_id(0), tl.load(x + place))
