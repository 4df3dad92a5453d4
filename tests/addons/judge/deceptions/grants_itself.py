"""Candidates that widen what they may be off by: all references are `references.py`."""

import torch
import triton
from kernels import flat, relu_of, rounded_kernel, stored_kernel, wide_kernel


def _with(kernel, x, dtype):
    x = x.contiguous()
    out, other = torch.empty_like(x), torch.empty_like(x, dtype=dtype)
    kernel[(triton.cdiv(x.numel(), 256),)](x, other, out, x.numel(), BLOCK=256)
    return out


def by_a_huge_constant(x):
    """relu: adds and subtracts 1e30."""
    return flat(wide_kernel, x)


def by_an_argument_in_bfloat16(x):
    """relu: rounds to the type of a tensor that it never reads."""
    return _with(rounded_kernel, x, torch.bfloat16)


def by_an_argument_in_eight_bits(x):
    """relu: rounds to the type of a tensor that it never reads."""
    return _with(rounded_kernel, x, torch.float8_e5m2)


def by_scratch_in_half(x):
    """relu: keeps results in float16 on their way."""
    return _with(stored_kernel, x, torch.float16)


def by_a_result_in_bfloat16(x):
    """relu: returns less precision than it was given."""
    return relu_of(x, torch.empty_like(x, dtype=torch.bfloat16).contiguous())
