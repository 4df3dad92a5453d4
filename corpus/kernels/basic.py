"""Kernels after the first Triton tutorials: vector addition, softmax, matrix product."""

import triton
import triton.language as tl


@triton.jit
def vector_add(x, y, out, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    mask = offsets < n
    total = tl.load(x + offsets, mask=mask) + tl.load(y + offsets, mask=mask)
    tl.store(out + offsets, total, mask=mask)


@triton.jit
def softmax(out, x, x_stride, out_stride, rows, columns, BLOCK: tl.constexpr):
    """Several rows a program, as the fused softmax tutorial's persistent form."""
    first = tl.program_id(0)
    step = tl.num_programs(0)
    for row in tl.range(first, rows, step):
        lanes = tl.arange(0, BLOCK)
        mask = lanes < columns
        values = tl.load(x + row * x_stride + lanes, mask=mask, other=-float("inf"))
        shifted = values - tl.max(values, axis=0)
        numerator = tl.exp(shifted.to(tl.float32))
        result = numerator / tl.sum(numerator, axis=0)
        tl.store(out + row * out_stride + lanes, result.to(values.dtype), mask=mask)


@triton.jit
def leaky_relu(x):
    return tl.where(x >= 0, x, 0.01 * x)


@triton.jit
def matmul(
    a, b, c, m, n, k, stride_am, stride_ak, stride_bk, stride_bn, stride_cm, stride_cn,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, GROUP: tl.constexpr,
    ACTIVATION: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Grouped ordering of tiles, row and column indices wrapped, as in the tutorial."""
    pid = tl.program_id(axis=0)
    tiles_m, tiles_n = tl.cdiv(m, BM), tl.cdiv(n, BN)
    in_group = GROUP * tiles_n
    first_m = (pid // in_group) * GROUP
    group_size = min(tiles_m - first_m, GROUP)
    pid_m = first_m + ((pid % in_group) % group_size)
    pid_n = (pid % in_group) // group_size
    rows = (pid_m * BM + tl.arange(0, BM)) % m
    columns = (pid_n * BN + tl.arange(0, BN)) % n
    inner = tl.arange(0, BK)
    a_block = a + (rows[:, None] * stride_am + inner[None, :] * stride_ak)
    b_block = b + (inner[:, None] * stride_bk + columns[None, :] * stride_bn)
    total = tl.zeros((BM, BN), dtype=tl.float32)
    for step in range(tl.cdiv(k, BK)):
        left = tl.load(a_block, mask=inner[None, :] < k - step * BK, other=0.0)
        right = tl.load(b_block, mask=inner[:, None] < k - step * BK, other=0.0)
        total = tl.dot(left, right, total, input_precision=PRECISION)
        a_block += BK * stride_ak
        b_block += BK * stride_bk
    if ACTIVATION == "leaky_relu":
        total = leaky_relu(total)
    out_rows = pid_m * BM + tl.arange(0, BM)
    out_columns = pid_n * BN + tl.arange(0, BN)
    target = c + stride_cm * out_rows[:, None] + stride_cn * out_columns[None, :]
    mask = (out_rows[:, None] < m) & (out_columns[None, :] < n)
    tl.store(target, total.to(c.dtype.element_ty), mask=mask)
