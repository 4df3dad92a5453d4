"""Kernels of public reports of 32-bit overflow, rebuilt small, and what fixed them."""

import triton
import triton.language as tl


@triton.jit
def paged(cache, table, out, stride_page, stride_token, PAGE: tl.constexpr, WIDTH: tl.constexpr):
    """vllm 47671: a page's number, loaded as 32 bits, times the stride of a page."""
    page = tl.load(table + tl.program_id(0))
    token = tl.program_id(1)
    lanes = tl.arange(0, WIDTH)
    values = tl.load(cache + (page * stride_page + token * stride_token + lanes))
    tl.store(out + (tl.program_id(0) * PAGE + token) * WIDTH + lanes, values)


@triton.jit
def paged_assumed(
    cache, table, out, stride_page, stride_token, PAGE: tl.constexpr, WIDTH: tl.constexpr
):
    page = tl.load(table + tl.program_id(0))  # kvtrace: assume 0 <= page < cache.shape[0]
    token = tl.program_id(1)
    lanes = tl.arange(0, WIDTH)
    values = tl.load(cache + (page * stride_page + token * stride_token + lanes))
    tl.store(out + (tl.program_id(0) * PAGE + token) * WIDTH + lanes, values)


@triton.jit
def paged_wrongly(
    cache, table, out, stride_page, stride_token, PAGE: tl.constexpr, WIDTH: tl.constexpr
):
    # kvtrace: assume 0 <= page < 4
    # kvtrace: assume pages are few
    page = tl.load(table + tl.program_id(0))
    token = tl.program_id(1)
    lanes = tl.arange(0, WIDTH)
    values = tl.load(cache + (page * stride_page + token * stride_token + lanes))
    tl.store(out + (tl.program_id(0) * PAGE + token) * WIDTH + lanes, values)


@triton.jit
def paged_fixed(
    cache, table, out, stride_page, stride_token, PAGE: tl.constexpr, WIDTH: tl.constexpr
):
    page = tl.load(table + tl.program_id(0)).to(tl.int64)
    token = tl.program_id(1)
    lanes = tl.arange(0, WIDTH)
    values = tl.load(cache + (page * stride_page + token * stride_token + lanes))
    tl.store(out + (tl.program_id(0).to(tl.int64) * PAGE + token) * WIDTH + lanes, values)


@triton.jit
def interleaved(cache, blocks, out, stride_token, BLOCK: tl.constexpr, DIM: tl.constexpr):
    """vllm 50427: tokens of blocks times the stride of a token, keys and values interleaved."""
    tokens = tl.load(blocks + tl.program_id(0)) * BLOCK + tl.arange(0, BLOCK)
    lanes = tl.arange(0, DIM)
    values = tl.load(cache + tokens[:, None] * stride_token + lanes[None, :])
    rows = tl.arange(0, BLOCK)[:, None] * DIM + lanes[None, :]
    tl.store(out + tl.program_id(0).to(tl.int64) * BLOCK * DIM + rows, values)


@triton.jit
def from_starts(q, starts, out, stride_token, DIM: tl.constexpr):
    """sglang 20389: where a sequence starts, loaded as 32 bits, times the stride of a token."""
    start = tl.load(starts + tl.program_id(0))
    lanes = tl.arange(0, DIM)
    tl.store(out + tl.program_id(0) * DIM + lanes, tl.load(q + start * stride_token + lanes))


@triton.jit
def gathered(cache, indices, out, tokens, stride_token, BLOCK: tl.constexpr, DIM: tl.constexpr):
    """sglang 9344: indices of tokens, loaded in a loop, times the stride of a token."""
    lanes = tl.arange(0, DIM)
    total = tl.zeros((DIM,), dtype=tl.float32)
    for start in range(0, tokens, BLOCK):
        places = start + tl.arange(0, BLOCK)
        mask = places < tokens
        where = tl.load(indices + places, mask=mask, other=0)
        values = tl.load(
            cache + where[:, None] * stride_token + lanes[None, :], mask=mask[:, None], other=0.0
        )
        total += tl.sum(values, axis=0)
    tl.store(out + lanes, total)


@triton.jit
def chunks(k, out, length, H: tl.constexpr, K: tl.constexpr, BT: tl.constexpr):
    """fla 1080: where a sequence and head start, `(batch * length * H + head) * K`, in 32 bits."""
    batch, head = tl.program_id(1) // H, tl.program_id(1) % H
    start = (batch * length * H + head) * K
    time = tl.program_id(0).to(tl.int64) * BT + tl.arange(0, BT)
    at = start + (time * H * K)[:, None] + tl.arange(0, K)[None, :]
    mask = (time < length)[:, None]
    tl.store(out + at, tl.load(k + at, mask=mask), mask=mask)


@triton.jit
def chunks_fixed(k, out, length, H: tl.constexpr, K: tl.constexpr, BT: tl.constexpr):
    batch, head = (tl.program_id(1) // H).to(tl.int64), tl.program_id(1) % H
    start = (batch * length * H + head) * K
    time = tl.program_id(0).to(tl.int64) * BT + tl.arange(0, BT)
    at = start + (time * H * K)[:, None] + tl.arange(0, K)[None, :]
    mask = (time < length)[:, None]
    tl.store(out + at, tl.load(k + at, mask=mask), mask=mask)


@triton.jit
def packed(k, out, starts, H: tl.constexpr, K: tl.constexpr):
    """fla 818: where a sequence of many starts, made 32 bits, times heads and dim."""
    first = tl.load(starts + tl.program_id(0)).to(tl.int32)
    lanes = tl.arange(0, K)
    values = tl.load(k + first * H * K + lanes)
    tl.store(out + tl.program_id(0) * K + lanes, values)


@triton.jit
def rows_of(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    tl.store(out + row * stride + lanes, tl.load(x + row * stride + lanes, mask=mask), mask=mask)


@triton.jit
def rows_of_fixed(x, out, stride, columns, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    lanes = tl.arange(0, BLOCK)
    mask = lanes < columns
    tl.store(out + row * stride + lanes, tl.load(x + row * stride + lanes, mask=mask), mask=mask)


@triton.jit
def spread(index, out, n, BLOCK: tl.constexpr):
    """The index tensor grows along with what wraps around, beyond what memory holds."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    shift = tl.load(index + i, mask=i < n, other=0)
    tl.store(out + (i * 3 + shift), i, mask=i < n)
