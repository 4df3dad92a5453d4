"""Evaluation in a fixed order, for witnesses: results depend on the IR and the data alone.

Programs run one after the other, and sums are computed in the order of
`kvtrace.evaluate.fixed_order`: halves for reductions, K for products, programs for atomics. So two
launches that compute a row by the same operations on the same data give the same bits.
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
