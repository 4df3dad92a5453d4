"""Operators that torch has for GPUs alone, or for more types there, built from CPU operators.

Each computes in the wider type that a GPU accumulates in, and rounds once, as a GPU does.
"""

from collections.abc import Callable
from typing import Any, Final

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


# Cells of recurrent networks, which torch has for GPUs in one operator and for the CPU in several.
#
# Gates are in torch's order. LSTM: input, forget, cell, output; GRU: reset, update, new.
# `workspace`, the values that a cell saves for its backward, is read by the backward functions here
# alone.


def _with_biases(gates: Any, hidden: Any, input_bias: Any, hidden_bias: Any) -> tuple[Any, Any]:
    if input_bias is None:
        return gates, hidden
    return gates + input_bias, hidden + hidden_bias


def _lstm(
    gates: Any, hidden: Any, cx: Any, input_bias: Any = None, hidden_bias: Any = None
) -> tuple[Any, Any, Any]:
    gates, hidden = _with_biases(gates, hidden, input_bias, hidden_bias)
    i, f, g, o = (gates + hidden).chunk(4, 1)
    i, f, g, o = i.sigmoid(), f.sigmoid(), g.tanh(), o.sigmoid()
    cy = f * cx + i * g
    return o * cy.tanh(), cy, torch.cat((i, f, g, o), 1)


def _lstm_backward(
    grad_hy: Any, grad_cy: Any, cx: Any, cy: Any, workspace: Any, has_bias: bool
) -> tuple[Any, Any, Any]:
    i, f, g, o = workspace.chunk(4, 1)
    grad_hy = torch.zeros_like(cy) if grad_hy is None else grad_hy
    grad_cy = torch.zeros_like(cy) if grad_cy is None else grad_cy
    tanh_cy = cy.tanh()
    inner = grad_cy + grad_hy * o * (1 - tanh_cy * tanh_cy)
    grads = (
        inner * g * i * (1 - i), inner * cx * f * (1 - f), inner * i * (1 - g * g),
        grad_hy * tanh_cy * o * (1 - o),
    )  # fmt: skip
    gates = torch.cat(grads, 1)
    return gates, inner * f, gates.sum(0) if has_bias else None


def _gru(
    gates: Any, hidden: Any, hx: Any, input_bias: Any = None, hidden_bias: Any = None
) -> tuple[Any, Any]:
    gates, hidden = _with_biases(gates, hidden, input_bias, hidden_bias)
    (ir, iz, i), (hr, hz, h) = gates.chunk(3, 1), hidden.chunk(3, 1)
    r, z = (ir + hr).sigmoid(), (iz + hz).sigmoid()
    n = (i + r * h).tanh()
    return n + z * (hx - n), torch.cat((r, z, n, hx, h), 1)


def _gru_backward(grad_hy: Any, workspace: Any, has_bias: bool) -> tuple[Any, ...]:
    r, z, n, hx, h = workspace.chunk(5, 1)
    new_gate_grad = grad_hy * (1 - z) * (1 - n * n)
    reset, update = new_gate_grad * h * r * (1 - r), grad_hy * (hx - n) * z * (1 - z)
    gates = torch.cat((reset, update, new_gate_grad), 1)
    hidden = torch.cat((reset, update, new_gate_grad * r), 1)
    biases = (gates.sum(0), hidden.sum(0)) if has_bias else (None, None)
    return gates, hidden, grad_hy * z, *biases


#: Functions by the names of torch's operators.
CELLS: Final = {
    "_thnn_fused_lstm_cell": _lstm,
    "_thnn_fused_lstm_cell_backward_impl": _lstm_backward,
    "_thnn_fused_gru_cell": _gru,
    "_thnn_fused_gru_cell_backward": _gru_backward,
}
