"""Kernels of rows: some compute a row the same way in every batch, and others do not."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from corpus.questions.row_traps import (
    ROWS,
    N,
    batch,
    integers,
    plain,
    shared,
    trap,
    unwritten,
)

# -- rows that change with their batch -----------------------------------------------------------


@triton.jit
def _scaled(x, out, M, scale):
    at, row = tl.arange(0, 64), tl.program_id(0)
    value = tl.load(x + row * 48 + at, at < 48, other=0.0)
    tl.store(out + row * 48 + at, value * scale, at < 48)


@trap("a factor of 1 / M by the host", "a float that the host makes of M", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    return plain(_scaled, rows, position, 1.0 / rows)


@trap("a factor that depends on whether M is even", "a float, of two values", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    return plain(_scaled, rows, position, 0.5 if rows % 2 else 0.25)


@triton.jit
def _tiles(x, out, M, LAST: tl.constexpr):
    at, rows = tl.arange(0, 64), tl.program_id(0) * 4 + tl.arange(0, 4)
    mask = (rows[:, None] < M - LAST) & (at[None] < 48)
    value = tl.load(x + rows[:, None] * 48 + at[None], mask, other=0.0)
    tl.store(out + rows[:, None] * 48 + at[None], tl.exp(value), mask)


@trap("a grid of M // 4 tiles", "the tail is not written", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    x, out = batch(rows, position, N), unwritten(rows, N)
    _tiles[(rows // 4,)](x, out, rows, 0)
    return out[position]


@trap("a mask that ends one row early", "the last row is not written", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    return plain(_tiles, rows, position, 1, tile=4)


@triton.jit
def _columns(x, out, M, FACTOR: tl.constexpr):
    at, row = tl.arange(0, 64), tl.program_id(0)
    mask = (at < 48) & (at < FACTOR * M)
    tl.store(out + row * 48 + at, tl.load(x + row * 48 + at, mask, other=0.0), mask)


@trap("columns up to 3 M", "another part of the row is written", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    return plain(_columns, rows, position, 3)


@triton.jit
def _returns_early(x, out, M, LIMIT: tl.constexpr):
    at, row = tl.arange(0, 64), tl.program_id(0)
    if row > LIMIT:
        return
    tl.store(out + row * 48 + at, tl.load(x + row * 48 + at, at < 48, other=0.0), at < 48)


@trap("a return after row 9", "rows from 10 on are not written", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    return plain(_returns_early, rows, position, 9)


@triton.jit
def _stored_if_any(x, out, M):
    at, rows = tl.arange(0, 64), tl.program_id(0) * 4 + tl.arange(0, 4)
    mask = (rows[:, None] < M) & (at[None] < 48)
    value = tl.load(x + rows[:, None] * 48 + at[None], mask, other=0.0)
    largest = tl.max(tl.max(value, 1), 0)
    tl.store(out + rows[:, None] * 48 + at[None], value, mask & (value < largest - 1.0))


@trap("a store that the tile's maximum decides", "data of other rows mask it", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    return plain(_stored_if_any, rows, position, tile=4)


@triton.jit
def _branch_of_tile(x, out, M):
    at, rows = tl.arange(0, 64), tl.program_id(0) * 4 + tl.arange(0, 4)
    mask = (rows[:, None] < M) & (at[None] < 48)
    value = tl.load(x + rows[:, None] * 48 + at[None], mask, other=0.0)
    if tl.max(tl.max(value, 1), 0) > 5.5:
        tl.store(out + rows[:, None] * 48 + at[None], value * 0.5, mask)
    else:
        tl.store(out + rows[:, None] * 48 + at[None], value * 0.25, mask)


@trap("a branch of the whole tile", "data of other rows choose between two stores", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    return plain(_branch_of_tile, rows, position, tile=4)


@triton.jit
def _pooled(x, out, offsets, ALIGNED: tl.constexpr, PLACE: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, 16)
    lo, hi = tl.load(offsets + row), tl.load(offsets + row + 1)
    first = lo // 16 * 16 if ALIGNED else lo
    total = tl.zeros((16,), tl.float32)
    for begin in range(first, hi, 16):
        inside = (begin + at >= lo) & (begin + at < hi)
        total = total * 1.01 + tl.load(x + begin + at, inside, other=0.0)
    mean = tl.sum(total) / (hi - lo)
    if PLACE:
        mean += lo * 0.001
    tl.store(out + row, mean)


def pooled(rows: int, position: int, aligned: int, place: int) -> torch.Tensor:
    """Pool rows of a packed tensor; the observed row has 37 elements."""
    lengths = [20 + (7 * row * rows) % 23 for row in range(rows)]
    lengths[position] = 37
    ends = [sum(lengths[:row]) for row in range(rows + 1)]
    x = batch(1, 0, ends[-1], seed=100 + rows)[0]
    x[ends[position] : ends[position] + 37] = shared(37)
    out = unwritten(rows)
    _pooled[(rows,)](x, out, integers(ends), aligned, place)
    return out[position]


@trap("blocks aligned to the packed tensor", "lengths before it cut a row", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    return pooled(rows, position, 1, 0)


@trap("where the row begins, as a number", "lengths before it add up to a value", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    return pooled(rows, position, 0, 1)


@triton.jit
def _paged(cache, table, out, NUMBER: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, 16)
    total = tl.zeros((16,), tl.float32)
    for n in range(3):
        block = tl.load(table + row * 3 + n)
        total += tl.load(cache + block * 16 + at) * (n + 1)
        if NUMBER:
            total += block
    tl.store(out + row * 16 + at, total)


def paged(rows: int, position: int, number: int) -> torch.Tensor:
    """Sum three blocks of a row, whose positions in the cache depend on the batch."""
    places = torch.randperm(3 * rows, generator=torch.Generator("cpu").manual_seed(rows))
    table = integers(places.tolist())
    cache = batch(3 * rows, 0, 16, seed=200 + rows)
    for n in range(3):
        cache[int(places[3 * position + n])] = shared(16, seed=n)
    out = unwritten(rows, 16)
    _paged[(rows,)](cache, table, out, number)
    return out[position]


@trap("a block's number in the value", "where blocks lie is a value", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    return paged(rows, position, 1)


@triton.jit
def _dropped(x, out, M, seed):
    row, at = tl.program_id(0), tl.arange(0, 64)
    value = tl.load(x + row * 48 + at, at < 48, other=0.0)
    keep = tl.rand(seed, row * 48 + at) > 0.5
    tl.store(out + row * 48 + at, tl.where(keep, value * 2.0, 0.0), at < 48)


@trap("dropout by the flat offset", "which elements are dropped depends on the place", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    return plain(_dropped, rows, position, 3)


@triton.jit
def _one_row(x, out, M):
    row, at = tl.program_id(0), tl.arange(0, 64)
    value = tl.load(x + row * 48 + at, at < 48, other=0.0)
    value = tl.where(row == 7, value * 1.0000002, value)
    tl.store(out + row * 48 + at, value, at < 48)


@trap("row 7 times 1.0000002", "the number of the row", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    return plain(_one_row, rows, position)


@triton.jit
def _by_flags(x, flags, out, M, SHARE: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, 64)
    flag = tl.load(flags + row // SHARE)
    value = tl.load(x + row * 48 + at, at < 48, other=0.0)
    tl.store(out + row * 48 + at, value * flag, at < 48)


@trap("an integer for each four rows", "rows beside it decide which integer it is", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    x, out = batch(rows, position, N), unwritten(rows, N)
    _by_flags[(rows,)](x, integers([3 + n for n in range(rows)]), out, rows, 4)
    return out[position]


@triton.jit
def _ticket(x, counter, out, M):
    row, at = tl.program_id(0), tl.arange(0, 64)
    ticket = tl.atomic_add(counter, 1)
    value = tl.load(x + row * 48 + at, at < 48, other=0.0)
    tl.store(out + row * 48 + at, value + ticket, at < 48)


@trap("a ticket", "how many programs came before", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    x, out = batch(rows, position, N), unwritten(rows, N)
    _ticket[(rows,)](x, integers([0]), out, rows)
    return out[position]


@triton.jit
def _summed(x, out, M, PARTS: tl.constexpr):
    row, at = tl.program_id(0), tl.arange(0, 64)
    value = tl.load(x + row * 48 + at, at < 48, other=0.0)
    total = tl.sum(tl.sum(value.reshape(PARTS, 64 // PARTS), 1), 0)
    tl.store(out + row, total)


@trap("a number of parts by M", "another order of a sum", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    x, out = batch(rows, position, N, seed=2), unwritten(rows)
    _summed[(rows,)](x, out, rows, 2 if rows < 10 else 8)
    return out[position]


@trap("num_warps by M, for a sum", "the compiled order of a sum", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    x, out = batch(rows, position, N), unwritten(rows)
    _summed[(rows,)](x, out, rows, 2, num_warps=1 if rows < 10 else 2)
    return out[position]


@triton.jit
def _reversed(x, out, M):
    row, at = tl.program_id(0), tl.arange(0, 64)
    value = tl.load(x + (M - 1 - row) * 48 + at, at < 48, other=0.0)
    tl.store(out + row * 48 + at, value, at < 48)


@trap("rows in reverse", "another row's data", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    return plain(_reversed, rows, position)


@triton.jit
def _running(x, out, M):
    at, rows = tl.arange(0, 64), tl.program_id(0) * 4 + tl.arange(0, 4)
    mask = (rows[:, None] < M) & (at[None] < 48)
    value = tl.load(x + rows[:, None] * 48 + at[None], mask, other=0.0)
    tl.store(out + rows[:, None] * 48 + at[None], tl.cumsum(value, 0), mask)


@trap("a running sum along the wrong axis", "rows of the tile before it", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    return plain(_running, rows, position, tile=4)


@triton.jit
def _flat(x, out, numel, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, at < numel, other=0.0) + 1.0, at < numel)


@trap("five elements too few", "a part of the last row is not written", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    x, out = batch(rows, position, N), unwritten(rows, N)
    _flat[(triton.cdiv(rows * N, 64),)](x, out, rows * N - 5, 64)
    return out[position]


@triton.jit
def _loop_to(x, out, M, LAST: tl.constexpr):
    row, total = tl.program_id(0), 0.0
    for column in range(M if LAST == 0 else LAST):
        total += tl.load(x + row * 48 + column)
    tl.store(out + row, total)


@trap("as many columns as rows", "a loop of M trips", varies=True)
def _(rows: int, position: int) -> torch.Tensor:
    x, out = batch(rows, position, N), unwritten(rows)
    _loop_to[(rows,)](x, out, rows, 0)
    return out[position]


# -- rows that are the same in every batch -------------------------------------------------------


@trap("a fixed factor", "", varies=False)
def _(rows: int, position: int) -> torch.Tensor:
    return plain(_scaled, rows, position, 0.125)


@trap("tiles with a row mask", "", varies=False)
def _(rows: int, position: int) -> torch.Tensor:
    return plain(_tiles, rows, position, 0, tile=4)


@trap("a return after the last row", "", varies=False)
def _(rows: int, position: int) -> torch.Tensor:
    x, out = batch(rows, position, N), unwritten(rows, N)
    _returns_early_by_m[(2 * rows,)](x, out, rows)
    return out[position]


@triton.jit
def _returns_early_by_m(x, out, M):
    at, row = tl.arange(0, 64), tl.program_id(0)
    if row >= M:
        return
    tl.store(out + row * 48 + at, tl.load(x + row * 48 + at, at < 48, other=0.0), at < 48)


@trap("an output with room for more rows", "", varies=False)
def _(rows: int, position: int) -> torch.Tensor:
    x, out = batch(rows, position, N), unwritten(32, N)
    _tiles[(triton.cdiv(rows, 4),)](x, out, rows, 0)
    return out[position]


@trap("blocks from where the row begins", "", varies=False)
def _(rows: int, position: int) -> torch.Tensor:
    return pooled(rows, position, 0, 0)


@trap("blocks of a cache", "", varies=False)
def _(rows: int, position: int) -> torch.Tensor:
    return paged(rows, position, 0)


@trap("an integer for each row", "", varies=False)
def _(rows: int, position: int) -> torch.Tensor:
    x, out = batch(rows, position, N), unwritten(rows, N)
    flags = [row + rows for row in range(rows)]
    flags[position] = 4
    _by_flags[(rows,)](x, integers(flags), out, rows, 1)
    return out[position]


@trap("num_warps by M, elementwise", "", varies=False)
def _(rows: int, position: int) -> torch.Tensor:
    return plain(_scaled, rows, position, 0.125, num_warps=1 if rows < 10 else 2)


@trap("fixed parts of a sum", "", varies=False)
def _(rows: int, position: int) -> torch.Tensor:
    x, out = batch(rows, position, N), unwritten(rows)
    _summed[(rows,)](x, out, rows, 4)
    return out[position]


@trap("a flat map", "", varies=False)
def _(rows: int, position: int) -> torch.Tensor:
    x, out = batch(rows, position, N), unwritten(rows, N)
    _flat[(triton.cdiv(rows * N, 64),)](x, out, rows * N, 64)
    return out[position]


@trap("a fixed number of columns", "", varies=False)
def _(rows: int, position: int) -> torch.Tensor:
    x, out = batch(rows, position, N), unwritten(rows)
    _loop_to[(rows,)](x, out, rows, 31)
    return out[position]


@triton.jit
def _last_first(x, out, M):
    row, at = tl.num_programs(0) - 1 - tl.program_id(0), tl.arange(0, 64)
    value = tl.load(x + row * 48 + at, at < 48, other=0.0)
    tl.store(out + row * 48 + at, tl.sigmoid(value), at < 48)


@trap("the last row first", "", varies=False)
def _(rows: int, position: int) -> torch.Tensor:
    return plain(_last_first, rows, position)


@triton.jit
def _persistent(x, out, M):
    at = tl.arange(0, 64)
    for row in range(tl.program_id(0), M, tl.num_programs(0)):
        value = tl.load(x + row * 48 + at, at < 48, other=-float("inf"))
        power = tl.exp(value - tl.max(value))
        tl.store(out + row * 48 + at, power / tl.sum(power), at < 48)


@trap("three programs for all rows", "", varies=False)
def _(rows: int, position: int) -> torch.Tensor:
    x, out = batch(rows, position, N), unwritten(rows, N)
    _persistent[(3,)](x, out, rows)
    return out[position]


@triton.jit
def _embedded(tokens, table, out, padding):
    row, at = tl.program_id(0), tl.arange(0, 16)
    token = tl.load(tokens + row)
    value = tl.load(table + token * 16 + at, token != padding, other=0.0)
    tl.store(out + row * 16 + at, value)


@trap("an embedding with padding", "", varies=False)
def _(rows: int, position: int) -> torch.Tensor:
    tokens = [(3 * row + rows) % 20 for row in range(rows)]
    tokens[position] = 6
    out = unwritten(rows, 16)
    _embedded[(rows,)](integers(tokens), shared(20, 16), out, 3)
    return out[position]


@triton.jit
def _clipped(x, out, M):
    row, at = tl.program_id(0), tl.arange(0, 64)
    value = tl.load(x + row * 48 + at, at < 48, other=0.0)
    norm = tl.sqrt(tl.sum(value * value))
    if norm > 3.0:
        value = value * (3.0 / norm)
    tl.store(out + row * 48 + at, value, at < 48)


@trap("a branch by the row's norm", "", varies=False)
def _(rows: int, position: int) -> torch.Tensor:
    return plain(_clipped, rows, position)


@triton.jit
def _stored_where_large(x, out, M):
    row, at = tl.program_id(0), tl.arange(0, 64)
    value = tl.load(x + row * 48 + at, at < 48, other=0.0)
    mean = tl.sum(value) / 48
    tl.store(out + row * 48 + at, value, (at < 48) & (value > mean))


@trap("a store that the row's mean decides", "", varies=False)
def _(rows: int, position: int) -> torch.Tensor:
    return plain(_stored_where_large, rows, position)


@triton.jit
def _transposed(x, out, M):
    row, at = tl.program_id(0), tl.arange(0, 64)
    value = tl.load(x + at * M + row, at < 48, other=0.0)
    tl.store(out + row * 48 + at, value - tl.sum(value) / 48, at < 48)


@trap("columns behind each other", "", varies=False)
def _(rows: int, position: int) -> torch.Tensor:
    x, out = batch(rows, position, N).t().contiguous(), unwritten(rows, N)
    _transposed[(rows,)](x, out, rows)
    return out[position]


@triton.jit
def _grouped(x, w, out, M, BLOCK_M: tl.constexpr):
    pid, tiles = tl.program_id(0), tl.cdiv(M, BLOCK_M)
    group = pid // (2 * 3)
    first = group * 2
    size = tl.minimum(tiles - first, 2)
    m = (first + (pid % 6) % size) * BLOCK_M + tl.arange(0, BLOCK_M)
    n = (pid % 6) // size * 16 + tl.arange(0, 16)
    total = tl.zeros((BLOCK_M, 16), tl.float32)
    for begin in range(0, 48, 16):
        k = begin + tl.arange(0, 16)
        left = tl.load(x + m[:, None] * 48 + k[None], m[:, None] < M, other=0.0)
        total = tl.dot(left, tl.load(w + k[:, None] * 48 + n[None]), total)
    tl.store(out + m[:, None] * 48 + n[None], total, m[:, None] < M)


@trap("a product in groups of tiles", "", varies=False)
def _(rows: int, position: int) -> torch.Tensor:
    x, out = batch(rows, position, N), unwritten(rows, N)
    _grouped[(triton.cdiv(rows, 16) * 3,)](x, shared(48, 48), out, rows, 16)
    return out[position]


CASES = ROWS
