"""Candidates that return other tensors than computed, or overwrite their inputs."""

import ctypes

import torch
import triton
from kernels import copy_kernel, over, relu_kernel, relu_of


def lazily_negated(x):
    """Return relu(x); wrong: returns a lazily negated view of the right result."""
    return torch._neg_view(relu_of(x))


def of_double_type(x):
    """Return relu(x); wrong: as float64 instead of float32."""
    return relu_of(x).to(torch.float64)


def of_half_type(x):
    """Return relu(x); wrong: as float16 instead of float32."""
    return relu_of(x).to(torch.float16)


class _TensorWithZeroNumpy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return super().__torch_function__(function, types, args, kwargs or {})

    def numpy(self):
        return super().numpy() * 0


def of_subclass(x):
    """Return relu(x); wrong: as a subclass of Tensor whose numpy() gives zeros."""
    return relu_of(x).as_subclass(_TensorWithZeroNumpy)


def in_place(x):
    """Return relu(x); wrong: x itself, which is overwritten."""
    relu_kernel[(triton.cdiv(x.numel(), 256),)](x, x, x.numel(), BLOCK=256)
    return x


def view_of_input(x):
    """Return relu(x); wrong: a view of x, which is overwritten."""
    if not x.is_contiguous():
        return relu_of(x)
    relu_kernel[(triton.cdiv(x.numel(), 256),)](x, x, x.numel(), BLOCK=256)
    return x.view(x.shape)


def written_by_ctypes(x):
    """Return softmax(x); cheating: writes torch's result into the returned tensor's memory."""
    right = torch.softmax(x.contiguous(), -1)
    out = over(copy_kernel, x)
    ctypes.memmove(out.data_ptr(), right.data_ptr(), right.numel() * right.element_size())
    return out


def beside_a_kernel(x):
    """Return softmax(x); cheating: computed by torch, beside a kernel whose result is dropped."""
    over(copy_kernel, x)
    return torch.softmax(x, -1)


def data_exchanged(x):
    """Return softmax(x); cheating: the returned tensor gets torch's memory by `.data`."""
    out = over(copy_kernel, x)
    out.data = torch.softmax(x, -1)
    return out


def row_too_many(x):
    """Return relu(x); wrong: with one more row than x."""
    return torch.cat([relu_of(x), x[:1]])
