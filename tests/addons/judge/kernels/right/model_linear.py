"""A model in the style of KernelBench: a layer with weights of its own."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, weight, bias, out, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    rows = tl.program_id(0) * BM + tl.arange(0, BM)
    columns = tl.program_id(1) * BN + tl.arange(0, BN)
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, K, BK):
        inner = start + tl.arange(0, BK)
        left = tl.load(
            x + rows[:, None] * K + inner[None, :],
            mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0,
        )  # fmt: skip
        right = tl.load(
            weight + columns[None, :] * K + inner[:, None],
            mask=(inner[:, None] < K) & (columns[None, :] < N), other=0.0,
        )  # fmt: skip
        total += tl.dot(left, right, input_precision="ieee")
    total += tl.load(bias + columns, mask=columns < N, other=0.0)[None, :]
    tl.store(
        out + rows[:, None] * N + columns[None, :], tl.maximum(total, 0.0),
        mask=(rows[:, None] < M) & (columns[None, :] < N),
    )  # fmt: skip


class ModelNew(torch.nn.Module):
    def __init__(self, inner, outer):
        super().__init__()
        self.linear = torch.nn.Linear(inner, outer)

    def forward(self, x):
        x, weight = x.contiguous(), self.linear.weight
        out = torch.empty((x.shape[0], weight.shape[0]), dtype=x.dtype)
        (M, K), N = x.shape, weight.shape[0]
        kernel[(triton.cdiv(M, 16), triton.cdiv(N, 16))](
            x, weight, self.linear.bias, out, M, N, K, BM=16, BN=16, BK=32
        )
        return out


def get_init_inputs():
    return [70, 45]
