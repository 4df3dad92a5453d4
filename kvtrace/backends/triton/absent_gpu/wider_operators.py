"""Operators that torch has for more types on a GPU than on the CPU, built from CPU operators.

Each computes in the wider type that a GPU accumulates in, and rounds once, as a GPU does.
"""

from collections.abc import Callable
from typing import Any

import torch

Operator = Callable[..., Any]


def wider_operators(run: Operator) -> dict[str, Operator]:
    """Return the operators by their names in torch.

    Args:
        run: A function that runs its first argument, an operator of the CPU, on device tensors.

    """
    aten = torch.ops.aten
    operators = {
        "_softmax": _softmax(run, aten._softmax.default),
        "_log_softmax": _softmax(run, aten._log_softmax.default),
        "_softmax_backward_data": _softmax_backward(run, aten._softmax_backward_data.default),
        "_log_softmax_backward_data": _softmax_backward(
            run, aten._log_softmax_backward_data.default
        ),
        "histc": _histogram(run),
    }
    for name in ("mm", "bmm", "addmm", "baddbmm"):
        packet = getattr(aten, name)
        for overload in {"dtype", "dtype_out"}.intersection(packet.overloads()):
            operators[f"{name}.{overload}"] = _product(run, packet.default)
    return operators


def _softmax(run: Operator, plain: Any) -> Operator:
    """Return a softmax whose result may be in float32 for an input in half precision."""

    def softmax(scores: Any, dim: int, half_to_float: bool) -> Any:
        return run(plain, scores.float() if half_to_float else scores, dim, False)

    return softmax


def _softmax_backward(run: Operator, plain: Any) -> Operator:
    """Return the backward of softmax, with a result of the input's type."""

    def backward(grad: Any, output: Any, dim: int, input_dtype: torch.dtype) -> Any:
        return run(plain, grad, output, dim, grad.dtype).to(input_dtype)

    return backward


def _product(run: Operator, plain: Any) -> Operator:
    """Return a matrix product whose result type is the last argument."""

    def product(*arguments: Any, out: Any = None, **named: Any) -> Any:
        *matrices, dtype = arguments
        result = run(plain, *(matrix.to(dtype) for matrix in matrices), **named)
        return result if out is None else out.copy_(result)

    return product


def _histogram(run: Operator) -> Operator:
    """Return a histogram of integers, computed in float64, which is exact below 2**53."""

    def histogram(values: Any, bins: int = 100, low: float = 0, high: float = 0) -> Any:
        wide = values if values.is_floating_point() else values.double()
        return run(torch.ops.aten.histc.default, wide, bins, low, high).to(values.dtype)

    return histogram
