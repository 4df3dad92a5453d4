"""Kernels that go where recorded integers say, and random calls of them, small and large."""

import numpy as np
import triton
import triton.language as tl

from tests.verdicts.calls import call, tensor


@triton.jit
def paged(
    query, pool, table, lengths, out, table_stride, page_stride, head_stride,
    HEADS: tl.constexpr, WIDTH: tl.constexpr, PAGE: tl.constexpr, BLOCK: tl.constexpr,
):  # fmt: skip
    """What attention over pages reads: each sequence's pages, by its row of a table."""
    sequence, head = tl.program_id(0), tl.program_id(1)
    length = tl.load(lengths + sequence)
    d = tl.arange(0, WIDTH)
    q = tl.load(query + (sequence * HEADS + head) * WIDTH + d)
    total = tl.zeros((WIDTH,), tl.float32)
    for block in range(tl.cdiv(length, BLOCK)):
        token = block * BLOCK + tl.arange(0, BLOCK)
        mask = token < length
        page = tl.load(table + sequence * table_stride + token // PAGE, mask=mask, other=0)
        base = page.to(tl.int64)[:, None] * page_stride + head * head_stride
        k = tl.load(pool + base + (token % PAGE)[:, None] * WIDTH + d[None, :],
                    mask=mask[:, None], other=0.0)  # fmt: skip
        total += tl.sum(k * q[None, :], axis=0)
    tl.store(out + (sequence * HEADS + head) * WIDTH + d, total)


@triton.jit
def slots_of(
    x, pool, slots, page_stride, HEADS: tl.constexpr, WIDTH: tl.constexpr, PAGE: tl.constexpr
):
    """Each token's row of each head to its slot in a pool; none where the slot is negative."""
    token, head = tl.program_id(0), tl.program_id(1)
    slot = tl.load(slots + token)
    if slot < 0:
        return
    d = tl.arange(0, WIDTH)
    row = tl.load(x + (token * HEADS + head) * WIDTH + d)
    place = (slot // PAGE) * page_stride + (slot % PAGE) * HEADS * WIDTH + head * WIDTH
    tl.store(pool + place + d, row)


@triton.jit
def ragged(x, starts, out, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """Rows of sequences that lie behind one another."""
    sequence, block = tl.program_id(0), tl.program_id(1)
    start, end = tl.load(starts + sequence).to(tl.int64), tl.load(starts + sequence + 1)
    row = block * BLOCK + tl.arange(0, BLOCK)
    d = tl.arange(0, WIDTH)
    places = (start + row)[:, None] * WIDTH + d[None, :]
    mask = (row < end - start)[:, None]
    tl.store(out + places, tl.load(x + places, mask=mask, other=0.0), mask=mask)


@triton.jit
def experts_of(
    x, weights, experts, order, out, tokens, TOP: tl.constexpr, WIDTH: tl.constexpr,
    BLOCK: tl.constexpr,
):  # fmt: skip
    """Blocks of tokens, sorted by expert: padding goes past the last token."""
    block = tl.program_id(0)
    expert = tl.load(experts + block)
    place = tl.load(order + block * BLOCK + tl.arange(0, BLOCK))
    mask = (place < tokens * TOP)[:, None]
    d = tl.arange(0, WIDTH)[None, :]
    rows = tl.load(x + (place // TOP)[:, None] * WIDTH + d, mask=mask, other=0.0)
    weight = tl.load(weights + expert.to(tl.int64) * WIDTH + d)
    tl.store(out + place[:, None] * WIDTH + d, rows * weight, mask=mask)


@triton.jit
def chosen_twice(x, first, second, flags, out, rows, BLOCK: tl.constexpr):
    """An index of an index, clamped or not, as a flag says."""
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    one = tl.load(first + lanes)
    two = tl.load(second + one, mask=(one >= 0) & (one < rows), other=-1)
    if tl.load(flags + tl.program_id(0)) > 0:
        two = tl.minimum(tl.maximum(two, 0), rows - 1)
    tl.store(out + lanes, tl.load(x + two, mask=two >= 0, other=0.0))


@triton.jit
def flat(x, groups, lengths, out, programs, heads, rows, WIDTH: tl.constexpr, BLOCK: tl.constexpr):
    """Programs of one axis: group, head and part of a program are digits of its number."""
    program = tl.program_id(0)
    if program >= programs:
        return
    part, head, group = program % 2, program // 2 % heads, program // (2 * heads)
    length = tl.load(lengths + group)
    lanes = part * BLOCK + tl.arange(0, BLOCK)
    row = tl.load(groups + group * rows + lanes // 4, mask=lanes < length, other=0)
    places = row * heads * WIDTH + head * WIDTH + lanes % 4
    values = tl.load(x + places, mask=lanes < length, other=0.0)
    tl.store(out + program * BLOCK + tl.arange(0, BLOCK), values)


@triton.jit
def target_of_row(x, targets, ignored, columns, WIDTH: tl.constexpr):
    """A loss computed in place: a row is overwritten, then its target's element once more."""
    row = x + tl.program_id(0).to(tl.int64) * columns
    target = tl.load(targets + tl.program_id(0))
    lanes = tl.arange(0, WIDTH)
    if target == ignored:
        tl.store(row + lanes, 0.0, mask=lanes < columns)
        return
    chosen = tl.load(row + target)
    tl.store(row + lanes, tl.load(row + lanes, mask=lanes < columns), mask=lanes < columns)
    tl.debug_barrier()
    tl.store(row + target, chosen - 1.0)


@triton.jit
def stores_and_gathers(table, x, out, BLOCK: tl.constexpr):
    lanes = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    index = tl.load(table + lanes)
    tl.store(table + lanes, index + 1)
    tl.store(out + lanes, tl.load(x + index))


def integers(data, dtype="i32"):
    """A tensor of recorded integers."""
    data = np.asarray(data)
    return tensor(*data.shape, dtype=dtype, data=data.reshape(-1))


def paged_call(rng, sequences, heads, pages, *, longest=4096, width=64, page_size=16, page=None):
    """`page`: (place in the table, number) of one that is set; place -1 is the last of the row."""
    lengths = rng.integers(1, longest + 1, sequences).astype(np.int32)
    across = -(-longest // page_size)
    table = rng.integers(2**30, 2**31 - 1, (sequences, across), dtype=np.int32)
    for row, length in zip(table, lengths, strict=True):
        used = -(-int(length) // page_size)
        row[:used] = rng.integers(0, pages, used)
    if page is not None:
        table[page[0]] = page[1]
    return call(
        paged, (sequences, heads), query=tensor(sequences, heads, width),
        pool=tensor(pages, heads, page_size, width), table=integers(table),
        lengths=integers(lengths), out=tensor(sequences, heads, width), table_stride=across,
        page_stride=heads * page_size * width, head_stride=page_size * width, HEADS=heads,
        WIDTH=width, PAGE=page_size, BLOCK=4 * page_size,
    )  # fmt: skip


def slots_call(rng, tokens, heads, *, width=128, page_size=16, pages=8192, twice=None, more=0):
    slots = rng.permutation(pages * page_size)[:tokens].astype(np.int64)
    slots[3 % tokens] = -1
    if twice is not None:
        slots[twice[0]] = slots[twice[1]]
    if more:
        slots[0] = pages * page_size + more - 1
    return call(
        slots_of, (tokens, heads), x=tensor(tokens, heads, width),
        pool=tensor(pages, page_size, heads, width), slots=integers(slots, "i64"),
        page_stride=page_size * heads * width, HEADS=heads, WIDTH=width, PAGE=page_size,
    )  # fmt: skip


def ragged_call(rng, sequences, longest, *, width=128, block=64, more=0):
    starts = np.cumsum([0, *rng.integers(0, longest + 1, sequences)]).astype(np.int32)
    rows = max(int(starts[-1]), 1)
    starts[-1] += more
    grid = (sequences, -(-(longest + more) // block))
    return call(
        ragged, grid, x=tensor(rows, width), starts=integers(starts), out=tensor(rows, width),
        WIDTH=width, BLOCK=block,
    )  # fmt: skip


def targets_call(targets, columns, *, ignored=-100):
    return call(
        target_of_row, (len(targets),), x=tensor(len(targets), columns),
        targets=integers(targets, "i64"), ignored=ignored, columns=columns,
        WIDTH=triton.next_power_of_2(columns),
    )  # fmt: skip


def _paged(rng):
    sequences, pages = int(rng.integers(1, 6)), int(rng.integers(2, 9))
    page = None
    if rng.integers(2):
        place = (int(rng.integers(sequences)), int(rng.integers(3)))
        page = place, int(rng.integers(-1, pages + 2))
    return paged_call(rng, sequences, 2, pages, longest=24, width=4, page_size=8, page=page)


def _slots(rng):
    twice = (0, 1) if rng.integers(2) else None
    tokens, more = int(rng.integers(4, 9)), int(rng.integers(0, 2))
    return slots_call(rng, tokens, 2, width=4, page_size=2, pages=6, twice=twice, more=more * 2)


def _ragged(rng):
    return ragged_call(rng, int(rng.integers(1, 6)), 9, width=4, block=4,
                       more=int(rng.integers(0, 2)))  # fmt: skip


def _experts(rng):
    tokens, top, experts, block = int(rng.integers(1, 7)), 2, 3, 4
    count = tokens * top
    blocks = -(-count // block) + 1
    order = np.full(blocks * block, count, np.int32)
    order[:count] = rng.permutation(count)
    if rng.integers(2):
        order[0] = rng.integers(-1, count)
    chosen = rng.integers(0, experts + int(rng.integers(2)), blocks).astype(np.int32)
    return call(
        experts_of, (blocks,), x=tensor(tokens, 4), weights=tensor(experts, 4),
        experts=integers(chosen), order=integers(order), out=tensor(count, 4), tokens=tokens,
        TOP=top, WIDTH=4, BLOCK=block,
    )  # fmt: skip


def _chosen(rng):
    rows, blocks = int(rng.integers(2, 9)), int(rng.integers(1, 4))
    first = rng.integers(-1, rows + 1, blocks * 4).astype(np.int32)
    second = rng.integers(-1, rows + int(rng.integers(2)), rows).astype(np.int32)
    return call(
        chosen_twice, (blocks,), x=tensor(rows), first=integers(first), second=integers(second),
        flags=integers(rng.integers(0, 2, blocks).astype(np.int32)), out=tensor(blocks * 4),
        rows=rows, BLOCK=4,
    )  # fmt: skip


def _flat(rng):
    groups, heads, known = int(rng.integers(1, 5)), int(rng.integers(2, 4)), 6
    lengths = rng.integers(0, 17, groups).astype(np.int32)
    chosen = rng.integers(0, known, (groups, 4)).astype(np.int32)
    chosen[int(rng.integers(groups)), int(rng.integers(4))] = rng.integers(-1, known + 2)
    programs = groups * heads * 2
    return call(
        flat, (programs + 1,), x=tensor(known, heads, 4), groups=integers(chosen),
        lengths=integers(lengths), out=tensor(programs * 8), programs=programs, heads=heads,
        rows=4, WIDTH=4, BLOCK=8,
    )  # fmt: skip


def _targets(rng):
    rows, columns = int(rng.integers(1, 6)), int(rng.integers(2, 7))
    targets = rng.integers(0, columns, rows).astype(np.int64)
    targets[rng.random(rows) < 0.4] = -100
    if rng.integers(2):
        targets[rng.integers(rows)] = rng.integers(-2, columns + 2)
    return targets_call(targets, columns)


CALLS = {
    "flat": _flat, "paged": _paged, "slots": _slots, "ragged": _ragged, "experts": _experts,
    "chosen": _chosen, "targets": _targets,
}  # fmt: skip
"""Random small calls, right ones and broken ones, by a generator of numbers."""
