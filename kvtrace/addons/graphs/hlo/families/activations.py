"""Activations that NumPy lacks, in `kvtrace.hlo.ops`."""

import math

from kvtrace.addons.graphs.hlo.builders import operation
from kvtrace.addons.graphs.hlo.families.elementwise import in_wide_floats, like
from kvtrace.addons.graphs.hlo.primitives import (
    Operand,
    add,
    binary,
    lift,
    multiply,
    unary,
)
from kvtrace.addons.graphs.hlo.wrapper import Tensor


@operation()
@in_wide_floats
def sigmoid(x: Tensor) -> Tensor:
    """Return 1 / (1 + exp(-x))."""
    return unary("logistic", x)


@operation()
@in_wide_floats
def silu(x: Tensor) -> Tensor:
    """Return x · sigmoid(x)."""
    return multiply(x, unary("logistic", x))


@operation()
def relu(x: Operand) -> Tensor:
    """Return `x` where it is positive, else 0."""
    x = lift(x)
    return binary("maximum", x, like(x, 0))


@operation()
@in_wide_floats
def gelu(x: Tensor) -> Tensor:
    """Return the Gaussian error linear unit by its tanh formula: x · (1 + tanh(y)) / 2.

    y is √(2/π) · (x + 0.044715 · x³); see arXiv 1606.08415.
    """
    cubed = multiply(x, multiply(x, x))
    inner = add(x, multiply(like(x, 0.044715), cubed))
    tanh = unary("tanh", multiply(like(x, math.sqrt(2 / math.pi)), inner))
    return multiply(multiply(like(x, 0.5), x), add(like(x, 1.0), tanh))
