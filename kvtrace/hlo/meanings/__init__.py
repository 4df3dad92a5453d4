"""What each opcode does, by NumPy: one function per opcode, in the file of its kind.

A meaning takes the op and its operands as arrays, and gives the result: an array of the op's type
and shape, or a tuple of them where it has several. May import the graph, and nothing that traces.
"""

import pkgutil
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

from kvtrace.hlo.graph import Op

Meaning = Callable[..., Any]

MEANINGS: Final[dict[str, Meaning]] = {}


def meaning(*opcodes: str) -> Callable[[Meaning], Meaning]:
    """Register the meaning of opcodes: `function(op, *operands)`."""

    def register(function: Meaning) -> Meaning:
        for opcode in opcodes:
            MEANINGS[opcode] = function
        return function

    return register


def load() -> None:
    """Import every file of meanings."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")


__all__ = ["MEANINGS", "Op", "load", "meaning"]
