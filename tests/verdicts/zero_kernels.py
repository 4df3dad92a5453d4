"""Kernels whose loads go out of bounds and then decide something else."""

import triton
import triton.language as tl


@triton.jit
def gather(ids, table, result, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(ids + at)
    tl.store(result + at, tl.load(table + index))


@triton.jit
def gather_of_gather(ids, links, table, result, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    link = tl.load(links + tl.load(ids + at) % 8)
    tl.store(result + at, tl.load(table + link))


@triton.jit
def gather_clamped(ids, table, result, size, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.minimum(tl.maximum(tl.load(ids + at), 0), size - 1)
    tl.store(result + at, tl.load(table + index))


@triton.jit
def divide(ids, result, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(result + at, 100 // tl.load(ids + at))


@triton.jit
def asserting(ids, result, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(ids + at)
    tl.device_assert(index > 0, "no index is zero")
    tl.store(result + at, index)


@triton.jit
def scatter(ids, result, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(result + tl.load(ids + at), at)


@triton.jit
def while_alike(first, second, result, count):
    """Two loads that leave their tensors in one trip, and both decide whether another follows."""
    alike = True
    seen = 0
    for place in range(count):
        if alike:
            alike = tl.load(first + place) == tl.load(second + place)
            seen += 1
    tl.store(result, seen)


@triton.jit
def up_to_root(parents, tokens, result, node, steps):
    """Each trip goes where the one before read."""
    for step in range(steps):
        tl.store(result + step, tl.load(tokens + node))
        node = tl.load(parents + node)


@triton.jit
def gather_or_return(starts, table, result):
    """The last load that all programs make may be out of bounds, and decides a return."""
    row = tl.program_id(0)
    first = tl.load(starts + row)
    tl.store(result + row, tl.load(table + first))
    last = tl.load(starts + row + 1)
    if last == first:
        return
    tl.store(result + row, tl.load(table + last))


@triton.jit
def gather_before(ids, table, result, BLOCK: tl.constexpr):
    """An index of zero, and no other, leads to before the table."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(ids + at)
    tl.store(result + at, tl.load(table + index - 1))


@triton.jit
def divide_difference(ids, result, BLOCK: tl.constexpr):
    """Zero where two loads give the same, which need not be zero."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(result + at, 100 // (tl.load(ids + at) - tl.load(ids + at + 1)))


@triton.jit
def gather_unless_none(ids, table, result, BLOCK: tl.constexpr):
    """Programs with an index of -1 do nothing."""
    index = tl.load(ids + tl.program_id(0))
    if index == -1:
        return
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(result + at, tl.load(table + at))


@triton.jit
def ragged(starts, table, result):
    """As many trips as two neighbors are apart: none where they fall."""
    row = tl.program_id(0)
    for place in range(tl.load(starts + row + 1) - tl.load(starts + row) + 1):
        tl.store(result + row, tl.load(table + row * 4 + place))
