"""Functions and constants in trees, and trees that compute maxima alone."""

from __future__ import annotations

import re
from collections.abc import Iterable
from math import isfinite
from typing import Final

from kvtrace.evaluate.dialects.libdevice import function_name
from kvtrace.ir.floats import float_from_bits
from kvtrace.symbolic.trees.tree import Tree

EXTREMES: Final = {
    "arith.maximumf": -1, "arith.maxnumf": -1, "arith.minimumf": 1, "arith.minnumf": 1,
}  # fmt: skip
"""The sign of the infinity that makes no difference to a maximum or minimum."""
_KEEPING_NAN: Final = frozenset(("arith.extf", "arith.truncf", "math.absf"))
_FUNCTIONS: Final = {"math.absf": "abs", "tt.precise_sqrt": "sqrt"}
_SYMBOL: Final = re.compile(r"['\"](\w+)['\"]")
_FILLING: Final = (2.0**-10, 2.0**10)
"""Bounds of constants that tensors are filled with; others are an eps, or stand for infinity."""
_LARGEST_EXCEEDED: Final = 2.0**120
"""The largest constant beyond which numbers are tried: twice as large ones fit float32."""
_MOST_EXCEEDED: Final = 4
"""Limit on the constants beyond which numbers are tried."""


def function_of(node: Tree) -> str:
    """Return the name of the function that a node computes by an op or a library; else ""."""
    name = node.detail[0] if node.what == "op" else ""
    if name == "tt.extern_elementwise":
        symbols = _SYMBOL.findall(dict(node.detail[1]).get("symbol", ""))
        return function_name(symbols[0]) if symbols else ""
    return _FUNCTIONS.get(name, name.removeprefix("math.") if name.startswith("math.") else "")


def are_extremes_alone(trees: Iterable[Tree]) -> bool:
    """Return whether all that trees compute of floats are maxima, or minima, of one kind.

    Their elements may be widened, narrowed or magnitudes: NaN then stays NaN.
    """
    names = set()
    for node in (node for tree in trees for node in tree.walk()):
        if node.what in ("product", "unknown"):
            return False
        if node.what == "op" and node.detail[2].startswith(("f", "bf")):
            names.add(node.detail[0])
    return len(names - _KEEPING_NAN) == 1 and names <= EXTREMES.keys() | _KEEPING_NAN


def constant_of(node: Tree) -> float | None:
    """Return the value of a float constant, also NaN; None for another node."""
    if node.what != "constant" or node.parts:
        return None
    kind, bits = node.detail
    return float_from_bits(bits[0], kind) if kind.startswith(("f", "bf")) else None


def constants_of(trees: Iterable[Tree]) -> tuple[float, ...]:
    """Return the constants of trees within `_FILLING` except 1 and -1, with their negatives."""
    constants = set()
    for node in (node for tree in trees for node in tree.walk()):
        value = constant_of(node) or 0.0
        if isfinite(value) and _FILLING[0] <= abs(value) <= _FILLING[1] and abs(value) != 1:
            constants |= {value, -value}
    return tuple(sorted(constants))


def exceeded_constants(trees: Iterable[Tree]) -> tuple[float, ...]:
    """Return the largest constants of trees, beyond which rows of numbers are to be tried."""
    values = (constant_of(node) for tree in trees for node in tree.walk())
    exceeded = {value for value in values if value and 1 < abs(value) <= _LARGEST_EXCEEDED}
    return tuple(sorted(exceeded, key=abs, reverse=True)[:_MOST_EXCEEDED])
