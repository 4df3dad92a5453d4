"""Norms, softmax and other kernels that reduce a row."""

import torch
import triton
import triton.language as tl

from corpus.questions.rows import Batch, Outputs, case, shared

N = 20


@triton.jit
def _persistent_rms(x, w, y, M, N, eps, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    weight = tl.load(w + cols, mask=cols < N, other=0.0)
    for row in range(tl.program_id(0), M, tl.num_programs(0)):
        value = tl.load(x + row * N + cols, mask=cols < N, other=0.0)
        scale = tl.rsqrt(tl.sum(value * value) / N + eps)
        tl.store(y + row * N + cols, value * scale * weight, mask=cols < N)


@case(right=True, why="a grid-stride loop over rows")
def persistent_rms(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _persistent_rms[(min(batch.size, 4),)](x, shared(N), y, batch.size, N, 1e-5, BLOCK=32)
    return y


@triton.jit
def _large_batch_epsilon(x, y, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + cols, mask=cols < N, other=0.0)
    eps = tl.where(M > 64, 1e-5, 1e-6)
    tl.store(y + row * N + cols, value * tl.rsqrt(tl.sum(value * value) / N + eps), mask=cols < N)


@case(right=False, why="another epsilon from 65 rows on, which no recorded launch has")
def large_batch_epsilon(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _large_batch_epsilon[(batch.size,)](x, y, batch.size, N, BLOCK=32)
    return y


@triton.jit
def _tile_norm(x, y, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr, WHOLE: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    mask = (rows < M) & (cols < N)
    value = tl.load(x + rows * N + cols, mask=mask, other=0.0)
    mean = tl.sum(value) / (ROWS * N) if WHOLE else (tl.sum(value, 1) / N)[:, None]
    centered = tl.where(mask, value - mean, 0.0)
    variance = (tl.sum(centered * centered, 1) / N)[:, None]
    tl.store(y + rows * N + cols, centered / tl.sqrt(variance + 1e-5), mask=mask)


@case(right=True, why="a tile of four rows, each reduced alone")
def tile_norm(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _tile_norm[(triton.cdiv(batch.size, 4),)](x, y, batch.size, N, 4, 32, WHOLE=False)
    return y


@case(right=False, why="the mean is that of a tile of rows")
def tile_mean(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _tile_norm[(triton.cdiv(batch.size, 4),)](x, y, batch.size, N, 4, 32, WHOLE=True)
    return y


@triton.jit
def _clamped_rows(x, y, M, N, LAST: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    read = tl.maximum(tl.minimum(rows, M - LAST), 0)
    cols = tl.arange(0, BLOCK)
    value = tl.load(x + read[:, None] * N + cols[None, :], mask=(cols < N)[None, :], other=0.0)
    total = tl.sum(value, 1)
    tl.store(y + rows, total, mask=rows < M)


@case(right=True, why="rows past the end read the last row, and are not stored")
def clamped_rows(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result()
    _clamped_rows[(triton.cdiv(batch.size, 4),)](x, y, batch.size, N, 1, ROWS=4, BLOCK=32)
    return y


@case(right=False, why="the last row reads the row before it")
def clamped_too_early(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result()
    _clamped_rows[(triton.cdiv(batch.size, 4),)](x, y, batch.size, N, 2, ROWS=4, BLOCK=32)
    return y


@triton.jit
def _weight_by_row(x, w, y, N, GROUPS, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    weight = tl.load(w + (row % GROUPS) * N + cols, mask=cols < N, other=0.0)
    value = tl.load(x + row * N + cols, mask=cols < N, other=0.0)
    tl.store(y + row * N + cols, value * weight / tl.max(tl.abs(value)), mask=cols < N)


@case(right=False, why="the weights of a row are chosen by its position")
def weight_by_position(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _weight_by_row[(batch.size,)](x, shared(3, N), y, N, 3, BLOCK=32)
    return y


@case(right=True, why="a row has its own three groups, a program each")
def weight_by_group(batch: Batch) -> Outputs:
    x, y = batch.floats(3, N), batch.result(3, N)
    _weight_by_row[(batch.size * 3,)](x, shared(3, N), y, N, 3, BLOCK=32)
    return y


@triton.jit
def _online_softmax(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    largest, total = float("-inf"), 0.0
    for begin in range(0, N, BLOCK):
        cols = begin + tl.arange(0, BLOCK)
        value = tl.load(x + row * N + cols, mask=cols < N, other=float("-inf"))
        new = tl.maximum(largest, tl.max(value))
        total = total * tl.exp(largest - new) + tl.sum(tl.exp(value - new))
        largest = new
    for begin in range(0, N, BLOCK):
        cols = begin + tl.arange(0, BLOCK)
        value = tl.load(x + row * N + cols, mask=cols < N, other=float("-inf"))
        tl.store(y + row * N + cols, tl.exp(value - largest) / total, mask=cols < N)


@case(right=False, why="the host takes smaller blocks for more than four rows")
def online_softmax_blocks(batch: Batch) -> Outputs:
    x, y = batch.floats(100), batch.result(100)
    _online_softmax[(batch.size,)](x, y, 100, BLOCK=32 if batch.size > 4 else 128)
    return y


@case(right=True, why="one block size for all batches, in two passes")
def online_softmax(batch: Batch) -> Outputs:
    x, y = batch.floats(100), batch.result(100)
    _online_softmax[(batch.size,)](x, y, 100, BLOCK=32)
    return y


@triton.jit
def _integer_sum(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros((), tl.int32)
    for begin in range(0, N, BLOCK):
        cols = begin + tl.arange(0, BLOCK)
        total += tl.sum(tl.load(x + row * N + cols, mask=cols < N, other=0))
    tl.store(y + row, total)


@case(right=True, why="blocks change with the batch, and sums of integers have no order")
def integer_sum_blocks(batch: Batch) -> Outputs:
    x, y = batch.integers(-99, 99, 100), batch.result(dtype=torch.int32)
    _integer_sum[(batch.size,)](x, y, 100, BLOCK=32 if batch.size > 4 else 128)
    return y


@triton.jit
def _early_return(x, y, M, N, OWN: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    if row >= M:
        return
    flag = tl.load(x + row * OWN * N)
    if flag > 0:
        return
    cols = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + cols, mask=cols < N, other=0.0)
    tl.store(y + row * N + cols, value - tl.sum(value), mask=cols < N)


@case(right=True, why="a program ends early by the row's own data")
def early_return_own(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _early_return[(batch.size + 2,)](x, y, batch.size, N, 1, BLOCK=32)
    return y


@case(right=False, why="a program ends early by the first row's data")
def early_return_first(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _early_return[(batch.size,)](x, y, batch.size, N, 0, BLOCK=32)
    return y


@triton.jit
def _flipped(x, y, M, N, BOTH: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    source = M - 1 - row
    target = source if BOTH else row
    cols = tl.arange(0, BLOCK)
    value = tl.load(x + source * N + cols, mask=cols < N, other=0.0)
    tl.store(y + target * N + cols, value / tl.sum(value), mask=cols < N)


@case(right=True, why="programs take the rows from the last to the first")
def flipped_both(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _flipped[(batch.size,)](x, y, batch.size, N, BOTH=True, BLOCK=32)
    return y


@case(right=False, why="each row has the result of the row as far from the end")
def flipped_read(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _flipped[(batch.size,)](x, y, batch.size, N, BOTH=False, BLOCK=32)
    return y


@triton.jit
def _shuffled(x, y, M, N, BLOCK: tl.constexpr):
    row = (tl.program_id(0) * 7) % M
    cols = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + cols, mask=cols < N, other=0.0)
    tl.store(y + row * N + cols, value / tl.sum(value), mask=cols < N)


@case(right=False, why="at multiples of seven rows, most rows are not stored")
def shuffled_by_seven(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _shuffled[(batch.size,)](x, y, batch.size, N, BLOCK=32)
    return y


@triton.jit
def _neighbors(x, y, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0) ^ 1
    cols = tl.arange(0, BLOCK)
    mask = (cols < N) & (row < M)
    value = tl.load(x + row * N + cols, mask=mask, other=0.0)
    tl.store(y + row * N + cols, value / tl.sum(value), mask=mask)


@case(right=True, why="programs of a pair exchange their rows; the grid is even")
def exchanged_pairs(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _neighbors[((batch.size + 1) // 2 * 2,)](x, y, batch.size, N, BLOCK=32)
    return y


@case(right=False, why="programs of a pair exchange their rows; an odd grid leaves out the last")
def exchanged_pairs_odd(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _neighbors[(batch.size,)](x, y, batch.size, N, BLOCK=32)
    return y


@triton.jit
def _masked_by(x, y, rows, columns, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = (cols < columns) & (row < rows)
    value = tl.load(x + row * N + cols, mask=mask, other=0.0)
    tl.store(y + row * N + cols, value / tl.sum(tl.abs(value)), mask=mask)


@case(right=False, why="columns are masked by the number of rows, which mostly is larger")
def columns_by_rows(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _masked_by[(batch.size,)](x, y, batch.size, batch.size, N, BLOCK=32)
    return y


@triton.jit
def _rows_by_columns(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    mask = (cols < N) & (row < N)
    value = tl.load(x + row * N + cols, mask=mask, other=0.0)
    tl.store(y + row * N + cols, value / tl.sum(tl.abs(value)), mask=mask)


@case(right=False, why="rows are masked by the number of columns: row 20 is never stored")
def rows_by_columns(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _rows_by_columns[(batch.size,)](x, y, N, BLOCK=32)
    return y


@triton.jit
def _first_rows(x, y, M, N, LIMIT: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    mask = (rows < M) & (cols < N)
    value = tl.load(x + rows * N + cols, mask=mask, other=0.0)
    tl.store(y + rows * N + cols, value * 0.5, mask=mask & (rows < LIMIT))


@case(right=False, why="rows from 24 on are not stored")
def first_rows_only(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _first_rows[(triton.cdiv(batch.size, 4),)](x, y, batch.size, N, 24, ROWS=4, BLOCK=32)
    return y


@triton.jit
def _whole_tiles(x, y, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    mask = (tl.program_id(0) < M // ROWS) & (cols < N)
    value = tl.load(x + rows * N + cols, mask=mask, other=0.0)
    tl.store(y + rows * N + cols, value * 0.5, mask=mask)


@case(right=False, why="tiles are counted by a quotient that is cut", recorded=(4, 8, 12))
def whole_tiles_only(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _whole_tiles[(triton.cdiv(batch.size, 4),)](x, y, batch.size, N, ROWS=4, BLOCK=32)
    return y


@triton.jit
def _tiles_of(x, y, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    if tl.program_id(0) < tl.cdiv(M, ROWS):
        rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
        cols = tl.arange(0, BLOCK)[None, :]
        value = tl.load(x + rows * N + cols, mask=(rows < M) & (cols < N), other=0.0)
        tl.store(y + rows * N + cols, value * 0.5, mask=(rows < M) & (cols < N))


@case(right=True, why="tiles are counted by a quotient that is rounded up", recorded=(4, 8, 12))
def all_tiles(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _tiles_of[(triton.cdiv(batch.size, 4) + 1,)](x, y, batch.size, N, ROWS=4, BLOCK=32)
    return y


@triton.jit
def _full_tiles(x, y, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    first = tl.program_id(0) * ROWS
    if first + ROWS <= M:
        rows = first + tl.arange(0, ROWS)[:, None]
        cols = tl.arange(0, BLOCK)[None, :]
        value = tl.load(x + rows * N + cols, mask=cols < N, other=0.0)
        tl.store(y + rows * N + cols, tl.exp(value), mask=cols < N)


@case(
    right=False, why="rows of the last tile are not stored if it is not full", recorded=(4, 8, 12)
)
def full_tiles_only(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _full_tiles[(triton.cdiv(batch.size, 4),)](x, y, batch.size, N, ROWS=4, BLOCK=32)
    return y


@triton.jit
def _scaled_by_one(x, y, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + cols, mask=cols < N, other=0.0)
    one = tl.where(M > 0, 1.0, 2.0) * (M // M) * tl.minimum(M, 1)
    tl.store(y + row * N + cols, value * one, mask=cols < N)


@case(right=True, why="a factor is made of the number of rows, and is one for all of them")
def factor_that_is_one(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _scaled_by_one[(batch.size,)](x, y, batch.size, N, BLOCK=32)
    return y


@triton.jit
def _scaled_and_back(x, y, M, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + cols, mask=cols < N, other=0.0)
    tl.store(y + row * N + cols, value * M / M, mask=cols < N)


@case(right=False, why="a product and a quotient by the number of rows round")
def scaled_and_back(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _scaled_and_back[(batch.size,)](x, y, batch.size, N, BLOCK=32)
    return y


@triton.jit
def _tile_max(x, y, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    mask = (rows < M) & (cols < N)
    value = tl.load(x + rows * N + cols, mask=mask, other=float("-inf"))
    powers = tl.exp(value - tl.max(value))
    tl.store(y + rows * N + cols, powers / tl.sum(powers, 1)[:, None], mask=mask)


@case(right=False, why="softmax takes off the largest of a tile of rows")
def softmax_of_tile_maximum(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _tile_max[(triton.cdiv(batch.size, 2),)](x, y, batch.size, N, ROWS=2, BLOCK=32)
    return y


@triton.jit
def _slow_path(x, y, M, N, ROWS: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    cols = tl.arange(0, BLOCK)[None, :]
    mask = (rows < M) & (cols < N)
    value = tl.load(x + rows * N + cols, mask=mask, other=0.0)
    if tl.max(value) > 10.0:
        value = tl.where(value > 10.0, 10.0, value)
    tl.store(y + rows * N + cols, value * 0.5, mask=mask)


@case(right=True, why="a branch that any row of the tile takes changes those rows only")
def slow_path_for_any(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _slow_path[(triton.cdiv(batch.size, 4),)](x, y, batch.size, N, ROWS=4, BLOCK=32)
    return y


@triton.jit
def _sum_of_row(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    tl.store(y + row, tl.sum(tl.load(x + row * N + cols, mask=cols < N, other=0.0)))


@case(right=False, why="num_warps follows the batch, and with it the order of the sum", read=True)
def warps_by_rows(batch: Batch) -> Outputs:
    x, y = batch.floats(500), batch.result()
    _sum_of_row[(batch.size,)](x, y, 500, BLOCK=512, num_warps=8 if batch.size < 4 else 2)
    return y


@case(right=True, why="num_stages follows the batch; it pipelines loads only", read=True)
def stages_by_rows(batch: Batch) -> Outputs:
    x, y = batch.floats(500), batch.result()
    _sum_of_row[(batch.size,)](x, y, 500, BLOCK=512, num_stages=2 if batch.size < 4 else 4)
    return y


@triton.jit
def _gated(gate, up, y, size, bias, N, PERIOD: tl.constexpr, BLOCK: tl.constexpr):
    flat = tl.program_id(0).to(tl.int64) * BLOCK + tl.arange(0, BLOCK)
    mask = flat < size
    g = tl.load(gate + flat, mask=mask, other=0.0)
    u = tl.load(up + flat, mask=mask, other=0.0)
    added = tl.load(bias + (flat % PERIOD if PERIOD else flat % N), mask=mask, other=0.0)
    tl.store(y + flat, g * tl.sigmoid(g) * u + added, mask=mask)


@case(right=True, why="flat offsets, and a bias by the column")
def flat_gate(batch: Batch) -> Outputs:
    gate, up, y = batch.floats(N), batch.floats(N, tag=1), batch.result(N)
    grid = (triton.cdiv(batch.size * N, 64),)
    _gated[grid](gate, up, y, batch.size * N, shared(64), N, 0, BLOCK=64)
    return y


@case(right=False, why="the bias is that of a place in the block, not of a column")
def flat_gate_bias_by_block(batch: Batch) -> Outputs:
    gate, up, y = batch.floats(N), batch.floats(N, tag=1), batch.result(N)
    grid = (triton.cdiv(batch.size * N, 64),)
    _gated[grid](gate, up, y, batch.size * N, shared(64), N, 64, BLOCK=64)
    return y


@case(right=True, why="num_warps follows the batch, and each element is computed alone", read=True)
def flat_gate_warps(batch: Batch) -> Outputs:
    gate, up, y = batch.floats(N), batch.floats(N, tag=1), batch.result(N)
    grid = (triton.cdiv(batch.size * N, 64),)
    warps = 1 if batch.size < 4 else 4
    _gated[grid](gate, up, y, batch.size * N, shared(64), N, 0, BLOCK=64, num_warps=warps)
    return y


CASES = [value for value in list(globals().values()) if type(value).__name__ == "Case"]
