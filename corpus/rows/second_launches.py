"""Kernels by a second author, whose splits, seeds or options depend on the batch."""

from typing import Any

import torch
import triton
import triton.language as tl

from corpus.questions.rows import Batch, Outputs, case, shared

K, N, WIDE = 64, 24, 32


def of_rows(kernel: Any, batch: Batch, *numbers: float, **options: Any) -> torch.Tensor:
    """Return a kernel's result per row of 64 numbers, with one program per row."""
    x, out = batch.floats(K), batch.result()
    kernel[(batch.size,)](x, out, batch.size, *numbers, **options)
    return out


@triton.jit
def split_sum(x, out, M, K: tl.constexpr, SPLITS: tl.constexpr):
    row = tl.program_id(0)
    value = tl.load(x + row * K + tl.arange(0, K))
    parts = tl.sum(tl.reshape(value, (SPLITS, K // SPLITS)), axis=1)
    total = 0.0
    for part in tl.static_range(SPLITS):
        total += tl.sum(tl.where(tl.arange(0, SPLITS) == part, parts, 0.0))
    tl.store(out + row, total)


@case(right=True, why="four parts at all sizes")
def sum_of_four_parts(batch: Batch) -> Outputs:
    return of_rows(split_sum, batch, K=K, SPLITS=4)


@case(right=False, why="as many parts as few rows leave programs idle", recorded=(2, 12, 40))
def sum_of_parts_by_rows(batch: Batch) -> Outputs:
    return of_rows(split_sum, batch, K=K, SPLITS=8 if batch.size < 8 else 2)


@triton.jit
def chunked_sum(x, out, M, chunk, K: tl.constexpr, BY_ROWS: tl.constexpr):
    row = tl.program_id(0)
    step = tl.minimum(K, 4 * tl.cdiv(M, 4)) if BY_ROWS else chunk
    total = 0.0
    for begin in range(0, K, step):
        cols = begin + tl.arange(0, K)
        mask = (cols < begin + step) & (cols < K)
        total += tl.sum(tl.load(x + row * K + cols, mask=mask, other=0.0))
    tl.store(out + row, total)


@case(right=True, why="chunks of a length that is passed")
def sum_of_chunks(batch: Batch) -> Outputs:
    return of_rows(chunked_sum, batch, 16, K=K, BY_ROWS=False)


@case(right=False, why="the kernel makes the length of its chunks of the number of rows")
def sum_of_chunks_by_rows(batch: Batch) -> Outputs:
    return of_rows(chunked_sum, batch, 16, K=K, BY_ROWS=True)


@case(right=False, why="the host makes the length of chunks of the number of rows")
def sum_of_chunks_by_host(batch: Batch) -> Outputs:
    return of_rows(chunked_sum, batch, 8 if batch.size < 4 else 32, K=K, BY_ROWS=False)


@triton.jit
def atomic_parts(x, out, K: tl.constexpr, PART: tl.constexpr, LARGEST: tl.constexpr):
    row, part = tl.program_id(0), tl.program_id(1)
    value = tl.load(x + row * K + part * PART + tl.arange(0, PART))
    if LARGEST:
        tl.atomic_max(out + row, tl.max(value))
    else:
        tl.atomic_add(out + row, tl.sum(value))


def atomically(batch: Batch, dtype: torch.dtype, largest: bool) -> torch.Tensor:
    """Return each row's result after atomic updates by four programs."""
    x = batch.floats(K) if dtype == torch.float32 else batch.integers(0, 99, K)
    out = torch.full((batch.size,), -9 if largest else 0, device="cuda", dtype=dtype)
    atomic_parts[(batch.size, 4)](x, out, K, 16, largest)
    return out


@case(right=True, why="integers add up in any order")
def atomic_sum_of_integers(batch: Batch) -> Outputs:
    return atomically(batch, torch.int32, False)


@case(right=False, read=True, why="floats are added up in the order in which programs come")
def atomic_sum_of_floats(batch: Batch) -> Outputs:
    return atomically(batch, torch.float32, False)


@case(right=True, why="the largest integer is the same in any order")
def atomic_maximum_of_integers(batch: Batch) -> Outputs:
    return atomically(batch, torch.int32, True)


@triton.jit
def gathered_slot(x, counter, out, slots, M, K: tl.constexpr):
    row = tl.program_id(0)
    slot = tl.atomic_add(counter, 1)
    tl.store(slots + row, slot)
    tl.store(out + row, tl.sum(tl.load(x + row * K + tl.arange(0, K))))


@case(right=False, why="a row's slot is how many programs came before")
def slot_by_counter(batch: Batch) -> Outputs:
    x, out = batch.floats(K), batch.result()
    slots = batch.result(dtype=torch.int32)
    counter = torch.zeros(1, dtype=torch.int32, device="cuda")
    gathered_slot[(batch.size,)](x, counter, out, slots, batch.size, K)
    return [out, slots]


@triton.jit
def dropped(x, seeds, out, M, N, WIDE: tl.constexpr, HOW: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, WIDE)
    if HOW == 0:
        chance = tl.rand(tl.load(seeds + row), cols)
    elif HOW == 1:
        chance = tl.rand(17 + row, cols)
    elif HOW == 2:
        chance = tl.rand(17, row * N + cols)
    else:
        chance = tl.rand(tl.num_programs(0), cols)
    value = tl.load(x + row * N + cols, mask=cols < N)
    tl.store(out + row * N + cols, tl.where(chance > 0.3, value / 0.7, 0.0), mask=cols < N)


def drop(batch: Batch, how: int) -> torch.Tensor:
    """Return rows after a dropout of the kind `how`."""
    x, seeds, out = batch.floats(N), batch.integers(0, 10**6), batch.result(N)
    dropped[(batch.size,)](x, seeds, out, batch.size, N, WIDE, how)
    return out


@case(right=True, why="each row brings its seed")
def dropout_by_own_seed(batch: Batch) -> Outputs:
    return drop(batch, 0)


@case(right=False, why="the seed is the program's number")
def dropout_by_program(batch: Batch) -> Outputs:
    return drop(batch, 1)


@case(right=False, why="the seed is how many programs there are")
def dropout_by_grid(batch: Batch) -> Outputs:
    return drop(batch, 3)


@triton.jit
def scaled(x, out, M, factor, K: tl.constexpr):
    row = tl.program_id(0)
    total = tl.sum(tl.load(x + row * K + tl.arange(0, K)))
    tl.store(out + row, total * factor)


@case(right=True, why="one factor at all sizes")
def factor_of_the_model(batch: Batch) -> Outputs:
    return of_rows(scaled, batch, 0.125, K=K)


@case(right=False, why="the host halves the factor for many rows", recorded=(3, 5, 40))
def factor_by_rows_in_steps(batch: Batch) -> Outputs:
    return of_rows(scaled, batch, 0.125 if batch.size < 33 else 0.0625, K=K)


@triton.jit
def log_scaled(x, lengths, out, M, K: tl.constexpr, OWN: tl.constexpr):
    row = tl.program_id(0)
    total = tl.sum(tl.load(x + row * K + tl.arange(0, K)))
    length = tl.load(lengths + row) if OWN else M
    tl.store(out + row, total * tl.log(length.to(tl.float32) + 1.0))


@case(right=True, why="scaled by the logarithm of the row's own length")
def log_of_own_length(batch: Batch) -> Outputs:
    x, lengths, out = batch.floats(K), batch.integers(1, 99), batch.result()
    log_scaled[(batch.size,)](x, lengths, out, batch.size, K, True)
    return out


@case(right=False, why="scaled by the logarithm of the number of rows")
def log_of_rows(batch: Batch) -> Outputs:
    x, lengths, out = batch.floats(K), batch.integers(1, 99), batch.result()
    log_scaled[(batch.size,)](x, lengths, out, batch.size, K, False)
    return out


@triton.jit
def mapped(x, out, M, K: tl.constexpr):
    row = tl.program_id(0)
    value = tl.load(x + row * K + tl.arange(0, K))
    tl.store(out + row * K + tl.arange(0, K), value * tl.sigmoid(value))


@triton.jit
def summed(x, out, M, K: tl.constexpr):
    row = tl.program_id(0)
    tl.store(out + row, tl.sum(tl.load(x + row * K + tl.arange(0, K))))


@case(right=True, why="the number of warps changes nothing in a map", recorded=(3, 40))
def warps_of_a_map(batch: Batch) -> Outputs:
    x, out = batch.floats(K), batch.result(K)
    mapped[(batch.size,)](x, out, batch.size, K, num_warps=4 if batch.size < 32 else 8)
    return out


@case(right=False, read=True, why="more warps sum in another order", recorded=(3, 40))
def warps_of_a_sum(batch: Batch) -> Outputs:
    return of_rows(summed, batch, K=K, num_warps=4 if batch.size < 32 else 8)


@triton.jit
def typed_sum(x, out, M, K: tl.constexpr, KIND: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([16], KIND)
    for begin in range(0, K, 16):
        total += tl.load(x + row * K + begin + tl.arange(0, 16)).to(KIND)
    tl.store(out + row, tl.sum(total.to(tl.float32)))


@case(right=True, why="one type at all sizes")
def sum_in_one_type(batch: Batch) -> Outputs:
    return of_rows(typed_sum, batch, K=K, KIND=tl.float32)


@case(right=False, why="sums are kept in half precision for many rows", recorded=(3, 40))
def sum_in_a_type_by_rows(batch: Batch) -> Outputs:
    return of_rows(typed_sum, batch, K=K, KIND=tl.float32 if batch.size < 32 else tl.float16)


@triton.jit
def even_rows(x, out, M, N, WIDE: tl.constexpr, EVEN: tl.constexpr, OTHER: tl.constexpr):
    rows = tl.program_id(0) * 4 + tl.arange(0, 4)
    cols = tl.arange(0, WIDE)
    offsets = rows[:, None] * N + cols[None, :]
    if EVEN:
        value = tl.load(x + offsets, mask=cols[None, :] < N, other=0.0)
    else:
        mask = (rows[:, None] < M) & (cols[None, :] < N)
        value = tl.load(x + offsets, mask=mask, other=OTHER)
    tl.store(out + rows, tl.sum(value, axis=1), mask=rows < M)


def evenly(batch: Batch, other: float) -> torch.Tensor:
    """Return the output of a kernel without a mask of rows if rows fill all tiles."""
    x, out = batch.floats(N), batch.result()
    grid = (triton.cdiv(batch.size, 4),)
    even_rows[grid](x, out, batch.size, N, WIDE, batch.size % 4 == 0, other)
    return out


@case(right=True, why="full tiles need no mask of rows")
def mask_where_tiles_are_not_full(batch: Batch) -> Outputs:
    return evenly(batch, 0.0)


@case(right=False, why="where tiles are not full, columns that are left out count one")
def mask_with_another_other(batch: Batch) -> Outputs:
    return evenly(batch, 1.0)


@triton.jit
def tiled_product(
    x, w, out, M, K: tl.constexpr, BM: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr
):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    cols, deep = tl.arange(0, 16), tl.arange(0, BK)
    total = tl.zeros([BM, 16], tl.float32)
    for begin in range(0, K, BK):
        a = tl.load(
            x + rows[:, None] * K + begin + deep[None, :], mask=rows[:, None] < M, other=0.0
        )
        b = tl.load(w + (begin + deep[:, None]) * 16 + cols[None, :])
        total += tl.dot(a, b, input_precision=PRECISION)
    tl.store(out + rows[:, None] * 16 + cols[None, :], total, mask=rows[:, None] < M)


def tiled(batch: Batch, rows: int, deep: int, precision: str = "ieee") -> torch.Tensor:
    """Return rows of 64 numbers times weights, in tiles of `rows` by `deep`."""
    x, out = batch.floats(K), batch.result(16)
    grid = (triton.cdiv(batch.size, rows),)
    tiled_product[grid](x, shared(K, 16), out, batch.size, K, rows, deep, precision)
    return out


@case(right=True, why="larger tiles for many rows, the same steps of K", recorded=(3, 40))
def product_of_larger_tiles(batch: Batch) -> Outputs:
    return tiled(batch, 16 if batch.size < 32 else 32, 32)


@case(right=False, why="longer steps of K for few rows", recorded=(3, 40))
def product_of_longer_steps(batch: Batch) -> Outputs:
    return tiled(batch, 16, 64 if batch.size < 32 else 16)


@case(right=False, why="tf32 for many rows", recorded=(3, 40))
def product_in_tf32_by_rows(batch: Batch) -> Outputs:
    return tiled(batch, 16, 32, "ieee" if batch.size < 32 else "tf32")


@triton.jit
def halves(x, out, M, K: tl.constexpr, SWAPPED: tl.constexpr):
    row = tl.program_id(1) if SWAPPED else tl.program_id(0)
    half = tl.program_id(0) if SWAPPED else tl.program_id(1)
    cols = half * (K // 2) + tl.arange(0, K // 2)
    value = tl.load(x + row * K + cols)
    tl.store(out + row * 2 + half, tl.sum(value * value))


@case(right=True, why="rows are the second axis of the grid, halves of columns the first")
def halves_of_rows(batch: Batch) -> Outputs:
    x, out = batch.floats(K), batch.result(2)
    halves[(2, batch.size)](x, out, batch.size, K, True)
    return out


@triton.jit
def grouped(x, out, M, K: tl.constexpr, GROUP: tl.constexpr):
    tiles = tl.num_programs(0) // 2
    first_row = tl.program_id(0) // (2 * GROUP) * GROUP
    size = tl.minimum(tiles - first_row, GROUP)
    row = first_row + tl.program_id(0) % (2 * GROUP) % size
    half = tl.program_id(0) % (2 * GROUP) // size
    cols = half * (K // 2) + tl.arange(0, K // 2)
    tl.store(out + row * 2 + half, tl.sum(tl.load(x + row * K + cols)))


@case(right=True, why="programs are ordered in groups, as in products that reuse a cache")
def grouped_programs(batch: Batch) -> Outputs:
    x, out = batch.floats(K), batch.result(2)
    grouped[(2 * batch.size,)](x, out, batch.size, K, 4)
    return out


@triton.jit
def returning(x, out, M, K: tl.constexpr, EARLY: tl.constexpr):
    row = tl.program_id(0)
    if row >= M - (M // 16) * EARLY:
        return
    tl.store(out + row, tl.max(tl.load(x + row * K + tl.arange(0, K))))


@case(right=True, why="programs past the rows return: the grid is padded")
def padded_grid_returns(batch: Batch) -> Outputs:
    x, out = batch.floats(K), batch.result()
    returning[(batch.size + 3,)](x, out, batch.size, K, 0)
    return out


@case(right=False, why="one row in sixteen is left out at the end, none of the recorded ones")
def last_sixteenth_returns(batch: Batch) -> Outputs:
    x, out = batch.floats(K), batch.result()
    returning[(batch.size + 3,)](x, out, batch.size, K, 1)
    return out


CASES = [value for value in list(globals().values()) if type(value).__name__ == "Case"]
