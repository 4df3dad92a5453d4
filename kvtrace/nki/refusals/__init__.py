"""What instructions refuse of their arguments: a table a group of instructions, as in `ops/`."""

from kvtrace.nki.refusals import elementwise, moves, products, reductions, searches
from kvtrace.nki.refusals.registry import REFUSALS, Call, Refusal, refuses

__all__ = [
    "REFUSALS",
    "Call",
    "Refusal",
    "elementwise",
    "moves",
    "products",
    "reductions",
    "refuses",
    "searches",
]
