"""What each opcode does, by NumPy: one function per opcode, in the file of its kind.

A meaning takes the op and its operands as arrays, and gives the result: an array of the op's type
and shape, or a tuple of them where it has several. May import the graph, and nothing that traces.
"""

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final

from kvtrace.addons.graphs.hlo.op import Op

Meaning = Callable[..., Any]

MEANINGS: Final[dict[str, Meaning]] = {}


#: Meanings of ops that join replicas: `function(op, [operands of each replica])`.
COLLECTIVES: Final[dict[str, Meaning]] = {}


def meaning(*opcodes: str) -> Callable[[Meaning], Meaning]:
    """Register the meaning of opcodes: `function(op, *operands)`."""

    def register(function: Meaning) -> Meaning:
        for opcode in opcodes:
            MEANINGS[opcode] = function
        return function

    return register


def collective(*opcodes: str) -> Callable[[Meaning], Meaning]:
    """Register the meaning of opcodes that join replicas."""

    def register(function: Meaning) -> Meaning:
        for opcode in opcodes:
            COLLECTIVES[opcode] = function
        return function

    return register


def taken(op: Op, role: str, operands: list[Any]) -> list[Any]:
    """Return the arguments of a body of an op.

    Args:
        op: The op.
        role: Which of its bodies, as "body" or "condition".
        operands: The values that its attribute `<role>_operands` has positions in.

    """
    return [operands[position] for position in op.attributes[f"{role}_operands"]]


@cache
def load() -> None:
    """Import every file of meanings, once."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")


__all__ = ["COLLECTIVES", "MEANINGS", "Op", "collective", "load", "meaning", "taken"]
