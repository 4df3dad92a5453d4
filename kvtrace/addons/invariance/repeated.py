"""Values in a finite field of reductions, products of matrices and loops."""

from __future__ import annotations

import zlib
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal

import numpy as np
from numpy.typing import NDArray

from kvtrace.addons.invariance.numbers import (
    PRIME,
    Numbers,
    mixed,
    product_of,
    sum_of,
)
from kvtrace.schema.errors import KvtraceError
from kvtrace.symbolic.terms import ONE, Symbol, Term
from kvtrace.symbolic.trees.tree import COMMUTATIVE, TRIPS, Tree, bound, operator_of, tree

Arithmetic = Literal["ordered", "sums", "exact", "functions"]

INTEGERS: Final = frozenset({"i8", "i16", "i32", "i64"})
"""Types whose sums and products have no order, though they wrap."""
LEVELS: Final = 12
AXES: Final = LEVELS + 1
"""Axes of each array: one for each level of bound symbols, the last for the output's elements."""
_MOST_TRIPS: Final = 1 << 12
_MOST_ROUNDS: Final = 1 << 8
"""Limit on the trips of a `while`: most conditions compare random numbers, and never end it."""


class NotEvaluated(KvtraceError):
    """A tree has a node without a value in the field, or too many elements, trips or levels."""

    slug = "not-evaluated"


def _total(array: Numbers, axis: int) -> Numbers:
    """Return the sum modulo the prime along an axis, which is kept with extent 1."""
    total: Numbers = array.sum(axis=axis, keepdims=True, dtype=np.uint64) % np.uint64(PRIME)
    return total


def named(text: object) -> int:
    """Return the number of an op, a type or an argument, a hash of its text."""
    return zlib.crc32(repr(text).encode())


def has_no_order(node: Tree) -> bool:
    """Return whether a reduction or scan combines integers, whose sums and maxima have no order."""
    return all(
        part.what == "op"
        and operator_of(part) in COMMUTATIVE
        and part.detail[2] in INTEGERS
        and {operand.what for operand in part.parts} == {"combined"}
        for part in node.parts[: len(node.parts) // 2]
    )


def is_exact_product(types: Sequence[str], form: Mapping[str, str]) -> bool:
    """Return whether a matrix product multiplies its f32 operands without rounding them first."""
    return set(types) == {"f32"} and "value=2," in form.get("inputPrecision", "")  # IEEE


_Definition = tuple[dict[Symbol, Any], Tree, Tree]
"""A carried value: the symbols of its elements, its initial tree, and that of the next trip."""


def _definitions(
    parts: Sequence[Tree], level: int, extents: Sequence[tuple[int, ...]]
) -> list[_Definition]:
    axes = ([*enumerate(shape, level + 1)] for shape in extents)
    symbols = ({bound(at, extent): _along(at, extent) for at, extent in pairs} for pairs in axes)
    return list(zip(symbols, parts[::2], parts[1::2], strict=True))


def _along(level: int, extent: int) -> NDArray[np.int64]:
    if level >= LEVELS:
        raise NotEvaluated("it is nested too deeply")
    shape = [1] * AXES
    shape[level] = extent
    return np.arange(extent, dtype=np.int64).reshape(shape)


def _widened(array: Numbers, level: int, extent: int) -> tuple[int, ...]:
    shape = [1] * (AXES - array.ndim) + list(array.shape)
    shape[level] = extent
    return tuple(shape)


class RepeatedValues(ABC):
    """Evaluator of the nodes that compute with many elements or trips, for one random memory.

    Symbols that a node binds are axes of its parts' arrays. Other nodes are evaluated by `of`.
    """

    def __init__(self, seed: int, arithmetic: Arithmetic) -> None:
        self._env: dict[Symbol, Any] = {}
        self._seed = seed
        self._ordered = arithmetic == "ordered"
        self._exact = arithmetic in ("exact", "functions")
        self._memo: dict[Tree, Numbers] = {}
        self._carried: dict[tuple[int, int], Numbers] = {}
        self._combined: tuple[Numbers, ...] = ()
        self._trips = 0

    @abstractmethod
    def of(self, node: Tree) -> Numbers:
        """Return a node's values for all values of the symbols bound around the node."""

    @abstractmethod
    def _integer(self, term: Term, *, is_address: bool = False) -> NDArray[np.int64]:
        """Return the values of a formula."""

    def _multiplied(self, kind: str, left: Numbers, right: Numbers) -> Numbers:
        """Return a commutative random function of two floats, in place of their product."""
        return mixed(self._seed, 14, named(kind), np.minimum(left, right), np.maximum(left, right))

    def _combine(self, node: Tree, operands: tuple[Numbers, ...]) -> list[Numbers]:
        """Return the results of a reduction's region for two elements."""
        outer, self._combined = self._combined, operands
        try:
            return self._under({}, node.parts[: len(operands) // 2])
        finally:
            self._combined = outer

    def _combination(self, node: Tree, count: int) -> list[Numbers]:
        """Return a region's results for fixed elements: equal ones are of the same arithmetic."""
        return self._combine(
            node, tuple(mixed(11, n).reshape((1,) * AXES) for n in range(2 * count))
        )

    def _reduction(self, node: Tree) -> Numbers:
        _, extent, level, position, *scanned = node.detail
        count = len(node.parts) // 2
        elements = self._under({bound(level, extent): _along(level, extent)}, node.parts[count:])
        arrays = [np.broadcast_to(array, _widened(array, level, extent)) for array in elements]
        if scanned:
            return self._scan(node, arrays)
        if self._ordered and not has_no_order(node):
            positions = _along(level, extent)  # a device may use any order, the same for all
            totals = [_total(mixed(12, positions, array), level) for array in arrays]
            op_hash = named((node.detail[0], extent, position))
            return mixed(self._seed, 13, op_hash, *self._combination(node, count), *totals)
        if extent.bit_count() != 1:
            raise NotEvaluated("it reduces an extent that is no power of two")
        while extent > 1:  # combine both halves, until one element remains
            extent //= 2
            halves = [np.split(array, 2, level) for array in arrays]
            operands = tuple(half[number] for number in (0, 1) for half in halves)
            arrays = [
                np.broadcast_to(array, _widened(array, level, extent))
                for array in self._combine(node, operands)
            ]
        return arrays[int(position)]

    def _scan(self, node: Tree, elements: list[Numbers]) -> Numbers:
        """Return a scan's result at one position: the combination of all elements up to it."""
        name, extent, level, position, reverse, last = node.detail
        last_position, positions = self._integer(last), _along(level, extent)
        if reverse:
            elements = [np.flip(array, level) for array in elements]
            last_position = extent - 1 - last_position
        if self._ordered and not has_no_order(node):
            totals = [
                _total(
                    np.where(positions <= last_position, mixed(15, positions, array), np.uint64(0)),
                    level,
                )
                for array in elements
            ]
            op_hash = named((name, extent, position, bool(reverse)))
            combination = self._combination(node, len(elements))
            return mixed(self._seed, 16, op_hash, *combination, *totals)
        totals = [array.take([0], level) for array in elements]
        result = totals[int(position)]
        for index in range(1, extent):
            following = (array.take([index], level) for array in elements)
            totals = self._combine(node, (*totals, *following))
            result = np.where(last_position >= index, totals[int(position)], result)
        return result

    def _matrix(self, node: Tree) -> Numbers:
        types, attributes, extent, level = node.detail
        left, right, addend = node.parts
        are_integers = types[2] in INTEGERS
        if are_integers and left.what == right.what == "integer":  # one formula, as of `x * y`
            left = tree("integer", (left.detail[0] * right.detail[0], types[2]))
            right = tree("integer", (ONE, types[2]))
        factors = self._under({bound(level, extent): _along(level, extent)}, (left, right))
        form = dict(attributes)
        form.pop("maxNumImpreciseAcc", None)
        if types[0] != "f32":
            form.pop("inputPrecision", None)  # it is of factors in float32
        if not are_integers and not is_exact_product(types, form):  # rounded first, or split
            factors = [mixed(self._seed, 8, named((types[:2], form)), factor) for factor in factors]
        product = (
            product_of(*factors)
            if self._exact or are_integers
            else self._multiplied(types[2], *factors)
        )
        product = np.broadcast_to(product, _widened(product, level, extent))
        total = _total(product, level)
        if self._ordered and not are_integers:
            return mixed(self._seed, 9, extent, total, self.of(addend))
        return sum_of(total, self.of(addend))

    def _under(self, bindings: Mapping[Symbol, Any], nodes: tuple[Tree, ...]) -> list[Numbers]:
        """Return the values of nodes with further symbols bound."""
        outer_env, memo = self._env, self._memo
        self._env, self._memo = {**outer_env, **bindings}, {}
        try:
            return [self.of(node) for node in nodes]
        finally:
            self._env, self._memo = outer_env, memo

    # -- loops -----------------------------------------------------------------------------------

    def _loop(self, node: Tree) -> Numbers:
        count, level, is_while, extents = node.detail
        if is_while:
            return self._while(node)
        trips = self._integer(count)
        total = max(int(trips.max(initial=0)), 0)
        self._trips += total
        if self._trips > _MOST_TRIPS:
            raise NotEvaluated("its loops have too many trips")
        definitions = _definitions(node.parts, level, extents)
        trip = bound(level, TRIPS)
        outer = dict(self._carried)
        values = [self._under(symbols, (first,))[0] for symbols, first, _ in definitions]
        for number in range(total):
            following = self._next(level, values, definitions, {trip: number})
            if trips.size > 1:  # elements whose loops have ended keep their values
                going_on = number < trips
                pairs_of = zip(following, values, strict=True)
                following = [np.where(going_on, new, old) for new, old in pairs_of]
            values = following
        self._carried = outer
        return values[0]

    def _next(
        self, level: int, values: list[Numbers], definitions: Sequence[_Definition],
        trip: Mapping[Symbol, Any],
    ) -> list[Numbers]:  # fmt: skip
        """Return a loop's carried values after one more trip; `trip` binds the trip's symbol."""
        self._carry(level, values)
        return [
            self._under({**symbols, **trip}, (following,))[0]
            for symbols, _, following in definitions
        ]

    def _carry(self, level: int, values: Sequence[Numbers]) -> None:
        self._carried |= {(level, index): value for index, value in enumerate(values)}

    def _while(self, node: Tree) -> Numbers:
        _, level, _, extents = node.detail
        running, result_tree, *rest = node.parts
        definitions = _definitions(rest, level, extents)
        outer = dict(self._carried)
        values = [self._under(symbols, (first,))[0] for symbols, first, _ in definitions]
        result: Numbers = np.zeros((1,) * AXES, np.uint64)
        active: NDArray[np.bool_] = np.ones((1,) * AXES, np.bool_)
        for number in range(_MOST_ROUNDS):
            self._carry(level, values)
            trip = {bound(level, TRIPS): number}
            is_running = self._under(trip, (running,))[0]
            if np.where(active, is_running, 0).max(initial=0) > 1:
                raise NotEvaluated("it has a loop that data end")
            ends = active & (is_running == 0)
            if ends.any():
                result = np.where(ends, self._under(trip, (result_tree,))[0], result)
            active = active & (is_running != 0)
            if not active.any():
                self._carried = outer
                return result
            values = self._next(level, values, definitions, trip)
        raise NotEvaluated("its loops have too many trips")

    def _reference(self, node: Tree) -> Numbers:
        level, number, terms = node.detail
        value = self._carried[level, number]
        if not terms:
            return value
        indices = [
            np.broadcast_to(self._integer(term), (1,) * AXES)
            if np.ndim(self._integer(term)) == 0
            else self._integer(term)
            for term in terms
        ]
        selection: list[Any] = list(np.ogrid[tuple(slice(extent) for extent in value.shape)])
        for offset, index in enumerate(indices):
            axis = level + 1 + offset
            selection[axis] = index if value.shape[axis] > 1 else np.zeros_like(index)
        return np.asarray(value[tuple(np.broadcast_arrays(*selection))])
