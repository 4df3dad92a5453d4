"""Layer norm over the last axis, forward and backward, without atomics so that runs repeat."""

import torch
import triton
import triton.language as tl

BLOCK_ROWS, BLOCK_COLUMNS = 64, 16


@triton.jit
def layer_norm_forward(
    x, weight, bias, out, mean_out, inverse_out, columns, epsilon, BLOCK: tl.constexpr
):
    """Normalize one row per program; store its mean and 1/deviation for the backward kernels."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    value = tl.load(x + row * columns + column, mask=inside, other=0.0)
    mean = tl.sum(value, axis=0) / columns
    centered = tl.where(inside, value - mean, 0.0)
    inverse = 1.0 / tl.sqrt(tl.sum(centered * centered, axis=0) / columns + epsilon)
    scale = tl.load(weight + column, mask=inside, other=0.0)
    shift = tl.load(bias + column, mask=inside, other=0.0)
    tl.store(out + row * columns + column, centered * inverse * scale + shift, mask=inside)
    tl.store(mean_out + row, mean)
    tl.store(inverse_out + row, inverse)


@triton.jit
def layer_norm_backward_input(
    gradient, x, weight, mean_in, inverse_in, out, columns, BLOCK: tl.constexpr
):
    """Compute one row of the gradient with respect to the input per program."""
    row = tl.program_id(0)
    column = tl.arange(0, BLOCK)
    inside = column < columns
    mean = tl.load(mean_in + row)
    inverse = tl.load(inverse_in + row)
    value = tl.load(x + row * columns + column, mask=inside, other=0.0)
    normal = tl.where(inside, (value - mean) * inverse, 0.0)
    upstream = tl.load(gradient + row * columns + column, mask=inside, other=0.0)
    upstream *= tl.load(weight + column, mask=inside, other=0.0)
    along_normal = tl.sum(normal * upstream, axis=0) / columns
    along_ones = tl.sum(upstream, axis=0) / columns
    result = (upstream - normal * along_normal - along_ones) * inverse
    tl.store(out + row * columns + column, result, mask=inside)


@triton.jit
def layer_norm_backward_weight(
    gradient,
    x,
    mean_in,
    inverse_in,
    weight_out,
    bias_out,
    rows,
    columns,
    BLOCK_R: tl.constexpr,
    BLOCK_C: tl.constexpr,
):
    """Sum BLOCK_C columns over all rows per program: the gradients of weight and bias."""
    column = tl.program_id(0) * BLOCK_C + tl.arange(0, BLOCK_C)
    column_inside = column < columns
    weight_sum = tl.zeros((BLOCK_C,), dtype=tl.float32)
    bias_sum = tl.zeros((BLOCK_C,), dtype=tl.float32)
    for start in range(0, rows, BLOCK_R):
        row = start + tl.arange(0, BLOCK_R)
        row_inside = row < rows
        inside = row_inside[:, None] & column_inside[None, :]
        offset = row[:, None] * columns + column[None, :]
        upstream = tl.load(gradient + offset, mask=inside, other=0.0)
        value = tl.load(x + offset, mask=inside, other=0.0)
        mean = tl.load(mean_in + row, mask=row_inside, other=0.0)
        inverse = tl.load(inverse_in + row, mask=row_inside, other=0.0)
        weight_sum += tl.sum(upstream * (value - mean[:, None]) * inverse[:, None], axis=0)
        bias_sum += tl.sum(upstream, axis=0)
    tl.store(weight_out + column, weight_sum, mask=column_inside)
    tl.store(bias_out + column, bias_sum, mask=column_inside)


class LayerNorm(torch.autograd.Function):
    """Layer norm of x (rows, columns) with weight and bias (columns,)."""

    @staticmethod
    def forward(ctx, x, weight, bias, epsilon=1e-5):
        rows, columns = x.shape
        out = torch.empty_like(x)
        mean = torch.empty(rows, device=x.device)
        inverse = torch.empty(rows, device=x.device)
        block = triton.next_power_of_2(columns)
        layer_norm_forward[(rows,)](
            x, weight, bias, out, mean, inverse, columns, epsilon, BLOCK=block
        )
        ctx.save_for_backward(x, weight, mean, inverse)
        return out

    @staticmethod
    def backward(ctx, gradient):
        x, weight, mean, inverse = ctx.saved_tensors
        gradient = gradient.contiguous()
        rows, columns = x.shape
        input_gradient = torch.empty_like(x)
        block = triton.next_power_of_2(columns)
        layer_norm_backward_input[(rows,)](
            gradient, x, weight, mean, inverse, input_gradient, columns, BLOCK=block
        )
        weight_gradient = torch.empty_like(weight)
        bias_gradient = torch.empty_like(weight)
        layer_norm_backward_weight[(triton.cdiv(columns, BLOCK_COLUMNS),)](
            gradient,
            x,
            mean,
            inverse,
            weight_gradient,
            bias_gradient,
            rows,
            columns,
            BLOCK_R=BLOCK_ROWS,
            BLOCK_C=BLOCK_COLUMNS,
        )
        return input_gradient, weight_gradient, bias_gradient, None
