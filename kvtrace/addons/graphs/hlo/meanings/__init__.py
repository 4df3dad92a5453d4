"""Semantics of each opcode in NumPy: one function per opcode, in the file of its kind.

A meaning takes the op and its operands as arrays, and returns the result: an array of the op's type
and shape, or a tuple of arrays for several results. May import the graph, but nothing that traces.
"""

import pkgutil
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any, Final

from kvtrace.addons.graphs.hlo.op import Op
from kvtrace.evaluate.registry import registering

Meaning = Callable[..., Any]

MEANINGS: Final[dict[str, Meaning]] = {}


#: A decorator that registers the meaning of opcodes: `function(op, *operands)`.
meaning: Final = registering(MEANINGS)


@cache
def load() -> None:
    """Import every file of meanings; later calls do nothing."""
    for module in pkgutil.iter_modules(__path__):
        import_module(f"{__name__}.{module.name}")


__all__ = ["MEANINGS", "Op", "load", "meaning"]
