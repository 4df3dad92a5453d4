"""Quantization, sampling, dropout, losses, embeddings and rarely used parts of the language."""

import torch
import triton
import triton.language as tl

from corpus.questions.rows import Batch, Outputs, case, shared

N = 20


@triton.jit
def _quantize(x, q, scales, M, N, ROWS: tl.constexpr, WHOLE: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, BLOCK)
    mask = (rows < M)[:, None] & (cols < N)[None, :]
    value = tl.load(x + rows[:, None] * N + cols[None, :], mask=mask, other=0.0)
    largest = tl.max(tl.abs(value), 1)
    if WHOLE:
        largest = tl.zeros((ROWS,), tl.float32) + tl.max(largest)
    scale = tl.maximum(largest, 1e-8) / 127.0
    level = value / scale[:, None]
    rounded = tl.where(level >= 0, tl.floor(level + 0.5), tl.ceil(level - 0.5))
    tl.store(q + rows[:, None] * N + cols[None, :], rounded.to(tl.int8), mask=mask)
    tl.store(scales + rows, scale, mask=rows < M)


def _quantized(batch: Batch, rows: int, whole: bool) -> Outputs:
    x, q, scales = batch.floats(N), batch.result(N, dtype=torch.int8), batch.result()
    grid = (triton.cdiv(batch.size, rows),)
    _quantize[grid](x, q, scales, batch.size, N, rows, whole, BLOCK=32)
    return q, scales


@case(right=True, why="a scale for each token")
def quantize_tokens(batch: Batch) -> Outputs:
    return _quantized(batch, 2, whole=False)


@case(right=False, why="a scale for each two tokens")
def quantize_pairs(batch: Batch) -> Outputs:
    return _quantized(batch, 2, whole=True)


@triton.jit
def _dropout(x, y, seed, seeds, N, MODE: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + cols, mask=cols < N, other=0.0)
    if MODE == "flat":
        chance = tl.rand(seed, row * N + cols)
    elif MODE == "column":
        chance = tl.rand(seed, cols)
    else:
        chance = tl.rand(tl.load(seeds + row), cols)
    tl.store(y + row * N + cols, tl.where(chance > 0.5, value * 2.0, 0.0), mask=cols < N)


def _dropped(batch: Batch, mode: str) -> Outputs:
    x, y, seeds = batch.floats(N), batch.result(N), batch.integers(0, 10**6)
    _dropout[(batch.size,)](x, y, 1234, seeds, N, mode, BLOCK=32)
    return y


@case(right=False, why="dropout by the flat offset")
def dropout_flat(batch: Batch) -> Outputs:
    return _dropped(batch, "flat")


@case(right=True, why="dropout by the column, the same for all rows")
def dropout_column(batch: Batch) -> Outputs:
    return _dropped(batch, "column")


@case(right=True, why="dropout by a seed that is the row's own")
def dropout_seeds(batch: Batch) -> Outputs:
    return _dropped(batch, "own")


@triton.jit
def _gumbel(logits, seeds, tokens, M, N, OWN: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    value = tl.load(logits + row * N + cols, mask=cols < N, other=float("-inf"))
    chance = tl.rand(tl.load(seeds + row), cols) if OWN else tl.rand(tl.load(seeds), cols * M + row)
    noise = -tl.log(-tl.log(tl.maximum(chance, 1e-7)))
    tl.store(tokens + row, tl.argmax(value + noise, 0))


@case(right=True, why="Gumbel noise by the request's seed and the token")
def gumbel_own_seed(batch: Batch) -> Outputs:
    logits, seeds = batch.floats(N), batch.integers(0, 10**6)
    tokens = batch.result(dtype=torch.int32)
    _gumbel[(batch.size,)](logits, seeds, tokens, batch.size, N, OWN=True, BLOCK=32)
    return tokens


@case(right=False, why="Gumbel noise by offsets into a transposed batch")
def gumbel_transposed(batch: Batch) -> Outputs:
    logits, tokens = batch.floats(N), batch.result(dtype=torch.int32)
    seeds = torch.full((1,), 5, device="cuda", dtype=torch.int32)
    _gumbel[(batch.size,)](logits, seeds, tokens, batch.size, N, OWN=False, BLOCK=32)
    return tokens


@triton.jit
def _sorted(x, y, M, ACROSS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    places = rows * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    value = tl.load(x + places, mask=rows < M, other=float("inf"))
    value = tl.trans(tl.sort(tl.trans(value))) if ACROSS else tl.sort(value, descending=True)
    tl.store(y + places, value, mask=rows < M)


@case(right=True, why="each row of a tile is sorted")
def sorted_rows(batch: Batch) -> Outputs:
    x, y = batch.floats(16), batch.result(16)
    _sorted[(triton.cdiv(batch.size, 4),)](x, y, batch.size, False, 4, 16)
    return y


@case(right=False, why="the columns of a tile are sorted, across rows")
def sorted_columns(batch: Batch) -> Outputs:
    x, y = batch.floats(16), batch.result(16)
    _sorted[(triton.cdiv(batch.size, 4),)](x, y, batch.size, True, 4, 16)
    return y


@triton.jit
def _scan(x, y, M, AXIS: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)[:, None]
    places = rows * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    value = tl.load(x + places, mask=rows < M, other=0.0)
    tl.store(y + places, tl.cumsum(value, AXIS), mask=rows < M)


@case(right=True, why="cumulative sums along a row")
def scan_along_rows(batch: Batch) -> Outputs:
    x, y = batch.floats(16), batch.result(16)
    _scan[(triton.cdiv(batch.size, 4),)](x, y, batch.size, 1, 4, 16)
    return y


@case(right=False, why="cumulative sums down a tile of rows")
def scan_down_rows(batch: Batch) -> Outputs:
    x, y = batch.floats(16), batch.result(16)
    _scan[(triton.cdiv(batch.size, 4),)](x, y, batch.size, 0, 4, 16)
    return y


@triton.jit
def _cross_entropy(logits, labels, losses, factor, V, IGNORED: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels + row)
    if label == IGNORED:
        tl.store(losses + row, 0.0)
        return
    largest, total = float("-inf"), 0.0
    for begin in range(0, V, BLOCK):
        cols = begin + tl.arange(0, BLOCK)
        value = tl.load(logits + row * V + cols, mask=cols < V, other=float("-inf"))
        new = tl.maximum(largest, tl.max(value))
        total = total * tl.exp(largest - new) + tl.sum(tl.exp(value - new))
        largest = new
    chosen = tl.load(logits + row * V + label)
    tl.store(losses + row, (tl.log(total) + largest - chosen) * factor)


def _losses(batch: Batch, factor: float) -> Outputs:
    logits, labels, losses = batch.floats(50), batch.integers(0, 50), batch.result()
    labels = torch.where(labels > 45, -100, labels)
    _cross_entropy[(batch.size,)](logits, labels, losses, factor, 50, -100, BLOCK=16)
    return losses


@case(right=True, why="a token's loss, by its own label, with a factor of the program")
def cross_entropy(batch: Batch) -> Outputs:
    return _losses(batch, 0.5)


@case(right=False, why="the host divides by the number of rows")
def cross_entropy_mean(batch: Batch) -> Outputs:
    return _losses(batch, 1.0 / batch.size)


@triton.jit
def _constant_factor(x, y, N, FACTOR: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + cols, mask=cols < N, other=0.0)
    tl.store(y + row * N + cols, value * FACTOR, mask=cols < N)


@case(right=False, why="a factor by the batch is compiled into each variant")
def constant_factor(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _constant_factor[(batch.size,)](x, y, N, 1.0 / batch.size, BLOCK=32)
    return y


@triton.jit
def _embedding(ids, table, y, V, N, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    index = tl.load(ids + token)
    cols = tl.arange(0, BLOCK)
    mask = (index >= 0) & (index < V)
    value = tl.load(table + index * N + cols, mask=(cols < N) & mask, other=0.0)
    tl.store(y + token * N + cols, value, mask=cols < N)


@case(right=True, why="a table's row by the token, zeros for tokens outside")
def embedding(batch: Batch) -> Outputs:
    ids, y = batch.integers(-2, 12, dtype=torch.int64), batch.result(N)
    _embedding[(batch.size,)](ids, shared(10, N), y, 10, N, BLOCK=32)
    return y


@triton.jit
def _hashed(x, y, N, OWN: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + cols, mask=cols < N, other=0)
    key = value.to(tl.uint32) if OWN else (row * N + cols).to(tl.uint32)
    noise = ((key * 2654435761) >> 16) & 0xFF
    tl.store(y + row * N + cols, value + noise.to(tl.int32), mask=cols < N)


@case(right=True, why="noise by a hash of the row's own data")
def hash_of_data(batch: Batch) -> Outputs:
    x, y = batch.integers(-99, 99, N), batch.result(N, dtype=torch.int32)
    _hashed[(batch.size,)](x, y, N, OWN=True, BLOCK=32)
    return y


@case(right=False, why="noise by a hash of the element's place")
def hash_of_place(batch: Batch) -> Outputs:
    x, y = batch.integers(-99, 99, N), batch.result(N, dtype=torch.int32)
    _hashed[(batch.size,)](x, y, N, OWN=False, BLOCK=32)
    return y


@triton.jit
def _newton(x, y, PARITY: tl.constexpr):
    row = tl.program_id(0)
    value = tl.abs(tl.load(x + row)) + 1.0
    root = value
    steps = 0
    limit = 20 + row % PARITY
    while (tl.abs(root * root - value) > 1e-7) & (steps < limit):
        root = 0.5 * (root + value / root)
        steps += 1
    tl.store(y + row, root)


@case(right=True, why="a loop that ends by the row's own value")
def newton(batch: Batch) -> Outputs:
    x, y = batch.floats(), batch.result()
    _newton[(batch.size,)](x, y, 1)
    return y


@triton.jit
def _odd_steps(x, y):
    row = tl.program_id(0)
    value = tl.load(x + row)
    left = row & 1
    while left > 0:
        value = value * 1.5
        left -= 1
    tl.store(y + row, value)


@case(right=False, why="odd rows take a step of a while loop")
def while_of_odd_rows(batch: Batch) -> Outputs:
    x, y = batch.floats(), batch.result()
    _odd_steps[(batch.size,)](x, y)
    return y


@triton.jit
def _block_pointer(x, y, M, N, AHEAD: tl.constexpr, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    source = tl.make_block_ptr(x, (M, N), (N, 1), (row, 0), (1, BLOCK), (1, 0))
    target = tl.make_block_ptr(y, (M, N), (N, 1), (row, 0), (1, BLOCK), (1, 0))
    value = tl.load(source, boundary_check=(0, 1), padding_option="zero")
    if AHEAD:
        source = tl.advance(source, (AHEAD, 0))
        value += tl.load(source, boundary_check=(0, 1), padding_option="zero")
    tl.store(target, value / tl.sum(tl.abs(value), 1)[:, None], boundary_check=(0, 1))


@case(right=True, why="block pointers to one row")
def block_pointer(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _block_pointer[(batch.size,)](x, y, batch.size, N, 0, BLOCK=32)
    return y


@case(right=False, why="a block pointer continues with the next row")
def block_pointer_ahead(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _block_pointer[(batch.size,)](x, y, batch.size, N, 1, BLOCK=32)
    return y


@triton.jit
def _descriptor(x, y, M, N: tl.constexpr, ROWS: tl.constexpr, OFFSET: tl.constexpr):
    source = tl.make_tensor_descriptor(x, (M, N), (N, 1), (ROWS, N))
    target = tl.make_tensor_descriptor(y, (M, N), (N, 1), (ROWS, N))
    first = tl.program_id(0) * ROWS
    value = source.load([first + OFFSET, 0])
    target.store([first, 0], value / tl.sum(tl.abs(value), 1)[:, None])


@case(right=True, why="descriptors of a tile of rows")
def descriptor(batch: Batch) -> Outputs:
    x, y = batch.floats(16), batch.result(16)
    _descriptor[(triton.cdiv(batch.size, 4),)](x, y, batch.size, 16, 4, 0)
    return y


@case(right=False, why="a descriptor reads a row further than it stores")
def descriptor_shifted(batch: Batch) -> Outputs:
    x, y = batch.floats(16), batch.result(16)
    _descriptor[(triton.cdiv(batch.size, 4),)](x, y, batch.size, 16, 4, 1)
    return y


@triton.jit(noinline=True)
def _total(x, row, N, BLOCK: tl.constexpr):
    cols = tl.arange(0, BLOCK)
    return tl.sum(tl.abs(tl.load(x + row * N + cols, mask=cols < N, other=0.0)))


@triton.jit
def _with_function(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + cols, mask=cols < N, other=0.0)
    tl.store(y + row * N + cols, value / _total(x, row, N, BLOCK), mask=cols < N)


@case(right=True, why="a function that is not inlined")
def noinline_function(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _with_function[(batch.size,)](x, y, N, BLOCK=32)
    return y


@triton.jit
def _reshaped(x, y, M, MIXED: tl.constexpr, ROWS: tl.constexpr, COLUMNS: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    places = rows[:, None] * COLUMNS + tl.arange(0, COLUMNS)[None, :]
    value = tl.load(x + places, mask=rows[:, None] < M, other=0.0)
    if MIXED:
        total = tl.sum(tl.reshape(value, (COLUMNS // 2, 2, ROWS)), 0)
        total = tl.sum(total, 0)
    else:
        total = tl.sum(tl.sum(tl.reshape(value, (ROWS, COLUMNS // 4, 4)), 2), 1)
    tl.store(y + rows, total, mask=rows < M)


@case(right=True, why="a row is summed in fours")
def sum_in_fours(batch: Batch) -> Outputs:
    x, y = batch.floats(16), batch.result()
    _reshaped[(triton.cdiv(batch.size, 4),)](x, y, batch.size, False, 4, 16)
    return y


@case(right=False, why="a tile is reshaped across its rows")
def sum_across_reshape(batch: Batch) -> Outputs:
    x, y = batch.floats(16), batch.result()
    _reshaped[(triton.cdiv(batch.size, 4),)](x, y, batch.size, True, 4, 16)
    return y


@triton.jit
def _interleaved(x, y, N, HALF: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, 2 * HALF)
    even, odd = tl.split(tl.reshape(tl.load(x + row * N + cols), (HALF, 2)))
    tl.store(y + row * N + cols, tl.interleave(odd * 0.5, even - odd))


@case(right=True, why="pairs of a row are split and joined")
def interleaved_pairs(batch: Batch) -> Outputs:
    x, y = batch.floats(16), batch.result(16)
    _interleaved[(batch.size,)](x, y, 16, 8)
    return y


@triton.jit
def _negative_division(x, y, M, N, TRUNCATED: tl.constexpr, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK) - M * N
    row = offsets // N + M if TRUNCATED else (offsets + M * N) // N
    column = offsets + M * N - row * N
    mask = (offsets < 0) & (column >= 0)
    value = tl.load(x + row * N + column, mask=mask, other=0.0)
    tl.store(y + row * N + column, value * 3.0, mask=mask)


@case(right=True, why="a quotient of a negative number is cut: each row has its first column only")
def cut_division(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    grid = (triton.cdiv(batch.size * N, 64),)
    _negative_division[grid](x, y, batch.size, N, TRUNCATED=True, BLOCK=64)
    return y


@case(right=True, why="a quotient of a number that is made positive first")
def positive_division(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    grid = (triton.cdiv(batch.size * N, 64),)
    _negative_division[grid](x, y, batch.size, N, TRUNCATED=False, BLOCK=64)
    return y


@triton.jit
def _inline(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + cols, mask=cols < N, other=0.0)
    half = tl.inline_asm_elementwise(
        "mul.f32 $0, $1, 0f3F000000;", "=f,f", [value], dtype=tl.float32, is_pure=True, pack=1
    )
    tl.store(y + row * N + cols, half, mask=cols < N)


@case(right=True, why="inline assembly on each element", read=True)
def inline_assembly(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _inline[(batch.size,)](x, y, N, BLOCK=32)
    return y


@triton.jit
def _previous_residual(x, y, N, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, BLOCK)
    value = tl.load(x + row * N + cols, mask=cols < N, other=0.0)
    before = tl.load(x + (row - 1) * N + cols, mask=(cols < N) & (row > 0), other=0.0)
    tl.store(y + row * N + cols, value - 1e-30 * before, mask=cols < N)


@case(right=False, why="a tiny share of the row before, which random data do not show", read=True)
def tiny_share_of_neighbor(batch: Batch) -> Outputs:
    x, y = batch.floats(N), batch.result(N)
    _previous_residual[(batch.size,)](x, y, N, BLOCK=32)
    return y


CASES = [value for value in list(globals().values()) if type(value).__name__ == "Case"]
