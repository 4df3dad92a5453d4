"""Matrix product with an optional bias; the same kernel computes both gradients."""

import torch
import triton
import triton.language as tl

BLOCK_ROWS, BLOCK_COLUMNS, BLOCK_INNER = 32, 32, 32


@triton.jit
def matmul_kernel(
    left,
    right,
    bias,
    out,
    rows,
    columns,
    inner,
    left_row,
    left_inner,
    right_inner,
    right_column,
    HAS_BIAS: tl.constexpr,
    BLOCK_M: tl.constexpr,
    BLOCK_N: tl.constexpr,
    BLOCK_K: tl.constexpr,
):
    """Compute one BLOCK_M x BLOCK_N tile of out = left @ right (+ bias) per program."""
    row = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    column = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    step = tl.arange(0, BLOCK_K)
    row_inside = row[:, None] < rows
    column_inside = column[None, :] < columns
    total = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, inner, BLOCK_K):
        k = start + step
        left_tile = tl.load(
            left + row[:, None] * left_row + k[None, :] * left_inner,
            mask=row_inside & (k[None, :] < inner),
            other=0.0,
        )
        right_tile = tl.load(
            right + k[:, None] * right_inner + column[None, :] * right_column,
            mask=(k[:, None] < inner) & column_inside,
            other=0.0,
        )
        total += tl.dot(left_tile, right_tile, input_precision="ieee")
    if HAS_BIAS:
        total += tl.load(bias + column, mask=column < columns, other=0.0)[None, :]
    tl.store(out + row[:, None] * columns + column[None, :], total, mask=row_inside & column_inside)


def matmul(
    left: torch.Tensor, right: torch.Tensor, bias: torch.Tensor | None = None
) -> torch.Tensor:
    """Return left (rows, inner) @ right (inner, columns) + bias (columns,), of any strides."""
    rows, inner = left.shape
    columns = right.shape[1]
    out = torch.empty((rows, columns), device=left.device, dtype=left.dtype)
    grid = (triton.cdiv(rows, BLOCK_ROWS), triton.cdiv(columns, BLOCK_COLUMNS))
    matmul_kernel[grid](
        left,
        right,
        out if bias is None else bias,
        out,
        rows,
        columns,
        inner,
        left.stride(0),
        left.stride(1),
        right.stride(0),
        right.stride(1),
        HAS_BIAS=bias is not None,
        BLOCK_M=BLOCK_ROWS,
        BLOCK_N=BLOCK_COLUMNS,
        BLOCK_K=BLOCK_INNER,
    )
    return out


class Linear(torch.autograd.Function):
    """x @ weight + bias for x (rows, inner), weight (inner, columns) and bias (columns,)."""

    @staticmethod
    def forward(ctx, x, weight, bias):
        ctx.save_for_backward(x, weight)
        return matmul(x, weight, bias)

    @staticmethod
    def backward(ctx, gradient):
        x, weight = ctx.saved_tensors
        gradient = gradient.contiguous()
        return matmul(gradient, weight.t()), matmul(x.t(), gradient), gradient.sum(0)
