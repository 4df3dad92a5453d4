"""Results of a function whose inputs require gradients, and the gradients themselves.

The reference and the candidate are called by the same function here. What a candidate does not
differentiate is refused, and says nothing about its results.
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
        cotangents: How many there are. None: its results are returned, otherwise the gradients of
            all inputs of floats.
        is_candidate: Whether only gradients by a `torch.autograd.Function` count; others do not
            know what kernels wrote.

    Raises:
        ValueError: some result has no gradient.

    """
    if not tracked:
        return tensors.results_of(function(*arguments))
    import torch

    inputs = arguments[: len(arguments) - cotangents]
    floats = [e for e in inputs if tensors.is_tensor(e) and e.is_floating_point()]
    distinct = list({id(each): each for each in floats}.values())
    try:
        for each in distinct:
            each.requires_grad_()
        with torch.enable_grad():
            results = tensors.results_of(function(*inputs))
            if not cotangents:
                return results
            values = [e for e in results if tensors.is_tensor(e) and e.is_floating_point()]
            roots = [each.grad_fn for each in values]
            if len(values) != cotangents or not all(roots) or (is_candidate and not _own(roots)):
                raise ValueError("a result has no gradient")
            given = arguments[len(inputs) :]
            found = torch.autograd.grad(values, distinct, given, allow_unused=True)
    finally:
        for each in distinct:
            each.requires_grad_(False)
    if any(each is None for each in found):
        raise ValueError("an input has no gradient")
    return [*found]


def _own(roots: Sequence[Any]) -> bool:
    """Whether a graph of gradients has a `torch.autograd.Function` of the program's."""
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
