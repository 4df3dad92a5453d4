"""Operators that torch has for more types on a GPU than on the CPU, made of those of the CPU.

Each computes in the wider type that a GPU accumulates in, and rounds once, as a GPU does.
"""

from collections.abc import Callable
from typing import Any

import torch

Operator = Callable[..., Any]


def wider_operators(run: Operator) -> dict[str, Operator]:
    """Make them, by the names of torch's operators.

    Args:
        run: runs an operator of the CPU, the first argument, on tensors on the device.

    """
    aten = torch.ops.aten
    made = {
        "_softmax": _softmax(run, aten._softmax.default),
        "_log_softmax": _softmax(run, aten._log_softmax.default),
        "_softmax_backward_data": _backward(run, aten._softmax_backward_data.default),
        "_log_softmax_backward_data": _backward(run, aten._log_softmax_backward_data.default),
        "histc": _histogram(run),
    }
    for name in ("mm", "bmm", "addmm", "baddbmm"):
        packet = getattr(aten, name)
        for overload in {"dtype", "dtype_out"}.intersection(packet.overloads()):
            made[f"{name}.{overload}"] = _product(run, packet.default)
    return made


def _softmax(run: Operator, plain: Any) -> Operator:
    """Make a softmax whose result may be in float32 where its input is in half precision."""

    def softmax(scores: Any, dim: int, half_to_float: bool) -> Any:
        return run(plain, scores.float() if half_to_float else scores, dim, False)

    return softmax


def _backward(run: Operator, plain: Any) -> Operator:
    """Make its backward, whose result is of the input's type."""

    def backward(grad: Any, output: Any, dim: int, input_dtype: torch.dtype) -> Any:
        return run(plain, grad, output, dim, grad.dtype).to(input_dtype)

    return backward


def _product(run: Operator, plain: Any) -> Operator:
    """Make a product of matrices whose result type is the last argument."""

    def product(*arguments: Any, out: Any = None, **named: Any) -> Any:
        *matrices, dtype = arguments
        made = run(plain, *(each.to(dtype) for each in matrices), **named)
        return made if out is None else out.copy_(made)

    return product


def _histogram(run: Operator) -> Operator:
    """Make a histogram of integers; float64 holds each that is smaller than 2**53."""

    def histogram(values: Any, bins: int = 100, low: float = 0, high: float = 0) -> Any:
        wide = values if values.is_floating_point() else values.double()
        return run(torch.ops.aten.histc.default, wide, bins, low, high).to(values.dtype)

    return histogram
