"""Floats that hold whole numbers, as integers: their sums have no order.

`tl.sum(mask.to(tl.float32))` counts in floats. float32 holds all whole numbers up to 2^24, and
float16 up to 2^11. If the terms above zero add up to no more, nor those below, then each partial
sum is exact, in any order, and the sum's tree is replaced by that of integers with equal values.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import copysign, inf
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import replace

from kvtrace.addons.invariance.repeated import INTEGERS, has_no_order
from kvtrace.addons.invariance.trees import EXTREMES, constant_of
from kvtrace.evaluate.shadows.errors.roundings import is_float, largest_whole
from kvtrace.symbolic.prover import Ranges
from kvtrace.symbolic.terms import ONE, ZERO, as_term
from kvtrace.symbolic.trees.tree import TRIPS, Tree, operator_of, tree

_RING: Final = {"+": "arith.addi", "-": "arith.subi", "*": "arith.muli"}


class _Number(Struct, frozen=True):
    """A node, and an integer with its value, if it is a whole number and never -0.

    Any of its terms add up to numbers from `low` to `high`; infinite: it is not known to be whole.
    """

    node: Tree
    whole: Tree
    low: float = -inf
    high: float = inf

    @property
    def is_whole(self) -> bool:
        """The bounds are known."""
        return self.high - self.low < inf

    @property
    def tree(self) -> Tree:
        """The tree in place of the node's."""
        return self.whole if self.is_whole and self.node.what != "constant" else self.node

    def within(self, kind: str) -> _Number:
        """Return the number; without bounds if a type does not hold all whole numbers in them."""
        most = largest_whole(kind) if is_float(kind) else 2.0 ** (int(kind[1:]) - 1) - 1
        return self if -most <= self.low and self.high <= most else _Number(self.node, self.node)

    def grown(self, after: _Number, trips: float) -> _Number:
        """Return the number after some trips of a loop, by that after the first one."""
        down, up = min(after.low - self.low, 0), max(after.high - self.high, 0)
        return replace(self, low=self.low + trips * down, high=self.high + trips * up)


class WholeNumbers:
    """Builder of a tree in which whole numbers are integers."""

    def __init__(self) -> None:
        self._numbers: dict[Tree, _Number] = {}
        self._carried: dict[tuple[int, int], _Number] = {}
        self._trips: dict[tuple[str, Any], tuple[int, int]] = {}

    def tree(self, node: Tree) -> Tree:
        """Return a node's tree: the same object if no float in it is known to be whole."""
        return self._number(node).tree

    def _number(self, node: Tree) -> _Number:
        if node not in self._numbers:
            self._numbers[node] = self._of(node)
        return self._numbers[node]

    def _of(self, node: Tree) -> _Number:
        value = constant_of(node)
        if value is not None and value.is_integer() and (value or copysign(1, value) > 0):
            whole = tree("integer", (as_term(int(value)), "i64"))
            return _Number(node, whole, min(value, 0), max(value, 0)).within(node.detail[0])
        if node.what == "integer":
            low, high = Ranges(self._trips).interval(node.detail[0])
            return _Number(node, node, min(low, 0), max(high, 0)).within("i64")
        if node.what == "carried" and node.detail[:2] in self._carried:
            return replace(self._carried[node.detail[:2]], node=node, whole=node)
        if node.what == "loop":
            return self._loop(node)
        numbers = [self._number(part) for part in node.parts]
        rebuilt = tree(node.what, node.detail, tuple(number.tree for number in numbers), node.op)
        if node.what == "op":
            return self._op(rebuilt, numbers)
        combination = node.parts[0] if node.what == "reduction" and len(numbers) == 2 else None
        if combination is None or operator_of(combination) != "+":
            return _Number(rebuilt, rebuilt)
        total = tree("op", (_RING["+"], (), "i64", 0), combination.parts, combination.op)
        whole = tree("reduction", node.detail, (total, numbers[1].whole), node.op)
        low, high = node.detail[1] * numbers[1].low, node.detail[1] * numbers[1].high
        return _Number(rebuilt, whole, low, high).within(combination.detail[2])

    def _op(self, node: Tree, numbers: Sequence[_Number]) -> _Number:
        kind, operator = node.detail[2], operator_of(node)
        *_, left, right = numbers if len(numbers) > 1 else (*numbers, *numbers)
        if operator == "where":
            whole = tree("op", node.detail, (node.parts[0], left.whole, right.whole), node.op)
            return _Number(node, whole, min(left.low, right.low), max(left.high, right.high))
        if operator == "cast" and (is_float(kind) or kind in INTEGERS):
            return self._cast(node, left).within(kind)
        if operator == "+":
            low, high = left.low + right.low, left.high + right.high
        elif operator == "-":
            low, high = left.low - right.high, left.high - right.low
        elif operator == "*" and min(left.low, right.low) == 0:  # a product with -1 may be -0
            low, high = 0.0, left.high * right.high
        else:
            return _Number(node, node)
        if not (left.is_whole and right.is_whole):
            return _Number(node, node)
        whole = tree("op", (_RING[operator], (), "i64", 0), (left.whole, right.whole), node.op)
        return _Number(node, whole, low, high).within(kind)

    def _cast(self, node: Tree, source: _Number) -> _Number:
        is_unsigned, (part,) = node.detail[0] in ("arith.uitofp", "arith.extui"), node.parts
        if is_unsigned and (part.what == "condition" or part.detail[2:3] == ("i1",)):
            one, zero = (tree("integer", (number, "i64")) for number in (ONE, ZERO))
            whole = tree("op", ("where", (), "i64", 0), (part, one, zero), node.op)
            return _Number(node, whole, 0, 1)
        if is_unsigned and source.low < 0:
            bits = int(part.detail[1][1:]) if part.what == "integer" else inf
            source = replace(source, low=0, high=2.0**bits - 1)
        return replace(source, node=node, whole=node if part.what == "integer" else source.whole)

    def _loop(self, node: Tree) -> _Number:
        """Return the number of a loop, whose bounds grow in each trip as they do in the first one.

        Bounds after a trip are sums, products and maxima of those before it: they are convex. So if
        the last trip keeps within bounds that grow evenly, all trips do.
        """
        count, level, is_while, _ = node.detail
        begin = 2 if is_while else 0
        firsts, following = [*map(self._number, node.parts[begin::2])], node.parts[begin + 1 :: 2]
        outer = self._numbers, self._carried, self._trips
        trips = 0 if is_while else Ranges(self._trips).interval(count)[1]
        is_counted = 0 < trips < TRIPS
        if is_counted:
            self._trips = {**self._trips, ("lane", ("bound", level)): (0, int(trips) - 1)}
        none = _Number(node, node)
        before = [first if first.is_whole and is_counted else none for first in firsts]
        while True:
            growing = list(zip(before, self._after_trip(following, level, before), strict=True))
            last_before = [number.grown(once, trips - 1) for number, once in growing]
            lasts = self._after_trip(following, level, last_before)
            after = [number.grown(once, trips) for number, once in growing]
            kept = [
                number if last.is_whole and end.low <= last.low and last.high <= end.high else none
                for number, end, last in zip(before, after, lasts, strict=True)
            ]
            if kept == before:
                break
            before = kept
        parts = [self._number(head).tree for head in node.parts[:begin]]
        for number, *ends in zip(before, firsts, lasts, strict=True):
            parts += [end.tree if number is none else end.whole for end in ends]
        self._numbers, self._carried, self._trips = outer
        rebuilt = tree("loop", node.detail, tuple(parts), node.op)
        return replace(after[0], node=rebuilt, whole=rebuilt)

    def _after_trip(
        self, following: Sequence[Tree], level: int, carried: Sequence[_Number]
    ) -> list[_Number]:
        """Return the numbers that a loop carries on, by those before the trip."""
        self._numbers = {}
        own = {(level, index): number for index, number in enumerate(carried)}
        self._carried = {**self._carried, **own}
        return [self._number(part) for part in following]


def kinds_in_order(root: Tree | None) -> frozenset[str]:
    """Return the kinds of a tree's sums whose order the compiled code decides, and counts."""
    nodes = () if root is None else WholeNumbers().tree(root).walk()
    return frozenset(
        node.what
        for node in nodes
        if (node.what == "product" and node.detail[0][2] not in INTEGERS)
        or (
            (node.what == "reduction" and not has_no_order(node))
            and node.parts[0].detail[0] not in EXTREMES
        )
    )
