"""What instructions refuse of their arguments: a table a group of instructions, as in `ops/`."""

from kvtrace.addons.neuron.refusals import elementwise, moves, products, reductions, searches
from kvtrace.addons.neuron.refusals.refusal import REFUSALS, Call, Refusal, refuses

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
