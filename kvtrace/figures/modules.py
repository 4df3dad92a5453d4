"""Modules of torch in Python stacks, and frames of autograd's backward.

A module's frame is that of a `forward` that torch calls. Frames outside of a backward that runs in
the same thread are left out: its nodes were not made there. This module runs in recorded programs,
and so imports only Python's library.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import Final

#: The callers of a module's `forward`, of modules without and with hooks. They distinguish it from
#: an autograd function's `forward`.
_CALL_FORWARD: Final = ("Module._call_impl", "Module._call_impl.<locals>.inner")
#: Frames of torch that run a backward: of the thread that asks for one, and of Python's functions.
_ENGINE: Final = "_engine_run_backward"
_FUNCTION: Final = "BackwardCFunction.apply"
#: Frame of torch that makes the node of an autograd function, and then calls its forward.
_MAKES_NODE: Final = "Function.apply"


def module_rows(functions: Sequence[str]) -> list[int]:
    """Return the indices of modules' frames in a stack, given its functions, innermost first."""
    return [
        row
        for row, (function, caller) in enumerate(pairwise(functions[: engine_row(functions)]))
        if function.endswith(".forward") and caller in _CALL_FORWARD
    ]


def engine_row(functions: Sequence[str]) -> int:
    """Return how many frames are inside of the innermost backward of a stack, all if none runs."""
    return functions.index(_ENGINE) if _ENGINE in functions else len(functions)


def node_row(functions: Sequence[str]) -> int:
    """Return the index of the innermost frame that made a node, in the stack of its first launch.

    An autograd function's node is made before its forward, in which modules may launch kernels.
    """
    inside = functions[: engine_row(functions)]
    rows = [row for row, function in enumerate(inside) if function == _MAKES_NODE]
    return rows[-1] + 1 if rows else 0


def runs_backward(functions: Sequence[str]) -> bool:
    """Return whether a stack, given its functions, is inside a backward that autograd runs."""
    return _ENGINE in functions or _FUNCTION in functions
