"""Fused attention forward, in the spirit of the tutorial: with pointers and with descriptors."""

import triton
import triton.language as tl


@triton.jit
def _inner(
    acc, total, largest, q, k_base, v_base, row_stride, rows, scale, low, high, length,
    BN: tl.constexpr, D: tl.constexpr, DIAGONAL: tl.constexpr,
):  # fmt: skip
    """Fold keys low..high into the running softmax."""
    columns = tl.arange(0, BN)
    depth = tl.arange(0, D)
    for start in tl.range(low, high, BN):
        start = tl.multiple_of(start, BN)
        inside = (start + columns) < length
        offset = (start + columns)[:, None] * row_stride + depth[None, :]
        k = tl.load(k_base + offset, mask=inside[:, None], other=0.0)
        score = tl.dot(q, tl.trans(k))
        if DIAGONAL:
            keep = (rows[:, None] >= (start + columns)[None, :]) & inside[None, :]
        else:
            keep = inside[None, :] & (rows[:, None] >= 0)
        score = score * scale + tl.where(keep, 0, -1.0e6)
        new_largest = tl.maximum(largest, tl.max(score, 1))
        weight = tl.math.exp2(score - new_largest[:, None])
        correction = tl.math.exp2(largest - new_largest)
        total = total * correction + tl.sum(weight, 1)
        v = tl.load(v_base + offset, mask=inside[:, None], other=0.0)
        acc = acc * correction[:, None]
        acc = tl.dot(weight.to(v.dtype), v, acc)
        largest = new_largest
    return acc, total, largest


@triton.jit
def attention(
    q, k, v, out, log_sum, scale, heads, length,
    batch_stride, head_stride, row_stride,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr, CAUSAL: tl.constexpr,
):  # fmt: skip
    """BM queries of one head; keys before the diagonal block first, then the diagonal block."""
    tile = tl.program_id(0)
    which = tl.program_id(1)
    base = (which // heads).to(tl.int64) * batch_stride + (which % heads).to(tl.int64) * head_stride
    rows = tile * BM + tl.arange(0, BM)
    depth = tl.arange(0, D)
    offset = base + rows[:, None] * row_stride + depth[None, :]
    inside = rows[:, None] < length
    block = tl.load(q + offset, mask=inside, other=0.0)
    largest = tl.zeros([BM], dtype=tl.float32) - float("inf")
    total = tl.zeros([BM], dtype=tl.float32) + 1.0
    acc = tl.zeros([BM, D], dtype=tl.float32)
    scale *= 1.44269504
    total = total * 0.0
    if CAUSAL:
        acc, total, largest = _inner(
            acc, total, largest, block, k + base, v + base, row_stride, rows, scale,
            0, tile * BM, length, BN, D, False,
        )  # fmt: skip
        acc, total, largest = _inner(
            acc, total, largest, block, k + base, v + base, row_stride, rows, scale,
            tile * BM, tl.minimum((tile + 1) * BM, length), length, BN, D, True,
        )  # fmt: skip
    else:
        acc, total, largest = _inner(
            acc, total, largest, block, k + base, v + base, row_stride, rows, scale,
            0, length, length, BN, D, False,
        )  # fmt: skip
    largest += tl.math.log2(total)
    acc = acc / total[:, None]
    tl.store(log_sum + which * length + rows, largest, mask=rows < length)
    tl.store(out + offset, acc.to(out.dtype.element_ty), mask=inside)


@triton.jit
def attention_with_descriptors(
    q, k, v, out, scale, heads, length, batch,
    BM: tl.constexpr, BN: tl.constexpr, D: tl.constexpr,
):  # fmt: skip
    """Causal attention over contiguous (batch, heads, length, D) through tensor descriptors."""
    tile = tl.program_id(0)
    first = tl.program_id(1) * length
    total_rows = batch * heads * length
    q_desc = tl.make_tensor_descriptor(q, [total_rows, D], [D, 1], [BM, D])
    k_desc = tl.make_tensor_descriptor(k, [total_rows, D], [D, 1], [BN, D])
    v_desc = tl.make_tensor_descriptor(v, [total_rows, D], [D, 1], [BN, D])
    o_desc = tl.make_tensor_descriptor(out, [total_rows, D], [D, 1], [BM, D])
    rows = tile * BM + tl.arange(0, BM)
    columns = tl.arange(0, BN)
    block = q_desc.load([first + tile * BM, 0])
    largest = tl.zeros([BM], dtype=tl.float32) - float("inf")
    total = tl.zeros([BM], dtype=tl.float32)
    acc = tl.zeros([BM, D], dtype=tl.float32)
    for start in tl.range(0, (tile + 1) * BM, BN):
        keys = k_desc.load([first + start, 0]).T
        score = tl.dot(block, keys) * (scale * 1.44269504)
        score = tl.where(rows[:, None] >= (start + columns)[None, :], score, -1.0e6)
        new_largest = tl.maximum(largest, tl.max(score, 1))
        weight = tl.math.exp2(score - new_largest[:, None])
        correction = tl.math.exp2(largest - new_largest)
        total = total * correction + tl.sum(weight, 1)
        values = v_desc.load([first + start, 0])
        acc = tl.dot(weight.to(values.dtype), values, acc * correction[:, None])
        largest = new_largest
    o_desc.store([first + tile * BM, 0], (acc / total[:, None]).to(out.dtype.element_ty))
