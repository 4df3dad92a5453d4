"""Right candidates for the references that those of this folder deceive about."""

import torch
import triton
import triton.language as tl
from beyond import _Relu, counted_kernel
from kernels import flat, leaky_kernel, normed, relu_of, scaled_kernel

_count = torch.zeros(1, dtype=torch.int32)


@triton.jit
def roots_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.sqrt_rn(tl.load(x + i, mask=i < n, other=0.0)), mask=i < n)


def relu(x):
    """relu: launches a right kernel."""
    return relu_of(x)


def with_its_gradient(x):
    """relu: differentiates, too."""
    return _Relu.apply(x)


class _ByTorch(_Relu):
    @staticmethod
    def backward(ctx, gradient):
        (x,) = ctx.saved_tensors
        return gradient * (x > 0)


def with_a_gradient_by_pytorch(x):
    """relu: PyTorch differentiates."""
    return _ByTorch.apply(x)


def counts_from_zero(x):
    """relu: counts programs of each call."""
    _count.zero_()
    return flat(counted_kernel, x, _count)


def layer_norm(x, weight, bias):
    """at_start.layer_norm: takes weight and bias."""
    return normed(x, weight.contiguous(), bias.contiguous(), 2)


class Normed(torch.nn.Module):
    """at_start.Normed: has weight and bias under names of its own."""

    def __init__(self):
        super().__init__()
        self.gamma = torch.nn.Parameter(torch.ones(130))
        self.beta = torch.nn.Parameter(torch.zeros(130))

    def forward(self, x, weight, bias):
        return normed(x, self.gamma, self.beta, 2)


def scaled(x, factor):
    """scaled: takes the factor."""
    return flat(scaled_kernel, x, float(factor))


def leaky(x, slope):
    """leaky: takes the slope."""
    return flat(leaky_kernel, x, float(slope))


def eight_bits(x):
    """eight_bits: rounds to them."""
    return flat(scaled_kernel, x, 0.5, dtype=torch.float8_e4m3fn)


def from_eight_bits(x):
    """from_eight_bits: widens them."""
    return flat(scaled_kernel, x, 0.5, dtype=torch.float32)


def halved_in_eight_bits(x):
    """halved_in_eight_bits: widens and rounds."""
    return flat(scaled_kernel, x, 0.5)


def roots(x):
    """positive.root: takes it of positive numbers, as the reference does."""
    return flat(roots_kernel, x)
