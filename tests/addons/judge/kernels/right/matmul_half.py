"""A matrix product of halves, accumulated in float32."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(a, b, c, M, N, K, am, ak, bk, bn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        inner = start + tl.arange(0, BK)
        left = tl.load(
            a + rows[:, None] * am + inner[None, :] * ak,
            mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0,
        )  # fmt: skip
        right = tl.load(
            b + inner[:, None] * bk + columns[None, :] * bn,
            mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0,
        )  # fmt: skip
        total = tl.dot(left, right, total)
    tl.store(
        c + rows[:, None] * N + columns[None, :], total.to(c.dtype.element_ty),
        mask=(rows[:, None] < M) & (columns[None, :] < N),
    )  # fmt: skip


def matmul(a, b):
    (M, K), N = a.shape, b.shape[1]
    c = torch.empty((M, N), dtype=a.dtype, device=a.device)
    kernel[(triton.cdiv(M, 32), triton.cdiv(N, 32))](
        a, b, c, M, N, K, *a.stride(), *b.stride(), BM=32, BN=32, BK=32
    )
    return c
