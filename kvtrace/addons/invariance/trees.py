"""Expression trees: the operations that compute one element, in order.

A tree is the expression of an element over elements of the kernel's arguments. Equal trees are one
object, so comparing two costs nothing however large they are. Axes over which a tree sums, and the
trips of its loops, are symbols of kind "lane" with the key ("bound", level), numbered from the
outside: two trees that differ in names alone are the same.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator
from typing import Any, Final, Literal

from kvtrace.forks import Lock
from kvtrace.ir.floats import float_from_bits
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
| argument | the name of a number that is passed to the kernel | |
| element | argument, byte offset (None: `parts` begins with the address), type, padding | \
mask and what masked lanes get, where there are any |
| op | name, attributes, type, which of its results | operands |
| combined | which of the values that a reduction combines | |
| reduction | op, extent, level, result; of a scan also its direction and up to which element | \
the region's results, then elements |
| product | types, attributes, extent of K, level | left, right, what is added |
| loop | trips, level, whether it is a `while`, extents of the elements of each value | first and \
next of each value it carries; of a `while` before them its condition and what it leaves |
| carried | level of its loop, which value, at which elements | |
| unknown | the reason, the op's index | |
"""

COMMUTATIVE: Final = frozenset({"+", "*", "min", "max", "&", "|", "^"})
"""Operators of which a device gives the same bits with the operands exchanged (NaNs' aside)."""

TRIPS: Final = 1 << 32
"""What a loop's trips have room for."""

_interned: weakref.WeakValueDictionary[Any, Tree] = weakref.WeakValueDictionary()
_interning = Lock(taken=True)


class Tree:
    """A node, made by `tree`; compared by identity, which is equality of structure.

    `op` is the index of the op of the IR that it was first made for: a place to show, no part of
    what it is.
    """

    __slots__ = ("__weakref__", "detail", "op", "parts", "what")
    what: What
    detail: tuple[Any, ...]
    parts: tuple[Tree, ...]
    op: int

    def walk(self) -> Iterator[Tree]:
        """Yield the tree and all inside it, each once, in no particular order."""
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
        for each in self.detail:
            if isinstance(each, Term | Condition):
                yield each
            elif isinstance(each, tuple):
                yield from (one for one in each if isinstance(one, Term | Condition))

    def __repr__(self) -> str:
        return f"{self.what}{self.detail}"


def tree(what: What, detail: tuple[Any, ...], parts: tuple[Tree, ...] = (), op: int = -1) -> Tree:
    """Return the one node of a kind, details and parts."""
    key = (what, detail, parts)
    node = _interned.get(key)
    if node is not None:
        return node
    with _interning:
        node = _interned.get(key)
        if node is None:
            node = object.__new__(Tree)
            node.what, node.detail, node.parts, node.op = what, detail, parts, op
            _interned[key] = node
        return node


def truth_of(condition: Tree) -> bool | None:
    """Return the constant truth of a condition; None: not constant, or not followed."""
    truth = condition.detail[0] if condition.what == "condition" else None
    return truth.decided if isinstance(truth, Condition) else None


def constant_of(node: Tree) -> float | None:
    """Return the value of a float constant, also NaN; None for another node."""
    if node.what != "constant" or node.parts:
        return None
    kind, bits = node.detail
    return float_from_bits(bits[0], kind) if kind.startswith(("f", "bf")) else None


def bound(level: int, extent: int) -> Symbol:
    """Return the symbol of an axis that is summed over, or of the trips of a loop."""
    return Symbol("lane", ("bound", level), 0, extent - 1)


def level_of(symbol: object) -> int | None:
    """Return the level of a bound symbol; None for a symbol of another kind."""
    match symbol:
        case Symbol(kind="lane", key=("bound", int(level))):
            return level
    return None
