"""Fused causal attention: online softmax forward, recomputed scores backward."""

import torch
import triton
import triton.language as tl

BLOCK = 16


@triton.jit
def attention_forward(
    query,
    key,
    value,
    out,
    log_sum_out,
    batch_stride,
    head_stride,
    time_stride,
    heads,
    length,
    width,
    scale,
    BLOCK_T: tl.constexpr,
    BLOCK_W: tl.constexpr,
):
    """Attention of BLOCK_T queries of one head, per program; keys after a query are masked."""
    batch = tl.program_id(1) // heads
    head = tl.program_id(1) % heads
    base = batch * batch_stride + head * head_stride
    out_base = (batch * length * heads + head) * width
    time = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    lane = tl.arange(0, BLOCK_W)
    lane_inside = lane[None, :] < width
    query_inside = (time[:, None] < length) & lane_inside
    q = tl.load(
        query + base + time[:, None] * time_stride + lane[None, :], mask=query_inside, other=0.0
    )
    largest = tl.full((BLOCK_T,), -float("inf"), dtype=tl.float32)
    total = tl.zeros((BLOCK_T,), dtype=tl.float32)
    gathered = tl.zeros((BLOCK_T, BLOCK_W), dtype=tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BLOCK_T, BLOCK_T):
        other = start + tl.arange(0, BLOCK_T)
        offset = base + other[:, None] * time_stride + lane[None, :]
        inside = (other[:, None] < length) & lane_inside
        k = tl.load(key + offset, mask=inside, other=0.0)
        v = tl.load(value + offset, mask=inside, other=0.0)
        score = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        score = tl.where(other[None, :] <= time[:, None], score, -float("inf"))
        new_largest = tl.maximum(largest, tl.max(score, axis=1))
        weight = tl.exp(score - new_largest[:, None])
        correction = tl.exp(largest - new_largest)
        total = total * correction + tl.sum(weight, axis=1)
        gathered = gathered * correction[:, None] + tl.dot(weight, v, input_precision="ieee")
        largest = new_largest
    tl.store(
        out + out_base + time[:, None] * heads * width + lane[None, :],
        gathered / total[:, None],
        mask=query_inside,
    )
    tl.store(
        log_sum_out + tl.program_id(1) * length + time, largest + tl.log(total), mask=time < length
    )


@triton.jit
def attention_backward_query(
    query,
    key,
    value,
    out,
    gradient,
    log_sum_in,
    query_out,
    delta_out,
    batch_stride,
    head_stride,
    time_stride,
    heads,
    length,
    width,
    scale,
    BLOCK_T: tl.constexpr,
    BLOCK_W: tl.constexpr,
):
    """Gradient of BLOCK_T queries, per program; stores delta = sum(out * gradient) for the next."""
    batch = tl.program_id(1) // heads
    head = tl.program_id(1) % heads
    base = batch * batch_stride + head * head_stride
    out_base = (batch * length * heads + head) * width
    time = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    lane = tl.arange(0, BLOCK_W)
    lane_inside = lane[None, :] < width
    inside = (time[:, None] < length) & lane_inside
    offset = base + time[:, None] * time_stride + lane[None, :]
    out_offset = out_base + time[:, None] * heads * width + lane[None, :]
    q = tl.load(query + offset, mask=inside, other=0.0)
    upstream = tl.load(gradient + out_offset, mask=inside, other=0.0)
    delta = tl.sum(upstream * tl.load(out + out_offset, mask=inside, other=0.0), axis=1)
    tl.store(delta_out + tl.program_id(1) * length + time, delta, mask=time < length)
    log_sum = tl.load(log_sum_in + tl.program_id(1) * length + time, mask=time < length, other=0.0)
    result = tl.zeros((BLOCK_T, BLOCK_W), dtype=tl.float32)
    for start in range(0, (tl.program_id(0) + 1) * BLOCK_T, BLOCK_T):
        other = start + tl.arange(0, BLOCK_T)
        other_offset = base + other[:, None] * time_stride + lane[None, :]
        other_inside = (other[:, None] < length) & lane_inside
        k = tl.load(key + other_offset, mask=other_inside, other=0.0)
        v = tl.load(value + other_offset, mask=other_inside, other=0.0)
        score = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        causal = other[None, :] <= time[:, None]
        weight = tl.where(causal, tl.exp(score - log_sum[:, None]), 0.0)
        weight_gradient = tl.dot(upstream, tl.trans(v), input_precision="ieee")
        score_gradient = weight * (weight_gradient - delta[:, None]) * scale
        result += tl.dot(score_gradient, k, input_precision="ieee")
    tl.store(query_out + offset, result, mask=inside)


@triton.jit
def attention_backward_key_value(
    query,
    key,
    value,
    gradient,
    log_sum_in,
    delta_in,
    key_out,
    value_out,
    batch_stride,
    head_stride,
    time_stride,
    heads,
    length,
    width,
    scale,
    BLOCK_T: tl.constexpr,
    BLOCK_W: tl.constexpr,
):
    """Gradients of BLOCK_T keys and values, per program, from all queries not before them."""
    batch = tl.program_id(1) // heads
    head = tl.program_id(1) % heads
    base = batch * batch_stride + head * head_stride
    out_base = (batch * length * heads + head) * width
    time = tl.program_id(0) * BLOCK_T + tl.arange(0, BLOCK_T)
    lane = tl.arange(0, BLOCK_W)
    lane_inside = lane[None, :] < width
    inside = (time[:, None] < length) & lane_inside
    offset = base + time[:, None] * time_stride + lane[None, :]
    k = tl.load(key + offset, mask=inside, other=0.0)
    v = tl.load(value + offset, mask=inside, other=0.0)
    key_gradient = tl.zeros((BLOCK_T, BLOCK_W), dtype=tl.float32)
    value_gradient = tl.zeros((BLOCK_T, BLOCK_W), dtype=tl.float32)
    for start in range(tl.program_id(0) * BLOCK_T, length, BLOCK_T):
        later = start + tl.arange(0, BLOCK_T)
        row_inside = later < length
        later_inside = row_inside[:, None] & lane_inside
        q = tl.load(
            query + base + later[:, None] * time_stride + lane[None, :],
            mask=later_inside,
            other=0.0,
        )
        upstream = tl.load(
            gradient + out_base + later[:, None] * heads * width + lane[None, :],
            mask=later_inside,
            other=0.0,
        )
        row = tl.program_id(1) * length + later
        log_sum = tl.load(log_sum_in + row, mask=row_inside, other=0.0)
        delta = tl.load(delta_in + row, mask=row_inside, other=0.0)
        score = tl.dot(q, tl.trans(k), input_precision="ieee") * scale
        causal = (time[None, :] <= later[:, None]) & row_inside[:, None]
        weight = tl.where(causal, tl.exp(score - log_sum[:, None]), 0.0)
        value_gradient += tl.dot(tl.trans(weight), upstream, input_precision="ieee")
        weight_gradient = tl.dot(upstream, tl.trans(v), input_precision="ieee")
        score_gradient = weight * (weight_gradient - delta[:, None]) * scale
        key_gradient += tl.dot(tl.trans(score_gradient), q, input_precision="ieee")
    tl.store(key_out + offset, key_gradient, mask=inside)
    tl.store(value_out + offset, value_gradient, mask=inside)


class CausalAttention(torch.autograd.Function):
    """Causal attention of a contiguous tensor (batch, length, 3, heads, width).

    The axis of 3 has queries, keys and values. The result is (batch, length, heads, width).
    """

    @staticmethod
    def forward(ctx, packed):
        batch, length, _, heads, width = packed.shape
        query, key, value = packed.unbind(2)
        out = torch.empty((batch, length, heads, width), device=packed.device, dtype=packed.dtype)
        log_sum = torch.empty((batch * heads, length), device=packed.device)
        attention_forward[(triton.cdiv(length, BLOCK), batch * heads)](
            query,
            key,
            value,
            out,
            log_sum,
            query.stride(0),
            query.stride(2),
            query.stride(1),
            heads,
            length,
            width,
            width**-0.5,
            BLOCK_T=BLOCK,
            BLOCK_W=max(16, triton.next_power_of_2(width)),
        )
        ctx.save_for_backward(packed, out, log_sum)
        return out

    @staticmethod
    def backward(ctx, gradient):
        packed, out, log_sum = ctx.saved_tensors
        gradient = gradient.contiguous()
        batch, length, _, heads, width = packed.shape
        query, key, value = packed.unbind(2)
        packed_gradient = torch.empty_like(packed)
        query_gradient, key_gradient, value_gradient = packed_gradient.unbind(2)
        delta = torch.empty_like(log_sum)
        grid = (triton.cdiv(length, BLOCK), batch * heads)
        sizes = (query.stride(0), query.stride(2), query.stride(1), heads, length, width)
        blocks = {"BLOCK_T": BLOCK, "BLOCK_W": max(16, triton.next_power_of_2(width))}
        attention_backward_query[grid](
            query,
            key,
            value,
            out,
            gradient,
            log_sum,
            query_gradient,
            delta,
            *sizes,
            width**-0.5,
            **blocks,
        )
        attention_backward_key_value[grid](
            query,
            key,
            value,
            gradient,
            log_sum,
            delta,
            key_gradient,
            value_gradient,
            *sizes,
            width**-0.5,
            **blocks,
        )
        return packed_gradient
