"""Evaluation in a fixed order, for witnesses: results depend on the IR and the data alone.

Programs run one after the other, with no plan, and sums go in the order of
`kvtrace.evaluate.fixed_order`: halves for reductions, K for products, programs for atomics.
So two launches in which the same operations make a row of the same data give the same bits, and
any other bit shows that they do not.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from kvtrace.evaluate import evaluate
from kvtrace.evaluate.fixed_order import in_fixed_order

if TYPE_CHECKING:
    from kvtrace.evaluate.arguments import Argument
    from kvtrace.ir import Module


def evaluate_ordered(
    module: Module, arguments: Sequence[Argument], grid: tuple[int, ...], **named: Any
) -> None:
    """Evaluate a launch in a fixed order; parameters and errors are those of `evaluate`."""
    with in_fixed_order():
        evaluate(module, arguments, grid, **named, planned=False, chunk_bytes=1)
