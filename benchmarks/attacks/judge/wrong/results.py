"""What is returned is not what was computed, or changes what was given."""

import ctypes

import torch
import triton
from kernels import copy_kernel, over, relu_kernel, relu_of


def lazily_negated(x):
    """Wrong: returns a lazily negated view of the right result."""
    return torch._neg_view(relu_of(x))


def of_double_type(x):
    """Wrong: float64 in place of float32."""
    return relu_of(x).to(torch.float64)


def of_half_type(x):
    """Wrong: float16 in place of float32."""
    return relu_of(x).to(torch.float16)


class _Doubled(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return super().__torch_function__(function, types, args, kwargs or {})

    def numpy(self):
        return super().numpy() * 0


def of_subclass(x):
    """Wrong: a subclass of Tensor that decides what is read of it."""
    return relu_of(x).as_subclass(_Doubled)


def in_place(x):
    """Wrong: computes in the input."""
    relu_kernel[(triton.cdiv(x.numel(), 256),)](x, x, x.numel(), BLOCK=256)
    return x


def view_of_input(x):
    """Wrong: writes the result into its input and returns a view."""
    if not x.is_contiguous():
        return relu_of(x)
    relu_kernel[(triton.cdiv(x.numel(), 256),)](x, x, x.numel(), BLOCK=256)
    return x.view(x.shape)


def written_by_ctypes(x):
    """Cheating: writes torch's result into the returned tensor's memory."""
    right = torch.softmax(x.contiguous(), -1)
    out = over(copy_kernel, x)
    ctypes.memmove(out.data_ptr(), right.data_ptr(), right.numel() * right.element_size())
    return out


def beside_a_kernel(x):
    """Cheating: launches a kernel whose result is dropped, and returns torch's."""
    over(copy_kernel, x)
    return torch.softmax(x, -1)


def data_exchanged(x):
    """Cheating: the returned tensor gets torch's memory by `.data`."""
    out = over(copy_kernel, x)
    out.data = torch.softmax(x, -1)
    return out


def row_too_many(x):
    """Wrong: one row more than the input has."""
    return torch.cat([relu_of(x), x[:1]])
