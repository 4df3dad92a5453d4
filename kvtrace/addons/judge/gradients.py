"""Calls of a reference or a candidate, which return results or the gradients of inputs.

If a candidate has no gradients, an error is raised, which does not make its results wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kvtrace.addons.judge import tensors


def results_of_call(
    function: Callable[..., Any], arguments: Sequence[Any], *, tracked: bool, cotangents: int,
    is_candidate: bool = False,
) -> list[Any]:  # fmt: skip
    """Call a function, and return its results or the gradients of its inputs.

    Args:
        function: The function, or a model.
        arguments: The inputs, then the cotangents, one for each result that is a tensor of floats.
        tracked: Inputs of floats require gradients.
        cotangents: Number of cotangents among the arguments. 0: the results are returned,
            otherwise the gradients of the inputs of floats, each tensor once.
        is_candidate: Only gradients by a `torch.autograd.Function` count, since PyTorch does not
            differentiate what kernels compute.

    Raises:
        ValueError: a result or an input has no gradient.
    """
    if not tracked:
        return tensors.results_of(function(*arguments))
    import torch

    inputs = arguments[: len(arguments) - cotangents]
    leaves = list({id(value): value for value in inputs if tensors.is_floats(value)}.values())
    try:
        for leaf in leaves:
            leaf.requires_grad_()
        with torch.enable_grad():
            results = tensors.results_of(function(*inputs))
            if not cotangents:
                return results
            float_results = [result for result in results if tensors.is_floats(result)]
            roots = [result.grad_fn for result in float_results]
            if len(float_results) != cotangents or not all(roots):
                raise ValueError("a result has no gradient")
            if is_candidate and not _has_python_function(roots):
                raise ValueError("a result has no gradient by a torch.autograd.Function")
            cotangents_ = arguments[len(inputs) :]
            if any(r.shape != c.shape for r, c in zip(float_results, cotangents_, strict=True)):
                raise ValueError("a result has another shape than the reference's")
            # `torch.autograd.grad` does the same, and imports symbolic shapes for half a second.
            gradients = torch.autograd.Variable._execution_engine.run_backward(
                tuple(float_results), tuple(cotangents_), False, False, tuple(leaves),
                allow_unreachable=True, accumulate_grad=False,
            )  # fmt: skip
    finally:
        for leaf in leaves:
            leaf.requires_grad_(False)
    if any(gradient is None for gradient in gradients):
        raise ValueError("an input has no gradient")
    return [*gradients]


def _has_python_function(roots: Sequence[Any]) -> bool:
    """Return whether the graph of gradients contains a `torch.autograd.Function` of Python.

    `roots` are the `grad_fn` of the results.
    """
    from torch.autograd.function import BackwardCFunction

    visited, pending = set(roots), [*roots]
    while pending:
        node = pending.pop()
        if isinstance(node, BackwardCFunction):
            return True
        next_nodes = {inner for inner, _ in node.next_functions if inner is not None} - visited
        visited |= next_nodes
        pending += next_nodes
    return False
