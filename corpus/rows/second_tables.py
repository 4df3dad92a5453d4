"""Kernels by a second author that find rows by tables: caches, packed sequences, experts."""

import torch
import triton
import triton.language as tl

from corpus.questions.rows import Batch, Outputs, case, shared

N, PAGE, PAGES = 16, 4, 6


@triton.jit
def paged(
    cache, table, lengths, out, M, stride_row, stride_page,
    PAGE: tl.constexpr, N: tl.constexpr, NEXT: tl.constexpr,
):  # fmt: skip
    row = tl.program_id(0)
    cols = tl.arange(0, N)
    length = tl.load(lengths + row)
    total = tl.zeros([N], tl.float32)
    for page in range(tl.cdiv(length, PAGE)):
        block = tl.load(table + (row + NEXT) % M * stride_row + page * stride_page)
        slots = page * PAGE + tl.arange(0, PAGE)
        place = (block * PAGE + tl.arange(0, PAGE))[:, None] * N + cols[None, :]
        total += tl.sum(tl.load(cache + place, mask=slots[:, None] < length, other=0.0), axis=0)
    tl.store(out + row * N + cols, total / length)


def from_pages(batch: Batch, transposed: bool, neighbor: int) -> torch.Tensor:
    """Return each row's mean over its pages, which lie anywhere in the cache."""
    pages = batch.floats(PAGES, PAGE, N)
    order = torch.randperm(batch.size * PAGES, generator=torch.Generator().manual_seed(5))
    cache = torch.empty(batch.size * PAGES, PAGE, N, device="cuda")
    cache[order] = pages.view(-1, PAGE, N)
    table = order.to("cuda", torch.int32).view(batch.size, PAGES)
    if transposed:
        table = table.t().contiguous().t()
    lengths = batch.integers(1, PAGES * PAGE + 1)
    out = batch.result(N)
    paged[(batch.size,)](
        cache, table, lengths, out, batch.size, *table.stride(), PAGE, N, neighbor
    )  # fmt: skip
    return out


@case(right=True, why="each row reads its own blocks")
def pages_of_a_row(batch: Batch) -> Outputs:
    return from_pages(batch, False, 0)


@case(right=True, why="each row reads its own blocks, by a table that lies the other way")
def pages_of_a_row_transposed(batch: Batch) -> Outputs:
    return from_pages(batch, True, 0)


@case(right=False, why="each row reads the next row's blocks")
def pages_of_the_next_row(batch: Batch) -> Outputs:
    return from_pages(batch, False, 1)


def packed(batch: Batch) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the sequences' tokens one after the other, and the start index of each sequence."""
    lengths = batch.integers(1, 20, tag=2)
    data = batch.floats(20)
    tokens = torch.cat(
        [row[: int(length)] for row, length in zip(data, lengths, strict=True)]
        + [torch.full((8,), 5.0, device=data.device)]
    )
    begins = torch.zeros(batch.size + 1, dtype=torch.int32, device="cuda")
    begins[1:] = lengths.cumsum(0)
    return tokens, begins


@triton.jit
def packed_sum(tokens, begins, out, M, HOW: tl.constexpr):
    row = tl.program_id(0)
    begin, end = tl.load(begins + row), tl.load(begins + row + 1)
    total = tl.zeros([8], tl.float32)
    lanes = tl.arange(0, 8)
    if HOW == 0:
        for first in range(begin, end, 8):
            total += tl.load(tokens + first + lanes, mask=first + lanes < end, other=0.0)
    elif HOW == 1:
        for first in range(0, end - begin, 8):
            mask = first + lanes < end - begin
            total += tl.load(tokens + begin + first + lanes, mask=mask, other=0.0)
    elif HOW == 2:
        for first in range(begin, end, 8):
            total += tl.load(tokens + first + lanes)
    elif HOW == 3:
        for first in range(begin, end, 8):
            total += tl.load(tokens + first + lanes, mask=first + lanes <= end, other=0.0)
    elif HOW == 4:
        for first in range(tl.maximum(begin - 1, 0), end, 8):
            total += tl.load(tokens + first + lanes, mask=first + lanes < end, other=0.0)
    tl.store(out + row, tl.sum(total) / (end - begin))


def of_packed(batch: Batch, how: int) -> torch.Tensor:
    """Return each sequence's mean, computed by the variant `how` of the kernel."""
    tokens, begins = packed(batch)
    out = batch.result()
    packed_sum[(batch.size,)](tokens, begins, out, batch.size, how)
    return out


@case(right=True, why="from a sequence's begin to its end")
def mean_of_a_sequence(batch: Batch) -> Outputs:
    return of_packed(batch, 0)


@case(right=True, why="as many trips as the sequence is long, from its begin")
def mean_of_a_sequence_by_length(batch: Batch) -> Outputs:
    return of_packed(batch, 1)


@case(right=False, why="the last block has no mask, and reads the next sequence")
def mean_without_a_mask(batch: Batch) -> Outputs:
    return of_packed(batch, 2)


@case(right=False, why="the mask admits the next sequence's first token")
def mean_with_one_token_more(batch: Batch) -> Outputs:
    return of_packed(batch, 3)


@case(right=False, why="the loop begins with the last token of the sequence before")
def mean_from_one_token_before(batch: Batch) -> Outputs:
    return of_packed(batch, 4)


@triton.jit
def expert(x, experts, weights, out, M, N: tl.constexpr, ROWS: tl.constexpr, FIRST: tl.constexpr):
    rows = tl.program_id(0) * ROWS + tl.arange(0, ROWS)
    cols = tl.arange(0, N)
    mask = rows[:, None] < M
    if FIRST:
        chosen = tl.load(experts + tl.program_id(0) * ROWS + tl.zeros([ROWS], tl.int32))
    else:
        chosen = tl.load(experts + rows, mask=rows < M, other=0)
    value = tl.load(x + rows[:, None] * N + cols[None, :], mask=mask, other=0.0)
    weight = tl.load(weights + chosen[:, None] * N + cols[None, :])
    tl.store(out + rows, tl.sum(value * weight, axis=1), mask=rows < M)


def by_expert(batch: Batch, first: bool) -> torch.Tensor:
    """Return each row times its expert's weights."""
    x, experts, out = batch.floats(N), batch.integers(0, 5), batch.result()
    grid = (triton.cdiv(batch.size, 4),)
    expert[grid](x, experts, shared(5, N), out, batch.size, N, 4, first)
    return out


@case(right=True, why="each row has its own expert")
def own_expert(batch: Batch) -> Outputs:
    return by_expert(batch, False)


@case(right=False, why="all rows of a tile have the expert of its first one")
def expert_of_the_first(batch: Batch) -> Outputs:
    return by_expert(batch, True)


@triton.jit
def rotated(x, positions, table, out, M, N: tl.constexpr, OWN: tl.constexpr):
    row = tl.program_id(0)
    half = tl.arange(0, N // 2)
    position = tl.load(positions + row) if OWN else row % 32
    cos = tl.load(table + position * N + half)
    sin = tl.load(table + position * N + N // 2 + half)
    one = tl.load(x + row * N + half)
    other = tl.load(x + row * N + N // 2 + half)
    tl.store(out + row * N + half, one * cos - other * sin)
    tl.store(out + row * N + N // 2 + half, other * cos + one * sin)


def rotate(batch: Batch, own: bool) -> torch.Tensor:
    """Return each row rotated by its own position, or (not `own`) by its index modulo 32."""
    x, positions, out = batch.floats(N), batch.integers(0, 32), batch.result(N)
    rotated[(batch.size,)](x, positions, shared(32, N), out, batch.size, N, own)
    return out


@case(right=True, why="each row is rotated by its own position")
def rotation_by_position(batch: Batch) -> Outputs:
    return rotate(batch, True)


@case(right=False, why="each row is rotated by its place in the batch")
def rotation_by_place(batch: Batch) -> Outputs:
    return rotate(batch, False)


@triton.jit
def block_scaled(x, scales, out, M, stride_row, stride_part, N: tl.constexpr, ROWS: tl.constexpr):
    row = tl.program_id(0)
    cols = tl.arange(0, N)
    scale = tl.load(scales + row // ROWS * stride_row + cols // 8 * stride_part)
    tl.store(out + row * N + cols, tl.load(x + row * N + cols).to(tl.float32) * scale)


@case(right=True, why="a scale for eight columns of a row, stored by columns")
def scales_by_columns(batch: Batch) -> Outputs:
    x, out = batch.floats(N, dtype=torch.float16), batch.result(N)
    scales = batch.floats(2, tag=1).t().contiguous().t()
    block_scaled[(batch.size,)](x, scales, out, batch.size, *scales.stride(), N, 1)
    return out


@case(right=False, why="a scale for four rows: that of the tile's first row")
def scales_of_four_rows(batch: Batch) -> Outputs:
    x, out = batch.floats(N, dtype=torch.float16), batch.result(N)
    scales = batch.floats(2, tag=1)[::4].contiguous()
    block_scaled[(batch.size,)](x, scales, out, batch.size, *scales.stride(), N, 4)
    return out


@triton.jit
def label_loss(x, labels, out, M, N: tl.constexpr, MEAN: tl.constexpr):
    row = tl.program_id(0)
    label = tl.load(labels + row)
    value = tl.load(x + row * N + tl.arange(0, N))
    top = tl.max(value)
    total = tl.log(tl.sum(tl.exp(value - top))) + top
    loss = total - tl.load(x + row * N + tl.maximum(label, 0))
    if MEAN:
        loss = loss / M
    tl.store(out + row, tl.where(label < 0, 0.0, loss))


def losses(batch: Batch, mean: bool) -> torch.Tensor:
    """Return each row's cross entropy, or the mean; labels of -1 are ignored."""
    x, labels, out = batch.floats(N), batch.integers(-1, N), batch.result()
    label_loss[(batch.size,)](x, labels, out, batch.size, N, mean)
    return out


@case(right=True, why="a row's own loss, or none where its label is ignored")
def loss_of_a_row(batch: Batch) -> Outputs:
    return losses(batch, False)


@case(right=False, why="a row's part of the mean of all losses")
def loss_of_the_mean(batch: Batch) -> Outputs:
    return losses(batch, True)


@triton.jit
def same_labels(labels, out, M, WIDE: tl.constexpr):
    row = tl.program_id(0)
    own = tl.load(labels + row)
    others = tl.arange(0, WIDE)
    label = tl.load(labels + others, mask=others < M, other=-1)
    tl.store(out + row, tl.sum((label == own).to(tl.int32)))


@case(right=False, why="how many rows have the same label")
def rows_of_the_same_label(batch: Batch) -> Outputs:
    labels, out = batch.integers(0, 4), batch.result(dtype=torch.int32)
    same_labels[(batch.size,)](labels, out, batch.size, 128)
    return out


@triton.jit
def attended(q, keys, positions, out, M, N: tl.constexpr, KEYS: tl.constexpr, HOW: tl.constexpr):
    row = tl.program_id(0)
    cols, places = tl.arange(0, N), tl.arange(0, KEYS)
    query = tl.load(q + row * N + cols)
    key = tl.load(keys + places[:, None] * N + cols[None, :])
    scores = tl.sum(query[None, :] * key, axis=1)
    if HOW == 0:
        seen = places <= tl.load(positions + row)
    elif HOW == 1:
        seen = places <= row
    else:
        seen = places < tl.minimum(M, KEYS)
    scores = tl.where(seen, scores, -float("inf"))
    weight = tl.exp(scores - tl.max(scores))
    total = tl.sum(weight[:, None] * key, axis=0) / tl.sum(weight)
    tl.store(out + row * N + cols, total)


def attend(batch: Batch, how: int) -> torch.Tensor:
    """Return attention of each row to 32 keys that all rows share."""
    q, positions, out = batch.floats(N), batch.integers(0, 32), batch.result(N)
    attended[(batch.size,)](q, shared(32, N), positions, out, batch.size, N, 32, how)
    return out


@case(right=True, why="a row sees the keys up to its own position")
def attention_up_to_position(batch: Batch) -> Outputs:
    return attend(batch, 0)


@case(right=False, why="a row sees the keys up to its place in the batch")
def attention_up_to_place(batch: Batch) -> Outputs:
    return attend(batch, 1)


@case(right=False, why="a row sees as many keys as there are rows")
def attention_up_to_rows(batch: Batch) -> Outputs:
    return attend(batch, 2)


CASES = [value for value in list(globals().values()) if type(value).__name__ == "Case"]
