"""Requirements of instructions on their arguments: one file per group, as in `ops/`."""

from kvtrace.addons.neuron.requirements import elementwise, moves, products, reductions, searches
from kvtrace.addons.neuron.requirements.requirement import REQUIREMENTS, Call, Requirement, requires

__all__ = [
    "REQUIREMENTS",
    "Call",
    "Requirement",
    "elementwise",
    "moves",
    "products",
    "reductions",
    "requires",
    "searches",
]
