"""Expression trees: the operations that compute one element, in order.

A tree is the expression of an element over elements of the kernel's arguments. Equal trees are one
object, so large trees are compared in constant time. Axes over which a tree sums, and the trips of
its loops, are symbols of kind "lane" with the key ("bound", level), numbered from the outermost on,
so that trees that differ only in names are equal.
"""

from __future__ import annotations

import itertools
import weakref
from collections.abc import Iterator
from typing import Any, Final, Literal

from kvtrace.forks import Lock
from kvtrace.ir.ops import KINDS
from kvtrace.symbolic.conditions import Condition
from kvtrace.symbolic.terms import Symbol, Term

What = Literal[
    "integer", "condition", "constant", "argument", "element", "op", "combined", "reduction",
    "product", "loop", "carried", "unknown",
]  # fmt: skip
"""
| what | detail | parts |
|---|---|---|
| integer | its formula, its type | |
| condition | its formula | |
| constant | its type, its number as text | |
| argument | the scalar argument's name, its type | |
| element | argument, byte offset (None: `parts` begins with the address), type, padding | \
mask and value of masked lanes, if any |
| op | name, attributes, type, index of the result | operands |
| combined | index of the value in the reduction's region | |
| reduction | op, extent, level, index of the result; of a scan: direction, last element | \
the region's results, then elements |
| product | types, attributes, extent of K, level | left, right, addend |
| loop | trips, level, is a `while`, extents of the elements of each value | initial and next \
value of each carried value; of a `while` before them its condition and its result |
| carried | level of the loop, index of the value, element indices | |
| unknown | the reason, the op's index | |
"""

COMMUTATIVE: Final = frozenset({"+", "*", "min", "max", "&", "|", "^"})
"""Operators that give the same bits with exchanged operands, except for the bits of NaNs."""

TRIPS: Final = 1 << 32
"""The extent of the symbol of a loop's trips, an upper bound."""

_interned: weakref.WeakValueDictionary[Any, Tree] = weakref.WeakValueDictionary()
_interning = Lock(taken=True)
_orders = itertools.count()


class Tree:
    """A node, made by `tree`; equal nodes are one object, and compared by identity.

    `op` is the index of the op for which the node was first made, and `order` its number, unique to
    each node; they do not count for equality.
    """

    __slots__ = ("__weakref__", "detail", "op", "order", "parts", "what")
    what: What
    detail: tuple[Any, ...]
    parts: tuple[Tree, ...]
    op: int
    order: int

    def walk(self) -> Iterator[Tree]:
        """Yield all nodes of the tree, each once, in no particular order."""
        visited = {self}
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            for part in node.parts:
                if part not in visited:
                    visited.add(part)
                    pending.append(part)

    def formulas(self) -> Iterator[Term | Condition]:
        """Yield the formulas of this node alone."""
        for item in self.detail:
            if isinstance(item, Term | Condition):
                yield item
            elif isinstance(item, tuple):
                yield from (formula for formula in item if isinstance(formula, Term | Condition))

    def __repr__(self) -> str:
        return f"{self.what}{self.detail}"


def tree(what: What, detail: tuple[Any, ...], parts: tuple[Tree, ...] = (), op: int = -1) -> Tree:
    """Return the node with this kind, detail and parts; there is one object for equal nodes."""
    key = (what, detail, parts)
    node = _interned.get(key)
    if node is not None:
        return node
    with _interning:
        node = _interned.get(key)
        if node is None:
            node = object.__new__(Tree)
            node.what, node.detail, node.parts, node.op = what, detail, parts, op
            node.order = next(_orders)
            _interned[key] = node
        return node


def operator_of(node: Tree) -> str:
    """Return an op's operator; the name of an op that is not of the IR, as "where"; else ""."""
    name: str = node.detail[0] if node.what == "op" else ""
    return (KINDS[name].operator or "") if name in KINDS else name


def truth_of(condition: Tree) -> bool | None:
    """Return the constant truth of a condition; None: not constant, or not followed."""
    truth = condition.detail[0] if condition.what == "condition" else None
    return truth.decided if isinstance(truth, Condition) else None


def bound(level: int, extent: int) -> Symbol:
    """Return the symbol for an axis that a tree sums over, or for a loop's trips."""
    return Symbol("lane", ("bound", level), 0, extent - 1)


def level_of(symbol: object) -> int | None:
    """Return the level of a bound symbol; None for a symbol of another kind."""
    match symbol:
        case Symbol(kind="lane", key=("bound", int(level))):
            return level
    return None
