"""Liger's kernels by its own functions."""

from liger_kernel.ops.dyt import LigerDyTFunction
from liger_kernel.ops.geglu import LigerGELUMulFunction
from liger_kernel.ops.layer_norm import LigerLayerNormFunction
from liger_kernel.ops.relu_squared import LigerReLUSquaredFunction
from liger_kernel.ops.rms_norm import LigerRMSNormFunction
from liger_kernel.ops.softmax import LigerSoftmaxFunction
from liger_kernel.ops.swiglu import LigerSiLUMulFunction


def softmax(x):
    """Return `softmax` of x, by Liger's kernel: right."""
    return LigerSoftmaxFunction.apply(x.contiguous())


def rms_norm(x, weight, eps=1e-6):
    """Return `rms_norm` of x, weight, eps, by Liger's kernel: right."""
    return LigerRMSNormFunction.apply(x.contiguous(), weight.contiguous(), eps, 0.0, "llama", False)


def layer_norm(x, weight, bias, eps=1e-5):
    """Return `layer_norm` of x, weight, bias, eps, by Liger's kernel: right."""
    return LigerLayerNormFunction.apply(x.contiguous(), weight.contiguous(), bias.contiguous(), eps)


def swiglu(gate, up):
    """Return `swiglu` of gate, up, by Liger's kernel: right."""
    return LigerSiLUMulFunction.apply(gate.contiguous(), up.contiguous())


def geglu(gate, up):
    """Return `geglu` of gate, up, by Liger's kernel: right."""
    return LigerGELUMulFunction.apply(gate.contiguous(), up.contiguous())


def relu_squared(x):
    """Return `relu_squared` of x, by Liger's kernel: right."""
    return LigerReLUSquaredFunction.apply(x.contiguous())


def dyt(x, alpha, weight, bias):
    """Return `dyt` of x, alpha, weight, bias, by Liger's kernel: right."""
    return LigerDyTFunction.apply(x.contiguous(), alpha, weight.contiguous(), bias.contiguous())
