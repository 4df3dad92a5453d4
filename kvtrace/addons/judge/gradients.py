"""The call of a reference or a candidate: its results, or the gradients of its inputs.

A candidate that does not differentiate is refused by an error, which says nothing about its
results.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kvtrace.addons.judge import tensors


def results_of_call(
    function: Callable[..., Any], arguments: Sequence[Any], *, tracked: bool, cotangents: int,
    is_candidate: bool = False,
) -> list[Any]:  # fmt: skip
    """Call a function, and return its results, or gradients of its inputs.

    Args:
        function: What is called.
        arguments: Its inputs, and behind them the cotangents, one for each result that is a tensor
            of floats.
        tracked: Whether its inputs of floats require gradients.
        cotangents: How many of the arguments are cotangents. 0: the function's results are
            returned, otherwise the gradients of its inputs of floats, each tensor once.
        is_candidate: Whether only gradients by a `torch.autograd.Function` count; others do not
            know what kernels wrote.

    Raises:
        ValueError: a result or an input has no gradient.

    """
    if not tracked:
        return tensors.results_of(function(*arguments))
    import torch

    inputs = arguments[: len(arguments) - cotangents]
    distinct = list({id(each): each for each in inputs if tensors.is_floats(each)}.values())
    try:
        for each in distinct:
            each.requires_grad_()
        with torch.enable_grad():
            results = tensors.results_of(function(*inputs))
            if not cotangents:
                return results
            values = [each for each in results if tensors.is_floats(each)]
            roots = [each.grad_fn for each in values]
            if len(values) != cotangents or not all(roots):
                raise ValueError("a result has no gradient")
            if is_candidate and not _have_function(roots):
                raise ValueError("a result has no gradient of the program's")
            gradients = torch.autograd.grad(
                values, distinct, arguments[len(inputs) :], allow_unused=True
            )
    finally:
        for each in distinct:
            each.requires_grad_(False)
    if any(each is None for each in gradients):
        raise ValueError("an input has no gradient")
    return [*gradients]


def _have_function(roots: Sequence[Any]) -> bool:
    """Whether a `torch.autograd.Function` of Python is in the graph of gradients below its roots.

    Args:
        roots: `grad_fn` of each result.

    """
    from torch.autograd.function import BackwardCFunction

    reached, waiting = set(roots), [*roots]
    while waiting:
        node = waiting.pop()
        if isinstance(node, BackwardCFunction):
            return True
        following = {each for each, _ in node.next_functions if each is not None} - reached
        reached |= following
        waiting += following
    return False
