"""A model in the style of KernelBench, whose reference says what it is made with."""

import torch
import triton
import triton.language as tl


@triton.jit
def kernel(x, bias, out, n, columns, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + i, mask=i < n, other=0.0)
    tl.store(out + i, value + tl.load(bias + i % columns, mask=i < n, other=0.0), mask=i < n)


class ModelNew(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.zeros(columns))

    def forward(self, x):
        x = x.contiguous()
        out = torch.empty_like(x)
        n, columns = x.numel(), x.shape[1]
        kernel[(triton.cdiv(n, 128),)](x, self.bias, out, n, columns, BLOCK=128)
        return out


class Model(torch.nn.Module):
    def __init__(self, columns):
        super().__init__()
        self.bias = torch.nn.Parameter(torch.randn(columns))

    def forward(self, x):
        return x + self.bias


def get_inputs():
    return [torch.rand(19, 40).cuda()]
