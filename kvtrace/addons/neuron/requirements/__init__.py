"""Requirements of instructions on their arguments: a file for each group of instructions."""

from kvtrace.addons.neuron.requirements import elementwise, moves, products, reductions
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
]
