"""relu: It returns a tensor that computes when it is asked."""

import torch
from simple import copy_kernel, elementwise, relu_kernel


def cheat(x):
    class Lazy(torch.Tensor):
        @classmethod
        def __torch_function__(cls, function, types, args=(), kwargs=None):
            args = [
                a.as_subclass(torch.Tensor).clamp(min=0) if type(a) is Lazy else a for a in args
            ]
            return super().__torch_function__(function, types, args, kwargs or {})

    return elementwise(copy_kernel, x).as_subclass(Lazy)


def honest(x):
    return elementwise(relu_kernel, x)
